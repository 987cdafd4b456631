
#include "tools/chip/workload.hpp"
#include "tools/toml/toml_fields.hpp"

namespace ttc::chip {
namespace {

class Reader : public tools::TomlFields {
 public:
  using TomlFields::TomlFields;

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

 private:
  const toml::array* tables(const toml::node& n) const {
    const toml::array* array = n.as_array();
    if (!array || !array->is_homogeneous<toml::table>()) fail(n, "op must be tables, each written as [[op]]");
    return array;
  }
  std::string text(const toml::node& n, const char* field) const {
    std::string value = TomlFields::text(n, field);
    if (value.find_first_of("\n\r`;\"") != std::string::npos)
      fail(n, std::string(field) + " holds a line end or one of ` ; \", which the host's files cannot carry");
    return value;
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

  Mistake mistake(const toml::node& n, const char* field) const {
    const toml::table* table = n.as_table();
    const std::string what =
        std::string(field) + " must be written as " + field + " = { from = 0, to = 1, slack_cycles = 5000 }";
    if (!table) fail(n, what);
    Mistake m;
    fields(*table, {{"from", [&](const toml::node& v) { m.from = whole<unsigned>(v, "from", 0, 255); }},
                    {"to", [&](const toml::node& v) { m.to = whole<unsigned>(v, "to", 0, 255); }},
                    {"slack_cycles", [&](const toml::node& v) {
                       m.slack = whole<Cycles>(v, "slack_cycles", 1, 100'000'000);
                     }}});
    if (m.slack == 0) fail(n, what);
    if (m.from == m.to) fail(n, std::string(field) + " must be between two cores");
    return m;
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
            {"race", [&](const toml::node& n) { o.race = mistake(n, "race"); }},
            {"hang", [&](const toml::node& n) { o.hang = mistake(n, "hang"); }},
            {"flops", [&](const toml::node& n) { o.flops = whole<uint64_t>(n, "flops", 0, INT64_MAX); }}});
    return o;
  }
};

}  // namespace

ChipWorkload read_workload(std::string_view text, const std::string& name) {
  Reader reader(name);
  try {
    return reader.workload(reader.parsed(text));
  } catch (const tools::TomlError& e) {
    throw WorkloadError(e.what());
  }
}

}  // namespace ttc::chip
