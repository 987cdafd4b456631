#include "tools/report/metal_files/row_places.hpp"

#include <algorithm>
#include <tuple>

#include "tools/report/text/record_sort.hpp"

namespace ttc::report {
namespace {

struct Placed {
  RowPlace place;
  uint32_t device = 0;
  uint64_t start = 0,
           number = 0;  // cycles of firmware, else of kernels, 0: neither; of rows, then of signposts
};
struct PlacedOrder {
  bool operator()(const Placed& a, const Placed& b) const {
    return std::tie(a.place.host_ns, a.device, a.start, a.number) <
           std::tie(b.place.host_ns, b.device, b.start, b.number);
  }
};

}  // namespace

Records<RowPlace> places_without_ops(const DeviceRows& device, const HostLog& host, const RawTime& raw_ns) {
  const auto timed = std::find_if(host.signposts.begin(), host.signposts.end(),
                                  [](const Signpost& s) { return s.raw_ns.has_value(); });
  bool by_host = raw_ns && timed != host.signposts.end();
  if (by_host)
    by_host = std::all_of(device.begin(), device.end(), [&](const DeviceRow& d) {
      return begin_cycle(d) != 0 && raw_ns(d.device, begin_cycle(d)).has_value();
    });
  const auto host_ns = [&](int64_t raw) { return timed->ns + (raw - *timed->raw_ns); };
  RecordSort<Placed, PlacedOrder> sorted;
  uint32_t row = 0;
  for (const DeviceRow& d : device) {
    Placed one{{row, by_host, nullptr, 0}, d.device, begin_cycle(d), row};
    if (by_host) one.place.host_ns = host_ns(static_cast<int64_t>(*raw_ns(d.device, one.start)));
    sorted.add(one);
    ++row;
  }
  if (by_host)
    for (const Signpost& s : host.signposts)
      if (s.raw_ns) sorted.add({{RowPlace::kNoDevice, true, &s, host_ns(*s.raw_ns)}, 0, 0, row++});
  Records<RowPlace> places;
  sorted.drain([&](const Placed& one) { places.push_back(one.place); });
  return places;
}

}  // namespace ttc::report
