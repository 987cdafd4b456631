// The activity of every core of a chip, over all programs or one of them.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/programs/op_builder.hpp"
#include "tools/report/zones/duration_clock.hpp"

namespace ttc::report {

enum class HeatOf { time, wait, imbalance, start };
const char* to_string(HeatOf what);

struct CoreHeat {
  uint64_t programs = 0;
  uint64_t time = 0;    // cycles in kernels
  uint64_t wait = 0;    // cycles of its programs in which its own kernels did not run, and waits for buffers
  uint64_t behind = 0;  // cycles its kernels took longer than the mean core of the program
  uint64_t start = 0;   // cycles from the first kernel start of a program to its own
  bool ethernet = false;
  uint64_t sums = 0;  // of `wait`: cycles of waits for buffers, of which neither begin nor end is known
  // The same by a clock model, each a sum over programs; `wait` without `sums`.
  Measured time_measured, wait_measured, behind_measured, start_measured;
  uint64_t unmeasured = 0;  // programs that it does not cover
};

class HeatMap : public Listener {
 public:
  explicit HeatMap(std::optional<uint32_t> only_program = {}) : only_(only_program) {}
  void events(const LaneEvents& batch) override;  // waits for buffers
  void program(const DeviceOp& op, std::span<const CoreTime> cores);

  using Place = std::pair<uint8_t, uint8_t>;  // x, y
  const std::map<uint32_t, std::map<Place, CoreHeat>>& chips() const { return chips_; }
  static uint64_t value(const CoreHeat& heat, HeatOf what);
  // The true time lies within so many ns of the one that is shown. None: not known.
  static std::optional<double> bound_ns(const CoreHeat& heat, HeatOf what, double shown_ns);
  // Programs that come from now on are measured by `clock`.
  void measure_with(std::shared_ptr<const DurationClock> clock) { clock_ = std::move(clock); }

 private:
  void measure(const DeviceOp& op, std::span<const CoreTime> cores);

  std::optional<uint32_t> only_;
  std::shared_ptr<const DurationClock> clock_;
  std::map<uint32_t, std::map<Place, CoreHeat>> chips_;
};

// One unit for all cells of a chip, so that the largest number is the largest value.
struct HeatUnit {
  const char* name;
  double ns;
  int digits;  // behind the point
};
HeatUnit heat_unit(double largest_ns);

// The chip's grid with its title, axes and legend: coloured cells where colour is welcome, numbers everywhere.
std::string heat_text(const std::string& title, const std::map<HeatMap::Place, CoreHeat>& cores, HeatOf what,
                      uint32_t mhz, bool color);
// What is known of differences between the cores: "each within 40 ns; 3 other cores ...". Empty where there is no clock model.
std::string heat_bounds_text(const std::map<HeatMap::Place, CoreHeat>& cores, HeatOf what, uint32_t mhz);
// PNG or SVG by the name's ending; chips side by side.
void draw_heat(const HeatMap& map, HeatOf what, const std::function<std::string(uint32_t)>& title,
               const std::function<uint32_t(uint32_t)>& mhz, const std::string& path);

}  // namespace ttc::report
