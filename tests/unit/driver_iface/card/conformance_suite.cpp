// The implementations on which the tests of conformance_*_test.cpp run. To add one: write a Rig that can put bytes on
// the card and name its factory in INSTANTIATE_TEST_SUITE_P at the end.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "driver_iface/model/driver_model.hpp"
#include "driver_iface/model/reset_sender.hpp"
#include "tests/unit/driver_iface/card/conformance_fixture.hpp"

namespace ttc::card {
namespace {

using testing_support::report_listeners;

class EmulatedRig : public Rig {
 public:
  EmulatedRig(const char* arch, const char* board, bool strict, std::vector<CardFault> faults = {})
      : board_(board), strict_(strict) {
    static int number = 0;
    EmulatedCardOptions o;
    o.name = "conf-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    o.arch = arch;
    o.board = board;
    o.strict = strict;
    o.virtual_time = true;
    o.faults = std::move(faults);
    spec_ = "emu:" + o.name;
    card_ = std::make_unique<EmulatedCard>(o);
    card_->announce();
  }
  std::string spec() const override { return spec_; }
  std::string board() const override { return board_; }
  const Arch& arch() const override { return card_->arch(); }
  void store(Coord tile, uint32_t address, uint32_t value) override { card_->store(tile, address, value); }
  void store_dram(uint32_t view, uint64_t address, std::span<const uint32_t> words) override {
    card_->store_dram(view, address, words);
  }
  uint64_t clock() const override { return card_->clock(); }
  void advance_clock(uint64_t cycles) override { card_->advance_clock(cycles); }
  AccessAccount account() const override { return card_->account(); }
  void announce_leaving() override { card_->announce_leaving(); }
  void vanish() override { card_.reset(); }
  bool has_descriptor() const override { return !strict_; }

 protected:
  std::string spec_, board_;
  bool strict_;
  std::unique_ptr<EmulatedCard> card_;
};

// An emulated card behind a node of the modelled kernel driver.
class DriverRig : public EmulatedRig {
 public:
  DriverRig(const char* arch, const char* board) : EmulatedRig(arch, board, false) {
    kmd::ModelNode node;
    node.card = spec_.substr(4);
    model_.set_notice_directory(testing::TempDir() + "ttc-notice-" + std::to_string(getpid()));
    model_.add(node);
    kmd::use_system(model_);
    spec_ = "pci:" + node.pci;
  }
  ~DriverRig() override {
    report_listeners(model_.notice_directory(), 2);  // an announced reset would keep the next rig's card shut
    kmd::use_system(kmd::linux_system());
    rmdir(model_.notice_directory().c_str());
  }
  AccessAccount account() const override {
    AccessAccount a{};
    a.window_moves = model_.state(0).window_moves;
    a.violations = model_.state(0).hazards.size() + model_.bad_unmaps();
    return a;
  }
  void announce_leaving() override { report_listeners(model_.notice_directory(), 1); }
  void vanish() override { model_.unplug(0); }
  bool has_descriptor() const override { return false; }
  bool opening_loads() const override { return true; }
  bool sees_loads() const override { return false; }

 private:
  mutable kmd::DriverModel model_;
};

std::unique_ptr<Rig> wormhole_mapped() {
  return std::make_unique<EmulatedRig>("wormhole_b0", "n150", false);
}
std::unique_ptr<Rig> wormhole_strict() {
  return std::make_unique<EmulatedRig>("wormhole_b0", "n150", true);
}
std::unique_ptr<Rig> blackhole_mapped() {
  return std::make_unique<EmulatedRig>("blackhole", "p150", false);
}
std::unique_ptr<Rig> blackhole_strict() {
  return std::make_unique<EmulatedRig>("blackhole", "p150", true);
}

std::unique_ptr<Rig> wormhole_driver() {
  return std::make_unique<DriverRig>("wormhole_b0", "n150");
}
std::unique_ptr<Rig> blackhole_driver() {
  return std::make_unique<DriverRig>("blackhole", "p150");
}

// Every fault there is, none of which has begun.
std::vector<CardFault> faults_to_come() {
  std::vector<CardFault> faults;
  for (uint32_t k = 0; k < static_cast<uint32_t>(FaultKind::kinds); ++k) {
    CardFault f;
    f.kind = static_cast<FaultKind>(k);
    f.after = ~uint64_t{0} >> 1;
    faults.push_back(f);
  }
  return faults;
}
std::unique_ptr<Rig> wormhole_mapped_with_faults_to_come() {
  return std::make_unique<EmulatedRig>("wormhole_b0", "n150", false, faults_to_come());
}
std::unique_ptr<Rig> wormhole_strict_with_faults_to_come() {
  return std::make_unique<EmulatedRig>("wormhole_b0", "n150", true, faults_to_come());
}

std::string name_of(const testing::TestParamInfo<Factory>& info) {
  constexpr const char* kNames[] = {"wormhole_mapped",  "wormhole_strict", "blackhole_mapped",
                                    "blackhole_strict", "faulty_mapped",   "faulty_strict",
                                    "wormhole_driver",  "blackhole_driver"};
  return kNames[info.index];
}
INSTANTIATE_TEST_SUITE_P(All, CardConformance,
                         testing::Values(&wormhole_mapped, &wormhole_strict, &blackhole_mapped,
                                         &blackhole_strict, &wormhole_mapped_with_faults_to_come,
                                         &wormhole_strict_with_faults_to_come, &wormhole_driver,
                                         &blackhole_driver),
                         name_of);

}  // namespace
}  // namespace ttc::card
