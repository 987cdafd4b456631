// A shard of the lanes of a report's input (tools/feed/lane_shards.hpp): zones by name, checked for their partners, and what programs need of
// them, made by any thread. The owner numbers zones as their names come, so that the report is the same for every number of threads.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tools/feed/lane_shards.hpp"
#include "tools/report/input/event_maker.hpp"
#include "tools/report/zones/zone_pairs.hpp"

namespace ttc::report {

class ZoneShard : public tools::LaneShards::Side {
 public:
  // The owner's, which outlives the shards.
  struct Target {
    ZoneIndex& zones;
    ZonePairs& pairs;
    Listener& listener;
    bool want_meta;
  };
  explicit ZoneShard(const Target& target);

  std::unique_ptr<tools::LaneShards::Product> product() const override;
  tools::Format& format() override { return format_; }
  size_t made() override;
  void take_into(tools::LaneShards::Product& product) override;
  void put(tools::LaneShards::Product& product, size_t from, size_t to) override;
  // When everything was put.
  void finish(EventMaker& maker);

 private:
  struct Part {
    LaneEvents batch;  // without its spans
    size_t events_end, pieces_end;
  };
  struct Meta {
    size_t part;  // that it comes before
    Launch launch;
    Lane lane;
    Event event;
    std::string text;
  };
  // The ends behind a chunk.
  struct Ends {
    size_t zones = 0, unpaired = 0, parts = 0, metas = 0;
  };
  struct Made : tools::LaneShards::Product {
    std::vector<Zone> zones;  // new ones, in the order of the shard's numbers
    std::vector<Unpaired> unpaired;
    std::vector<Event> events;
    std::vector<LanePiece> pieces;
    std::vector<Part> parts;
    std::vector<Meta> metas;
    std::vector<Ends> chunks;
    void clear();
  };
  // Zones have the shard's numbers.
  class Recorder : public Listener {
   public:
    explicit Recorder(bool all_events) : all_events_(all_events) {}
    void events(const LaneEvents& batch) override;
    void meta(const Launch& launch, const Lane& lane, const Event& event, std::string_view text) override;
    Made made;
    LanePairs pairs{ZonePairs::kMost};

   private:
    const bool all_events_;
  };
  class ShardFormat : public tools::Format {
   public:
    ShardFormat(EventMaker& maker, Recorder& recorder) : maker_(maker), recorder_(recorder) {}
    tools::Order order() const override { return tools::Order::log; }
    void begin(const tools::Session&) override {}
    void frame(const tools::FrameEvents& f) override { maker_.frame(f, recorder_); }
    void loss(const shm::LossRecord&) override {}
    void names_changed() override { maker_.names_changed(); }
    void end() override {}

   private:
    EventMaker& maker_;
    Recorder& recorder_;
  };

  void put_zones(const Made& made, size_t from, size_t to);
  void put_meta(Meta& meta);
  void put_part(Made& made, size_t number);

  const Target target_;
  // On the thread that has a batch:
  std::vector<Zone> zones_;
  size_t recorded_zones_ = 1;  // the nameless one is everyone's
  EventMaker maker_;
  Recorder recorder_;
  ShardFormat format_;
  // The owner's:
  std::vector<uint32_t> numbers_{0};  // by the shard's
};

}  // namespace ttc::report
