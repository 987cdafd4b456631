#include "collector/sampling/provisional_maker.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

}  // namespace

ProvisionalMaker::~ProvisionalMaker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ProvisionalMaker::begin(std::vector<ClockEstimator> models) {
  {
    const std::lock_guard lock(mutex_);
    models_ = std::move(models);
  }
  under_way_ = true;
  changed_.notify_all();
}

std::optional<ProvisionalMaker::Segments> ProvisionalMaker::take() {
  if (!under_way_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!made_ && !failure_) return std::nullopt;
  under_way_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return std::exchange(made_, std::nullopt);
}

void ProvisionalMaker::work() noexcept {
  give_way();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !models_.empty(); });
    if (stop_) return;
    std::vector<ClockEstimator> models = std::exchange(models_, {});
    lock.unlock();
    Segments made;
    std::exception_ptr failure;
    try {
      for (ClockEstimator& model : models) made.push_back(model.provisional());
    } catch (...) {
      failure = std::current_exception();
    }
    models.clear();
    lock.lock();
    failure_ = failure;
    if (!failure) made_ = std::move(made);
  }
}

}  // namespace ttc::collect
