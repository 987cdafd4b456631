// The report on a job's cards and ranks, as JSON and as text; the same for rows of a bus and of captures.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/fleet/judge/ingest.hpp"
#include "tools/fleet/judge/stragglers.hpp"

namespace ttc::fleet {

// Messages in, the comparison of cards out.
class JobReport {
 public:
  using Json = nlohmann::ordered_json;
  // A further consumer of rows, which writes them to a file.
  struct Ears {
    std::function<void(uint32_t rank, const OpRow&, const ClockOffset&)> op;
    std::function<void(uint32_t rank, const LossRow&)> loss;
    std::function<void(uint32_t rank, const ClockRow&)> clock;
    std::function<void(uint32_t rank, const TelemetryRow&)> telemetry;
    std::function<void(const Stragglers::Step&)> step;
  };
  explicit JobReport(Ears ears);
  JobReport(const JobReport&) = delete;
  JobReport& operator=(const JobReport&) = delete;

  // Must be called before the first message: older ones are not read.
  void from_middle() { ingest_.from_middle(); }
  void message(std::string_view subject, std::string_view data);
  void end();

  Json facts() const;
  bool whole() const;  // what is missing lies in intervals of loss
  bool empty() const { return ingest_.ranks().empty(); }
  const Ingest& ingest() const { return ingest_; }
  const Stragglers& stragglers() const { return stragglers_; }
  std::string name_of(Card card) const;
  std::string name_of(const Straggler& straggler) const;
  std::string op_name(uint64_t op) const { return ingest_.op_codes().name_of(op); }

  static constexpr size_t kShownSteps = 20, kShownOps = 20;

 private:
  void take(const Ingest::Taken& t, const std::vector<OpRow>& rows);
  void keep_largest(const Stragglers::Step& step);
  Json of_rank(const Ingest::Rank& rank) const;
  Json of_step(const Stragglers::Step& step, bool shares_rank) const;
  Json of_lateness() const;
  void note_hosts();

  const Ears ears_;
  Ingest ingest_;
  std::vector<Stragglers::Step> largest_;  // steps that took most longer
  size_t ranks_with_hosts_ = 0;            // whose hosts were compared
  Stragglers stragglers_;
  uint64_t bytes_ = 0;
};

// `facts` must be the result of facts().
std::string text_of_ranks(const JobReport::Json& facts);
std::string text_of_stragglers(const JobReport::Json& facts);
// How much longer each card takes in each of the longest ops, in per cent: a line a card, the latest first, so many of them at most.
std::string text_of_lateness(const JobReport& report, size_t most_cards, size_t most_ops);

}  // namespace ttc::fleet
