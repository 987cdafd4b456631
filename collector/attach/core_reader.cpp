#include "collector/attach/core_reader.hpp"

#include <algorithm>

#include "firmware_markers/packets.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::failed;

constexpr size_t kVectorWords = 68;
using VectorWords = std::array<uint32_t, kVectorWords>;

card::Coord first_tensix(const Attachment& attachment) {
  for (const AttachedCore& core : attachment.cores)
    if (core.kind == markers::CoreKind::tensix) return core.at;
  return {};
}

const uint32_t* words_of(std::span<const uint64_t> raw) {
  return reinterpret_cast<const uint32_t*>(raw.data());
}

}  // namespace

bool ControlSample::only_grown_since(const ControlSample& before) const {
  bool grown = run_counter > before.run_counter;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (host_end[r] < before.host_end[r]) return false;
    grown = grown || host_end[r] > before.host_end[r];
  }
  return grown && run_counter >= before.run_counter;
}

uint64_t L1Slots::time_of(uint32_t word) const {
  const uint32_t at = word - device::kFwStartWord;
  return words[at] == device::kUnsetWord ? 0 : markers::marker_time(words[at], words[at + 1]);
}

bool L1Slots::holds_later(uint32_t word, uint64_t since) const {
  const uint32_t at = word - device::kFwStartWord;
  return markers::is_marker(words[at]) && !markers::is_blank(words[at]) &&
         markers::clock_difference(time_of(word), since) > 0;
}

CoreReader::CoreReader(CardPort& port, const Attachment& attachment)
    : port_(port), attachment_(attachment), clock_tile_(first_tensix(attachment)) {
  // RUN_COUNTER is fetched first: indices read after it cannot lag behind it.
  const device::Format& f = format();
  const uint32_t last_index = f.host_end + device::kMaxRiscs - 1u;
  if (f.run_counter - last_index < card::kLineBytes / 4)
    poll_parts_ = {part(f.host_end, f.run_counter)};
  else
    poll_parts_ = {part(f.run_counter, f.run_counter), part(f.host_end, last_index)};
}

CoreReader::Part CoreReader::part(uint32_t first, uint32_t last) {
  const uint32_t begin = first & ~1u;
  return {begin, ((last + 2) & ~1u) - begin};
}

uint32_t CoreReader::last_address_word() const {
  return format().risc_dram_address + std::max<uint32_t>(format().risc_dram_address_count, 1) - 1;
}

Access CoreReader::read_part(const AttachedCore& core, const Part& part, std::span<uint32_t> words) const {
  std::array<uint64_t, kVectorWords / 2> raw;
  const std::span<uint64_t> into(raw.data(), part.words / 2);
  const Access a = l1(core, core.control_address + 4 * part.first_word, into);
  if (a == Access::ok) std::copy_n(words_of(into), part.words, words.begin() + part.first_word);
  return a;
}

Access CoreReader::l1(const AttachedCore& core, uint32_t address, std::span<uint64_t> into) const {
  return port_.l1(core.at, address, into);
}

Access CoreReader::control_words(const AttachedCore& core, uint32_t first, std::span<uint32_t> words) const {
  VectorWords all{};
  const auto last = first + static_cast<uint32_t>(words.size()) - 1;
  const Access a = read_part(core, part(first, last), all);
  if (a == Access::ok) std::copy_n(all.begin() + first, words.size(), words.begin());
  return a;
}

card::Expected<ControlSample> CoreReader::sample(const AttachedCore& core, bool with_stored,
                                                 std::optional<uint64_t> begun_ns) const {
  VectorWords words{};
  const device::Format& f = format();
  ControlSample sample;
  sample.read_time_ns = begun_ns ? *begun_ns : port_.now_ns();
  if (with_stored)
    if (const Access a = read_part(core, part(f.device_end, f.device_end + device::kMaxRiscs - 1u), words);
        a != Access::ok)
      return failed(a);
  for (const Part& polled : poll_parts_)
    if (const Access a = read_part(core, polled, words); a != Access::ok) return failed(a);
  std::copy_n(words.begin() + f.host_end, device::kMaxRiscs, sample.host_end.begin());
  if (with_stored) std::copy_n(words.begin() + f.device_end, device::kMaxRiscs, sample.stored.begin());
  sample.run_counter = words[f.run_counter];
  // Neither an index nor a count of runs gets there: the tile does not answer.
  const bool unanswered =
      sample.run_counter == ~0u || std::count(sample.host_end.begin(), sample.host_end.end(), ~0u) != 0;
  if (unanswered)
    if (const Access a = port_.doubt_tile(core.at); a != Access::ok) return failed(a);
  return sample;
}

card::Expected<bool> CoreReader::not_rewound(const AttachedCore& core, const ControlSample& before) const {
  VectorWords words{};
  const device::Format& f = format();
  const bool together = poll_parts_.size() == 1, by_runs = before.run_counter != 0 && !together;
  if (const Access a = read_part(core, by_runs ? poll_parts_.front() : poll_parts_.back(), words);
      a != Access::ok)
    return failed(a);
  if ((by_runs || together) && words[f.run_counter] < before.run_counter) return false;
  for (uint32_t r = 0; r < device::kMaxRiscs && !by_runs; ++r)
    if (words[f.host_end + r] < before.host_end[r]) return false;
  return true;
}

card::Expected<uint32_t> CoreReader::dropped(const AttachedCore& core) const {
  VectorWords words{};
  const uint32_t word = format().dropped;
  if (const Access a = read_part(core, part(word, word), words); a != Access::ok) return failed(a);
  return words[word];
}

card::Expected<uint32_t> CoreReader::stored_by_brisc(const AttachedCore& core) const {
  VectorWords words{};
  const uint32_t word = format().device_end;
  if (const Access a = read_part(core, part(word & ~1u, word & ~1u), words); a != Access::ok)
    return failed(a);
  return words[word];
}

card::Expected<FirmwareIdentity> CoreReader::identity(const AttachedCore& core) const {
  VectorWords words{};
  const device::Format& f = format();
  const Part identity = part(f.dram_address, std::max<uint32_t>(f.core_count_per_dram, last_address_word()));
  if (const Access a = read_part(core, identity, words); a != Access::ok) return failed(a);
  if (words[f.dram_address] == ~0u && words[f.flat_id] == ~0u)
    if (const Access a = port_.doubt_tile(core.at); a != Access::ok) return failed(a);
  const auto first = words.begin() + f.risc_dram_address;
  return FirmwareIdentity{
      words[f.dram_address], words[f.flat_id], words[f.core_count_per_dram],
      std::any_of(first, first + f.risc_dram_address_count, [](uint32_t address) { return address != 0; })};
}

card::Expected<bool> CoreReader::host_has_read(const AttachedCore& core) const {
  VectorWords words{};
  const device::Format& f = format();
  if (f.risc_dram_address_count == 0) return true;
  if (const Access a = read_part(core, part(f.risc_dram_address, last_address_word()), words);
      a != Access::ok)
    return failed(a);
  const auto first = words.begin() + f.risc_dram_address;
  return std::any_of(first, first + f.risc_dram_address_count, [](uint32_t address) { return address != 0; });
}

card::Expected<markers::ControlVector> CoreReader::vector(const AttachedCore& core) const {
  std::vector<uint64_t> raw(format().control_words / 2);
  if (const Access a = l1(core, core.control_address, raw); a != Access::ok) return failed(a);
  return markers::parse_control_vector({words_of(raw), format().control_words}, *attachment_.layout);
}

card::Expected<std::vector<uint32_t>> CoreReader::buffer(const AttachedCore& core, uint32_t risc) const {
  std::array<uint64_t, device::kBufferWords / 2> raw;
  if (const Access a = l1(core, core.buffer_address + 4 * risc * device::kBufferWords, raw); a != Access::ok)
    return failed(a);
  return std::vector<uint32_t>(words_of(raw), words_of(raw) + device::kBufferWords);
}

card::Expected<L1Slots> CoreReader::slots(const AttachedCore& core, uint32_t risc,
                                          bool with_first_marker) const {
  std::array<uint64_t, 5> raw{};
  const uint32_t address = core.buffer_address + 4 * (risc * device::kBufferWords + device::kFwStartWord);
  if (const Access a = l1(core, address, std::span(raw).first(with_first_marker ? 5 : 4)); a != Access::ok)
    return failed(a);
  L1Slots slots;
  std::copy_n(words_of(raw), slots.words.size(), slots.words.begin());
  return slots;
}

card::Expected<CoreReader::FirstMarker> CoreReader::first_marker(const AttachedCore& core,
                                                                 uint32_t risc) const {
  std::array<uint64_t, 1> raw;
  const uint32_t address = core.buffer_address + 4 * (risc * device::kBufferWords + device::kFirstCustomWord);
  if (const Access a = l1(core, address, raw); a != Access::ok) return failed(a);
  FirstMarker buffer{};
  std::copy_n(words_of(raw), 2, buffer.begin() + device::kFirstCustomWord);
  return buffer;
}

uint64_t CoreReader::log_address(const AttachedCore& core, uint32_t risc, uint32_t word) const {
  return markers::log_place(core.flat_id, risc, attachment_.core_count_per_dram, attachment_.dram_base,
                            log_bytes_)
             .address +
         uint64_t{word} * 4;
}

Access CoreReader::log(const AttachedCore& core, uint32_t risc, uint32_t word,
                       std::span<uint64_t> into) const {
  const LogRead read = log_read(core, risc, word, into);
  return port_.logs({&read, 1});
}

bool CoreReader::silent(std::span<const uint32_t> words) {
  return words.size() >= 4 && std::all_of(words.begin(), words.end(), [](uint32_t w) { return w == ~0u; });
}

}  // namespace ttc::collect
