#include "tools/tables/ops_json.hpp"

#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"

namespace ttc::tools {

void OpsJson::host(std::span<const uint64_t> chunk) {
  host_.push(chunk);
  for (const ttcollect_op_name& op : of_the_host_.op_names) names_.add(op.chip, op.host_id, op.name);
  of_the_host_.clear();
}

void OpsJson::write() {
  for (size_t i = 0; i < tables_.ops.size(); ++i) {
    const ttcollect_op& o = tables_.ops[i];
    const ttcollect_op_bounds& bounds = tables_.op_bounds[i];
    std::string line = "{";
    const auto number = [&](const char* key, int64_t value) {
      line.append(line.size() > 1 ? ",\"" : "\"").append(key).append("\":").append(std::to_string(value));
    };
    const auto bound = [&](const char* key, uint32_t ns) {
      if (ns != TTCOLLECT_UNBOUNDED) number(key, ns);
    };
    number("chip", o.chip);
    number("host_id", o.host_id);
    if (o.replay) number("replay", o.replay);
    if (const std::string* name = names_.find(o.chip, o.host_id))
      line.append(",\"name\":").append(program::json_text(nlohmann::json(*name)));
    number("begin_ns", o.begin_ns);
    number("ns", o.end_ns - o.begin_ns);
    bound("duration_bound_ns", bounds.ns);
    if (o.kernel_end_ns) {
      number("kernel_begin_ns", o.kernel_begin_ns);
      number("kernel_ns", o.kernel_end_ns - o.kernel_begin_ns);
      bound("kernel_bound_ns", bounds.kernel_ns);
    }
    number("cores", o.cores);
    if (o.core_most_ns) {
      number("core_mean_ns", static_cast<int64_t>(o.core_mean_ns));
      bound("core_mean_bound_ns", bounds.core_mean_ns);
      number("core_most_ns", static_cast<int64_t>(o.core_most_ns));
      bound("core_most_bound_ns", bounds.core_most_ns);
      number("most_x", o.most_x);
      number("most_y", o.most_y);
    }
    if (o.open) number("open", o.open);
    if (o.of_device_clock) line += ",\"of_device_clock\":true";
    out_.append(line + "}\n");
  }
  tables_.clear();
}

}  // namespace ttc::tools
