#include "tools/ttdelay/run/card_watch.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "driver_iface/guarded_card.hpp"
#include "firmware_markers/layout.hpp"
#include "tools/ttdelay/records/waypoints.hpp"

namespace ttc::delay {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(2);
constexpr auto kBetweenOpenings = std::chrono::milliseconds(4);
constexpr uint32_t kMailboxBytes =
    4096;  // the watcher's block is within (tt-metal dev_msgs.h of all versions read)

}  // namespace

std::map<LogicalCore, card::Coord> logical_cores(std::span<const card::Tile> tiles) {
  std::set<uint8_t> columns, rows;
  for (const card::Tile& t : tiles)
    if (t.kind == card::TileKind::tensix && !t.harvested) columns.insert(t.at.x), rows.insert(t.at.y);
  std::map<LogicalCore, card::Coord> cores;
  for (const card::Tile& t : tiles)
    if (t.kind == card::TileKind::tensix && !t.harvested)
      cores[{static_cast<uint32_t>(std::distance(columns.begin(), columns.find(t.at.x))),
             static_cast<uint32_t>(std::distance(rows.begin(), rows.find(t.at.y)))}] = t.at;
  return cores;
}

CardWatch::CardWatch(CardOpener open, MasksByCore expected, std::optional<RecordPlace> known)
    : open_(std::move(open)), expected_(std::move(expected)) {
  facts_.place = known;
  facts_.fresh = true;
  if (!take_card()) return;
  // Reads what earlier runs left: records that are full already could be taken for this run's.
  look(true);
  facts_.fresh = !facts_.masks_seen || facts_.feedback.empty();
  for (const auto& [core, bits] : facts_.feedback)
    if (bits == 0) facts_.fresh = true;
  facts_.masks_seen = false;
  facts_.feedback.clear();
  facts_.others.clear();
}

CardWatch::~CardWatch() {
  if (thread_.joinable()) stop();
}

void CardWatch::start() {
  thread_ = std::thread([this] { watch(); });
}

CardFacts CardWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (card_ && !facts_.gone && look(true)) read_waypoints();
  card_.reset();
  return facts_;
}

bool CardWatch::take_card() {
  try {
    card_ = std::make_unique<card::GuardedCard>(open_());
  } catch (const card::OpenError& e) {
    facts_.why_not = e.what();
    return false;
  }
  const markers::Placement* placement = markers::placement_for(card_->identity().arch->name);
  if (!placement) {
    facts_.why_not = "where mailboxes lie on " + std::string(card_->identity().arch->name) + " is not known";
    card_.reset();
    return false;
  }
  facts_.gone = false;
  mailbox_ = placement->place(markers::CoreKind::tensix).mailbox_base;
  facts_.opened = true;
  facts_.cores = logical_cores(card_->tiles());
  return true;
}

bool CardWatch::read_l1(card::Coord at, uint32_t address, std::vector<uint32_t>& words) {
  using card::Access;
  const uint32_t from = address & ~7u, last = (address + static_cast<uint32_t>(words.size()) * 4 + 7) & ~7u;
  std::vector<uint64_t> raw((last - from) / 8);
  const bool read = card_->aim(card::Window::control, at, from) == Access::ok &&
                    card_->copy(card::Window::control, from % card::kWindowBytes, raw) == Access::ok;
  if (!read) return false;
  const uint32_t skipped = (address - from) / 4;
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<uint32_t>(raw[(i + skipped) / 2] >> 32 * ((i + skipped) % 2));
  return true;
}

std::optional<DelayWords> CardWatch::record_of(card::Coord at, const RecordPlace& place) {
  std::vector<uint32_t> words(place.words ? 4 : 1);
  if (!read_l1(at, place.address, words)) return std::nullopt;
  return words_at(words, place.address, place);
}

void CardWatch::read_waypoints() {
  if (!facts_.place || facts_.place->address < mailbox_ + kWaypointSearchBytes) return;
  std::vector<LogicalCore> cores;
  std::vector<std::vector<uint32_t>> before;
  for (const auto& [core, at] : facts_.cores) {
    std::vector<uint32_t> words(kWaypointSearchBytes / 4);
    if (!read_l1(at, facts_.place->address - kWaypointSearchBytes, words)) continue;
    cores.push_back(core);
    before.push_back(std::move(words));
  }
  const auto found = waypoints_of(before);
  facts_.waypoints.clear();
  for (size_t i = 0; found && i < cores.size(); ++i) facts_.waypoints[cores[i]] = (*found)[i];
}

DelayMasks CardWatch::expected_of(const LogicalCore& core) const {
  const auto own = expected_.find(core);
  return own == expected_.end() ? DelayMasks{} : own->second;
}

// The places that fit on the first named core, of which all other cores leave one.
std::optional<RecordPlace> CardWatch::find_place() {
  const auto named = std::find_if(expected_.begin(), expected_.end(), [&](const auto& core) {
    return core.second != DelayMasks{} && facts_.cores.contains(core.first);
  });
  if (named == expected_.end()) return std::nullopt;
  std::vector<uint32_t> l1(kMailboxBytes / 4);
  if (!read_l1(facts_.cores.at(named->first), mailbox_, l1)) return std::nullopt;
  std::vector<RecordPlace> places = places_of(l1, mailbox_, named->second);
  for (const auto& [core, at] : facts_.cores) {
    if (places.empty()) return std::nullopt;
    std::erase_if(places, [&, masks = expected_of(core), tile = at](const RecordPlace& place) {
      const auto found = record_of(tile, place);
      return !found || found->masks != masks;
    });
  }
  facts_.ambiguous = places.size() > 1;
  return places.size() == 1 ? std::optional(places[0]) : std::nullopt;
}

// True if the card can be read again. `everywhere`: at cores that are not named, too, which costs the card more.
bool CardWatch::look(bool everywhere) {
  everywhere = everywhere || !facts_.masks_seen;
  if (!facts_.place) facts_.place = find_place();
  if (facts_.place) {
    std::map<LogicalCore, DelayWords> now;
    for (const auto& [core, at] : facts_.cores)
      if (everywhere || expected_.contains(core))
        if (const auto found = record_of(at, *facts_.place)) now[core] = *found;
    judge(now, everywhere);
  }
  facts_.gone = card_->health() == card::Health::gone;
  return !facts_.gone;
}

void CardWatch::judge(const std::map<LogicalCore, DelayWords>& now, bool everywhere) {
  bool as_expected = true, full = !expected_.empty();
  std::vector<LogicalCore> others;
  for (const auto& [core, words] : now) {
    as_expected = as_expected && words.masks == expected_of(core);
    if (expected_.contains(core))
      full = full && words.feedback != 0;
    else if (words.masks != DelayMasks{} || words.feedback != 0)
      others.push_back(core);
  }
  for (const auto& [core, masks] : expected_) as_expected = as_expected && now.contains(core);
  if (!facts_.fresh && (!as_expected || !full)) {  // the device was opened just now
    facts_.fresh = true;
    facts_.masks_seen = false;
    facts_.feedback.clear();
  }
  if (everywhere) facts_.others = others;
  if (!as_expected) return;
  facts_.masks_seen = true;
  for (const auto& [core, words] : now)
    if (expected_.contains(core)) facts_.feedback[core] |= words.feedback;
}

void CardWatch::watch() {
  std::unique_lock lock(mutex_);
  const auto rest = [&](auto time) { stopped_.wait_for(lock, time, [&] { return stop_; }); };
  while (!stop_) {
    lock.unlock();
    if (!card_) {
      take_card();
    } else {
      const bool leaving = card_->health() == card::Health::leaving;
      const bool there = look(leaving);
      if (leaving && there) read_waypoints();
      if (leaving || !there) card_.reset();  // an emulated card ends when its last observer has closed it
      if (leaving) return;  // one that is gone may come back: a workload may reset it at its start
    }
    lock.lock();
    rest(card_ ? kBetweenLooks : kBetweenOpenings);
  }
}

}  // namespace ttc::delay
