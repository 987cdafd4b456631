// A capture whose disk is slow, full or gone, and one that has bounds: what stays is a sound file, what does
// not is an interval in it, and no memory or disk is used beyond what was allowed.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "collector/capture/capture_file.hpp"
#include "collector/record/capture_writer.hpp"
#include "tests/support/capture_blocks.hpp"
#include "tests/support/ring_feed.hpp"
#include "ttcollect/capture_reader.hpp"
#include "ttcollect/loss_view.hpp"

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;

// Lets a disk through as set: so many writes, or with an error from one on.
struct Valve {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t open_until = ~uint64_t{0};  // so many writes may be done
  uint64_t fail_from = ~uint64_t{0}, fail_until = ~uint64_t{0};
  int error = ENOSPC;
  uint64_t begun = 0;
  unsigned syncs = 0;
  void open() {
    const std::lock_guard lock(mutex);
    open_until = ~uint64_t{0};
    changed.notify_all();
  }
};

class ValveDisk : public CaptureDisk {
 public:
  ValveDisk(std::unique_ptr<CaptureDisk> disk, Valve& valve) : disk_(std::move(disk)), valve_(valve) {}
  void write(uint64_t offset, std::span<const std::byte> bytes, uint64_t tag) override {
    std::unique_lock lock(valve_.mutex);
    const uint64_t mine = valve_.begun++;
    if (mine >= valve_.fail_from && mine < valve_.fail_until) {
      failed_.push_back({tag, valve_.error});
      return;
    }
    valve_.changed.wait(lock, [&] { return mine < valve_.open_until; });
    lock.unlock();
    disk_->write(offset, bytes, tag);
  }
  std::vector<Done> done(bool wait) override {
    auto all = disk_->done(wait && failed_.empty());
    all.insert(all.end(), failed_.begin(), failed_.end());
    failed_.clear();
    return all;
  }
  unsigned under_way() const override { return disk_->under_way() + static_cast<unsigned>(failed_.size()); }
  int sync() override {
    ++valve_.syncs;
    return disk_->sync();
  }
  int cut_at(uint64_t bytes) override { return disk_->cut_at(bytes); }
  bool removed() const override { return disk_->removed(); }
  int rename(const std::string& path, bool lastingly) override { return disk_->rename(path, lastingly); }
  void discard() override { disk_->discard(); }
  std::string how() const override { return disk_->how(); }

 private:
  std::unique_ptr<CaptureDisk> disk_;
  Valve& valve_;
  std::vector<Done> failed_;
};

struct FilesAccount {
  uint64_t words = 0, lost_words = 0, chunks = 0, sessions = 0, ends = 0;
  std::vector<shm::LossRecord> lost;
  bool indexed = false;
  uint64_t unexplained = 0;  // gaps that no record covers
};

FilesAccount account_of(const std::vector<std::string>& files) {
  FilesAccount a;
  LossView view(shm::LossCause::file_damaged);
  for (const std::string& path : files) {
    CaptureReader reader(path);
    EXPECT_EQ(reader.damage(), "") << path;
    a.indexed = reader.file().indexed();
    a.sessions = 0;
    for (Chunk c; reader.next(c);) {
      ++a.chunks;
      view.push(c);
      const shm::ChunkHeader& h = shm::header_of(c);
      if (h.kind == shm::ChunkKind::session) ++a.sessions;
      if (h.kind == shm::ChunkKind::end) ++a.ends;
      if (h.kind == shm::ChunkKind::device_words)
        for (const auto& s : shm::spans_of(c)) a.words += s.word_count;
    }
    EXPECT_EQ(a.sessions, 1u) << path << " is not complete by itself";
  }
  for (const auto& [id, r] : view.reported().at(77)) a.lost.push_back(r), a.lost_words += r.words;
  view.finish();
  for (const auto& [session, found] : view.found()) a.unexplained += found.size();
  return a;
}

class CaptureLimits : public testing::Test {
 protected:
  CaptureLimits() : directory_(fs::path(testing::TempDir()) / ("limits-" + std::to_string(getpid()))) {
    fs::create_directories(directory_);
  }
  ~CaptureLimits() override { fs::remove_all(directory_); }
  CaptureOptions options() {
    CaptureOptions o;
    o.path = directory_ / "run.ttc";
    o.block_bytes = 64 << 10;
    o.memory_bytes = 1 << 20;
    o.open_disk = [this](const std::string& path) {
      return std::make_unique<ValveDisk>(open_capture_disk(path, true), valve_);
    };
    return o;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& e : fs::directory_iterator(directory_)) all.push_back(e.path());
    std::sort(all.begin(), all.end());
    return all;
  }
  uint64_t bytes_on_disk() const {
    uint64_t all = 0;
    for (const std::string& f : files()) all += fs::file_size(f);
    return all;
  }
  static constexpr uint64_t kLaunches = 60000, kWords = kLaunches * 20;
  void feed(CaptureWriter& writer, Feed& feed) {
    writer.add(feed.name());
    for (uint64_t n = 0; n < kLaunches; n += 100) feed.publish(100);
    feed.end();
  }
  fs::path directory_;
  Valve valve_;
};

TEST_F(CaptureLimits, a_disk_that_keeps_up_costs_nothing) {
  Feed ring("ok");
  CaptureOptions o = options();
  o.memory_bytes = 64 << 20;
  CaptureWriter writer(o, 77);
  feed(writer, ring);
  writer.finish();
  EXPECT_EQ(writer.error(), "");
  const FilesAccount a = account_of(files());
  EXPECT_EQ(a.words, kWords);
  EXPECT_TRUE(a.lost.empty());
  EXPECT_TRUE(a.indexed);
  EXPECT_EQ(a.ends, 1u);
}

// The disk is blocked until everything was gathered: what does not fit into memory is dropped by rule, reported
// exactly, and the rest is there.
TEST_F(CaptureLimits, a_disk_that_is_too_slow_costs_blocks_by_rule) {
  uint32_t head_of_oldest = 0;
  for (const Keep keep : {Keep::oldest, Keep::newest}) {
    valve_.begun = 0;
    valve_.open_until = 3;
    Feed ring(keep == Keep::oldest ? "oldest" : "newest");
    CaptureOptions o = options();
    o.keep_in_memory = keep;
    o.memory_bytes = 256 << 10;
    CaptureWriter writer(o, 77);
    feed(writer, ring);
    std::thread finish([&] { writer.finish(); });
    while (writer.dropped_bytes() < 2 << 20) std::this_thread::yield();  // 4.8 MB came, 256 KiB may wait
    valve_.open();
    finish.join();
    EXPECT_LE(writer.most_memory(), o.memory_bytes);
    const FilesAccount a = account_of(files());
    EXPECT_GT(a.lost_words, kWords / 4);
    EXPECT_EQ(a.words + a.lost_words, kWords);
    EXPECT_EQ(a.unexplained, 0u);
    EXPECT_EQ(a.ends, 1u);  // facts are kept whatever is dropped
    for (const auto& r : a.lost) {
      EXPECT_EQ(r.cause, shm::LossCause::disk_too_slow);
      EXPECT_EQ(r.precision, shm::LossPrecision::exact_words);
    }
    CaptureReader reader(o.path);      // which ones stayed
    uint32_t head = 0, last_word = 0;  // words before the first gap
    for (Chunk c; reader.next(c);)
      if (shm::header_of(c).kind == shm::ChunkKind::device_words) {
        const auto span = shm::spans_of(c)[0];
        if (span.word_offset == head) head += span.word_count;
        last_word = std::max(last_word, span.word_offset + span.word_count);
      }
    if (keep == Keep::oldest)
      head_of_oldest = head;
    else
      EXPECT_EQ(last_word, kWords);
    if (keep == Keep::newest) {
      EXPECT_LT(head, head_of_oldest);
    }
  }
}

TEST_F(CaptureLimits, a_full_disk_costs_what_did_not_fit_and_the_file_stays_sound) {
  for (const int error : {ENOSPC, EDQUOT, EIO}) {
    valve_.begun = 0;
    valve_.fail_from = 10;
    valve_.fail_until = 20;  // then there is room again
    valve_.error = error;
    Feed ring("full");
    CaptureOptions o = options();
    o.memory_bytes = 64 << 20;
    CaptureWriter writer(o, 77);
    feed(writer, ring);
    writer.finish();
    EXPECT_NE(writer.error().find(std::strerror(error)), std::string::npos) << writer.error();
    const FilesAccount a = account_of(files());
    EXPECT_GT(a.lost_words, 0u);
    EXPECT_EQ(a.words + a.lost_words, kWords);
    EXPECT_EQ(a.unexplained, 0u);
    for (const auto& r : a.lost) EXPECT_EQ(r.cause, shm::LossCause::not_kept);
  }
}

TEST_F(CaptureLimits, a_disk_that_stays_full_leaves_the_blocks_before) {
  valve_.fail_from = 10;
  Feed ring("stays");
  CaptureWriter writer(options(), 77);
  feed(writer, ring);
  writer.finish();
  EXPECT_NE(writer.error(), "");
  CaptureReader reader(options().path);  // without an index: there was no room for it
  EXPECT_FALSE(reader.file().indexed());
  EXPECT_EQ(reader.file().blocks().size(), 9u);  // the first write is the file's header
  for (Chunk c; reader.next(c);) continue;
  EXPECT_EQ(reader.damage(), "");
}

TEST_F(CaptureLimits, a_row_of_files_each_complete) {
  Feed ring("row");
  CaptureOptions o = options();
  o.memory_bytes = 64 << 20;
  o.bounds.rotate_bytes = 256 << 10;
  CaptureWriter writer(o, 77);
  feed(writer, ring);
  writer.finish();
  EXPECT_EQ(writer.error(), "");
  const auto row = files();
  ASSERT_GT(row.size(), 2u);
  EXPECT_EQ(row, writer.files());
  EXPECT_EQ(fs::path(row[0]).filename(), "run.0000.ttc");
  for (const std::string& f : row) EXPECT_LE(fs::file_size(f), o.bounds.rotate_bytes + (64 << 10)) << f;
  const FilesAccount a = account_of(row);
  EXPECT_EQ(a.words, kWords);
  EXPECT_EQ(a.unexplained, 0u);
}

// The account does not pile up in a row of files: each has what falls into it, and the sums of all before.
TEST_F(CaptureLimits, a_row_of_files_each_with_its_losses_and_the_totals_until_then) {
  Feed ring("losses");
  CaptureOptions o = options();
  o.memory_bytes = 64 << 20;
  o.bounds.rotate_bytes = 64 << 10;
  CaptureWriter writer(o, 77);
  const CaptureWriter::Track& track = writer.add(ring.name());
  constexpr uint64_t kLosses = kLaunches / 100;
  for (uint64_t n = 0; n < kLosses; ++n) {
    const uint64_t taken = track.bytes();
    ring.lose(n, n == 0), ring.publish(100);
    // A writer that begins late takes all losses from the segment's table at once, into the first file.
    while (track.bytes() == taken) sched_yield();
  }
  ring.end();
  writer.finish();
  EXPECT_EQ(writer.error(), "");
  const auto row = files();
  ASSERT_GT(row.size(), 4u);
  std::set<uint64_t> before;
  for (size_t i = 0; i < row.size(); ++i) {
    std::set<uint64_t> in_file;
    uint64_t total = 0, words = 0;
    CaptureReader reader(row[i]);
    for (Chunk c; reader.next(c);) {
      const auto body = shm::body_of(c);
      if (shm::header_of(c).kind == shm::ChunkKind::loss) {
        shm::LossRecord r;
        std::memcpy(&r, body.data(), sizeof r);
        in_file.insert(r.id);
      } else if (shm::header_of(c).kind == shm::ChunkKind::loss_totals) {
        ASSERT_EQ(body.size(), sizeof(shm::LossTotal));
        shm::LossTotal t;
        std::memcpy(&t, body.data(), sizeof t);
        total = t.intervals, words = t.words;
      }
    }
    EXPECT_TRUE(in_file.contains(0)) << "it is open";
    EXPECT_EQ(total, before.size()) << row[i];
    EXPECT_EQ(words, 3 * before.size()) << row[i];
    EXPECT_LT(in_file.size(), kLosses * 3 / 4) << "no file repeats the whole account";
    before.insert(in_file.begin(), in_file.end());
  }
  EXPECT_EQ(before.size(), kLosses);
  EXPECT_EQ(account_of(row).unexplained, 0u);
}

TEST_F(CaptureLimits, a_largest_size_is_kept_by_removing_the_oldest_or_by_writing_no_more) {
  for (const Keep keep : {Keep::newest, Keep::oldest}) {
    for (const std::string& f : files()) fs::remove(f);
    Feed ring("size");
    CaptureOptions o = options();
    o.memory_bytes = 64 << 20;
    o.bounds.keep = keep;
    o.bounds.max_bytes = 512 << 10;
    if (keep == Keep::newest) o.bounds.rotate_bytes = 128 << 10;
    CaptureWriter writer(o, 77);
    feed(writer, ring);
    writer.finish();
    EXPECT_EQ(writer.error(), "");
    EXPECT_LE(bytes_on_disk(), o.bounds.max_bytes) << (keep == Keep::newest);
    EXPECT_GT(bytes_on_disk(), o.bounds.max_bytes / 2);
    const FilesAccount a = account_of(files());
    EXPECT_LT(a.words, kWords);
    EXPECT_EQ(a.ends, 1u);
    if (keep == Keep::oldest) {
      EXPECT_EQ(a.words + a.lost_words, kWords);
      EXPECT_EQ(a.lost[0].cause, shm::LossCause::not_kept);
    }
  }
}

// Rotation and age go by the monotonic clock; where even that were to go back, nothing happens but that.
TEST_F(CaptureLimits, by_time_also_when_the_clock_goes_back) {
  Feed ring("time");
  CaptureOptions o = options();
  o.memory_bytes = 64 << 20;
  std::atomic<uint64_t> reads{0};
  o.now_ns = [&] {  // a second a poll, and now and then an hour back
    const uint64_t n = reads++;
    return 10'000'000'000'000 + n * 1'000'000'000 - (n % 50 > 40 ? 3600'000'000'000 : 0);
  };
  o.bounds.rotate_ns = 20'000'000'000;
  o.bounds.max_age_ns = 100'000'000'000'000;
  CaptureWriter writer(o, 77);
  feed(writer, ring);
  writer.finish();
  EXPECT_GT(files().size(), 1u);
  const FilesAccount a = account_of(files());
  EXPECT_EQ(a.words, kWords);
}

TEST_F(CaptureLimits, a_file_removed_underneath_is_begun_anew_and_reported) {
  Feed ring("removed");
  CaptureOptions o = options();
  o.memory_bytes = 64 << 20;
  CaptureWriter writer(o, 77);
  writer.add(ring.name());
  for (unsigned n = 0; n < 100; ++n) ring.publish(100);
  while (writer.file_bytes() < 64 << 10) std::this_thread::yield();
  fs::remove(o.path);
  while (!fs::exists(o.path)) std::this_thread::yield();
  for (unsigned n = 0; n < 100; ++n) ring.publish(100);
  ring.end();
  writer.finish();
  ASSERT_EQ(writer.remarks().size(), 1u);
  EXPECT_NE(writer.remarks()[0].find("removed"), std::string::npos);
  const FilesAccount a = account_of(files());
  EXPECT_GE(a.words, 100u * 100 * 20);
  EXPECT_TRUE(a.indexed);
}

TEST_F(CaptureLimits, durable_syncs_now_and_then_and_at_the_end) {
  Feed ring("durable");
  CaptureOptions o = options();
  o.memory_bytes = 64 << 20;
  o.bounds.durable_ns = 1;
  CaptureWriter writer(o, 77);
  feed(writer, ring);
  writer.finish();
  EXPECT_GE(valve_.syncs, 1u);
  EXPECT_EQ(account_of(files()).words, kWords);
}

TEST_F(CaptureLimits, a_place_that_cannot_be_written_is_refused_at_once) {
  CaptureOptions o = options();
  o.path = directory_ / "no" / "such" / "run.ttc";
  EXPECT_THROW(CaptureWriter(o, 77), CaptureError);
  o.path = directory_;
  EXPECT_THROW(CaptureWriter(o, 77), CaptureError);
}

}  // namespace
}  // namespace ttc::collect
