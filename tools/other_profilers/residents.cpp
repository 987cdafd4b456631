#include "tools/other_profilers/residents.hpp"

#include <algorithm>

namespace ttc::other_profilers {
namespace {

constexpr size_t kDone = 0, kHeartbeat = 1, kGo = 2, kSyncTail = 3, kSyncHead = 4, kDropped = 5, kStop = 6;
constexpr size_t kUsed = 7, kWords = kResidentBytes / 4;
constexpr uint32_t kAwaitingAcks = 0xD09D0000, kIsDone = 0xD09E0000;
constexpr uint32_t kMostRecords = 1 << 20;  // of a ring: more than any version has
constexpr uint32_t kLeastBeats = 2;         // with which tt-metal's host takes a core for running

}  // namespace

const char* to_string(ResidentControl::State state) {
  constexpr const char* kNames[] = {"waiting", "running", "stopping", "draining", "done"};
  return kNames[static_cast<size_t>(state)];
}

std::optional<ResidentControl> read_resident(std::span<const uint32_t> words) {
  using State = ResidentControl::State;
  if (words.size() < kWords || words[kHeartbeat] < kLeastBeats || words[kGo] > 1 || words[kStop] > 1)
    return std::nullopt;
  if (std::any_of(words.begin() + kUsed, words.begin() + kWords, [](uint32_t w) { return w != 0; }))
    return std::nullopt;
  if (words[kSyncTail] - words[kSyncHead] > kMostRecords) return std::nullopt;
  const uint32_t done = words[kDone];
  if (done != 0 && done != kAwaitingAcks && done != kIsDone) return std::nullopt;
  if (done != 0 && words[kStop] == 0) return std::nullopt;
  ResidentControl control{State::running, words[kHeartbeat], words[kSyncTail], words[kSyncHead],
                          words[kDropped]};
  if (words[kGo] == 0) control.state = State::waiting;
  if (words[kStop] == 1) control.state = State::stopping;
  if (done == kAwaitingAcks) control.state = State::draining;
  if (done == kIsDone) control.state = State::done;
  return control;
}

std::vector<uint32_t> find_residents(std::span<const uint32_t> before, std::span<const uint32_t> after) {
  std::vector<uint32_t> found;
  for (size_t at = 0; at + kWords <= std::min(before.size(), after.size()); at += kWords) {
    const auto first = read_resident(before.subspan(at, kWords)),
               last = read_resident(after.subspan(at, kWords));
    if (!first || !last) continue;
    const uint32_t beats = last->heartbeat - first->heartbeat;
    const bool goes_on = beats != 0 && beats < uint32_t{1} << 31;
    const bool is_done = first->state == ResidentControl::State::done && beats == 0;
    if (goes_on || is_done) found.push_back(static_cast<uint32_t>(4 * at));
  }
  return found;
}

void ResidentCore::look(const ResidentControl& control, uint64_t ns) {
  if (first_ns_ == 0) {
    first_ns_ = changed_ns_ = ns;
  } else {
    const uint32_t beats = control.heartbeat - now_.heartbeat;
    beats_ += beats;
    if (beats != 0) changed_ns_ = ns;
    silent_ = std::max(silent_, ns - changed_ns_);
  }
  last_ns_ = ns;
  now_ = control;
}

double ResidentCore::beats_a_second() const {
  return last_ns_ == first_ns_
             ? 0
             : static_cast<double>(beats_) / static_cast<double>(last_ns_ - first_ns_) * 1e9;
}

}  // namespace ttc::other_profilers
