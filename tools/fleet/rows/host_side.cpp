#include "tools/fleet/rows/host_side.hpp"

#include <algorithm>
#include <charconv>

#include "tools/op_messages/op_message.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::fleet {
namespace {

uint64_t key_of(uint32_t chip, uint32_t host_id) {
  return uint64_t{chip} << 32 | host_id;
}

}  // namespace

void HostSide::take(std::span<const uint64_t> chunk) {
  if (shm::header_of(chunk).kind != shm::ChunkKind::host_events) return;
  collect::HostChunkReader reader(shm::body_of(chunk));
  for (collect::HostEvent event; reader.next(event);) {
    if (event.kind != collect::EventKind::message) continue;
    const int64_t raw = collect::raw_ns_of(reader.head(), event.time);
    if (const auto op = tools::named_op(event.text))
      name(op->device, op->call_count, op->name);
    else if (raw > 0)
      mark(event.text, static_cast<uint64_t>(raw));
  }
}

void HostSide::name(uint32_t chip, uint32_t host_id, std::string_view name) {
  if (young_.size() >= kMostNamed / 2) {
    old_ = std::move(young_);
    young_.clear();
  }
  if (const uint32_t code = codes_.add(name)) young_[key_of(chip, host_id)] = code;
}

uint32_t HostSide::code_of_op(uint32_t chip, uint32_t host_id) const {
  for (const auto* names : {&young_, &old_})
    if (const auto known = names->find(key_of(chip, host_id)); known != names->end()) return known->second;
  return 0;
}

// `TT_SIGNPOST: step_5_start`, and ..._end. Marks come in order of time.
void HostSide::mark(std::string_view text, uint64_t raw_ns) {
  constexpr std::string_view kBefore = "TT_SIGNPOST: step_", kStart = "_start", kEnd = "_end";
  while (text.starts_with('`')) text.remove_prefix(1);
  while (text.ends_with('`') || text.ends_with('\n')) text.remove_suffix(1);
  if (!text.starts_with(kBefore)) return;
  text.remove_prefix(kBefore.size());
  uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  if (text == kStart) {
    steps_.push_back({raw_ns, ~uint64_t{0}, number});
    if (steps_.size() > kMostSteps) steps_.pop_front();
  } else if (text == kEnd) {
    const auto begun =
        std::find_if(steps_.rbegin(), steps_.rend(), [&](const Step& s) { return s.number == number; });
    if (begun != steps_.rend()) begun->end_ns = raw_ns;
  }
}

uint16_t HostSide::step_at(uint64_t raw_ns) const {
  auto after = std::upper_bound(steps_.begin(), steps_.end(), raw_ns,
                                [](uint64_t at, const Step& s) { return at < s.begin_ns; });
  if (after == steps_.begin()) return 0;
  const Step& step = *std::prev(after);
  constexpr uint64_t kNumbers = 65535;
  return raw_ns < step.end_ns ? static_cast<uint16_t>(step.number % kNumbers + 1) : uint16_t{0};
}

}  // namespace ttc::fleet
