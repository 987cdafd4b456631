#include "tools/fleet/agent/triggers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "collector/program/units.hpp"

namespace ttc::fleet {
namespace {

constexpr double kBucketsAnOctave = 115;  // 0.6 %
constexpr double kQuantile = 0.99;
constexpr size_t kMostFirst = 4096;
constexpr const char* kForms = "; rules are p99:OP>5%, step>100ms and lag>10ms";

std::string milliseconds_text(double ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f ms", ns / 1e6);
  return text;
}

bool read_op(std::string_view text, TriggerRule& rule) {
  if (text == "*") return true;
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool is_id = error == std::errc() && end == text.data() + text.size();
  rule.op = is_id ? id : uint64_t{1} << 32 | code_of(text);
  return !text.empty() && text.size() <= OpCodes::kMostLength;
}

bool read_percent(std::string_view text, double& percent) {
  if (!text.ends_with('%')) return false;
  text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  return error == std::errc() && end == text.data() + text.size() && percent > 0 && percent <= 1e6;
}

}  // namespace

std::optional<TriggerRule> parse_trigger_rule(std::string_view text, std::string& wrong) {
  const auto no = [&](const std::string& why) {
    wrong = "'" + std::string(text) + "' is no rule: " + why + kForms;
    return std::nullopt;
  };
  const size_t above = text.rfind('>');
  if (above == std::string_view::npos) return no("it has no >");
  const std::string_view what = text.substr(0, above), limit = text.substr(above + 1);
  TriggerRule rule;
  rule.text = text;
  if (what.starts_with("p99:")) {
    rule.kind = TriggerRule::Kind::p99;
    if (!read_op(what.substr(4), rule)) return no("it names no op");
    if (!read_percent(limit, rule.percent)) return no("it needs a percentage above 0");
    return rule;
  }
  if (what != "step" && what != "lag") return no("it is about neither p99, step nor lag");
  rule.kind = what == "step" ? TriggerRule::Kind::step : TriggerRule::Kind::lag;
  const program::ParsedUnits parsed = program::parse_duration(limit);
  if (!parsed.value) return no(parsed.error);
  if (*parsed.value == 0) return no("its duration is 0");
  rule.ns = *parsed.value;
  return rule;
}

uint16_t DurationCounts::bucket(uint32_t ns) {
  return static_cast<uint16_t>(std::log2(std::max<double>(ns, 1)) * kBucketsAnOctave);
}

void DurationCounts::add(const DurationCounts& other) {
  for (const auto& [bucket, count] : other.counts_) counts_[bucket] += count;
  total_ += other.total_;
}

void DurationCounts::take_away(const DurationCounts& other) {
  for (const auto& [bucket, count] : other.counts_) {
    const auto it = counts_.find(bucket);
    it->second -= count;
    if (it->second == 0) counts_.erase(it);
  }
  total_ -= other.total_;
}

double DurationCounts::quantile(double share) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(total_)));
  uint64_t seen = 0;
  for (const auto& [bucket, count] : counts_)
    if ((seen += count) >= wanted) return std::exp2((bucket + 1) / kBucketsAnOctave);
  return 0;
}

std::string Triggers::arm(const std::string& text) {
  std::string wrong;
  const auto rule = parse_trigger_rule(text, wrong);
  if (!rule) return wrong;
  if (rules_.size() >= kMostTriggers)
    return "no more than " + std::to_string(kMostTriggers) + " rules can be armed";
  if (std::none_of(rules_.begin(), rules_.end(), [&](const TriggerRule& r) { return r.text == text; }))
    rules_.push_back(*rule);
  return {};
}

bool Triggers::disarm(const std::string& text) {
  return std::erase_if(rules_, [&](const TriggerRule& r) { return r.text == text; }) != 0;
}

std::vector<std::string> Triggers::armed() const {
  std::vector<std::string> texts;
  for (const TriggerRule& r : rules_) texts.push_back(r.text);
  return texts;
}

bool Triggers::any(TriggerRule::Kind kind) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const TriggerRule& r) { return r.kind == kind; });
}

std::optional<std::string> Triggers::judge_minute(uint64_t which, Op& op) {
  std::optional<std::string> why;
  if (op.now.total() >= kLeastNow && op.before.total() >= kLeastBefore) {
    const double now = op.now.quantile(kQuantile), before = op.before.quantile(kQuantile);
    for (const TriggerRule& r : rules_)
      if (r.kind == TriggerRule::Kind::p99 && r.op.value_or(which) == which &&
          now > before * (1 + r.percent / 100))
        why = r.text + ": " + (name_of_ ? name_of_(which) : OpCodes().name_of(which)) + " took " +
              milliseconds_text(now) + ", in the hour before " + milliseconds_text(before);
  }
  op.before.add(op.now);
  op.minutes.push_back(std::move(op.now));
  op.now = {};
  if (op.minutes.size() > kHourMinutes) {
    op.before.take_away(op.minutes.front());
    op.minutes.pop_front();
  }
  return why;
}

std::optional<std::string> Triggers::step(const OpRow& row) {
  if (row.replay == 0) return std::nullopt;
  Chip& chip = chips_[row.chip];
  if (row.replay == chip.replay) return std::nullopt;
  const bool follows =
      chip.begin_ns && row.replay == static_cast<uint16_t>(chip.replay + 1) && row.begin_ns > chip.begin_ns;
  const uint64_t took = follows ? row.begin_ns - chip.begin_ns : 0;
  const uint16_t replay = chip.replay;
  chip = {row.replay, row.begin_ns};
  for (const TriggerRule& r : rules_)
    if (r.kind == TriggerRule::Kind::step && took > r.ns)
      return r.text + ": step " + std::to_string(replay) + " of chip " + std::to_string(row.chip) + " took " +
             milliseconds_text(static_cast<double>(took));
  return std::nullopt;
}

std::optional<std::string> Triggers::op(const OpRow& row) {
  std::optional<std::string> why = step(row);
  if (!any(TriggerRule::Kind::p99)) return why;
  const uint64_t which = op_of(row);
  if (ops_.size() >= kMostOps && !ops_.contains(which)) return why;
  Op& op = ops_[which];
  const uint64_t minute = row.begin_ns / minute_ns_;
  if (minute > op.minute) {
    if (auto rose = op.now.empty() ? std::nullopt : judge_minute(which, op)) why = rose;
    op.minute = minute;
  }
  op.now.add(row.duration_ns);
  return why;
}

std::optional<std::string> Triggers::progress(const Progress& of, uint32_t own_rank) {
  if (!any(TriggerRule::Kind::lag)) return std::nullopt;
  if (!first_.empty() && first_.back().reference != of.reference) first_.clear();  // another time line
  if (first_.empty() || of.ops > first_.back().ops) {
    first_.push_back(of);
    if (first_.size() > kMostFirst) first_.pop_front();
    return std::nullopt;
  }
  if (of.rank != own_rank) return std::nullopt;
  const auto ahead =
      std::find_if(first_.begin(), first_.end(), [&](const Progress& p) { return p.ops >= of.ops; });
  const uint64_t late = of.common_ns > ahead->common_ns ? of.common_ns - ahead->common_ns : 0;
  for (const TriggerRule& r : rules_)
    if (r.kind == TriggerRule::Kind::lag && ahead->rank != own_rank && late > r.ns)
      return r.text + ": rank " + std::to_string(own_rank) + " had " + std::to_string(of.ops) + " ops " +
             milliseconds_text(static_cast<double>(late)) + " after rank " + std::to_string(ahead->rank);
  return std::nullopt;
}

}  // namespace ttc::fleet
