// The record of an experiment's runs in its folder: journal.jsonl, a JSON object a line, appended and on the disk before the next run
// begins. A line without its end was being written when everything stopped: it counts as never written.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/ttdelay/plan/environment.hpp"
#include "tools/ttdelay/records/record_place.hpp"

namespace ttc::delay {

struct JournalError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ok: it ended with 0. failed: with another code. hang: silent for too long, over its limit, or reported by tt-metal. broken off:
// something outside of the workload ended it.
enum class Outcome : uint8_t { ok, failed, hang, broken_off };
const char* to_string(Outcome outcome);

struct RunRecord {
  unsigned number = 0, attempt = 1;
  Arm arm = Arm::plain;
  std::string unit;  // label; of Arm::delay
  uint32_t cycles = 0;
  Outcome outcome = Outcome::ok;
  int exit_code = 0;
  bool valid = false;  // counts in averages: it ended well, and what was to be delayed was delayed
  std::string why;     // not, a sentence
  double seconds = 0;
  std::map<std::string, double> values;      // by observable
  std::optional<std::string> output;         // of the workload: its checksum
  std::map<std::string, uint32_t> feedback;  // by logical core "x,y": bits of reads, writes, atomics
  // The waypoints of a hang: where each core's processors were last, "R R CWFW W W"; empty: not known.
  std::map<std::string, std::string> waypoints;
  std::string command;  // for a shell: this run again
};

// The findings of the trial.
struct TrialRecord {
  bool device_zones = false;
  size_t features = 0;
  std::optional<RecordPlace> place;
  std::map<std::string, std::string> cores;  // logical "x,y" to NOC0 "x,y"
  std::vector<std::string> refused;          // builds that did not fit: name and the line of the error
  std::string without_zones;                 // why there are none
};

nlohmann::ordered_json to_json(const RunRecord& record);
nlohmann::ordered_json to_json(const TrialRecord& record);

struct JournalContent {
  std::optional<TrialRecord> trial;  // the last one
  std::vector<RunRecord> runs;       // the last record of each number, by number
  unsigned lines = 0;
};

// Throws JournalError, with the line, where a whole line is none of a journal.
JournalContent read_journal(const std::string& path);

class Journal {
 public:
  // Cuts off a line without its end. Throws JournalError.
  explicit Journal(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  void append(const nlohmann::ordered_json& line);  // on the disk when this returns

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace ttc::delay
