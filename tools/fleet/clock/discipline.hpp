// Reads the output of the programs that discipline a host's clock: chrony's distance to UTC, ptp4l's to its grandmaster. Pure.
//
// The kernel's own largest error (adjtimex) is not used: phc2sys (linuxptp clockadj.c, sysclk_set_sync) and systemd-timesyncd set it to 0
// whenever they adjust, whatever the true error is.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace ttc::fleet {

// A time scale that several hosts may share: UTC, or that of one grandmaster.
inline constexpr uint64_t kNoScale = 0, kUtcScale = 1;

// This host's RAW against a scale.
struct Discipline {
  uint64_t scale = kNoScale;
  int64_t scale_minus_raw_ns = 0;
  uint64_t bound_ns = ~uint64_t{0};
  bool known() const { return scale != kNoScale; }
};

// `chronyc -c tracking`: CLOCK_REALTIME is off UTC by at most the correction that is left, the root dispersion and half of the root delay
// (chrony's documentation of tracking). None: chrony is not synchronised, or the text is none of it.
std::optional<uint64_t> bound_of_chrony(std::string_view tracking);

// `pmc -u -b 0 'GET TIME_STATUS_NP' 'GET CURRENT_DATA_SET'`: the clock that ptp4l disciplines is off its grandmaster by at most the offset
// measured last and the mean path delay, as a way of a packet takes between no time and twice the mean.
struct PtpState {
  uint64_t grandmaster = 0;  // a scale: of its identity
  uint64_t bound_ns = 0;
};
std::optional<PtpState> state_of_ptp(std::string_view pmc);

}  // namespace ttc::fleet
