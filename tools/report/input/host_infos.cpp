#include "tools/report/input/host_infos.hpp"

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

namespace ttc::report {

uint64_t HostInfos::add(std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  std::string record(reinterpret_cast<const char*>(&size), sizeof size);
  record += text;
  return texts_.append(record);
}

std::shared_ptr<const HostInfos::Json> HostInfos::at(uint64_t place) {
  Parsed& parsed = parsed_[(place * 0x9e3779b97f4a7c15ull >> 32) % kParsed];
  if (!parsed.json || parsed.place != place) {
    uint32_t size = 0;
    std::memcpy(&size, texts_.at(place, sizeof size).data(), sizeof size);
    const std::string_view text = texts_.at(place + sizeof size, size);
    parsed = {place, std::make_shared<Json>(Json::parse(text.begin(), text.end()))};
  }
  return parsed.json;
}

}  // namespace ttc::report
