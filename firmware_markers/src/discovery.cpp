#include "firmware_markers/discovery.hpp"

#include <algorithm>
#include <cstdio>

#include "firmware_markers/frame.hpp"
#include "refused.hpp"

namespace ttc::markers {
namespace {

std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%X", value);
  return text;
}

std::span<const uint32_t> words_at(const L1Image& image, uint32_t address, size_t count) {
  if (address < image.base_address) return {};
  const size_t first = (address - image.base_address) / 4;
  if (first > image.words.size() || image.words.size() - first < count) return {};
  return image.words.subspan(first, count);
}

// All words from an address on, at most `count`.
std::span<const uint32_t> words_from(const L1Image& image, uint32_t address, size_t count) {
  if (address < image.base_address) return {};
  const size_t first = (address - image.base_address) / 4;
  if (first >= image.words.size()) return {};
  return image.words.subspan(first, std::min(count, image.words.size() - first));
}

// TRACE_REPLAY_STATUS of trace-only firmware.
bool waits_for_replay(uint32_t status) {
  constexpr uint32_t kReplayBits = device::kExpectFwStart | device::kExpectKernelStart | device::kExpectEnds;
  return status & kReplayBits && !(status & ~kReplayBits);
}

// A place where the control vector may be.
struct Anchor {
  uint32_t control;
  uint32_t magic = 0;                // address of the magic word; 0: none
  const Mailbox* mailbox = nullptr;  // the version whose place this is, if it is one
};

std::vector<Anchor> magic_anchors(const L1Image& image, const CorePlace& place) {
  std::vector<Anchor> found;
  for (size_t i = 0; i < image.words.size(); ++i) {
    const uint32_t address = image.base_address + static_cast<uint32_t>(4 * i);
    if (address < place.mailbox_base || image.words[i] != place.magic) continue;
    if (address >= place.mailbox_base + kMagicSearchBytes) break;
    const uint32_t control = control_address_after(address, place.mailbox_base);
    if (found.empty() || found.back().control != control) found.push_back({control, address});
  }
  return found;
}

// Every place where a mailbox without a magic word has its vector.
std::vector<Anchor> old_places(const CorePlace& place) {
  std::vector<Anchor> found;
  for (const Mailbox& m : mailboxes())
    for (const uint32_t base : {place.mailbox_base, place.mailbox_base_2025})
      if (const uint32_t offset = m.offset(place.kind, place.riscs); !m.has_magic && base && offset)
        found.push_back({base + offset, 0, &m});
  return found;
}

const Mailbox* mailbox_at(const CorePlace& place, uint32_t control) {
  for (const Anchor& known : old_places(place))
    if (known.control == control) return known.mailbox;
  return nullptr;
}

// Used where there is no magic word: every 16-byte step whose DRAM address word fits. Builds before mid 2025 had an
// allocated buffer anywhere, so there the known places are tried too.
std::vector<Anchor> blind_anchors(const L1Image& image, const Placement& placement, const CorePlace& place) {
  std::vector<Anchor> found;
  const uint32_t from = discovery_address(place);
  for (uint32_t control = (from + 15) & ~15u; control < place.mailbox_base + kMagicSearchBytes;
       control += 16) {
    const auto words = words_at(image, control, device::kG1.control_words);
    if (words.empty()) continue;
    const Mailbox* mailbox = mailbox_at(place, control);
    const uint32_t dram = words[device::kG1.dram_address];
    if (dram == placement.dram_base || (mailbox && dram != 0 && dram % 32 == 0))
      found.push_back({control, 0, mailbox});
  }
  return found;
}

// G1 and G2 have the same vector up to the word in which trace-only firmware stores what it waits for; what
// else distinguishes them are the buffers and the mailbox around them.
const Layout* old_generation(const Anchor& anchor, const ControlVector& v, uint32_t trace_status,
                             std::span<const uint32_t> buffers) {
  const bool traced = buffers.size() > device::kIdIdentity && v.run_counter != 0 &&
                      device::kG2.trace.get(buffers[device::kIdIdentity]) != 0;
  if (traced || waits_for_replay(trace_status)) return layout_by_name("G2");
  if (has_narrow_ids(v, buffers)) return layout_by_name("G1-16");
  if (anchor.mailbox && anchor.mailbox->name == "M2-2025") return layout_by_name("G2");
  if (anchor.mailbox && anchor.mailbox->name == "M0" && v.run_counter == 0) return layout_by_name("G1-16");
  return layout_by_name("G1");
}

// Once a run was recorded since the last reset, BRISC's buffer must carry this core's identity. Before that
// (and with the profiler's first frame still open) the word is free, so only a recorded run is evidence.
std::string identity_conflict(std::span<const uint32_t> buffers, const Layout& layout, const ControlVector& v,
                              device::Mode mode) {
  if (v.run_counter == 0 || v.host_end[0] == 0 || mode != device::Mode::normal) return {};
  if (buffers.size() <= device::kIdIdentity) return {};  // the image does not reach them: no evidence
  const device::Format& f = layout.format;
  const uint32_t identity = buffers[device::kIdIdentity];
  if ((identity & ~f.identity_fields()) || f.risc.get(identity) != 0 || f.flat.get(identity) != v.flat_id)
    return "BRISC's identity word " + hex(identity) + " does not name RISC 0 of flat id " +
           std::to_string(v.flat_id);
  return {};
}

class Search {
 public:
  Search(const L1Image& image, const Placement& placement, const CorePlace& place, const Layout* only)
      : image_(image), placement_(placement), place_(place), only_(only) {}

  Discovery run() {
    auto anchors = magic_anchors(image_, place_);
    if (anchors.empty()) {
      refuse("no " + std::string(place_.kind == CoreKind::tensix ? "worker" : to_string(place_.kind)) +
             " magic word within " + std::to_string(kMagicSearchBytes) + " bytes of the mailbox base " +
             hex(place_.mailbox_base));
      anchors = blind_anchors(image_, placement_, place_);
    }
    for (const Anchor& anchor : anchors)
      if (!(anchor.magic ? try_magic(anchor) : try_blind(anchor))) return refused_;
    if (accepted_) return accepted_;
    if (anchors.empty() || !anchors.front().magic) anchors = old_places(place_);
    for (const Anchor& anchor : anchors) name_stranger(anchor);
    return refused_;
  }

 private:
  void refuse(std::string why) { refused_.evidence.push_back(std::move(why)); }

  // False: two generations fit, and no further evidence exists.
  bool try_magic(const Anchor& anchor) {
    for (const Layout& layout : layouts()) {
      // The mailboxes with a magic word came with G3; an older one only if the user chose it.
      const bool likely = layout.format.generation == 3 || layout.format.generation == 4;
      if (only_ ? only_ == &layout : likely)
        if (!consider(anchor, layout)) return false;
    }
    return true;
  }
  bool try_blind(const Anchor& anchor) {
    if (only_) return consider(anchor, *only_);
    const auto words = words_at(image_, anchor.control, device::kG1.control_words);
    const Layout& family = *layout_by_name("G1");
    const ControlVector v = parse_control_vector(words, family);
    const auto buffers = words_from(image_, anchor.control + 4u * device::kG1.control_words, 4);
    return consider(anchor, *old_generation(anchor, v, words[device::kG2.trace_status], buffers));
  }

  bool consider(const Anchor& anchor, const Layout& layout) {
    const std::string where = std::string(layout.name) + " at " + hex(anchor.control) + ": ";
    const uint32_t buffer_address = anchor.control + 4u * layout.format.control_words;
    const auto words = words_at(image_, anchor.control, layout.format.control_words);
    const auto buffers = words_from(image_, buffer_address, place_.riscs * device::kBufferWords);
    if (words.empty()) {
      refuse(where + "control vector is outside of the memory read");
      return true;
    }
    Discovery d;
    d.vector = parse_control_vector(words, layout);
    const bool free_address = anchor.mailbox && d.vector.dram_address % 32 == 0 && d.vector.dram_address;
    if (const auto why = disagreement(d.vector, placement_, free_address)) {
      refuse(where + *why);
      return true;
    }
    if (const Refused r = refused_variant(words, buffers, layout, d.vector)) {
      refused_.known_as = r.name;
      refuse(std::string(r.name) + " at " + hex(anchor.control) + ": " + r.why);
      return true;
    }
    d.mode = mode_of(d.vector, buffers);
    if (auto why = identity_conflict(buffers, layout, d.vector, d.mode); !why.empty()) {
      refuse(where + why);
      return true;
    }
    if (accepted_ && (anchor.magic || accepted_.control_address != anchor.control)) {
      refuse("both " + std::string(accepted_.layout->name) + " and " + std::string(layout.name) +
             " fit; name one by flag");
      return false;
    }
    d.layout = &layout;
    d.control_address = anchor.control;
    d.buffer_address = buffer_address;
    d.anchored = anchor.magic != 0;
    if (anchor.magic) d.evidence.push_back("magic word at " + hex(anchor.magic));
    if (anchor.mailbox)
      d.evidence.push_back("where mailbox " + std::string(anchor.mailbox->name) + " has it");
    d.evidence.push_back("control vector at " + hex(anchor.control) + " reads as " +
                         std::string(layout.name));
    accepted_ = std::move(d);
    return true;
  }

  void name_stranger(const Anchor& anchor) {
    if (!refused_.known_as.empty()) return;
    const Refused r = refused_stranger(words_from(image_, anchor.control, 64), anchor.magic != 0);
    if (!r) return;
    refused_.known_as = r.name;
    refused_.control_address = anchor.control;
    refused_.evidence.insert(refused_.evidence.begin(),
                             std::string(r.name) + " at " + hex(anchor.control) + ": " + r.why);
  }

  const L1Image& image_;
  const Placement& placement_;
  const CorePlace& place_;
  const Layout* only_;
  Discovery accepted_, refused_;
};

}  // namespace

uint32_t discovery_address(const CorePlace& place) {
  return place.mailbox_base_2025 ? std::min(place.mailbox_base, place.mailbox_base_2025) : place.mailbox_base;
}

Discovery discover(const L1Image& image, const Placement& placement, CoreKind kind, const Layout* only) {
  return Search(image, placement, placement.place(kind), only).run();
}

bool has_narrow_ids(const ControlVector& v, std::span<const uint32_t> buffers) {
  if (v.run_counter == 0 || buffers.size() <= device::kIdHost) return false;
  const uint32_t word = buffers[device::kIdHost];
  const uint32_t runs = word & 0xffff;
  return word >> 16 && (runs == ((v.run_counter - 1) & 0xffff) || runs == (v.run_counter & 0xffff));
}

device::Mode mode_of(const ControlVector& v, std::span<const uint32_t> buffers) {
  using namespace device;
  if (waits_for_replay(v.trace_status)) return Mode::trace_only;
  return v.device_end[0] > kFirstCustomWord && looks_accumulated(buffers) ? Mode::accumulate : Mode::normal;
}

// Accumulating firmware never stamps a host id and puts every zone into the custom area: BRISC's slots are
// unset, or older than the first custom marker, as no finished launch has them.
bool looks_accumulated(std::span<const uint32_t> words) {
  using namespace device;
  if (words.size() < kFirstCustomWord + 2) return false;
  if (words[kIdHost] != 0 || !is_marker(words[kFirstCustomWord])) return false;
  const uint64_t first_custom = marker_time(words[kFirstCustomWord], words[kFirstCustomWord + 1]);
  const bool unset = is_blank(words[kFwStartWord]) && is_blank(words[kFwEndWord]);
  const bool older =
      !is_blank(words[kFwEndWord]) &&
      clock_difference(first_custom, marker_time(words[kFwEndWord], words[kFwEndWord + 1])) > 0;
  return unset || older;
}

bool l1_holds_more(const ControlVector& v, uint32_t risc, device::Mode mode,
                   std::span<const uint32_t> buffer) {
  using namespace device;
  const uint32_t end = v.device_end[risc];
  if (buffer.size() < kBufferWords) return false;
  // The sentinel is cleared when the replay has ended; the host's reset clears the index, not the frame.
  if (mode == Mode::trace_only)
    return risc == 0 && buffer[kIdSentinelHigh] == 0 && is_marker(buffer[kFwStartWord]) &&
           !is_blank(buffer[kFwStartWord]) && is_marker(buffer[kFwEndWord]) && !is_blank(buffer[kFwEndWord]);
  if (end < kFirstCustomWord) return false;
  switch (mode) {
    case Mode::accumulate:
      return end > kFirstCustomWord;
    case Mode::normal:
      return v.dram_address == 0 && v.done == 1 && !is_blank(buffer[kFwStartWord]);
    case Mode::trace_only:
      break;
  }
  return false;
}

uint32_t l1_words(const ControlVector& v, uint32_t risc, const device::Format& format,
                  std::span<const uint32_t> buffer) {
  using namespace device;
  const uint32_t words = std::clamp(v.device_end[risc], kFirstCustomWord, kBufferWords);
  if (words > kFirstCustomWord || !format.quick_push_ends_late || buffer.size() < kFirstCustomWord + 2)
    return words;
  const uint32_t high = buffer[kFirstCustomWord];
  const bool end = is_marker(high) && !is_blank(high) && packet_type(high) == kZoneEnd &&
                   clock_difference(marker_time(high, buffer[kFirstCustomWord + 1]),
                                    marker_time(buffer[kFwStartWord], buffer[kFwStartWord + 1])) < 0;
  return end ? kFirstCustomWord + 2 : words;
}

std::string joined(const std::vector<std::string>& evidence) {
  std::string text;
  for (const std::string& item : evidence) text += (text.empty() ? "" : "; ") + item;
  return text;
}

}  // namespace ttc::markers
