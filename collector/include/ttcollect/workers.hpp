// Jobs that any thread can do, for the one thread that owns them: it gives jobs away, waits for them in its own order, and does jobs itself
// where it would wait. What a job makes is thus the same for every number of threads.
//
//   owner     submit(): the job is behind those that were submitted before. wait(): does jobs, the oldest first, until that one is done
//   threads   the oldest job that no thread has
//
// A job that needs what another one left in a thread's caches can be meant for that thread: only that one does it, and before other jobs. The owner
// does those that are meant for it where it waits.
//
// One thread: there is no other one, and submit() does the job. A thread is woken only where it waits. The owner bounds how many are
// under way. Jobs and their memory are the caller's, and outlive their end: wait() or forget_all().
#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ttc::jobs {

class Workers {
 public:
  // Jobs of a row are done one after another: those of submit() in the order in which they were submitted, those that are meant for threads in any.
  class Row {
    friend class Workers;
    bool busy_ = false;
  };
  class Job {
   public:
    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    virtual ~Job() = default;

    // The thread that did it last: behind wait(), and in run() the one that does it.
    unsigned done_by() const { return done_by_; }

   private:
    friend class Workers;
    virtual void run() = 0;
    Row* row_ = nullptr;
    bool done_ = true;
    unsigned done_by_ = 0;
    std::exception_ptr failure_;
  };

  static constexpr unsigned kOwner = 0;  // its number

  // `threads` with the owner.
  explicit Workers(unsigned threads);
  ~Workers();  // what no thread has begun is left out
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned threads() const { return static_cast<unsigned>(threads_.size()) + 1; }

  void submit(Job& job, Row* row = nullptr);
  // Meant for the thread that did another job (done_by()).
  void submit_to(unsigned thread, Job& job, Row* row = nullptr);
  // Throws what the job threw, once.
  void wait(Job& job);
  // wait() would not wait.
  bool done(const Job& job);
  // Leaves the job out, where no thread has begun it, or waits for its end, without other jobs meanwhile. Nothing is thrown.
  void forget(Job& job) noexcept;
  // For an owner that ends early: leaves out what no thread has begun, and waits for the others. Nothing is thrown.
  void forget_all() noexcept;

 private:
  void put_in(std::deque<Job*>& jobs, Job& job);
  Job* take(unsigned thread);
  void finish(Job& job, unsigned thread, std::unique_lock<std::mutex>& lock);
  void work(unsigned thread) noexcept;

  std::mutex mutex_;
  std::condition_variable submitted_, done_;
  std::deque<Job*> waiting_;                 // oldest first
  std::vector<std::deque<Job*>> meant_for_;  // by thread, likewise
  size_t present_;                           // threads with the owner: those that the system gave
  unsigned under_way_ = 0, idle_ = 0;
  bool owner_waits_ = false, stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ttc::jobs
