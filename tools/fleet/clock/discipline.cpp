#include "tools/fleet/clock/discipline.hpp"

#include <xxhash.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

namespace ttc::fleet {
namespace {

constexpr double kMostSeconds = 1000;  // a clock that is off by more is of no use

// Seconds or nanoseconds; negative where the text is no number that makes sense.
double magnitude(std::string_view text, double unit_ns) {
  const std::string whole(text);
  char* end = nullptr;
  const double value = std::strtod(whole.c_str(), &end);
  if (end == whole.c_str() || *end || !(std::abs(value) * unit_ns < kMostSeconds * 1e9)) return -1;
  return std::abs(value) * unit_ns;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t from = text.find_first_not_of(kBlank);
  return from == std::string_view::npos ? std::string_view()
                                        : text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}

// The rest of the line that begins with `name`.
std::string_view value_of(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::string_view rest = text.substr(at + name.size());
    const bool begins = at == 0 || text[at - 1] == '\n' || text[at - 1] == ' ' || text[at - 1] == '\t';
    if (begins && !rest.empty() && (rest[0] == ' ' || rest[0] == '\t'))
      return trimmed(rest.substr(0, rest.find('\n')));
  }
  return {};
}

}  // namespace

std::optional<uint64_t> bound_of_chrony(std::string_view tracking) {
  // Reference, name, stratum, time of reference, system time, last and RMS offset, frequency, residual, skew, root delay, root dispersion,
  // interval, leap status.
  constexpr size_t kFields = 14, kSystem = 4, kDelay = 10, kDispersion = 11, kLeap = 13;
  std::array<std::string_view, kFields> fields;
  tracking = trimmed(tracking.substr(0, tracking.find('\n')));
  size_t count = 0;
  for (size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = tracking.find(',', begin);
    if (count == kFields) return std::nullopt;
    fields[count++] = tracking.substr(begin, end - begin);
  }
  if (count != kFields || fields[kLeap] == "Not synchronised") return std::nullopt;
  const double system = magnitude(fields[kSystem], 1e9), delay = magnitude(fields[kDelay], 1e9),
               dispersion = magnitude(fields[kDispersion], 1e9);
  if (system < 0 || delay < 0 || dispersion < 0) return std::nullopt;
  return static_cast<uint64_t>(std::ceil(system + dispersion + delay / 2));
}

std::optional<PtpState> state_of_ptp(std::string_view pmc) {
  if (value_of(pmc, "gmPresent") != "true") return std::nullopt;
  const std::string_view identity = value_of(pmc, "gmIdentity");
  const double offset = magnitude(value_of(pmc, "master_offset"), 1),
               delay = magnitude(value_of(pmc, "meanPathDelay"), 1);
  if (identity.empty() || offset < 0 || delay < 0) return std::nullopt;
  const uint64_t scale = XXH64(identity.data(), identity.size(), 0);
  return PtpState{scale <= kUtcScale ? ~scale : scale, static_cast<uint64_t>(std::ceil(offset + delay))};
}

}  // namespace ttc::fleet
