#include "collector/ttcollect/info_page.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"

namespace ttc::collect {
namespace {

using json = nlohmann::ordered_json;

// Strings as they are, any other value as JSON; without characters that control a terminal.
std::string shown(const json& value) {
  return program::printable(value.is_string() ? value.get<std::string>() : program::json_text(value));
}
// Empty where there is none.
std::string shown(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::string() : shown(*found);
}

uint64_t number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

// 2075346 as 2,075,346.
std::string grouped(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string with_unit(double value, const std::array<const char*, 4>& units, double step) {
  size_t unit = 0;
  for (; value >= step && unit + 1 < units.size(); ++unit) value /= step;
  char text[40];
  std::snprintf(text, sizeof text, "%.*f %s", unit == 0 ? 0 : 2, value, units[unit]);
  return text;
}
std::string in_bytes(uint64_t bytes) {
  return with_unit(static_cast<double>(bytes), {"bytes", "kB", "MB", "GB"}, 1000);
}

std::string line(const char* label, const std::string& text) {
  if (text.empty()) return {};
  char head[32];
  std::snprintf(head, sizeof head, "  %-11.11s ", label);
  return head + text + "\n";
}

std::string state_of(const json& info) {
  if (info.value("damaged_parts", 0) > 0)
    return shown(info, "damaged_parts") + " damaged parts, the first " + shown(info, "damage");
  if (info.value("cut", false)) return "ends inside a block";
  return info.value("ended_in_order", true) ? "complete" : "not ended in order";
}

std::string listed(const json& array) {
  std::string text;
  for (const json& one : array) text += (text.empty() ? "" : ", ") + shown(one);
  return text;
}

std::string file_part(const json& info) {
  std::string text = shown(info, "file") + ": " + state_of(info) + ", " + in_bytes(number(info, "bytes")) +
                     ", format version " + shown(info, "version");
  if (const std::string created = shown(info, "created"); !created.empty()) text += ", made " + created;
  if (const uint64_t part = number(info, "part")) text += ", part " + std::to_string(part) + " of a row";
  char seconds[48];
  std::snprintf(seconds, sizeof seconds, "%.3f s", info.value("seconds", 0.0));
  std::string recorded = seconds;
  if (info.contains("cycles"))
    recorded += ", cycles " + grouped(info["cycles"][0].get<uint64_t>()) + " to " +
                grouped(info["cycles"][1].get<uint64_t>());
  text += "\n" + line("recorded", recorded);
  std::string chunks = grouped(number(info, "chunks")) + " (" + in_bytes(number(info, "chunk_bytes")) + ")";
  if (info.contains("markers")) {
    std::string markers = grouped(number(info, "markers"));
    if (info["bytes_per_marker"].is_number()) {
      std::snprintf(seconds, sizeof seconds, ", %.2f bytes each", info["bytes_per_marker"].get<double>());
      markers += seconds;
    }
    text += line("markers", markers);
    chunks += " in " + grouped(number(info, "blocks")) + " blocks";
    if (const uint64_t dropped = number(info, "dropped_blocks"))
      chunks += ", " + grouped(dropped) + " dropped";
  }
  text += line("chunks", chunks);
  const uint64_t losses = number(info, "loss_intervals");
  text += line("lost", losses ? grouped(losses) + " intervals" : "nothing");
  if (losses) text += line("", "`ttreport loss` lists them");
  if (!info["personal"].empty()) {
    text += line("personal", listed(info["personal"]));
    text += line("", "`ttcollect recover FILE --redact -o COPY` makes a copy without these");
  }
  return text;
}

// {"version": "1", "pid": 2} as "version 1, pid 2"; what is itself an object comes in lines of its own.
std::string fact_lines(const std::string& name, const json& value) {
  if (!value.is_object()) return line(name.c_str(), shown(value));
  std::string words, below;
  for (const auto& [key, inner] : value.items()) {
    if (inner.is_object())
      for (const auto& [variable, setting] : inner.items())
        below += line("", program::printable(variable) + "=" + shown(setting));
    else if (key == "memory_mib" && inner.is_number_unsigned())
      words += (words.empty() ? "" : ", ") + in_bytes(inner.get<uint64_t>() << 20) + " of memory";
    else
      words += (words.empty() ? "" : ", ") + program::printable(key) + " " + shown(inner);
  }
  return line(name.c_str(), words) + below;
}

std::string session_part(const json& s) {
  std::string text = "\n" + (s.contains("device") ? shown(s, "device") : std::string("a device")) + ":";
  for (const char* key : {"board", "arch"})
    if (const std::string value = shown(s, key); !value.empty()) text += " " + value;
  const auto add = [&](const char* key, const std::string& before, const std::string& after) {
    if (const std::string value = shown(s, key); !value.empty()) text += before + value + after;
  };
  add("chip", ", chip ", "");
  add("aiclk_mhz", ", ", " MHz");
  add("cores", ", ", " cores");
  add("layout", ", layout ", "");
  add("mode", ", ", " mode");
  add("session", ", session ", "");
  text += "\n";
  if (s.contains("environment") && s["environment"].is_object())
    for (const auto& [key, value] : s["environment"].items())
      text += fact_lines(program::printable(key), value);
  return text;
}

}  // namespace

std::string info_page(const json& info) {
  std::string text = file_part(info);
  for (const json& session : info["sessions"]) text += session_part(session);
  return text;
}

}  // namespace ttc::collect
