#include "collector/inspect/device_list.hpp"

#include <algorithm>
#include <set>

namespace ttc::collect {

std::vector<std::string> listed_devices(std::span<const std::string> typed) {
  std::vector<std::string> specs;
  for (const std::string& text : typed)
    for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
      end = text.find(',', begin);
      specs.push_back(text.substr(begin, end - begin));
    }
  return specs;
}

bool names_all(std::span<const std::string> given) {
  return given.size() == 1 && given.front() == "all";
}

void check_device_list(std::span<const std::string> given) {
  if (given.empty())
    throw DeviceListError(
        "no device named; --device emu:NAME or --device all, and `ttcollect list` shows what is there");
  std::set<std::string> seen;
  for (const std::string& spec : given) {
    if (spec.empty()) throw DeviceListError("--device has an empty name in its list; it takes emu:A,emu:B");
    if (spec == "all" && given.size() > 1)
      throw DeviceListError("--device all names every card already; give it alone");
    if (!seen.insert(spec).second)
      throw DeviceListError("--device names '" + spec + "' twice; a card is collected from once");
  }
}

std::vector<ChosenDevice> choose_devices(std::span<const std::string> given,
                                         std::vector<std::string> present) {
  std::vector<std::string> specs(given.begin(), given.end());
  if (names_all(given)) {
    std::sort(present.begin(), present.end());
    specs = std::move(present);
  }
  std::vector<ChosenDevice> chosen;
  chosen.reserve(specs.size());
  for (std::string& spec : specs) chosen.push_back({std::move(spec), static_cast<uint32_t>(chosen.size())});
  return chosen;
}

}  // namespace ttc::collect
