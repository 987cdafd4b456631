// Chunks whose rows several threads make, batch by batch: the same output and counts as of one pipeline.
#include "tools/feed/row_batches.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "firmware_markers/perf_counter.hpp"
#include "tests/support/kept_chunks.hpp"
#include "tests/support/launch_chunks.hpp"

namespace ttc::tools {
namespace {

using shm::ChunkKind;
using RowChunk = std::vector<uint64_t>;
using test::operator+;

constexpr const char* kDispatchZone = "CQ-DISPATCH,dispatch.cpp,7,KERNEL_PROFILER";

// A row a marker, and one for each other call that a format may write at.
class RowFormat : public Format {
 public:
  explicit RowFormat(Output& out) : out_(out) {}
  void begin(const Session& s) override { out_.append("head of chip " + std::to_string(s.chip) + "\n"); }
  void frame(const FrameEvents& f) override {
    std::string meaning;
    for (const HostSemantics& s : f.semantics) meaning += " " + s.name + s.meta;
    for (const markers::Marker& m : f.markers)
      out_.append(std::to_string(f.core_x) + "," + std::to_string(f.host_id) + "," + std::to_string(m.id) +
                  "," + std::to_string(m.time_cycles) + meaning + "\n");
  }
  void loss(const shm::LossRecord& r) override { out_.append("loss " + std::to_string(r.id) + "\n"); }
  void names_changed() override {}
  void telemetry(uint32_t, const shm::TelemetryRecord& r) override {
    out_.append("telemetry " + std::to_string(r.host_ns) + "\n");
  }
  void end() override {}

 private:
  Output& out_;
};

enum class Kernel { plain, dispatch, counter };

// `launches` of a core from `launch` on. A counter is 8 bytes of data in the kernel's zone. A dispatch kernel's last zone is open at the end.
RowChunk row_chunk(uint8_t core, uint32_t launch, uint32_t launches, device::Mode mode, Kernel kernel) {
  const device::Format& format = markers::layout_by_generation(test::kLaunchGeneration)->format;
  const uint32_t id = kernel == Kernel::dispatch ? markers::hash16(kDispatchZone) : 101;
  test::Words words;
  for (uint32_t i = 0; i < launches; ++i) {
    const uint64_t t = 1000 * (launch + i);
    const bool open = kernel == Kernel::dispatch && i + 1 == launches;
    words = words + test::frame_words(format.identity(0, core, 0), launch + i, {100, t, t + 900},
                                      {id, t + 100, open ? test::Time() : t + 800});
    if (kernel == Kernel::plain) continue;
    test::put_marker(words, device::kTsData, markers::kPerfCounterId, t + 500);
    words.push_back(7), words.push_back(launch);
  }
  return test::lane_chunk(core, 0, words, mode);
}

std::vector<RowChunk> row_chunks(uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::vector<RowChunk> all{test::chunk_of(ChunkKind::session, R"({"device":"emu:0","chip":3})"),
                            test::chunk_of(ChunkKind::names, std::string(kDispatchZone) + "\n")};
  uint32_t launch[6] = {1, 1, 1, 1, 1, 1};
  for (int i = 0; i < 300; ++i) {
    const uint64_t kind = dice() % 40;
    if (kind < 3) {
      all.push_back(test::other_chunk(static_cast<test::OtherChunk>(kind), i, dice));
    } else {
      // Core 0 keeps words in L1, which come again at times. Core 1 runs dispatch kernels now and then.
      const auto core = static_cast<uint8_t>(dice() % 6);
      const auto mode = core == 0 ? device::Mode::accumulate : device::Mode::normal;
      const Kernel kernel = core == 1 && dice() % 8 == 0 ? Kernel::dispatch
                            : dice() % 3 == 0            ? Kernel::counter
                                                         : Kernel::plain;
      const auto launches = static_cast<uint32_t>(1 + dice() % 60);
      all.push_back(row_chunk(core, launch[core], launches, mode, kernel));
      launch[core] += core || dice() % 4 ? launches : launches - 1;
    }
  }
  return all;
}

std::string counts_of(const Pipeline& pipeline) {
  const markers::Anomalies a = pipeline.anomalies();
  return "markers " + std::to_string(pipeline.markers()) + " unnamed " +
         std::to_string(pipeline.unnamed_ids()) + " stale " + std::to_string(a.stale_markers) +
         " duplicate " + std::to_string(a.duplicate_markers) + " backward " +
         std::to_string(a.backward_times) + " losses " + std::to_string(pipeline.losses().size());
}

// The output and the counts. `workers` null: one pipeline.
std::string rows_of(const std::vector<RowChunk>& chunks, jobs::Workers* workers, uint32_t settle_every = 0) {
  const std::string path = testing::TempDir() + "/row_batches-" + std::to_string(getpid());
  std::string counts;
  {
    Output out(path, false, false, workers);
    RowFormat format(out);
    Pipeline pipeline({}, false, {}, {}, shm::LossCause::file_damaged);
    std::optional<RowBatches> batches;
    if (workers)
      batches.emplace(
          *workers, [] { return std::make_unique<Pipeline>(Filter(), false); },
          [](Output& rows) { return std::make_unique<RowFormat>(rows); }, pipeline, format, out);
    uint32_t i = 0;
    for (const RowChunk& words : chunks) {
      if (!batches) {
        pipeline.push(words, format);
        continue;
      }
      shm::KeptChunk chunk = i % 3 == 0 ? test::own_chunk(words) : test::shared_chunk(words);
      batches->push(chunk);
      ++i;
      if (settle_every && i % settle_every == 0) batches->settle();
    }
    if (batches) batches->finish();
    pipeline.finish(format);
    counts = counts_of(pipeline);
    out.commit();
  }
  std::ifstream file(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  unlink(path.c_str());
  return all + counts;
}

TEST(RowBatches, output_and_counts_are_those_of_one_pipeline) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<RowChunk> chunks = row_chunks(seed);
    const std::string one = rows_of(chunks, nullptr);
    EXPECT_NE(one.find("CQ-DISPATCH"), std::string::npos) << "no row depends on another chunk";
    EXPECT_NE(one.find("counter type"), std::string::npos);
    EXPECT_NE(one.find("telemetry"), std::string::npos);
    for (const unsigned threads : {1u, 2u, 4u}) {
      jobs::Workers workers(threads);
      EXPECT_EQ(rows_of(chunks, &workers) == one, true) << "seed " << seed << ", " << threads << " threads";
    }
    jobs::Workers workers(3);
    EXPECT_EQ(rows_of(chunks, &workers, 7) == one, true) << "seed " << seed << ", settled on the way";
  }
}

// Its counters were made into rows before the dispatch kernel's first chunk was put: they are made again, and counted once.
TEST(RowBatches, a_core_that_begins_to_dispatch_within_a_batch_is_counted_once) {
  std::vector<RowChunk> chunks{test::chunk_of(ChunkKind::session, R"({"device":"emu:0","chip":3})"),
                               test::chunk_of(ChunkKind::names, std::string(kDispatchZone) + "\n")};
  for (uint32_t i = 0; i < 20; ++i)
    chunks.push_back(
        row_chunk(1, 1 + 2 * i, 2, device::Mode::normal, i % 5 == 2 ? Kernel::dispatch : Kernel::counter));
  jobs::Workers workers(2);
  EXPECT_EQ(rows_of(chunks, &workers), rows_of(chunks, nullptr));
}

struct RefusingRows : RowFormat {
  using RowFormat::RowFormat;
  void frame(const FrameEvents&) override { throw std::runtime_error("no room"); }
};

TEST(RowBatches, what_a_thread_throws_is_thrown_to_the_caller) {
  jobs::Workers workers(2);
  Output out("/dev/null", false, false, &workers);
  RowFormat format(out);
  Pipeline pipeline({}, false);
  RowBatches batches(
      workers, [] { return std::make_unique<Pipeline>(Filter(), false); },
      [](Output& rows) { return std::make_unique<RefusingRows>(rows); }, pipeline, format, out);
  const auto all = [&] {
    for (const RowChunk& words : row_chunks(1)) {
      shm::KeptChunk chunk = test::own_chunk(words);
      batches.push(chunk);
    }
    batches.settle();
  };
  EXPECT_THROW(all(), std::runtime_error);
}

}  // namespace
}  // namespace ttc::tools
