// Messages by which tt-metal's host side describes its device ops (tt-metal ttnn op_profiler.hpp):
//
//   TT_DNN_DEVICE_OP: "CODE", PROGRAM HASH, DEVICE, CACHE HIT, CALL COUNT ->\n{JSON}     the first of a program
//   TT_DNN_DEVICE_OP: "CODE", PROGRAM HASH, DEVICE, CACHE HIT, CALL COUNT                a repeated one
//
// CACHE HIT is there since 2026. The call count is the host id of the op's launches.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ttc::tools {

struct OpMessage {
  std::string_view code;  // the text between its quotes, with JSON's escapes
  uint64_t program_hash = 0;
  uint32_t device = 0, call_count = 0;
  std::optional<bool> cache_hit;
};

// The part in front of the JSON; empty: the message has none.
std::string_view op_json(std::string_view message);
// Parses the part before the JSON. None: it has another form. The code is quoted and may hold commas: the number of
// fields that follow it distinguishes the two forms.
std::optional<OpMessage> op_message(std::string_view message);

// A flag as C++, Python or a stream without boolalpha spells it.
std::optional<bool> truth(std::string_view text);

struct NamedOp {
  uint32_t device = 0, call_count = 0;
  std::string name;
};
// Which op a message names, by its fields or, where they have another form, by its JSON. The back-ticks around
// messages are passed over. None: it is of no device op.
std::optional<NamedOp> named_op(std::string_view message);

}  // namespace ttc::tools
