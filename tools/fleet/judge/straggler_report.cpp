#include "tools/fleet/judge/straggler_report.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "collector/program/printable.hpp"
#include "tools/fleet/judge/late_bound.hpp"
#include "tools/report/text/time_bounds.hpp"

namespace ttc::fleet {
namespace {

template <class... Values>
std::string line(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

unsigned long long whole(const JobReport::Json& j) {
  return j.get<unsigned long long>();
}

// Rounded up, so that it holds.
JobReport::Json bound_or_null(const std::optional<double>& ns) {
  const auto written = written_bound_ns(ns);
  return written ? JobReport::Json(*written) : JobReport::Json();
}

// " ± 1.3 us"; empty: not known.
std::string plus_minus(const JobReport::Json& bound_ns) {
  if (bound_ns.is_null()) return {};
  return " \u00b1 " + report::written_bound(bound_ns.get<double>() / 1000);
}

std::string chance(const JobReport::Json& p) {
  return p.is_null() ? "unknown" : line("%.2g", p.get<double>());
}

}  // namespace

JobReport::JobReport(Ears ears)
    : ears_(std::move(ears)),
      ingest_({[this](const Ingest::Taken& t, const std::vector<OpRow>& rows) { take(t, rows); },
               [this](const Ingest::Taken& t, const std::vector<LossRow>& rows) {
                 if (ears_.loss)
                   for (const LossRow& row : rows) ears_.loss(t.rank, row);
               },
               [this](const Ingest::Taken& t, const std::vector<ClockRow>& rows) {
                 if (ears_.clock)
                   for (const ClockRow& row : rows) ears_.clock(t.rank, row);
               },
               [this](const Ingest::Taken& t, const std::vector<TelemetryRow>& rows) {
                 if (ears_.telemetry)
                   for (const TelemetryRow& row : rows) ears_.telemetry(t.rank, row);
               }}),
      stragglers_(Stragglers::kMostWaiting, [this](const Stragglers::Step& step) {
        keep_largest(step);
        if (ears_.step) ears_.step(step);
      }) {}

void JobReport::message(std::string_view subject, std::string_view data) {
  bytes_ += data.size();
  ingest_.take(subject, data);
}

void JobReport::end() {
  stragglers_.end();
}

void JobReport::take(const Ingest::Taken& t, const std::vector<OpRow>& rows) {
  const Ingest::Rank& rank = ingest_.ranks()[t.rank];
  note_hosts();
  for (const OpRow& row : rows) {
    const uint64_t raw = row.begin_ns + row.duration_ns;
    const ClockOffset offset = ingest_.common_at(rank, raw);
    const bool dated =
        offset.known() && !(row.flags & OpRow::kDeviceClock) && row.bound_ns != kUnknownBoundNs;
    const uint64_t end = dated ? raw + static_cast<uint64_t>(offset.offset_ns) : 0;
    stragglers_.add({t.rank, row.chip}, row, end, dated ? offset.bound_ns + row.bound_ns : 0);
    if (ears_.op) ears_.op(t.rank, row, offset);
  }
}

void JobReport::note_hosts() {
  const auto& ranks = ingest_.ranks();
  for (; ranks_with_hosts_ < ranks.size(); ++ranks_with_hosts_)
    if (ranks[ranks_with_hosts_].who.host != ranks.front().who.host) stragglers_.hosts_differ();
}

void JobReport::keep_largest(const Stragglers::Step& step) {
  const auto later = [](const Stragglers::Step& a, const Stragglers::Step& b) {
    return a.late_ns > b.late_ns;
  };
  if (largest_.size() >= kShownSteps && step.late_ns <= largest_.back().late_ns) return;
  largest_.insert(std::upper_bound(largest_.begin(), largest_.end(), step, later), step);
  if (largest_.size() > kShownSteps) largest_.pop_back();
}

std::string JobReport::name_of(Card card) const {
  return ingest_.ranks()[card.rank].who.name() + " chip " + std::to_string(card.chip);
}

std::string JobReport::name_of(const Straggler& s) const {
  return s.whole_rank ? ingest_.ranks()[s.card.rank].who.name() : name_of(s.card);
}

JobReport::Json JobReport::of_rank(const Ingest::Rank& r) const {
  uint64_t rows = 0, ops = 0, again = 0, missing = 0, declared = 0, before = 0;
  for (const auto& [key, account] : r.accounts) {
    rows += account.rows(), again += account.again();
    missing += account.missing(), declared += account.declared(), before += account.before();
    if (std::get<RowKind>(key) == RowKind::ops) ops += account.rows();
  }
  const ClockRow& clock = r.latest_clock;
  return {{"rank", r.who.name()},
          {"cluster", r.who.cluster},
          {"job", r.who.job},
          {"rows", rows},
          {"ops", ops},
          {"again", again},
          {"missing", missing},
          {"declared_lost", declared},
          {"before", before},
          {"loss_intervals", r.card_losses},
          {"clock", fleet::name_of(static_cast<ClockSource>(clock.how))},
          {"clock_bound_ns", clock.reference ? Json(clock.bound_ns) : Json()}};
}

JobReport::Json JobReport::of_step(const Stragglers::Step& s, bool shares_rank) const {
  return {{"step", s.number},
          {"replay", s.replay ? Json(s.replay) : Json()},
          {"ns", s.ns},
          {"rank", ingest_.ranks()[s.by.rank].who.name()},
          {"chip", s.by.chip},
          {"late_ns", s.late_ns},
          {"late_bound_ns", bound_or_null(s.late_bound_ns)},
          {"shares_rank", shares_rank},
          {"another_within_bounds", s.another_within_bounds},
          {"op", op_name(s.op)},
          {"in_gap", s.in_gap},
          {"core", {s.most_x, s.most_y}},
          {"p_value", s.p_value ? Json(*s.p_value) : Json()}};
}

JobReport::Json JobReport::of_lateness() const {
  Json cards = Json::array();
  report::SharedRank rank;
  for (const CardLateness& c : stragglers_.lateness())
    cards.push_back({{"rank", ingest_.ranks()[c.card.rank].who.name()},
                     {"chip", c.card.chip},
                     {"steps", c.steps},
                     {"mean_late_ns", c.late_ns},
                     {"mean_late_bound_ns", bound_or_null(c.late_bound_ns)},
                     {"shares_rank", rank.shares(c.late_ns, c.own_bound_ns)}});
  return cards;
}

JobReport::Json JobReport::facts() const {
  Json ranks = Json::array(), named = Json::array(), steps = Json::array(), ops = Json::array();
  for (const Ingest::Rank& r : ingest_.ranks()) ranks.push_back(of_rank(r));
  for (const Straggler& s : stragglers_.named())
    named.push_back({{"rank", ingest_.ranks()[s.card.rank].who.name()},
                     {"chip", s.whole_rank ? Json() : Json(s.card.chip)},
                     {"steps_held_up", s.steps},
                     {"steps_late", s.whole_rank ? Json() : Json(s.late_steps)},
                     {"p_value", s.p_value},
                     {"mean_late_ns", s.late_ns},
                     {"mean_late_bound_ns", bound_or_null(s.late_bound_ns)},
                     {"op", op_name(s.op)},
                     {"in_gaps", s.in_gaps},
                     {"core", {s.most_x, s.most_y}}});
  report::SharedRank rank;
  for (const Stragglers::Step& s : largest_)
    steps.push_back(of_step(s, rank.shares(static_cast<double>(s.late_ns), s.late_bound_ns)));
  for (const HeldSteps::OpTimes& o : stragglers_.longest_ops(kShownOps))
    ops.push_back(
        {{"op", op_name(o.op)}, {"executions", o.executions}, {"ns", o.ns}, {"collective", o.collective}});
  return {{"ranks", ranks},
          {"bytes", bytes_},
          {"refused", ingest_.refused()},
          {"refused_last", ingest_.why_refused()},
          {"cards", stragglers_.cards()},
          {"steps", stragglers_.steps()},
          {"steps_held_up", stragglers_.held()},
          {"steps_held_up_within_bounds", stragglers_.held_within_bounds()},
          {"ops_compared", stragglers_.ops()},
          {"ops_not_everywhere", stragglers_.unmatched()},
          {"last_card_known", stragglers_.ends_in_order()},
          {"order_unknown", stragglers_.ends_unknown()},
          {"stragglers", named},
          {"cards_by_lateness", of_lateness()},
          {"steps_of_wide_bounds", stragglers_.left_out()},
          {"largest_steps", steps},
          {"ops", ops}};
}

bool JobReport::whole() const {
  return std::all_of(ingest_.ranks().begin(), ingest_.ranks().end(), [](const Ingest::Rank& r) {
    return std::all_of(r.accounts.begin(), r.accounts.end(),
                       [](const auto& of) { return of.second.missing() == of.second.declared(); });
  });
}

std::string text_of_ranks(const JobReport::Json& f) {
  std::string text = line("%-32s %12s %12s %8s %8s %8s %12s  %s\n", "rank", "rows", "ops", "twice", "missing",
                          "of them", "clock", "by");
  text += line("%-32s %12s %12s %8s %8s %8s %12s\n", "", "", "", "", "", "reported", "bound us");
  for (const auto& r : f["ranks"]) {
    const auto& bound = r["clock_bound_ns"];
    text += line("%-32s %12llu %12llu %8llu %8llu %8llu %12s  %s\n", r["rank"].get<std::string>().c_str(),
                 whole(r["rows"]), whole(r["ops"]), whole(r["again"]), whole(r["missing"]),
                 whole(r["declared_lost"]),
                 bound.is_null() ? "unknown" : line("%.3f", bound.get<double>() / 1e3).c_str(),
                 r["clock"].get<std::string>().c_str());
  }
  return text;
}

std::string text_of_stragglers(const JobReport::Json& f) {
  std::string text = line(
      "%llu cards, %llu steps, %llu of them held up by a card; which card ended an op last is known of %llu "
      "ops, unknown "
      "(bounds overlap) of %llu\n",
      whole(f["cards"]), whole(f["steps"]), whole(f["steps_held_up"]), whole(f["last_card_known"]),
      whole(f["order_unknown"]));
  if (const auto within = whole(f["steps_held_up_within_bounds"]))
    text +=
        line("in %llu of the steps held up another card may be as late, within the bounds of the clocks\n",
             within);
  if (f["stragglers"].empty()) text += "no card or rank holds steps up more often than chance gives\n";
  for (const auto& s : f["stragglers"]) {
    const bool rank = s["chip"].is_null();
    text += s["rank"].get<std::string>() + (rank ? "" : " chip " + std::to_string(s["chip"].get<unsigned>()));
    text += line(" held up %llu steps", whole(s["steps_held_up"]));
    if (!rank) text += line(", late in %llu", whole(s["steps_late"]));
    text += line(", by %.3f ms%s in the mean; mostly ", s["mean_late_ns"].get<double>() / 1e6,
                 plus_minus(s["mean_late_bound_ns"]).c_str());
    text += (s["in_gaps"].get<bool>() ? "before " : "in ") + program::printable(s["op"].get<std::string>());
    if (!s["in_gaps"].get<bool>())
      text += line(", core (%u,%u)", s["core"][0].get<unsigned>(), s["core"][1].get<unsigned>());
    text += "; chance gives as much in " + chance(s["p_value"]) + " of jobs\n";
  }
  if (f["largest_steps"].empty()) return text;
  text += line("\n  %-10s %-8s %-40s %10s %11s %10s  %-10s %s\n", "step", "replay", "held up by", "late ms",
               "\u00b1 us", "of ms", "by chance", "mostly");
  size_t shared = 0;
  for (const auto& s : f["largest_steps"]) {
    const std::string by = s["rank"].get<std::string>() + " chip " +
                           std::to_string(s["chip"].get<unsigned>()) +
                           (s["another_within_bounds"].get<bool>() ? " or another" : "");
    const auto& bound = s["late_bound_ns"];
    shared += s["shares_rank"].get<bool>();
    text += line("%s %-10llu %-8s %-40s %10.3f %10s %10.3f  %-10s ", s["shares_rank"].get<bool>() ? "=" : " ",
                 whole(s["step"]),
                 s["replay"].is_null() ? "" : std::to_string(s["replay"].get<unsigned>()).c_str(), by.c_str(),
                 s["late_ns"].get<double>() / 1e6,
                 bound.is_null() ? "" : line("%.3f", bound.get<double>() / 1e3).c_str(),
                 s["ns"].get<double>() / 1e6, chance(s["p_value"]).c_str());
    text += (s["in_gap"].get<bool>() ? "before " : "") + program::printable(s["op"].get<std::string>());
    if (!s["in_gap"].get<bool>())
      text += line(" (%u,%u)", s["core"][0].get<unsigned>(), s["core"][1].get<unsigned>());
    text += "\n";
  }
  return text + report::shared_rank_legend(shared);
}

std::string text_of_lateness(const JobReport& report, size_t most_cards, size_t most_ops) {
  const auto ops = report.stragglers().longest_ops(most_ops);
  const auto& cards = report.stragglers().all_cards();
  if (ops.empty() || cards.size() < 2) return {};
  constexpr size_t kNameWidth = 18;
  std::vector<size_t> order(cards.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto late_of = [&](size_t card) {
    double sum = 0;
    for (const auto& o : ops)
      if (!o.collective && card < o.late_ns.size())
        sum += o.late_ns[card] * static_cast<double>(o.executions);
    return sum;
  };
  const auto bound_of = [&](size_t card) {
    std::optional<double> sum = 0;
    for (const auto& o : ops)
      if (const auto of =
              card < o.own_bound_ns.size() && !o.collective ? o.own_bound_ns[card] : std::optional(0.0);
          of && sum)
        *sum += *of * static_cast<double>(o.executions);
      else
        sum.reset();
    return sum;
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return late_of(a) > late_of(b); });
  report::SharedRank rank;
  std::string text = line("  %-40s", "per cent longer in");
  for (const auto& o : ops)
    text += line(" %*s", static_cast<int>(kNameWidth),
                 program::printable(report.op_name(o.op)).substr(0, kNameWidth).c_str());
  text += "\n";
  for (size_t i = 0; i < std::min(order.size(), most_cards); ++i) {
    text += line("%s %-40s", rank.shares(late_of(order[i]), bound_of(order[i])) ? "=" : " ",
                 report.name_of(cards[order[i]]).c_str());
    for (const auto& o : ops) {
      const double late = order[i] < o.late_ns.size() ? o.late_ns[order[i]] : 0;
      const double mean = o.executions ? o.ns / static_cast<double>(o.executions) : 0;
      text += o.collective ? line(" %*s", static_cast<int>(kNameWidth), "waits")
                           : line(" %*.1f", static_cast<int>(kNameWidth), mean > 0 ? 100 * late / mean : 0);
    }
    text += "\n";
  }
  if (order.size() > most_cards)
    text += line("and %zu cards that are less late\n", order.size() - most_cards);
  return text + rank.legend();
}

}  // namespace ttc::fleet
