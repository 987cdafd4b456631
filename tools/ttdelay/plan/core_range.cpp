#include <charconv>

#include "tools/ttdelay/plan/experiment.hpp"

namespace ttc::delay {
namespace {

constexpr uint32_t kMostCoordinate = 31;
constexpr size_t kMostListed = 256;

std::string shown(const LogicalCore& c) {
  return "(" + std::to_string(c.x) + "," + std::to_string(c.y) + ")";
}

class CoreText {
 public:
  explicit CoreText(const std::string& text) : whole_(text), rest_(whole_) {}

  bool empty() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!take(c)) fail();
  }
  LogicalCore core() {
    const uint32_t x = number();
    need(',');
    return {x, number()};
  }
  LogicalCore in_brackets() {
    need('(');
    const LogicalCore c = core();
    need(')');
    return c;
  }
  [[noreturn]] void fail() const {
    throw PlanError(
        "cores '" + whole_ +
        "' are none of \"x,y\", \"(x,y)-(x,y)\", \"(x,y),(x,y)\" and \"each (x,y)-(x,y)\", in logical "
        "coordinates" +
        (whole_ == "all" || whole_ == "worker" || whole_ == "dispatch"
             ? "; tt-metal takes '" + whole_ + "' and then delays no core at all"
             : ""));
  }

 private:
  uint32_t number() {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) fail();
    if (value > kMostCoordinate)
      throw PlanError("cores '" + whole_ + "' have a coordinate above " + std::to_string(kMostCoordinate));
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  const std::string whole_;
  std::string_view rest_;
};

CoreSet read_set(const std::string& words) {
  CoreText text(words);
  CoreSet set{words, {}};
  if (!words.starts_with('(')) {
    set.cores = {text.core()};
    if (!text.empty())
      throw PlanError("cores '" + words + "' have text after " + shown(set.cores[0]) +
                      "; tt-metal would take that core alone. A range is (x,y)-(x,y), a list (x,y),(x,y)");
    return set;
  }
  const LogicalCore first = text.in_brackets();
  if (!text.take('-')) {
    set.cores = {first};
    while (text.take(',')) {
      set.cores.push_back(text.in_brackets());
      if (set.cores.size() > kMostListed) throw PlanError("cores '" + words + "' are too many");
    }
    if (!text.empty()) text.fail();
    return set;
  }
  const LogicalCore last = text.in_brackets();
  if (!text.empty()) text.fail();
  if (last.x < first.x || last.y < first.y)
    throw PlanError("cores '" + words +
                    "' are a range the wrong way round, which tt-metal takes as no core at all");
  for (uint32_t y = first.y; y <= last.y; ++y)
    for (uint32_t x = first.x; x <= last.x; ++x) set.cores.push_back({x, y});
  return set;
}

}  // namespace

std::vector<CoreSet> read_cores(const std::string& text) {
  std::string words;
  const bool each = text.starts_with("each ");
  for (const char c : each ? text.substr(5) : text)
    if (c != ' ') words += c;
  CoreSet set = read_set(words);
  if (!each) return {std::move(set)};
  std::vector<CoreSet> all;
  for (const LogicalCore& c : set.cores)
    all.push_back({std::to_string(c.x) + "," + std::to_string(c.y), {c}});
  return all;
}

}  // namespace ttc::delay
