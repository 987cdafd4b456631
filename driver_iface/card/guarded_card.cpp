#include "driver_iface/guarded_card.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/card/quick_clock.hpp"

namespace ttc::card {
namespace {

constexpr unsigned kBlankCopies = 3;
constexpr size_t kProbes = 3;  // tiles that must all be silent before the card is taken for gone

}  // namespace

GuardedCard::Clock GuardedCard::usual_clock() {
  return QuickClock();
}

uint64_t GuardedCard::involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nivcsw);
}

GuardedCard::GuardedCard(std::unique_ptr<Card> card, Clock clock, Interruptions interruptions)
    : card_(std::move(card)),
      states_(size_t{identity().arch->grid_x} * identity().arch->grid_y),
      now_ns_(std::move(clock)),
      interruptions_(interruptions) {}

GuardedCard::TileState& GuardedCard::state(Coord tile) {
  const Arch& arch = *identity().arch;
  if (tile.x < arch.grid_x && tile.y < arch.grid_y) return states_[size_t{tile.y} * arch.grid_x + tile.x];
  return no_tile_ = {};  // the implementation refuses an empty tile
}

bool GuardedCard::for_good(const TileState& tile) const {
  return tile.silent && account_.unanswered >= kMostUnanswered;
}

bool GuardedCard::resting(TileState& tile) const {
  tile.rests = tile.rests && (for_good(tile) || now_ns_() < tile.until_ns);
  return tile.rests;
}

void GuardedCard::try_again() {
  for (TileState& tile : states_) tile.rests = tile.rests && for_good(tile);
}

// --- was it slow? ------------------------------------------------------------------------------------------

void GuardedCard::begin() {
  stalled_ = false;
  begun_ns_ = now_ns_();
  transport_ns_ = card_->transactions().transport_ns;
}

uint64_t GuardedCard::taken_ns() const {
  const uint64_t took = now_ns_() - begun_ns_;
  return took - std::min(took, card_->transactions().transport_ns - transport_ns_);
}

bool GuardedCard::slow(uint64_t lines) {
  if (now_ns_() - begun_ns_ <= kSlowNs) return false;  // nearly every access: the card is not called
  const uint64_t took = taken_ns();
  if (took <= kSlowNs + lines * card_->line_allowance_ns()) return false;
  ++account_.slow_reads;
  stalled_ = took > kStallNs;
  return true;
}

GuardedCard::Reference GuardedCard::node_id(Window window) {
  return register_word(window, identity().arch->node_id_address - static_cast<uint32_t>(kRegisterWindow));
}
GuardedCard::Reference GuardedCard::register_word(Window window, uint32_t offset) {
  return [this, window, offset](uint32_t& word) { return card_->load_registers(window, offset, {&word, 1}); };
}
// Reads by a single load: a copy would count as one more visit to the tile, or to a log, where visits are counted.
GuardedCard::Reference GuardedCard::memory_word(Window window, uint32_t offset) {
  return [this, window, offset](uint32_t& word) {
    return card_->one_load(window, Memory::uncached, offset, {&word, 1});
  };
}

// What a slow load brought is good, whatever became of its tile; only the next one must wait.
Access GuardedCard::delivered(Access judged) {
  return judged == Access::gone ? Access::gone : Access::ok;
}

// A slow load returned words. ok: the tile is not slow. suspect: it is left alone from now on.
Access GuardedCard::judge_slow(Coord tile, const Reference& load) {
  if (gone()) return Access::gone;
  const unsigned most = stalled_ ? 1 : kReferenceLoads;
  unsigned interrupted = 0;
  for (unsigned shown = 0; shown < most;) {
    const uint64_t interruptions = interruptions_();
    begin();
    uint32_t word = 0;
    if (const Access a = load(word); a != Access::ok) return a == Access::gone ? a : trouble(tile);
    const uint64_t took = taken_ns();
    if (word == ~0u) return silence(tile, 1);
    if (took <= card_->line_allowance_ns()) {
      ++account_.delayed_reads;
      account_.delayed_tiles += !std::exchange(state(tile).delayed, true);
      return Access::ok;
    }
    if (took > kStallNs) break;
    if (interruptions_() == interruptions || ++interrupted > kInterruptedReferences) ++shown;
  }
  return trouble(tile);
}

// How many of `lines` all-ones lines count as unanswered. If each took long, the copy was aborted at the
// end of a block; if the copy was fast, one all-ones response counts once.
uint64_t GuardedCard::unanswered_of(uint64_t lines) const {
  return stalled_ ? std::min<uint64_t>(lines, kCopyBlockBytes / kLineBytes) : 1;
}

// --- what is the matter? -----------------------------------------------------------------------------------

bool GuardedCard::node_id_answers(Coord tile) {
  uint32_t id = ~0u;
  if (card_->aim(Window::control, tile, kRegisterWindow) != Access::ok ||
      node_id(Window::control)(id) != Access::ok)
    return false;
  account_.unanswered += id == ~0u;
  return id != ~0u;
}

// Some other tile's node id, from different places of the chip.
bool GuardedCard::card_answers(Coord but) {
  std::vector<Coord> others;
  for (const Tile& t : tiles())
    if (t.kind == TileKind::tensix && !t.harvested && t.at != but && !resting(state(t.at)))
      others.push_back(t.at);
  if (others.empty()) return true;  // no other tile is left: the tiles rest one by one
  for (size_t i = 0; i < kProbes; ++i)
    if (node_id_answers(others[i * (others.size() - 1) / (kProbes - 1)])) return true;
  return false;
}

Access GuardedCard::aim_again(Window window) {
  const Aimed& at = aimed_[static_cast<size_t>(window)];
  return at.valid ? card_->aim(window, at.tile, at.address) : Access::ok;
}

// Must be called before any other load after trouble of any kind.
bool GuardedCard::gone() {
  return lost_ = lost_ || card_->check() == Health::gone;
}

Access GuardedCard::trouble(Coord tile, bool silent) {
  lost_ = account_.unanswered >= kLetGoAt || gone() || !card_answers(tile);
  if (lost_) return Access::gone;
  TileState& s = state(tile);
  const uint64_t now = now_ns_();
  const bool again = s.backoff_ns != 0 && now < s.until_ns + s.backoff_ns;
  ++account_.suspicions;
  account_.suspect_tiles += s.backoff_ns == 0;
  s.backoff_ns = again ? std::min(2 * s.backoff_ns, kLongestBackoffNs) : kFirstBackoffNs;
  s.until_ns = now + s.backoff_ns;
  s.rests = true;
  s.silent = silent;
  const Access aimed = aim_again(Window::control);
  return aimed == Access::ok ? Access::suspect : aimed;
}

Access GuardedCard::silence(Coord tile, uint64_t loads) {
  ++account_.all_ones_reads;
  account_.unanswered += loads;
  return trouble(tile, true);
}

Access GuardedCard::doubt(Coord tile) {
  return silence(tile, 1);
}

Access GuardedCard::first_touch(Coord tile) {
  TileState& s = state(tile);
  const TileKind kind = identity().arch->kind_at(tile);
  if (s.known || (kind != TileKind::tensix && kind != TileKind::ethernet)) return Access::ok;
  const auto listed =
      std::find_if(tiles().begin(), tiles().end(), [&](const Tile& t) { return t.at == tile; });
  if (listed == tiles().end() || listed->harvested) return Access::ok;  // the card itself will refuse it
  begin();
  const bool answers = node_id_answers(tile);
  if (card_->health() == Health::gone) return Access::gone;
  s.known = answers;
  if (!answers) return silence(tile, 0);  // it was counted
  const Access judged = slow(1) ? judge_slow(tile, node_id(Window::control)) : Access::ok;
  return judged == Access::ok ? aim_again(Window::control) : judged;
}

// A copy returned only ones. A tile's L1 cannot hold that in the parts that are read. DRAM can: it is data if
// the tile answers elsewhere and a second load returns the same.
Access GuardedCard::judge_all_ones(Window window, uint32_t offset, std::span<uint64_t> out) {
  if (gone()) return Access::gone;
  const Aimed at = aimed_[static_cast<size_t>(window)];
  if (identity().arch->kind_at(at.tile) != TileKind::dram) return doubt(at.tile);
  TileState& s = state(at.tile);
  if (!s.has_reference) {
    if (++s.blank_copies < kBlankCopies) return Access::ok;
    s.blank_copies = 0;
    return doubt(at.tile);
  }
  uint64_t word = ~uint64_t{0};
  Access a = card_->aim(window, at.tile, s.reference);
  if (a == Access::ok)
    a = card_->copy(window, static_cast<uint32_t>(s.reference & (kWindowBytes - 1)), {&word, 1});
  if (a == Access::ok) a = aim_again(window);
  if (a != Access::ok) return a;
  return word == ~uint64_t{0} ? doubt(at.tile) : card_->copy(window, offset, out);
}

// --- the accesses ------------------------------------------------------------------------------------------

Access GuardedCard::aim(Window window, Coord tile, uint64_t address) {
  if (lost_) return Access::gone;
  if (resting(state(tile))) return Access::suspect;
  if (const Access a = first_touch(tile); a != Access::ok) return a;
  const Access a = card_->aim(window, tile, address);
  if (a == Access::ok) aimed_[static_cast<size_t>(window)] = {true, tile, address};
  return a;
}

Access GuardedCard::load_registers(Window window, uint32_t offset, std::span<uint32_t> out) {
  const Aimed& at = aimed_[static_cast<size_t>(window)];
  if (lost_) return Access::gone;
  if (resting(state(at.tile))) return Access::suspect;
  begin();
  const Access a = card_->load_registers(window, offset, out);
  if (a != Access::ok) return a;
  if (!out.empty() && std::all_of(out.begin(), out.end(), [](uint32_t v) { return v == ~0u; }))
    return silence(at.tile, out.size());
  if (!slow(out.size())) return Access::ok;
  const bool has_node_id = (at.address & ~(kWindowBytes - 1)) == kRegisterWindow;
  return delivered(judge_slow(at.tile, has_node_id ? node_id(window) : register_word(window, offset)));
}

Access GuardedCard::copy(Window window, uint32_t offset, std::span<uint64_t> out) {
  const Aimed& at = aimed_[static_cast<size_t>(window)];
  if (lost_) return Access::gone;
  TileState& s = state(at.tile);
  if (resting(s)) return Access::suspect;
  begin();
  const Access a = card_->copy(window, offset, out);
  const uint64_t lines = lines_touched(offset, out.size_bytes());
  if (a == Access::suspect) {  // it ran out of its time
    ++account_.slow_reads;
    stalled_ = true;
    account_.unanswered += unanswered_of(lines);
    return trouble(at.tile, true);
  }
  if (a != Access::ok || out.empty()) return a;
  const bool was_slow = slow(lines);
  const auto good = std::find_if(out.begin(), out.end(), [](uint64_t word) { return word != ~uint64_t{0}; });
  if (good == out.end())
    return was_slow ? silence(at.tile, unanswered_of(lines)) : judge_all_ones(window, offset, out);
  const uint32_t place = offset + 8 * static_cast<uint32_t>(good - out.begin());
  s.has_reference = true;
  s.reference = (at.address & ~(kWindowBytes - 1)) + place;
  s.blank_copies = 0;
  if (!was_slow) return Access::ok;
  const bool low_half_is_ones = static_cast<uint32_t>(*good) == ~0u;
  return delivered(judge_slow(at.tile, memory_word(window, place + (low_half_is_ones ? 4 : 0))));
}

// A single word may be all-ones where workloads keep their data: the tile's node id shows whether it answers.
Access GuardedCard::one_load(Window window, Memory memory, uint32_t offset, std::span<uint32_t> out) {
  const Aimed at = aimed_[static_cast<size_t>(window)];
  if (lost_) return Access::gone;
  if (resting(state(at.tile))) return Access::suspect;
  begin();
  const Access a = card_->one_load(window, memory, offset, out);
  if (a != Access::ok || out.empty()) return a;
  const bool was_slow = slow(1);
  const auto good = std::find_if(out.begin(), out.end(), [](uint32_t v) { return v != ~0u; });
  if (good == out.end()) {
    if (gone()) return Access::gone;
    const bool has_node_id = identity().arch->kind_at(at.tile) != TileKind::dram;
    if (was_slow || !has_node_id || !node_id_answers(at.tile)) return silence(at.tile, 1);
    return aim_again(Window::control);
  }
  if (!was_slow) return Access::ok;
  const uint32_t place = offset + 4 * static_cast<uint32_t>(good - out.begin());
  return delivered(judge_slow(at.tile, memory_word(window, place)));
}

Access GuardedCard::wall_clock(Coord tile, uint64_t& cycles) {
  if (lost_) return Access::gone;
  if (resting(state(tile))) return Access::suspect;
  if (const Access a = first_touch(tile); a != Access::ok) return a;
  aimed_[static_cast<size_t>(Window::control)] = {true, tile, kRegisterWindow};
  begin();
  const Access a = card_->wall_clock(tile, cycles);
  if (a != Access::ok) return a;
  if (cycles == ~uint64_t{0}) return silence(tile, 3);
  return slow(3) ? delivered(judge_slow(tile, node_id(Window::control))) : Access::ok;
}

// What was known of a memory tile's words is then another tile's.
void GuardedCard::use_memory_numbering(unsigned way) {
  card_->use_memory_numbering(way);
  for (TileState& tile : states_) tile.has_reference = false;
  for (Aimed& at : aimed_) at.valid = false;
}

std::optional<DescriptorRange> GuardedCard::descriptor_range(Coord tile, uint64_t address, uint32_t bytes) {
  if (lost_ || resting(state(tile))) return std::nullopt;
  return card_->descriptor_range(tile, address, bytes);
}

}  // namespace ttc::card
