#include "ttcollect/host_events.hpp"

#include <algorithm>
#include <cstring>

namespace ttc::collect {
namespace {

using namespace host_field;

constexpr size_t kAlign = 8;
constexpr size_t kMostVarint = 10;
// The largest record without its text: kind, fields, subject, time, value, length.
constexpr size_t kMostRecord = 2 + 5 + kMostVarint + kMostVarint + kMostVarint;
constexpr uint64_t kVarintIsShort = uint64_t{1} << 49;  // up to 7 bytes; beyond it 8 bytes are as good

size_t padded(size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

std::byte* put_varint(std::byte* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<std::byte>(value | 0x80);
  *at++ = static_cast<std::byte>(value);
  return at;
}

// Reads from foreign bytes. False: they end within the number, or it is longer than 64 bits.
bool take_varint(std::span<const char>& from, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < std::min(from.size(), kMostVarint); ++i) {
    const auto byte = static_cast<uint8_t>(from[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << 7 * i;
    if (byte & 0x80) continue;
    from = from.subspan(i + 1);
    return true;
  }
  return false;
}

// Times are foreign: differences wrap.
uint64_t zigzag(int64_t from, int64_t to) {
  const uint64_t difference = static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  return difference << 1 ^ (difference >> 63 ? ~uint64_t{0} : 0);
}
int64_t behind(int64_t from, uint64_t zigzag) {
  return static_cast<int64_t>(static_cast<uint64_t>(from) + (zigzag >> 1 ^ (zigzag & 1 ? ~uint64_t{0} : 0)));
}

}  // namespace

void HostRecords::add(const HostEvent& event) {
  const size_t most = used_ + kMostRecord + event.text.size();
  if (most > bytes_.size()) bytes_.resize(std::max(most, 2 * bytes_.size()));
  std::byte* const begin = bytes_.data() + used_;
  std::byte* at = begin + 2;
  uint8_t fields = 0;
  if (event.subject != subject_) {
    fields |= kSubject;
    subject_ = event.subject;
    at = put_varint(at, subject_);
  }
  if (event.time) {
    fields |= kTime;
    at = put_varint(at, zigzag(time_, event.time));
    time_ = event.time;
  }
  if (event.value >= kVarintIsShort) {
    fields |= kValue | kWide;
    std::memcpy(at, &event.value, sizeof event.value);
    at += sizeof event.value;
  } else if (event.value) {
    fields |= kValue;
    at = put_varint(at, event.value);
  }
  if (!event.text.empty()) {
    fields |= kText;
    at = put_varint(at, event.text.size());
    std::memcpy(at, event.text.data(), event.text.size());
    at += event.text.size();
  }
  begin[0] = static_cast<std::byte>(event.kind);
  begin[1] = static_cast<std::byte>(fields);
  used_ = static_cast<size_t>(at - bytes_.data());
}

void HostRecords::clear() {
  used_ = 0;
  subject_ = 0;
  time_ = 0;
}

HostChunkReader::HostChunkReader(std::span<const char> body) : rest_(body) {
  if (body.size() < sizeof head_) {
    rest_ = {};
    why_not_ = "a chunk of the host's side is shorter than its head";
    return;
  }
  std::memcpy(&head_, body.data(), sizeof head_);
  rest_ = body.subspan(sizeof head_);
  if (head_.version == 1 || head_.version == kHostChunkVersion) return;
  rest_ = {};
  why_not_ = "a chunk of the host's side is of version " + std::to_string(head_.version) +
             ", which this build does not support";
}

bool HostChunkReader::cut_off() {
  rest_ = {};
  why_not_ = "a record of the host's side is cut off";
  return false;
}

bool HostChunkReader::next_of_version_1(HostEvent& event) {
  HostRecord record;
  if (rest_.size() >= sizeof record) std::memcpy(&record, rest_.data(), sizeof record);
  if (rest_.size() < sizeof record || rest_.size() - sizeof record < padded(record.text_bytes))
    return cut_off();
  event = {static_cast<EventKind>(record.kind),
           record.subject,
           record.time,
           record.value,
           {rest_.data() + sizeof record, record.text_bytes}};
  rest_ = rest_.subspan(sizeof record + padded(record.text_bytes));
  return true;
}

bool HostChunkReader::next(HostEvent& event) {
  if (rest_.empty()) return false;
  if (head_.version == 1) return next_of_version_1(event);
  if (rest_.size() < 2) return cut_off();
  const auto fields = static_cast<uint8_t>(rest_[1]);
  event = {static_cast<EventKind>(rest_[0]), subject_, 0, 0, {}};
  rest_ = rest_.subspan(2);
  uint64_t number = 0;
  if (fields & kSubject) {
    if (!take_varint(rest_, number)) return cut_off();
    event.subject = subject_ = static_cast<uint32_t>(number);
  }
  if (fields & kTime) {
    if (!take_varint(rest_, number)) return cut_off();
    event.time = time_ = behind(time_, number);
  }
  if ((fields & kValue) && (fields & kWide)) {
    if (rest_.size() < sizeof event.value) return cut_off();
    std::memcpy(&event.value, rest_.data(), sizeof event.value);
    rest_ = rest_.subspan(sizeof event.value);
  } else if (fields & kValue) {
    if (!take_varint(rest_, event.value)) return cut_off();
  }
  if (fields & kText) {
    if (!take_varint(rest_, number) || number > rest_.size()) return cut_off();
    event.text = {rest_.data(), static_cast<size_t>(number)};
    rest_ = rest_.subspan(static_cast<size_t>(number));
  }
  return true;
}

}  // namespace ttc::collect
