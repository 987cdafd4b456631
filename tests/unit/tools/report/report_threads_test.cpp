// A report's input is the same for every number of threads: the calls, their order and arguments, the numbers of zones, and the account.
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collector/record/capture_copy.hpp"
#include "firmware_markers/zone_names.hpp"
#include "tests/support/launch_chunks.hpp"
#include "tools/report/input/device_input.hpp"
#include "tools/report/zones/zone_pairs.hpp"

namespace ttc::report {
namespace {

constexpr uint8_t kCores = 12, kProcessors = 5;

class WrittenZones : public Listener {
 public:
  explicit WrittenZones(bool all) : all_(all) {}
  bool wants_all_events() const override { return all_; }
  void device(const Device& d) override { line("device", d.chip, d.clock_mhz); }
  void events(const LaneEvents& b) override {
    line("events", b.launch.chip, b.launch.host_id, b.lane.x, b.lane.y, b.lane.risc, b.seen_ns,
         b.events.size() + b.left_out, b.dispatches);
    for (const Event& e : b.events)
      if (all_ || is_dispatch(e.zone_class)) line(" event", e.time, e.zone, e.id, e.type, e.zone_class);
    for (const LanePiece& p : b.pieces)
      line(" piece", p.firmware.begin, p.firmware.end, p.kernel.begin, p.kernel.end, p.starts.begin,
           p.seen.end, p.span.end, p.firmware_starts, p.start_count, p.has_firmware, p.wait_front);
  }
  void meta(const Launch& launch, const Lane& lane, const Event& e, std::string_view data) override {
    line("meta", launch.chip, launch.host_id, lane.x, lane.risc, e.time, e.zone, e.id);
    text.append(data) += '\n';
  }
  void clock(uint32_t chip, const collect::ClockMap& map) override {
    line("clock", chip, map.segments().size());
  }
  std::string text;

 private:
  template <class... Values>
  void line(const char* what, Values... values) {
    text += what;
    ((text += ' ' + std::to_string(static_cast<int64_t>(values))), ...);
    text += '\n';
  }
  const bool all_;
};

const std::vector<std::string>& zone_strings() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made{"BRISC-FW,fw.cc,1,KERNEL_PROFILER", "BRISC-KERNEL,k.cc,2,KERNEL_PROFILER",
                                  "CQ-DISPATCH,d.cc,3,KERNEL_PROFILER",
                                  "CB-COMPUTE-WAIT-FRONT,c.h,4,KERNEL_PROFILER",
                                  "runtime_host_id_dispatch,d.cc,5,KERNEL_PROFILER"};
    for (int i = 0; i < 40; ++i)
      made.push_back("STEP-" + std::to_string(i) + ",s.cc," + std::to_string(i) + ",KERNEL_PROFILER");
    return made;
  }();
  return all;
}
uint32_t zone_id(size_t number) {
  return markers::hash16(zone_strings()[number]);
}

// Launches of a lane, some of them with zones that have no end.
std::vector<uint64_t> random_lane(std::mt19937_64& dice, uint8_t core, uint8_t risc, uint32_t& launch,
                                  unsigned broken_of_100, unsigned most_zones) {
  const device::Format& format = markers::layout_by_generation(test::kLaunchGeneration)->format;
  test::Words words;
  for (uint64_t count = 1 + dice() % 30; count != 0; --count, ++launch) {
    const uint64_t t = 100'000ull * launch + 1000;
    test::Words frame = test::frame_words(format.identity(risc, core, 0), launch, {zone_id(0), t, t + 9000},
                                          {zone_id(1), t + 100, t + 8000});
    for (uint64_t zones = dice() % (most_zones + 1), at = t + 200; zones != 0; --zones, at += 300) {
      const uint32_t id = zone_id(2 + dice() % 41);
      test::put_marker(frame, device::kZoneStart, id, at);
      if (id == zone_id(2) && dice() % 2) {  // the runtime id of the program that is dispatched
        test::put_marker(frame, device::kTsData, zone_id(4), at + 50);
        frame.insert(frame.end(), {0u, launch + 1});
      }
      if (dice() % 100 >= broken_of_100) test::put_marker(frame, device::kZoneEnd, id, at + 100);
    }
    if (dice() % 8 == 0) test::put_marker(frame, device::kZoneTotal, zone_id(3), dice() % 500);
    words.insert(words.end(), frame.begin(), frame.end());
  }
  return test::lane_chunk(core, risc, words, device::Mode::normal, 1000 + launch);
}

class ReportThreads : public testing::Test {
 protected:
  // Names come late, so that zones are nameless at first.
  void write(uint64_t seed, unsigned broken_of_100, unsigned most_zones, int chunks) {
    std::mt19937_64 dice(seed);
    uint32_t launch[kCores][kProcessors];
    for (auto& core : launch)
      for (uint32_t& one : core) one = 1;
    collect::CaptureCopy copy(path_, test::kLaunchSession, shm::LossCause::not_kept);
    copy.add(test::chunk_of(shm::ChunkKind::session,
                            R"({"device":"emu:0","chip":3,"arch":"wormhole_b0","aiclk_mhz":1000})"));
    for (int i = 0; i < chunks; ++i) {
      if (i % 60 == 10)
        for (size_t part = 0; part < zone_strings().size() / 3; ++part)
          copy.add(test::chunk_of(
              shm::ChunkKind::names,
              zone_strings()[(part * 3 + static_cast<size_t>(i / 60)) % zone_strings().size()] + "\n"));
      const auto core = static_cast<uint8_t>(dice() % kCores),
                 risc = static_cast<uint8_t>(dice() % kProcessors);
      copy.add(random_lane(dice, core, risc, launch[core][risc], broken_of_100, most_zones));
    }
    copy.finish();
  }
  InputAccount read(unsigned threads, Listener& listener, std::vector<Zone>& zones) const {
    InputOptions options;
    options.from = {path_};
    options.threads = threads;
    options.want_meta = true;
    return read_device(options, zones, listener);
  }
  std::string calls(unsigned threads, bool all_events) const {
    WrittenZones listener(all_events);
    std::vector<Zone> zones;
    const InputAccount account = read(threads, listener, zones);
    for (const Zone& zone : zones)
      listener.text += "zone " + zone.name + ' ' + std::to_string(zone.line) + '\n';
    for (const std::string& remark : account.remarks) listener.text += remark + '\n';
    return listener.text + "markers " + std::to_string(account.markers) + " cut " +
           std::to_string(account.cut_zones) + " broken " + std::to_string(account.broken_zones);
  }
  void the_same_for_all(const std::string& what) {
    for (const bool all_events : {true, false}) {
      const std::string one = calls(1, all_events);
      for (const char* call : {"events", "meta"}) ASSERT_NE(one.find(call), std::string::npos) << call;
      for (const unsigned threads : {2u, 5u})
        EXPECT_EQ(calls(threads, all_events) == one, true) << what << ", " << threads << " threads";
    }
  }
  const std::string path_ = testing::TempDir() + "report_threads." + std::to_string(getpid()) + ".ttc";
};

TEST_F(ReportThreads, the_listener_gets_the_same_for_every_number_of_threads) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    write(seed, seed % 2 ? 2 : 0, 3, 300);
    the_same_for_all("seed " + std::to_string(seed));
  }
}

// Zones without a partner beyond what is held are counted only: which ones those are must not depend on who finds them first.
TEST_F(ReportThreads, more_zones_without_an_end_than_are_held_are_the_same) {
  struct Ignoring : Listener {
    void events(const LaneEvents&) override {}
    bool wants_all_events() const override { return false; }
  } listener;
  write(11, 100, 30, 400);
  std::string first;
  for (const unsigned threads : {1u, 3u}) {
    std::vector<Zone> zones;
    const InputAccount account = read(threads, listener, zones);
    ASSERT_GT(account.broken_zones, ZonePairs::kMost) << "all of them are held: the test compares nothing";
    const std::string text = std::to_string(account.broken_zones) + account.remarks.back();
    if (threads == 1) first = text;
    EXPECT_EQ(text, first);
  }
}

}  // namespace
}  // namespace ttc::report
