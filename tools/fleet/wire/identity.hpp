// The identity of a rank on the bus: cluster, job, host and rank, from the environment of its launcher. Pure.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ttc::fleet {

// A token of a subject: letters, digits, '-' and '_', 1 to 64 of them. Text that is none becomes one that ends in a hash of the
// text, so that two texts stay two tokens.
std::string token_of(std::string_view text);
bool is_token(std::string_view text);

struct Identity {
  std::string cluster = "local", job = "default", host = "host";
  uint32_t rank = 0;
  std::string rank_from;  // the variable that it was read from; empty: none

  // The name has the form of folders of tt-metal's runs on several hosts: <host>_rank_<N>.
  std::string name() const { return host + "_rank_" + std::to_string(rank); }
  std::string prefix() const { return cluster + "." + job + "." + host + "." + std::to_string(rank); }
  bool operator==(const Identity&) const = default;
};

// Null: the variable is not set.
using Variable = std::function<const char*(const char*)>;
// Options take precedence over the environment; empty text and a negative rank are not set.
struct TypedIdentity {
  std::string cluster, job, host;
  int64_t rank = -1;
};
Identity identity_of(const Variable& variable, std::string_view host_name, const TypedIdentity& typed);

// Subjects of rows: tt.<cluster>.<job>.<host>.<rank>.<kind>; of commands: ttctl.<cluster>.<job>.<what>...
std::string rows_subject(const Identity& who, std::string_view kind);
std::string command_subject(const Identity& who);                              // to this rank
std::string job_subject(std::string_view cluster, std::string_view job);       // to every rank of a job
std::string clock_subject(std::string_view cluster, std::string_view job);     // answered by rank 0
std::string fired_subject(std::string_view cluster, std::string_view job);     // triggers that fired
std::string progress_subject(std::string_view cluster, std::string_view job);  // of every rank, once a second

// The identity and the kind that a subject of rows names; false: it is none.
bool parse_rows_subject(std::string_view subject, Identity& who, std::string& kind);

}  // namespace ttc::fleet
