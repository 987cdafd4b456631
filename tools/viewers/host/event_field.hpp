// A field of an event beside its name: a name and a number or a text.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace ttc::tools {

struct EventField {
  const char* name;
  uint64_t number = 0;
  std::string text = {};  // instead of the number, unless empty
};

// Appends words behind what is there: "bytes 64, NoC 1".
void append_number(std::string& to, uint64_t value);
void append_fields(std::string& to, std::span<const EventField> fields);

}  // namespace ttc::tools
