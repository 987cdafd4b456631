// What tests of the kernel-driver card begin with: emulated chips behind nodes of the model of the driver.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "driver_iface/card.hpp"
#include "driver_iface/emulated_card.hpp"
#include "driver_iface/model/driver_model.hpp"

namespace ttc::card {

using kmd::DriverModel;
using kmd::ModelNode;
using kmd::Request;

class KmdCard : public testing::TestWithParam<const char*> {
 protected:
  KmdCard() {
    static int number = 0;
    notices = testing::TempDir() + "ttc-kmd-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    model.set_notice_directory(notices);
    kmd::use_system(model);
  }
  ~KmdCard() override {
    card.reset();
    kmd::use_system(kmd::linux_system());
    rmdir(notices.c_str());
  }

  bool blackhole() const { return GetParam() == std::string("blackhole"); }
  static EmulatedCardOptions chip_options(const char* arch, const std::string& name) {
    EmulatedCardOptions o;
    o.name = name;
    o.arch = arch;
    o.board = arch == std::string("blackhole") ? "p150" : "n150";
    o.virtual_time = true;
    return o;
  }
  void add(ModelNode node = {}, EmulatedCardOptions options = {}) {
    static int number = 0;
    const std::string name = "kmd-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    const auto rows = options.harvested_rows, columns = options.harvested_columns,
               channels = options.harvested_channels;
    const uint32_t contradictions = options.contradictions;
    options = chip_options(GetParam(), name);
    options.harvested_rows = rows;
    options.harvested_columns = columns;
    options.harvested_channels = channels;
    options.contradictions = contradictions;
    chips.push_back(std::make_unique<EmulatedCard>(options));
    chips.back()->announce();
    node.card = name;
    model.add(node);
  }
  EmulatedCard& chip() { return *chips.back(); }
  void open(const std::string& spec = "0", OpenOptions options = {}) { card = open_card(spec, options); }
  std::string refusal(const std::string& spec = "0") {
    try {
      open_card(spec);
    } catch (const OpenError& e) {
      return e.what();
    }
    return {};
  }
  void expect_refusal(const std::string& spec, std::initializer_list<const char*> parts) {
    const std::string why = refusal(spec);
    for (const char* part : parts) EXPECT_NE(why.find(part), std::string::npos) << part << " in: " << why;
    EXPECT_EQ(why.find('\n'), std::string::npos);
  }
  bool noted(const std::string& part) const {
    const auto& remarks = card->identity().remarks;
    return std::any_of(remarks.begin(), remarks.end(),
                       [&](const std::string& n) { return n.find(part) != std::string::npos; });
  }
  Coord tensix(size_t nth = 0) const {
    for (const Tile& t : card->tiles())
      if (t.kind == TileKind::tensix && !t.harvested && nth-- == 0) return t.at;
    return {};
  }
  Access read(Window window = Window::control, uint32_t bytes = 4096) {
    words.assign(bytes / 8, 0);
    if (const Access a = card->aim(window, tensix(), 0); a != Access::ok) return a;
    return card->copy(window, 0, words);
  }
  // The driver holds no resource of this process.
  void expect_nothing_held() {
    const auto s = model.state(0);
    EXPECT_TRUE(s.windows_taken.empty());
    EXPECT_EQ(s.descriptors, 0u);
    EXPECT_EQ(s.mappings, 0u);
    EXPECT_EQ(model.bad_unmaps(), 0u);
  }

  std::string notices;
  DriverModel model;
  std::vector<std::unique_ptr<EmulatedCard>> chips;
  std::unique_ptr<Card> card;
  std::vector<uint64_t> words;
};

}  // namespace ttc::card
