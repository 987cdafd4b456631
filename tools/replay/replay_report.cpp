#include "tools/replay/replay_report.hpp"

#include <algorithm>

namespace ttc::emulation {
namespace {

class Sentences {
 public:
  explicit Sentences(const std::string& file) : file_(file) {}

  void add(uint64_t count, const char* what, std::string_view why, uint64_t first_line) {
    if (count)
      all_.push_back(file_ + ": " + what + " that " + std::string(why) + ": " + std::to_string(count) +
                     ", first at line " + std::to_string(first_line));
  }
  void add(const ReplayNames::Trouble& t, std::string_view why) { add(t.rows, "rows", why, t.first_line); }
  void add(const std::string& text) { all_.push_back(file_ + ": " + text); }
  std::vector<std::string> take() { return std::move(all_); }

 private:
  const std::string& file_;
  std::vector<std::string> all_;
};

}  // namespace

std::vector<std::string> sentences_about(const ReplayPlan& plan, const std::string& file,
                                         const WorldOptions& world) {
  Sentences s(file);
  for (size_t i = 0; i < plan.skipped.size(); ++i)
    s.add(plan.skipped[i].lines, "lines", to_string(static_cast<tools::LogSkip>(i)),
          plan.skipped[i].first_line);
  for (size_t i = 0; i < plan.account.unplayed.size(); ++i)
    s.add(plan.account.unplayed[i], to_string(static_cast<Unplayed>(i)));
  for (size_t i = 0; i < plan.account.not_carried.size(); ++i)
    s.add(plan.account.not_carried[i], to_string(static_cast<NotCarried>(i)));
  s.add(plan.names.other_file,
        "have a name, file and line that their id is not the hash of; the file comes back with a '#'");
  s.add(plan.names.lost, "have a name that cannot come back, because another one has their id");
  s.add(plan.names.gained, "have no name and come back with the one of their id");
  if (plan.chip != 0) s.add("chip " + std::to_string(plan.chip) + " is played and comes back as chip 0");
  const device::Format& format = world.layout->format;
  const auto cut = [](device::Field field, uint32_t value) { return field.get(field.put(value)) != value; };
  const auto launches = std::count_if(plan.launches.begin(), plan.launches.end(), [&](const ReplayLaunch& l) {
    return cut(format.host_id, l.host_id) || cut(format.trace, l.trace_counter);
  });
  if (launches)
    s.add(std::to_string(launches) + " launches have a run host ID or trace id counter that layout " +
          std::string(world.layout->name) + " cuts; another --generation keeps them");
  if (plan.launches.empty())
    s.add("no row can be played");
  else if (!plan.has_finished_launch())
    s.add(
        "no launch of RISC 0 is whole, so that the size of the logs cannot be learnt; ttcollect needs "
        "--region-bytes " +
        std::to_string(world.bytes_per_risc));
  return s.take();
}

}  // namespace ttc::emulation
