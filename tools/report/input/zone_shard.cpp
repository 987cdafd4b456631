#include "tools/report/input/zone_shard.hpp"

#include <algorithm>
#include <utility>

namespace ttc::report {

void ZoneShard::Made::clear() {
  zones.clear(), unpaired.clear(), events.clear(), pieces.clear(), parts.clear(), metas.clear(),
      chunks.clear();
}

void ZoneShard::Recorder::events(const LaneEvents& batch) {
  pairs.events(batch, made.unpaired);
  LaneEvents kept = batch;
  kept.events = {};
  kept.dispatches = has_dispatch(batch.events);
  if (batch.launch.host_id != 0) add_pieces(batch.events, made.pieces);
  const size_t before = made.events.size();
  if (all_events_)
    made.events.insert(made.events.end(), batch.events.begin(), batch.events.end());
  else if (kept.dispatches)
    std::copy_if(batch.events.begin(), batch.events.end(), std::back_inserter(made.events),
                 [](const Event& e) { return is_dispatch(e.zone_class); });
  kept.left_out = static_cast<uint32_t>(batch.events.size() - (made.events.size() - before));
  made.parts.push_back({kept, made.events.size(), made.pieces.size()});
}

void ZoneShard::Recorder::meta(const Launch& launch, const Lane& lane, const Event& event,
                               std::string_view text) {
  made.metas.push_back({made.parts.size(), launch, lane, event, std::string(text)});
}

ZoneShard::ZoneShard(const Target& target)
    : target_(target),
      maker_(zones_, target.want_meta),
      recorder_(target.listener.wants_all_events()),
      format_(maker_, recorder_) {}

std::unique_ptr<tools::LaneShards::Product> ZoneShard::product() const {
  return std::make_unique<Made>();
}

size_t ZoneShard::made() {
  Made& made = recorder_.made;
  for (; recorded_zones_ < zones_.size(); ++recorded_zones_) made.zones.push_back(zones_[recorded_zones_]);
  made.chunks.push_back({made.zones.size(), made.unpaired.size(), made.parts.size(), made.metas.size()});
  return made.chunks.size();
}

void ZoneShard::take_into(tools::LaneShards::Product& product) {
  auto& made = static_cast<Made&>(product);
  std::swap(made, recorder_.made);
  recorder_.made.clear();
}

void ZoneShard::put_zones(const Made& made, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) {
    const Zone& zone = made.zones[i];
    numbers_.push_back(target_.zones.of(zone.name, zone.file, zone.line));
  }
}

void ZoneShard::put_meta(Meta& meta) {
  meta.event.zone = numbers_[meta.event.zone];
  target_.listener.meta(meta.launch, meta.lane, meta.event, meta.text);
}

void ZoneShard::put_part(Made& made, size_t number) {
  const Part& part = made.parts[number];
  const size_t events = number ? made.parts[number - 1].events_end : 0;
  const size_t pieces = number ? made.parts[number - 1].pieces_end : 0;
  for (size_t i = events; i < part.events_end; ++i) made.events[i].zone = numbers_[made.events[i].zone];
  LaneEvents batch = part.batch;
  batch.events = std::span(made.events).subspan(events, part.events_end - events);
  batch.pieces = std::span(made.pieces).subspan(pieces, part.pieces_end - pieces);
  target_.listener.events(batch);
}

void ZoneShard::put(tools::LaneShards::Product& product, size_t from, size_t to) {
  auto& made = static_cast<Made&>(product);
  const Ends begin = from ? made.chunks[from - 1] : Ends();
  const Ends end = to ? made.chunks[to - 1] : Ends();
  put_zones(made, begin.zones, end.zones);
  for (size_t i = begin.unpaired; i < end.unpaired; ++i) {
    made.unpaired[i].zone = numbers_[made.unpaired[i].zone];
    target_.pairs.found(made.unpaired[i]);
  }
  size_t meta = begin.metas;
  for (size_t part = begin.parts; part < end.parts; ++part) {
    for (; meta < end.metas && made.metas[meta].part <= part; ++meta) put_meta(made.metas[meta]);
    put_part(made, part);
  }
  for (; meta < end.metas; ++meta) put_meta(made.metas[meta]);
}

void ZoneShard::finish(EventMaker& maker) {
  maker.absorb(maker_);
  recorder_.pairs.renumber(numbers_);
  target_.pairs.absorb(recorder_.pairs);
}

}  // namespace ttc::report
