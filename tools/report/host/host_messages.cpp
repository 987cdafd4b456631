#include "tools/report/host/host_messages.hpp"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tools/op_messages/op_message.hpp"
#include "tools/report/text/python_text.hpp"

namespace ttc::report {
namespace {

// Bytes of JSON. Tracy keeps the length of a message in 16 bits; the text that names the op comes before the JSON.
constexpr size_t kCutMessage = 65'000;
constexpr std::string_view kSession = "TTNN_SESSION_ID:", kSignpost = "TT_SIGNPOST: ";

std::pair<std::string_view, std::string_view> cut_at(std::string_view text, char by) {
  const size_t at = std::min(text.find(by), text.size());
  return {text.substr(0, at), text.substr(std::min(at + 1, text.size()))};
}

// The members of an op's outermost JSON object that its row is found by. Others are not kept.
class OpMembers {
 public:
  using Parser = nlohmann::json;
  std::optional<uint64_t> call_count, device, hash;
  std::optional<bool> cache_hit;
  std::string code, type;
  bool is_object = false;

  // nlohmann's interface of a SAX consumer; true: continue.
  bool null() { return other("None"); }
  bool boolean(bool value) {
    if (here("program_cache_hit")) cache_hit = value;
    return other(value ? "True" : "False");
  }
  bool number_integer(Parser::number_integer_t value) {
    if (here("program_cache_hit")) cache_hit = tools::truth(std::to_string(value));
    if (here("op_hash")) hash = static_cast<uint64_t>(value);
    return other(std::to_string(value));
  }
  bool number_unsigned(Parser::number_unsigned_t value) {
    if (here("global_call_count")) call_count = value;
    if (here("device_id")) device = value;
    if (here("program_cache_hit")) cache_hit = tools::truth(std::to_string(value));
    if (here("op_hash")) hash = value;
    return other(std::to_string(value));
  }
  bool number_float(Parser::number_float_t value, const std::string&) {
    if (here("op_hash")) hash = static_cast<uint64_t>(value);
    return other(python_float(value));
  }
  bool string(std::string& value) {
    if (here("program_cache_hit")) cache_hit = tools::truth(value);
    if (here("op_type")) type = value;
    return other(value);
  }
  bool binary(Parser::binary_t&) { return true; }
  bool start_object(size_t) { return open(true); }
  bool end_object() { return close(); }
  bool start_array(size_t) { return open(false); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (depth_ == 1) key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

 private:
  bool here(std::string_view name) const { return depth_ == 1 && key_ == name; }
  bool other(const std::string& value) {
    if (here("op_code")) code = value;
    return true;
  }
  bool open(bool object) {
    if (depth_ == 0) is_object = object;
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }
  unsigned depth_ = 0;
  std::string key_;
};

}  // namespace

HostMessages::HostMessages(const std::string& name, const std::string& line, HostLog& log)
    : log_(log),
      bad_json_{name, "messages have no JSON that can be read", true, line},
      cut_json_{name, "messages end within their JSON, because Tracy cuts them at 64 KiB", false, line},
      unknown_{name, "cached ops name a program that was not described before", false, line},
      odd_{name, "messages of ops or traces have a form that is not known", true, line} {
  for (uint32_t i = 0; i < log.codes.size(); ++i) codes_.emplace(log.codes[i], i);
}

void HostMessages::message(std::string_view text, const MessagePlace& place) {
  Parsed parsed;
  parsed.place = place;
  if (text.starts_with(kSignpost)) {
    parsed.is = Is::signpost;
    parsed.text = texts_.add(text.substr(kSignpost.size()));
    return sorted_.add(parsed);
  }
  if (text.starts_with(kSession)) return session(text.substr(kSession.size()));
  if (text.find("TT_DNN") == std::string_view::npos && text.find("TT_METAL") == std::string_view::npos)
    return;
  if (text.find("OP") != std::string_view::npos && text.find("TT_METAL_TRACE") == std::string_view::npos)
    return op(text, parsed);
  if (text.find("TRACE") != std::string_view::npos && !text.starts_with("TT_METAL_TRACE_ENQUEUE_PROGRAM"))
    return trace(text, parsed);
}

void HostMessages::mlir(std::string_view tag, std::string_view value, const MessagePlace& place) {
  Parsed parsed;
  parsed.place = place;
  parsed.is = Is::mlir;
  parsed.text = texts_.add(std::string(tag) + ';' + std::string(value));
  sorted_.add(parsed);
}

void HostMessages::session(std::string_view id) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
  if (!id.empty() && id.size() <= 128 && id.find_first_not_of(kLetters) == std::string_view::npos)
    log_.session_ids.emplace(id);
  else
    log_.remarks.push_back(
        "a session id is left aside, because it holds other than letters, digits and ._:-");
}

uint32_t HostMessages::code_number(const std::string& code) {
  const auto [found, added] = codes_.try_emplace(code, static_cast<uint32_t>(log_.codes.size()));
  if (added) log_.codes.push_back(code);
  return found->second;
}

void HostMessages::op(std::string_view text, Parsed parsed) {
  const std::string_view json = tools::op_json(text);
  if (!json.empty()) {
    if (described(json, parsed)) sorted_.add(parsed);
    return;
  }
  const auto op = tools::op_message(text);
  if (!op) return odd_.add(parsed.place.line);
  parsed.is = Is::cached;
  parsed.hash = op->program_hash;
  parsed.call_count = op->call_count;
  parsed.device = op->device;
  parsed.cache_hit = op->cache_hit;
  sorted_.add(parsed);
}

bool HostMessages::described(std::string_view text, Parsed& parsed) {
  OpMembers members;
  const bool whole = OpMembers::Parser::sax_parse(text.begin(), text.end(), &members);
  if (!whole || !members.is_object || !members.call_count) {
    (text.size() < kCutMessage ? bad_json_ : cut_json_).add(parsed.place.line);
    return false;
  }
  parsed.is = Is::described;
  if (log_.keeps_infos) parsed.text = log_.infos->add(text);
  parsed.call_count = static_cast<uint32_t>(*members.call_count);  // its low half, as tt-metal's own
  parsed.code = code_number(members.code);
  parsed.on_device = members.type == "tt_dnn_device";
  if (members.device) parsed.device = static_cast<uint32_t>(*members.device);
  parsed.cache_hit = members.cache_hit;
  parsed.hash = members.hash;
  return true;
}

void HostMessages::trace(std::string_view text, Parsed parsed) {
  const size_t colon = text.rfind(':');
  const auto [first, rest] = cut_at(colon == std::string_view::npos ? "" : text.substr(colon + 1), ',');
  const auto [second, more] = cut_at(rest, ',');
  const auto device = number<uint32_t>(first), trace = number<uint32_t>(second);
  if (!device || !trace || !more.empty()) return odd_.add(parsed.place.line);
  parsed.device = device;
  parsed.trace = *trace;
  if (text.find("BEGIN") != std::string_view::npos)
    parsed.is = Is::trace_begin;
  else if (text.find("END") != std::string_view::npos)
    parsed.is = Is::trace_end;
  else if (text.find("REPLAY") != std::string_view::npos)
    parsed.is = Is::replay;
  else
    return;
  sorted_.add(parsed);
}

// State from earlier messages, process by process.
struct HostMessages::Resolving {
  HostLog& log;
  Texts& texts;
  Skips& unknown;
  const std::function<uint32_t(uint32_t, uint32_t)>& chip_of;
  std::map<std::pair<OfDevice, uint64_t>, Described> programs;  // by hash
  std::map<OfDevice, uint32_t> traces;                          // that are being captured
  struct Notes {
    MlirNotes now;
    std::optional<uint64_t> place;
  };
  std::map<uint32_t, Notes> notes;

  void take(const Parsed& m) {
    switch (m.is) {
      case Is::signpost:
        return signpost(m);
      case Is::mlir:
        return note(m);
      case Is::trace_begin:
        traces[{m.place.process, *m.device}] = m.trace;
        return;
      case Is::trace_end:
        traces.erase({m.place.process, *m.device});
        return;
      case Is::replay:
        log.replays_ns[{m.place.process, chip_of(m.place.process, *m.device), m.trace}].push_back(m.place.ns);
        return;
      case Is::described:
      case Is::cached:
        return op(m);
    }
  }

  void signpost(const Parsed& m) const {
    const std::string text(texts.at(m.text));
    const auto [header, rest] = cut_at(text, '\n');
    log.signposts.push_back({std::string(header), std::string(cut_at(rest, '\n').first), m.place.ns,
                             m.place.raw_ns, m.place.process});
  }

  void note(const Parsed& m) {
    const std::string text(texts.at(m.text));
    const auto [tag, value] = cut_at(text, ';');
    Notes& of = notes[m.place.process];
    if (tag == "MLIR_OP_LOCATION") of.now.location = value;
    if (tag == "MLIR_CONST_EVAL_OP") of.now.const_eval = value;
    if (tag == "MLIR_PROGRAM_METADATA") of.now.metadata = value;
    of.place.reset();
  }

  void op(const Parsed& m) {
    Described of{m.text, m.code, m.on_device};
    const OfDevice device{m.place.process, m.device.value_or(0)};
    if (m.is == Is::cached) {
      const auto known = programs.find({device, *m.hash});
      if (known == programs.end()) return unknown.add(m.place.line);
      of = known->second;
    } else if (m.hash && m.device) {
      programs[{device, *m.hash}] = of;
    }
    HostOp o;
    o.process = m.place.process;
    o.call_count = m.call_count;
    o.code = of.code;
    o.on_device = of.on_device;
    o.info = of.info;
    o.cache_hit = m.cache_hit;
    o.message_ns = m.place.ns;
    o.raw_ns = m.place.raw_ns;
    if (m.device) {
      o.device = chip_of(m.place.process, *m.device);
      if (const auto tracing = traces.find(device); tracing != traces.end()) o.trace_id = tracing->second;
    }
    Notes& notes_now = notes[m.place.process];
    if (!notes_now.place) notes_now.place = log.infos->add(notes_now.now);
    o.notes = *notes_now.place;
    log.ops.push_back(o);
  }
};

void HostMessages::resolve(const std::function<uint32_t(uint32_t, uint32_t)>& chip_of) {
  Resolving resolving{log_, texts_, unknown_, chip_of, {}, {}, {}};
  sorted_.drain([&](const Parsed& m) { resolving.take(m); });
  for (const Skips* skips : {&bad_json_, &cut_json_, &unknown_, &odd_}) skips->remark(log_);
}

}  // namespace ttc::report
