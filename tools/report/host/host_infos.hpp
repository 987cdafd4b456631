// Descriptions of ops, in a spill (text/spill.hpp): the JSON texts of their messages, of which memory holds only those
// that were parsed last, and the notes of tt-mlir.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tools/report/text/texts.hpp"

namespace ttc::report {

// Notes of tt-mlir about the ops that follow.
struct MlirNotes {
  std::string location = "loc(unknown)", const_eval = "false", metadata = "{}";
};

class HostInfos {
 public:
  using Json = nlohmann::ordered_json;

  // Gives the place of a text that is JSON. Throws std::runtime_error, as Spill does.
  uint64_t add(std::string_view text);
  std::shared_ptr<const Json> at(uint64_t place);

  // Likewise.
  uint64_t add(const MlirNotes& notes);
  MlirNotes notes_at(uint64_t place);

 private:
  struct Parsed {
    uint64_t place = 0;
    std::shared_ptr<const Json> json;  // null: none
  };
  // Cached ops name what described them first, often in turns.
  static constexpr size_t kParsed = 64;
  Texts texts_;
  std::array<Parsed, kParsed> parsed_;  // by a hash of their places
};

}  // namespace ttc::report
