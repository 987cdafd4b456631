// Attaching to a card some of whose tiles are silent: the others are attached to, and the silent ones cost
// neither much waiting nor many loads. Time is the test's.
#include "collector/attach/attach.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "driver_iface/emulated_card.hpp"
#include "driver_iface/guarded_card.hpp"
#include "tools/emulation/core.hpp"

namespace ttc::collect {
namespace {

uint64_t guard_ns = 1'000'000'000;
uint64_t guard_clock() {
  return guard_ns;
}

// Wormhole with firmware on every Tensix tile, `silent` of which do not answer.
class Attach : public testing::Test {
 protected:
  void open(const std::set<card::Coord>& silent, uint64_t silent_until = 0) {
    card::EmulatedCardOptions o;
    o.name = "attach-" + std::to_string(getpid());
    o.virtual_time = true;
    for (const card::Coord at : silent) {
      card::CardFault f;
      f.kind = card::FaultKind::all_ones;
      f.every_tile = 0;
      f.tile = at;
      f.for_ns = silent_until;
      o.faults.push_back(f);
    }
    emulated = std::make_unique<card::EmulatedCard>(o);
    emulation::WorldOptions w;
    w.layout = markers::layout_by_name("G4");
    world = std::make_unique<emulation::World>(*emulated, w, truth);
    emulated->announce();
    auto guarded = std::make_unique<card::GuardedCard>(card::open_card("emu:" + o.name), guard_clock);
    guard = guarded.get();
    observer = std::move(guarded);
    options.ethernet = false;
    options.rest = [this](std::chrono::milliseconds time) {
      rests.push_back(time);
      guard_ns += std::chrono::nanoseconds(time).count();
      emulated->advance_clock(static_cast<uint64_t>(std::chrono::nanoseconds(time).count()));
    };
  }
  std::vector<card::Coord> tensix() const {
    std::vector<card::Coord> tiles;
    for (const card::Tile& t : observer->tiles())
      if (t.kind == card::TileKind::tensix && !t.harvested) tiles.push_back(t.at);
    return tiles;
  }
  uint64_t silent_loads() const {
    uint64_t hits = 0;
    for (const uint64_t h : emulated->fault_hits()) hits += h;
    return hits;
  }

  emulation::TruthLog truth{""};
  std::unique_ptr<card::EmulatedCard> emulated;
  std::unique_ptr<emulation::World> world;
  std::unique_ptr<card::Card> observer;
  card::GuardedCard* guard = nullptr;
  AttachOptions options;
  std::vector<std::chrono::milliseconds> rests;
};

TEST_F(Attach, silent_tiles_are_waited_for_together_and_touched_three_times_each) {
  open({});
  const auto all = tensix();
  observer.reset();
  const std::set<card::Coord> silent(all.begin() + 20, all.begin() + 30);
  open(silent);
  const Attachment a = attach(*observer, options);
  EXPECT_EQ(a.cores.size(), all.size() - silent.size());
  for (const AttachedCore& core : a.cores) EXPECT_FALSE(silent.count(core.at));
  ASSERT_EQ(a.remarks.size(), 1u);
  EXPECT_NE(a.remarks[0].find("10 tiles left out"), std::string::npos) << a.remarks[0];
  EXPECT_NE(a.remarks[0].find("it cannot be read"), std::string::npos) << a.remarks[0];
  EXPECT_EQ(rests.size(), 2u) << "not so often for every tile";
  EXPECT_LE(silent_loads(), 3 * silent.size());
  EXPECT_EQ(guard->account().suspect_tiles, silent.size());
}

TEST_F(Attach, a_tile_that_answers_again_is_taken) {
  open({});
  const auto all = tensix();
  observer.reset();
  open({all[0], all[7]}, 150'000'000);
  const Attachment a = attach(*observer, options);
  EXPECT_EQ(a.cores.size(), all.size());
  EXPECT_TRUE(a.remarks.empty()) << a.remarks.front();
  EXPECT_EQ(rests.size(), 2u);  // 110 ms were too short, 320 were not
  EXPECT_LE(silent_loads(), 4u);
}

// A core's vector, taken away as if the host had not written it yet.
struct HiddenVector {
  HiddenVector(card::Card& card, card::EmulatedCard& emulated, const Attachment& a, const AttachedCore& of)
      : core(of) {
    std::vector<uint64_t> raw((a.layout->format.control_words + 1) / 2);
    EXPECT_EQ(card.aim(card::Window::control, core.at, core.control_address), card::Access::ok);
    EXPECT_EQ(card.copy(card::Window::control, core.control_address & (card::kWindowBytes - 1), raw),
              card::Access::ok);
    const auto* all = reinterpret_cast<const uint32_t*>(raw.data());
    words.assign(all, all + a.layout->format.control_words);
    store(emulated, std::vector<uint32_t>(words.size()));
  }
  void store(card::EmulatedCard& emulated, const std::vector<uint32_t>& what) const {
    for (uint32_t w = 0; w < what.size(); ++w) emulated.store(core.at, core.control_address + 4 * w, what[w]);
  }
  AttachedCore core;
  std::vector<uint32_t> words;
};

// A collector that attached while the host was writing the vectors collected from some of the cores only, to the end.
TEST_F(Attach, cores_whose_vectors_are_still_being_written_were_left_out) {
  open({});
  const Attachment whole = attach(*observer, options);
  std::vector<HiddenVector> later;
  for (const size_t i : {3, 9}) later.emplace_back(*observer, *emulated, whole, whole.cores[i]);
  options.rest = [&](std::chrono::milliseconds time) {
    rests.push_back(time);
    if (later.empty()) return;
    later.back().store(*emulated, later.back().words);
    later.pop_back();
  };
  const Attachment a = attach(*observer, options);
  EXPECT_EQ(a.cores.size(), whole.cores.size());
  EXPECT_TRUE(a.remarks.empty()) << a.remarks.front();
  EXPECT_EQ(rests.size(), 2u);
}

TEST_F(Attach, cores_without_a_vector_are_waited_for_once) {
  open({});
  const Attachment whole = attach(*observer, options);
  for (const size_t i : {3, 9}) HiddenVector(*observer, *emulated, whole, whole.cores[i]);
  const Attachment a = attach(*observer, options);
  EXPECT_EQ(a.cores.size(), whole.cores.size() - 2);
  ASSERT_EQ(a.remarks.size(), 1u);
  EXPECT_NE(a.remarks[0].find("2 tiles left out"), std::string::npos) << a.remarks[0];
  EXPECT_EQ(rests.size(), 1u);
}

TEST_F(Attach, a_whole_card_waits_for_nobody) {
  open({});
  EXPECT_EQ(attach(*observer, options).cores.size(), tensix().size());
  EXPECT_TRUE(rests.empty());
}

}  // namespace
}  // namespace ttc::collect
