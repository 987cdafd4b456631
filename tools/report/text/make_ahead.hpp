// Items that one thread makes while another one takes those before them, in order: two steps of equal length cost half of their time together.
// Items are made in the memory of those that were taken: what the two threads allocate stays theirs.
#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace ttc::report {

// What the two threads have in common: kBatches batches of items, which go round between them.
template <class T>
class MadeAhead {
 public:
  struct Batch {
    std::vector<T> items;  // those behind `used` are there for their memory
    size_t used = 0;
  };

  MadeAhead() {
    free_.resize(kBatches - 2);  // each thread has one
  }
  // The maker's thread.
  template <class Make>
  void run(const Make& make) {
    std::exception_ptr error;
    try {
      make([this](T& item) { put(item); });
    } catch (const Stopped&) {
    } catch (...) {
      error = std::current_exception();
    }
    end(error);
  }
  // The taker, which gives back the batch that it had before. False: there are no more. Throws the maker's exception behind what was made
  // before it.
  bool next(Batch& batch) {
    std::unique_lock lock(mutex_);
    batch.used = 0;
    free_.push_back(std::move(batch));
    if (maker_waits_) free_changed_.notify_one();
    made_changed_.wait(lock, [this] { return !made_.empty() || ended_; });
    if (made_.empty() && error_) std::rethrow_exception(error_);
    if (made_.empty()) return false;
    batch = std::move(made_.front());
    made_.pop_front();
    return true;
  }
  // The taker: the maker's next put() that would wait throws.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    free_changed_.notify_one();
  }

 private:
  class Stopped {};  // thrown to the maker: nothing more will be taken
  // To wake a thread costs as much as a hundred rows: it is done once for many.
  static constexpr size_t kBatch = 256, kBatches = 4;
  // Leaves another item's memory in `item`.
  void put(T& item) {
    if (filling_.used == filling_.items.size()) filling_.items.emplace_back();
    std::swap(filling_.items[filling_.used++], item);
    if (filling_.used == kBatch) hand_over();
  }
  void hand_over() {
    std::unique_lock lock(mutex_);
    made_.push_back(std::exchange(filling_, {}));
    made_changed_.notify_one();
    maker_waits_ = true;
    free_changed_.wait(lock, [this] { return !free_.empty() || stopped_; });
    maker_waits_ = false;
    if (stopped_) throw Stopped();
    filling_ = std::move(free_.front());
    free_.pop_front();
  }

  void end(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    made_.push_back(std::move(filling_));
    error_ = std::move(error);
    ended_ = true;
    made_changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable made_changed_, free_changed_;
  std::deque<Batch> made_, free_;
  bool maker_waits_ = false, ended_ = false, stopped_ = false;
  std::exception_ptr error_;
  Batch filling_;  // the maker's
};

// `make`(put) makes items of type T one after another and calls `put`(T&) for each, which leaves the memory of an earlier one in it, or an empty one.
// `take`(const T&) gets each on this thread. With one thread, or where the system gives no further one, an item is taken before the next is made; else
// `make` runs beside `take`, and both must leave alone what the other uses. What either of them throws comes out of this call, when neither runs any more.
template <class T, class Make, class Take>
void make_ahead(unsigned threads, const Make& make, const Take& take) {
  MadeAhead<T> items;
  std::thread maker;
  try {
    if (threads > 1) maker = std::thread([&] { items.run(make); });
  } catch (const std::system_error&) {
  }
  if (!maker.joinable()) return make([&take](T& item) { take(std::as_const(item)); });
  try {
    typename MadeAhead<T>::Batch batch;
    while (items.next(batch))
      for (size_t i = 0; i < batch.used; ++i) take(std::as_const(batch.items[i]));
  } catch (...) {
    items.stop();
    maker.join();
    throw;
  }
  maker.join();
}

}  // namespace ttc::report
