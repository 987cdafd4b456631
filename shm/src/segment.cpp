#include "shm/segment.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
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

std::string is_collecting(int64_t pid, const SegmentFile& file) {
  const bool own = file.user == geteuid();
  return "another ttcollect (pid " + std::to_string(pid) + (own ? "" : " of " + user_name(file.user)) +
         ") is collecting '" + file.live_name +
         "'; readers can attach to it with --from live:" + file.address();
}

struct HeaderUntrusted {
  SegmentHeader fields;
  bool whole;
  explicit HeaderUntrusted(int fd)
      : whole(pread(fd, static_cast<void*>(&fields), sizeof fields, 0) ==
              static_cast<ssize_t>(sizeof fields)) {}
  // True for another major version: no field behind the version is where this build has it.
  bool foreign() const { return whole && fields.magic.load() == kMagic && fields.abi_major != kAbiMajor; }
  int64_t pid() const { return whole && !foreign() ? fields.writer_pid : 0; }
};

// One card, one collector: other users' collectors count as far as this user can detect them.
void refuse_beside_others(const std::string& live_name) {
  for (const SegmentFile& file : segment_files()) {
    if (file.live_name != live_name || file.user == geteuid()) continue;
    const SegmentDescriptor opened(file.path(), O_RDONLY);
    if (!opened.error() && writer_lock_held(opened.get()))
      throw SegmentError(is_collecting(HeaderUntrusted(opened.get()).pid(), file));
  }
}

// Removes what is at `path` and is no file that this user may write. Only the file's owner can have put it there.
void remove_obstacle(const std::string& path, int error) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return;
  const bool plain = S_ISREG(info.st_mode) && info.st_uid == geteuid();
  if (!plain && !S_ISDIR(info.st_mode) && unlink(path.c_str()) == 0) return;
  const std::string what = S_ISLNK(info.st_mode)   ? "a symbolic link"
                           : S_ISREG(info.st_mode) ? "a file"
                                                   : "no segment";
  throw SegmentError("segment " + path + " cannot be taken over: " + std::strerror(error) + "; it is " +
                     what + " of " + user_name(info.st_uid) + ", which that user or root can remove");
}

// Moves aside or removes what an earlier writer left. Throws if that writer is still running.
void clear_the_way(const std::string& live_name) {
  refuse_beside_others(live_name);
  const std::string path = segment_path(live_name);
  const SegmentDescriptor opened(path, O_RDWR);
  if (opened.error() == ENOENT) return;
  if (opened.error()) return remove_obstacle(path, opened.error());
  const bool free = take_over(opened.get());
  const HeaderUntrusted header(opened.get());
  // Whether a foreign one ended in order, or holds anything, is not known, so it is kept.
  const bool ended = header.whole && header.fields.state.load() == SegmentState::ended;
  const bool used = header.whole && header.fields.ring.tail.load() != 0;
  if (!free)
    throw SegmentError(is_collecting(header.pid(), {live_name, geteuid(), segment_object(live_name)}));
  if (header.foreign() || (!ended && used))
    std::filesystem::rename(path, segment_path(live_name + kRemainsSuffix)), test_point("remains_moved");
  else
    bip::shared_memory_object::remove(segment_object(live_name).c_str());
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
                                     "missed_poll_deadlines",
                                     "log_words",
                                     "recycles",
                                     "visibility_0_to_8_us",
                                     "visibility_8_to_16_us",
                                     "visibility_16_to_32_us",
                                     "visibility_32_to_64_us",
                                     "visibility_64_to_128_us",
                                     "visibility_128_to_256_us",
                                     "visibility_256_to_512_us",
                                     "visibility_512_to_1024_us",
                                     "visibility_1024_to_2048_us",
                                     "visibility_2048_to_4096_us",
                                     "visibility_4096_to_8192_us",
                                     "visibility_8192_to_16384_us",
                                     "visibility_16384_to_32768_us",
                                     "visibility_32768_to_65536_us",
                                     "visibility_65536_us_and_more",
                                     "visibility_bound_ns",
                                     "visibility_without_clock",
                                     "lines_beyond_share"};
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
  h->magic.store(kMagic, std::memory_order_release);  // last: a reader that reads it reads the whole header
  test_point("segment_ready");
}

SegmentWriter::~SegmentWriter() = default;

std::optional<ChunkHeader> SegmentWriter::add_standing(ChunkKind kind, std::string_view text) {
  SegmentHeader& h = *mapped_->header;
  const uint64_t at = h.standing_tail.load(std::memory_order_relaxed);  // only this writer stores to it
  const uint64_t bytes = sizeof(ChunkHeader) + text.size();
  if (at + align_record(bytes) > h.standing_capacity) return std::nullopt;
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
  h.standing_tail.store(at + align_record(bytes),
                        std::memory_order_release);  // the chunk is visible before it
  return chunk;
}

bool SegmentWriter::report_loss(const LossRecord& record) {
  return mapped_->losses->publish(record);
}

// Relaxed: a counter is a figure of its own and publishes no other data.
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
  ring_->announce();
  std::atomic<uint32_t>& wake = mapped_->header->wake;
  wake.fetch_add(1, std::memory_order_release);  // a reader of it also reads what was published before
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
  for (const SegmentFile& file : segment_files()) {
    SegmentInfo info;
    try {
      info = Reader(file.live_name + "." + std::to_string(file.user), StartAt::newest).info();
    } catch (const SegmentError& e) {
      info.refused = e.what();
    }
    info.live_name = file.address();
    info.user = file.user;
    found.push_back(info);
  }
  return found;
}

Removal remove_segment(const std::string& address) {
  const std::vector<SegmentFile> files = segment_files();
  const auto file = std::find_if(files.begin(), files.end(), [&](const auto& f) {
    return f.address() == address || f.live_name + "." + std::to_string(f.user) == address;
  });
  if (file == files.end()) return {};
  struct stat info {};
  if (lstat(file->path().c_str(), &info) != 0) return {};
  if (S_ISREG(info.st_mode)) {
    const SegmentDescriptor opened(file->path(), O_RDONLY);
    if (opened.error() == ENOENT) return {};
    if (opened.error())
      return {false, "live:" + address + " belongs to " + user_name(file->user) +
                         " and is not removed: this user cannot detect whether it is in use; "
                         "`ttcollect clean` of that user or of root removes what is not"};
    if (any_lock_held(opened.get())) return {};
  }
  if (unlink(file->path().c_str()) == 0) return {true, {}};
  return {false, file->path() + " stays: " + std::strerror(errno) + "; it belongs to " +
                     user_name(info.st_uid) + ", and `ttcollect clean` of that user or of root removes it"};
}

}  // namespace ttc::shm
