#include "tools/replay/replay_frames.hpp"

#include <algorithm>

#include "firmware_markers/frame.hpp"

namespace ttc::emulation {
namespace {

using namespace device;
using markers::clock_difference;

constexpr size_t kCustomWords = kBufferWords - kFirstCustomWord;

bool later(uint64_t a, uint64_t b) {
  return clock_difference(a, b) > 0;
}
bool is_zone(const ReplayRow& r) {
  return r.type == kZoneStart || r.type == kZoneEnd;
}

class Builder {
 public:
  explicit Builder(std::span<const ReplayRow> rows) : rows_(rows) {
    uint64_t before = 0;
    bool any = false;
    for (const ReplayRow& r : rows) {
      if (r.type == kZoneTotal) continue;
      in_time_order_ = in_time_order_ && !(any && later(before, r.time));
      if (!any || later(r.time, latest_)) latest_ = r.time;
      before = r.time;
      any = true;
    }
  }

  FramesOfLaunch build() {
    for (const ReplayRow& r : rows_) {
      if (r.type == kZoneTotal)
        totals_.push_back(&r);
      else
        place(r);
    }
    if (!slots_[kFwStart]) {
      for (const ReplayRow* r : totals_) out_.early.push_back(r);
      return std::move(out_);
    }
    for (const ReplayRow* r : totals_) {
      if (r->time != slots_[kFwStart]->time) out_.moved_totals.push_back(r);
      custom(*r);
    }
    out_.finished = slots_[kFwEnd] != nullptr;
    close(nullptr);
    out_.first_time = slots_[kFwStart]->time;
    for (const ReplayRow* s : slots_)
      if (s && later(out_.first_time, s->time)) out_.first_time = s->time;
    out_.last_time = sent_until_;
    return std::move(out_);
  }

 private:
  enum Slot { kFwStart, kFwEnd, kKernelStart, kKernelEnd, kSlots };

  // The slot that the row would fill, kSlots for none.
  Slot slot_for(const ReplayRow& r) const {
    if (!slots_[kFwStart]) return r.type == kZoneStart ? kFwStart : kSlots;
    if (!is_zone(r)) return kSlots;
    // In a file that has a launch in log order, rows after custom markers were one.
    if (!in_time_order_ && !customs_.empty()) return kSlots;
    const ReplayRow& main = *slots_[kFwStart];
    if (r.type == kZoneEnd && r.id == main.id && main.hint != SlotHint::kernel)
      return r.time == latest_ ? kFwEnd : kSlots;
    if (r.hint != SlotHint::kernel || main.hint == SlotHint::kernel) return kSlots;
    if (r.type == kZoneStart) return kKernelStart;
    return slots_[kKernelStart] && slots_[kKernelStart]->id == r.id ? kKernelEnd : kSlots;
  }

  bool repeats(const ReplayRow& r) const {
    return std::any_of(slots_.begin(), slots_.end(), [&](const ReplayRow* s) {
      return s && s->id == r.id && s->type == r.type && s->time == r.time;
    });
  }

  void place(const ReplayRow& r) {
    if (is_zone(r) && repeats(r)) {
      ++out_.repeated;
      cut_ = cut_ || !customs_.empty();
      return;
    }
    if (cut_ && later(r.time, frame_latest())) close(&r);
    const Slot slot = slot_for(r);
    if (slot != kSlots && !slots_[slot]) {
      if (sent_any_ && !later(r.time, sent_until_)) return out_.early.push_back(&r);
      slots_[slot] = &r;
      ++out_.rows;
      return;
    }
    if (!slots_[kFwStart] || later(slots_[kFwStart]->time, r.time) ||
        (sent_any_ && !later(r.time, sent_until_)))
      return out_.early.push_back(&r);
    custom(r);
    cut_ = r.ends_push;
  }

  void custom(const ReplayRow& r) {
    const size_t words = markers::packet_words(r.type);
    if (custom_words_ + words > kCustomWords) {
      close(r.type == kZoneTotal ? nullptr : &r);
      if (r.type != kZoneTotal && !later(r.time, sent_until_)) return out_.early.push_back(&r);
    }
    customs_.push_back(&r);
    custom_words_ += words;
    ++out_.rows;
  }

  uint64_t frame_latest() const {
    uint64_t latest = slots_[kFwStart] ? slots_[kFwStart]->time : 0;
    const auto see = [&](const ReplayRow* r) {
      if (r && r->type != kZoneTotal && later(r->time, latest)) latest = r->time;
    };
    for (const ReplayRow* s : slots_) see(s);
    for (const ReplayRow* c : customs_) see(c);
    return latest;
  }

  // Pushes what there is. Before `next` when there is more to come: ends that are later than it, and markers
  // that are not earlier, go with the next frame, which may only add later times.
  void close(const ReplayRow* next) {
    std::array<const ReplayRow*, kSlots> kept{};
    std::vector<const ReplayRow*> carried;
    if (next) {
      for (const Slot end : {kFwEnd, kKernelEnd})
        if (slots_[end] && !later(next->time, slots_[end]->time)) std::swap(kept[end], slots_[end]);
      while (!customs_.empty() && !later(next->time, customs_.back()->time)) {
        carried.insert(carried.begin(), customs_.back());
        customs_.pop_back();
      }
      if (customs_.empty() && !carried.empty()) std::swap(customs_, carried);  // nothing can be done about it
    }
    sent_until_ = frame_latest();
    sent_any_ = true;
    push();
    for (const Slot end : {kFwEnd, kKernelEnd})
      if (kept[end]) slots_[end] = kept[end];
    customs_ = std::move(carried);
    custom_words_ = 0;
    for (const ReplayRow* r : customs_) custom_words_ += markers::packet_words(r->type);
    cut_ = false;
  }

  void push() {
    ReplayFrame frame;
    frame.slots.fill(kUnsetWord);
    for (size_t s = 0; s < kSlots; ++s)
      if (const ReplayRow* r = slots_[s]) {
        frame.slots[2 * s] = marker_high(r->type, r->id, static_cast<uint32_t>(r->time >> 32));
        frame.slots[2 * s + 1] = static_cast<uint32_t>(r->time);
      }
    for (const ReplayRow* r : customs_) put(*r, frame.customs);
    frame.last_time = sent_until_;
    if (frame.customs.size() % 4 == 2) frame.customs.insert(frame.customs.end(), {kUnsetWord, 0});
    out_.frames.push_back(std::move(frame));
  }

  static void put(const ReplayRow& r, std::vector<uint32_t>& words) {
    if (r.type == kZoneTotal) {
      words.insert(words.end(), {marker_high(kZoneTotal, r.id, 0), static_cast<uint32_t>(r.data[0])});
      return;
    }
    words.insert(words.end(), {marker_high(r.type, r.id, static_cast<uint32_t>(r.time >> 32)),
                               static_cast<uint32_t>(r.time)});
    for (uint32_t i = 0; 2 + 2 * i < markers::packet_words(r.type); ++i)
      words.insert(words.end(), {static_cast<uint32_t>(r.data[i] >> 32), static_cast<uint32_t>(r.data[i])});
  }

  std::span<const ReplayRow> rows_;
  bool in_time_order_ = true;
  uint64_t latest_ = 0;
  std::array<const ReplayRow*, kSlots> slots_{};
  std::vector<const ReplayRow*> customs_, totals_;
  size_t custom_words_ = 0;
  bool cut_ = false;  // the file shows that a frame ended here
  bool sent_any_ = false;
  uint64_t sent_until_ = 0;  // the latest time in the frames before this one
  FramesOfLaunch out_;
};

}  // namespace

FramesOfLaunch frames_of(std::span<const ReplayRow> rows) {
  return Builder(rows).build();
}

}  // namespace ttc::emulation
