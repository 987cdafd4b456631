#include "tools/report/input/zone_work.hpp"

#include <algorithm>

namespace ttc::report {

uint32_t ZoneWork::Thread::announce_zones() {
  if (announced_count_ == zones_.size()) return static_cast<uint32_t>(announced_count_);
  const std::lock_guard lock(mutex_);
  announced_.insert(announced_.end(), zones_.begin() + static_cast<ptrdiff_t>(announced_count_),
                    zones_.end());
  announced_count_ = zones_.size();
  return static_cast<uint32_t>(announced_count_);
}

void ZoneWork::Thread::number_zones(size_t count, ZoneIndex& index) {
  if (numbers_.size() >= count) return;
  const std::lock_guard lock(mutex_);
  for (size_t i = numbers_.size(); i < count; ++i)
    numbers_.push_back(index.of(announced_[i].name, announced_[i].file, announced_[i].line));
}

LanePiece ZoneWork::Frame::piece() const {
  LanePiece piece;
  piece.firmware = piece.span = {begin, begin + firmware_took};
  const uint64_t kernel = begin + kernel_begins_after;
  piece.kernel = piece.seen = {kernel, kernel + kernel_took};
  piece.starts = {kernel, kernel};
  piece.firmware_starts = piece.start_count = 1;
  piece.has_firmware = true;
  return piece;
}

LanePairs::Closed ZoneWork::Frame::closed() const {
  const uint64_t end = begin + firmware_took;
  return {end, end, firmware_id, firmware_id, true, true, true, true};
}

void ZoneWork::begin(unsigned thread) {
  own_ = threads_[thread].get();
  events_.clear(), pieces_.clear(), parts_.clear(), metas_.clear(), texts_.clear(), frames_.clear();
  ends_.assign(1, {});
}

// What is taken back here is written again by the next frame: that memory stays in the thread's caches.
bool ZoneWork::frame(const tools::FrameEvents& f) {
  alone_.begin(EventMaker::lane_of(f));
  own_->maker_.frame(f, *this);
  Ends after{static_cast<uint32_t>(parts_.size()), static_cast<uint32_t>(metas_.size())};
  Frame& made = frames_.emplace_back();
  made.zones_end = own_->announce_zones();
  const bool alone = alone_.end(after.closed);
  const Ends& before = ends_.back();
  if (alone && shorten(made, before, after)) {
    parts_.pop_back();
    pieces_.pop_back();
    return true;
  }
  made.form = alone ? Form::full : Form::not_alone;
  made.full = static_cast<uint32_t>(ends_.size());
  ends_.push_back(after);
  return alone;
}

bool ZoneWork::shorten(Frame& frame, const Ends& before, const Ends& after) const {
  if (after.parts != before.parts + 1 || after.metas != before.metas) return false;
  const Part& part = parts_[before.parts];
  const Part none, &last = before.parts ? parts_[before.parts - 1] : none;
  if (part.dispatches || part.events_end != last.events_end || part.pieces_end != last.pieces_end + 1)
    return false;
  const LanePiece& piece = pieces_[last.pieces_end];
  const auto cycles = [](uint64_t from, uint64_t to) { return static_cast<uint32_t>(to - from); };
  frame.begin = piece.firmware.begin;
  frame.firmware_took = cycles(piece.firmware.begin, piece.firmware.end);
  frame.kernel_begins_after = cycles(piece.firmware.begin, piece.kernel.begin);
  frame.kernel_took = cycles(piece.kernel.begin, piece.kernel.end);
  frame.firmware_id = after.closed.last_firmware;
  frame.markers = static_cast<uint16_t>(part.left_out);
  if (frame.markers != part.left_out || frame.piece() != piece || frame.closed() != after.closed)
    return false;
  frame.form = Form::brief;
  return true;
}

void ZoneWork::events(const LaneEvents& batch) {
  alone_.events(batch);
  if (batch.launch.host_id != 0) add_pieces(batch.events, pieces_);
  const bool dispatches = has_dispatch(batch.events);
  const size_t before = events_.size();
  if (all_events_)
    events_.insert(events_.end(), batch.events.begin(), batch.events.end());
  else if (dispatches)
    std::copy_if(batch.events.begin(), batch.events.end(), std::back_inserter(events_),
                 [](const Event& e) { return is_dispatch(e.zone_class); });
  const size_t left_out = batch.events.size() - (events_.size() - before);
  Part& part = parts_.emplace_back();
  part.host_id = batch.launch.host_id;
  part.left_out = static_cast<uint32_t>(left_out);
  part.events_end = static_cast<uint32_t>(events_.size());
  part.pieces_end = static_cast<uint32_t>(pieces_.size());
  part.dispatches = dispatches;
}

void ZoneWork::meta(const Launch&, const Lane&, const Event& event, std::string_view text) {
  texts_.append(text);
  metas_.push_back({parts_.size(), event, texts_.size()});
}

void ZoneWork::put_meta(size_t number, const Launch& launch, const Lane& lane, Listener& listener) {
  Meta& meta = metas_[number];
  meta.event.zone = own_->numbers_[meta.event.zone];
  const size_t begin = number ? metas_[number - 1].text_end : 0;
  listener.meta(launch, lane, meta.event, std::string_view(texts_).substr(begin, meta.text_end - begin));
}

void ZoneWork::put_part(size_t number, LaneEvents batch, Listener& listener) {
  const Part& part = parts_[number];
  const size_t events = number ? parts_[number - 1].events_end : 0;
  const size_t pieces = number ? parts_[number - 1].pieces_end : 0;
  for (size_t i = events; i < part.events_end; ++i) events_[i].zone = own_->numbers_[events_[i].zone];
  batch.launch.host_id = part.host_id;
  batch.events = std::span(events_).subspan(events, part.events_end - events);
  batch.pieces = std::span(pieces_).subspan(pieces, part.pieces_end - pieces);
  batch.left_out = part.left_out;
  batch.dispatches = part.dispatches;
  listener.events(batch);
}

void ZoneWork::put_brief(const Frame& frame, LaneEvents batch, Listener& listener) const {
  const LanePiece piece = frame.piece();
  batch.pieces = {&piece, 1};
  batch.left_out = frame.markers;
  listener.events(batch);
}

void ZoneWork::put(const Frame& frame, const LaneEvents& batch, Listener& listener) {
  const Ends &before = ends_[frame.full - 1], &after = ends_[frame.full];
  size_t meta = before.metas;
  for (size_t part = before.parts; part < after.parts; ++part) {
    for (; meta < after.metas && metas_[meta].part <= part; ++meta)
      put_meta(meta, batch.launch, batch.lane, listener);
    put_part(part, batch, listener);
  }
  for (; meta < after.metas; ++meta) put_meta(meta, batch.launch, batch.lane, listener);
}

bool ZoneWork::take(const tools::FrameEvents& f, const Target& target) {
  const Frame& frame = frames_[f.work_frame];
  if (frame.form == Form::not_alone) return false;
  const bool brief = frame.form == Form::brief;
  const LaneEvents batch{EventMaker::launch_of(f), EventMaker::lane_of(f), {}, f.seen_ns};
  if (!target.pairs.take(f.chip, batch.lane, brief ? frame.closed() : ends_[frame.full].closed)) return false;
  own_->number_zones(frame.zones_end,
                     target.zones);  // those of frames that were not taken have numbers by now
  if (brief)
    put_brief(frame, batch, target.listener);
  else
    put(frame, batch, target.listener);
  return true;
}

}  // namespace ttc::report
