// What viewers and reports of programs write is the same for every number of threads, also where text that other threads made cannot be used.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "firmware_markers/perf_counter.hpp"
#include "tests/support/kept_chunks.hpp"
#include "tests/support/launch_chunks.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "tools/tables/ops_json.hpp"
#include "tools/viewers/chrome/chrome.hpp"
#include "tools/viewers/perfetto/perfetto.hpp"
#include "ttcollect/clock_segment.hpp"

namespace ttc::tools {
namespace {

using collect::kHostTicksPerNs;
using shm::ChunkKind;
using ViewedChunk = std::vector<uint64_t>;

constexpr const char* kOpenedZone = "CQ-DISPATCH,dispatch.cpp,7,KERNEL_PROFILER";
constexpr uint64_t kCyclesALaunch = 20'000;

struct Counted : Timeline {
  using Timeline::Timeline;
  bool frame_alone(const FrameEvents& f) override { return Timeline::frame_alone(f) && ++alone; }
  size_t alone = 0;
};
struct CountedOps : OpsJson {
  using OpsJson::OpsJson;
  bool frame_alone(const FrameEvents& f) override { return OpsJson::frame_alone(f) && ++alone; }
  size_t alone = 0;
};

// All markers lie in what the first clock chunk covers. A cycle is a nanosecond.
ViewedChunk viewer_clock() {
  collect::ClockHead head;
  head.tile_spread = 3;
  collect::ClockSegment s = collect::clock_segment_between(
      1, 2'000'000'000 * kHostTicksPerNs, 1'000'000'000'000, 1'002'000'000'000 * kHostTicksPerNs);
  s.kind = collect::BoundKind::hard;
  s.bound = s.hard_bound = 16;
  s.flags = collect::kFinalSegment;
  collect::set_pace_error(s, 1e-8);
  std::string body(reinterpret_cast<const char*>(&head), sizeof head);
  body.append(reinterpret_cast<const char*>(&s), sizeof s);
  return test::chunk_of(ChunkKind::clock, body.data(), body.size());
}

// A launch's own zones from `at` on. Some cross, lack an end or a start, or hold data of several kinds. `wild`: many cross, and names are many.
void put_customs(test::Words& words, uint64_t at, bool wild, std::mt19937_64& dice) {
  std::vector<uint32_t> open;
  const auto put = [&](uint32_t type, uint32_t id) {
    test::put_marker(words, type, id, at += 1 + dice() % 300);
  };
  const auto payload = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) words.push_back(static_cast<uint32_t>(dice() % 1000));
  };
  for (uint64_t n = dice() % 16; n-- > 0;) {
    const uint64_t what = dice() % 40;
    if (what == 0) {
      put(device::kTsEvent, 33);
    } else if (what == 1) {
      put(device::kTsData, 44), payload(2);
    } else if (what == 2) {
      put(device::kTsData16B, 55), payload(4);
    } else if (what == 3 && dice() % 4 == 0) {
      put(device::kTsData, markers::kPerfCounterId), payload(2);
    } else if (open.empty() || what % 2) {
      open.push_back(200 + static_cast<uint32_t>(dice() % (wild ? 300 : 60)));
      put(device::kZoneStart, open.back());
    } else {
      const size_t which = dice() % (wild ? 2 : 12) ? open.size() - 1 : dice() % open.size();
      put(device::kZoneEnd, open[which]);
      open.erase(open.begin() + static_cast<ptrdiff_t>(which));
    }
  }
  for (; !open.empty(); open.pop_back())
    if (dice() % 30) put(device::kZoneEnd, open.back());
}

ViewedChunk viewed_words(uint8_t core, uint8_t risc, uint32_t launch, uint32_t launches, bool wild,
                         std::mt19937_64& dice) {
  const device::Format& format = markers::layout_by_generation(test::kLaunchGeneration)->format;
  const auto mode = core == 5 ? device::Mode::accumulate : device::Mode::normal;
  test::Words words;
  for (uint32_t i = 0; i < launches; ++i) {
    const uint64_t t = kCyclesALaunch * (launch + i) + 10u * core + risc;
    const bool dispatch = core == 4 && risc == 0 && dice() % 4 == 0;
    const bool open = (dispatch && dice() % 3 == 0) || dice() % 200 == 0;
    const test::Words frame = test::frame_words(
        format.identity(risc, core, 0), launch + i,
        {100, t, dice() % 150 ? test::Time(t + 15'000) : test::Time()},
        {dispatch ? markers::hash16(kOpenedZone) : 101u + i % 3, t + 100, open ? test::Time() : t + 14'000});
    words.insert(words.end(), frame.begin(), frame.end());
    put_customs(words, t + 200, wild, dice);
  }
  return test::lane_chunk(core, risc, words, mode, 3'000'000'000 + kCyclesALaunch * (launch + launches));
}

// Lanes bring their launches in turns, a few at a time, at times late; names come all the while.
std::vector<ViewedChunk> viewed_chunks(uint64_t seed) {
  std::mt19937_64 dice(seed);
  const bool wild = seed % 4 == 0;
  std::vector<ViewedChunk> all{
      test::chunk_of(ChunkKind::session,
                     R"({"device":"emu:0","chip":3,"arch":"wormhole_b0","aiclk_mhz":1000})"),
      viewer_clock(), test::chunk_of(ChunkKind::names, std::string(kOpenedZone) + "\n")};
  uint32_t launch[6][3] = {};
  for (int i = 0; i < 400; ++i) {
    const uint64_t kind = dice() % 60;
    if (kind < 3) {
      all.push_back(test::other_chunk(static_cast<test::OtherChunk>(kind), i, dice));
      continue;
    }
    const auto core = static_cast<uint8_t>(dice() % 6), risc = static_cast<uint8_t>(dice() % 3);
    const auto launches = static_cast<uint32_t>(1 + dice() % (seed % 2 ? 8 : 16));
    uint32_t& next = launch[core][risc];
    const uint32_t from = dice() % (wild ? 4 : 60) == 0 && next > 5 ? next - 5 : next;
    all.push_back(viewed_words(core, risc, 1 + from, launches, wild, dice));
    next = std::max(next, from + launches);
  }
  return all;
}

enum class View { perfetto, perfetto_bare, chrome, ops };

// The file. `workers` null: no other thread.
std::string view_of(const std::vector<ViewedChunk>& chunks, View view, bool gzip, jobs::Workers* workers,
                    size_t* alone = nullptr) {
  const std::string path = testing::TempDir() + "/viewer_threads-" + std::to_string(getpid());
  {
    Output out(path, false, gzip, workers);
    FormatOptions options;
    options.arguments = view != View::perfetto_bare;
    std::unique_ptr<Counted> timeline;
    std::unique_ptr<CountedOps> ops;
    if (view == View::ops)
      ops = std::make_unique<CountedOps>(out, options);
    else if (view == View::chrome)
      timeline = std::make_unique<Counted>(std::make_unique<Chrome>(out, options));
    else
      timeline = std::make_unique<Counted>(std::make_unique<Perfetto>(out, options));
    Format& format = timeline ? static_cast<Format&>(*timeline) : *ops;
    {
      Pipeline pipeline({}, false, {}, HostClock::raw);
      if (workers) pipeline.decode_ahead(*workers);
      uint32_t pushed = 0;
      for (const ViewedChunk& words : chunks) {
        const shm::KeptChunk chunk = pushed % 3 == 0 ? test::own_chunk(words) : test::shared_chunk(words);
        pipeline.push(chunk.words, format, chunk.memory);
        if (++pushed % 100 == 0 && timeline) pipeline.catch_up(format), timeline->settle();
      }
      pipeline.finish(format);
      format.end();
    }
    if (alone) *alone = timeline ? timeline->alone : ops->alone;
    out.commit();
  }
  std::ifstream file(path, std::ios::binary);
  std::string all{std::istreambuf_iterator<char>(file), {}};
  unlink(path.c_str());
  return all;
}

void expect_the_same(View view, bool gzip, bool some_alone, uint64_t seeds = 4) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::vector<ViewedChunk> chunks = viewed_chunks(seed);
    const std::string plain = view_of(chunks, view, gzip, nullptr);
    EXPECT_GT(plain.size(), 1000u);
    for (const unsigned threads : {1u, 2u, 3u}) {
      jobs::Workers workers(threads);
      size_t alone = 0;
      const std::string got = view_of(chunks, view, gzip, &workers, &alone);
      EXPECT_EQ(got == plain, true) << "seed " << seed << ", " << threads << " threads";
      if (some_alone) {
        EXPECT_GT(alone, 50u) << "seed " << seed << ", " << threads << " threads";
      }
    }
  }
}

TEST(ViewerThreads, perfetto_is_the_same) {
  expect_the_same(View::perfetto, false, true);
}
TEST(ViewerThreads, perfetto_without_arguments_is_the_same) {
  expect_the_same(View::perfetto_bare, false, true);
}
TEST(ViewerThreads, perfetto_in_gzip_is_the_same) {
  expect_the_same(View::perfetto, true, true, 2);
}
TEST(ViewerThreads, chrome_is_the_same) {
  expect_the_same(View::chrome, false, true);
}
TEST(ViewerThreads, ops_are_the_same) {
  expect_the_same(View::ops, false, true);
}

}  // namespace
}  // namespace ttc::tools
