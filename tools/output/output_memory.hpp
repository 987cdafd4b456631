// Memory that an output is written in. It grows without zeros in it and, where it is large, without a copy (realloc(3) moves its pages).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace ttc::tools {

class OutputMemory {
 public:
  OutputMemory() = default;
  explicit OutputMemory(size_t bytes) { grow(bytes); }
  OutputMemory(OutputMemory&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  OutputMemory& operator=(OutputMemory&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // At least `bytes`; what was written stays. Throws std::bad_alloc.
  void grow(size_t bytes) {
    if (bytes <= size_) return;
    void* const more = std::realloc(data_.get(), bytes);
    if (!more) throw std::bad_alloc();
    static_cast<void>(data_.release());  // realloc() has freed it
    data_.reset(static_cast<char*>(more));
    size_ = bytes;
  }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> data_;
  size_t size_ = 0;
};

}  // namespace ttc::tools
