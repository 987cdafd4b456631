#include "tools/fleet/wire/control.hpp"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "collector/program/json_text.hpp"
#include "tools/ranks/rank_clock_json.hpp"

namespace ttc::fleet {
namespace {

using json = nlohmann::json;

constexpr std::array<std::pair<CommandKind, const char*>, 8> kCommandNames{
    {{CommandKind::ls, "ls"},
     {CommandKind::dump, "dump"},
     {CommandKind::fetch, "fetch"},
     {CommandKind::dumps, "dumps"},
     {CommandKind::describe, "describe"},
     {CommandKind::arm, "arm"},
     {CommandKind::disarm, "disarm"},
     {CommandKind::triggers, "triggers"}}};
constexpr size_t kMostText = 4096;
constexpr size_t kMostList = 4096;
constexpr uint64_t kLongestDumpNs = 3'600'000'000'000;

// Values of an object by name; what is of another type or out of its range is wrong.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  std::string text(const char* name, size_t most = kMostText) {
    const auto it = object_.find(name);
    if (it == object_.end()) return {};
    if (!it->is_string() || it->get_ref<const std::string&>().size() > most)
      return refuse(name), std::string();
    return it->get<std::string>();
  }
  template <class Number>
  Number number(const char* name, Number usual) {
    const auto it = object_.find(name);
    if (it == object_.end()) return usual;
    const bool fits = std::is_signed_v<Number> ? it->is_number_integer() : it->is_number_unsigned();
    if (!fits) return refuse(name), usual;
    if constexpr (std::is_signed_v<Number>) {
      if (it->is_number_unsigned() && it->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
        return refuse(name), usual;
      return static_cast<Number>(it->get<int64_t>());
    } else {
      const auto value = it->get<uint64_t>();
      if (value > std::numeric_limits<Number>::max()) return refuse(name), usual;
      return static_cast<Number>(value);
    }
  }
  bool flag(const char* name) {
    const auto it = object_.find(name);
    if (it == object_.end()) return false;
    if (!it->is_boolean()) return refuse(name), false;
    return it->get<bool>();
  }
  std::vector<std::string> texts(const char* name) {
    std::vector<std::string> all;
    const auto it = object_.find(name);
    if (it == object_.end()) return all;
    if (!it->is_array() || it->size() > kMostList) return refuse(name), all;
    for (const json& one : *it) {
      if (!one.is_string() || one.get_ref<const std::string&>().size() > kMostText) return refuse(name), all;
      all.push_back(one.get<std::string>());
    }
    return all;
  }
  Identity identity() {
    Identity who;
    who.cluster = text("cluster"), who.job = text("job"), who.host = text("host");
    who.rank = number<uint32_t>("rank", 0);
    if (!is_token(who.cluster) || !is_token(who.job) || !is_token(who.host)) refuse("host");
    return who;
  }
  void refuse(const char* name) {
    if (wrong_.empty()) wrong_ = std::string("its '") + name + "' makes no sense";
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const json& object_;
  std::string wrong_;
};

json object_of(std::string_view text, std::string& wrong) {
  if (text.size() > (size_t{1} << 20)) {
    wrong = "it is too long";
    return {};
  }
  json value = program::json_value(text);
  if (!value.is_object()) {
    wrong = "it is no JSON object";
    return {};
  }
  return value;
}

void put_identity(json& j, const Identity& who) {
  j["cluster"] = who.cluster, j["job"] = who.job, j["host"] = who.host, j["rank"] = who.rank;
}

template <class Words>
std::string words_of(const char (&magic)[5], const Words& words) {
  std::string out(magic, 4);
  out.append(4, '\0');
  out[4] = 1;
  return out.append(reinterpret_cast<const char*>(words.data()), sizeof(words));
}

template <size_t N>
bool read_words(std::string_view bytes, const char (&magic)[5], std::array<uint64_t, N>& words) {
  if (bytes.size() < 8 + sizeof words || bytes.substr(0, 4) != std::string_view(magic, 4) || bytes[4] != 1)
    return false;
  std::memcpy(words.data(), bytes.data() + 8, sizeof words);
  return true;
}

}  // namespace

std::string to_text(const Command& c) {
  json j{{"v", 1}, {"by", c.by}};
  for (const auto& [kind, name] : kCommandNames)
    if (kind == c.kind) j["cmd"] = name;
  if (!c.id.empty()) j["id"] = c.id;
  if (!c.why.empty()) j["why"] = c.why;
  if (!c.rule.empty()) j["rule"] = c.rule;
  if (c.kind == CommandKind::dump) j["at_common_ns"] = c.at_common_ns, j["last_ns"] = c.last_ns;
  if (c.kind == CommandKind::fetch) j["offset"] = c.offset, j["length"] = c.length;
  return program::json_text(j);
}

std::optional<Command> parse_command(std::string_view text, std::string& wrong) {
  if (text.size() > kMostCommandBytes) {
    wrong = "it is too long";
    return std::nullopt;
  }
  const json object = object_of(text, wrong);
  if (object.is_null()) return std::nullopt;
  Fields fields(object);
  Command c;
  const std::string name = fields.text("cmd");
  const auto known = std::find_if(kCommandNames.begin(), kCommandNames.end(),
                                  [&](const auto& one) { return name == one.second; });
  if (known == kCommandNames.end()) {
    wrong = "its command is unknown";
    return std::nullopt;
  }
  c.kind = known->first;
  c.by = fields.text("by"), c.id = fields.text("id"), c.why = fields.text("why"),
  c.rule = fields.text("rule");
  c.at_common_ns = fields.number<uint64_t>("at_common_ns", 0);
  c.last_ns = fields.number<uint64_t>("last_ns", 0);
  c.offset = fields.number<uint64_t>("offset", 0), c.length = fields.number<uint64_t>("length", 0);
  const bool named =
      c.kind == CommandKind::dump || c.kind == CommandKind::fetch || c.kind == CommandKind::describe;
  if (named && !is_token(c.id)) fields.refuse("id");
  if (c.kind == CommandKind::dump && (c.last_ns == 0 || c.last_ns > kLongestDumpNs)) fields.refuse("last_ns");
  if (c.kind == CommandKind::fetch && (c.length == 0 || c.length > kMostChunkBytes)) fields.refuse("length");
  if ((c.kind == CommandKind::arm || c.kind == CommandKind::disarm) && c.rule.empty()) fields.refuse("rule");
  wrong = fields.wrong();
  return wrong.empty() ? std::optional(c) : std::nullopt;
}

std::string to_text(const AgentState& s) {
  json j{{"v", 1},
         {"session", s.session},
         {"epoch", s.epoch},
         {"raw_ns", s.raw_ns},
         {"utc_ns", s.utc_ns},
         {"devices", s.devices},
         {"collecting", s.collecting},
         {"reference", s.reference},
         {"clock_bound_ns", s.clock_bound_ns},
         {"clock_offset_ns", s.clock_offset_ns},
         {"clock_how", s.clock_how},
         {"rows_made", s.rows_made},
         {"rows_stored", s.rows_stored},
         {"rows_dropped", s.rows_dropped},
         {"spool_bytes", s.spool_bytes},
         {"spool_limit", s.spool_limit},
         {"triggers", s.triggers},
         {"op_names", s.op_names},
         {"complaint", s.complaint}};
  put_identity(j, s.who);
  return program::json_text(j);
}

std::optional<AgentState> parse_state(std::string_view text, std::string& wrong) {
  const json object = object_of(text, wrong);
  if (object.is_null()) return std::nullopt;
  Fields f(object);
  AgentState s;
  s.who = f.identity();
  s.session = f.number<uint64_t>("session", 0), s.epoch = f.number<uint32_t>("epoch", 0);
  s.raw_ns = f.number<uint64_t>("raw_ns", 0), s.utc_ns = f.number<uint64_t>("utc_ns", 0);
  s.devices = f.texts("devices"), s.collecting = f.flag("collecting");
  s.reference = f.number<uint64_t>("reference", 0);
  s.clock_bound_ns = f.number<uint64_t>("clock_bound_ns", ~uint64_t{0});
  s.clock_offset_ns = f.number<int64_t>("clock_offset_ns", 0);
  s.clock_how = f.text("clock_how");
  s.rows_made = f.number<uint64_t>("rows_made", 0), s.rows_stored = f.number<uint64_t>("rows_stored", 0);
  s.rows_dropped = f.number<uint64_t>("rows_dropped", 0);
  s.spool_bytes = f.number<uint64_t>("spool_bytes", 0), s.spool_limit = f.number<uint64_t>("spool_limit", 0);
  s.triggers = f.texts("triggers"), s.op_names = f.texts("op_names"), s.complaint = f.text("complaint");
  wrong = f.wrong();
  return wrong.empty() ? std::optional(s) : std::nullopt;
}

std::string to_text(const Answer& a) {
  json j{{"v", 1},
         {"ok", a.ok},
         {"text", a.text},
         {"id", a.id},
         {"bytes", a.bytes},
         {"digest", a.digest},
         {"late_ns", a.late_ns},
         {"bound_ns", a.bound_ns},
         {"clock", tools::json_of(a.clock)}};
  put_identity(j, a.who);
  return program::json_text(j);
}

std::optional<Answer> parse_answer(std::string_view text, std::string& wrong) {
  const json object = object_of(text, wrong);
  if (object.is_null()) return std::nullopt;
  Fields f(object);
  Answer a;
  a.who = f.identity();
  a.ok = f.flag("ok"), a.text = f.text("text", size_t{64} << 10), a.id = f.text("id");
  a.bytes = f.number<uint64_t>("bytes", 0), a.digest = f.number<uint64_t>("digest", 0);
  a.late_ns = f.number<int64_t>("late_ns", 0), a.bound_ns = f.number<uint64_t>("bound_ns", ~uint64_t{0});
  if (!a.id.empty() && !is_token(a.id)) f.refuse("id");
  if (const auto it = object.find("clock"); it != object.end()) {
    const auto clock = tools::rank_clock_of(*it);
    clock ? static_cast<void>(a.clock = *clock) : f.refuse("clock");
  }
  wrong = f.wrong();
  return wrong.empty() ? std::optional(a) : std::nullopt;
}

std::string encode_chunk(uint64_t offset, uint64_t whole, std::string_view bytes) {
  return words_of("TTFC", std::array<uint64_t, 3>{offset, whole, bytes.size()}).append(bytes);
}

std::optional<FileChunk> parse_chunk(std::string_view bytes) {
  std::array<uint64_t, 3> words{};
  if (!read_words(bytes, "TTFC", words)) return std::nullopt;
  const FileChunk chunk{words[0], words[1], bytes.substr(8 + sizeof words)};
  const bool fits = chunk.bytes.size() == words[2] && chunk.bytes.size() <= kMostChunkBytes &&
                    chunk.offset <= chunk.whole && chunk.bytes.size() <= chunk.whole - chunk.offset;
  return fits ? std::optional(chunk) : std::nullopt;
}

std::string encode_clock(const ClockAnswer& a) {
  return words_of("TTFT",
                  std::array<uint64_t, 6>{a.reference, a.received_ns, a.sent_ns, a.scale,
                                          static_cast<uint64_t>(a.scale_minus_raw_ns), a.scale_bound_ns});
}

std::optional<ClockAnswer> parse_clock(std::string_view bytes) {
  std::array<uint64_t, 6> w{};
  if (!read_words(bytes, "TTFT", w) || w[2] < w[1] || w[2] >> 62 || w[0] == 0) return std::nullopt;
  constexpr int64_t kMostOffset = int64_t{1} << 61;  // nanoseconds since 1970 are below, until 2043
  const auto offset = static_cast<int64_t>(w[4]);
  if (offset >= kMostOffset || offset <= -kMostOffset) return std::nullopt;
  return ClockAnswer{w[0], w[1], w[2], w[3], offset, w[5]};
}

std::string encode_progress(const Progress& p) {
  return words_of("TTFP", std::array<uint64_t, 4>{p.rank, p.ops, p.common_ns, p.reference});
}

std::optional<Progress> parse_progress(std::string_view bytes) {
  std::array<uint64_t, 4> w{};
  if (!read_words(bytes, "TTFP", w) || w[0] > UINT32_MAX || w[2] >> 62) return std::nullopt;
  return Progress{static_cast<uint32_t>(w[0]), w[1], w[2], w[3]};
}

}  // namespace ttc::fleet
