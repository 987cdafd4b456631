#include "ttemu/loader.hpp"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "firmware_markers/zone_names.hpp"

namespace ttc::emulation {
namespace {

// Looks at a core's vector after its words were fetched: enough for some visits, in which an observer that
// reads twice before it believes, or had to retry, comes to its end.
constexpr uint64_t kLooksAfter = 24;
constexpr auto kWaitStep = std::chrono::microseconds(50);

std::string core_file(const char* kind, card::Coord at, int risc) {
  char name[48];
  if (risc < 0)
    std::snprintf(name, sizeof name, "%s_%02u_%02u.bin", kind, at.x, at.y);
  else
    std::snprintf(name, sizeof name, "%s_%02u_%02u_r%d.bin", kind, at.x, at.y, risc);
  return name;
}

}  // namespace

MemoryImage read_image_description(const std::string& directory) try {
  std::ifstream meta(directory + "/meta.json");
  if (!meta)
    throw LoadError(directory + "/meta.json cannot be read; --load takes a directory of firmware memory");
  const auto j = nlohmann::json::parse(meta);
  MemoryImage image;
  image.directory = directory;
  const bool wormhole = j.at("arch").get<std::string>().starts_with("wh");
  image.arch = wormhole ? "wormhole_b0" : "blackhole";
  image.board = wormhole ? "n150" : "p150";
  image.layout = markers::layout_by_name(j.at("gen").get<std::string>());
  if (!image.layout)
    throw LoadError(directory + ": layout generation '" + j.at("gen").get<std::string>() +
                    "' is not known to this build");
  const auto& layout = j.at("layout");
  image.control_address = layout.at("CV_ADDR");
  image.buffer_address = layout.at("BUF_ADDR");
  image.magic_address = layout.at("CORE_INFO_ADDR").get<uint32_t>() + layout.at("OFF_MAGIC").get<uint32_t>();
  image.cores_per_bank = j.at("C");
  image.bytes_per_risc = j.at("P");
  image.dram_base = j.at("base");
  image.epochs = j.at("epochs");
  for (const auto& core : j.at("cores"))
    image.cores.push_back({{core.at("x").get<uint8_t>(), core.at("y").get<uint8_t>()},
                           core.at("flat").get<uint8_t>(),
                           core.at("bank").get<uint32_t>()});
  std::ifstream log(directory + "/zone_src_locations.log");
  for (std::string line; std::getline(log, line);)
    if (const auto note = markers::note_in(line); !note.empty()) image.notes.emplace_back(note);
  return image;
} catch (const nlohmann::json::exception& e) {
  throw LoadError(directory + "/meta.json: " + e.what());
}

ImageLoader::ImageLoader(card::EmulatedCard& card, const MemoryImage& image) : card_(card), image_(image) {
  card.set_log_geometry({image.control_address, 4u * image.layout->format.control_words, image.dram_base,
                         image.bytes_per_risc, image.cores_per_bank});
  for (const auto& core : image.cores) card.store(core.at, image.magic_address, markers::kWorkerMagic);
}

std::vector<uint32_t> ImageLoader::file(unsigned epoch, const std::string& name) const {
  char folder[24];
  std::snprintf(folder, sizeof folder, "/epoch%04u/", epoch);
  std::ifstream stream(image_.directory + folder + name, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  if (!stream && bytes.empty()) return {};  // a RISC that logged nothing has no file
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

void ImageLoader::reset() {
  const device::Format& f = image_.layout->format;
  ++resets_;
  lane_words_.clear();
  for (const auto& core : image_.cores) {
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
      card_.set_landed(core.flat_id * device::kMaxRiscs + r, resets_, 0);
    for (uint32_t w = 0; w < f.control_words; ++w) {
      uint32_t value = 0;
      if (w == f.dram_address) value = image_.dram_base;
      if (w == f.flat_id) value = core.flat_id;
      if (w == f.core_count_per_dram) value = image_.cores_per_bank;
      card_.store(core.at, image_.control_address + 4 * w, value);
    }
  }
}

void ImageLoader::load_epoch(unsigned epoch) {
  const device::Format& f = image_.layout->format;
  for (const auto& core : image_.cores) {
    const auto vector = file(epoch, core_file("cv", core.at, -1));
    if (vector.size() < f.control_words)
      throw LoadError(image_.directory + ": epoch " + std::to_string(epoch) +
                      " has no control vector of a core");
    const auto buffers = file(epoch, core_file("l1", core.at, -1));
    for (uint32_t w = 0; w < buffers.size(); ++w)
      card_.store(core.at, image_.buffer_address + 4 * w, buffers[w]);
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
      const auto log = file(epoch, core_file("dram", core.at, static_cast<int>(r)));
      const auto place =
          markers::log_place(core.flat_id, r, image_.cores_per_bank, image_.dram_base, image_.bytes_per_risc);
      card_.store_dram(place.bank, place.address, log);
      const uint32_t lane = core.flat_id * device::kMaxRiscs + r;
      lane_words_.emplace_back(lane, static_cast<uint32_t>(log.size()));
      card_.set_landed(lane, resets_, static_cast<uint32_t>(log.size()));
    }
    for (uint32_t w = 0; w < f.control_words; ++w)
      card_.store(core.at, image_.control_address + 4 * w, vector[w]);
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
  using Clock = std::chrono::steady_clock;
  auto alone_since = Clock::now();
  const auto wait = [&](auto done) {
    while (!done()) {
      if (card_.observers() > 0) alone_since = Clock::now();
      if (stop || Clock::now() - alone_since > std::chrono::nanoseconds(no_observer_ns)) return false;
      std::this_thread::sleep_for(kWaitStep);  // another process sets the pace
    }
    return true;
  };
  if (!wait([&] { return unread_words() == 0; })) return false;
  for (const auto& core : image_.cores) {
    const uint64_t enough = card_.control_reads(core.at) + kLooksAfter;
    if (!wait([&] { return card_.control_reads(core.at) >= enough; })) return false;
  }
  return true;
}

}  // namespace ttc::emulation
