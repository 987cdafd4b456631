// Numbers of zones by their texts.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/report/zones/lane_events.hpp"

namespace ttc::report {

// Zones by their texts. A dispatch zone is renamed for every command; what is kept of it is its own name.
class ZoneIndex {
 public:
  explicit ZoneIndex(std::vector<Zone>& zones) : zones_(zones) {
    if (zones_.empty()) zones_.emplace_back();
  }
  uint32_t of(std::string_view name, std::string_view file, uint32_t line) {
    if (name.empty()) return 0;
    name = name.substr(0, name.starts_with("CQ") ? name.find(':') : std::string_view::npos);
    key_.assign(name);
    key_ += '\n';
    key_ += file;
    key_ += '\n';
    key_ += std::to_string(line);
    const auto [it, fresh] = by_text_.try_emplace(key_, static_cast<uint32_t>(zones_.size()));
    if (fresh) zones_.push_back({std::string(name), std::string(file), line, class_of(name)});
    return it->second;
  }

 private:
  std::vector<Zone>& zones_;
  std::unordered_map<std::string, uint32_t> by_text_;
  std::string key_;
};

}  // namespace ttc::report
