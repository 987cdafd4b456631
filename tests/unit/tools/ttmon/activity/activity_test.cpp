// Sums of zones and ops, from launches as a ring brings them.
#include "tools/ttmon/activity/activity.hpp"

#include <gtest/gtest.h>

namespace ttc::tools {
namespace {

using markers::Marker;
using markers::MarkerType;

constexpr uint16_t kMainZoneId = 10;

class SummedLaunches {
 public:
  SummedLaunches() {
    Session session;
    session.aiclk_mhz = 1000;
    sums.begin(session);
  }
  // A firmware zone of one processor, times in ns.
  void launch(uint32_t host_id, uint8_t x, uint8_t risc, uint64_t begin_ns, uint64_t end_ns,
              uint32_t chip = 0) {
    const Marker markers[] = {{begin_ns, kMainZoneId, MarkerType::zone_start, markers::kGuaranteed, 0},
                              {end_ns, kMainZoneId, MarkerType::zone_end, markers::kGuaranteed, 0}};
    FrameEvents frame{
        chip,    x,      1,     markers::CoreKind::tensix, device::Mode::normal, risc, host_id, 0,
        markers, batch_, names_};
    frame.main_zone = kMainZoneId;
    sums.frame(frame);
  }
  std::string ops() {
    sums.settle(true);
    std::string text;
    for (const NamedSum& op : longest_ops(sums, 100))
      text += op.name + " " + std::to_string(op.sum.count) + "x " + std::to_string(op.sum.ns) +
              " ns, at most " + std::to_string(op.sum.longest_ns) + "; ";
    return text;
  }
  TimeSums sums;

 private:
  markers::Batch batch_;
  markers::ZoneNames names_;
};

// A program counted once for each processor of each core, so that one that ran once was "60 times".
TEST(TimeSums, a_program_counts_once_and_takes_the_time_of_all_its_cores) {
  SummedLaunches s;
  for (const uint8_t x : {uint8_t{1}, uint8_t{2}})
    for (const uint8_t risc : {uint8_t{0}, uint8_t{1}}) s.launch(17, x, risc, 1000 + 10u * x, 1100 + 20u * x);
  s.launch(18, 1, 0, 2000, 2005);
  EXPECT_EQ(s.ops(), "program 17 1x 130 ns, at most 130; program 18 1x 5 ns, at most 5; ");
  EXPECT_EQ(s.sums.take_busy_times()[(std::pair<uint8_t, uint8_t>{1, 1})][0], 110u + 5);
}

TEST(TimeSums, programs_of_an_op_are_summed_up_by_its_name) {
  SummedLaunches s;
  OpNames names;
  names.add(0, 17, "Matmul");
  s.sums.set_op_names(&names);
  s.launch(17, 1, 0, 1000, 1100);
  s.launch(18, 1, 0, 2000, 2050);
  s.launch(19, 1, 0, 3000, 3001);
  EXPECT_EQ(
      s.ops(),
      "Matmul 1x 100 ns, at most 100; program 18 1x 50 ns, at most 50; program 19 1x 1 ns, at most 1; ");
  names.add(0, 18, "Matmul");  // its message came late
  EXPECT_EQ(s.ops(), "Matmul 2x 150 ns, at most 100; program 19 1x 1 ns, at most 1; ");
}

TEST(TimeSums, programs_of_two_chips_with_one_id_are_two) {
  SummedLaunches s;
  Session second;
  second.chip = 1;
  second.aiclk_mhz = 500;
  s.sums.begin(second);
  s.launch(17, 1, 0, 1000, 1100);
  s.launch(17, 1, 0, 1000, 1100, 1);
  EXPECT_EQ(s.ops(),
            "program 17, chip 1 1x 200 ns, at most 200; program 17, chip 0 1x 100 ns, at most 100; ");
}

TEST(TimeSums, parts_of_a_program_beside_missing_markers_are_no_program) {
  SummedLaunches s;
  s.launch(17, 1, 0, 1000, 1100);
  s.sums.missed();
  s.launch(17, 2, 0, 1000, 1300);
  EXPECT_EQ(s.ops(), "program 17 1x 300 ns, at most 300; ");
}

}  // namespace
}  // namespace ttc::tools
