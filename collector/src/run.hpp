// One collecting run of one device: attach, drain until told to stop, leave a true account.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collector/drain.hpp"

namespace ttc::collect {

struct RunOptions {
  std::string device;
  std::string output;        // .ttc, empty: none
  uint64_t duration_ns = 0;  // 0: until stopped
  uint64_t wait_ns = 0;      // how long to wait for card and profiler
  std::string layout;
  std::string metal_home;
  uint64_t ring_bytes = 32u << 20;
  std::string group;
  DrainOptions drain;
  bool plain = false;             // no io_uring
  bool descriptor_reads = false;  // payload through the card's descriptor
  bool json = false;
  bool quiet = false;
};

struct RunResult {
  card::Identity identity;
  std::string layout;
  uint32_t bytes_per_risc = 0;
  size_t cores = 0, lanes = 0;
  uint64_t programs = 0, markers = 0, frames = 0, chunks = 0, bytes = 0;
  uint64_t epochs = 0, retries = 0, sweeps = 0, recovered_words = 0;
  card::Transactions transactions;
  uint64_t sweep_p50 = 0, sweep_p99 = 0, sweep_max = 0;
  std::vector<shm::LossRecord> lost;
  uint64_t names = 0;
  std::string loop, live_name, output_backend;
  uint64_t output_bytes = 0, output_lapped_bytes = 0;
  std::string output_error;
  double duration_s = 0;
  std::string ended;  // why, as a sentence part
  bool card_vanished = false;
};

// Throws card::OpenError, AttachError, shm::SegmentError, CaptureError before anything was collected.
RunResult run(const RunOptions& options);

}  // namespace ttc::collect
