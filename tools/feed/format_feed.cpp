#include "tools/feed/format_feed.hpp"

namespace ttc::tools {

void FormatFeed::push(const Source& source, shm::KeptChunk& chunk) {
  if (batches_) {
    if (source.lost_beginning()) batches_->lost_beginning();
    return batches_->push(chunk);
  }
  if (source.lost_beginning()) pipeline_.lost_beginning();
  pipeline_.push(chunk.words, format_, chunk.memory);
}

void FormatFeed::settle() {
  if (batches_) batches_->settle();
  pipeline_.catch_up(format_);
}

void FormatFeed::finish(const Source& source) {
  if (batches_) batches_->finish();
  if (source.broke_off()) pipeline_.broke_off();
  pipeline_.finish(format_);
}

}  // namespace ttc::tools
