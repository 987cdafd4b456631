#include "tools/fleet/judge/op_matcher.hpp"

#include <algorithm>

namespace ttc::fleet {
namespace {

uint64_t launch_of(const OpRow& row) {
  return uint64_t{row.host_id} << 16 | row.replay;
}

}  // namespace

void OpMatcher::add(const OpRow& row, const OpPart& part) {
  const uint64_t launch = launch_of(row);
  auto& executions = executions_[launch];
  const auto lacks = [&](uint64_t number) {
    const auto& has = waiting_[number - first_].has;
    return part.card >= has.size() || !has[part.card];
  };
  auto place = std::find_if(executions.begin(), executions.end(), lacks);
  if (place == executions.end()) {
    executions.push_back(first_ + waiting_.size());
    waiting_.push_back({launch, {op_of(row), row.replay, {}}, {}});
    place = std::prev(executions.end());
  }
  Waiting& waiting = waiting_[*place - first_];
  if (part.card >= waiting.has.size()) waiting.has.resize(part.card + 1);
  waiting.has[part.card] = true;
  waiting.op.parts.push_back(part);
  for (++rows_; rows_ > most_waiting_;) hand_over_oldest();
}

void OpMatcher::hand_over_oldest() {
  const Waiting oldest = std::move(waiting_.front());
  waiting_.pop_front();
  ++first_;
  rows_ -= oldest.op.parts.size();
  const auto launch = executions_.find(oldest.launch);
  launch->second.pop_front();
  if (launch->second.empty()) executions_.erase(launch);
  take_(oldest.op);
}

void OpMatcher::end() {
  while (!waiting_.empty()) hand_over_oldest();
}

}  // namespace ttc::fleet
