// Messages of the host's side into ops. Each is parsed when it comes, in any order; what depends on those before it (cached ops, traces,
// notes of tt-mlir) is resolved when all are there. Kept meanwhile: a record of each in a spill.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "tools/report/host/host_lines.hpp"
#include "tools/report/text/record_sort.hpp"
#include "tools/report/text/texts.hpp"

namespace ttc::report {

// The place of a message: its order among all, by `first` and then `second`, and its line for sentences.
struct MessagePlace {
  int64_t first = 0;
  uint64_t second = 0, line = 0;
  uint32_t process = 0;
  int64_t ns = 0;
  std::optional<int64_t> raw_ns;
};

class HostMessages {
 public:
  // `line`: how a sentence names a line, as "in line ".
  HostMessages(const std::string& name, const std::string& line, HostLog& log);

  // `text` has no back-ticks around it.
  void message(std::string_view text, const MessagePlace& place);
  // MLIR_...: its value.
  void mlir(std::string_view tag, std::string_view value, const MessagePlace& place);
  // Once. The chip that a process calls by a number of its own: `chip_of`.
  void resolve(const std::function<uint32_t(uint32_t process, uint32_t device)>& chip_of);

 private:
  enum class Is : uint8_t { described, cached, signpost, trace_begin, trace_end, replay, mlir };
  struct Parsed {
    MessagePlace place;
    Is is{};
    bool on_device = false;
    std::optional<bool> cache_hit;
    std::optional<uint32_t> device;
    std::optional<uint64_t> hash;  // of the program
    uint32_t call_count = 0, code = 0;
    uint32_t trace = 0;
    uint64_t text = 0;  // place: of an info, of a text
  };
  struct Order {
    bool operator()(const Parsed& a, const Parsed& b) const {
      return std::tie(a.place.first, a.place.second) < std::tie(b.place.first, b.place.second);
    }
  };
  struct Described {
    uint64_t info = 0;
    uint32_t code = 0;
    bool on_device = false;
  };
  using OfDevice = std::pair<uint32_t, uint32_t>;  // process, its number of a device
  struct Resolving;

  void session(std::string_view id);
  void op(std::string_view text, Parsed parsed);
  bool described(std::string_view text, Parsed& parsed);
  void trace(std::string_view text, Parsed parsed);
  uint32_t code_number(const std::string& code);

  HostLog& log_;
  Texts texts_;
  RecordSort<Parsed, Order> sorted_;
  std::map<std::string, uint32_t> codes_;
  Skips bad_json_, cut_json_, unknown_, odd_;
};

}  // namespace ttc::report
