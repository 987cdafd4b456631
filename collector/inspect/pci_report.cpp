#include "collector/inspect/pci_report.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace ttc::collect {
namespace {

using json = nlohmann::ordered_json;

// An unknown value is null, so that a script need not match our words for it.
json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}
template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json to_json(const card::Link& link) {
  return {{"speed", or_null(link.speed)}, {"width", or_null(link.width)}};
}

json to_json(const card::Opener& o) {
  return {{"pid", o.pid},
          {"name", or_null(o.name)},
          {"descriptors", o.descriptors},
          {"observer", o.observer},
          {"windows", o.windows}};
}

std::string link_in_words(const card::Link& link) {
  if (link.speed.empty() && link.width.empty()) return "not known";
  return (link.speed.empty() ? "speed unknown," : link.speed) + " x" +
         (link.width.empty() ? "?" : link.width);
}

std::string opener_in_words(const card::Opener& o) {
  if (o.pid == 0) return "a process of another pid namespace";
  std::string text = "pid " + std::to_string(o.pid);
  if (!o.name.empty()) text += " " + o.name;
  if (o.descriptors > 1) text += ", " + std::to_string(o.descriptors) + " descriptors";
  if (o.windows) text += ", " + std::to_string(o.windows) + " windows";
  if (o.observer) text += ", looking on";
  return text;
}

class Lines {
 public:
  explicit Lines(std::string head) : text_(std::move(head)) {}
  void add(const char* label, const std::string& what) {
    if (what.empty()) return;
    char padded[16];
    std::snprintf(padded, sizeof padded, "%-9s", label);
    text_ += std::string("\n         ") + padded + what;
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

// "serial X, firmware Y", leaving out what is not known.
std::string joined(std::initializer_list<std::pair<const char*, std::string>> parts) {
  std::string text;
  for (const auto& [label, value] : parts)
    if (!value.empty()) text += (text.empty() ? "" : ", ") + std::string(label) + " " + value;
  return text;
}

std::string users_in_words(const card::PciFunction& f) {
  if (f.openers.empty()) return f.ordinal ? "no process" : "";
  std::string text;
  for (const card::Opener& o : f.openers) text += (text.empty() ? "" : "; ") + opener_in_words(o);
  return text;
}

}  // namespace

json to_json(const card::PciFunction& f) {
  json users = json::array();
  for (const card::Opener& o : f.openers) users.push_back(to_json(o));
  char device_id[8];
  std::snprintf(device_id, sizeof device_id, "0x%04x", f.device_id);
  return {{"bdf", f.bdf},
          {"device_id", device_id},
          {"arch", or_null(f.arch)},
          {"board", or_null(f.board)},
          {"driver", or_null(f.driver)},
          {"driver_version", or_null(f.driver_version)},
          {"node", or_null(f.node)},
          {"by_id", or_null(f.by_id)},
          {"chip", or_null(f.chip)},
          {"serial", or_null(f.serial)},
          {"asic_id", or_null(f.asic_id)},
          {"firmware", or_null(f.firmware)},
          {"link", to_json(f.link)},
          {"best_link", to_json(f.best_link)},
          {"numa_node", f.numa_node < 0 ? json() : json(f.numa_node)},
          {"local_cpus", or_null(f.local_cpus)},
          {"aiclk_mhz", or_null(f.aiclk_mhz)},
          {"temperature_c", or_null(f.temperature_c)},
          {"open_by", std::move(users)},
          {"umd_owner_pid", f.umd_owner_pid ? json(f.umd_owner_pid) : json()},
          {"remarks", f.remarks},
          {"hidden", f.hidden}};
}

std::string to_text(const card::PciFunction& f) {
  std::string head = "pci      " + f.bdf;
  for (const std::string& part : {f.arch, f.board, f.node})
    if (!part.empty()) head += "  " + part;
  if (f.chip) head += "  chip " + std::to_string(*f.chip) + " of tt-metal";
  Lines lines(std::move(head));
  lines.add("by-id", f.by_id);
  lines.add("versions",
            joined({{"driver", f.driver_version}, {"firmware", f.firmware}, {"serial", f.serial}}));
  lines.add("link", link_in_words(f.link) + ", at best " + link_in_words(f.best_link));
  lines.add("host", f.numa_node < 0 ? "NUMA node not known"
                                    : "NUMA node " + std::to_string(f.numa_node) +
                                          (f.local_cpus.empty() ? "" : ", CPUs " + f.local_cpus));
  std::string state;
  if (f.aiclk_mhz) state = "AICLK " + std::to_string(*f.aiclk_mhz) + " MHz";
  if (f.temperature_c) {
    char degrees[32];
    std::snprintf(degrees, sizeof degrees, "%.1f C", *f.temperature_c);
    state += (state.empty() ? "" : ", ") + std::string(degrees);
  }
  lines.add("state", state);
  lines.add("open by", users_in_words(f));
  if (f.umd_owner_pid) lines.add("owned by", "pid " + std::to_string(f.umd_owner_pid) + ", through UMD");
  for (const std::string& note : f.remarks) lines.add("note", note);
  for (const std::string& what : f.hidden) lines.add("hidden", what);
  return std::move(lines).text();
}

}  // namespace ttc::collect
