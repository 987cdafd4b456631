#include "ttcollect/host_events.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace ttc::collect {
namespace {

constexpr size_t kAlign = 8;

size_t padded(size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

void append_record(std::vector<std::byte>& body, const HostEvent& event) {
  HostRecord record;
  record.kind = static_cast<uint8_t>(event.kind);
  record.text_bytes =
      static_cast<uint16_t>(std::min<size_t>(event.text.size(), std::numeric_limits<uint16_t>::max()));
  record.subject = event.subject;
  record.time = event.time;
  record.value = event.value;
  const auto* head = reinterpret_cast<const std::byte*>(&record);
  body.insert(body.end(), head, head + sizeof record);
  if (record.text_bytes == 0) return;
  const auto* text = reinterpret_cast<const std::byte*>(event.text.data());
  body.insert(body.end(), text, text + record.text_bytes);
  body.resize(body.size() + padded(record.text_bytes) - record.text_bytes);
}

HostChunkReader::HostChunkReader(std::span<const char> body) : rest_(body) {
  if (body.size() < sizeof head_) {
    rest_ = {};
    why_not_ = "a chunk of the host's side is shorter than its head";
    return;
  }
  std::memcpy(&head_, body.data(), sizeof head_);
  rest_ = body.subspan(sizeof head_);
  if (head_.version == kHostChunkVersion) return;
  rest_ = {};
  why_not_ = "a chunk of the host's side is of version " + std::to_string(head_.version) +
             ", which this build does not know";
}

bool HostChunkReader::next(HostEvent& event) {
  if (rest_.empty()) return false;
  HostRecord record;
  if (rest_.size() >= sizeof record) std::memcpy(&record, rest_.data(), sizeof record);
  if (rest_.size() < sizeof record || rest_.size() - sizeof record < padded(record.text_bytes)) {
    rest_ = {};
    why_not_ = "a record of the host's side is cut off";
    return false;
  }
  event = {static_cast<EventKind>(record.kind),
           record.subject,
           record.time,
           record.value,
           {rest_.data() + sizeof record, record.text_bytes}};
  rest_ = rest_.subspan(sizeof record + padded(record.text_bytes));
  return true;
}

}  // namespace ttc::collect
