#include "tools/pipeline/image_source.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"

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

markers::LaneDecoder& ImageSource::decoder(const MemoryImage::Core& core, uint8_t risc) {
  const markers::Lane lane{&image_.layout->format, risc, core.flat_id, image_.mode};
  return decoders_.try_emplace(core.flat_id * device::kMaxRiscs + risc, lane).first->second;
}

// The logs up to their indices, and what only L1 still holds where the mode keeps words there.
std::vector<ImageSource::LaneWords> ImageSource::lanes_of(const MemoryImage::Core& core,
                                                          const markers::ControlVector& v,
                                                          const MemoryImage::CoreMemory& memory) {
  std::vector<LaneWords> lanes;
  for (uint8_t r = 0; r < device::kMaxRiscs; ++r) {
    const auto& log = memory.logs[r];
    const size_t words = std::min<size_t>(log.size(), v.host_end[r]);
    if (v.host_end[r] > log.size() && v.dram_address != 0)
      complaints_.push_back(image_.directory + ": the log of RISC " + std::to_string(r) + " of core (" +
                            std::to_string(core.x) + "," + std::to_string(core.y) + ") in epoch " +
                            std::to_string(epoch_) + " ends before its index");
    if (words && v.dram_address != 0)
      lanes.push_back({r, shm::SpanSource::dram_log, std::span(log).first(words)});
  }
  const uint32_t riscs = image_.placement->place(core.kind).riscs;
  for (uint8_t r = 0; r < riscs; ++r) {
    const size_t first = size_t{r} * device::kBufferWords;
    if (memory.buffers.size() < first + device::kBufferWords) break;
    const auto buffer = std::span(memory.buffers).subspan(first, device::kBufferWords);
    if (markers::l1_holds_more(v, r, image_.mode, buffer))
      lanes.push_back({r, shm::SpanSource::l1_buffer,
                       buffer.first(markers::l1_words(v, r, image_.layout->format, buffer))});
  }
  return lanes;
}

void ImageSource::note_drops(const MemoryImage::Core& core, const markers::ControlVector& v) {
  for (uint8_t r = 0; r < device::kMaxRiscs; ++r) {
    if (!(v.dropped >> r & 1)) continue;
    shm::LossRecord loss;
    loss.id = ++loss_ids_;
    loss.core_x = core.x;
    loss.core_y = core.y;
    loss.risc = r;
    loss.cause = shm::LossCause::dropped_on_card;
    loss.precision = shm::LossPrecision::unknown;
    loss.epoch = epoch_;
    loss.from_cycles = decoder(core, r).digest().last_time;
    losses_.push_back(loss);
  }
}

bool ImageSource::make_words(std::vector<uint64_t>& chunk) {
  const MemoryImage::Core& core = image_.cores[core_];
  MemoryImage::CoreMemory memory;
  try {
    memory = image_.load(core, epoch_);
  } catch (const ImageError& e) {
    complaints_.emplace_back(e.what());
    return false;
  }
  const auto v = markers::parse_control_vector(memory.vector, *image_.layout);
  const auto lanes = lanes_of(core, v, memory);
  shm::ChunkHeader h = header(shm::ChunkKind::device_words);
  h.core_x = core.x;
  h.core_y = core.y;
  h.core_kind = static_cast<uint8_t>(core.kind);
  h.flat_id = core.flat_id;
  h.epoch = epoch_;
  h.run_counter = v.run_counter;
  h.span_count = static_cast<uint8_t>(lanes.size());
  size_t bytes = sizeof h + lanes.size() * sizeof(shm::SpanEntry);
  std::vector<shm::SpanEntry> entries;
  for (const LaneWords& lane : lanes) {
    shm::SpanEntry e;
    e.risc = lane.risc;
    e.source = lane.source;
    e.word_count = static_cast<uint32_t>(lane.words.size());
    e.data_offset = static_cast<uint32_t>(bytes);
    markers::LaneDecoder& d = decoder(core, lane.risc);
    static_assert(sizeof e.digest == sizeof d.digest());
    std::memcpy(e.digest, &d.digest(), sizeof e.digest);
    scratch_.clear();
    if (lane.source == shm::SpanSource::l1_buffer)
      d.decode_buffer(lane.words, scratch_);
    else
      d.decode(lane.words, scratch_);
    entries.push_back(e);
    bytes += (4 * lane.words.size() + 7) & ~size_t{7};
  }
  note_drops(core, v);
  if (lanes.empty()) return false;
  h.bytes = static_cast<uint32_t>(bytes);
  chunk.assign(bytes / 8, 0);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(chunk.data() + sizeof h / 8, entries.data(), entries.size() * sizeof entries[0]);
  for (size_t i = 0; i < lanes.size(); ++i)
    std::memcpy(reinterpret_cast<char*>(chunk.data()) + entries[i].data_offset, lanes[i].words.data(),
                4 * lanes[i].words.size());
  return true;
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
        if (!losses_.empty()) {
          shm::ChunkHeader h = header(shm::ChunkKind::loss);
          const shm::LossRecord loss = losses_.back();
          losses_.pop_back();
          put_text(chunk, h, {reinterpret_cast<const char*>(&loss), sizeof loss});
          return Next::chunk;
        }
        if (epoch_ == image_.epochs) break;
        const bool made = make_words(chunk);
        if (++core_ == image_.cores.size()) core_ = 0, ++epoch_;
        if (made) return Next::chunk;
      }
      stage_ = Stage::end;
      [[fallthrough]];
    case Stage::end:
      return Next::end;
  }
  return Next::end;
}

}  // namespace ttc::tools
