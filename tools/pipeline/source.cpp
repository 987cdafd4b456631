#include "tools/pipeline/source.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <numeric>

#include "shm/reader.hpp"
#include "tools/pipeline/image_source.hpp"
#include "tools/ranks/rank_chunks.hpp"
#include "ttcollect/late_reader.hpp"

namespace ttc::tools {
namespace {

constexpr unsigned kFollowWaitMs = 200;
constexpr unsigned kFollowWaitAmongMs = 2;  // on one of several: the others' rings fill meanwhile
constexpr unsigned kChunksATurn = 256;

class LiveSource : public Source {
 public:
  // `follow_ms`: how long next() waits before it returns idle; 0 does not follow.
  LiveSource(const std::string& name, unsigned follow_ms, unsigned wait_ms, bool from_now)
      : reader_(name, from_now ? shm::StartAt::newest : shm::StartAt::oldest, wait_ms),
        name_(name),
        follow_ms_(follow_ms),
        from_now_(from_now) {}

  Next next(std::vector<uint64_t>& chunk) override {
    for (;;) {
      switch (reader_.next(chunk, follow_ms_)) {
        case shm::Reader::Next::chunk:
          end_missed_ = false;
          return Next::chunk;
        case shm::Reader::Next::lapped:
          end_missed_ = true;
          continue;  // counted by the reader
        case shm::Reader::Next::timeout:
          return follow_ms_ ? Next::idle : Next::end;
        case shm::Reader::Next::ended:
          return Next::end;
        case shm::Reader::Next::writer_died:
          died_ = true;
          return Next::end;
        case shm::Reader::Next::damaged:
          damage_ = reader_.damage();
          return Next::end;
      }
    }
  }

  void wait_at_most(unsigned ms) override {
    if (follow_ms_) follow_ms_ = std::max(ms, 1u);
  }

  std::vector<std::string> complaints() const override {
    std::vector<std::string> all;
    if (!from_now_)
      if (std::string late = collect::late_reader(reader_); !late.empty()) all.push_back(std::move(late));
    if (reader_.laps())
      all.push_back("live:" + name_ + ": this reader was too slow and lost " +
                    std::to_string(reader_.lost_chunks()) + " chunks (" +
                    std::to_string(reader_.lost_bytes()) + " bytes); a larger --ring helps");
    if (died_)
      all.push_back("live:" + name_ + ": its collector ended abnormally; what it had published is here");
    if (!damage_.empty()) all.push_back("live:" + name_ + " is damaged: " + damage_);
    return all;
  }
  shm::LossCause loss_cause() const override { return shm::LossCause::reader_lapped; }
  // A reader from now on misses the beginning only if the ring went round before the first chunk was taken.
  bool lost_beginning() const override { return !from_now_ || reader_.laps(); }
  bool broke_off() const override { return end_missed_; }
  uint64_t missed_bytes() const override { return reader_.lost_bytes(); }

 private:
  shm::Reader reader_;
  std::string name_;
  unsigned follow_ms_;
  bool from_now_;
  bool died_ = false;
  bool end_missed_ = false;  // nothing came after the reader was lapped last
  std::string damage_;
};

class FileSource : public Source {
 public:
  FileSource(const std::string& path, const collect::Wanted& wanted, jobs::Workers* workers)
      : reader_(path, wanted, workers), path_(path) {}

  Next next(std::vector<uint64_t>& chunk) override { return reader_.next(chunk) ? Next::chunk : Next::end; }
  Next next_kept(shm::KeptChunk& chunk) override { return reader_.next(chunk) ? Next::chunk : Next::end; }

  std::vector<std::string> complaints() const override {
    std::vector<std::string> all;
    if (reader_.cut())
      all.push_back(path_ + " ends inside a chunk or block at byte " + std::to_string(reader_.offset()));
    else if (reader_.version() != 1 && !reader_.ended_in_order())
      all.push_back(path_ + " was not ended in order: its collector was killed, or still writes it");
    if (!reader_.damage().empty()) all.push_back(path_ + " is damaged " + reader_.damage());
    if (reader_.damaged_parts() > 1)
      all.push_back(path_ + " has " + std::to_string(reader_.damaged_parts() - 1) + " more damaged parts");
    return all;
  }
  std::optional<double> progress() const override { return reader_.progress(); }
  bool lost_beginning() const override { return reader_.lost_beginning(); }
  bool broke_off() const override { return reader_.broke_off(); }
  shm::LossCause loss_cause() const override {
    return reader_.lacks_blocks() ? shm::LossCause::not_kept : shm::LossCause::file_damaged;
  }

 private:
  collect::CaptureReader reader_;
  std::string path_;
};

// A capture as one of a job's.
class RankSource : public Source {
 public:
  RankSource(std::unique_ptr<Source> source, const RankChunks& chunks)
      : source_(std::move(source)), chunks_(chunks) {}

  Next next(std::vector<uint64_t>& chunk) override {
    const Next next = source_->next(chunk);
    if (next == Next::chunk) chunks_.move(chunk);
    return next;
  }
  std::vector<std::string> complaints() const override { return source_->complaints(); }
  std::optional<double> progress() const override { return source_->progress(); }
  bool lost_beginning() const override { return source_->lost_beginning(); }
  bool broke_off() const override { return source_->broke_off(); }
  shm::LossCause loss_cause() const override { return source_->loss_cause(); }

 private:
  const std::unique_ptr<Source> source_;
  const RankChunks chunks_;
};

// A capture that is still written.
class FollowedFile : public Source {
 public:
  FollowedFile(const std::string& path, unsigned wait_ms) : follower_(path), path_(path), wait_ms_(wait_ms) {}

  Next next(std::vector<uint64_t>& chunk) override {
    switch (follower_.next(chunk, wait_ms_)) {
      case collect::CaptureFollower::Next::chunk:
        return Next::chunk;
      case collect::CaptureFollower::Next::idle:
        return Next::idle;
      case collect::CaptureFollower::Next::end:
        break;
    }
    return Next::end;
  }
  void wait_at_most(unsigned ms) override { wait_ms_ = std::max(ms, 1u); }
  std::vector<std::string> complaints() const override {
    if (follower_.why_not_whole().empty()) return {};
    return {path_ + " has to be read again: " + follower_.why_not_whole()};
  }
  bool broke_off() const override { return !follower_.why_not_whole().empty(); }

 private:
  collect::CaptureFollower follower_;
  std::string path_;
  unsigned wait_ms_;
};

// Several sources as one.
class JoinedSource : public Source {
 public:
  struct Part {
    std::string from;
    std::unique_ptr<Source> source;
    bool over = false;
  };

  JoinedSource(std::vector<Part> parts, bool in_turn, std::vector<std::string> remarks)
      : parts_(std::move(parts)), in_turn_(in_turn), remarks_(std::move(remarks)) {}

  Next next(std::vector<uint64_t>& chunk) override {
    size_t idle = 0, over = 0;
    while (idle + over < parts_.size()) {
      Part& part = parts_[at_];
      switch (part.over ? Next::end : part.source->next(chunk)) {
        case Next::chunk:
          claim_session(chunk, at_);
          if (in_turn_ && ++taken_ >= kChunksATurn) pass_on();
          return Next::chunk;
        case Next::idle:
          ++idle;
          break;
        case Next::end:
          part.over = true;
          ++over;
          break;
      }
      pass_on();
    }
    return idle ? Next::idle : Next::end;
  }

  void wait_at_most(unsigned ms) override {
    for (Part& part : parts_) part.source->wait_at_most(std::min(ms, kFollowWaitAmongMs));
  }

  std::vector<std::string> complaints() const override {
    std::vector<std::string> all;
    for (const Part& part : parts_)
      for (std::string& c : part.source->complaints()) all.push_back(std::move(c));
    return all;
  }
  std::vector<std::string> remarks() const override { return remarks_; }
  std::optional<double> progress() const override {
    double done = 0;
    for (const Part& part : parts_) done += part.over ? 1 : part.source->progress().value_or(0);
    return done / static_cast<double>(parts_.size());
  }
  shm::LossCause loss_cause() const override { return parts_.front().source->loss_cause(); }
  bool lost_beginning() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Part& p) { return p.source->lost_beginning(); });
  }
  bool broke_off() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.source->broke_off(); });
  }
  uint64_t missed_bytes() const override {
    return std::accumulate(parts_.begin(), parts_.end(), uint64_t{0},
                           [](uint64_t sum, const Part& p) { return sum + p.source->missed_bytes(); });
  }

 private:
  void pass_on() {
    at_ = (at_ + 1) % parts_.size();
    taken_ = 0;
  }
  // The same words from two sources would come out as repeated markers.
  void claim_session(const std::vector<uint64_t>& chunk, size_t part) {
    const uint64_t session = shm::header_of(chunk).session;
    const auto [it, fresh] = session_of_.try_emplace(session, part);
    if (!fresh && it->second != part)
      throw SourceError(parts_[it->second].from + " and " + parts_[part].from +
                        " hold the same run of one collector; name one of them");
  }

  std::vector<Part> parts_;
  bool in_turn_;
  std::vector<std::string> remarks_;
  size_t at_ = 0;
  unsigned taken_ = 0;
  std::map<uint64_t, size_t> session_of_;
};

std::unique_ptr<Source> open_one(const std::string& from, unsigned follow_ms, unsigned wait_ms,
                                 const collect::Wanted& wanted, jobs::Workers* workers, bool from_now,
                                 bool follow_files) {
  try {
    if (from.starts_with("live:"))
      return std::make_unique<LiveSource>(from.substr(5), follow_ms, wait_ms, from_now);
    std::error_code ignored;  // without a readable status opening fails, too, and that error has the reason
    if (std::filesystem::is_directory(from, ignored)) return std::make_unique<ImageSource>(from);
    if (follow_files) return std::make_unique<FollowedFile>(from, follow_ms);
    return std::make_unique<FileSource>(from, wanted, workers);
  } catch (const shm::SegmentError& e) {
    throw SourceError(e.what());
  } catch (const collect::CaptureError& e) {
    throw SourceError(
        std::string(e.what()) +
        "; --from takes live:NAME, a .ttc file or a directory of captures or of firmware memory");
  }
}

}  // namespace

std::vector<std::string> named_sources(const std::vector<std::string>& given) {
  std::vector<std::string> all;
  const auto add = [&](const std::string& one) {
    const std::vector<std::string> captures = captures_in(one);
    captures.empty() ? all.push_back(one)
                     : static_cast<void>(all.insert(all.end(), captures.begin(), captures.end()));
  };
  for (const std::string& text : given) {
    std::error_code ignored;  // what is no file is a list
    if (std::filesystem::exists(text, ignored)) {
      add(text);
      continue;
    }
    for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
      end = text.find(',', begin);
      add(text.substr(begin, end - begin));
    }
  }
  return all;
}

std::unique_ptr<Source> open_rank(const RankCapture& capture, const collect::Wanted& wanted,
                                  jobs::Workers* workers) {
  return std::make_unique<RankSource>(open_one(capture.path, 0, 0, wanted, workers, false, false),
                                      RankChunks(capture, false));
}

std::unique_ptr<Source> open_source(const std::vector<std::string>& given, bool follow, unsigned wait_ms,
                                    const collect::Wanted& wanted, jobs::Workers* workers, bool from_now,
                                    bool follow_files) {
  const std::vector<std::string> from = named_sources(given);
  if (from.size() == 1)
    return open_one(from.front(), follow ? kFollowWaitMs : 0, wait_ms, wanted, workers, from_now,
                    follow_files);
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(wait_ms);
  std::vector<JoinedSource::Part> parts;
  const RankCaptures ranks = rank_captures(from);
  for (const std::string& one : from) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    parts.push_back(
        {one, open_one(one, follow ? kFollowWaitAmongMs : 0, left > 0 ? static_cast<unsigned>(left) : 0,
                       wanted, workers, from_now, follow_files)});
    if (const RankCapture* const rank = ranks.find(one))
      parts.back().source = std::make_unique<RankSource>(std::move(parts.back().source), RankChunks(*rank));
  }
  return std::make_unique<JoinedSource>(std::move(parts), follow, ranks.remarks);
}

}  // namespace ttc::tools
