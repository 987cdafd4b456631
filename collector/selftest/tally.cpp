#include "collector/selftest/tally.hpp"

namespace ttc::collect::selftest {
namespace {

// Few observations against many may be the host's doing: a CPU that was taken away in the middle of one.
constexpr uint64_t kMostPerOneAgainst = 50;

bool contradicted(const Tallies& tallies, const Assumption& a) {
  const Tally& t = tallies[a.id];
  const bool one_suffices = a.contradicts == 1;
  return t.against >= a.contradicts && (one_suffices || t.against * kMostPerOneAgainst >= t.agree);
}

std::string counted(const Assumption& a, const Tally& t) {
  std::string text = std::to_string(t.agree + t.against);
  text.append(" ").append(a.counts);
  if (t.against) text.append(", ").append(std::to_string(t.against)).append(" against it");
  if (!t.detail.empty()) text.append("; ").append(t.detail);
  return text;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::string_view kNames[] = {"confirmed", "contradicted", "not seen"};
  return kNames[static_cast<size_t>(verdict)];
}

std::vector<Line> judge(const Tallies& tallies) {
  std::vector<Line> lines;
  lines.reserve(kAssumptions);
  for (const Assumption& a : assumptions()) {
    const Tally& t = tallies[a.id];
    const auto broken = std::find_if(a.needs.begin(), a.needs.end(),
                                     [&](Id id) { return contradicted(tallies, assumption(id)); });
    Line line{a.id, Verdict::not_seen, {}};
    if (broken != a.needs.end())
      line.evidence = "cannot be judged while " + std::string(assumption(*broken).name) + " is contradicted";
    else if (contradicted(tallies, a))
      line = {a.id, Verdict::contradicted, counted(a, t)};
    else if (t.against == 0 && t.agree >= a.confirms)
      line = {a.id, Verdict::confirmed, counted(a, t)};
    else if (t.agree + t.against != 0)
      line.evidence = "not enough to judge: " + counted(a, t);
    else
      line.evidence = t.unseen.empty() ? std::string(a.unseen) : t.unseen;
    lines.push_back(std::move(line));
  }
  return lines;
}

bool any_contradicted(const std::vector<Line>& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [](const Line& l) { return l.verdict == Verdict::contradicted; });
}

}  // namespace ttc::collect::selftest
