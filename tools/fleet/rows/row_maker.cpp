#include "tools/fleet/rows/row_maker.hpp"

#include <algorithm>
#include <limits>

namespace ttc::fleet {
namespace {

template <class Narrow>
Narrow narrowed(uint64_t value) {
  return static_cast<Narrow>(std::min<uint64_t>(value, std::numeric_limits<Narrow>::max()));
}

uint64_t not_negative(int64_t ns) {
  return ns > 0 ? static_cast<uint64_t>(ns) : 0;
}

constexpr uint8_t kOfDeviceAlone = 255;

}  // namespace

ClockRow RowMaker::row_of(const ttcollect_clock& c) {
  ClockRow row;
  row.raw_ns = not_negative(c.to_ns);
  row.device_bound_ns = c.bound_ns;
  row.mhz = narrowed<uint16_t>(static_cast<uint64_t>(std::max(c.mhz, 0.0)));
  row.chip = narrowed<uint8_t>(c.chip);
  row.bound_ns = ~uint64_t{0};
  row.how = kOfDeviceAlone;
  return row;
}

OpRow RowMaker::row_of(const ttcollect_op& o, uint32_t time_bound_ns) const {
  OpRow row;
  row.begin_ns = not_negative(o.begin_ns);
  row.duration_ns = narrowed<uint32_t>(not_negative(o.end_ns - o.begin_ns));
  row.core_most_ns = narrowed<uint32_t>(o.core_most_ns);
  if (o.core_most_ns)
    row.mean_share = static_cast<uint16_t>(std::min<uint64_t>(o.core_mean_ns, o.core_most_ns) *
                                           OpRow::kWhole / o.core_most_ns);
  row.host_id = o.host_id, row.open = narrowed<uint16_t>(o.open);
  row.code = host_.code_of_op(o.chip, o.host_id);
  row.replay = o.replay, row.cores = narrowed<uint16_t>(o.cores);
  row.chip = narrowed<uint8_t>(o.chip), row.most_x = o.most_x, row.most_y = o.most_y;
  if (o.of_device_clock) {
    row.flags = OpRow::kDeviceClock;
    return row;
  }
  row.bound_ns = time_bound_ns;
  if (const uint16_t step = row.replay ? uint16_t{0} : host_.step_at(row.begin_ns))
    row.replay = step, row.flags |= OpRow::kMarkedStep;
  return row;
}

LossRow RowMaker::row_of(const ttcollect_loss& l) {
  LossRow row;
  row.id = l.id;
  row.from_ns = not_negative(l.from_ns), row.to_ns = not_negative(l.to_ns);
  row.count = l.precision == 0 ? l.words : l.launches;
  row.chip = narrowed<uint8_t>(l.chip), row.x = l.x, row.y = l.y, row.risc = l.risc;
  row.cause = l.cause, row.precision = l.precision;
  return row;
}

TelemetryRow RowMaker::row_of(const ttcollect_telemetry& t) {
  TelemetryRow row;
  row.raw_ns = not_negative(t.host_ns);
  row.power_mw = t.power_mw, row.temperature_mc = t.temperature_mc;
  row.aiclk_mhz = narrowed<uint16_t>(t.aiclk_mhz);
  row.chip = narrowed<uint8_t>(t.chip);
  row.known = static_cast<uint8_t>(t.known & 7);
  return row;
}

}  // namespace ttc::fleet
