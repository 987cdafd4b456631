#include "ttcollect/redact.hpp"

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "firmware_markers/zone_names.hpp"
#include "shm/chunk.hpp"

namespace ttc::collect {
namespace {

using nlohmann::json;

struct PersonalKey {
  const char* pointer;
  const char* what;
};
constexpr PersonalKey kPersonal[] = {
    {"/environment/host/name", "name of the host"},
    {"/environment/workload/command", "command line of the workload"},
    {"/environment/workload/environment", "variables of the workload's environment"},
    {"/environment/workload/pid", "process numbers"},
    {"/environment/collector/pid", "process numbers"},
    {"/environment/serial", "serial number of the card"},
};

bool names_by_serial(const json& session) {
  return session.contains("device") && session["device"].is_string() &&
         session["device"].get_ref<const std::string&>().find("by-id") != std::string::npos;
}

json session_in(std::span<const char> body) {
  return program::json_value({body.data(), body.size()});
}

std::string redacted_session(std::span<const char> body) {
  json session = session_in(body);
  if (!session.is_object()) session = json::object();
  for (const PersonalKey& key : kPersonal) {
    const json::json_pointer at(key.pointer);
    if (session.contains(at)) session.at(at.parent_pointer()).erase(at.back());
  }
  if (names_by_serial(session)) session["device"] = "a card named by its serial number";
  session["redacted"] = true;
  return program::json_text(session);
}

void each_line(std::span<const char> body, const std::function<void(std::string_view)>& take) {
  std::string_view text(body.data(), body.size());
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    take(text.substr(0, end));
}

std::string redacted_names(std::span<const char> body) {
  std::string text;
  each_line(body, [&](std::string_view line) {
    if (const std::string zone = redacted_zone(line); !zone.empty()) text += zone + "\n";
  });
  return text;
}

}  // namespace

std::string redacted_zone(std::string_view zone_string) {
  const auto source = markers::parse_zone_string(zone_string);
  if (!source) return {};
  const size_t slash = source->file.rfind('/');
  if (slash == std::string::npos) return std::string(zone_string);
  const std::string before = source->name + "," + source->file.substr(slash + 1) + "~";
  const std::string behind = "," + std::to_string(source->line) + ",KERNEL_PROFILER";
  const uint16_t id = markers::hash16(zone_string);
  // One tag in 65536 has the hash, and there are 1.7 million.
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (uint32_t number = 0; number < 36u * 36 * 36 * 36; ++number) {
    char tag[5] = {};
    for (uint32_t i = 0, rest = number; i < 4; ++i, rest /= 36) tag[i] = kDigits[rest % 36];
    std::string tried = before;
    tried.append(tag).append(behind);
    if (markers::hash16(tried) == id) return tried;
  }
  return {};
}

std::span<const uint64_t> Redactor::with_body(std::span<const uint64_t> chunk, const std::string& body) {
  shm::ChunkHeader h = shm::header_of(chunk);
  h.bytes = static_cast<uint32_t>(sizeof h + body.size());
  chunk_.assign((h.bytes + 7) / 8, 0);
  std::memcpy(chunk_.data(), &h, sizeof h);
  if (!body.empty()) std::memcpy(reinterpret_cast<char*>(chunk_.data()) + sizeof h, body.data(), body.size());
  return chunk_;
}

std::span<const uint64_t> Redactor::redacted(std::span<const uint64_t> chunk) {
  switch (shm::header_of(chunk).kind) {
    case shm::ChunkKind::session:
      return with_body(chunk, redacted_session(shm::body_of(chunk)));
    case shm::ChunkKind::names:
      return with_body(chunk, redacted_names(shm::body_of(chunk)));
    case shm::ChunkKind::host_events:
    case shm::ChunkKind::host_names:
      return with_body(chunk, {});
    default:
      return chunk;
  }
}

void list_personal(std::span<const uint64_t> chunk, std::set<std::string>& found) {
  const shm::ChunkKind kind = shm::header_of(chunk).kind;
  if (kind == shm::ChunkKind::names)
    each_line(shm::body_of(chunk), [&](std::string_view line) {
      const auto source = markers::parse_zone_string(line);
      if (source && source->file.find('/') != std::string::npos) found.insert("directories of source files");
    });
  const bool of_host = kind == shm::ChunkKind::host_events || kind == shm::ChunkKind::host_names;
  if (of_host && !shm::body_of(chunk).empty()) found.insert("zones and messages of the workload's processes");
  if (kind != shm::ChunkKind::session) return;
  const json session = session_in(shm::body_of(chunk));
  if (!session.is_object()) return;
  for (const PersonalKey& key : kPersonal)
    if (session.contains(json::json_pointer(key.pointer))) found.insert(key.what);
  if (names_by_serial(session)) found.insert("serial number of the card");
}

}  // namespace ttc::collect
