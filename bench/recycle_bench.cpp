// Long runs with recycling, in virtual time: do launches, frames and the account balance, and what does a launch cost?
//
// Cores are memory. Their firmware is the device's own header (firmware_markers/device/profiler.hpp), which runs whole launches at a fixed
// pace whenever the drain accesses the card: between two polls, within a poll, and around the stores of a recycle. A line takes
// kLineNs. Logs have tt-metal's usual size, and no host reads them, so that they are emptied by recycling alone.
//
// A reader of the ring decodes every frame and compares its launch number with the one before it in its lane. At the end each lane must
// have delivered as many frames as its core has launched, no core may have dropped any, and no interval may be reported.
//
// The baseline is the same firmware without a reader: what a launch costs the emulation. TTC_LAUNCHES sets the number of launches of
// all cores; a billion take some 20 minutes of CPU time.
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <memory>
#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "collector/drain/drain.hpp"
#include "collector/recycle/recycling.hpp"
#include "firmware_markers/decoder.hpp"
#include "firmware_markers/device/profiler.hpp"
#include "shm/reader.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

constexpr uint32_t kCores = 8, kLogBytes = 48'000, kLogWords = kLogBytes / 4;
constexpr uint32_t kControlAt = 0xB00, kLogsAt = 4096, kCoresOfABank = 8;
constexpr uint64_t kLineNs = 50, kBeginNs = 10'000'000'000;
constexpr uint64_t kLaunchEveryNs = 6'000;  // of a core: the link is taken for half of the time
constexpr const device::Format& kFormat = device::kG4;

// A core in memory: what its firmware stores is there at once.
class MemoryCore {
 public:
  MemoryCore(const uint64_t& now_ns, uint8_t flat_id, uint64_t first_ns)
      : now_ns_(now_ns), flat_id_(flat_id), next_ns_(first_ns), logs_(device::kMaxRiscs * kLogWords) {
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r) riscs_[r] = std::make_unique<Risc>(*this, r, kLogBytes);
    control_[kFormat.dram_address] = kLogsAt;
    control_[kFormat.flat_id] = flat_id;
    control_[kFormat.core_count_per_dram] = kCoresOfABank;
  }

  // Makes the launches that are due.
  void run(uint64_t most) {
    for (; next_ns_ <= now_ns_ && launches_ < most; next_ns_ += kLaunchEveryNs) launch();
  }
  uint64_t launches() const { return launches_; }
  uint64_t next_ns() const { return next_ns_; }
  uint8_t flat_id() const { return flat_id_; }
  bool dropped() const { return control_[kFormat.dropped] != 0; }

  // Of an observer.
  uint32_t l1_word(uint32_t address) const {
    if (address < kControlAt) return 0;
    if (address < buffer_address()) return control_[(address - kControlAt) / 4];
    return buffer_[(address - buffer_address()) / 4];
  }
  const uint32_t* log(uint32_t risc) const { return logs_.data() + risc * kLogWords; }
  void clear_index(uint32_t risc) { control_[kFormat.host_end + risc] = 0; }

  // Of the firmware.
  static constexpr uint32_t control_address() { return kControlAt; }
  static constexpr uint32_t buffer_address() { return kControlAt + 4 * kFormat.control_words; }
  uint32_t load(uint32_t address) { return l1_word(address); }
  void store(uint32_t address, uint32_t value) {
    if (address < buffer_address())
      control_[(address - kControlAt) / 4] = value;
    else
      buffer_[(address - buffer_address()) / 4] = value;
  }
  uint32_t clock_high() const { return static_cast<uint32_t>(clock_ns_ >> 32); }
  uint32_t clock_low() { return static_cast<uint32_t>(clock_ns_++); }
  void push(uint32_t risc, uint32_t words, uint32_t, uint32_t bank_offset) {
    const uint32_t at = bank_offset / 4 % kLogWords;
    if (at + words > kLogWords) std::puts("WRONG: a frame reaches beyond its log"), std::exit(1);
    const uint32_t* from = buffer_.data() + risc * device::kBufferWords;
    std::copy_n(from, words, logs_.begin() + risc * kLogWords + at);
  }
  void wait_sent() {}
  static uint32_t noc_x() { return 1; }
  static uint32_t noc_y() { return 2; }
  static bool noc_busy() { return false; }
  void recorded(uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint64_t) {}

 private:
  using Risc = device::Profiler<MemoryCore, kFormat>;

  void launch() {
    clock_ns_ = next_ns_;
    const auto host_id = static_cast<uint32_t>(++launches_);
    riscs_[0]->open_launch();
    riscs_[0]->fw_start(1);
    riscs_[0]->take_launch(true, host_id);
    for (uint32_t r = device::kMaxRiscs; r-- > 0;) {
      if (r != 0) riscs_[r]->fw_start(1 + r);
      riscs_[r]->kernel_start(11 + r);
      riscs_[r]->kernel_end(11 + r);
      riscs_[r]->fw_end(1 + r);
    }
    riscs_[0]->finish_launch();
  }

  const uint64_t& now_ns_;
  uint8_t flat_id_;
  uint64_t next_ns_, clock_ns_ = 0, launches_ = 0;
  std::array<uint32_t, kFormat.control_words> control_{};
  std::array<uint32_t, device::kMaxRiscs * device::kBufferWords + 16> buffer_{};
  std::vector<uint32_t> logs_;
  std::array<std::unique_ptr<Risc>, device::kMaxRiscs> riscs_;
};

// The cores, and the way to them. Time moves by accesses.
class MemoryCard : public collect::CardPort {
 public:
  explicit MemoryCard(uint64_t launches_a_core) : most_(launches_a_core) {
    for (uint8_t i = 0; i < kCores; ++i)
      cores_.push_back(
          std::make_unique<MemoryCore>(now_ns_, i, kBeginNs + kLaunchEveryNs * (kCores + i) / kCores));
  }

  uint64_t now_ns() override { return now_ns_; }
  card::Expected<uint64_t> wall_clock(card::Coord) override { return now_ns_; }
  card::Access l1(card::Coord tile, uint32_t address, std::span<uint64_t> into) override {
    pass(card::lines_touched(address, into.size_bytes()));
    const MemoryCore& core = *cores_[tile.x - 1u];
    for (uint32_t i = 0; i < into.size(); ++i)
      into[i] = core.l1_word(address + 8 * i) | uint64_t{core.l1_word(address + 8 * i + 4)} << 32;
    return card::Access::ok;
  }
  card::Access logs(std::span<const collect::LogRead> reads) override {
    for (const collect::LogRead& r : reads) {
      pass(card::lines_touched(r.address, r.out.size_bytes()));
      const uint64_t lane = (r.address - kLogsAt) / kLogBytes;
      const uint32_t* log =
          cores_[lane / device::kMaxRiscs]->log(static_cast<uint32_t>(lane % device::kMaxRiscs));
      const size_t at = (r.address - kLogsAt) % kLogBytes, bytes = r.out.size_bytes();
      // A poll may ask for some words behind the last log: there is nothing.
      const size_t there = std::min<size_t>(bytes, kLogBytes - at);
      std::memcpy(r.out.data(), reinterpret_cast<const char*>(log) + at, there);
      std::memset(reinterpret_cast<char*>(r.out.data()) + there, 0, bytes - there);
    }
    return card::Access::ok;
  }
  void use_memory_numbering(unsigned) override {}
  card::Access doubt_tile(card::Coord) override { return card::Access::ok; }
  card::Access doubt_bank(uint32_t) override { return card::Access::ok; }
  card::Access clear_indices(size_t place, uint32_t lanes) override {
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
      if (lanes >> r & 1) cores_[place]->clear_index(r);
    pass(1);
    return card::Access::ok;
  }
  card::Transactions transactions() override { return {.round_trips = lines_}; }
  uint64_t line_allowance_ns() override { return 100 * kLineNs; }

  void wait_until(uint64_t ns) {
    now_ns_ = std::max(now_ns_, ns);
    run();
  }
  bool over() const {
    return std::all_of(cores_.begin(), cores_.end(), [&](const auto& c) { return c->launches() == most_; });
  }
  const std::vector<std::unique_ptr<MemoryCore>>& cores() const { return cores_; }
  static card::Coord tile_of(size_t core) { return {static_cast<uint8_t>(1 + core), 2}; }

 private:
  void pass(uint64_t lines) {
    lines_ += lines;
    now_ns_ += lines * kLineNs;
    run();
  }
  void run() {
    if (now_ns_ < due_ns_) return;
    due_ns_ = ~uint64_t{0};
    for (const auto& core : cores_) {
      core->run(most_);
      if (core->launches() < most_) due_ns_ = std::min(due_ns_, core->next_ns());
    }
  }

  uint64_t now_ns_ = kBeginNs, due_ns_ = 0, lines_ = 0;
  uint64_t most_;
  std::vector<std::unique_ptr<MemoryCore>> cores_;
};

// Frames as a reader of the ring gets them.
class Follower {
 public:
  explicit Follower(const std::string& live) : reader_(live, shm::StartAt::newest) {}
  // Until a chunk that ends it.
  void read() {
    while (reader_.next(chunk_, 0) == shm::Reader::Next::chunk) {
      const shm::ChunkHeader& h = shm::header_of(chunk_);
      if (h.kind == shm::ChunkKind::loss) ++losses_;
      if (h.kind == shm::ChunkKind::device_words) take(h);
    }
    if (!reader_.damage().empty()) std::printf("WRONG: %s\n", reader_.damage().c_str()), std::exit(1);
  }
  uint64_t frames(uint32_t core, uint32_t risc) const { return frames_[core * device::kMaxRiscs + risc]; }
  uint64_t losses() const { return losses_; }

 private:
  void take(const shm::ChunkHeader& h) {
    for (const shm::SpanEntry& span : shm::spans_of(chunk_)) {
      markers::LaneDecoder decoder({&kFormat, span.risc, static_cast<uint8_t>(h.flat_id)});
      batch_.clear();
      decoder.decode(shm::words_of(chunk_, span), batch_);
      uint64_t& frames = frames_[h.flat_id * device::kMaxRiscs + span.risc];
      for (const markers::Frame& frame : batch_.frames()) {
        const auto expected = kFormat.host_id.get(kFormat.host_id.put(static_cast<uint32_t>(++frames)));
        if (frame.host_id == expected) continue;
        std::printf("WRONG: core %u, RISC %u: launch %u came where %u was due\n", unsigned(h.flat_id),
                    unsigned(span.risc), unsigned(frame.host_id), unsigned(expected));
        std::exit(1);
      }
    }
  }

  shm::Reader reader_;
  std::vector<uint64_t> chunk_;
  markers::Batch batch_;
  std::array<uint64_t, kCores * device::kMaxRiscs> frames_{};
  uint64_t losses_ = 0;
};

collect::Attachment attachment_of(const MemoryCard& card, const collect::HostClock& clock) {
  collect::Attachment a;
  a.layout = markers::layout_by_generation(kFormat.generation);
  a.layout_given = a.mode_given = true;
  a.dram_base = kLogsAt;
  a.core_count_per_dram = kCoresOfABank;
  a.begun_ns = a.begun_cycles = kBeginNs;
  a.clock = clock;
  for (size_t i = 0; i < card.cores().size(); ++i) {
    collect::AttachedCore core;
    core.at = MemoryCard::tile_of(i);
    core.flat_id = card.cores()[i]->flat_id();
    core.control_address = kControlAt;
    core.buffer_address = MemoryCore::buffer_address();
    a.cores.push_back(core);
  }
  return a;
}

// CPU time of the launches alone.
double generating_ns(uint64_t launches_a_core) {
  MemoryCard card(launches_a_core);
  const uint64_t begin = thread_cpu_ns();
  for (uint64_t at = kBeginNs; !card.over(); at += kLaunchEveryNs) {
    for (const auto& core : card.cores())
      for (uint32_t r = 0; r < device::kMaxRiscs; ++r) core->clear_index(r);  // a log never fills
    card.wait_until(at);
  }
  return static_cast<double>(thread_cpu_ns() - begin);
}

// Removes the segment when its writer is gone, which keeps it.
struct Live {
  ~Live() { shm::remove_segment(name); }
  const std::string name = "bench-recycle-" + std::to_string(getpid());
};

int run(uint64_t launches_a_core) {
  const uint64_t launches = kCores * launches_a_core;
  const Live live;
  shm::SegmentOptions segment_options;
  segment_options.ring_bytes = 4 << 20;
  shm::SegmentWriter segment(live.name, "memory", 1, segment_options);
  collect::Publisher publisher(segment, 0, kFormat.generation);
  auto port = std::make_unique<MemoryCard>(launches_a_core);
  MemoryCard& card = *port;
  const collect::Attachment attachment = attachment_of(card, [&card] { return card.now_ns(); });
  if (const std::string why = collect::Recycling::refusal(attachment); !why.empty())
    return std::printf("WRONG: %s\n", why.c_str()), 1;
  collect::Recycling recycling(nullptr, {});
  collect::DrainOptions options;
  options.bytes_per_risc = kLogBytes;
  options.recycling = &recycling;
  collect::Drain drain(std::move(port), {1000, 8, 1, false}, attachment, publisher, segment, options);
  Follower follower(live.name);

  const uint64_t begin = thread_cpu_ns();
  Samples sweeps;
  constexpr uint64_t kQuietNs =
      2'000'000'000;  // until the last recycles are resolved, whatever became of them
  for (uint64_t end_ns = ~uint64_t{0}; card.now_ns() < end_ns;) {
    card.wait_until(drain.next_due_ns());
    const uint64_t before = card.now_ns();
    if (drain.sweep(before) != card::Access::ok) return std::puts("WRONG: the card refused"), 1;
    if (sweeps.count() < 10'000'000) sweeps.add(card.now_ns() - before);
    follower.read();
    if (end_ns == ~uint64_t{0} && card.over()) end_ns = card.now_ns() + kQuietNs;
  }
  drain.sweep(card.now_ns(), true);
  drain.close_account(false);
  follower.read();
  const auto spent = static_cast<double>(thread_cpu_ns() - begin);
  segment.end();

  uint64_t frames = 0, missing = 0, dropped = 0;
  for (uint32_t c = 0; c < kCores; ++c) {
    dropped += card.cores()[c]->dropped();
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
      frames += follower.frames(c, r);
      missing += launches_a_core - std::min(launches_a_core, follower.frames(c, r));
    }
  }
  const collect::RecycleAccount& a = recycling.account;
  result("%" PRIu64 " launches on %u cores in %.0f s of the card's time: %" PRIu64
         " frames delivered, %" PRIu64 " missing; intervals %zu, cores that dropped %" PRIu64
         ", launches missing by the account %" PRIu64,
         launches, kCores, static_cast<double>(card.now_ns() - kBeginNs) / 1e9, frames, missing,
         drain.losses().intervals().size(), dropped, a.missing_launches);
  result("  %" PRIu64 " recycles of %" PRIu64 " lanes; launches under way in %" PRIu64
         ", frames taken from old places %" PRIu64 ", surprises %" PRIu64
         "; cores not recycled at the end %zu",
         a.recycles, a.lanes, a.crossed, a.recovered, a.surprises, drain.not_recycled().size());
  const double generating = generating_ns(std::min<uint64_t>(launches_a_core, 250'000)) /
                            static_cast<double>(kCores * std::min<uint64_t>(launches_a_core, 250'000));
  const double each = spent / static_cast<double>(launches);
  result(
      "  CPU time a launch (5 frames, 20 markers): %.0f ns, of which making it takes %.0f, ratio %.2f; "
      "sweeps p50 %.1f, p99 %.1f us",
      each, generating, each / generating, sweeps.us(50), sweeps.us(99));
  const bool balances = missing == 0 && frames == launches * device::kMaxRiscs && follower.losses() == 0 &&
                        drain.losses().intervals().empty() && dropped == 0 && a.missing_launches == 0 &&
                        drain.not_recycled().empty();
  if (a.recycles == 0) {
    std::puts(
        "WRONG: too few launches to fill a log: nothing was recycled; set TTC_LAUNCHES to 40000 or more");
    return 1;
  }
  std::puts(balances ? "  the account balances" : "WRONG: the account does not balance");
  return balances ? 0 : 1;
}

}  // namespace

int main() {
  print_machine("recycle_bench");
  const char* set = std::getenv("TTC_LAUNCHES");
  const uint64_t launches = set ? std::strtoull(set, nullptr, 10) : once() ? 40'000 : 4'000'000;
  return run(std::max<uint64_t>(launches / kCores, 1));
}
