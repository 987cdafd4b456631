#include "shm/reader.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "attempts.hpp"
#include "cut_mapping.hpp"
#include "segment_file.hpp"

namespace ttc::shm {
namespace bip = boost::interprocess;
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kSpins = 200;

// The parts of a header a reader relies on, copied once and checked.
struct Geometry {
  uint64_t counters_offset, counters_count;
  uint64_t standing_offset, standing_capacity;
  uint64_t ring_offset, ring_capacity;
  uint64_t clock_offset;             // 0: no table
  uint64_t loss_offset, loss_bytes;  // 0, 0: no table
};

bool inside(uint64_t offset, uint64_t bytes, uint64_t total) {
  return offset % 64 == 0 && offset >= sizeof(SegmentHeader) && offset <= total && bytes <= total - offset;
}

// Empty when sound.
std::string check_header(const SegmentHeader& h, uint64_t mapped_bytes, Geometry& g) {
  // Acquire: the magic is stored last, so the fields below are as the writer left them.
  if (h.magic.load(std::memory_order_acquire) != kMagic) return "it is not complete (no magic word)";
  if (h.abi_major != kAbiMajor)
    return "its format is version " + std::to_string(h.abi_major) + ", this reader supports " +
           std::to_string(kAbiMajor);
  g = {h.counters_offset, h.counters_count, h.standing_offset, h.standing_capacity, h.ring_offset,
       h.ring_capacity,   h.clock_offset,   h.loss_offset,     h.loss_bytes};
  if (h.clock_bytes < kClockTableBytes) g.clock_offset = 0;
  if (h.total_bytes != mapped_bytes) return "its size field does not match its size";
  if (g.counters_count > 4096 ||
      !inside(g.counters_offset, g.counters_count * sizeof(CounterSlot), mapped_bytes))
    return "its counters are outside of the segment";
  if (!inside(g.standing_offset, g.standing_capacity, mapped_bytes))
    return "its standing area is outside of the segment";
  if (!std::has_single_bit(g.ring_capacity) || g.ring_capacity < 4096 ||
      !inside(g.ring_offset, g.ring_capacity, mapped_bytes))
    return "its ring is outside of the segment, or its size is not valid";
  if (g.clock_offset && !inside(g.clock_offset, kClockTableBytes, mapped_bytes))
    return "its clock table is outside of the segment";
  if (g.loss_offset && !inside(g.loss_offset, g.loss_bytes, mapped_bytes))
    return "its loss table is outside of the segment";
  if (!g.loss_offset) g.loss_bytes = 0;
  // A live writer raises both meanwhile: the first `oldest` cannot be above tail, and an `oldest` loaded after
  // tail cannot be more than a ring below it. Acquire keeps the three loads in this order.
  const uint64_t oldest_before = h.ring.oldest.load(std::memory_order_acquire);
  const uint64_t announced_before = h.ring.announced.load(std::memory_order_acquire);
  const uint64_t tail = h.ring.tail.load(std::memory_order_acquire);
  const uint64_t oldest_after = h.ring.oldest.load(std::memory_order_acquire);
  if (oldest_before > tail || announced_before > tail || announced_before % kRecordAlign ||
      (tail > oldest_after && tail - oldest_after > g.ring_capacity) || oldest_before % kRecordAlign ||
      tail % kRecordAlign)
    return "its ring positions make no sense";
  return {};
}

template <size_t N>
std::string text_of(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

constexpr uint64_t kNoSlot = ~uint64_t{0};
using SlotPlaces = std::array<uint64_t, kCounters>;  // by Counter: its slot in the segment

// Slots are found by their labels, so that counters may come, go and move between versions.
SlotPlaces slots_by_label(const CounterSlot* slots_untrusted, uint64_t count) {
  static const auto known = [] {
    std::unordered_map<std::string_view, size_t> numbers;
    for (size_t c = 0; c < kCounters; ++c) numbers.emplace(label(static_cast<Counter>(c)), c);
    return numbers;
  }();
  SlotPlaces places;
  places.fill(kNoSlot);
  for (uint64_t i = 0; i < count; ++i)
    if (const auto found = known.find(text_of(slots_untrusted[i].label)); found != known.end())
      if (uint64_t& place = places[found->second]; place == kNoSlot) place = i;
  return places;
}

}  // namespace

struct Reader::Impl {
  int fd = -1;
  bip::mapped_region region;
  std::optional<CutMapping> watched;  // of `region`
  std::span<const std::byte> bytes;
  const SegmentHeader* header = nullptr;
  Geometry geometry{};
  SlotPlaces slots{};
  std::unique_ptr<RingCursor> cursor;
  uint64_t standing_position = 0;
  bool losses_due = true;  // the table is to be examined: at first, and when the ring's records were missed
  uint64_t loss_position = 0, loss_end = 0;  // of the table, records
  SegmentInfo info;
  bool counted = false;  // a chunk of the ring was counted
  uint64_t next_sequence = 0;
  uint64_t lost_chunks = 0;
  Overwritten overwritten;
  std::string damage;
  Clock::duration recheck = std::chrono::milliseconds(100);

  ~Impl() {
    if (fd >= 0) close(fd);
  }

  void adopt(std::span<const std::byte> segment, StartAt start) {
    bytes = segment;
    if (bytes.size() < sizeof(SegmentHeader)) throw SegmentError("it is smaller than a segment header");
    header = reinterpret_cast<const SegmentHeader*>(bytes.data());
    if (const std::string why = check_header(*header, bytes.size(), geometry); !why.empty())
      throw SegmentError(why);
    slots = slots_by_label(counters(), geometry.counters_count);
    cursor = std::make_unique<RingCursor>(
        header->ring, std::span(reinterpret_cast<const uint64_t*>(bytes.data() + geometry.ring_offset),
                                geometry.ring_capacity / 8));
    if (start == StartAt::oldest)
      cursor->to_oldest();
    else
      cursor->to_newest();
    info.live_name = text_of(header->live_name);
    info.device_spec = text_of(header->device_spec);
    info.session = header->session;
    info.writer_pid = header->writer_pid;
    info.bytes = bytes.size();
    info.ended = header->state.load(std::memory_order_acquire) == SegmentState::ended;
    info.alive = fd >= 0 && writer_lock_held(fd);
  }

  const CounterSlot* counters() const {
    return reinterpret_cast<const CounterSlot*>(bytes.data() + geometry.counters_offset);
  }

  bool next_standing(std::vector<uint64_t>& chunk) {
    // Acquire: the chunks below it are whole. They never change again, so that copying them needs no check.
    const uint64_t tail_untrusted = header->standing_tail.load(std::memory_order_acquire);
    if (standing_position == tail_untrusted) return false;
    if (tail_untrusted > geometry.standing_capacity || tail_untrusted < standing_position)
      return fail("the standing area's end makes no sense");
    const auto* at =
        reinterpret_cast<const uint64_t*>(bytes.data() + geometry.standing_offset + standing_position);
    const uint64_t left = tail_untrusted - standing_position;
    if (left < sizeof(ChunkHeader)) return fail("a standing chunk's header is cut short");
    const auto length_untrusted = static_cast<uint32_t>(__atomic_load_n(at, __ATOMIC_ACQUIRE));
    if (left < sizeof(ChunkHeader) || length_untrusted < sizeof(ChunkHeader) ||
        align_record(length_untrusted) > left)
      return fail("a standing chunk's length makes no sense");
    chunk.resize((length_untrusted + 7) / 8);
    for (size_t i = 0; i < chunk.size(); ++i) chunk[i] = __atomic_load_n(at + i, __ATOMIC_ACQUIRE);
    standing_position += align_record(length_untrusted);
    if (const std::string why = check_chunk(chunk); !why.empty()) return fail("standing chunk: " + why);
    return true;
  }

  // Must be called after the ring's tail was loaded: what the table does not show yet is in the ring behind it.
  void poll_losses() {
    losses_due = false;
    loss_position = 0;
    loss_end = header->losses.load(std::memory_order_acquire);  // records below it were stored as a whole
    if (loss_end > geometry.loss_bytes / sizeof(LossRecord)) {
      loss_end = 0;
      fail("the loss table's end makes no sense");
    }
  }

  bool next_loss(std::vector<uint64_t>& chunk) {
    if (loss_position == loss_end) return false;
    const LossRecord record =
        loss_at(reinterpret_cast<const uint64_t*>(bytes.data() + geometry.loss_offset), loss_position++);
    ChunkHeader h;
    h.bytes = sizeof h + sizeof record;
    h.kind = ChunkKind::loss;
    h.flags = kStanding;
    h.session = info.session;
    h.device = record.device;
    h.core_x = record.core_x;
    h.core_y = record.core_y;
    h.epoch = record.epoch;
    chunk.resize(h.bytes / 8);
    std::memcpy(chunk.data(), &h, sizeof h);
    std::memcpy(chunk.data() + sizeof h / 8, &record, sizeof record);
    if (const std::string why = check_chunk(chunk); !why.empty()) return fail("loss table: " + why);
    return true;
  }

  bool fail(const std::string& why) {
    damage = why;
    return false;
  }

  void count(const ChunkHeader& h) {
    if (!counted && h.sequence) overwritten = {h.sequence, cursor->position() - align_record(h.bytes), 0};
    if (overwritten.chunks && !overwritten.kept_from_ns) overwritten.kept_from_ns = h.read_time_ns;
    if (counted && h.sequence > next_sequence) lost_chunks += h.sequence - next_sequence;
    counted = true;
    next_sequence = h.sequence + 1;
  }

  // Everything that was published, or what readers that poll go by (ring.hpp).
  enum class Upto { announced, tail };

  // One poll without waiting.
  Next poll(std::vector<uint64_t>& chunk, Upto upto) {
    const Next found = poll_mapped(chunk, upto);
    if (!watched || !watched->cut()) return found;
    damage = "its file was cut while it was read";
    return Next::damaged;
  }
  Next poll_mapped(std::vector<uint64_t>& chunk, Upto upto) {
    if (!damage.empty()) return Next::damaged;
    // The end first: names published before a ring chunk are then delivered before it.
    const uint64_t tail = upto == Upto::tail ? cursor->tail() : cursor->announced();
    if (next_standing(chunk)) return Next::chunk;
    if (losses_due) poll_losses();
    if (damage.empty() && next_loss(chunk)) return Next::chunk;
    if (!damage.empty()) return Next::damaged;
    switch (cursor->next_before(tail, chunk)) {
      case Poll::empty:
        return Next::timeout;
      case Poll::lapped:
        losses_due = true;
        return Next::lapped;
      case Poll::damaged:
        damage = "a ring record's length makes no sense";
        return Next::damaged;
      case Poll::record:
        break;
    }
    if (const std::string why = check_chunk(chunk); !why.empty()) {
      damage = "ring chunk: " + why;
      return Next::damaged;
    }
    if (!(header_of(chunk).flags & kStanding)) count(header_of(chunk));
    return Next::chunk;
  }

  // Whether the writer is gone. Must be called before the last poll for chunks, so that none is missed.
  Next finality() const {
    // Acquire: what was published before `ended` is visible to that poll.
    if (header->state.load(std::memory_order_acquire) == SegmentState::ended) return Next::ended;
    if (fd >= 0 && !writer_lock_held(fd)) return Next::writer_died;
    return Next::timeout;
  }

  void sleep_on(uint32_t seen, Clock::duration time) const {
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    const timespec relative{static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
    syscall(SYS_futex, &header->wake, FUTEX_WAIT, seen, &relative, nullptr, 0);
  }
};

Reader::Reader(std::span<const std::byte> segment, StartAt start) : impl_(std::make_unique<Impl>()) {
  impl_->adopt(segment, start);
}

Reader::Reader(const std::string& live_name, StartAt start, unsigned wait_ms)
    : impl_(std::make_unique<Impl>()) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(wait_ms);
  timespec realtime{};
  clock_gettime(CLOCK_REALTIME, &realtime);
  const uint64_t began =
      static_cast<uint64_t>(realtime.tv_sec) * 1000000000u + static_cast<uint64_t>(realtime.tv_nsec);
  // Awaits the file, its size, its magic word. Empty: attached.
  const auto attach = [&](bool last) -> std::string {
    try {
      const SegmentFile file = find_segment(live_name);
      bip::shared_memory_object object(bip::open_only, file.object.c_str(), bip::read_only);
      bip::offset_t size = 0;
      if (object.get_size(size) && size >= static_cast<bip::offset_t>(sizeof(SegmentHeader))) {
        bip::mapped_region region(object, bip::read_only);
        const int fd = fcntl(object.get_mapping_handle().handle, F_DUPFD_CLOEXEC, 0);
        impl_ = std::make_unique<Impl>();
        impl_->fd = fd;
        impl_->region.swap(region);
        impl_->watched.emplace(impl_->region.get_address(), impl_->region.get_size());
        impl_->adopt({static_cast<const std::byte*>(impl_->region.get_address()), impl_->region.get_size()},
                     start);
        impl_->info.live_name = live_name;  // remains were renamed
        impl_->info.user = file.user;
        // A caller that waits does not wait for what an earlier collector left, until the time is over.
        const bool earlier = !impl_->info.alive && impl_->header->created_realtime_ns < began;
        return earlier && !last ? "its collector does not run" : "";
      }
      return "it has no size yet";
    } catch (const bip::interprocess_exception& e) {
      return e.get_error_code() == bip::not_found_error ? "there is no such segment" : e.what();
    } catch (const SegmentError& e) {
      return e.what();
    }
  };
  // Pauses because it waits for another process.
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  if (const std::string why = attempt_until(deadline, Clock::now, attach, pause); !why.empty())
    throw SegmentError(why.starts_with("cannot attach")
                           ? why
                           : std::string("cannot attach to live:")
                                 .append(live_name)
                                 .append(": ")
                                 .append(why)
                                 .append("; `ttcollect list` shows the segments"));
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;

Reader::Next Reader::next(std::vector<uint64_t>& chunk, unsigned timeout_ms) {
  // What is announced needs no check of the writer, which costs a system call.
  if (const Next found = impl_->poll(chunk, Impl::Upto::announced); found != Next::timeout) return found;
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::optional<uint32_t> slept_on;
  for (;;) {
    // Loaded before the polls: what is announced after them has raised it, so that the futex does not sleep.
    const uint32_t wake = impl_->header->wake.load(std::memory_order_acquire);
    const Next final = impl_->finality();
    // Who will not, or did not, announce what it published.
    const bool silent = final != Next::timeout || slept_on == wake;
    if (const Next found = impl_->poll(chunk, silent ? Impl::Upto::tail : Impl::Upto::announced);
        found != Next::timeout)
      return found;
    if (final != Next::timeout) return final;
    for (unsigned spin = 0; spin < kSpins; ++spin)
      if (const Next found = impl_->poll(chunk, Impl::Upto::announced); found != Next::timeout) return found;
    const auto left = deadline - Clock::now();
    if (left <= Clock::duration::zero()) return Next::timeout;
    // A dying writer wakes no reader: poll now and then.
    impl_->sleep_on(wake, std::min<Clock::duration>(left, impl_->recheck));
    slept_on = wake;
  }
}

void Reader::set_recheck(unsigned ms) {
  impl_->recheck = std::chrono::milliseconds(ms);
}

uint64_t Reader::tail() const {
  return impl_->finality() == Next::timeout ? impl_->cursor->announced() : impl_->cursor->tail();
}
uint64_t Reader::position() const {
  return impl_->cursor->position();
}
void Reader::skip_to(uint64_t position) {
  impl_->cursor->skip_to(position);
}

const SegmentInfo& Reader::info() const {
  return impl_->info;
}
uint64_t Reader::counter(Counter c) const {
  const auto index = static_cast<size_t>(c);
  if (index >= kCounters || impl_->slots[index] == kNoSlot) return 0;
  return impl_->counters()[impl_->slots[index]].value.load(std::memory_order_relaxed);  // see set()
}
bool Reader::clock(std::vector<uint64_t>& words) const {
  if (impl_->geometry.clock_offset == 0) return false;
  const auto* at = impl_->bytes.data() + impl_->geometry.clock_offset;
  return read_clock_table(*reinterpret_cast<const ClockTableControl*>(at),
                          reinterpret_cast<const uint64_t*>(at + sizeof(ClockTableControl)), words);
}
uint64_t Reader::heartbeat_ns() const {
  return impl_->header->heartbeat_ns.load(std::memory_order_relaxed);
}
bool Reader::writer_alive() const {
  return impl_->fd >= 0 && writer_lock_held(impl_->fd);
}
uint64_t Reader::lost_bytes() const {
  return impl_->cursor->lost_bytes();
}
uint64_t Reader::lost_chunks() const {
  return impl_->lost_chunks;
}
uint64_t Reader::laps() const {
  return impl_->cursor->laps();
}
const Reader::Overwritten& Reader::overwritten() const {
  return impl_->overwritten;
}
std::string Reader::damage() const {
  return impl_->damage;
}

}  // namespace ttc::shm
