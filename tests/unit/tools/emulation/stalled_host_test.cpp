// A host that gets no CPU amid a write leaves half of it in memory for milliseconds, which a host beside a real card does not: its
// write of a vector takes microseconds. Observers of the emulated card find such a write whole. A collector that found half of one
// delivered frames of two epochs as one.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "driver_iface/card.hpp"
#include "tests/support/image_writer.hpp"
#include "tests/unit/driver_iface/emu/card_emulated_fixture.hpp"
#include "tools/emulation/loader.hpp"

namespace ttc::emulation {
namespace {

using HostWords = std::vector<uint64_t>;

constexpr unsigned kStallsAmidWrites = 300;
constexpr uint64_t kApartNs = 4 * card::HostWrite::kLongestNs;
constexpr uint64_t kPatienceNs =
    100'000'000;  // half of what a read waits at most: a machine may stand still for longer

std::atomic<bool> amid_write{false};
std::atomic<unsigned> stalls{0}, stalls_amid_writes{0};

void stall(int) {
  constexpr timespec kLong{0, 2'000'000};
  nanosleep(&kLong, nullptr);
  if (amid_write) ++stalls_amid_writes;
  ++stalls;
}

// The host's thread: repeats its writes one after the other, each stalled once at most.
class StalledHost {
 public:
  explicit StalledHost(const std::vector<std::function<void()>>& writes) : writes_(writes) {
    stalls = stalls_amid_writes = 0;
    struct sigaction action {};
    action.sa_handler = stall;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, &before_);
    host_ = std::thread([this] {
      while (!stop_) write_all();
    });
    staller_ = std::thread([this] { stall_host(); });
  }
  ~StalledHost() {
    stop_ = true;
    staller_.join();
    host_.join();
    sigaction(SIGUSR1, &before_, nullptr);
  }
  uint64_t written() const { return written_; }
  StalledHost(const StalledHost&) = delete;
  StalledHost& operator=(const StalledHost&) = delete;

 private:
  void write_all() {
    for (const auto& write : writes_) {
      amid_write = true;
      write();
      amid_write = false;
      ++written_;
    }
  }
  void stall_host() {
    for (unsigned sent = 0; !stop_;) {
      pthread_kill(host_.native_handle(), SIGUSR1);
      ++sent;
      while (stalls < sent) std::this_thread::yield();
      for (const uint64_t before = written_; written_ < before + 2 && !stop_;) std::this_thread::yield();
    }
  }

  const std::vector<std::function<void()>>& writes_;
  struct sigaction before_ {};
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> written_{0};
  std::thread host_, staller_;
};

// A place that an observer reads: `bytes` from `address` on, both multiples of 8.
struct Place {
  card::Window window;
  card::Coord tile;
  uint64_t address;
  uint32_t bytes;
};

class Observer {
 public:
  explicit Observer(const std::string& card) : card_(card::open_card("emu:" + card)) {}

  HostWords read(const Place& place) {
    HostWords words(place.bytes / 8);
    EXPECT_EQ(card_->aim(place.window, place.tile, place.address), card::Access::ok);
    EXPECT_EQ(card_->copy(place.window, static_cast<uint32_t>(place.address % card::kWindowBytes), words),
              card::Access::ok);
    return words;
  }

 private:
  std::unique_ptr<card::Card> card_;
};

void expect_whole_writes(Observer& observer, const std::vector<Place>& places,
                         const std::vector<std::function<void()>>& writes) {
  std::vector<std::vector<HostWords>> whole(places.size());
  for (int round = 0; round < 2; ++round)  // what a write leaves may depend on the ones before it
    for (const auto& write : writes) {
      write();
      for (size_t p = 0; p < places.size(); ++p) whole[p].push_back(observer.read(places[p]));
    }
  for (const auto& states : whole) ASSERT_NE(states[0], states[1]);
  const StalledHost host(writes);
  std::optional<uint64_t> given_up;  // writes before the one that reads may no longer wait for
  while (stalls_amid_writes < kStallsAmidWrites)
    for (size_t p = 0; p < places.size(); ++p) {
      const uint64_t written = host.written(), begun_ns = card::now_ns();
      const HostWords then = observer.read(places[p]);
      for (const uint64_t until = card::now_ns() + kApartNs; card::now_ns() < until;)
        std::this_thread::yield();
      const bool same = observer.read(places[p]) == then;
      if (card::now_ns() - begun_ns > kPatienceNs) given_up = written;
      if (!same || host.written() != written || given_up == written) continue;
      // No write ended in between, and what is read stood for longer than a write lasts.
      ASSERT_NE(std::find(whole[p].begin(), whole[p].end(), then), whole[p].end())
          << "half a write stood at place " << p;
    }
}

TEST(StalledHost, a_results_read_is_whole) {
  const card::EmulatedCardOptions options = card::options("stalled-results");
  card::EmulatedCard card(options);
  TruthLog truth(::testing::TempDir() + "/stalled_results_" + std::to_string(getpid()) + ".csv");
  WorldOptions world_options;
  world_options.layout = markers::layout_by_name("G4");
  World world(card, world_options, truth);
  card.announce();
  Observer observer(options.name);
  const WorldCore& core = world.cores().front();
  const uint32_t words = world.format().control_words;
  expect_whole_writes(observer, {{card::Window::control, core.at, core.control_address, 4 * words}},
                      {[&] {
                         const card::HostWrite under_way(card);
                         for (uint32_t w = 0; w < words; ++w)
                           card.store(core.at, core.control_address + 4 * w, 0x1000 + w);
                       },
                       [&] { world.results_read({core}); }});
}

TEST(StalledHost, memory_of_an_image_is_whole) {
  ImageWriter writer({});
  for (const bool last : {false, true}) writer.add_epoch(12, last);
  const tools::MemoryImage image(ImageWriter::directory());
  card::EmulatedCardOptions options = card::options("stalled-image");
  options.arch = image.placement->arch;
  card::EmulatedCard card(options);
  ImageLoader loader(card, image);
  card.announce();
  Observer observer(options.name);
  std::vector<Place> places;
  for (const auto& core : image.cores) {
    places.push_back({card::Window::control,
                      {core.x, core.y},
                      image.control_address,
                      4u * image.layout->format.control_words});
    const auto log =
        markers::log_place(core.flat_id, 0, image.cores_per_bank, image.dram_base, image.bytes_per_risc);
    const card::DramView& view = card.dram_views()[log.bank];
    places.push_back({card::Window::payload, view.endpoint, view.offset + log.address, 1024});
  }
  expect_whole_writes(observer, places,
                      {[&] { loader.reset(); }, [&] { loader.load_epoch(0); }, [&] { loader.reset(); },
                       [&] { loader.load_epoch(1); }});
}

}  // namespace
}  // namespace ttc::emulation
