#include "tools/fleet/judge/ingest.hpp"

#include <algorithm>

namespace ttc::fleet {
namespace {

constexpr uint8_t kOfDeviceAlone = 255;
constexpr uint8_t kExactRows = 3;

uint64_t sum(const std::vector<Positions>& all) {
  uint64_t rows = 0;
  for (const Positions& p : all) rows += p.to - p.from;
  return rows;
}

}  // namespace

bool Account::take(uint64_t from, uint64_t rows) {
  const uint64_t to = from + rows;
  if (from_middle_ && rows_ == 0) next_ = before_ = from;
  if (from < next_) {
    // A batch whose answer was lost, and that was stored behind later ones, fills a gap.
    const auto gap = std::find_if(gaps_.begin(), gaps_.end(),
                                  [&](const Positions& g) { return g.from <= from && to <= g.to; });
    if (gap == gaps_.end()) {
      again_ += rows;
      return false;
    }
    const Positions behind{to, gap->to};
    gap->to = from;
    if (behind.from < behind.to) gaps_.insert(gap + 1, behind);
    std::erase_if(gaps_, [](const Positions& g) { return g.from == g.to; });
  } else {
    // If there are too many gaps, two become one: then more counts as missing than is.
    if (from > next_) {
      if (gaps_.size() >= kMostGaps)
        gaps_.back().to = from;
      else
        gaps_.push_back({next_, from});
    }
    next_ = to;
  }
  rows_ += rows;
  return true;
}

std::vector<Positions> Account::holes() const {
  std::vector<Positions> all = gaps_;
  uint64_t end = next_;
  for (const Positions& d : declared_) end = std::max(end, d.to);
  if (end > next_) all.push_back({next_, end});
  return all;
}

uint64_t Account::missing() const {
  return sum(holes());
}

uint64_t Account::declared() const {
  uint64_t covered = 0;
  auto all = declared_;
  std::sort(all.begin(), all.end(), [](const Positions& a, const Positions& b) { return a.from < b.from; });
  for (const Positions& gap : holes()) {
    uint64_t at = gap.from;
    for (const Positions& d : all) {
      const uint64_t from = std::max(at, d.from), to = std::min(gap.to, d.to);
      if (from >= to) continue;
      covered += to - from;
      at = to;
    }
  }
  return covered;
}

void Ingest::refuse(std::string_view subject, const std::string& why) {
  ++refused_;
  why_ = std::string(subject) + ": " + why;
}

void Ingest::take(std::string_view subject, std::string_view data) {
  Identity who;
  std::string kind, wrong;
  if (!parse_rows_subject(subject, who, kind)) return refuse(subject, "it is no subject of rows");
  const auto known = numbers_.find(who.prefix());
  const bool fresh = known == numbers_.end();
  if (fresh && ranks_.size() >= kMostRanks) return refuse(subject, "there are too many ranks");
  std::optional<Batch> batch;
  std::optional<AgentState> state;
  if (kind != "state") {
    batch = decode_batch(data, wrong);
    if (!batch) return refuse(subject, wrong);
    if (kind != name_of(batch->header.kind)) return refuse(subject, "its rows are of another kind");
  } else if (!(state = parse_state(data, wrong))) {
    return refuse(subject, wrong);
  }
  if (fresh) {
    numbers_[who.prefix()] = static_cast<uint32_t>(ranks_.size());
    ranks_.emplace_back().who = who;
  }
  const uint32_t number = fresh ? static_cast<uint32_t>(ranks_.size() - 1) : known->second;
  Rank& rank = ranks_[number];
  if (!batch) {
    rank.state = data;
    for (const std::string& line : state->op_names) codes_.add_line(line);
    return;
  }
  const BatchHeader& h = batch->header;
  Account& account = rank.accounts.try_emplace({h.session, h.epoch, h.kind}, from_middle_).first->second;
  if (account.take(h.position, h.rows)) rows_of(*batch, number);
}

void Ingest::rows_of(const Batch& batch, uint32_t number) {
  const BatchHeader& h = batch.header;
  Rank& rank = ranks_[number];
  const Taken taken{number, h};
  switch (h.kind) {
    case RowKind::ops:
      if (rows_.ops) rows_.ops(taken, batch.rows<OpRow>());
      return;
    case RowKind::loss: {
      const auto losses = batch.rows<LossRow>();
      for (const LossRow& l : losses) {
        const auto kind = static_cast<RowKind>(l.of_kind);
        if (l.precision == kExactRows && l.count <= ~uint64_t{0} - l.position)
          rank.accounts.try_emplace({l.session, l.epoch, kind}, from_middle_)
              .first->second.declare_lost(l.position, l.count);
        else
          ++rank.card_losses;
      }
      if (rows_.losses) rows_.losses(taken, losses);
      return;
    }
    case RowKind::clock: {
      const auto clocks = batch.rows<ClockRow>();
      for (const ClockRow& c : clocks)
        if (c.how != kOfDeviceAlone) take_clock(rank, c);
      if (rows_.clocks) rows_.clocks(taken, clocks);
      return;
    }
    case RowKind::telemetry:
      if (rows_.telemetry) rows_.telemetry(taken, batch.rows<TelemetryRow>());
      return;
  }
}

void Ingest::take_clock(Rank& rank, const ClockRow& c) {
  if (c.reference == 0 || c.how == 0) return;
  constexpr size_t kPoints = 1024;  // a quarter of an hour; rows of a rank come nearly in order of time
  if (rank.clock.reference != c.reference) rank.clock = {c.reference, tools::ClockPoints(kPoints)};
  if (c.how == static_cast<uint8_t>(ClockSource::same_host))
    rank.clock.points.be_exact();
  else
    rank.clock.points.add({c.raw_ns, c.offset_ns, c.bound_ns});
  rank.latest_clock = c;
  reference_ = c.reference;
}

ClockOffset Ingest::common_at(const Rank& rank, uint64_t raw_ns) const {
  if (rank.clock.reference != reference_) return {};
  const tools::ClockPoint at = rank.clock.at(raw_ns);
  if (!at.known()) return {};
  return {at.offset_ns, at.bound_ns, reference_, static_cast<ClockSource>(rank.latest_clock.how)};
}

}  // namespace ttc::fleet
