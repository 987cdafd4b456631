#include "shm/segment.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "segment_file.hpp"
#include "shm/reader.hpp"
#include "test_point.hpp"

namespace ttc::shm {
namespace bip = boost::interprocess;
namespace {

uint64_t page_round(uint64_t bytes) {
  return (bytes + 4095) & ~uint64_t{4095};
}

void copy_text(char (&to)[64], std::string_view from) {
  std::memcpy(to, from.data(), std::min(from.size(), sizeof to - 1));
}

std::string mebibytes(uint64_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

// Moves aside or removes what a former writer left. Throws when it is still alive.
void clear_the_way(const std::string& live_name) {
  const int fd = open(segment_path(live_name).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return;
    throw SegmentError("segment " + segment_path(live_name) +
                       " cannot be taken over: " + std::strerror(errno));
  }
  const bool free = take_over(fd);
  SegmentHeader header_untrusted;
  const bool whole = pread(fd, static_cast<void*>(&header_untrusted), sizeof header_untrusted, 0) ==
                     static_cast<ssize_t>(sizeof header_untrusted);
  // In a segment of another major version no field behind the version is where this build has it: whether it
  // ended in order, or holds anything, is not known, so it is kept.
  const bool foreign =
      whole && header_untrusted.magic.load() == kMagic && header_untrusted.abi_major != kAbiMajor;
  const auto pid = whole && !foreign ? header_untrusted.writer_pid : 0;
  const bool ended = whole && header_untrusted.state.load() == SegmentState::ended;
  const bool used = whole && header_untrusted.ring.tail.load() != 0;
  if (!free) {
    close(fd);
    throw SegmentError("another ttcollect (pid " + std::to_string(pid) + ") is collecting '" + live_name +
                       "'; readers can attach to it with --from live:" + live_name);
  }
  if (foreign || (!ended && used))
    std::filesystem::rename(segment_path(live_name), segment_path(live_name + kRemainsSuffix)),
        test_point("remains_moved");
  else
    bip::shared_memory_object::remove(segment_object(live_name).c_str());
  close(fd);
}

// Crash remains are given up for a new segment, but only when that is what it takes.
bool remains_would_make_room(const std::string& live_name, uint64_t wanted) {
  std::error_code error;
  const auto remains = std::filesystem::file_size(segment_path(live_name + kRemainsSuffix), error);
  if (error) return false;
  const auto space = std::filesystem::space("/dev/shm", error);
  const auto own =
      std::filesystem::file_size(segment_path(live_name), error);  // allocated so far, comes back
  return !error && space.available + remains + own >= wanted;
}

}  // namespace

std::string segment_object(const std::string& live_name) {
  return "ttcollect-" + live_name;
}
std::string segment_path(const std::string& live_name) {
  return "/dev/shm/" + segment_object(live_name);
}

namespace {
struct flock lock_of(short type, off_t start, off_t bytes) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = bytes;
  return lock;
}
bool take(int fd, off_t start) {
  struct flock lock = lock_of(F_WRLCK, start, 0);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}
bool held(int fd, off_t bytes) {
  struct flock lock = lock_of(F_RDLCK, 0, bytes);
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}
}  // namespace

bool take_writer_lock(int fd) {
  return take(fd, 0);
}
bool take_over(int fd) {
  return take(fd, 1);
}
bool writer_lock_held(int fd) {
  return held(fd, 1);
}
bool any_lock_held(int fd) {
  return held(fd, 0);
}

const char* label(Counter counter) {
  constexpr const char* kLabels[] = {"sweeps",
                                     "sweep_ns_p50",
                                     "sweep_ns_p99",
                                     "sweep_ns_max",
                                     "round_trips",
                                     "window_moves",
                                     "card_bytes",
                                     "cores",
                                     "lanes",
                                     "programs",
                                     "markers",
                                     "frames",
                                     "chunks",
                                     "chunk_bytes",
                                     "epochs",
                                     "retries",
                                     "recovered_words",
                                     "loss_intervals",
                                     "dropped_on_card_launches",
                                     "host_reset_intervals",
                                     "unparsable_words",
                                     "card_gone_intervals",
                                     "unreadable_intervals",
                                     "suspect_tiles",
                                     "suspicions",
                                     "slow_reads",
                                     "all_ones_reads",
                                     "disk_bytes",
                                     "disk_lapped_bytes",
                                     "wakes",
                                     "link_bytes_per_s",
                                     "clock_samples",
                                     "clock_steps",
                                     "clock_violations",
                                     "clock_eras",
                                     "clock_hz",
                                     "clock_bound_ns",
                                     "missed_poll_deadlines"};
  static_assert(std::size(kLabels) == kCounters);
  return kLabels[static_cast<size_t>(counter)];
}

struct SegmentWriter::Mapped {
  bip::shared_memory_object object;
  bip::mapped_region region;
  SegmentHeader* header = nullptr;
  CounterSlot* counters = nullptr;
  uint64_t* standing = nullptr;
  uint64_t sequence = 0;  // of standing chunks
  std::unique_ptr<ClockTableWriter> clock;
  std::unique_ptr<LossTableWriter> losses;
};

SegmentWriter::SegmentWriter(const std::string& live_name, const std::string& device_spec, uint64_t session,
                             const SegmentOptions& options)
    : mapped_(std::make_unique<Mapped>()) {
  if (live_name.empty() || live_name.size() > 60 || live_name.find('/') != std::string::npos)
    throw SegmentError("live name '" + live_name + "' must have 1 to 60 characters and no '/'");
  clear_the_way(live_name);

  const uint64_t ring_bytes = std::bit_ceil(std::max<uint64_t>(options.ring_bytes, 64 << 10));
  const uint64_t counters_at = 4096;
  const uint64_t standing_at = counters_at + page_round(kCounters * sizeof(CounterSlot));
  const uint64_t clock_at = standing_at + page_round(options.standing_bytes);
  const uint64_t loss_at = clock_at + page_round(kClockTableBytes);
  const uint64_t loss_bytes = options.loss_records * sizeof(LossRecord);
  const uint64_t ring_at = loss_at + page_round(loss_bytes);
  const uint64_t total = ring_at + ring_bytes;

  bip::permissions permissions(static_cast<int>(options.mode));
  try {
    mapped_->object = bip::shared_memory_object(bip::create_only, segment_object(live_name).c_str(),
                                                bip::read_write, permissions);
  } catch (const bip::interprocess_exception& e) {
    throw SegmentError("segment " + segment_path(live_name) + " cannot be created: " + e.what() +
                       "; another ttcollect may be starting, try again");
  }
  const int fd = mapped_->object.get_mapping_handle().handle;
  const auto give_up = [&](const std::string& why) {
    bip::shared_memory_object::remove(segment_object(live_name).c_str());
    throw SegmentError(why);
  };
  if (!take_writer_lock(fd))
    give_up("another ttcollect took '" + live_name + "' at the same moment; try again");
  test_point("segment_named");
  // Reserve every page now: a shortage is a sentence at the start, not a SIGBUS in the middle of the night.
  int error = posix_fallocate(fd, 0, static_cast<off_t>(total));
  if (error == ENOSPC && remains_would_make_room(live_name, total)) {
    bip::shared_memory_object::remove(segment_object(live_name + kRemainsSuffix).c_str());
    error = posix_fallocate(fd, 0, static_cast<off_t>(total));
  }
  if (error)
    give_up("/dev/shm has no room for a ring of " + mebibytes(total) + " (" + std::strerror(error) +
            "); free some, enlarge it, or give a smaller --ring");
  if (!options.group.empty()) {
    const group* g = getgrnam(options.group.c_str());
    if (!g || fchown(fd, static_cast<uid_t>(-1), g->gr_gid) != 0)
      give_up("group '" + options.group + "' cannot be given the segment; name one you are a member of");
  }
  mapped_->region = bip::mapped_region(mapped_->object, bip::read_write);
  auto* base = static_cast<std::byte*>(mapped_->region.get_address());
  auto* h = new (base) SegmentHeader;
  h->total_bytes = total;
  h->counters_offset = counters_at;
  h->counters_count = kCounters;
  h->standing_offset = standing_at;
  h->standing_capacity = page_round(options.standing_bytes);
  h->clock_offset = clock_at;
  h->clock_bytes = kClockTableBytes;
  h->loss_offset = loss_at;
  h->loss_bytes = loss_bytes;
  h->ring_offset = ring_at;
  h->ring_capacity = ring_bytes;
  h->session = session;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  h->created_realtime_ns =
      static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
  h->writer_pid = getpid();
  copy_text(h->live_name, live_name);
  copy_text(h->device_spec, device_spec);
  mapped_->header = h;
  mapped_->counters = reinterpret_cast<CounterSlot*>(base + counters_at);
  for (size_t i = 0; i < kCounters; ++i) {
    auto* slot = new (&mapped_->counters[i]) CounterSlot;
    const char* text = label(static_cast<Counter>(i));
    std::memcpy(slot->label, text, std::min(std::strlen(text), sizeof slot->label - 1));
  }
  mapped_->standing = reinterpret_cast<uint64_t*>(base + standing_at);
  mapped_->clock = std::make_unique<ClockTableWriter>(
      *new (base + clock_at) ClockTableControl,
      reinterpret_cast<uint64_t*>(base + clock_at + sizeof(ClockTableControl)));
  mapped_->losses = std::make_unique<LossTableWriter>(
      h->losses, std::span(reinterpret_cast<uint64_t*>(base + loss_at), loss_bytes / 8));
  ring_ = std::make_unique<RingWriter>(
      h->ring, std::span(reinterpret_cast<uint64_t*>(base + ring_at), ring_bytes / 8));
  test_point("segment_built");
  h->magic.store(kMagic, std::memory_order_release);  // last: who sees it sees the whole header
  test_point("segment_ready");
}

SegmentWriter::~SegmentWriter() = default;

bool SegmentWriter::add_standing(ChunkKind kind, std::string_view text) {
  SegmentHeader& h = *mapped_->header;
  const uint64_t at = h.standing_tail.load(std::memory_order_relaxed);  // only this writer stores to it
  const uint64_t bytes = sizeof(ChunkHeader) + text.size();
  if (at + align_record(bytes) > h.standing_capacity) return false;
  ChunkHeader chunk;
  chunk.bytes = static_cast<uint32_t>(bytes);
  chunk.kind = kind;
  chunk.flags = kStanding;
  chunk.sequence = mapped_->sequence++;
  chunk.session = h.session;
  uint64_t* to = mapped_->standing + at / 8;
  store_bytes(to, &chunk, sizeof chunk);
  store_bytes(to + sizeof chunk / 8, text.data(), text.size());
  test_point("standing_written");
  h.standing_tail.store(at + align_record(bytes), std::memory_order_release);  // the chunk is seen before it
  return true;
}

bool SegmentWriter::tell_loss(const LossRecord& record) {
  return mapped_->losses->tell(record);
}

// Relaxed: a counter is a figure of its own and announces nothing else.
void SegmentWriter::set(Counter c, uint64_t value) {
  mapped_->counters[static_cast<size_t>(c)].value.store(value, std::memory_order_relaxed);
}
void SegmentWriter::add(Counter c, uint64_t value) {
  set(c, get(c) + value);
}
uint64_t SegmentWriter::get(Counter c) const {
  return mapped_->counters[static_cast<size_t>(c)].value.load(std::memory_order_relaxed);
}
void SegmentWriter::set_clock(std::span<const uint64_t> words) {
  mapped_->clock->publish(words);
}
void SegmentWriter::heartbeat(uint64_t ns) {
  mapped_->header->heartbeat_ns.store(ns, std::memory_order_relaxed);
}

void SegmentWriter::wake_readers() {
  std::atomic<uint32_t>& wake = mapped_->header->wake;
  wake.fetch_add(1, std::memory_order_release);  // who sees it sees what was published before
  syscall(SYS_futex, &wake, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SegmentWriter::end() {
  mapped_->header->state.store(SegmentState::ended,
                               std::memory_order_release);  // all that was published first
  wake_readers();
}
uint64_t SegmentWriter::session() const {
  return mapped_->header->session;
}

std::vector<SegmentInfo> list_segments() {
  std::vector<SegmentInfo> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string file = entry.path().filename();
    if (!file.starts_with("ttcollect-")) continue;
    const std::string name = file.substr(10);
    try {
      found.push_back(Reader(name, StartAt::newest).info());
    } catch (const SegmentError& e) {
      SegmentInfo info;
      info.live_name = name;
      info.refused = e.what();
      found.push_back(info);
    }
  }
  return found;
}

bool remove_segment(const std::string& live_name) {
  const int fd = open(segment_path(live_name).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool alive = any_lock_held(fd);
  close(fd);
  return !alive && bip::shared_memory_object::remove(segment_object(live_name).c_str());
}

}  // namespace ttc::shm
