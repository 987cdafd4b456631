// Captures that were cut on command: files of a directory, the latest few, handed out in pieces.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/fleet/wire/control.hpp"

namespace ttc::fleet {

class Dumps {
 public:
  static constexpr size_t kKept = 8;

  Dumps(std::string directory, std::vector<std::string> live_names)
      : directory_(std::move(directory)), live_names_(std::move(live_names)) {}

  // Waits for `at_raw_ns` and cuts every ring there. The answer's id, bytes, digest and lateness, or why not.
  void cut(const std::string& id, uint64_t at_raw_ns, uint64_t last_ns, Answer& answer);
  // Keeps the answer that was given beside what was cut, and finds it again; none: there is no such dump.
  void describe(const Answer& answer) const;
  std::optional<Answer> described(const std::string& id) const;
  // A piece as encode_chunk() has it; empty: there is no such dump, or nothing at that place.
  std::string piece(const std::string& id, uint64_t offset, uint64_t length) const;
  // Ids with their bytes, a line each.
  std::string list() const;

 private:
  std::string path_of(const std::string& id) const { return directory_ + "/" + id + ".ttc"; }
  std::string description_of(const std::string& id) const { return directory_ + "/" + id + ".json"; }
  void keep_latest() const;

  const std::string directory_;
  const std::vector<std::string> live_names_;
};

}  // namespace ttc::fleet
