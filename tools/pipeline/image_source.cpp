#include "tools/pipeline/image_source.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "collector/program/json_text.hpp"
#include "firmware_markers/decoder.hpp"

namespace ttc::tools {
namespace {

MemoryImage open_image(const std::string& directory) {
  try {
    return MemoryImage(directory);
  } catch (const ImageError& e) {
    throw SourceError(e.what());
  }
}

// The image does not hold its clock rate.
constexpr uint32_t kNominalMhz[2] = {1000, 1350};

void put_text(std::vector<uint64_t>& chunk, shm::ChunkHeader h, std::string_view text) {
  h.bytes = static_cast<uint32_t>(sizeof h + text.size());
  chunk.assign((h.bytes + 7) / 8, 0);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(chunk.data() + sizeof h / 8, text.data(), text.size());
}

}  // namespace

ImageSource::ImageSource(const std::string& directory) : image_(open_image(directory)) {}

shm::ChunkHeader ImageSource::header(shm::ChunkKind kind) {
  shm::ChunkHeader h;
  h.kind = kind;
  h.sequence = sequence_++;
  h.session = std::hash<std::string>{}(image_.directory);  // two directories are two sessions
  h.generation = image_.layout->format.generation;
  h.firmware_mode = static_cast<uint8_t>(image_.mode);
  return h;
}

void ImageSource::make_session(std::vector<uint64_t>& chunk) {
  const bool blackhole = image_.placement->arch == "blackhole";
  const nlohmann::json j{{"device", image_.directory},          {"chip", 0},
                         {"arch", image_.placement->arch},      {"board", ""},
                         {"aiclk_mhz", kNominalMhz[blackhole]}, {"max_compute_cores", image_.cores.size()},
                         {"layout", image_.layout->name}};
  put_text(chunk, header(shm::ChunkKind::session), program::json_text(j));
}

void ImageSource::make_names(std::vector<uint64_t>& chunk) {
  std::string text;
  for (const std::string& zone_string : image_.zone_strings) text += zone_string + "\n";
  put_text(chunk, header(shm::ChunkKind::names), text);
}

markers::Lane ImageSource::lane(const MemoryImage::Core& core, uint8_t risc) const {
  return {&image_.layout->format, risc, core.flat_id, image_.mode};
}

markers::FrameDigest& ImageSource::digest(const MemoryImage::Core& core, uint8_t risc) {
  return digests_[core.flat_id * device::kMaxRiscs + risc];
}

// The logs up to their indices. BRISC's comes first: its launches show which ids of other RISCs' frames are true.
void ImageSource::add_logs(const MemoryImage::Core& core, const markers::ControlVector& v,
                           const MemoryImage::CoreMemory& memory, std::vector<LaneWords>& lanes) {
  if (v.dram_address == 0) return;
  markers::KnownLaunches launches;
  for (uint8_t r = 0; r < device::kMaxRiscs; ++r) {
    const auto& log = memory.logs[r];
    const size_t words = std::min<size_t>(log.size(), v.host_end[r]);
    if (v.host_end[r] > log.size())
      complaints_.push_back(image_.directory + ": the log of RISC " + std::to_string(r) + " of core (" +
                            std::to_string(core.x) + "," + std::to_string(core.y) + ") in epoch " +
                            std::to_string(epoch_) + " ends before its index");
    const markers::LogWords of_log{std::span(log).first(words), image_.bytes_per_risc / 4,
                                   (v.dropped >> r & 1) != 0};
    const markers::LogAccount found =
        markers::account_log(of_log, lane(core, r), r == 0 ? nullptr : &launches, digest(core, r));
    if (r == 0) launches = {found.launches, found.gaps.empty() && !found.launches.empty()};
    account(core, r, found);
    for (const markers::LogPart& part : found.parts)
      lanes.push_back(
          {r, shm::SpanSource::dram_log, part.at, of_log.words.subspan(part.at, part.words), part.before});
  }
}

// Words that only L1 holds, in modes that keep words there.
void ImageSource::add_buffers(const MemoryImage::Core& core, const markers::ControlVector& v,
                              const MemoryImage::CoreMemory& memory, std::vector<LaneWords>& lanes) {
  const uint32_t riscs = image_.placement->place(core.kind).riscs;
  for (uint8_t r = 0; r < riscs; ++r) {
    const size_t first = size_t{r} * device::kBufferWords;
    if (memory.buffers.size() < first + device::kBufferWords) break;
    const auto buffer = std::span(memory.buffers).subspan(first, device::kBufferWords);
    if (!markers::l1_holds_more(v, r, image_.mode, buffer)) continue;
    const auto words = buffer.first(markers::l1_words(v, r, image_.layout->format, buffer));
    lanes.push_back({r, shm::SpanSource::l1_buffer, 0, words, digest(core, r)});
    markers::LaneDecoder decoder(lane(core, r));
    markers::Batch batch;
    decoder.resume(digest(core, r));
    decoder.decode_buffer(words, batch);
    digest(core, r) = decoder.digest();
  }
}

void ImageSource::account(const MemoryImage::Core& core, uint8_t risc, const markers::LogAccount& account) {
  std::vector<shm::LossRecord>& open = open_losses_[core.flat_id * device::kMaxRiscs + risc];
  if (account.begins)
    for (shm::LossRecord& loss : std::exchange(open, {})) {
      loss.to_cycles = *account.begins;
      untold_losses_.push_back(loss);
    }
  for (const markers::LogGap& gap : account.gaps) {
    shm::LossRecord loss;
    loss.id = ++loss_ids_;
    loss.core_x = core.x;
    loss.core_y = core.y;
    loss.risc = risc;
    loss.epoch = epoch_;
    loss.cause = gap.words ? shm::LossCause::unparsable : shm::LossCause::dropped_on_card;
    loss.from_cycles = gap.from;
    loss.words = gap.words;
    if (gap.words) loss.precision = shm::LossPrecision::exact_words;
    if (gap.to)
      loss.to_cycles = *gap.to;
    else
      open.push_back(loss);
    untold_losses_.push_back(loss);
  }
}

// Reads the next core of the epoch.
void ImageSource::load_core() {
  core_at_ = &image_.cores[next_core_];
  lanes_.clear();
  lanes_given_ = 0;
  try {
    memory_ = image_.load(*core_at_, epoch_);
    const auto v = markers::parse_control_vector(memory_.vector, *image_.layout);
    run_counter_ = v.run_counter;
    add_logs(*core_at_, v, memory_, lanes_);
    add_buffers(*core_at_, v, memory_, lanes_);
  } catch (const ImageError& e) {
    complaints_.emplace_back(e.what());
  }
  epoch_of_core_ = epoch_;
  if (++next_core_ == image_.cores.size()) next_core_ = 0, ++epoch_;
}

// A chunk gets as many spans as a collector puts into one.
void ImageSource::make_words(std::vector<uint64_t>& chunk) {
  const size_t count = std::min<size_t>(lanes_.size() - lanes_given_, device::kMaxRiscs);
  const auto lanes = std::span<const LaneWords>(lanes_).subspan(lanes_given_, count);
  lanes_given_ += count;
  shm::ChunkHeader h = header(shm::ChunkKind::device_words);
  h.core_x = core_at_->x;
  h.core_y = core_at_->y;
  h.core_kind = static_cast<uint8_t>(core_at_->kind);
  h.flat_id = core_at_->flat_id;
  h.epoch = epoch_of_core_;
  h.run_counter = run_counter_;
  h.span_count = static_cast<uint8_t>(count);
  std::vector<shm::SpanEntry> entries;
  size_t bytes = sizeof h + count * sizeof(shm::SpanEntry);
  for (const LaneWords& words : lanes) {
    shm::SpanEntry e;
    e.risc = words.risc;
    e.source = words.source;
    e.word_offset = words.offset;
    e.word_count = static_cast<uint32_t>(words.words.size());
    e.data_offset = static_cast<uint32_t>(bytes);
    static_assert(sizeof e.digest == sizeof words.before);
    std::memcpy(e.digest, &words.before, sizeof e.digest);
    entries.push_back(e);
    bytes += (4 * words.words.size() + 7) & ~size_t{7};
  }
  h.bytes = static_cast<uint32_t>(bytes);
  chunk.assign(bytes / 8, 0);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(chunk.data() + sizeof h / 8, entries.data(), entries.size() * sizeof entries[0]);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(reinterpret_cast<char*>(chunk.data()) + entries[i].data_offset, lanes[i].words.data(),
                4 * lanes[i].words.size());
}

Source::Next ImageSource::next(std::vector<uint64_t>& chunk) {
  switch (stage_) {
    case Stage::session:
      make_session(chunk);
      stage_ = Stage::names;
      return Next::chunk;
    case Stage::names:
      make_names(chunk);
      stage_ = Stage::words;
      return Next::chunk;
    case Stage::words:
      for (;;) {
        if (!untold_losses_.empty()) {
          const shm::LossRecord loss = untold_losses_.front();
          untold_losses_.erase(untold_losses_.begin());
          put_text(chunk, header(shm::ChunkKind::loss), {reinterpret_cast<const char*>(&loss), sizeof loss});
          return Next::chunk;
        }
        if (lanes_given_ < lanes_.size()) return make_words(chunk), Next::chunk;
        if (epoch_ == image_.epochs) break;
        load_core();
      }
      stage_ = Stage::end;
      [[fallthrough]];
    case Stage::end:
      return Next::end;
  }
  return Next::end;
}

}  // namespace ttc::tools
