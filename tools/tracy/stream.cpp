#include "tools/tracy/stream.hpp"

#include <lz4.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace ttc::tracy {
namespace {

// Smaller than what servers take, so that a block is compressed while it is in the cache.
constexpr size_t kItemsBytes = 64 << 10;
static_assert(kItemsBytes <= kBlockBytes);
constexpr size_t kLongestItem = 64;
constexpr size_t kLongestText = 0xfff0;
constexpr int kSpeed = 4;  // LZ4 acceleration: loopback is fast, the zones are many
constexpr uint8_t kInfoOfUser = 0x20;
constexpr uint16_t kQuery = 1;

template <class T>
char* put(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

}  // namespace

Stream::Stream(const Dialect& dialect, BlockSink& sink)
    : dialect_(dialect),
      sink_(sink),
      items_(kItemsBytes + kLongestText + kLongestItem),
      block_(4 + static_cast<size_t>(LZ4_compressBound(static_cast<int>(kBlockBytes)))),
      lz4_(LZ4_createStream()) {
  if (!lz4_) throw std::bad_alloc();
}

Stream::~Stream() {
  LZ4_freeStream(static_cast<LZ4_stream_t*>(lz4_));
}

// Items never straddle blocks.
char* Stream::room(size_t bytes) {
  if (used_ + bytes > std::max(kItemsBytes, bytes)) flush();
  return items_.data() + used_;
}

void Stream::flush() {
  if (used_ == 0) return;
  const int bytes =
      LZ4_compress_fast_extState(lz4_, items_.data(), block_.data() + 4, static_cast<int>(used_),
                                 static_cast<int>(block_.size() - 4), kSpeed);
  put(block_.data(), static_cast<uint32_t>(bytes));
  used_ = 0;
  sink_.block(std::span(block_).first(4 + static_cast<size_t>(bytes)));
}

template <class... Fields>
void Stream::item(Item item, Fields... fields) {
  char* const start = room(kLongestItem);
  char* at = put(start, dialect_.id(item));
  ((at = put(at, fields)), ...);
  used_ += static_cast<size_t>(at - start);
}

void Stream::empty(Item kind) {
  item(kind);
}

void Stream::thread(uint32_t id) {
  if (in_thread_ && thread_ == id) return;
  in_thread_ = true;
  thread_ = id;
  thread_time_ = 0;
  item(Item::thread_context, id);
}

// The length names a range from protocol 78 on, and the longer forms leave out what the shorter ones cover.
void Stream::zone_begin(uint64_t ns, uint64_t source_location) {
  const int64_t delta = static_cast<int64_t>(ns) - thread_time_;
  thread_time_ = static_cast<int64_t>(ns);
  if (!dialect_.short_zones() || delta < 0) return item(Item::zone_begin, delta, source_location);
  constexpr int64_t kShort = 1 << 16, kMiddle = kShort + (int64_t{1} << 32);
  if (delta < kShort) return item(Item::zone_begin_16, static_cast<uint16_t>(delta), source_location);
  if (delta < kMiddle)
    return item(Item::zone_begin_32, static_cast<uint32_t>(delta - kShort), source_location);
  item(Item::zone_begin, delta - kMiddle, source_location);
}

void Stream::zone_end(uint64_t ns) {
  const int64_t delta = static_cast<int64_t>(ns) - thread_time_;
  thread_time_ = static_cast<int64_t>(ns);
  if (!dialect_.short_zones() || delta < 0) return item(Item::zone_end, delta);
  constexpr int64_t kShort = 1 << 16, kMiddle = kShort + (int64_t{1} << 32);
  if (delta < kShort) return item(Item::zone_end_16, static_cast<uint16_t>(delta));
  if (delta < kMiddle) return item(Item::zone_end_32, static_cast<uint32_t>(delta - kShort));
  item(Item::zone_end, delta - kMiddle);
}

void Stream::single_string(std::string_view text) {
  text = text.substr(0, kLongestText);
  char* const start = room(kLongestItem + text.size());
  char* at = start;
  if (dialect_.short_strings() && text.size() <= 255) {
    at = put(at, dialect_.id(Item::single_string_8));
    at = put(at, static_cast<uint8_t>(text.size()));
  } else {
    at = put(at, dialect_.id(Item::single_string));
    at = put(at, static_cast<uint16_t>(text.size() - (dialect_.short_strings() ? 256 : 0)));
  }
  std::memcpy(at, text.data(), text.size());
  used_ += static_cast<size_t>(at - start) + text.size();
}

void Stream::zone_text(std::string_view text) {
  single_string(text);
  empty(Item::zone_text);
}

void Stream::zone_name(std::string_view name) {
  single_string(name);
  empty(Item::zone_name);
}

void Stream::message(uint64_t ns, std::string_view text, Colour c) {
  single_string(text);
  if (dialect_.message_metadata())
    item(Item::message_color, ns, c.b, c.g, c.r, kInfoOfUser);
  else
    item(Item::message_color, ns, c.b, c.g, c.r);
}

void Stream::app_info(uint64_t ns, std::string_view text) {
  single_string(text);
  item(Item::message_app_info, ns);
}

void Stream::plot_config(uint64_t name, bool steps) {
  constexpr uint8_t kNumber = 0, kFilled = 1;
  item(Item::plot_config, name, kNumber, static_cast<uint8_t>(steps), kFilled, uint32_t{0});
}

void Stream::plot(uint64_t ns, uint64_t name, double value) {
  const int64_t delta = static_cast<int64_t>(ns) - thread_time_;
  thread_time_ = static_cast<int64_t>(ns);
  item(Item::plot_data_double, name, delta, value);
}

void Stream::thread_hint(uint32_t id, int32_t hint) {
  if (dialect_.has(Item::thread_group_hint)) item(Item::thread_group_hint, id, hint);
}

// A validation of zone 0 has no effect except that the server registers the thread.
void Stream::name_thread() {
  item(Item::zone_validation, uint32_t{0});
}

char* Stream::put_context(char* at, uint16_t context) const {
  return dialect_.fork ? put(at, context) : put(at, static_cast<uint8_t>(context));
}

// The flag means that calibrations may come. None does: the times are converted already, and without the flag
// a user could shift them by hand.
void Stream::gpu_context(uint16_t context, uint64_t ns, std::string_view name) {
  constexpr uint8_t kCalibrated = 1;
  char* const start = room(kLongestItem);
  char* at = put(start, dialect_.id(Item::gpu_new_context));
  at = put(put(at, ns), ns);
  at = put(put(at, uint32_t{0}), 1.0f);  // thread 0: a row for each thread of its zones
  at = put_context(at, context);
  at = put(put(at, kCalibrated), dialect_.device_type);
  used_ += static_cast<size_t>(at - start);
  single_string(name);
  char* const again = room(kLongestItem);
  at = put_context(put(again, dialect_.id(Item::gpu_context_name)), context);
  used_ += static_cast<size_t>(at - again);
}

void Stream::gpu_time(uint16_t context, uint64_t ns) {
  char* const start = room(kLongestItem);
  char* at = put(start, dialect_.id(Item::gpu_time));
  at = put(put(at, static_cast<int64_t>(ns) - gpu_time_), kQuery);
  at = put_context(at, context);
  used_ += static_cast<size_t>(at - start);
  gpu_time_ = static_cast<int64_t>(ns);
}

// The time follows its zone at once, so that the number of the query is free again. One number for all: what repeats
// compresses.
void Stream::gpu_begin(uint16_t context, uint32_t lane, uint64_t ns, uint64_t source_location) {
  char* const start = room(kLongestItem);
  char* at = put(start, dialect_.id(Item::gpu_zone_begin_serial));
  at = put(at, static_cast<int64_t>(ns) - serial_time_);
  at = put_context(put(put(at, lane), kQuery), context);
  at = put(at, source_location);
  used_ += static_cast<size_t>(at - start);
  serial_time_ = static_cast<int64_t>(ns);
  gpu_time(context, ns);
}

void Stream::gpu_end(uint16_t context, uint32_t lane, uint64_t ns) {
  char* const start = room(kLongestItem);
  char* at = put(start, dialect_.id(Item::gpu_zone_end_serial));
  at = put(at, static_cast<int64_t>(ns) - serial_time_);
  at = put_context(put(put(at, lane), kQuery), context);
  used_ += static_cast<size_t>(at - start);
  serial_time_ = static_cast<int64_t>(ns);
  gpu_time(context, ns);
}

void Stream::text_answer(Item kind, uint64_t key, std::string_view text) {
  text = text.substr(0, kLongestText);
  char* const start = room(kLongestItem + text.size());
  char* at = put(put(start, dialect_.id(kind)), key);
  at = put(at, static_cast<uint16_t>(text.size()));
  std::memcpy(at, text.data(), text.size());
  used_ += static_cast<size_t>(at - start) + text.size();
}

void Stream::source_location(uint64_t name, uint64_t function, uint64_t file, uint32_t line, Colour c) {
  item(Item::source_location, name, function, file, line, c.b, c.g, c.r);
}

void Stream::nothing() {
  empty(Item::ack_server_query_noop);
}

void Stream::no_source_code(uint32_t id) {
  item(Item::ack_source_code_not_available, id);
}

}  // namespace ttc::tracy
