#include "collector/sampling/model_thread.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <iterator>
#include <utility>

namespace ttc::collect {
namespace {

constexpr int kNice = 10;

// The device's thread must not wait for this one where both have one CPU. What is refused changes nothing but that.
void give_way() {
  cpu_set_t cpus;
  if (sched_getaffinity(getpid(), sizeof cpus, &cpus) == 0) sched_setaffinity(0, sizeof cpus, &cpus);
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
}

void append(ClockModels::Segments& to, ClockModels::Segments segments) {
  to.resize(segments.size());
  for (size_t d = 0; d < segments.size(); ++d)
    to[d].insert(to[d].end(), segments[d].begin(), segments[d].end());
}

}  // namespace

void ModelThread::make(ClockModels& models, const Given& given, Made& made) {
  models.grow(given.domains);
  models.take(given.inputs);
  made.inputs += given.inputs.size();
  append(made.final, models.take_final());
  if (given.provisional) made.provisional = models.provisional();
  made.known = models.known();
}

void ModelThread::give(std::vector<ClockInput>& inputs, size_t domains, bool provisional) {
  waiting_ += inputs.size();
  {
    const std::lock_guard lock(mutex_);
    given_.inputs.insert(given_.inputs.end(), inputs.begin(), inputs.end());
    given_.domains = domains;
    given_.provisional = given_.provisional || provisional;
  }
  inputs.clear();
  changed_.notify_all();
}

std::optional<ModelThread::Made> ModelThread::take() {
  std::optional<Made> made;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    made = std::exchange(made_, std::nullopt);
  }
  if (!made) return made;
  waiting_ -= made->inputs;
  changed_.notify_all();
  return made;
}

ModelThread::Made ModelThread::finish() {
  stop();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  Made made = std::exchange(made_, std::nullopt).value_or(Made{});
  given_.provisional = false;
  make(models_, given_, made);
  models_.finish();
  append(made.final, models_.take_final());
  made.provisional = models_.provisional();
  made.known = models_.known();
  return made;
}

void ModelThread::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ModelThread::work() noexcept {
  give_way();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || (!given_.empty() && !made_); });
    if (stop_) return;
    const Given given = std::exchange(given_, {});
    lock.unlock();
    Made made;
    std::exception_ptr failure;
    try {
      make(models_, given, made);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      failure_ = failure;
      return;
    }
    made_ = std::move(made);
  }
}

}  // namespace ttc::collect
