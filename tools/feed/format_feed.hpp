// Chunks of a source on their way to a format: through one pipeline, or lane by lane on several threads (lane_shards.hpp). The format has
// the same from both.
#pragma once
#include <optional>
#include <vector>

#include "tools/feed/lane_shards.hpp"

namespace ttc::tools {

class FormatFeed {
 public:
  // Both outlive this.
  FormatFeed(Pipeline& pipeline, Format& format) : pipeline_(pipeline), format_(format) {}

  // Before the first chunk.
  void by_lanes(jobs::Workers& workers, const LaneShards::MakePipeline& make_pipeline,
                const LaneShards::MakeSide& make_side) {
    shards_.emplace(workers, make_pipeline, make_side, pipeline_, format_);
  }
  // The next chunk of the source, which has checked it. May leave other memory in `chunk`.
  void push(const Source& source, std::vector<uint64_t>& chunk);
  // Words that do not wait for clock models have reached the format.
  void settle();
  // Behind the last chunk.
  void finish(const Source& source);

 private:
  Pipeline& pipeline_;
  Format& format_;
  std::optional<LaneShards> shards_;
};

}  // namespace ttc::tools
