// Any bytes as a log of the kernel compiler: every line is a name, malformed, or none of ours.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "firmware_markers/zone_names.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ttc::markers;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  ZoneNames names;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const std::string_view found = zone_string_in(line);
    for (const std::string_view note :
         {found, line}) {  // lines as they are, too: fewer bytes to a valid note
      const uint64_t malformed = names.malformed();
      const bool added = names.add_zone_string(note);
      const auto source = parse_zone_string(note);
      if (source.has_value() != (names.malformed() == malformed)) std::abort();
      if (added && !source) std::abort();
      if (source && !names.find(hash16(note))) std::abort();
    }
  }
  return 0;
}
