#include "tools/op_messages/op_message.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

namespace ttc::tools {
namespace {

constexpr std::string_view kDeviceOp = "TT_DNN_DEVICE_OP", kArrow = " ->\n";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

template <class T>
std::optional<T> number(std::string_view text) {
  text = trimmed(text);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t at; (at = text.find(',')) != std::string_view::npos; text.remove_prefix(at + 1))
    parts.push_back(text.substr(0, at));
  parts.push_back(text);
  return parts;
}

std::string unescaped(std::string_view code) {
  if (code.find('\\') == std::string_view::npos) return std::string(code);
  const auto text = nlohmann::json::parse('"' + std::string(code) + '"', nullptr, false);
  return text.is_string() ? text.get<std::string>() : std::string(code);
}

std::optional<NamedOp> named_by_json(std::string_view text) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto unsigned_at = [&](const char* key) -> std::optional<uint32_t> {
    const auto at = json.find(key);
    return at != json.end() && at->is_number_unsigned() ? std::optional(at->get<uint32_t>()) : std::nullopt;
  };
  const auto device = unsigned_at("device_id"), count = unsigned_at("global_call_count");
  const auto code = json.find("op_code");
  if (!device || !count || code == json.end() || !code->is_string()) return std::nullopt;
  return NamedOp{*device, *count, code->get<std::string>()};
}

}  // namespace

std::string_view op_json(std::string_view message) {
  const size_t arrow = message.find(kArrow);
  return arrow == std::string_view::npos ? std::string_view() : message.substr(arrow + kArrow.size());
}

std::optional<bool> truth(std::string_view text) {
  text = trimmed(text);
  if (text == "true" || text == "True" || text == "1") return true;
  if (text == "false" || text == "False" || text == "0") return false;
  return std::nullopt;
}

std::optional<OpMessage> op_message(std::string_view message) {
  const std::string_view head = message.substr(0, message.find(kArrow));
  const size_t quote = head.rfind('"'), first = head.find('"');
  const std::vector<std::string_view> parts =
      split(quote == std::string_view::npos ? head : head.substr(quote + 1));
  const size_t n = parts.size();  // the first is what ends the code
  OpMessage op;
  if (first < quote) op.code = head.substr(first + 1, quote - first - 1);
  if (n == 5) op.cache_hit = truth(parts[3]);
  if (n != 4 && !op.cache_hit) return std::nullopt;
  const auto hash = number<uint64_t>(parts[1]);
  const auto device = number<uint32_t>(parts[2]), count = number<uint32_t>(parts[n - 1]);
  if (!hash || !device || !count) return std::nullopt;
  op.program_hash = *hash;
  op.device = *device;
  op.call_count = *count;
  return op;
}

std::optional<NamedOp> named_op(std::string_view message) {
  if (message.starts_with('`')) message.remove_prefix(1);
  if (message.ends_with('`')) message.remove_suffix(1);
  if (!message.starts_with(kDeviceOp)) return std::nullopt;
  if (const auto op = op_message(message); op && !op->code.empty())
    return NamedOp{op->device, op->call_count, unescaped(op->code)};
  return named_by_json(op_json(message));
}

}  // namespace ttc::tools
