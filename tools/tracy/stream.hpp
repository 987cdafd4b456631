// Items of one dialect, in order, cut into compressed blocks: what a client sends once it is welcome.
//
// Times are nanoseconds; the stream keeps the running references that items count from (tracy
// server/TracyWorker.cpp). Texts are cut at what their length field holds. A full block goes to the sink at
// once, also between two items that belong together, which servers do not mind; nothing else may come between
// those two, so answers to queries wait for the caller (Client).
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tools/tracy/dialect.hpp"

namespace ttc::tracy {

// The receiver of compressed blocks, each with its length in front.
class BlockSink {
 public:
  virtual ~BlockSink() = default;
  virtual void block(std::span<const char> bytes) = 0;
};

struct Colour {
  uint8_t r, g, b;
};
constexpr Colour colour(uint32_t rgb) {
  return {static_cast<uint8_t>(rgb >> 16), static_cast<uint8_t>(rgb >> 8), static_cast<uint8_t>(rgb)};
}

class Stream {
 public:
  Stream(const Dialect& dialect, BlockSink& sink);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const Dialect& dialect() const { return dialect_; }

  // Items that follow are of this thread, until another is named.
  void thread(uint32_t id);
  void zone_begin(uint64_t ns, uint64_t source_location);
  void zone_end(uint64_t ns);
  // Both apply to the innermost open zone of the thread: a text, and a name instead of its source location's.
  void zone_text(std::string_view text);
  void zone_name(std::string_view name);
  void message(uint64_t ns, std::string_view text, Colour colour);
  void app_info(uint64_t ns, std::string_view text);
  void plot_config(uint64_t name, bool steps);
  void plot(uint64_t ns, uint64_t name, double value);
  void thread_hint(uint32_t id, int32_t hint);  // the server must have the thread; if there are hints
  void name_thread();                           // makes the server request the name of the thread

  // Contexts of device zones. Times of zones count from 0 of the host's clock: period 1, never calibrated.
  void gpu_context(uint16_t context, uint64_t ns, std::string_view name);
  void gpu_begin(uint16_t context, uint32_t lane, uint64_t ns, uint64_t source_location);
  void gpu_end(uint16_t context, uint32_t lane, uint64_t ns);

  // Answers.
  void text_answer(Item kind, uint64_t key, std::string_view text);
  void source_location(uint64_t name, uint64_t function, uint64_t file, uint32_t line, Colour colour);
  void nothing();
  void no_source_code(uint32_t id);

  void keep_alive() { empty(Item::keep_alive); }
  void terminate() { empty(Item::terminate); }
  void flush();  // what there is, as a block

 private:
  template <class... Fields>
  void item(Item item, Fields... fields);
  void empty(Item item);
  char* room(size_t bytes);
  void single_string(std::string_view text);
  char* put_context(char* at, uint16_t context) const;
  void gpu_time(uint16_t context, uint64_t ns);

  const Dialect& dialect_;
  BlockSink& sink_;
  std::vector<char> items_, block_;
  size_t used_ = 0;
  void* lz4_;
  int64_t thread_time_ = 0, serial_time_ = 0, gpu_time_ = 0;
  uint32_t thread_ = 0;
  bool in_thread_ = false;
};

}  // namespace ttc::tracy
