// The C ABI on foreign bytes: the first byte chooses a capture or a segment, the second the options. Every row and text that is
// handed out is read; nothing may come out of it but statuses.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/fuzz/foreign_capture.hpp"
#include "tests/fuzz/foreign_segment.hpp"
#include "ttcollect/reader.h"

namespace {

using namespace ttc;

uint64_t sum_of(const ttcollect_batch& b) {
  uint64_t sum = 0;
  const auto named = [&](uint32_t name) {
    if (name >= b.name_count) std::abort();
    sum += std::strlen(b.names[name].name) + std::strlen(b.names[name].file);
  };
  for (size_t i = 0; i < b.marker_count; ++i) named(b.markers[i].name);
  for (size_t i = 0; i < b.zone_count; ++i) named(b.zones[i].name);
  for (size_t i = 0; i < b.op_count; ++i) sum += b.ops[i].cores;
  for (size_t i = 0; i < b.loss_count; ++i) sum += std::strlen(ttcollect_loss_cause(b.losses[i].cause));
  for (size_t i = 0; i < b.clock_count; ++i) sum += b.clocks[i].era;
  for (size_t i = 0; i < b.telemetry_count; ++i) sum += b.telemetry[i].known;
  for (size_t i = 0; i < b.session_count; ++i)
    sum += std::strlen(b.sessions[i].device) + std::strlen(b.sessions[i].environment);
  for (size_t i = 0; i < b.host_zone_count; ++i)
    sum += std::strlen(b.host_zones[i].name) + std::strlen(b.host_zones[i].text);
  for (size_t i = 0; i < b.host_message_count; ++i) sum += std::strlen(b.host_messages[i].text);
  for (size_t i = 0; i < b.op_name_count; ++i) sum += std::strlen(b.op_names[i].name);
  return sum;
}

void read(const std::string& from, uint8_t how) {
  ttcollect_options options{};
  options.struct_bytes = sizeof options;
  ttcollect_options_init(&options);
  options.follow = how & 1, options.from_now = (how >> 1 & 1) && (how & 1), options.host_times = how >> 2 & 1;
  options.tables = how >> 3 & TTCOLLECT_ALL_TABLES;
  options.batch_rows = how & 0x80 ? 16 : 1 << 16;
  options.threads = 0;
  ttcollect_reader* reader = nullptr;
  char why[300];
  const int opened = ttcollect_open(from.c_str(), &options, &reader, why, sizeof why);
  if ((opened == TTCOLLECT_OK) != (reader != nullptr) || (opened != TTCOLLECT_OK && !why[0])) std::abort();
  if (!reader) return;
  ttcollect_batch batch{};
  batch.struct_bytes = sizeof batch;
  uint64_t sum = 0;
  for (int i = 0; i < 3000; ++i) {
    const int status = ttcollect_next(reader, 0, &batch);
    sum += sum_of(batch);
    if (status == TTCOLLECT_USAGE) std::abort();
    if (status < 0 && !ttcollect_error(reader)[0]) std::abort();
    if (status != TTCOLLECT_OK && status != TTCOLLECT_LAPPED) break;
  }
  ttcollect_account account{};
  account.struct_bytes = sizeof account;
  if (ttcollect_get_account(reader, &account) != TTCOLLECT_OK) std::abort();
  asm volatile("" : : "r"(sum));
  ttcollect_close(reader);
}

// Under a live name of this process.
void read_segment(const uint8_t* data, size_t size, uint8_t how) {
  const shm::ForeignSegment segment(data, size);
  const std::string name = "test-fuzz-" + std::to_string(getpid());
  const std::string path = "/dev/shm/ttcollect-" + name + "." + std::to_string(geteuid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(segment.bytes()), shm::kForeignBytes);
  read("live:" + name, how);
  unlink(path.c_str());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  if (data[0] & 1)
    read_segment(data + 2, size - 2, data[1]);
  else
    read(collect::ForeignFile(collect::file_of(data + 2, size - 2)).path(), data[1]);
  return 0;
}
