// Commands and answers between ttfleet and agents: JSON objects, and chunks of files. All of it comes from others: what does not
// fit is refused with a sentence, and nothing is reached through it that is not named here. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fleet/wire/identity.hpp"
#include "tools/ranks/clock_points.hpp"

namespace ttc::fleet {

inline constexpr uint64_t kMostChunkBytes = 512 << 10;
inline constexpr size_t kMostCommandBytes = 16 << 10;
inline constexpr size_t kMostTriggers = 64;

enum class CommandKind : uint8_t { ls, dump, fetch, dumps, describe, arm, disarm, triggers };

struct Command {
  CommandKind kind = CommandKind::ls;
  std::string by;                   // user@host of who commands; for logs
  std::string id;                   // dump, fetch, describe: of the dump, a token
  std::string why;                  // dump
  uint64_t at_common_ns = 0;        // dump: the instant
  uint64_t last_ns = 0;             // dump: how much before it
  uint64_t offset = 0, length = 0;  // fetch
  std::string rule;                 // arm
};
std::string to_text(const Command& command);
std::optional<Command> parse_command(std::string_view text, std::string& wrong);

// The state of an agent: its answer to ls, also published beside the rows on the subject `state`.
struct AgentState {
  Identity who;
  uint64_t session = 0;
  uint32_t epoch = 0;
  uint64_t raw_ns = 0, utc_ns = 0;
  std::vector<std::string> devices;
  bool collecting = false;
  uint64_t reference = 0, clock_bound_ns = ~uint64_t{0};
  int64_t clock_offset_ns = 0;
  std::string clock_how;
  uint64_t rows_made = 0, rows_stored = 0, rows_dropped = 0, spool_bytes = 0, spool_limit = 0;
  std::vector<std::string> triggers;
  std::vector<std::string> op_names;  // lines chip:host_id=name
  std::string complaint;
};
std::string to_text(const AgentState& state);
std::optional<AgentState> parse_state(std::string_view text, std::string& wrong);

struct Answer {
  Identity who;
  bool ok = false;
  std::string text;  // what was done, or why not
  std::string id;    // of the dump
  uint64_t bytes = 0, digest = 0;
  int64_t late_ns = 0;               // dump: from the instant until the command was taken up
  uint64_t bound_ns = ~uint64_t{0};  // of the instant on this host
  tools::RankClock clock;            // dump, describe: of this host while what was cut was recorded
};
std::string to_text(const Answer& answer);
std::optional<Answer> parse_answer(std::string_view text, std::string& wrong);

// A piece of a dump: a header of 32 bytes and the bytes.
struct FileChunk {
  uint64_t offset = 0, whole = 0;
  std::string_view bytes;
};
std::string encode_chunk(uint64_t offset, uint64_t whole, std::string_view bytes);
std::optional<FileChunk> parse_chunk(std::string_view bytes);

// Answers to clock questions.
struct ClockAnswer {
  uint64_t reference = 0;
  uint64_t received_ns = 0, sent_ns = 0;  // RAW of the reference
  // Its distance to a time scale (tools/fleet/clock/discipline.hpp); 0: none is known.
  uint64_t scale = 0;
  int64_t scale_minus_raw_ns = 0;
  uint64_t scale_bound_ns = ~uint64_t{0};
};
std::string encode_clock(const ClockAnswer& answer);
std::optional<ClockAnswer> parse_clock(std::string_view bytes);

// How far a rank is: sent once a second, compared by those with a rule on lag.
struct Progress {
  uint32_t rank = 0;
  uint64_t ops = 0;        // since its session began
  uint64_t common_ns = 0;  // end of the last of them
  uint64_t reference = 0;
};
std::string encode_progress(const Progress& progress);
std::optional<Progress> parse_progress(std::string_view bytes);

}  // namespace ttc::fleet
