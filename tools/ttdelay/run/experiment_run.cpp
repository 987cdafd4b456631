#include "tools/ttdelay/run/experiment_run.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/ttdelay/run/card_health.hpp"
#include "tools/ttdelay/run/observables.hpp"
#include "tools/ttdelay/run/processes.hpp"

namespace ttc::delay {
namespace {

constexpr unsigned kMostAttempts = 3;
constexpr uint64_t kLeftGraceNs = 3'000'000'000;
constexpr uint64_t kResetLimitNs = 600'000'000'000;

std::string core_text(unsigned x, unsigned y) {
  return std::to_string(x) + "," + std::to_string(y);
}

std::string record_text(const CardFacts& card) {
  if (!card.opened) return "; the card could not be read: " + card.why_not;
  if (!card.place) return "; the record of delays was not found on the card";
  char text[64];
  std::snprintf(text, sizeof text, "; the record of delays is at 0x%x", card.place->address);
  return text;
}

class Session {
 public:
  Session(const Experiment& experiment, const ExperimentFolder& folder, const CardOpener& open,
          const std::atomic<bool>& stop, const std::function<void(const std::string&)>& say)
      : experiment_(experiment),
        folder_(folder),
        open_(open),
        stop_(stop),
        say_(say),
        journal_(folder.journal()),
        schedule_(schedule_of(experiment, experiment.seed)) {}

  ExperimentSummary run() {
    // Ends what a ttdelay that was killed left running.
    if (end_marked(folder_.mark(), kLeftGraceNs))
      say_("processes of an earlier `ttdelay run` of this experiment were still there, and were ended");
    JournalContent before = read_journal(folder_.journal());
    for (RunRecord& r : before.runs) done_[r.number] = std::move(r);
    trial_ = before.trial;
    if (!trial_ && !make_trial()) return summary_;
    make_runs();
    count();
    return summary_;
  }

 private:
  RunPlace place() const { return {experiment_, folder_, open_, stop_}; }
  Build build() const { return {trial_->device_zones, trial_->features}; }

  bool end(ExperimentEnd how, std::string why) {
    summary_.end = how;
    summary_.why = std::move(why);
    return false;
  }

  // The first build that fits. Whether there is one.
  bool make_trial() {
    const auto first =
        std::min_element(schedule_.begin(), schedule_.end(), [](const PlannedRun& a, const PlannedRun& b) {
          return std::pair(a.arm != Arm::delay, a.cycles) < std::pair(b.arm != Arm::delay, b.cycles);
        });
    PlannedRun run = *first;
    run.number = kTrial;
    TrialRecord trial;
    for (const bool zones : {true, false}) {
      if (zones && !experiment_.observe.device_zones) continue;
      for (size_t features = 0; features < feature_sets().size(); ++features) {
        const Build tried{zones, features};
        const SingleRun one = make_run(place(), run, tried, std::nullopt);
        if (one.stopped) return end(ExperimentEnd::stopped, "it was interrupted");
        if (one.refused) {
          trial.refused.push_back(tried.name() + ": " + *one.refused);
          say_("trial: " + trial.refused.back());
          continue;
        }
        if (one.record.outcome == Outcome::broken_off)
          return end(ExperimentEnd::stopped, "the trial was broken off: " + one.record.why);
        if (one.record.outcome == Outcome::hang && !recover(one.record)) return false;
        if (zones && (one.record.outcome != Outcome::ok || !one.zones)) {
          trial.without_zones =
              one.record.outcome != Outcome::ok
                  ? one.record.why
                  : std::string("the firmware fits, and the capture holds no program of the device");
          say_("trial: no device zones: " + trial.without_zones);
          break;  // with fewer features it would be no other
        }
        if (one.record.outcome == Outcome::failed)
          return end(ExperimentEnd::no_build, "the trial run failed (" + one.record.why +
                                                  "), by nothing that is known of builds: " + one.last_words);
        return accept(trial, tried, one);
      }
    }
    return end(ExperimentEnd::no_build,
               "no set of the watcher's features fits: " +
                   (trial.refused.empty() ? trial.without_zones : trial.refused.back()));
  }

  bool accept(TrialRecord& trial, const Build& tried, const SingleRun& one) {
    trial.device_zones = tried.device_zones;
    trial.features = tried.features;
    trial.place = one.card.place;
    if (!trial.device_zones && trial.without_zones.empty())
      trial.without_zones = experiment_.observe.device_zones
                                ? "the device profiler does not fit with any set of the watcher's features"
                                : "the plan has device_zones = false";
    for (const auto& [core, at] : one.card.cores)
      trial.cores[core_text(core.x, core.y)] = core_text(at.x, at.y);
    say_("trial: " + tried.name() + record_text(one.card));
    journal_.append(to_json(trial));
    trial_ = std::move(trial);
    return true;
  }

  void make_runs() {
    // In rounds, so that what was broken off comes last.
    for (unsigned round = 1; round <= kMostAttempts; ++round)
      for (const PlannedRun& run : schedule_) {
        const auto before = done_.find(run.number);
        const unsigned attempt = before == done_.end() ? 1 : before->second.attempt + 1;
        const bool again =
            before != done_.end() && before->second.outcome == Outcome::broken_off && attempt == round;
        if (!again && !(before == done_.end() && round == 1)) continue;
        if (stop_ || !make_one(run, attempt)) {
          if (summary_.why.empty()) end(ExperimentEnd::stopped, "it was interrupted");
          return;
        }
      }
  }

  bool make_one(const PlannedRun& run, unsigned attempt) {
    if (const std::string ails = what_ails(experiment_.device, open_); !ails.empty())
      return end(ExperimentEnd::unwell, "before run " + std::to_string(run.number) + ": " + ails);
    SingleRun one = make_run(place(), run, build(), trial_->place);
    if (one.stopped) return false;
    one.record.attempt = attempt;
    journal_.append(to_json(one.record));
    report(one.record);
    const RunRecord& record = done_[run.number] = std::move(one.record);
    return record.outcome != Outcome::hang || recover(record);
  }

  // Called after a hang. True if the experiment may continue.
  bool recover(const RunRecord& record) {
    const std::string what =
        (record.number ? "run " + std::to_string(record.number) : std::string("the trial")) + " hung (" +
        record.why + ")";
    if (experiment_.reset_command.empty())
      return end(ExperimentEnd::hung,
                 what +
                     "; a hang can leave the card dead, and no --reset-cmd was given: reset it, then start "
                     "the same command again, which continues after this run");
    say_(what + "; resetting: " + experiment_.reset_command);
    const int code = run_shell(experiment_.reset_command, kResetLimitNs);
    if (code == 0) return true;
    return end(ExperimentEnd::unwell,
               what + ", and the reset command " +
                   (code < 0 ? std::string("did not end") : "ended with exit code " + std::to_string(code)));
  }

  void report(const RunRecord& r) const {
    std::string line = "run " + std::to_string(r.number) + " of " + std::to_string(schedule_.size()) + ": " +
                       to_string(r.arm);
    if (r.arm == Arm::delay) line += " " + r.unit + " by " + std::to_string(r.cycles) + " cycles";
    if (r.outcome != Outcome::ok) line += ": " + std::string(to_string(r.outcome));
    char number[64];
    for (const auto& [name, value] : r.values)
      if (!is_detail(name))
        std::snprintf(number, sizeof number, ": %.1f us", value), line += " " + name + number;
    if (!r.why.empty()) line += "; " + r.why;
    say_(line);
  }

  void count() {
    for (const auto& [number, r] : done_) {
      if (!r.valid) ++summary_.invalid;
      if (r.arm != Arm::delay || r.outcome != Outcome::ok) continue;
      ++summary_.delayed;
      if (!r.valid) ++summary_.untaken;
    }
  }

  const Experiment& experiment_;
  const ExperimentFolder& folder_;
  const CardOpener& open_;
  const std::atomic<bool>& stop_;
  const std::function<void(const std::string&)>& say_;
  Journal journal_;
  std::vector<PlannedRun> schedule_;
  std::map<unsigned, RunRecord> done_;
  std::optional<TrialRecord> trial_;
  ExperimentSummary summary_;
};

}  // namespace

ExperimentSummary run_experiment(Experiment& experiment, const std::string& path, const CardOpener& open,
                                 const std::atomic<bool>& stop,
                                 const std::function<void(const std::string&)>& say) {
  const ExperimentFolder folder(path, experiment);
  return Session(experiment, folder, open, stop, say).run();
}

}  // namespace ttc::delay
