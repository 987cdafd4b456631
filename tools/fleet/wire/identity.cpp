#include "tools/fleet/wire/identity.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <vector>

namespace ttc::fleet {
namespace {

constexpr size_t kMostToken = 64;
constexpr size_t kHashDigits = 8;

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

bool read_rank(std::string_view text, uint32_t& rank) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  return error == std::errc() && end == text.data() + text.size();
}

// The first that is set and holds a number.
constexpr std::array kRankVariables{"TT_RUN_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                    "PMI_RANK",    "MV2_COMM_WORLD_RANK",  "SLURM_PROCID"};
constexpr std::array kJobVariables{"TT_RUN_JOB", "SLURM_JOB_ID", "PMIX_NAMESPACE", "PBS_JOBID", "LSB_JOBID"};

std::string first_of(const Variable& variable, const auto& names) {
  for (const char* name : names)
    if (const char* value = variable(name); value && *value) return value;
  return {};
}

std::string or_else(const std::string& typed, const std::string& found, const char* usual) {
  return token_of(!typed.empty() ? typed : !found.empty() ? found : usual);
}

}  // namespace

bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= kMostToken && std::all_of(text.begin(), text.end(), is_plain);
}

std::string token_of(std::string_view text) {
  if (is_token(text)) return std::string(text);
  std::string token(text.substr(0, kMostToken - kHashDigits - 1));
  std::replace_if(
      token.begin(), token.end(), [](char c) { return !is_plain(c); }, '_');
  char hash[kHashDigits + 1];
  std::snprintf(hash, sizeof hash, "%08x", XXH32(text.data(), text.size(), 0));
  return token + "-" + hash;
}

Identity identity_of(const Variable& variable, std::string_view host_name, const TypedIdentity& typed) {
  Identity who;
  who.cluster = or_else(typed.cluster, first_of(variable, std::array{"SLURM_CLUSTER_NAME"}), "local");
  who.job = or_else(typed.job, first_of(variable, kJobVariables), "default");
  // Only the host's own part of a full name is used: the rest would be the same everywhere.
  const std::string_view short_name = host_name.substr(0, host_name.find('.'));
  who.host = or_else(typed.host, std::string(short_name), "host");
  if (typed.rank >= 0) {
    who.rank = static_cast<uint32_t>(typed.rank);
    who.rank_from = "--rank";
    return who;
  }
  for (const char* name : kRankVariables) {
    const char* value = variable(name);
    if (!value || !read_rank(value, who.rank)) continue;
    who.rank_from = name;
    return who;
  }
  who.rank = 0;
  return who;
}

std::string rows_subject(const Identity& who, std::string_view kind) {
  return "tt." + who.prefix() + "." + std::string(kind);
}
std::string command_subject(const Identity& who) {
  return "ttctl." + who.cluster + "." + who.job + ".rank." + who.host + "." + std::to_string(who.rank);
}
std::string job_subject(std::string_view cluster, std::string_view job) {
  return "ttctl." + std::string(cluster) + "." + std::string(job) + ".all";
}
std::string clock_subject(std::string_view cluster, std::string_view job) {
  return "ttctl." + std::string(cluster) + "." + std::string(job) + ".clock";
}
std::string fired_subject(std::string_view cluster, std::string_view job) {
  return "ttctl." + std::string(cluster) + "." + std::string(job) + ".fired";
}
std::string progress_subject(std::string_view cluster, std::string_view job) {
  return "ttctl." + std::string(cluster) + "." + std::string(job) + ".progress";
}

bool parse_rows_subject(std::string_view subject, Identity& who, std::string& kind) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = subject.find('.', begin);
    parts.push_back(subject.substr(begin, end - begin));
  }
  constexpr size_t kParts = 6;
  if (parts.size() != kParts || parts[0] != "tt") return false;
  if (!is_token(parts[1]) || !is_token(parts[2]) || !is_token(parts[3]) || !is_token(parts[5])) return false;
  Identity found;
  if (!read_rank(parts[4], found.rank)) return false;
  found.cluster = parts[1], found.job = parts[2], found.host = parts[3];
  if (rows_subject(found, parts[5]) != subject) return false;  // 007
  who = found;
  kind = parts[5];
  return true;
}

}  // namespace ttc::fleet
