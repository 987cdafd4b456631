// Chunks of the workload's host side, record by record. A client's tick is two nanoseconds, its process began at tick 1000, which is 50,000 ns of
// CLOCK_MONOTONIC_RAW, and 10,000 ns later for each further process.
#pragma once
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shm/chunk.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::tests {

class HostChunk {
 public:
  explicit HostChunk(uint32_t process = 0) {
    head.process = process;
    head.pid = 100 + process;
    head.init_begin = 1000;
    head.timer_mul = 2;
    head.tick = 1000;
    head.raw_ns = 50'000 + process * 10'000;
    head.ns_per_tick = 2;
    head.protocol = 76;
  }
  HostChunk& add(collect::EventKind kind, uint32_t subject, int64_t time, uint64_t value = 0,
                 std::string_view text = {}) {
    records_.add({kind, subject, time, value, text});
    return *this;
  }
  HostChunk& zone(uint32_t thread, uint64_t source, int64_t from, int64_t to, std::string_view text = {}) {
    add(collect::EventKind::zone_begin, thread, from, source);
    if (!text.empty()) add(collect::EventKind::zone_text, thread, 0, 0, text);
    return add(collect::EventKind::zone_end, thread, to);
  }
  HostChunk& message(int64_t time, std::string_view text) {
    return add(collect::EventKind::message, 1, time, 0, text);
  }
  HostChunk& source(uint64_t number, const char* name, uint32_t line = 1, const char* function = "f",
                    const char* file = "f.cpp") {
    return add(collect::EventKind::source, line, 0, number,
               std::string(name) + '\0' + function + '\0' + file + '\0');
  }

  std::vector<uint64_t> chunk(shm::ChunkKind kind, std::optional<uint64_t> sequence = {}) const {
    shm::ChunkHeader h;
    if (sequence) h.device = collect::kHostDevice, h.sequence = *sequence;
    h.kind = kind;
    h.bytes = static_cast<uint32_t>(sizeof h + sizeof head + records_.size());
    std::vector<uint64_t> chunk((h.bytes + 7) / 8);
    auto* at = reinterpret_cast<char*>(chunk.data());
    std::memcpy(at, &h, sizeof h);
    std::memcpy(at + sizeof h, &head, sizeof head);
    if (!records_.empty()) std::memcpy(at + sizeof h + sizeof head, records_.bytes().data(), records_.size());
    return chunk;
  }
  template <class To>
  void push(To& to, std::optional<uint64_t> sequence = {}) const {
    to.push(chunk(shm::ChunkKind::host_events, sequence));
  }
  template <class To>
  void push_names(To& to) const {
    to.push(chunk(shm::ChunkKind::host_names));
  }

  collect::HostChunkHead head;

 private:
  collect::HostRecords records_;
};

}  // namespace ttc::tests
