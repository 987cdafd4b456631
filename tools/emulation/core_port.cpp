// The machine underneath the device header: emulated L1, clock and NoC of one core, and the truth about what it stored.
#include <algorithm>
#include <utility>

#include "firmware_markers/frame.hpp"
#include "tools/emulation/core.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::emulation {

using device::kMaxRiscs;

CorePort::CorePort(World& world, const WorldCore& core, device::Mode mode)
    : world_(world),
      core_(core),
      l1_(world.card().l1(core.at)),
      mode_(mode),
      tear_dice_(world.options().faults.torn_marker.seed * 256 + core.flat_id) {}

uint32_t CorePort::load(uint32_t address) {
  world_.step();
  return world_.load(core_, l1_, address);
}

void CorePort::store(uint32_t address, uint32_t value) {
  world_.step();
  last_store_ = address;
  const uint32_t index = core_.control_address + 4u * world_.format().host_end;
  if (address - index < 4 * kMaxRiscs)
    return world_.store_index(core_, (address - index) / 4, address, world_.load(core_, l1_, address), value);
  const uint32_t counter = core_.control_address + 4u * world_.format().run_counter;
  if (address == counter && value != 0 && world_.options().faults.is_unlike(Unlike::run_counter_doubles))
    ++value;
  l1_.store(address, value);
}

constexpr uint64_t kBetweenLooks = 2;   // cycles from one reading of the clock to the next
constexpr uint64_t kBetweenHalves = 3;  // and from its high half to its low one

void CorePort::time_is(uint64_t at, uint32_t risc) {
  planned_ = std::max(world_.clock_on(core_, at), last_recorded_[risc] + 1);
}

uint32_t CorePort::clock_high() {
  world_.step();
  if (planned_ != 0) return static_cast<uint32_t>((high_read_at_ = planned_ - kBetweenHalves) >> 32);
  const WorkloadFaults::TornMarker& f = world_.options().faults.torn_marker;
  const uint64_t before = now();
  const uint64_t left = (uint64_t{1} << 32) - (before & 0xffffffffu);
  high_read_at_ = before;
  if (f.every && tear_dice_() % f.every == 0 && tear_would_show(before + left)) {
    world_.card().advance_clock(left - 1);  // the step of the low read is then the one that rolls over
    high_read_at_ += left - 1;
  } else if (left < f.within_cycles && !world_.options().virtual_time) {
    while (now() - before < left) world_.land_due();
    high_read_at_ += left - 1;
  }
  return static_cast<uint32_t>(before >> 32);
}

constexpr uint64_t kMostBetweenHalves = 1000;  // cycles

// A torn time is recognised by what its lane recorded before, if that is later than the roll-over before this one.
// On silicon 4.29 s lie between the two; a clock that jumps has them as often as its fault is set to strike.
bool CorePort::tear_would_show(uint64_t roll_over) const {
  constexpr uint64_t kPeriod = uint64_t{1} << 32;
  return std::all_of(last_recorded_.begin(), last_recorded_.end(), [&](uint64_t last) {
    return last == 0 || last + kPeriod > roll_over + kMostBetweenHalves;
  });
}

// A core loads both halves within a few cycles. A process may lose the CPU in between; a time torn by a
// roll-over would then be further off than any on silicon, and nothing repairs it.
uint32_t CorePort::clock_low() {
  world_.step();
  true_time_ = planned_ != 0 ? std::exchange(planned_, planned_ + kBetweenLooks + kBetweenHalves) : now();
  const bool torn = true_time_ >> 32 != high_read_at_ >> 32;
  if (torn && planned_ == 0) true_time_ = std::min(true_time_, high_read_at_ + kMostBetweenHalves);
  const auto low = static_cast<uint32_t>(true_time_);
  if (torn) torn_ = {(high_read_at_ >> 32 << 32 | low) & markers::kClockMask, true_time_};
  return low;
}

void CorePort::push(uint32_t risc, uint32_t words, uint32_t, uint32_t bank_offset) {
  world_.step();
  if (id_if_pushed_) launch_is(*std::exchange(id_if_pushed_, {}));
  std::vector<uint32_t> copy(words);
  for (uint32_t w = 0; w < words; ++w)
    copy[w] = l1_.load(buffer_address() + risc * device::kBufferBytes + 4 * w);
  // Source and destination are aligned differently after an overrun, which the NoC does not do: the halves of every
  // 16 bytes change places.
  if (world_.options().faults.overrun.damage && bank_offset % 16 != 0)
    for (size_t w = 0; w + 4 <= copy.size(); w += 4) std::swap_ranges(&copy[w], &copy[w] + 2, &copy[w] + 2);
  std::vector<TruthRecord> markers;
  const auto take = [&](const Stored& s) {
    const bool pushed = s.record.risc == risc && s.word < words;
    if (pushed) markers.push_back(s.record);
    return pushed;
  };
  std::erase_if(kept_, take);
  std::erase_if(stored_, take);
  const uint32_t log_words = world_.options().bytes_per_risc / 4;
  world_.post(core_, risc, bank_offset, std::move(copy), bank_offset / 4 % log_words + words,
              std::move(markers));
  if (std::exchange(ends_with_push_, false)) launch_over();
}

void CorePort::emit(const Stored& stored) {
  world_.truth().add(stored.record);
  if (world_.unseen().wanted()) stored_.push_back(stored);
}

bool CorePort::struck(const Stored& stored) const {
  return stored.strikes != world_.unseen().strikes(core_.flat_id);
}

// Of what accumulated. `continued`: the core continued soon after the reset, so that one poll may have come before both and the next
// behind them.
bool CorePort::may_be_unseen(const Stored& stored, bool continued) const {
  const bool soon = world_.reset_ns() < stored.shown_ns + world_.options().continues_after_ns;
  return !world_.looked_before_reset(core_, stored.polls) || (continued && soon);
}

void CorePort::settle_unseen(bool launch_begins) {
  const bool within_launch =
      std::any_of(stored_.begin(), stored_.end(), [&](const Stored& s) { return struck(s); });
  const bool soon = collect::raw_now_ns() < world_.reset_ns() + world_.options().continues_after_ns;
  std::erase_if(kept_, [&](const Stored& s) {
    if (struck(s) && may_be_unseen(s, within_launch || (launch_begins && soon)))
      world_.unseen().add(s.record);
    return struck(s);
  });
  for (const Stored& s : stored_) {
    if (struck(s))
      world_.unseen().add(s.record);
    else if (mode_ == device::Mode::accumulate)
      kept_.push_back(s);
  }
  stored_.clear();
}

// What a reset struck within the launch stays where it is.
void CorePort::launch_shown() {
  std::erase_if(stored_, [&](Stored& s) {
    if (struck(s)) return false;
    s.polls = world_.card().control_reads(core_.at);
    s.shown_ns = collect::raw_now_ns();
    kept_.push_back(s);
    return true;
  });
}

void CorePort::recorded(uint32_t risc, uint32_t type, uint32_t id, uint64_t time, uint64_t a, uint64_t b) {
  if (world_.card().lost()) return;  // nothing runs there any more
  last_recorded_[risc] = true_time_;
  // The words may be torn, the truth is not. A time need not be the last one read: a push has read two before it records the first.
  if ((time & markers::kClockMask) == torn_.words) time = torn_.truth;
  const uint32_t word = stored_word(risc);
  TruthRecord record{};
  record.time = time & markers::kClockMask;
  if (word == device::kFwStartWord) fw_start_[risc] = record.time;
  if (type == device::kZoneTotal) record.time = fw_start_[risc];  // it has none of its own
  record.data[0] = a;
  record.data[1] = b;
  record.host_id = host_id_;
  record.id = static_cast<uint16_t>(id);
  record.type = static_cast<uint8_t>(type);
  record.risc = static_cast<uint8_t>(risc);
  record.core_x = core_.at.x;
  record.core_y = core_.at.y;
  record.trace_counter = trace_counter_;
  record.core_kind = core_.kind;
  record.one_risc = mode_ == device::Mode::trace_only;
  if (mode_ == device::Mode::trace_only && word < device::kFirstCustomWord)
    slots_[word] = record;
  else if (host_known_ && !world_.unseen().wanted())
    world_.truth().add(record);
  else if (const Stored stored{record, word + 1, world_.unseen().strikes(core_.flat_id),
                               world_.card().control_reads(core_.at)};
           host_known_)
    emit(stored);
  else
    held_.push_back(stored);
}

void CorePort::frame_over() {
  for (const auto& [word, record] : slots_) world_.truth().add(record);
  slots_.clear();
}

void CorePort::launch_is(uint32_t host_id) {
  host_id_ = host_id;
  host_known_ = true;
  for (Stored& stored : held_) {
    stored.record.host_id = host_id;
    emit(stored);
  }
  held_.clear();
}

void CorePort::launch_overwritten() {
  for (const Stored& s : stored_) world_.unseen().add(s.record);
  stored_.clear();
}

void CorePort::launch_discarded() {
  held_.clear();
  if (!std::exchange(id_if_pushed_, {})) host_known_ = false;  // it was pushed, and is over now
}

}  // namespace ttc::emulation
