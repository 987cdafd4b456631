// What a job's stream holds: accounts of ranks, ops that take most, cards that hold steps up, and all rows as one SQLite file.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "tools/fleet/judge/ingest.hpp"
#include "tools/fleet/judge/stragglers.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/ttfleet/capture_rows.hpp"
#include "tools/ttfleet/commands.hpp"
#include "tools/ttfleet/rows_database.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::fleet {
namespace {

using Exit = program::FleetExit;
using json = nlohmann::ordered_json;

constexpr size_t kMostWaitingOfCaptures = 16 << 20;
constexpr size_t kMostOps = 10'000;  // whose times are summed one by one

struct OpSum {
  uint64_t count = 0, ns = 0, most_ns = 0;
};

class Report {
 public:
  explicit Report(const Options& o)
      : ingest_({[this](const Ingest::Taken& t, const std::vector<OpRow>& rows) { take(t, rows); },
                 [this](const Ingest::Taken& t, const std::vector<LossRow>& rows) { keep(t, rows); },
                 [this](const Ingest::Taken& t, const std::vector<ClockRow>& rows) { keep(t, rows); },
                 [this](const Ingest::Taken& t, const std::vector<TelemetryRow>& rows) { keep(t, rows); }}),
        stragglers_(o.captures.empty() ? Stragglers::kMostWaiting : kMostWaitingOfCaptures),
        database_(o.output.empty() ? nullptr : std::make_unique<RowsDatabase>(o.output)) {}

  void message(const Message& m) {
    bytes_ += m.data.size();
    ingest_.take(m.subject, m.data);
  }
  void end() {
    stragglers_.end();
    if (database_) database_->commit(ingest_.ranks());
  }

  json facts() const {
    json ranks = json::array();
    for (const Ingest::Rank& r : ingest_.ranks()) ranks.push_back(of_rank(r));
    json named = json::array();
    for (const Straggler& s : stragglers_.named())
      named.push_back({{"rank", name_of(s.card.rank)},
                       {"chip", s.card.chip},
                       {"steps_held_up", s.steps},
                       {"p_value", s.p_value},
                       {"mean_excess_ns", s.excess_ns},
                       {"host_id", s.host_id},
                       {"core", {s.x, s.y}}});
    json ops = json::array();
    for (const auto& [host_id, sum] : longest())
      ops.push_back({{"host_id", host_id}, {"count", sum.count}, {"ns", sum.ns}, {"most_ns", sum.most_ns}});
    return {{"ranks", ranks},
            {"bytes", bytes_},
            {"refused", ingest_.refused()},
            {"refused_last", ingest_.why_refused()},
            {"steps", stragglers_.steps()},
            {"ops_compared", stragglers_.ops()},
            {"ops_not_everywhere", stragglers_.unmatched()},
            {"last_card_known", stragglers_.ends_in_order()},
            {"order_unknown", stragglers_.ends_unknown()},
            {"stragglers", named},
            {"ops", ops}};
  }
  bool whole(const json& facts) const {
    return std::all_of(facts["ranks"].begin(), facts["ranks"].end(), [](const json& r) {
      return r["missing"].get<uint64_t>() == r["declared_lost"].get<uint64_t>();
    });
  }
  bool empty() const { return ingest_.ranks().empty(); }

 private:
  static json of_rank(const Ingest::Rank& r) {
    uint64_t rows = 0, ops = 0, again = 0, missing = 0, declared = 0;
    for (const auto& [key, account] : r.accounts) {
      rows += account.rows(), again += account.again();
      missing += account.missing(), declared += account.declared();
      if (std::get<RowKind>(key) == RowKind::ops) ops += account.rows();
    }
    return {{"rank", r.who.name()},
            {"cluster", r.who.cluster},
            {"job", r.who.job},
            {"rows", rows},
            {"ops", ops},
            {"again", again},
            {"missing", missing},
            {"declared_lost", declared},
            {"loss_intervals", r.card_losses},
            {"clock", name_of_clock(r)},
            {"clock_bound_ns", r.clock.reference ? json(r.clock.bound_ns) : json()}};
  }
  static const char* name_of_clock(const Ingest::Rank& r) {
    return fleet::name_of(static_cast<ClockSource>(std::min<uint8_t>(r.clock.how, 5)));
  }
  std::string name_of(uint32_t rank) const { return ingest_.ranks()[rank].who.name(); }

  void take(const Ingest::Taken& t, const std::vector<OpRow>& rows) {
    const Ingest::Rank& rank = ingest_.ranks()[t.rank];
    for (const OpRow& row : rows) {
      const uint64_t raw = row.begin_ns + row.duration_ns;
      const ClockOffset offset = Ingest::common_at(rank, raw);
      const bool dated = offset.known() && !(row.flags & 1) && row.bound_ns != kUnknownBoundNs;
      const auto end = dated ? raw + static_cast<uint64_t>(offset.offset_ns) : 0;
      stragglers_.add({t.rank, row.chip}, row, end, offset.bound_ns + row.bound_ns);
      if (sums_.size() < kMostOps || sums_.contains(row.host_id)) {
        OpSum& sum = sums_[row.host_id];
        ++sum.count, sum.ns += row.duration_ns;
        sum.most_ns = std::max<uint64_t>(sum.most_ns, row.duration_ns);
      }
      if (database_) database_->add(t.rank, row, offset);
    }
  }
  template <class Row>
  void keep(const Ingest::Taken& t, const std::vector<Row>& rows) {
    if (!database_) return;
    for (const Row& row : rows) database_->add(t.rank, row);
  }
  std::vector<std::pair<uint32_t, OpSum>> longest() const {
    constexpr size_t kShown = 20;
    std::vector<std::pair<uint32_t, OpSum>> all(sums_.begin(), sums_.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    all.resize(std::min(all.size(), kShown));
    return all;
  }

  Ingest ingest_;
  Stragglers stragglers_;
  std::map<uint32_t, OpSum> sums_;
  std::unique_ptr<RowsDatabase> database_;
  uint64_t bytes_ = 0;
};

void print_text(const json& f) {
  std::printf("%-32s %12s %12s %8s %8s %8s  %s\n", "rank", "rows", "ops", "twice", "missing", "of them",
              "clock");
  std::printf("%-32s %12s %12s %8s %8s %8s\n", "", "", "", "", "", "reported");
  for (const json& r : f["ranks"])
    std::printf("%-32s %12llu %12llu %8llu %8llu %8llu  %s\n", r["rank"].get<std::string>().c_str(),
                r["rows"].get<unsigned long long>(), r["ops"].get<unsigned long long>(),
                r["again"].get<unsigned long long>(), r["missing"].get<unsigned long long>(),
                r["declared_lost"].get<unsigned long long>(), r["clock"].get<std::string>().c_str());
  std::printf(
      "\n%llu steps; which card ended an op last is known of %llu ops, unknown (bounds overlap) of %llu\n",
      f["steps"].get<unsigned long long>(), f["last_card_known"].get<unsigned long long>(),
      f["order_unknown"].get<unsigned long long>());
  if (f["stragglers"].empty()) std::printf("no card holds steps up more often than chance gives\n");
  for (const json& s : f["stragglers"])
    std::printf(
        "%s chip %u held up %llu steps, by %.3f ms each; mostly op %u, core (%u,%u); chance gives that in "
        "%.2g of runs\n",
        s["rank"].get<std::string>().c_str(), s["chip"].get<unsigned>(),
        s["steps_held_up"].get<unsigned long long>(), s["mean_excess_ns"].get<double>() / 1e6,
        s["host_id"].get<unsigned>(), s["core"][0].get<unsigned>(), s["core"][1].get<unsigned>(),
        s["p_value"].get<double>());
}

}  // namespace

int report_command(const Options& o, const volatile std::sig_atomic_t& stop) {
  Report report(o);
  const Identity who = identity_of(o);
  std::vector<std::string> remarks;
  try {
    if (!o.captures.empty()) {
      read_captures(
          o.captures, [&](const Message& m) { report.message(m); }, remarks);
    } else {
      Bus bus(o.bus);
      const uint64_t since =
          o.since_ns ? collect::before(collect::host_clock_ns(CLOCK_REALTIME), o.since_ns) : 0;
      bus.read_stream(stream_of(who.cluster), "tt." + who.cluster + "." + who.job + ".>", since,
                      [&](const Message& m) {
                        report.message(m);
                        return !stop;
                      });
    }
  } catch (const tools::SourceError& e) {
    return program::say(kTtfleet, Exit::kNoSource, e.what());
  }
  for (const std::string& remark : remarks) program::say(kTtfleet, Exit::kOk, remark);
  if (report.empty())
    return program::say(kTtfleet, Exit::kIncomplete, "job " + who.job + " has no rows on the bus");
  report.end();
  const json facts = report.facts();
  o.json ? static_cast<void>(std::printf("%s\n", program::json_text(facts).c_str())) : print_text(facts);
  if (!report.whole(facts))
    return program::say(kTtfleet, Exit::kIncomplete, "rows are missing that no interval of loss reports");
  return Exit::kOk;
}

}  // namespace ttc::fleet
