#include "tools/feed/format_feed.hpp"

namespace ttc::tools {

void FormatFeed::push(const Source& source, std::vector<uint64_t>& chunk) {
  if (shards_) {
    if (source.lost_beginning()) shards_->lost_beginning();
    return shards_->push(chunk);
  }
  if (source.lost_beginning()) pipeline_.lost_beginning();
  pipeline_.take(chunk, format_);
}

void FormatFeed::settle() {
  if (shards_) shards_->settle();
  pipeline_.catch_up(format_);
}

void FormatFeed::finish(const Source& source) {
  if (shards_) shards_->finish();
  if (source.broke_off()) pipeline_.broke_off();
  pipeline_.finish(format_);
}

}  // namespace ttc::tools
