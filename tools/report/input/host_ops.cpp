#include "tools/report/input/host_ops.hpp"

#include <nlohmann/json.hpp>

#include "tools/op_messages/op_message.hpp"
#include "tools/report/input/device_input.hpp"
#include "tools/report/input/host_lines.hpp"
#include "tools/report/text/csv_file.hpp"

namespace ttc::report {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(by);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Bytes of JSON. Tracy keeps the length of a message in 16 bits; what names the op stands before the JSON.
constexpr size_t kCutMessage = 65'000;
constexpr std::string_view kSession = "TTNN_SESSION_ID:";

class OpsData {
 public:
  OpsData(const std::string& name, HostLog& log, uint32_t first_chip)
      : log_(log),
        first_chip_(first_chip),
        bad_json_{name, "messages have no JSON that can be read"},
        cut_json_{name, "messages end within their JSON, because Tracy cuts them at 64 KiB", false},
        unknown_{name, "cached ops name a program that was not described before", false},
        odd_{name, "messages of ops or traces have a form that is not known"} {}

  void message(std::string_view text, uint64_t ns, uint64_t line) {
    if (text.starts_with("TT_SIGNPOST: ")) return signpost(text, ns);
    if (text.starts_with(kSession)) return session(text.substr(kSession.size()));
    if (text.starts_with("MLIR_")) return;  // taken from the raw fields
    if (text.find("TT_DNN") == std::string_view::npos && text.find("TT_METAL") == std::string_view::npos)
      return;
    if (text.find("OP") != std::string_view::npos && text.find("TT_METAL_TRACE") == std::string_view::npos)
      return op(text, ns, line);
    if (text.find("TRACE") != std::string_view::npos && !text.starts_with("TT_METAL_TRACE_ENQUEUE_PROGRAM"))
      return trace(text, ns, line);
  }

  void mlir(std::string_view tag, std::string_view value) {
    if (tag == "MLIR_OP_LOCATION") mlir_.location = value;
    if (tag == "MLIR_CONST_EVAL_OP") mlir_.const_eval = value;
    if (tag == "MLIR_PROGRAM_METADATA") mlir_.metadata = value;
    mlir_place_.reset();
  }

  void remark() const {
    bad_json_.remark(log_);
    cut_json_.remark(log_);
    unknown_.remark(log_);
    odd_.remark(log_);
  }

 private:
  void signpost(std::string_view text, uint64_t ns) {
    text.remove_prefix(text.find(": ") + 2);
    const size_t end = text.find('\n');
    Signpost s;
    s.header = text.substr(0, end);
    if (end != std::string_view::npos) {
      text.remove_prefix(end + 1);
      s.message = text.substr(0, text.find('\n'));
    }
    s.ns = ns;
    log_.signposts.push_back(std::move(s));
  }

  void session(std::string_view id) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
    if (!id.empty() && id.size() <= 128 && id.find_first_not_of(kLetters) == std::string_view::npos)
      log_.session_ids.emplace(id);
    else
      log_.remarks.push_back(
          "a session id is left aside, because it holds other than letters, digits and ._:-");
  }

  void op(std::string_view text, uint64_t ns, uint64_t line) {
    HostOp o;
    o.message_ns = ns;
    const std::string_view json = tools::op_json(text);
    if (!(json.empty() ? cached(text, o, line) : described(json, o, line))) return;
    if (o.device) {
      const auto tracing = traces_.find(*o.device);
      if (tracing != traces_.end()) o.trace_id = tracing->second;
    }
    if (!mlir_place_) mlir_place_ = log_.infos->add(mlir_);
    o.notes = *mlir_place_;
    if (o.device) *o.device += first_chip_;
    log_.ops.push_back(o);
  }

  bool described(std::string_view text, HostOp& o, uint64_t line) {
    const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
    if (!json.is_object() || !json.contains("global_call_count") ||
        !json["global_call_count"].is_number_unsigned()) {
      (text.size() < kCutMessage ? bad_json_ : cut_json_).add(line);
      return false;
    }
    o.info = log_.infos->add(text);
    o.call_count = json["global_call_count"].get<uint32_t>();
    if (json.contains("device_id") && json["device_id"].is_number_unsigned())
      o.device = json["device_id"].get<uint32_t>();
    if (const auto hit = json.find("program_cache_hit"); hit != json.end())
      o.cache_hit = tools::truth(hit->is_string() ? hit->get<std::string>() : hit->dump());
    if (json.contains("op_hash") && json["op_hash"].is_number() && o.device)
      programs_[{*o.device, json["op_hash"].get<uint64_t>()}] = o.info;
    return true;
  }

  bool cached(std::string_view text, HostOp& o, uint64_t line) {
    const auto op = tools::op_message(text);
    if (!op) {
      odd_.add(line);
      return false;
    }
    const auto known = programs_.find({op->device, op->program_hash});
    if (known == programs_.end()) {
      unknown_.add(line);
      return false;
    }
    o.info = known->second;
    o.call_count = op->call_count;
    o.device = op->device;
    o.cache_hit = op->cache_hit;
    return true;
  }

  void trace(std::string_view text, uint64_t ns, uint64_t line) {
    const size_t colon = text.rfind(':');
    const auto ids = split(colon == std::string_view::npos ? "" : text.substr(colon + 1), ',');
    const auto device = number<uint32_t>(ids[0]);
    const auto trace = ids.size() == 2 ? number<uint32_t>(ids[1]) : std::nullopt;
    if (!device || !trace) return odd_.add(line);
    if (text.find("BEGIN") != std::string_view::npos)
      traces_[*device] = *trace;
    else if (text.find("END") != std::string_view::npos)
      traces_.erase(*device);
    else if (text.find("REPLAY") != std::string_view::npos)
      log_.replays_ns[{*device + first_chip_, *trace}].push_back(ns);
  }

  HostLog& log_;
  const uint32_t first_chip_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> programs_;  // places of infos by device and hash
  std::map<uint32_t, uint32_t> traces_;                         // being captured, by device
  MlirNotes mlir_;
  std::optional<uint64_t> mlir_place_;  // of what they are now
  Skips bad_json_, cut_json_, unknown_, odd_;
};

}  // namespace

void read_ops_data(std::istream& in, const std::string& name, HostLog& log, uint32_t first_chip) {
  CsvFile file(in, ';', '`');
  std::vector<std::string> fields;
  if (!file.next(fields)) throw InputError(name + " is empty; the messages of a Tracy capture were expected");
  if (fields[0] != "MessageName") {
    // csvexport says in a sentence that a capture holds no messages.
    log.remarks.push_back(name + " holds no messages: its first line is no 'MessageName;total_ns'");
    return;
  }
  OpsData data(name, log, first_chip);
  Skips ragged{name, "lines have no time"};
  while (file.next(fields)) {
    if (fields[0].starts_with("MLIR_")) {
      // The value is JSON or text that may hold the separator itself; a time may follow.
      std::string value;
      for (size_t i = 1; i < fields.size(); ++i) {
        if (i > 1 && i + 1 == fields.size() && number<uint64_t>(fields[i])) break;
        if (i > 1) value += ';';
        value += fields[i];
      }
      data.mlir(fields[0], value);
      continue;
    }
    const auto ns = fields.size() >= 2 ? number<uint64_t>(fields.back()) : std::nullopt;
    if (!ns) {
      ragged.add(file.line());
      continue;
    }
    data.message(fields[0], *ns, file.line());
  }
  data.remark();
  ragged.remark(log);
  remark_cut(file, name, log);
}

}  // namespace ttc::report
