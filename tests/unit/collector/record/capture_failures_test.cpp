// Each write, sync, rename, truncation, opening and allocation of a capture fails in turn, and disks of every size
// fill up: the files' own account equals the truth each time. What a file lacks is in an interval of it, or the
// file is not taken for a whole one; a capture without an error is whole.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <utility>

#include "collector/capture/capture_file.hpp"
#include "collector/record/capture_copy.hpp"
#include "collector/record/capture_writer.hpp"
#include "tests/support/ring_feed.hpp"
#include "tests/support/sanitized.hpp"
#include "ttcollect/capture_reader.hpp"
#include "ttcollect/loss_view.hpp"

namespace {

// Allocations of some size on other threads than those that are exempt, while armed. Smaller ones are left out
// because destroying a JSON value makes such (nlohmann/json), and a destructor that throws ends the process.
constexpr size_t kCounted = 256;
std::atomic<bool> armed{false};
std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> failing{~uint64_t{0}};
thread_local bool exempt = false;

}  // namespace

// A sanitizer has an allocator of its own, and checks that what it gave is given back to it.
#if !TTC_SANITIZED
// It must not be inlined: else the compiler warns of a mismatch within one matching pair.
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (armed.load(std::memory_order_relaxed) && !exempt && bytes >= kCounted &&
      allocations.fetch_add(1) == failing.load())
    throw std::bad_alloc();
  if (void* at = std::malloc(bytes ? bytes : 1)) return at;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* at) noexcept {
  std::free(at);
}
[[gnu::noinline]] void operator delete(void* at, size_t) noexcept {
  std::free(at);
}
#endif

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;

struct DiskFaults {
  std::atomic<uint64_t> calls{0};
  uint64_t failing_call = ~uint64_t{0};
  bool for_good = false;             // and every call after it
  uint64_t capacity = ~uint64_t{0};  // bytes of all files together
  uint64_t used = 0;
  bool fails() {
    const uint64_t call = calls++;
    return for_good ? call >= failing_call : call == failing_call;
  }
};

// Fails as the test sets it; of a write that fails half of the bytes are on the disk.
class FaultyDisk : public CaptureDisk {
 public:
  FaultyDisk(const std::string& path, DiskFaults& faults)
      : disk_(open_capture_disk(path, true)), faults_(faults), path_(path) {}
  ~FaultyDisk() override { release(); }

  void write(uint64_t offset, std::span<const std::byte> bytes, uint64_t tag) override {
    const uint64_t more = offset + bytes.size() > size_ ? offset + bytes.size() - size_ : 0;
    const uint64_t room = faults_.capacity - std::min(faults_.capacity, faults_.used);
    if (!faults_.fails() && more <= room) {
      faults_.used += more, size_ += more;
      return disk_->write(offset, bytes, tag);
    }
    const uint64_t half = std::min(room, bytes.size() / 2) / kCaptureAlign * kCaptureAlign;
    if (half) disk_->write(offset, bytes.first(half), ~uint64_t{0});
    failed_.push_back({tag, ENOSPC});
  }
  std::vector<Done> done(bool wait) override {
    auto all = disk_->done(wait && failed_.empty());
    std::erase_if(all, [](const Done& d) { return d.tag == ~uint64_t{0}; });
    all.insert(all.end(), failed_.begin(), failed_.end());
    failed_.clear();
    return all;
  }
  unsigned under_way() const override { return disk_->under_way() + static_cast<unsigned>(failed_.size()); }
  int sync() override { return faults_.fails() ? EIO : disk_->sync(); }
  int cut_at(uint64_t bytes) override {
    if (faults_.fails()) return EIO;
    return disk_->cut_at(bytes);
  }
  bool removed() const override { return disk_->removed(); }
  int rename(const std::string& path, bool lastingly) override {
    return faults_.fails() ? EACCES : disk_->rename(path, lastingly);
  }
  void discard() override {
    disk_->discard();
    release();
  }
  std::string how() const override { return disk_->how(); }

 private:
  void release() {
    if (disk_->removed()) faults_.used -= std::exchange(size_, 0);
  }
  std::unique_ptr<CaptureDisk> disk_;
  DiskFaults& faults_;
  std::string path_;
  uint64_t size_ = 0;
  std::vector<Done> failed_;
};

struct CaptureForm {
  const char* name;
  uint64_t rotate_bytes = 0, durable_ns = 0;
};
constexpr CaptureForm kForms[] = {
    {"one"}, {"durable", 0, 1}, {"row", 32 << 10}, {"durable row", 32 << 10, 1}};

class CaptureFailures : public testing::Test {
 protected:
  CaptureFailures()
      : directory_(fs::path(testing::TempDir()) / ("failures-" + std::to_string(getpid()))),
        feed_("failures", 4 << 20,
              R"({"device":"emu:x","arch":"wormhole_b0","mode":"normal","cores":[[1,2,3,0]]})") {
    exempt = true;
    for (unsigned n = 0; n < kChunks; ++n) {
      feed_.publish(50);
      if (n == kChunks / 3) {
        lost_by_card_ = feed_.launches().back().last;
        feed_.lose(0, false, true);
      }
    }
    feed_.end();
  }
  ~CaptureFailures() override {
    exempt = false;
    fs::remove_all(directory_);
  }

  CaptureOptions options(const CaptureForm& form) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    CaptureOptions o;
    o.path = directory_ / "run.ttc";
    o.block_bytes = 16 << 10;
    o.bounds.rotate_bytes = form.rotate_bytes;
    o.bounds.durable_ns = form.durable_ns;
    o.open_disk = [this](const std::string& path) -> std::unique_ptr<CaptureDisk> {
      if (faults_.fails()) throw CaptureError("capture " + path + " cannot be written: as the test set it");
      return std::make_unique<FaultyDisk>(path, faults_);
    };
    return o;
  }

  // Captures the feed, and checks what is left.
  void record(const CaptureForm& form, const std::string& what) {
    SCOPED_TRACE(std::string(form.name) + ", " + what);
    const CaptureOptions o = options(form);
    faults_.calls = faults_.used = 0;
    std::string error;
    std::vector<std::string> complete;
    armed = true;
    try {
      CaptureWriter writer(o, 77);
      writer.add(feed_.name());
      writer.finish();
      armed = false;
      error = writer.error();
      complete = writer.files();
    } catch (const CaptureError& e) {
      error = e.what();
    }
    armed = false;
    judge(error, complete);
  }

  void judge(const std::string& error, const std::vector<std::string>& complete) {
    for (const std::string& path : complete) {
      const CaptureFile file(path);
      EXPECT_TRUE(file.indexed()) << path;
      EXPECT_TRUE(file.damage().empty()) << path;
    }
    std::vector<std::string> all;
    for (const auto& e : fs::directory_iterator(directory_)) all.push_back(e.path());
    std::sort(all.begin(), all.end());
    LossView view(shm::LossCause::not_kept);
    std::vector<bool> there(feed_.launches().size());
    bool broke_off = false, lane_known = false;
    for (const std::string& path : all) {
      EXPECT_GT(fs::file_size(path), 0u) << path;
      CaptureReader reader(path);
      for (std::vector<uint64_t> c; reader.next(c);) {
        view.push(c);
        const shm::ChunkHeader& h = shm::header_of(c);
        lane_known |= h.kind == shm::ChunkKind::session;
        if (h.kind != shm::ChunkKind::device_words) continue;
        for (const auto& s : shm::spans_of(c))
          for (uint32_t w = s.word_offset; w < s.word_offset + s.word_count; w += kWordsALaunch)
            there[w / kWordsALaunch] = true;
      }
      if (reader.file().indexed()) {
        EXPECT_EQ(reader.damage(), "") << path;  // elsewhere a write may have ended in its middle
      }
      broke_off |= reader.broke_off();
    }
    if (broke_off) view.broke_off();
    view.finish();
    size_t missing = 0;
    LossView::Intervals lost;
    for (const auto& [session, intervals] : view.all()) lost.insert(intervals.begin(), intervals.end());
    const auto covered = [&](uint64_t after, uint64_t last) {
      return std::any_of(lost.begin(), lost.end(), [&](const auto& r) {
        return r.second.risc == 0 && r.second.from_cycles <= after && r.second.to_cycles > last;
      });
    };
    for (size_t i = 0; i < there.size(); ++i) {
      if (there[i]) continue;
      ++missing;
      // Without a session the lanes are not known: the file is marked as broken off.
      EXPECT_TRUE(covered(feed_.launches()[i].after, feed_.launches()[i].last) ||
                  (broke_off && !lane_known) || all.empty())
          << "launch " << i << " is missing without a word";
      if (HasFailure()) return;
    }
    if (!all.empty() && lane_known) {
      EXPECT_TRUE(covered(lost_by_card_, lost_by_card_)) << "the card's loss is not reported";
    }
    if (error.empty()) {
      EXPECT_EQ(missing, 0u);
      EXPECT_FALSE(broke_off);
      EXPECT_EQ(lost.size(), 1u);
    } else {
      ++failed_;
    }
    if (missing) {
      EXPECT_NE(error, "");
    }
  }

  static constexpr unsigned kChunks = 60;
  static constexpr uint32_t kWordsALaunch = 20;
  fs::path directory_;
  Feed feed_;
  DiskFaults faults_;
  uint64_t lost_by_card_ = 0;
  unsigned failed_ = 0;  // captures with an error
};

TEST_F(CaptureFailures, each_call_of_the_disk_fails_once_or_for_good) {
  for (const CaptureForm& form : kForms)
    for (const bool for_good : {false, true}) {
      faults_.failing_call = ~uint64_t{0};
      record(form, "nothing fails");
      const uint64_t calls = faults_.calls;
      ASSERT_GT(calls, 5u);
      failed_ = 0;
      faults_.for_good = for_good;
      // Syncs are most of the calls of those that last, and alike.
      for (uint64_t n = 0; n < calls && !HasFailure(); n += form.durable_ns ? 3 : 1) {
        faults_.failing_call = n;
        record(form, "call " + std::to_string(n) + (for_good ? " for good" : ""));
      }
      EXPECT_GT(failed_, calls / (form.durable_ns ? 6 : 2));
    }
}

TEST_F(CaptureFailures, disks_of_every_size) {
  for (const CaptureForm& form : kForms) {
    faults_.capacity = ~uint64_t{0};
    record(form, "any size");
    const uint64_t all = faults_.used;
    ASSERT_GT(all, 10 * kCaptureAlign);
    failed_ = 0;
    // Forms that last write what the others write.
    const uint64_t step = kSanitized && form.durable_ns ? 3 * kCaptureAlign : kCaptureAlign;
    for (uint64_t size = 0; size < all && !HasFailure(); size += step) {
      faults_.capacity = size;
      record(form, std::to_string(size) + " bytes of " + std::to_string(all));
    }
    EXPECT_GE(failed_, all / step - 1);
  }
}

TEST_F(CaptureFailures, each_allocation_fails) {
  if (kSanitized) GTEST_SKIP() << "the allocator is the sanitizer's";
  for (const CaptureForm& form : {kForms[0], kForms[2]}) {
    failing = ~uint64_t{0};
    allocations = 0;
    record(form, "no allocation fails");
    const uint64_t all = allocations;
    ASSERT_GT(all, 50u);
    failed_ = 0;
    constexpr uint64_t kTries = 60;
    for (uint64_t n = 0; n < kTries && !HasFailure(); ++n) {
      failing = n < kTries / 2 ? n : n * all / kTries;
      allocations = 0;
      record(form, "allocation " + std::to_string(failing));
    }
    EXPECT_GT(failed_, kTries / 4);
  }
  failing = ~uint64_t{0};
}

// What recover and snapshot write is there as a whole or not at all.
TEST_F(CaptureFailures, a_copy_appears_whole_or_not_at_all) {
  const std::string path = directory_ / "copy.ttc";
  fs::create_directories(directory_);
  for (uint64_t blocks = 0;; ++blocks) {
    fs::remove(path);
    bool written = true;
    try {
      CaptureCopy copy(path, 77, shm::LossCause::not_kept, [&](const std::string& name) {
        faults_.used = 0;
        faults_.capacity = blocks * kCaptureAlign;
        return std::make_unique<FaultyDisk>(name, faults_);
      });
      shm::Reader reader(feed_.name(), shm::StartAt::oldest);
      for (std::vector<uint64_t> c; reader.next(c, 0) == shm::Reader::Next::chunk;) copy.add(c);
      copy.finish();
    } catch (const CaptureError&) {
      written = false;
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()), written ? 1 : 0);
    if (!written) continue;
    EXPECT_TRUE(CaptureFile(path).indexed());
    EXPECT_GT(blocks, 3u);
    break;
  }
}

}  // namespace
}  // namespace ttc::collect
