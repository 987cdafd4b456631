#include "tools/viewers/host/event_field.hpp"

#include <charconv>

namespace ttc::tools {

void append_number(std::string& to, uint64_t value) {
  char digits[20];
  to.append(digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits));
}

void append_fields(std::string& to, std::span<const EventField> fields) {
  for (const EventField& f : fields) {
    if (!to.empty()) to += ", ";
    to += f.name;
    to += ' ';
    if (f.text.empty())
      append_number(to, f.number);
    else
      to += f.text;
  }
}

}  // namespace ttc::tools
