#include "tools/jobs/workers.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace ttc::tools {

// If the system refuses threads there are fewer, possibly none: the owner does what they would.
Workers::Workers(unsigned threads) {
  try {
    for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    waiting_.clear();
  }
  submitted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::submit(Job& job, Row* row) {
  std::unique_lock lock(mutex_);
  job.row_ = row;
  job.done_ = false;
  job.failure_ = nullptr;
  waiting_.push_back(&job);
  if (threads_.empty()) return finish(*take(), lock);
  const bool wake = idle_ != 0;
  lock.unlock();
  if (wake) submitted_.notify_one();
}

// The oldest whose row is free; none: nullptr. With the lock.
Workers::Job* Workers::take() {
  const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                 [](const Job* job) { return !job->row_ || !job->row_->busy_; });
  if (next == waiting_.end()) return nullptr;
  Job* const job = *next;
  waiting_.erase(next);
  if (job->row_) job->row_->busy_ = true;
  ++under_way_;
  return job;
}

// With the lock, which is open meanwhile.
void Workers::finish(Job& job, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::exception_ptr failure;
  try {
    job.run();
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  job.failure_ = failure;
  job.done_ = true;
  --under_way_;
  if (!job.row_) return;
  job.row_->busy_ = false;
  if (idle_) submitted_.notify_one();  // another of its row may wait
}

void Workers::wait(Job& job) {
  std::unique_lock lock(mutex_);
  while (!job.done_) {
    if (Job* const other = take()) {
      finish(*other, lock);
      continue;
    }
    owner_waits_ = true;
    done_.wait(lock);
    owner_waits_ = false;
  }
  if (job.failure_) std::rethrow_exception(std::exchange(job.failure_, nullptr));
}

bool Workers::done(const Job& job) {
  const std::lock_guard lock(mutex_);
  return job.done_;
}

void Workers::forget_all() noexcept {
  std::unique_lock lock(mutex_);
  for (Job* const job : waiting_) job->done_ = true;
  waiting_.clear();
  owner_waits_ = true;
  done_.wait(lock, [this] { return under_way_ == 0; });
  owner_waits_ = false;
}

void Workers::work() noexcept {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    Job* const job = take();
    if (!job) {
      ++idle_;
      submitted_.wait(lock);
      --idle_;
      continue;
    }
    finish(*job, lock);
    if (owner_waits_) done_.notify_one();
  }
}

}  // namespace ttc::tools
