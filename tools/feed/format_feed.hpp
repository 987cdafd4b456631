// Chunks of a source on their way to a format: through one pipeline, or on several threads batch by batch (row_batches.hpp). What
// comes of them is the same.
#pragma once
#include <optional>
#include <vector>

#include "tools/feed/row_batches.hpp"

namespace ttc::tools {

class FormatFeed {
 public:
  // Both outlive this.
  FormatFeed(Pipeline& pipeline, Format& format) : pipeline_(pipeline), format_(format) {}

  // Before the first chunk.
  void by_batches(jobs::Workers& workers, const RowBatches::MakePipeline& make_pipeline,
                  const RowBatches::MakeFormat& make_format, Output& out) {
    batches_.emplace(workers, make_pipeline, make_format, pipeline_, format_, out);
  }
  // The next chunk of the source, which has checked it. May leave other memory in `chunk`.
  void push(const Source& source, shm::KeptChunk& chunk);
  // Words that do not wait for clock models have reached the format.
  void settle();
  // Behind the last chunk.
  void finish(const Source& source);

 private:
  Pipeline& pipeline_;
  Format& format_;
  std::optional<RowBatches> batches_;
};

}  // namespace ttc::tools
