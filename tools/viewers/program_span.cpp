#include "tools/viewers/program_span.hpp"

#include "collector/draw/colours.hpp"

namespace ttc::tools {

TimelineSpan span_of(const Program& p, const std::string* op) {
  const std::string number = "program " + std::to_string(p.host_id);
  TimelineSpan span{p.begin_ns,
                    p.end_ns,
                    op ? *op : "program",
                    op ? *op + " (" + number + ")" : number,
                    draw::kProgramColour,
                    {},
                    p.flows};
  span.fields.push_back({"host id", p.host_id});
  if (p.replay) span.fields.push_back({"trace replay", p.replay});
  const auto bound = [&](const char* name, uint32_t ns) {
    if (ns != kNoDurationBound) span.fields.push_back({name, ns});
  };
  bound("duration bound ns", p.bounds.duration_ns);
  span.fields.push_back({"cores", p.cores.size()});
  if (p.kernel_begin_ns < p.kernel_end_ns)
    span.fields.push_back({"kernel ns", p.kernel_end_ns - p.kernel_begin_ns}),
        bound("kernel bound ns", p.bounds.kernel_ns);
  if (p.longest_ns) {
    span.fields.push_back(
        {"limiting core", 0, std::to_string(p.longest_x) + "," + std::to_string(p.longest_y)});
    span.fields.push_back({"its kernel ns", p.longest_ns});
    bound("its kernel bound ns", p.bounds.longest_ns);
  }
  if (p.open) span.fields.push_back({"processors without an end", p.open});
  return span;
}

}  // namespace ttc::tools
