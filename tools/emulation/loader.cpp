#include "tools/emulation/loader.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "firmware_markers/decoder.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::emulation {
namespace {

// After its words were fetched, so many series of reads of a core's vector: enough polls for an observer that reads twice before it
// accepts words, takes a part of them with each visit, or had to retry, to finish. An observer discards what it read across its poll
// deadline, so the reads of a series are no further apart. Nor does the card wait longer than kNeverInTimeNs for an observer that
// never keeps the deadline.
constexpr unsigned kSeriesAfter = 6;
constexpr uint64_t kReadsOfASeries = 16, kNeverInTimeNs = 20'000'000'000;
constexpr uint64_t kApartNs = 2'500'000;  // kPollDeadlineNs of collector/continuity/timing.hpp
constexpr auto kImageStep = std::chrono::microseconds(50);

card::Coord at(const tools::MemoryImage::Core& core) {
  return {core.x, core.y};
}

// If times lie on both sides of the clock's end, the later one is the one that is later by less than half of its
// period.
void keep_later(std::optional<uint64_t>& latest, const markers::Batch& batch) {
  for (const markers::Frame& frame : batch.frames())
    for (const markers::Marker& m : batch.markers(frame))
      if (!(m.flags & markers::kStale) && (!latest || markers::clock_difference(m.time_cycles, *latest) > 0))
        latest = m.time_cycles;
}

}  // namespace

std::optional<uint64_t> latest_time(const tools::MemoryImage& image) {
  std::optional<uint64_t> latest;
  markers::Batch batch;
  for (unsigned epoch = 0; epoch < image.epochs; ++epoch)
    for (const auto& core : image.cores) {
      const tools::MemoryImage::CoreMemory memory = image.load(core, epoch);
      for (uint8_t r = 0; r < device::kMaxRiscs; ++r) {
        batch.clear();
        markers::LaneDecoder({&image.layout->format, r, core.flat_id, image.mode})
            .decode(memory.logs[r], batch);
        keep_later(latest, batch);
      }
    }
  return latest;
}

ImageLoader::ImageLoader(card::EmulatedCard& card, const tools::MemoryImage& image)
    : card_(card), image_(image), memory_(image.epochs) {
  for (unsigned epoch = 0; epoch < image.epochs; ++epoch)
    for (const auto& core : image.cores) memory_[epoch].push_back(image.load(core, epoch));
  card.set_log_geometry({image.control_address, 4u * image.layout->format.control_words, image.dram_base,
                         image.bytes_per_risc, image.cores_per_bank});
  if (image.magic_address)
    for (const auto& core : image.cores)
      card.store(at(core), image.magic_address, image.placement->place(core.kind).magic);
}

void ImageLoader::reset() {
  const device::Format& f = image_.layout->format;
  ++resets_;
  lane_words_.clear();
  for (const auto& core : image_.cores) {
    const card::HostWrite under_way(card_);
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
      card_.set_landed(core.flat_id * device::kMaxRiscs + r, resets_, 0);
    for (uint32_t w = 0; w < f.control_words; ++w) {
      uint32_t value = 0;
      if (w == f.dram_address) value = image_.dram_base;
      if (w == f.flat_id) value = core.flat_id;
      if (w == f.core_count_per_dram) value = image_.cores_per_bank;
      card_.store(at(core), image_.control_address + 4 * w, value);
    }
  }
}

void ImageLoader::load_epoch(unsigned epoch) {
  const device::Format& f = image_.layout->format;
  for (size_t c = 0; c < image_.cores.size(); ++c) {
    const tools::MemoryImage::Core& core = image_.cores[c];
    const tools::MemoryImage::CoreMemory& memory = memory_[epoch][c];
    const card::HostWrite under_way(card_);
    for (uint32_t w = 0; w < memory.buffers.size(); ++w)
      card_.store(at(core), image_.buffer_address + 4 * w, memory.buffers[w]);
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
      const auto& log = memory.logs[r];
      const auto place =
          markers::log_place(core.flat_id, r, image_.cores_per_bank, image_.dram_base, image_.bytes_per_risc);
      card_.store_dram(place.bank, place.address, log);
      const uint32_t lane = core.flat_id * device::kMaxRiscs + r;
      lane_words_.emplace_back(lane, static_cast<uint32_t>(log.size()));
      card_.set_landed(lane, resets_, static_cast<uint32_t>(log.size()));
    }
    for (uint32_t w = 0; w < f.control_words; ++w)
      card_.store(at(core), image_.control_address + 4 * w, memory.vector[w]);
  }
}

uint64_t ImageLoader::unread_words() const {
  uint64_t unread = 0;
  for (const auto& [lane, words] : lane_words_) {
    const uint32_t read = card_.words_read(lane, resets_);
    unread += words > read ? words - read : 0;
  }
  return unread;
}

bool ImageLoader::wait_read(const std::atomic<bool>& stop, uint64_t no_observer_ns) {
  auto alone_since = std::chrono::steady_clock::now();
  const auto wait = [&](auto done) {
    while (!done()) {
      if (card_.observers() > 0) alone_since = std::chrono::steady_clock::now();
      if (stop || std::chrono::steady_clock::now() - alone_since > std::chrono::nanoseconds(no_observer_ns))
        return false;
      std::this_thread::sleep_for(kImageStep);  // another process sets the pace
    }
    return true;
  };
  if (!wait([&] { return unread_words() == 0; })) return false;
  const uint64_t read_ns = collect::monotonic_now_ns();
  for (const auto& core : image_.cores) {
    unsigned series = 0;
    uint64_t reads = card_.control_reads(at(core)), begun = reads, last_ns = collect::monotonic_now_ns();
    const auto polled_in_time = [&] {
      const uint64_t reads_before = std::exchange(reads, card_.control_reads(at(core)));
      const uint64_t now_ns = collect::monotonic_now_ns();
      if (now_ns - last_ns > kApartNs) begun = reads;
      if (reads != reads_before) last_ns = now_ns;
      if (reads >= begun + kReadsOfASeries) begun = reads, ++series;
      return series == kSeriesAfter || now_ns - read_ns > kNeverInTimeNs;
    };
    if (!wait(polled_in_time)) return false;
  }
  return true;
}

}  // namespace ttc::emulation
