// Records of one size, kept in a spill (spill.hpp): however many there are, about `in_memory` bytes of them
// stay in memory.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "tools/report/text/row_iterator.hpp"
#include "tools/report/text/spill.hpp"

namespace ttc::report {

template <class T>
class Records {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr size_t kInMemory = 256 << 10;  // bytes
  explicit Records(size_t in_memory = kInMemory) : bytes_(std::make_shared<Spill>(in_memory)) {}

  // Throws std::runtime_error, as Spill does.
  void push_back(const T& record) {
    bytes_->append({reinterpret_cast<const char*>(&record), sizeof record});
    ++size_;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T operator[](size_t i) const {
    T record;
    std::memcpy(&record, bytes_->at(i * sizeof(T), sizeof(T)).data(), sizeof(T));
    return record;
  }
  // `count` records from `i` on, without a turn of the window that operator[] reads through.
  void read(size_t i, size_t count, T* to) const {
    bytes_->read(i * sizeof(T), reinterpret_cast<char*>(to), count * sizeof(T));
  }
  RowIterator<Records, T> begin() const { return {this, 0}; }
  RowIterator<Records, T> end() const { return {this, size_}; }

 private:
  std::shared_ptr<Spill> bytes_;  // copies share what they have in common
  size_t size_ = 0;
};

// Some records of a sequence, front to back, read ahead by a few kilobytes: for many places of one sequence
// at once.
template <class T>
class RecordReader {
 public:
  static constexpr size_t kAhead = (16 << 10) / sizeof(T) + 1;  // records
  RecordReader(const Records<T>& all, size_t begin, size_t end) : all_(&all), next_(begin), end_(end) {
    refill();
  }
  bool done() const { return at_ == ahead_.size(); }
  const T& front() const { return ahead_[at_]; }
  void pop() {
    if (++at_ == ahead_.size()) refill();
  }

 private:
  void refill() {
    ahead_.resize(std::min(kAhead, end_ - next_));
    all_->read(next_, ahead_.size(), ahead_.data());
    next_ += ahead_.size();
    at_ = 0;
  }

  const Records<T>* all_;
  size_t next_, end_, at_ = 0;
  std::vector<T> ahead_;
};

}  // namespace ttc::report
