#include "ttcollect/workers.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace ttc::jobs {

// If the system refuses threads there are fewer, possibly none: the owner does what they would.
Workers::Workers(unsigned threads) : meant_for_(std::max(threads, 1u)), present_(meant_for_.size()) {
  try {
    for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  const std::lock_guard lock(mutex_);
  present_ = threads_.size() + 1;
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    waiting_.clear();
    for (std::deque<Job*>& jobs : meant_for_) jobs.clear();
  }
  submitted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::submit(Job& job, Row* row) {
  job.row_ = row;
  put_in(waiting_, job);
}

void Workers::submit_to(unsigned thread, Job& job, Row* row) {
  job.row_ = row;
  put_in(meant_for_[thread], job);
}

void Workers::put_in(std::deque<Job*>& jobs, Job& job) {
  std::unique_lock lock(mutex_);
  job.done_ = false;
  job.failure_ = nullptr;
  jobs.push_back(&job);
  if (threads_.empty()) return finish(*take(kOwner), kOwner, lock);
  const bool wake = idle_ != 0;
  lock.unlock();
  if (wake) submitted_.notify_all();
}

// What is meant for the thread, else the oldest that is meant for none, or for one that the system refused, each with a free row; none: nullptr.
// With the lock.
Workers::Job* Workers::take(unsigned thread) {
  Job* job = nullptr;
  const auto take_from = [&job](std::deque<Job*>& jobs) {
    if (job) return;
    const auto next = std::find_if(jobs.begin(), jobs.end(),
                                   [](const Job* each) { return !each->row_ || !each->row_->busy_; });
    if (next == jobs.end()) return;
    job = *next;
    jobs.erase(next);
  };
  take_from(meant_for_[thread]);
  take_from(waiting_);
  for (size_t absent = present_; absent < meant_for_.size(); ++absent) take_from(meant_for_[absent]);
  if (!job) return nullptr;
  if (job->row_) job->row_->busy_ = true;
  ++under_way_;
  return job;
}

// With the lock, which is open meanwhile.
void Workers::finish(Job& job, unsigned thread, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  job.done_by_ = thread;
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
  if (idle_) submitted_.notify_all();  // another of its row may wait
}

void Workers::wait(Job& job) {
  std::unique_lock lock(mutex_);
  while (!job.done_) {
    if (Job* const other = take(kOwner)) {
      finish(*other, kOwner, lock);
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

void Workers::forget(Job& job) noexcept {
  std::unique_lock lock(mutex_);
  const auto leave_out = [&job](std::deque<Job*>& jobs) { job.done_ |= std::erase(jobs, &job) != 0; };
  leave_out(waiting_);
  std::for_each(meant_for_.begin(), meant_for_.end(), leave_out);
  owner_waits_ = true;
  done_.wait(lock, [&job] { return job.done_; });
  owner_waits_ = false;
}

void Workers::forget_all() noexcept {
  std::unique_lock lock(mutex_);
  const auto forget = [](std::deque<Job*>& jobs) {
    for (Job* const job : jobs) job->done_ = true;
    jobs.clear();
  };
  forget(waiting_);
  std::for_each(meant_for_.begin(), meant_for_.end(), forget);
  owner_waits_ = true;
  done_.wait(lock, [this] { return under_way_ == 0; });
  owner_waits_ = false;
}

void Workers::work(unsigned thread) noexcept {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    Job* const job = take(thread);
    if (!job) {
      ++idle_;
      submitted_.wait(lock);
      --idle_;
      continue;
    }
    finish(*job, thread, lock);
    if (owner_waits_) done_.notify_one();
  }
}

}  // namespace ttc::jobs
