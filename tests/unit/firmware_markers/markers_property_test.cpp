// Random worlds: the device header writes, the decoder reads. What is decoded is what was recorded; no damage
// of the words crashes anything, and every word is accounted for.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/device/profiler.hpp"
#include "tests/support/same_digest.hpp"

namespace ttc::markers {
namespace {

using namespace device;

constexpr uint32_t kPushZone = 0xABCD, kFlatOfAll = 21, kCores = 8;
constexpr uint32_t kSeeds = 200;

// host id, type, id, time, payload. The time of a total is not compared.
using Event = std::tuple<uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint64_t>;

struct World {
  World(uint32_t seed, const Format& f, uint32_t capacity)
      : format(f),
        random(seed),
        log_words(capacity),
        words(f.control_words),
        logs(kMaxRiscs, std::vector<uint32_t>(capacity)) {
    now = (uint64_t{random()} << 32 | random()) & kClockMask;
    delivered_until.fill(now - (uint64_t{1} << 33));
    reset();
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random() % n); }
  bool chance(uint32_t percent) { return below(100) < percent; }

  // What the tt-metal host does after reading: indices to zero, the log keeps its bytes.
  void reset() {
    std::fill(words.begin(), words.end(), 0);
    words[format.dram_address] = 0x20;
    words[format.flat_id] = kFlatOfAll;
    words[format.core_count_per_dram] = kCores;
  }

  // The control vector at 0 and the buffers behind it.
  uint32_t control_address() const { return 0; }
  uint32_t buffer_address() const { return 4 * format.control_words; }
  uint32_t load(uint32_t address) {
    if (address < buffer_address()) return words.at(address / 4);
    const uint32_t at = (address - buffer_address()) / 4;
    return buffers.at(at / kBufferWords)[at % kBufferWords];
  }
  void store(uint32_t address, uint32_t v) {
    if (address < buffer_address()) {
      words.at(address / 4) = v;
      return;
    }
    const uint32_t at = (address - buffer_address()) / 4;
    set_buffer(at / kBufferWords, at % kBufferWords, v);
  }
  void set_buffer(uint32_t r, uint32_t word, uint32_t v) {
    buffers.at(r).at(word) = v;
    last_word[r] = word;
    if (word == kIdHost) host_id = format.host_id.get(v);
    if (word == kFwStartWord && v == kUnsetWord) pending[r].clear();
  }
  uint32_t clock_high() {
    now += 1 + below(300);
    // Now and then the low half rolls over between the two reads: where an earlier time shows it.
    const uint64_t quiet = (now | 0xffffffff) + 4 - reference;
    if (rolls && chance(2) && quiet < (uint64_t{1} << 32) - 0x400) now |= 0xffffffff;
    return static_cast<uint32_t>((now & kClockMask) >> 32);
  }
  uint32_t clock_low() {
    now += 1 + below(3);
    return static_cast<uint32_t>(now);
  }
  void push(uint32_t r, uint32_t count, uint32_t bank, uint32_t offset) {
    ASSERT_EQ(bank, kFlatOfAll / kCores);
    const uint32_t first = offset / 4 - (kFlatOfAll % kCores * kMaxRiscs + r) * log_words;
    ASSERT_LE(first + count, log_words);
    std::copy_n(buffers[r].begin(), count, logs[r].begin() + first);
    for (const Pending& p : pending[r])
      if (p.word < count) {
        recorded_events[r].push_back(p.event(host_id));
        delivered_until[r] = std::max(delivered_until[r], p.stored);
      }
    pending[r].clear();
  }
  void wait_sent() {}
  uint32_t noc_x() { return 1; }
  uint32_t noc_y() { return 2; }
  bool noc_busy() { return chance(5); }
  void recorded(uint32_t r, uint32_t type, uint32_t id, uint64_t, uint64_t a, uint64_t b) {
    const uint32_t words_of_it = packet_words(type);
    const uint32_t first = last_word[r] + 1 - words_of_it;
    // A quick push that dropped starts over in the same buffer.
    auto& list = pending[r];
    if (first >= kFirstCustomWord) std::erase_if(list, [&](const Pending& p) { return p.word >= first; });
    last_event[r] = now;
    list.push_back({first, type, id, type == kZoneTotal ? 0 : now & kClockMask, a, b, now});
  }

  struct Pending {
    uint32_t word, type, id;
    uint64_t time, a, b, stored;
    Event event(uint32_t host) const { return {host, type, id, time, a, b}; }
  };

  const Format& format;
  std::mt19937 random;
  uint32_t log_words;
  std::vector<uint32_t> words;
  std::array<std::array<uint32_t, kBufferWords>, kMaxRiscs> buffers{};
  std::vector<std::vector<uint32_t>> logs;
  std::array<std::vector<Pending>, kMaxRiscs> pending;
  std::array<std::vector<Event>, kMaxRiscs> recorded_events;
  std::array<uint32_t, kMaxRiscs> last_word{};
  uint32_t host_id = 0;
  uint64_t now;
  bool rolls = false;
  uint64_t reference = 0;  // what the words hold to compare the next time with
  std::array<uint64_t, kMaxRiscs> last_event{}, delivered_until{};
};

template <const Format& F>
class Firmware {
 public:
  explicit Firmware(World& w) : world_(w) {
    for (uint32_t r = 0; r < kMaxRiscs; ++r) riscs_.emplace_back(w, r, w.log_words * 4);
  }

  void launch() {
    auto& brisc = riscs_[0];
    const bool mine = !world_.chance(10);
    if (world_.chance(20)) brisc.replay_started(kPushZone);
    brisc.open_launch();
    start(0);
    brisc.take_launch(mine, ++host_);
    if (mine) {
      for (uint32_t r = 1; r < kMaxRiscs; ++r) {
        if (world_.chance(25)) continue;  // sits this one out
        start(r);
        kernel(r);
        riscs_[r].fw_end(1);
      }
      kernel(0);
    }
    world_.reference = fw_start_[0];
    brisc.fw_end(1, mine);
    brisc.finish_launch();
  }

 private:
  void start(uint32_t r) {
    world_.reference = world_.delivered_until[r];
    if (r != 0) world_.reference = std::min(world_.reference, fw_start_[0]);
    riscs_[r].fw_start(1);
    fw_start_[r] = world_.last_event[r];
  }
  void kernel(uint32_t r) {
    auto& p = riscs_[r];
    world_.reference = std::min(fw_start_[r], fw_start_[0]);
    p.kernel_start(2);
    uint32_t open = 0;
    for (uint32_t n = world_.chance(20) ? 300 : world_.below(30); n != 0; --n) {
      const uint32_t id = 3 + world_.below(0x1000);
      // Less room than the longest packet: what overruns the buffer is another test's business.
      if (p.free_words() < 6) {
        if (open) p.zone_end(id), --open;
        if (r < 2 && p.free_words() + 2 * open >= 4 && world_.chance(30)) p.quick_push(kPushZone);
        continue;
      }
      switch (world_.below(9)) {
        case 0:
          p.event(id);
          break;
        case 1:
          p.data(id, u64());
          break;
        case 2:
          p.data16(id, u64(), u64());
          break;
        case 3:
          p.total(id, static_cast<uint32_t>(world_.random()));
          break;
        case 4:
          open += p.zone_start(id);
          break;
        case 5:
          if (open) p.zone_end(id), --open;
          break;
        case 6:
          if (r < 2 && p.free_words() + 2 * open >= 4 && world_.chance(30)) p.quick_push(kPushZone);
          break;
        default: {
          Scope zone(p, id);
        }
      }
    }
    while (open--) p.zone_end(7);
    p.kernel_end(2);
  }
  uint64_t u64() { return uint64_t{world_.random()} << 32 | world_.random(); }

  World& world_;
  std::vector<Profiler<World, F>> riscs_;
  std::array<uint64_t, kMaxRiscs> fw_start_{};
  uint32_t host_ = 0;
};

struct TakeAll {
  bool sat_out_ok(uint32_t) { return true; }
  bool take(const VerifiedFrame&) { return true; }
};

std::vector<Event> events_of(const Batch& batch) {
  std::vector<Event> out;
  for (const Frame& f : batch.frames())
    for (const Marker& m : batch.markers(f)) {
      if (m.flags & (kStale | kDuplicate)) continue;
      const auto type = static_cast<uint32_t>(m.type);
      const bool data = packet_words(type) > 2 || type == kZoneTotal;
      if (m.flags & kQuickPush) {  // a full buffer's push is not named by its place
        EXPECT_EQ(m.id, kPushZone);
      }
      out.emplace_back(f.host_id, type, m.id, type == kZoneTotal ? 0 : m.time_cycles,
                       data ? batch.payload(m.payload) : 0,
                       type == kTsData16B ? batch.payload(m.payload + 1) : 0);
    }
  return out;
}

// One epoch after another, as read by a reader that examines `stride` launches at a time.
template <const Format& F>
void play(uint32_t seed, bool roll_overs) {
  SCOPED_TRACE("seed " + std::to_string(seed) + " G" + std::to_string(F.generation));
  // Before G3 a first run that overflows writes over its own beginning: room for everything.
  World world(seed, F, !F.guaranteed_when_full ? 40000u : seed % 3 == 0 ? 1200u : 12000u);
  world.rolls = roll_overs;
  Firmware<F> firmware(world);
  std::array<FrameDigest, kMaxRiscs> digests{};
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::array<uint32_t, kMaxRiscs> cursor{};
    std::array<std::vector<Event>, kMaxRiscs> found;
    for (auto& list : world.recorded_events) list.clear();
    const uint32_t stride = 1 + world.below(5);
    for (uint32_t launch = 1; launch <= 15; ++launch) {
      firmware.launch();
      if (launch % stride != 0 && launch != 15) continue;
      for (uint8_t r = 0; r < kMaxRiscs; ++r) {
        const Lane lane{&F, r, kFlatOfAll};
        const auto words = std::span<const uint32_t>(world.logs[r])
                               .subspan(cursor[r], world.words[F.host_end + r] - cursor[r]);
        LaneDecoder decoder(lane);
        decoder.resume(digests[r]);
        Batch batch;
        decoder.decode(words, batch);
        TakeAll judge;
        FrameDigest verified = digests[r];
        const Walk walk = verify_frames(words, lane, {}, false, verified, judge);
        ASSERT_TRUE(walk.clean) << "RISC " << int(r) << ": " << walk.whole_words << " of " << words.size();
        ASSERT_TRUE(same(verified, decoder.digest())) << "RISC " << int(r);
        EXPECT_EQ(walk.frames, batch.frames().size());
        EXPECT_EQ(walk.markers, batch.markers().size() - decoder.anomalies().stale_markers);
        EXPECT_EQ(decoder.anomalies().unparsable_words + decoder.anomalies().backward_times +
                      decoder.anomalies().truncated_packets + decoder.anomalies().overrun_frames,
                  0u);
        const auto events = events_of(batch);
        found[r].insert(found[r].end(), events.begin(), events.end());
        digests[r] = decoder.digest();
        cursor[r] += static_cast<uint32_t>(words.size());
      }
    }
    for (uint32_t r = 0; r < kMaxRiscs; ++r) {
      std::sort(found[r].begin(), found[r].end());
      std::sort(world.recorded_events[r].begin(), world.recorded_events[r].end());
      ASSERT_EQ(found[r], world.recorded_events[r]) << "RISC " << r << " epoch " << epoch;
    }
    world.reset();
  }
}

void play_all(bool roll_overs) {
  std::printf("seeds 0..%u\n", kSeeds - 1);
  for (uint32_t seed = 0; seed < kSeeds && !testing::Test::HasFatalFailure(); ++seed) switch (seed % 7) {
      case 0:
        play<kG1Narrow>(seed, roll_overs);
        break;
      case 1:
        play<kG1>(seed, roll_overs);
        break;
      case 2:
        play<kG2>(seed, roll_overs);
        break;
      case 3:
      case 4:
        play<kG3>(seed, roll_overs);
        break;
      default:
        play<kG4>(seed, roll_overs);
    }
}

TEST(Property, what_the_device_header_records_is_what_the_decoder_finds) {
  play_all(false);
}

TEST(Property, what_is_recorded_is_found_when_the_clocks_low_half_keeps_rolling_over) {
  play_all(true);
}

std::vector<uint32_t> some_log(uint32_t seed, uint32_t risc) {
  World world(seed, kG4, 12000);
  Firmware<kG4> firmware(world);
  for (int launch = 0; launch < 8; ++launch) firmware.launch();
  world.logs[risc].resize(world.words[kG4.host_end + risc]);
  return world.logs[risc];
}

// Words by what became of them: heads of frames, packets and padding, and what the decoder reports as skipped.
// Their sum must be the length of the log: nothing vanishes, nothing is counted twice.
void expect_every_word_accounted(std::span<const uint32_t> words, const LaneDecoder& decoder,
                                 const Batch& batch) {
  const Anomalies& odd = decoder.anomalies();
  uint64_t packets = 0;
  for (const Marker& m : batch.markers())
    if (!(m.flags & kGuaranteed)) packets += packet_words(static_cast<uint32_t>(m.type));
  const uint64_t known = kFirstCustomWord * batch.frames().size() + packets + odd.unparsable_words;
  // The rest is padding, which carries no information, and packets cut by the end of the words.
  EXPECT_LE(known, words.size());
  uint64_t blanks = 0;
  for (size_t i = 0; i < words.size(); i += 1) blanks += words[i] == kUnsetWord;
  EXPECT_LE(words.size() - known, 2 * blanks + 5 * odd.truncated_packets);
  uint32_t at = 0;
  for (const Frame& f : batch.frames()) {
    EXPECT_GE(f.first_word, at);
    at = f.first_word + kFirstCustomWord;
    EXPECT_EQ(words[f.first_word + kIdHost], f.host_id);
  }
  EXPECT_LE(at, words.size());
}

TEST(Property, damaged_words_crash_nothing_and_are_accounted_for) {
  std::printf("seeds 0..%u\n", kSeeds - 1);
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const uint32_t risc = seed % kMaxRiscs;
    const Lane lane{&kG4, static_cast<uint8_t>(risc), kFlatOfAll};
    std::vector<uint32_t> words = some_log(seed, risc);
    std::mt19937 random(seed);
    for (auto hits = 1 + random() % 20; hits != 0 && !words.empty(); --hits) {
      uint32_t& word = words[random() % words.size()];
      switch (random() % 5) {
        case 0:
          word = 0;
          break;
        case 1:
          word = static_cast<uint32_t>(random());
          break;
        case 2:
          word ^= 1u << random() % 32;
          break;
        case 3:
          word = words[random() % words.size()];
          break;
        default:
          words.resize(words.size() - random() % std::min<size_t>(words.size(), 20));
      }
    }
    LaneDecoder decoder(lane);
    Batch batch;
    decoder.decode(words, batch);
    expect_every_word_accounted(words, decoder, batch);
    // Whatever verifies, decodes without a word left over.
    TakeAll judge;
    FrameDigest digest;
    const Walk walk = verify_frames(words, lane, {}, false, digest, judge);
    LaneDecoder whole(lane);
    Batch verified;
    whole.decode(std::span(words).first(walk.whole_words), verified);
    EXPECT_EQ(verified.frames().size(), walk.frames);
    EXPECT_EQ(whole.anomalies().unparsable_words + whole.anomalies().truncated_packets +
                  whole.anomalies().unknown_packets,
              0u);
    for (size_t at = 0; at < words.size(); at += 2) {
      FrameDigest d;
      d.known = 1;
      d.last_time = random();
      const size_t length = recovered_frame(words, at, lane, {}, d);
      ASSERT_TRUE(length == 0 || length >= kFirstCustomWord);
      ASSERT_LE(at + length, words.size());
    }
  }
}

// A frame is accepted only when all of it has landed. The index is ahead of the data; what has not landed
// reads as what the epoch before left there. Stale tails and payloads are not compared: no word of theirs can
// be checked.
TEST(Property, a_frame_that_is_still_landing_is_never_believed) {
  std::printf("seeds 0..%u\n", kSeeds - 1);
  size_t believed = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, kG4, 12000);
    Firmware<kG4> firmware(world);
    for (int launch = 0; launch < 6; ++launch) firmware.launch();
    const auto before = world.logs;
    std::array<uint64_t, kMaxRiscs> last{};
    for (uint8_t r = 0; r < kMaxRiscs; ++r) {
      LaneDecoder decoder({&kG4, r, kFlatOfAll});
      Batch batch;
      decoder.decode(std::span(before[r]).first(world.words[kG4.host_end + r]), batch);
      last[r] = decoder.digest().last_time;
    }
    world.reset();
    for (int launch = 0; launch < 4; ++launch) firmware.launch();
    for (uint8_t r = 0; r < kMaxRiscs; ++r) {
      const uint32_t end = world.words[kG4.host_end + r];
      const std::span<const uint32_t> truth = std::span(world.logs[r]).first(end);
      for (uint32_t landed = 0; landed < end; landed += 8) {  // 32 bytes at a time
        std::vector<uint32_t> words(before[r].begin(), before[r].begin() + end);
        std::copy_n(truth.begin(), landed, words.begin());
        FrameDigest digest;
        digest.known = last[r] != 0;
        digest.last_time = last[r];
        struct {
          bool sat_out_ok(uint32_t host) { return host > 6; }  // a launch of this epoch
          bool take(const VerifiedFrame& f) {
            if (f.has_payload) return false;
            if (f.sat_out) return false;
            ends.push_back(f.end);
            return true;
          }
          std::vector<size_t> ends;
        } judge;
        verify_frames(words, {&kG4, r, kFlatOfAll}, {}, false, digest, judge);
        for (const size_t frame_end : judge.ends) {
          ++believed;
          ASSERT_TRUE(
              frame_end <= landed ||
              std::equal(words.begin(), words.begin() + static_cast<ptrdiff_t>(frame_end), truth.begin()))
              << "RISC " << int(r) << ": " << landed << " of " << end << " words landed, a frame ending at "
              << frame_end << " was accepted";
          // And it ends where it really ends.
          ASSERT_TRUE(frame_end == end || frame_starts(truth, frame_end, {&kG4, r, kFlatOfAll}))
              << "RISC " << int(r) << ": " << landed << " of " << end << " words landed, cut short at "
              << frame_end;
        }
      }
    }
  }
  EXPECT_GT(believed, 0u);
}

}  // namespace
}  // namespace ttc::markers
