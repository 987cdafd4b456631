#include "tools/ranks/rank_captures.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "collector/program/json_text.hpp"
#include "tools/ranks/rank_clock_json.hpp"
#include "ttcollect/capture_reader.hpp"
#include "ttcollect/clock_segment.hpp"

namespace ttc::tools {
namespace {

namespace fs = std::filesystem;

// What comes before the words of a capture.
struct Beginning {
  uint32_t chips = 1;  // the largest number and one
  std::optional<int64_t> realtime_minus_raw_ns;
  uint64_t raw_ns = 0;
};

Beginning beginning_of(const std::string& path) {
  Beginning found;
  collect::Wanted facts;
  facts.read_from_ns = ~uint64_t{0};
  try {
    collect::CaptureReader reader(path, facts);
    for (std::vector<uint64_t> chunk; !found.realtime_minus_raw_ns && reader.next(chunk);) {
      const shm::ChunkHeader& h = shm::header_of(chunk);
      const auto body = shm::body_of(chunk);
      if (h.kind == shm::ChunkKind::session) {
        const auto j = program::json_value({body.data(), body.size()});
        if (j.is_object() && j.contains("chip") && j["chip"].is_number_unsigned())
          found.chips = std::max(found.chips, std::min(j["chip"].get<uint32_t>(), uint32_t{1} << 16) + 1);
      } else if (h.kind == shm::ChunkKind::clock && collect::check_clock_body(body).empty()) {
        const collect::ClockHead head = collect::clock_head_of(body);
        found.realtime_minus_raw_ns = head.realtime_minus_raw_ns, found.raw_ns = head.raw_ns;
      }
    }
  } catch (const collect::CaptureError&) {  // the program that reads its words refuses it with a sentence
  }
  return found;
}

// The clocks of one directory, by file name.
std::map<std::string, RankClock> clocks_in(const fs::path& directory) {
  std::map<std::string, RankClock> all;
  std::ifstream in(directory / kClocksFile);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const nlohmann::json j = program::json_value(text);
  if (!j.is_object()) return all;
  for (const auto& [name, value] : j.items())
    if (const auto clock = rank_clock_of(value); clock && clock->reference) all[name] = *clock;
  return all;
}

void relate_by_files(std::vector<RankCapture>& all) {
  std::map<fs::path, std::map<std::string, RankClock>> read;
  uint64_t reference = 0;
  for (RankCapture& c : all) {
    const fs::path file(c.path);
    const auto [clocks, fresh] = read.try_emplace(file.parent_path());
    if (fresh) clocks->second = clocks_in(file.parent_path().empty() ? "." : file.parent_path());
    const auto found = clocks->second.find(file.filename().string());
    if (found == clocks->second.end() || (reference && found->second.reference != reference)) continue;
    reference = found->second.reference;
    c.clock = found->second, c.basis = ClockBasis::related;
  }
}

// Relates the captures that clocks.json does not relate, by their wall clock, to the first one whose wall clock is
// known.
void relate_by_wall_clocks(std::vector<RankCapture>& all, const std::vector<Beginning>& beginnings) {
  std::optional<int64_t> common;  // wall clock less common time
  for (size_t i = 0; i < all.size() && !common; ++i)
    if (beginnings[i].realtime_minus_raw_ns && all[i].basis == ClockBasis::related)
      common = *beginnings[i].realtime_minus_raw_ns - all[i].clock.at(beginnings[i].raw_ns).offset_ns;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].basis == ClockBasis::related || !beginnings[i].realtime_minus_raw_ns) continue;
    if (!common) common = beginnings[i].realtime_minus_raw_ns;
    all[i].basis = ClockBasis::wall_clock;
    all[i].clock.reference = 1;
    all[i].clock.points.add({beginnings[i].raw_ns, *beginnings[i].realtime_minus_raw_ns - *common, 0});
  }
}

}  // namespace

const RankCapture* RankCaptures::find(const std::string& path) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const RankCapture& c) { return c.path == path; });
  return found == all.end() ? nullptr : &*found;
}

RankCaptures rank_captures(const std::vector<std::string>& sources) {
  RankCaptures found;
  for (const std::string& source : sources) {
    std::error_code error;
    const auto name = rank_of_capture(source);
    if (name && fs::path(source).extension() == ".ttc" && fs::is_regular_file(source, error))
      found.all.push_back({source, *name, 0, {}, ClockBasis::none});
  }
  const auto another = [&](const RankCapture& c) { return !(c.name == found.all.front().name); };
  if (std::none_of(found.all.begin(), found.all.end(), another)) return {};
  std::vector<Beginning> beginnings;
  uint32_t chips = 0;
  for (RankCapture& c : found.all) {
    beginnings.push_back(beginning_of(c.path));
    c.first_chip = chips;
    chips += beginnings.back().chips;
  }
  relate_by_files(found.all);
  relate_by_wall_clocks(found.all, beginnings);
  std::string by_wall_clock, own;
  for (const RankCapture& c : found.all) {
    if (c.basis == ClockBasis::wall_clock)
      by_wall_clock += (by_wall_clock.empty() ? "" : ", ") + c.name.text();
    if (c.basis == ClockBasis::none) own += (own.empty() ? "" : ", ") + c.name.text();
  }
  if (!by_wall_clock.empty())
    found.remarks.push_back(by_wall_clock +
                            ": no clocks.json relates the clock; by the hosts' wall clocks, without a bound");
  if (!own.empty())
    found.remarks.push_back(own + ": nothing relates the clock; times are those of the host itself");
  return found;
}

}  // namespace ttc::tools
