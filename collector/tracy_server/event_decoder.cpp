#include "collector/tracy_server/event_decoder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace ttc::tracy_server {
namespace {

using collect::ThreadState;

constexpr uint64_t kOffset16 = 1u << 16;                         // of the forms of 32 bits
constexpr uint64_t kOffset32 = kOffset16 + (uint64_t{1} << 32);  // of those of 64 bits
constexpr unsigned kMetadataBits = 8;
constexpr int64_t kNoTime = 0;
// Bounds of what a client may make us keep. A program has some ten thousand locations.
constexpr size_t kMostNames = 1u << 20;

template <class T>
T value_at(std::span<const std::byte> body, size_t at) {
  T value{};
  if (at + sizeof value <= body.size()) std::memcpy(&value, body.data() + at, sizeof value);
  return value;
}

// Times of foreign bytes may overflow, and then wrap.
int64_t wrapping_sum(int64_t a, uint64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + b);
}

std::string_view up_to_zero(std::string_view& rest) {
  const size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::string source_text(std::string_view name, std::string_view function, std::string_view file) {
  std::string text;
  for (const std::string_view part : {name, function, file}) {
    text += part;
    text += '\0';
  }
  return text;
}

// States as clients for Linux code them (TracySysTrace.cpp): that of the thread that is taken off its CPU.
ThreadState state_of(uint8_t coded) {
  constexpr uint8_t kBlocked = 101, kRunnable = 103, kSleeps = 104;
  switch (coded) {
    case kBlocked:
      return ThreadState::blocked;
    case kRunnable:
      return ThreadState::preempted;
    case kSleeps:
      return ThreadState::sleeps;
    default:
      return ThreadState::other;
  }
}

}  // namespace

bool EventDecoder::refuse(std::string why) {
  why_ = std::move(why);
  return false;
}

uint64_t EventDecoder::take_answers() {
  return std::exchange(answers_, 0);
}

bool EventDecoder::decode(std::span<const std::byte> frame) {
  if (!why_.empty()) return false;
  while (!frame.empty()) {
    const auto number = static_cast<uint8_t>(frame[0]);
    const Item of = dialect_->items[number];
    if (of == Item::count)
      return refuse("item " + std::to_string(number) + " does not exist in protocol " +
                    std::string(dialect_->name));
    if (of == Item::gpu_new_context) choose_variant(frame);
    const size_t fixed = dialect_->sizes[number];
    const Tail tail = dialect_->tail(of);
    size_t length = 0;
    if (frame.size() < fixed + tail.length_bytes) return refuse("an item is cut off");
    for (size_t i = 0; i < tail.length_bytes; ++i) length |= static_cast<size_t>(frame[fixed + i]) << 8 * i;
    if (tail.from_256) length += 256;
    const size_t whole = fixed + tail.length_bytes + length;
    if (frame.size() < whole) return refuse("the text of an item is cut off");
    const auto* text = reinterpret_cast<const char*>(frame.data() + fixed + tail.length_bytes);
    if (!item(of, frame.subspan(1, fixed - 1), {text, length})) return false;
    frame = frame.subspan(whole);
  }
  return true;
}

// A number that stock Tracy and the fork share: items differ from the first GPU context on. The fork's has a
// 16-bit context, so that its flags are where stock has the type.
void EventDecoder::choose_variant(std::span<const std::byte> rest) {
  if (!variant_open_) return;
  variant_open_ = false;
  if (!is_shared(dialect_->protocol)) return;
  const Dialect* fork = dialect_of(dialect_->protocol, true);
  constexpr size_t kFlags = 27, kType = 28;
  const bool is_fork = rest.size() > kType && static_cast<uint8_t>(rest[kType]) == fork->device_type &&
                       static_cast<uint8_t>(rest[kFlags]) <= 1;
  dialect_ = is_fork ? fork : dialect_of(dialect_->protocol, false);
}

void EventDecoder::emit(EventKind kind, uint32_t subject, int64_t time, uint64_t value,
                        std::string_view text) {
  ++events_;
  take_({kind, subject, time, value, text});
}

// A difference that is not negative is sent, behind protocol 77, in the shortest form that holds it, less what the
// shorter ones hold.
int64_t EventDecoder::thread_time(int64_t difference, uint64_t offset) {
  if (difference >= 0 && dialect_->short_zones) difference = wrapping_sum(difference, offset);
  return thread_ref_ = wrapping_sum(thread_ref_, static_cast<uint64_t>(difference));
}

int64_t EventDecoder::serial_time(int64_t difference) {
  return serial_ref_ = wrapping_sum(serial_ref_, static_cast<uint64_t>(difference));
}

int64_t EventDecoder::context_time(int64_t difference, uint64_t offset) {
  if (difference >= 0 && dialect_->short_zones) difference = wrapping_sum(difference, offset);
  return context_ref_ = wrapping_sum(context_ref_, static_cast<uint64_t>(difference));
}

bool EventDecoder::item(Item of, std::span<const std::byte> body, std::string_view tail) {
  if (of >= Item::single_string_data) return named_item(of, body, tail);
  if (zone_item(of, body) || serial_item(of, body) || message_item(of, body) || context_item(of, body))
    return true;
  other_item(of, body);
  return true;
}

bool EventDecoder::zone_item(Item of, std::span<const std::byte> body) {
  switch (of) {
    case Item::zone_begin:
    case Item::zone_begin_callstack:
      begin_zone(thread_time(value_at<int64_t>(body, 0), kOffset32),
                 keyed_source(value_at<uint64_t>(body, 8)));
      return true;
    case Item::zone_begin32:
    case Item::zone_begin_callstack32:
      begin_zone(thread_time(value_at<uint32_t>(body, 0), kOffset16),
                 keyed_source(value_at<uint64_t>(body, 4)));
      return true;
    case Item::zone_begin16:
    case Item::zone_begin_callstack16:
      begin_zone(thread_time(value_at<uint16_t>(body, 0), 0), keyed_source(value_at<uint64_t>(body, 2)));
      return true;
    case Item::zone_begin_alloc_src_loc:
    case Item::zone_begin_alloc_src_loc_callstack:
      begin_zone(thread_time(value_at<int64_t>(body, 0), 0), allocated_source());
      return true;
    case Item::zone_end:
      emit_here(EventKind::zone_end, thread_time(value_at<int64_t>(body, 0), kOffset32));
      return true;
    case Item::zone_end32:
      emit_here(EventKind::zone_end, thread_time(value_at<uint32_t>(body, 0), kOffset16));
      return true;
    case Item::zone_end16:
      emit_here(EventKind::zone_end, thread_time(value_at<uint16_t>(body, 0), 0));
      return true;
    case Item::zone_text:
      emit_here(EventKind::zone_text, kNoTime, 0, std::exchange(single_, {}));
      return true;
    case Item::zone_name:
      emit_here(EventKind::zone_name, kNoTime, 0, std::exchange(single_, {}));
      return true;
    case Item::zone_value:
      emit_here(EventKind::zone_value, kNoTime, value_at<uint64_t>(body, 0));
      return true;
    default:
      return false;
  }
}

void EventDecoder::begin_zone(int64_t time, uint32_t source) {
  need_thread(thread_);
  emit_here(EventKind::zone_begin, time, source);
}

bool EventDecoder::serial_item(Item of, std::span<const std::byte> body) {
  switch (of) {
    case Item::lock_wait:
    case Item::lock_shared_wait:
      emit(EventKind::lock_wait, value_at<uint32_t>(body, 0), serial_time(value_at<int64_t>(body, 8)),
           value_at<uint32_t>(body, 4));
      return true;
    case Item::lock_obtain:
    case Item::lock_shared_obtain:
      emit(EventKind::lock_obtain, value_at<uint32_t>(body, 0), serial_time(value_at<int64_t>(body, 8)),
           value_at<uint32_t>(body, 4));
      return true;
    case Item::lock_release:
    case Item::lock_shared_release:  // with a thread behind
      emit(EventKind::lock_release, value_at<uint32_t>(body, 12), serial_time(value_at<int64_t>(body, 4)),
           value_at<uint32_t>(body, 0));
      return true;
    case Item::lock_name:
      emit(EventKind::lock_name, 0, kNoTime, value_at<uint32_t>(body, 0), std::exchange(single_, {}));
      return true;
    case Item::lock_announce:
      emit(EventKind::lock_source, 0, keyed_source(value_at<uint64_t>(body, 12)),
           value_at<uint32_t>(body, 0));
      return true;
    default:
      break;
  }
  const bool memory = of >= Item::mem_alloc && of <= Item::mem_discard_callstack;
  const bool gpu = of >= Item::gpu_zone_begin_serial && of <= Item::gpu_zone_end_serial;
  if (memory || gpu) serial_time(value_at<int64_t>(body, 0));
  return memory || gpu;
}

bool EventDecoder::message_item(Item of, std::span<const std::byte> body) {
  const auto time = value_at<int64_t>(body, 0);
  switch (of) {
    case Item::message:
    case Item::message_color:
    case Item::message_callstack:
    case Item::message_color_callstack:
      need_thread(thread_);
      emit_here(EventKind::message, time, 0, std::exchange(single_, {}));
      return true;
    case Item::message_app_info:
      emit_here(EventKind::app_info, time, 0, std::exchange(single_, {}));
      return true;
    case Item::message_literal:
    case Item::message_literal_color:
    case Item::message_literal_callstack:
    case Item::message_literal_color_callstack: {
      auto key = value_at<uint64_t>(body, body.size() - 8);  // behind the time, and a colour where it has one
      if (dialect_->message_metadata) key >>= kMetadataBits;
      need_thread(thread_);
      need_string(key);
      emit_here(EventKind::literal, time, key);
      return true;
    }
    default:
      return false;
  }
}

void EventDecoder::about_thread(EventKind kind, uint32_t thread, int64_t time, uint64_t value) {
  if (thread == 0 || !own_thread_ || !own_thread_(thread)) return;
  need_thread(thread);
  emit(kind, thread, time, value);
}

bool EventDecoder::context_item(Item of, std::span<const std::byte> body) {
  constexpr unsigned kStateAt = 18, kCpuAt = 16, kStateShift = 8;
  switch (of) {
    case Item::context_switch: {
      const int64_t time = context_time(value_at<int64_t>(body, 0), 0);
      const auto cpu = value_at<uint8_t>(body, kCpuAt);
      ++context_switches_;
      const auto state = static_cast<uint64_t>(state_of(value_at<uint8_t>(body, kStateAt)));
      about_thread(EventKind::thread_stops, value_at<uint32_t>(body, 8), time, cpu | state << kStateShift);
      about_thread(EventKind::thread_runs, value_at<uint32_t>(body, 12), time, cpu);
      return true;
    }
    case Item::thread_wakeup: {
      const int64_t time = context_time(value_at<int64_t>(body, 0), 0);
      about_thread(EventKind::thread_woken, value_at<uint32_t>(body, 8), time, value_at<uint8_t>(body, 12));
      return true;
    }
    case Item::callstack_sample:
    case Item::callstack_sample_context_switch:
      context_time(value_at<int64_t>(body, 4), kOffset32);
      return true;
    case Item::callstack_sample32:
    case Item::callstack_sample_context_switch32:
      context_time(value_at<uint32_t>(body, 4), kOffset16);
      return true;
    case Item::callstack_sample16:
    case Item::callstack_sample_context_switch16:
      context_time(value_at<uint16_t>(body, 4), 0);
      return true;
    default:
      return false;
  }
}

void EventDecoder::other_item(Item of, std::span<const std::byte> body) {
  switch (of) {
    case Item::thread_context:
      thread_ = value_at<uint32_t>(body, 0);
      thread_ref_ = 0;
      return;
    case Item::plot_data_int:
    case Item::plot_data_float:
    case Item::plot_data_double: {
      const auto key = value_at<uint64_t>(body, 0);
      const int64_t time = thread_time(value_at<int64_t>(body, 8), 0);
      const double value = of == Item::plot_data_int     ? static_cast<double>(value_at<int64_t>(body, 16))
                           : of == Item::plot_data_float ? static_cast<double>(value_at<float>(body, 16))
                                                         : value_at<double>(body, 16);
      need_once(QueryKind::plot_name, key);
      emit_here(EventKind::plot, time, std::bit_cast<uint64_t>(value),
                {reinterpret_cast<const char*>(body.data()), sizeof key});
      return;
    }
    case Item::frame_mark_msg:
    case Item::frame_mark_msg_start:
    case Item::frame_mark_msg_end: {
      const auto key = value_at<uint64_t>(body, 8);
      need_once(QueryKind::frame_name, key);
      emit(EventKind::frame, static_cast<uint32_t>(of) - static_cast<uint32_t>(Item::frame_mark_msg),
           value_at<int64_t>(body, 0), key);
      return;
    }
    case Item::gpu_zone_begin:
    case Item::gpu_zone_begin_callstack:
    case Item::gpu_zone_begin_alloc_src_loc:
    case Item::gpu_zone_begin_alloc_src_loc_callstack:
    case Item::gpu_zone_end:
    case Item::fiber_enter:
    case Item::fiber_leave:
      thread_time(value_at<int64_t>(body, 0), 0);
      return;
    case Item::source_location:
      ++answers_;
      return located(body);
    case Item::ack_server_query_noop:
    case Item::ack_source_code_not_available:
    case Item::ack_symbol_code_not_available:
      ++answers_;
      return;
    case Item::callstack:
    case Item::callstack_alloc:
    case Item::callstack_serial:
      ++callstacks_;
      return;
    case Item::crash:
      return emit_here(EventKind::crash, kNoTime);
    case Item::crash_report:
      need_string(value_at<uint64_t>(body, 8));
      return emit_here(EventKind::crash_text, value_at<int64_t>(body, 0), value_at<uint64_t>(body, 8));
    case Item::terminate:
      terminated_ = true;
      return;
    default:  // a lock's mark, memory, GPU, samples, hardware: not needed here
      return;
  }
}

bool EventDecoder::named_item(Item of, std::span<const std::byte> body, std::string_view tail) {
  const auto key = value_at<uint64_t>(body, 0);
  switch (of) {
    case Item::single_string_data:
    case Item::single_string_data8:
      single_.assign(tail);
      return true;
    case Item::source_location_payload:
      payload_.assign(tail);
      return true;
    case Item::string_data:
    case Item::plot_name:
    case Item::frame_name:
      ++answers_;
      string_came(key, tail);
      return true;
    case Item::thread_name:
      ++answers_;
      emit(EventKind::thread_name, static_cast<uint32_t>(key), kNoTime, 0, tail);
      return true;
    case Item::fiber_name:
    case Item::external_name:
    case Item::symbol_code:
    case Item::source_code:
      ++answers_;
      return true;
    default:
      return true;
  }
}

uint32_t EventDecoder::keyed_source(uint64_t key) {
  const auto found = keyed_.find(key);
  if (found != keyed_.end()) return found->second.number;
  if (keyed_.size() >= kMostNames) return ++names_refused_, 0;
  KeyedSource& source = keyed_[key];
  source.number = next_source_++;
  located_in_order_.push_back(key);
  ask(QueryKind::source_location, key);
  return source.number;
}

// The payload of a source location: colour u32, line u32, function, file, each ended by a zero, and the name.
uint32_t EventDecoder::allocated_source() {
  const auto found = allocated_.find(payload_);
  if (found != allocated_.end()) return found->second;
  if (allocated_.size() >= kMostNames) return ++names_refused_, 0;
  const uint32_t number = next_source_++;
  allocated_.emplace(payload_, number);
  constexpr size_t kLine = 4, kText = 8;
  uint32_t line = 0;
  std::string_view rest;
  if (payload_.size() >= kText) {
    std::memcpy(&line, payload_.data() + kLine, sizeof line);
    rest = std::string_view(payload_).substr(kText);
  }
  const std::string_view function = up_to_zero(rest), file = up_to_zero(rest);
  emit(EventKind::source, line, kNoTime, number, source_text(rest, function, file));
  return number;
}

// An answer, to the oldest question that is open.
void EventDecoder::located(std::span<const std::byte> body) {
  if (located_in_order_.empty()) return;
  const uint64_t key = located_in_order_.front();
  located_in_order_.pop_front();
  KeyedSource& source = keyed_[key];
  source.located = true;
  source.name = value_at<uint64_t>(body, 0);
  source.function = value_at<uint64_t>(body, 8);
  source.file = value_at<uint64_t>(body, 16);
  source.line = value_at<uint32_t>(body, 24);
  for (const uint64_t part : {source.name, source.function, source.file}) {
    if (part == 0 || strings_.contains(part)) continue;
    waiting_[part].push_back(key);
    need_string(part);
  }
  report_source(source);
}

void EventDecoder::need_string(uint64_t key) {
  need_once(QueryKind::string, key);
}

void EventDecoder::need_once(QueryKind kind, uint64_t key) {
  if (key == 0 || asked_strings_.contains(key)) return;
  if (asked_strings_.size() >= kMostNames) {
    ++names_refused_;
    return;
  }
  asked_strings_.insert(key);
  ask(kind, key);
}

void EventDecoder::need_thread(uint32_t thread) {
  if (threads_.size() >= kMostNames || !threads_.insert(thread).second) return;
  ask(QueryKind::thread_string, thread);
}

void EventDecoder::string_came(uint64_t key, std::string_view text) {
  if (strings_.size() >= kMostNames || !strings_.emplace(key, text).second) return;
  emit(EventKind::string, 0, kNoTime, key, text);
  const auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) return;
  const std::vector<uint64_t> sources = std::move(waiting->second);
  waiting_.erase(waiting);
  for (const uint64_t source : sources) report_source(keyed_[source]);
}

std::string_view EventDecoder::known(uint64_t key) const {
  const auto found = strings_.find(key);
  return found == strings_.end() ? std::string_view() : found->second;
}

void EventDecoder::report_source(KeyedSource& source) {
  if (source.reported || !source.located) return;
  for (const uint64_t part : {source.name, source.function, source.file})
    if (part && !strings_.contains(part)) return;
  source.reported = true;
  emit(EventKind::source, source.line, kNoTime, source.number,
       source_text(known(source.name), known(source.function), known(source.file)));
}

void EventDecoder::finish() {
  for (auto& [key, source] : keyed_) {
    if (source.reported) continue;
    source.reported = true;
    emit(EventKind::source, source.line, kNoTime, source.number,
         source_text(known(source.name), known(source.function), known(source.file)));
  }
}

}  // namespace ttc::tracy_server
