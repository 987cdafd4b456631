#include "tools/pipeline/memory_image.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "firmware_markers/zone_names.hpp"

namespace ttc::tools {
namespace {

using markers::CoreKind;

std::string core_file(const char* kind, const MemoryImage::Core& core, int risc) {
  char name[48];
  if (risc < 0)
    std::snprintf(name, sizeof name, "%s_%02u_%02u.bin", kind, core.x, core.y);
  else
    std::snprintf(name, sizeof name, "%s_%02u_%02u_r%d.bin", kind, core.x, core.y, risc);
  return name;
}

std::string folder_of(unsigned epoch) {
  char folder[24];
  std::snprintf(folder, sizeof folder, "/epoch%04u/", epoch);
  return folder;
}

// Rows of Ethernet tiles (tt-umd device/arch/*_implementation.hpp).
bool is_ethernet(const markers::Placement& placement, uint8_t y) {
  return placement.arch == "blackhole" ? y == 1 : y == 0 || y == 6;
}

// Frames of BRISC, which opens every launch, have an FW start: unless zones of many launches share a frame.
bool accumulates(const std::vector<uint32_t>& log) {
  return log.size() > device::kFirstCustomWord && log[device::kIdHost] == 0 &&
         log[device::kFwStartWord] == device::kUnsetWord;
}

// One reason: what it is, where that is known.
std::string why_refused(const markers::Discovery& found) {
  for (const std::string& item : found.evidence)
    if (!found.known_as.empty() && item.starts_with(found.known_as)) return item;
  return markers::joined(found.evidence);
}

bool ran(const std::vector<uint32_t>& vector, const std::string& generation) {
  const markers::Layout* layout = markers::layout_by_name(generation);
  return layout && vector.size() >= layout->format.control_words &&
         markers::parse_control_vector(vector, *layout).run_counter != 0;
}

std::string names_of_layouts() {
  std::string names;
  for (const markers::Layout& layout : markers::layouts())
    names += (names.empty() ? "" : ", ") + std::string(layout.name);
  return names;
}

}  // namespace

MemoryImage::MemoryImage(const std::string& from) : directory(from) {
  try {
    read_description();
  } catch (const nlohmann::json::exception& e) {
    throw ImageError(directory + "/meta.json: " + e.what());
  }
  read_notes();
  find_layout();
}

void MemoryImage::read_description() {
  std::ifstream meta(directory + "/meta.json");
  if (!meta)
    throw ImageError(directory + "/meta.json cannot be read; a directory of firmware memory has one");
  const auto j = program::json_value(std::string((std::istreambuf_iterator<char>(meta)), {}));
  if (j.is_discarded()) throw ImageError(directory + "/meta.json is not JSON");
  const auto arch = j.at("arch").get<std::string>();
  placement = markers::placement_for(arch.starts_with("wh") || arch.starts_with("worm") ? "wormhole_b0"
                                                                                        : "blackhole");
  if (!arch.starts_with("w") && !arch.starts_with("b"))
    throw ImageError(directory + "/meta.json: arch '" + arch + "' is neither Wormhole nor Blackhole");
  generation_ = j.value("gen", std::string());
  const auto& addresses = j.at("layout");
  control_address = addresses.at("CV_ADDR");
  buffer_address = addresses.at("BUF_ADDR");
  if (addresses.contains("CORE_INFO_ADDR") && addresses.contains("OFF_MAGIC"))
    magic_address = addresses["CORE_INFO_ADDR"].get<uint32_t>() + addresses["OFF_MAGIC"].get<uint32_t>();
  cores_per_bank = j.at("C");
  bytes_per_risc = j.at("P");
  dram_base = j.at("base");
  if (cores_per_bank == 0 || bytes_per_risc == 0)
    throw ImageError(directory + "/meta.json: C and P must not be 0");
  std::error_code ignored;
  while (std::filesystem::is_directory(directory + folder_of(epochs), ignored)) ++epochs;
  if (epochs == 0) throw ImageError(directory + " has no folder epoch0000");
  const uint32_t mailbox = addresses.value("MAILBOX_BASE", 0u);
  for (const auto& c : j.at("cores")) {
    Core core{c.at("x"), c.at("y"), CoreKind::tensix, c.at("flat"), 0};
    core.bank = c.value("bank", core.flat_id / cores_per_bank);
    if (is_ethernet(*placement, core.y)) {
      const auto& idle = placement->place(CoreKind::idle_ethernet);
      const auto& active = placement->place(CoreKind::active_ethernet);
      core.kind = mailbox == idle.mailbox_base && mailbox != active.mailbox_base ? CoreKind::idle_ethernet
                                                                                 : CoreKind::active_ethernet;
    }
    cores.push_back(core);
  }
  if (cores.empty()) throw ImageError(directory + "/meta.json names no cores");
}

void MemoryImage::read_notes() {
  std::ifstream log(directory + "/zone_src_locations.log");
  for (std::string line; std::getline(log, line);)
    if (const auto zone_string = markers::zone_string_in(line); !zone_string.empty())
      zone_strings.emplace_back(zone_string);
}

std::vector<uint32_t> MemoryImage::file(unsigned epoch, const std::string& name) const {
  std::ifstream stream(directory + folder_of(epoch) + name, std::ios::binary);
  if (!stream) return {};  // a RISC that logged nothing has no file
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  std::vector<uint32_t> words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

MemoryImage::CoreMemory MemoryImage::raw(const Core& core, unsigned epoch) const {
  CoreMemory m{file(epoch, core_file("cv", core, -1)), file(epoch, core_file("l1", core, -1)), {}};
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    m.logs[r] = file(epoch, core_file("dram", core, static_cast<int>(r)));
  return m;
}

MemoryImage::CoreMemory MemoryImage::load(const Core& core, unsigned epoch) const {
  CoreMemory m = raw(core, epoch);
  if (m.vector.size() < layout->format.control_words)
    throw ImageError(directory + folder_of(epoch) + core_file("cv", core, -1) + " holds " +
                     std::to_string(m.vector.size()) + " words, not the " +
                     std::to_string(layout->format.control_words) + " of a control vector of " +
                     std::string(layout->name));
  return m;
}

// The core's L1 around the profiler, as far as the files show it.
markers::Discovery MemoryImage::discover(const Core& core, const CoreMemory& memory) const {
  const uint32_t from = markers::discovery_address(placement->place(core.kind));
  const uint32_t end = buffer_address + static_cast<uint32_t>(4 * memory.buffers.size());
  constexpr uint32_t kLargestL1 = 2u << 20;
  if (control_address < from || end < control_address || end > kLargestL1 || control_address % 4 ||
      buffer_address % 4)
    return {};
  std::vector<uint32_t> words((std::max(end, control_address + 1024) - from) / 4 + 64);
  const auto put = [&](uint32_t address, std::span<const uint32_t> what) {
    if (address < from || (address - from) / 4 + what.size() > words.size()) return;
    std::copy(what.begin(), what.end(), words.begin() + (address - from) / 4);
  };
  if (magic_address) put(magic_address, std::span(&placement->place(core.kind).magic, 1));
  put(buffer_address, memory.buffers);
  put(control_address, memory.vector);
  return markers::discover({from, words}, *placement, core.kind);
}

void MemoryImage::find_layout() {
  std::string refusal;
  bool has_run = false;
  for (unsigned epoch = 0; epoch < epochs; ++epoch)
    for (const Core& core : cores) {
      const CoreMemory memory = raw(core, epoch);
      const markers::Discovery found = discover(core, memory);
      // Words in L1 distinguish firmware that was given no log from firmware whose profiler is off.
      if (!found.known_as.empty() && found.known_as != markers::kProfilerOff)
        throw ImageError(directory + ": " + why_refused(found));
      if (!found && refusal.empty()) refusal = why_refused(found);
      has_run = has_run || ran(memory.vector, generation_);
      if (!found) continue;
      // G1 is the default without contrary evidence: a trace count or a 16-bit id appears only on cores where one ran.
      if (!layout || layout == markers::layout_by_name("G1")) layout = found.layout;
      mode = std::max(mode, accumulates(memory.logs[0]) ? device::Mode::accumulate : found.mode);
    }
  // Before the host's first results read G3b has the words of G3.
  if (const std::string why = markers::why_not_read(generation_); !why.empty())
    throw ImageError(directory + ": " + why);
  if (layout && layout->format.generation <= 2 && markers::same_ignoring_case(generation_, "g2"))
    layout = markers::layout_by_name("G2");
  if (layout) return;
  layout = markers::layout_by_name(generation_);
  if (!layout)
    throw ImageError(directory + ": layout generation '" + generation_ + "' of meta.json is none of " +
                     names_of_layouts() + ", and its words do not show which; " + refusal);
  const CoreMemory first = load(cores.front(), 0);
  if (!has_run) throw ImageError(directory + ": " + refusal);
  mode = markers::mode_of(markers::parse_control_vector(first.vector, *layout), first.buffers);
}

}  // namespace ttc::tools
