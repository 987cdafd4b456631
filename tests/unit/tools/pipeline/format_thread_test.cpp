// A format in a thread of its own gets the calls that it would get without.
#include "tools/pipeline/format_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>
#include <stdexcept>
#include <thread>

namespace ttc::tools {
namespace {

using markers::Marker;
using markers::MarkerType;

// Every call as a line, with all its arguments.
class Written : public Format {
 public:
  Order order() const override { return Order::log; }
  void begin(const Session& s) override { line("begin", s.chip); }
  void frame(const FrameEvents& f) override {
    line("frame", f.chip, f.core_x, f.core_y, f.risc, f.host_id, f.trace_counter, f.epoch, f.main_zone,
         f.names.size(), f.host_clock_minus_raw_ns);
    for (size_t i = 0; i < f.markers.size(); ++i) {
      const Marker& m = f.markers[i];
      line(" marker", m.time_cycles, m.id, static_cast<int>(m.type), static_cast<int>(m.flags));
      if (m.type == MarkerType::ts_data || m.type == MarkerType::zone_total) line("  payload", f.payload(m));
      if (m.type == MarkerType::ts_data_16b) line("  payload", f.payload(m), f.payload(m, 1));
      if (!f.host_times.empty())
        line("  time", f.host_times[i].at, f.host_times[i].bound, static_cast<int>(f.host_times[i].kind),
             f.host_times[i].final);
    }
    for (const HostSemantics& s : f.semantics)
      text += " means " + std::to_string(s.marker) + s.name + s.meta + std::to_string(s.host_id.value_or(0)) +
              "\n";
  }
  void loss(const shm::LossRecord& r) override { line("loss", r.id, r.from_cycles); }
  void names_changed() override { line("names"); }
  void clock(uint32_t chip, const collect::ClockMap& map) override {
    line("clock", chip, map.segments().size());
  }
  void telemetry(uint32_t chip, const shm::TelemetryRecord& r) override {
    line("telemetry", chip, r.host_ns);
  }
  void host(std::span<const uint64_t> chunk) override {
    line("host", chunk.size());
    for (const uint64_t word : chunk) line(" ", word);
  }
  void end() override { line("end"); }

  std::string text;

 private:
  template <class... Values>
  void line(const char* what, Values... values) {
    text += what;
    ((text += ' ' + std::to_string(values)), ...);
    text += '\n';
  }
};

// Random calls, the same for the same seed. Names and clock grow on the way, as a pipeline's do.
void call(Format& format, uint64_t seed, size_t calls) {
  std::mt19937_64 dice(seed);
  markers::ZoneNames names;
  markers::Batch none;
  collect::ClockMap map;
  std::vector<Marker> markers;
  std::vector<uint64_t> payloads, words;
  std::vector<MarkerHostTime> times;
  std::vector<HostSemantics> semantics;
  for (size_t i = 0; i < calls; ++i) {
    const uint64_t kind = dice() % 100;
    if (kind == 0) {
      format.catch_up();
      names.add_zone_string("Z" + std::to_string(i) + ",a.cpp,1,KERNEL_PROFILER");
      format.names_changed();
    } else if (kind == 1) {
      format.loss({.id = i, .from_cycles = dice()});
    } else if (kind == 2) {
      format.telemetry(1, {.host_ns = dice()});
    } else if (kind == 3) {
      words.assign(dice() % 50, i);
      format.host(words);
    } else if (kind == 4) {
      format.catch_up();
      format.clock(2, map);
    } else {
      markers.clear(), payloads.clear(), times.clear(), semantics.clear();
      for (uint64_t m = 1 + dice() % 40; m-- > 0;) {
        const auto type = static_cast<MarkerType>(dice() % 6);
        markers.push_back({dice(), static_cast<uint16_t>(dice()), type, static_cast<uint8_t>(dice()),
                           static_cast<uint32_t>(payloads.size())});
        payloads.push_back(dice()), payloads.push_back(dice());
        if (kind % 2) times.push_back({dice(), dice(), collect::BoundKind::hard, dice() % 2 != 0});
        if (dice() % 8 == 0)
          semantics.push_back(
              {static_cast<uint32_t>(markers.size() - 1), 7, std::string(dice() % 40, 'n'), "m", nullptr});
      }
      FrameEvents f{1,
                    2,
                    3,
                    markers::CoreKind::tensix,
                    device::Mode::normal,
                    4,
                    static_cast<uint32_t>(i),
                    5,
                    markers,
                    none,
                    names};
      f.payloads = payloads, f.host_times = times, f.semantics = semantics, f.epoch = 6, f.main_zone = 8;
      f.host_clock_minus_raw_ns = -3;
      format.frame(f);
    }
  }
  format.end();
}

TEST(FormatThread, the_format_gets_the_same_calls_in_the_same_order) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Written direct, threaded;
    call(direct, seed, seed * 100);
    {
      FormatThread thread(threaded);
      EXPECT_EQ(thread.order(), Order::log);
      call(thread, seed, seed * 100);
    }
    ASSERT_EQ(direct.text == threaded.text, true) << "seed " << seed;
  }
}

struct Refusing : Written {
  void frame(const FrameEvents&) override { throw std::runtime_error("no room"); }
};

TEST(FormatThread, what_the_format_throws_is_thrown_to_its_caller) {
  Refusing format;
  FormatThread thread(format);
  EXPECT_THROW(call(thread, 1, 100), std::runtime_error);
  EXPECT_THROW(thread.catch_up(), std::runtime_error) << "for good";
  EXPECT_EQ(format.text.find("end"), std::string::npos);
}

// Takes nothing until it may.
struct Waiting : Written {
  explicit Waiting(std::shared_future<void> go) : may_go(std::move(go)) {}
  void frame(const FrameEvents&) override {
    may_go.wait();
    ++frames;
  }
  std::shared_future<void> may_go;
  size_t frames = 0;
};

TEST(FormatThread, no_more_waits_than_some_batches) {
  std::promise<void> go;
  Waiting format(go.get_future().share());
  constexpr size_t kFrames = 4000, kMarkers = 64, kMostWaiting = 6 * 2048;
  std::atomic<size_t> called{0};
  FormatThread thread(format);
  std::thread caller([&] {
    const std::vector<Marker> markers(kMarkers, Marker{1, 2, MarkerType::zone_start, 0, 0});
    markers::Batch none;
    markers::ZoneNames names;
    for (; called < kFrames; ++called)
      thread.frame({1, 2, 3, markers::CoreKind::tensix, device::Mode::normal, 4, 5, 6, markers, none, names});
    thread.catch_up();
  });
  // Long enough for a caller that nothing stops to be through with all of them.
  size_t before = 0;
  do {
    before = called;
    std::this_thread::yield();
  } while (called != before || called == 0);
  EXPECT_LE(called * kMarkers, kMostWaiting);
  go.set_value();
  caller.join();
  EXPECT_EQ(format.frames, kFrames);
}

}  // namespace
}  // namespace ttc::tools
