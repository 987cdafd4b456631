#include <algorithm>
#include <functional>
#include <map>
#define TOML_HEADER_ONLY 1
// The parser asserts what it then tests with a sentence of its own (`[[.name]]`), and takes it for granted where NDEBUG is defined.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "tools/chip/workload.hpp"

namespace ttc::chip {
namespace {

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  ChipWorkload workload(const toml::table& root) {
    ChipWorkload w;
    const toml::array* ops = nullptr;
    fields(root, {{"name", [&](const toml::node& n) { w.name = text(n, "name"); }},
                  {"jitter", [&](const toml::node& n) { w.jitter = number(n, "jitter", 0, 0.9); }},
                  {"op", [&](const toml::node& n) { ops = tables(n); }}});
    if (!ops || ops->empty()) fail(root, "it holds no [[op]]");
    for (const toml::node& one : *ops) w.ops.push_back(op(*one.as_table()));
    return w;
  }

  [[noreturn]] void fail(const toml::source_region& where, const std::string& what) const {
    throw WorkloadError(name_ + ":" + std::to_string(where.begin.line) + ": " + what);
  }

 private:
  using Fields = std::map<std::string_view, std::function<void(const toml::node&)>>;

  [[noreturn]] void fail(const toml::node& node, const std::string& what) const { fail(node.source(), what); }

  void fields(const toml::table& table, const Fields& known) const {
    for (const auto& [key, node] : table) {
      const auto field = known.find(key.str());
      if (field != known.end()) {
        field->second(node);
        continue;
      }
      std::string all;
      for (const auto& [name, take] : known) all += (all.empty() ? "" : ", ") + std::string(name);
      fail(key.source(), "'" + std::string(key.str()) + "' is not known here; " + all + " are");
    }
  }

  const toml::array* tables(const toml::node& n) const {
    const toml::array* array = n.as_array();
    if (!array || !array->is_homogeneous<toml::table>()) fail(n, "op must be tables, each written as [[op]]");
    return array;
  }
  std::string text(const toml::node& n, const char* field) const {
    const auto value = n.value_exact<std::string>();
    if (!value || value->empty()) fail(n, std::string(field) + " must be a text in quotes");
    if (value->find_first_of("\n\r`;\"") != std::string::npos)
      fail(n, std::string(field) + " holds a line end or one of ` ; \", which the host's files cannot carry");
    return *value;
  }
  double number(const toml::node& n, const std::string& field, double least, double most) const {
    const auto value = n.value<double>();
    if (!n.is_number() || !value || !(*value >= least && *value <= most))
      fail(n, field + " must be a number from " + plain(least) + " to " + plain(most));
    return *value;
  }
  static std::string plain(double d) {
    std::string s = std::to_string(d);
    s.erase(s.find_last_not_of('0') + 1);
    if (s.back() == '.') s.pop_back();
    return s;
  }
  template <class T>
  T whole(const toml::node& n, const std::string& field, int64_t least, int64_t most) const {
    const auto value = n.value_exact<int64_t>();
    if (!value || *value < least || *value > most)
      fail(n,
           field + " must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<T>(*value);
  }
  Pattern pattern(const toml::node& n) const {
    const std::string wanted = text(n, "pattern");
    for (const Pattern p : {Pattern::stream, Pattern::multicast, Pattern::pipeline, Pattern::ring})
      if (to_string(p) == wanted) return p;
    fail(n, "pattern '" + wanted + "' is none of stream, multicast, pipeline, ring");
  }
  std::vector<Tensor> tensors(const toml::node& n, const char* field) const {
    const std::string what =
        std::string(field) + " must be shapes of four numbers, as in [[1, 1, 1024, 512]]";
    const toml::array* all = n.as_array();
    if (!all || all->size() > 16) fail(n, what);
    std::vector<Tensor> shapes;
    for (const toml::node& one : *all) {
      const toml::array* shape = one.as_array();
      if (!shape || shape->size() != 4) fail(one, what);
      const auto size = [&](size_t i) {
        return whole<uint32_t>(*shape->get(i), "a size in " + std::string(field), 1, 1 << 30);
      };
      shapes.push_back({size(0), size(1), size(2), size(3)});
    }
    return shapes;
  }

  ChipOp op(const toml::table& table) const {
    ChipOp o;
    const auto count = [](unsigned& to, int64_t least, int64_t most, const char* field, const Reader* self) {
      return [&to, least, most, field, self](const toml::node& n) {
        to = self->whole<unsigned>(n, field, least, most);
      };
    };
    const auto cycles = [this](Cycles& to, const char* field) {
      return [&to, field, this](const toml::node& n) { to = whole<Cycles>(n, field, 1, 100'000'000); };
    };
    const auto real = [this](double& to, double most, const char* field) {
      return [&to, most, field, this](const toml::node& n) { to = number(n, field, 0, most); };
    };
    fields(table,
           {{"code", [&](const toml::node& n) { o.code = text(n, "code"); }},
            {"pattern", [&](const toml::node& n) { o.pattern = pattern(n); }},
            {"cores", count(o.cores, 0, 256, "cores", this)},
            {"blocks", count(o.blocks, 1, 10000, "blocks", this)},
            {"out_blocks", count(o.out_blocks, 1, 10000, "out_blocks", this)},
            {"tiles", count(o.tiles, 1, 1024, "tiles", this)},
            {"tile_bytes", count(o.tile_bytes, 32, 1 << 20, "tile_bytes", this)},
            {"buffer_blocks", count(o.buffer_blocks, 1, 64, "buffer_blocks", this)},
            {"unpack_cycles", cycles(o.unpack, "unpack_cycles")},
            {"math_cycles", cycles(o.math, "math_cycles")},
            {"pack_cycles", cycles(o.pack, "pack_cycles")},
            {"imbalance", real(o.imbalance, 100, "imbalance")},
            {"host_us", real(o.host_us, 1e7, "host_us")},
            {"gap_us", real(o.gap_us, 1e8, "gap_us")},
            {"repeat", count(o.repeat, 1, 1'000'000, "repeat", this)},
            {"fidelity", [&](const toml::node& n) { o.fidelity = text(n, "fidelity"); }},
            {"inputs", [&](const toml::node& n) { o.inputs = tensors(n, "inputs"); }},
            {"outputs", [&](const toml::node& n) { o.outputs = tensors(n, "outputs"); }},
            {"flops", [&](const toml::node& n) { o.flops = whole<uint64_t>(n, "flops", 0, INT64_MAX); }}});
    return o;
  }

  std::string name_;
};

// What is beyond ASCII is refused, or hidden in a comment: the parser's tests of whitespace take for granted that some characters
// never come (toml++ 3.3, is_non_ascii_horizontal_whitespace).
std::string ascii(std::string_view text, const std::string& name) {
  std::string out(text);
  size_t line = 1, comment = std::string::npos;
  bool quoted = false;  // a quote stands in this line before any #
  for (size_t i = 0; i < out.size(); ++i) {
    const char c = out[i];
    if (c == '\n') {
      ++line, comment = std::string::npos, quoted = false;
    } else if (comment == std::string::npos && (c == '"' || c == '\'')) {
      quoted = true;
    } else if (c == '#' && !quoted) {
      comment = std::min(comment, i);
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      if (comment == std::string::npos)
        throw WorkloadError(name + ":" + std::to_string(line) +
                            ": only comments may have characters beyond ASCII");
      out[i] = '?';
    }
  }
  return out;
}

}  // namespace

ChipWorkload read_workload(std::string_view text, const std::string& name) {
  Reader reader(name);
  try {
    return reader.workload(toml::parse(ascii(text, name), name));
  } catch (const toml::parse_error& e) {
    reader.fail(e.source(), std::string(e.description()));
  }
}

}  // namespace ttc::chip
