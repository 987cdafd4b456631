#include "firmware_markers/discovery.hpp"

#include <cstdio>

namespace ttc::markers {
namespace {

std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%X", value);
  return text;
}

std::vector<uint32_t> magic_addresses(const L1Image& image, const Placement& placement) {
  std::vector<uint32_t> found;
  for (size_t i = 0; i < image.words.size(); ++i) {
    const uint32_t address = image.base_address + static_cast<uint32_t>(4 * i);
    if (address < placement.place(CoreKind::tensix).mailbox_base) continue;
    if (address >= placement.place(CoreKind::tensix).mailbox_base + kMagicSearchBytes) break;
    if (image.words[i] == kWorkerMagic) found.push_back(address);
  }
  return found;
}

std::span<const uint32_t> words_at(const L1Image& image, uint32_t address, size_t count) {
  if (address < image.base_address) return {};
  const size_t first = (address - image.base_address) / 4;
  if (first > image.words.size() || image.words.size() - first < count) return {};
  return image.words.subspan(first, count);
}

// Once a run was recorded since the last reset, BRISC's buffer must carry this core's identity. Before that
// (and with the profiler's first frame still open) the word is free, so only a recorded run is evidence.
std::string identity_conflict(const L1Image& image, const Discovery& d) {
  if (d.vector.run_counter == 0 || d.vector.host_end[0] == 0) return {};
  const auto ids = words_at(image, d.buffer_address, 4);
  if (ids.empty()) return {};  // the image does not reach the buffers: no evidence either way
  const device::Format& f = d.layout->format;
  const uint32_t identity = ids[device::kIdIdentity];
  if ((identity & ~f.identity_fields()) || f.risc.get(identity) != 0 ||
      f.flat.get(identity) != d.vector.flat_id)
    return "BRISC's identity word " + hex(identity) + " does not name RISC 0 of flat id " +
           std::to_string(d.vector.flat_id);
  return {};
}

}  // namespace

Discovery discover(const L1Image& image, const Placement& placement, const Layout* only) {
  Discovery refused;
  const auto anchors = magic_addresses(image, placement);
  if (anchors.empty())
    refused.evidence.push_back("no worker magic word within " + std::to_string(kMagicSearchBytes) +
                               " bytes of the mailbox base " +
                               hex(placement.place(CoreKind::tensix).mailbox_base));
  Discovery accepted;
  uint32_t last_control = 0;
  for (const uint32_t magic : anchors) {
    const uint32_t control = control_address_after(magic, placement.place(CoreKind::tensix).mailbox_base);
    if (control == last_control) continue;
    last_control = control;
    for (const Layout& layout : layouts()) {
      if (layout.format.generation < 3 || layout.format.generation > 4) continue;
      if (only && only != &layout) continue;
      const std::string where = std::string(layout.name) + " at " + hex(control) + ": ";
      const auto words = words_at(image, control, layout.format.control_words);
      if (words.empty()) {
        refused.evidence.push_back(where + "control vector lies outside the memory read");
        continue;
      }
      Discovery d{&layout,
                  control,
                  control + 4u * layout.format.control_words,
                  parse_control_vector(words, layout),
                  {}};
      if (const auto why = disagreement(d.vector, placement)) {
        refused.evidence.push_back(where + *why);
        continue;
      }
      if (auto why = identity_conflict(image, d); !why.empty()) {
        refused.evidence.push_back(where + why);
        continue;
      }
      if (accepted) {
        refused.evidence.push_back("both " + std::string(accepted.layout->name) + " and " +
                                   std::string(layout.name) + " fit; name one by flag");
        return refused;
      }
      d.evidence.push_back("magic word at " + hex(magic));
      d.evidence.push_back("control vector at " + hex(control) + " reads as " + std::string(layout.name));
      accepted = std::move(d);
    }
  }
  return accepted ? accepted : refused;
}

std::string joined(const std::vector<std::string>& evidence) {
  std::string text;
  for (const std::string& item : evidence) text += (text.empty() ? "" : "; ") + item;
  return text;
}

}  // namespace ttc::markers
