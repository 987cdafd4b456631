#include "tools/feed/format_feed.hpp"

namespace ttc::tools {

// False: neither of them is there.
template <class Do>
bool FormatFeed::on_threads(Do what) {
  if (shards_) what(*shards_);
  if (batches_) what(*batches_);
  return shards_ || batches_;
}

void FormatFeed::push(const Source& source, shm::KeptChunk& chunk) {
  if (on_threads([&](auto& threads) {
        if (source.lost_beginning()) threads.lost_beginning();
        threads.push(chunk);
      }))
    return;
  if (source.lost_beginning()) pipeline_.lost_beginning();
  pipeline_.push(chunk.words, format_, chunk.memory);
}

void FormatFeed::settle() {
  on_threads([](auto& threads) { threads.settle(); });
  pipeline_.catch_up(format_);
}

void FormatFeed::finish(const Source& source) {
  on_threads([](auto& threads) { threads.finish(); });
  if (source.broke_off()) pipeline_.broke_off();
  pipeline_.finish(format_);
}

}  // namespace ttc::tools
