#include "collector/inspect/inventory.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "collector/inspect/device_list.hpp"
#include "collector/inspect/pci_report.hpp"
#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "driver_iface/card.hpp"
#include "shm/reader.hpp"

namespace ttc::collect {
namespace {

using json = nlohmann::ordered_json;

const char* state_of(const shm::SegmentInfo& s) {
  if (!s.refused.empty()) return "unreadable";
  if (s.alive) return "live";
  return s.ended ? "ended" : "crash remains";
}

// The chip number that the collector gave the device; no value if the segment has none.
std::optional<uint32_t> chip_in(const std::string& live_name) {
  try {
    shm::Reader reader(live_name, shm::StartAt::newest);
    std::vector<uint64_t> chunk;  // the session comes first
    if (reader.next(chunk, 0) != shm::Reader::Next::chunk ||
        shm::header_of(chunk).kind != shm::ChunkKind::session)
      return std::nullopt;
    const auto text = shm::body_of(chunk);
    const auto session = program::json_value({text.data(), text.size()});
    if (!session.is_object() || !session.contains("chip") || !session["chip"].is_number_unsigned())
      return std::nullopt;
    return session["chip"].get<uint32_t>();
  } catch (const shm::SegmentError&) {
    return std::nullopt;  // went away, or is no segment: listed as such
  }
}

json describe(const shm::SegmentInfo& s) {
  const auto chip = s.refused.empty() ? chip_in(s.live_name) : std::nullopt;
  return {{"live", s.live_name},     {"user", s.user},
          {"device", s.device_spec}, {"chip", chip ? json(*chip) : json()},
          {"state", state_of(s)},    {"pid", s.writer_pid},
          {"bytes", s.bytes}};
}

void print(const json& segment) {
  const std::string chip =
      segment["chip"].is_null() ? "" : "chip " + program::json_text(segment["chip"]) + "  ";
  std::printf("segment  live:%s  %s  %s%s, pid %lld, %llu MiB\n",
              program::printable(segment["live"].get<std::string>()).c_str(),
              program::printable(segment["device"].get<std::string>()).c_str(), chip.c_str(),
              segment["state"].get<std::string>().c_str(), segment["pid"].get<long long>(),
              segment["bytes"].get<unsigned long long>() >> 20);
}

}  // namespace

void list(bool as_json, const card::SystemRoots& roots) {
  const std::vector<card::PciFunction> functions = card::tenstorrent_functions(roots);
  json out{{"pci", json::array()}, {"cards", json::array()}, {"segments", json::array()}};
  for (const card::PciFunction& f : functions) out["pci"].push_back(to_json(f));
  const std::string all[] = {"all"};
  for (const ChosenDevice& card : choose_devices(all, card::present_cards()))
    out["cards"].push_back({{"spec", card.spec}, {"chip", card.chip}});
  for (const shm::SegmentInfo& s : shm::list_segments()) out["segments"].push_back(describe(s));
  if (as_json) {
    std::printf("%s\n", program::json_text(out).c_str());
    return;
  }
  for (const card::PciFunction& f : functions) {  // lines of ours, of texts of the kernel's and of firmware's
    std::istringstream lines(to_text(f));
    for (std::string line; std::getline(lines, line);) std::printf("%s\n", program::printable(line).c_str());
  }
  for (const json& card : out["cards"])
    std::printf("card     %s  chip %u of --device all\n",
                program::printable(card["spec"].get<std::string>()).c_str(), card["chip"].get<uint32_t>());
  for (const json& segment : out["segments"]) print(segment);
  if (out["pci"].empty() && out["cards"].empty() && out["segments"].empty())
    std::printf("no card and no segment; start an emulated card with ttemu --name NAME\n");
}

void clean() {
  for (const shm::SegmentInfo& s : shm::list_segments()) {
    if (s.alive) continue;
    const shm::Removal done = shm::remove_segment(s.live_name);
    if (!done.why_not.empty()) std::printf("%s\n", program::printable(done.why_not).c_str());
    if (done.removed) std::printf("removed live:%s\n", program::printable(s.live_name).c_str());
  }
}

}  // namespace ttc::collect
