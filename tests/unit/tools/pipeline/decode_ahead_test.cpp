// Words that other threads decode reach the format as they do without: the same calls, in the same order, with the same arguments.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "firmware_markers/perf_counter.hpp"
#include "tests/support/kept_chunks.hpp"
#include "tests/support/launch_chunks.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "ttcollect/clock_segment.hpp"

namespace ttc::tools {
namespace {

using collect::kHostTicksPerNs;
using markers::Marker;
using markers::MarkerType;
using shm::ChunkKind;
using WordChunk = std::vector<uint64_t>;

// What a frame alone shows, as a line.
std::string alone(const FrameEvents& f) {
  std::string line = std::to_string(f.core_x) + ' ' + std::to_string(f.risc) + ' ' +
                     std::to_string(f.main_zone) + ' ' + std::to_string(f.seen_ns) + ' ' +
                     std::to_string(f.names.size()) + (f.tile_clock ? " clock" : "");
  for (size_t i = 0; i < f.markers.size(); ++i)
    line += ' ' + std::to_string(f.markers[i].time_cycles) + '/' +
            std::to_string(f.host_times.empty() ? 0 : f.host_times[i].at);
  return line;
}
struct NotedFrames : FrameWork {
  void begin(unsigned) override { noted.clear(); }
  bool frame(const FrameEvents& f) override {
    noted.push_back(alone(f));
    return false;
  }
  std::vector<std::string> noted;
};

// Every call as a line, with all its arguments.
class WrittenCalls : public Format {
 public:
  explicit WrittenCalls(Order order) : order_(order) {}
  Order order() const override { return order_; }
  std::unique_ptr<FrameWork> frame_work() const override { return std::make_unique<NotedFrames>(); }
  void begin(const Session& s) override { line("begin", s.chip); }
  void frame(const FrameEvents& f) override {
    ++frames;
    if (f.work) {
      ++worked;
      const auto& noted = static_cast<const NotedFrames*>(f.work)->noted;
      EXPECT_EQ(noted.at(f.work_frame), alone(f));
    }
    line("frame", f.chip, f.core_x, f.core_y, f.risc, f.host_id, f.trace_counter, f.epoch, f.main_zone,
         f.names.size(), f.host_clock_minus_raw_ns, f.tile_clock != nullptr);
    const FrameZones zones = f.zones();
    line(" zones", zones.firmware.begin, zones.firmware.end, zones.kernel.begin, zones.kernel.end);
    for (const HostSemantics& s : f.semantics) text += " means " + s.name + " " + s.meta + "\n";
    for (size_t i = 0; i < f.markers.size(); ++i) {
      const Marker& m = f.markers[i];
      line(" marker", m.time_cycles, m.id, static_cast<int>(m.type), static_cast<int>(m.flags));
      if (m.type == MarkerType::ts_data || m.type == MarkerType::zone_total) line("  payload", f.payload(m));
      if (!f.host_times.empty())
        line("  time", f.host_times[i].at, f.host_times[i].bound, static_cast<int>(f.host_times[i].kind),
             f.host_times[i].final);
    }
  }
  void loss(const shm::LossRecord& r) override { line("loss", r.id, r.from_cycles); }
  void names_changed() override { line("names"); }
  void clock(uint32_t chip, const collect::ClockMap& map) override {
    line("clock", chip, map.segments().size());
  }
  void telemetry(uint32_t chip, const shm::TelemetryRecord& r) override {
    line("telemetry", chip, r.host_ns);
  }
  void end() override { line("end"); }

  std::string text;
  size_t frames = 0, worked = 0;

 private:
  template <class... Values>
  void line(const char* what, Values... values) {
    text += what;
    ((text += ' ' + std::to_string(values)), ...);
    text += '\n';
  }
  Order order_;
};

constexpr uint64_t kLaunchCycles = 1000;
constexpr size_t kBatchWords = 4096;

// Every frame as a line.
class AloneCalls : public Format {
 public:
  static bool can_be_alone(uint32_t host_id) { return host_id % 41 != 7; }
  static std::string body_of(const FrameEvents& f) {
    std::string body = alone(f);
    for (const Marker& m : f.markers)
      if (m.type == MarkerType::ts_data || m.type == MarkerType::ts_data_16b)
        body += " payload " + std::to_string(f.payload(m));
    for (const HostSemantics& s : f.semantics)
      body += " means " + std::to_string(s.marker) + " " + s.name + s.meta;
    return body;
  }
  std::unique_ptr<FrameWork> frame_work() const override;
  bool frame_alone(const FrameEvents& f) override;
  void begin(const Session&) override {}
  void frame(const FrameEvents& f) override { put(f, body_of(f)); }
  void loss(const shm::LossRecord& r) override { text += "loss " + std::to_string(r.id) + "\n"; }
  void names_changed() override { text += "names\n"; }
  void end() override {}

  std::string text;
  size_t taken_alone = 0;

 private:
  void put(const FrameEvents& f, const std::string& body) {
    text += std::to_string(f.chip) + " " + std::to_string(f.host_id) + " " + std::to_string(f.trace_counter) +
            " " + std::to_string(f.epoch) + " " + std::to_string(f.host_clock_minus_raw_ns) + ": " + body +
            "\n";
  }
};

// A core's launches from `launch` on. Firmware that keeps words in L1 has those at its begin a second time.
WordChunk words_of_core(uint8_t core, uint32_t launch, uint32_t launches, device::Mode mode,
                        uint16_t firmware_id = 100) {
  const device::Format& format = markers::layout_by_generation(test::kLaunchGeneration)->format;
  test::Words words;
  for (uint32_t i = 0; i < launches; ++i) {
    const uint64_t t = kLaunchCycles * (launch + i);
    const test::Words frame = test::frame_words(format.identity(0, core, 0), launch + i,
                                                {firmware_id, t, t + 900}, {101 + i % 3, t + 100, t + 800});
    words.insert(words.end(), frame.begin(), frame.end());
  }
  return test::lane_chunk(core, 0, words, mode, kLaunchCycles * (launch + launches) + 2'000'000'000);
}

// A cycle is a nanosecond. Final from cycle `from` to `to`.
WordChunk clock_of(uint64_t from, uint64_t to) {
  collect::ClockHead head;
  head.tile_spread = 3;
  collect::ClockSegment s = collect::clock_segment_between(from, (from + 2'000'000'000) * kHostTicksPerNs, to,
                                                           (to + 2'000'000'000) * kHostTicksPerNs);
  s.kind = collect::BoundKind::hard;
  s.bound = s.hard_bound = 16;
  s.flags = collect::kFinalSegment;
  std::string body(reinterpret_cast<const char*>(&head), sizeof head);
  body.append(reinterpret_cast<const char*>(&s), sizeof s);
  return test::chunk_of(ChunkKind::clock, body.data(), body.size());
}

// The same for the same seed: mostly words, and what changes names and clocks in between.
std::vector<WordChunk> random_chunks(uint64_t seed) {
  std::mt19937_64 dice(seed);
  const auto mode = seed % 3 == 0 ? device::Mode::accumulate : device::Mode::normal;
  std::vector<WordChunk> all{test::chunk_of(
      ChunkKind::session, R"({"device":"emu:0","chip":3,"arch":"wormhole_b0","aiclk_mhz":1000})")};
  uint32_t launch[4] = {1, 1, 1, 1};
  uint64_t clocked = 1;
  for (int i = 0; i < 400; ++i) {
    const uint64_t kind = dice() % 30;
    const auto core = static_cast<uint8_t>(dice() % 4);
    if (kind < 3) {
      all.push_back(test::other_chunk(static_cast<test::OtherChunk>(kind), i, dice));
    } else if (kind == 3) {
      const uint64_t until = kLaunchCycles * (*std::max_element(launch, launch + 4) + 1);
      if (until > clocked) all.push_back(clock_of(clocked, until));
      clocked = std::max(clocked, until);
    } else {
      const auto launches = static_cast<uint32_t>(1 + dice() % 40);
      all.push_back(words_of_core(core, launch[core], launches, mode));
      launch[core] += dice() % 8 ? launches : launches - 1;  // sometimes the last one comes again
    }
  }
  return all;
}

constexpr const char* kDispatchKernel = "CQ-DISPATCH,dispatch.cpp,7,KERNEL_PROFILER";

// Launches of a core: mostly plain, some with a counter or 16 bytes of data in the kernel's zone. Core 1 runs dispatch kernels at times, whose zone is
// open at the end of some.
WordChunk words_with_meaning(uint8_t core, uint32_t launch, uint32_t launches, std::mt19937_64& dice) {
  const device::Format& format = markers::layout_by_generation(test::kLaunchGeneration)->format;
  test::Words words;
  for (uint32_t i = 0; i < launches; ++i) {
    const uint64_t t = kLaunchCycles * (launch + i);
    const bool dispatch = core == 1 && dice() % 8 == 0;
    const bool open = dispatch && dice() % 3 == 0;
    const uint32_t kernel = dispatch ? markers::hash16(kDispatchKernel) : 101 + i % 3;
    // What a dispatch kernel pushes before it ends has no zone of its own.
    const bool goes_on = core == 1 && !dispatch && dice() % 2;
    const test::FrameZone none{0, {}, {}};
    const auto end = [&](uint64_t at) { return open ? test::Time() : at; };
    const test::Words frame =
        goes_on ? test::frame_words(format.identity(0, core, 0), launch + i, none, none)
                : test::frame_words(format.identity(0, core, 0), launch + i, {100, t, end(t + 900)},
                                    {kernel, t + 100, end(t + 800)});
    words.insert(words.end(), frame.begin(), frame.end());
    const uint64_t data = dice() % (goes_on ? 2 : 6);
    if (data > 1) continue;
    test::put_marker(words, data ? device::kTsData16B : device::kTsData, data ? 55 : markers::kPerfCounterId,
                     t + 500);
    for (unsigned word = 0; word < (data ? 4u : 2u); ++word)
      words.push_back(static_cast<uint32_t>(dice() % 1000));
  }
  return test::lane_chunk(core, 0, words, device::Mode::normal,
                          kLaunchCycles * (launch + launches) + 2'000'000'000);
}

std::vector<WordChunk> chunks_with_meaning(uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::vector<WordChunk> all{
      test::chunk_of(ChunkKind::session,
                     R"({"device":"emu:0","chip":3,"arch":"wormhole_b0","aiclk_mhz":1000})"),
      test::chunk_of(ChunkKind::names, std::string(kDispatchKernel) + "\n")};
  uint32_t launch[4] = {1, 1, 1, 1};
  uint64_t clocked = 1;
  for (int i = 0; i < 300; ++i) {
    const uint64_t kind = dice() % 40;
    const auto core = static_cast<uint8_t>(dice() % 4);
    if (kind == 0) {
      all.push_back(test::other_chunk(test::OtherChunk::names, i, dice));
    } else if (kind == 1) {
      const uint64_t until = kLaunchCycles * (*std::max_element(launch, launch + 4) + 1);
      if (until > clocked) all.push_back(clock_of(clocked, until));
      clocked = std::max(clocked, until);
    } else {
      const auto launches = static_cast<uint32_t>(1 + dice() % 40);
      all.push_back(words_with_meaning(core, launch[core], launches, dice));
      launch[core] += launches;
    }
  }
  return all;
}

// Two strings with the same hash.
std::pair<std::string, std::string> names_of_one_id() {
  std::map<uint16_t, std::string> by_id;
  for (int i = 0;; ++i) {
    const std::string text = "Z" + std::to_string(i) + ",k.cpp,1,KERNEL_PROFILER";
    const auto [known, fresh] = by_id.try_emplace(markers::hash16(text), text);
    if (!fresh) return {known->second, text};
  }
}

// In memory that is gone when the pipeline does not keep it, or that it must copy.
void push_some_kept(const std::vector<WordChunk>& chunks, Pipeline& pipeline, Format& format) {
  for (size_t i = 0; i < chunks.size(); ++i) {
    const shm::KeptChunk chunk = i % 3 == 0 ? test::own_chunk(chunks[i]) : test::shared_chunk(chunks[i]);
    pipeline.push(chunk.words, format, chunk.memory);
  }
}

std::string calls_of(const std::vector<WordChunk>& chunks, std::optional<HostClock> clock, Order order,
                     jobs::Workers* workers) {
  Filter filter;
  filter.cycles_from = 3000;
  WrittenCalls format(order);
  Pipeline pipeline(filter, false, {}, clock);
  if (workers) pipeline.decode_ahead(*workers);
  push_some_kept(chunks, pipeline, format);
  pipeline.finish(format);
  format.end();
  const markers::Anomalies a = pipeline.anomalies();
  return format.text + "markers " + std::to_string(pipeline.markers()) + " unnamed " +
         std::to_string(pipeline.unnamed_ids()) + " without bound " +
         std::to_string(pipeline.without_bound()) + " stale " + std::to_string(a.stale_markers) +
         pipeline.complaint();
}

TEST(DecodeAhead, the_format_gets_the_same_calls_for_every_number_of_threads) {
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    const std::vector<WordChunk> chunks = random_chunks(seed);
    const auto clock = seed % 2 ? std::optional(HostClock::raw) : std::nullopt;
    const Order order = seed % 4 < 2 ? Order::time : Order::log;
    const std::string plain = calls_of(chunks, clock, order, nullptr);
    EXPECT_NE(plain.find("frame"), std::string::npos);
    for (const unsigned threads : {1u, 2u, 4u}) {
      jobs::Workers workers(threads);
      EXPECT_EQ(calls_of(chunks, clock, order, &workers) == plain, true)
          << "seed " << seed << ", " << threads << " threads";
    }
  }
}

// Words of a batch that no further words fill: a run's host side of any size came behind them, and was held in memory.
TEST(DecodeAhead, chunks_without_words_behind_words_are_bounded) {
  jobs::Workers workers(2);
  WrittenCalls format(Order::log);
  Pipeline pipeline(Filter(), false);
  pipeline.decode_ahead(workers);
  std::mt19937_64 dice(1);
  std::vector<WordChunk> chunks{words_with_meaning(0, 1, 4, dice)};
  shm::TelemetryRecord record{};
  constexpr size_t kMostWaiting = 1 << 20;
  const size_t chunk_bytes = sizeof(shm::ChunkHeader) + sizeof record;
  for (record.host_ns = 1; record.host_ns <= 2 * kMostWaiting / chunk_bytes; ++record.host_ns)
    chunks.push_back(test::chunk_of(shm::ChunkKind::telemetry, &record, sizeof record));
  push_some_kept(chunks, pipeline, format);
  EXPECT_NE(format.text.find("frame"), std::string::npos) << "nothing came";
}

// Every third launch is of a kernel whose name two strings claim from the middle on: its frames mean something from there on.
TEST(DecodeAhead, frames_mean_the_same_as_without_threads) {
  std::vector<WordChunk> chunks{
      test::chunk_of(ChunkKind::session, R"({"device":"emu:0","chip":3,"arch":"wormhole_b0"})")};
  const auto [one, other] = names_of_one_id();
  const uint16_t id = markers::hash16(one);
  for (uint32_t i = 0; i < 60; ++i) {
    if (i == 20) chunks.push_back(test::chunk_of(ChunkKind::names, one + "\n"));
    if (i == 40) chunks.push_back(test::chunk_of(ChunkKind::names, other + "\n"));
    chunks.push_back(words_of_core(0, 1 + i, 1, device::Mode::normal, i % 3 ? uint16_t{100} : id));
  }
  const std::string plain = calls_of(chunks, std::nullopt, Order::time, nullptr);
  EXPECT_NE(plain.find(" means "), std::string::npos);
  jobs::Workers workers(3);
  EXPECT_EQ(calls_of(chunks, std::nullopt, Order::time, &workers), plain);
}

// A format that takes most frames without their markers: what it writes of these was made by the thread that decoded them. At times it refuses.
struct MadeFrames : FrameWork {
  void begin(unsigned) override { made.clear(); }
  bool frame(const FrameEvents& f) override {
    made.push_back(AloneCalls::body_of(f));
    return AloneCalls::can_be_alone(f.host_id);
  }
  std::vector<std::string> made;
};
std::unique_ptr<FrameWork> AloneCalls::frame_work() const {
  return std::make_unique<MadeFrames>();
}
bool AloneCalls::frame_alone(const FrameEvents& f) {
  EXPECT_TRUE(can_be_alone(f.host_id));
  EXPECT_TRUE(f.markers.empty() && f.host_times.empty() && f.semantics.empty());
  if (f.host_id % 97 == 5) return false;
  ++taken_alone;
  put(f, static_cast<const MadeFrames*>(f.work)->made.at(f.work_frame));
  return true;
}

std::string alone_calls(const std::vector<WordChunk>& chunks, std::optional<HostClock> clock,
                        jobs::Workers* workers, size_t* taken_alone = nullptr) {
  AloneCalls format;
  Pipeline pipeline({}, false, {}, clock);
  if (workers) pipeline.decode_ahead(*workers);
  push_some_kept(chunks, pipeline, format);
  pipeline.finish(format);
  if (taken_alone) *taken_alone = format.taken_alone;
  const markers::Anomalies a = pipeline.anomalies();
  return format.text + "markers " + std::to_string(pipeline.markers()) + " unnamed " +
         std::to_string(pipeline.unnamed_ids()) + " ambiguous " + std::to_string(pipeline.ambiguous_ids()) +
         " without bound " + std::to_string(pipeline.without_bound()) + " duplicate " +
         std::to_string(a.duplicate_markers) + " notices " + std::to_string(pipeline.notices().size());
}

TEST(DecodeAhead, frames_that_are_taken_without_their_markers_are_the_same) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const std::vector<WordChunk> chunks = chunks_with_meaning(seed);
    const auto clock = seed % 2 ? std::optional(HostClock::raw) : std::nullopt;
    const std::string plain = alone_calls(chunks, clock, nullptr);
    EXPECT_NE(plain.find("CQ-DISPATCH"), std::string::npos) << "no frame depends on another one";
    EXPECT_NE(plain.find("data_2"), std::string::npos);
    for (const unsigned threads : {1u, 2u, 4u}) {
      jobs::Workers workers(threads);
      size_t alone = 0;
      EXPECT_EQ(alone_calls(chunks, clock, &workers, &alone) == plain, true)
          << "seed " << seed << ", " << threads << " threads";
      EXPECT_GT(alone, 1000u);
    }
  }
}

struct RefusingFormat : WrittenCalls {
  RefusingFormat() : WrittenCalls(Order::time) {}
  void frame(const FrameEvents&) override { throw std::runtime_error("no room"); }
};

TEST(DecodeAhead, what_the_format_throws_is_thrown_to_the_caller) {
  const std::vector<WordChunk> chunks = random_chunks(2);
  jobs::Workers workers(3);
  RefusingFormat format;
  Pipeline pipeline({}, false);
  pipeline.decode_ahead(workers);
  const auto all = [&] {
    for (const WordChunk& chunk : chunks) pipeline.push(chunk, format);
  };
  EXPECT_THROW(all(), std::runtime_error);
}

TEST(DecodeAhead, no_more_words_wait_than_four_batches_a_thread) {
  constexpr unsigned kThreads = 3;
  constexpr uint32_t kLaunches = 100, kChunks = 600;
  jobs::Workers workers(kThreads);
  WrittenCalls format(Order::time);
  Pipeline pipeline({}, false);
  pipeline.decode_ahead(workers);
  for (uint32_t i = 0; i < kChunks; ++i) {
    const WordChunk chunk = words_of_core(0, 1 + i * kLaunches, kLaunches, device::Mode::normal);
    pipeline.push(chunk, format);
    const size_t most = (4 * kThreads + 1) * (kBatchWords / chunk.size() + 1);
    EXPECT_GE(format.frames + kLaunches * most, (i + 1) * kLaunches);
  }
  EXPECT_GT(format.frames, 0u);
  pipeline.catch_up(format);
  EXPECT_EQ(format.frames, kChunks * kLaunches);
  EXPECT_EQ(format.worked, format.frames);
}

}  // namespace
}  // namespace ttc::tools
