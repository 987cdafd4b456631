#include "tools/chip/host_files.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>

namespace ttc::chip {
namespace {

using Json = nlohmann::ordered_json;

uint64_t hash_of(const ChipOp& op) {  // FNV-1a of what distinguishes programs
  uint64_t h = 14695981039346656037u;
  const auto mix = [&](uint64_t v) { h = (h ^ v) * 1099511628211u; };
  for (const char c : op.code) mix(static_cast<uint8_t>(c));
  for (const auto* tensors : {&op.inputs, &op.outputs})
    for (const Tensor& t : *tensors)
      for (const uint32_t n : {t.w, t.z, t.y, t.x}) mix(n);
  for (const uint64_t v : {uint64_t{op.blocks}, uint64_t{op.tiles}, op.math, op.flops}) mix(v);
  return h >> 1;
}

Json tensor(const Tensor& t) {
  const auto size = [](uint32_t n) { return std::to_string(n) + "[" + std::to_string(n) + "]"; };
  return {
      {"dtype", "BFLOAT16"},
      {"layout", "TILE"},
      {"shape", {{"W", size(t.w)}, {"X", size(t.x)}, {"Y", size(t.y)}, {"Z", size(t.z)}}},
      {"storage_type",
       {{"device_id", 0}, {"memory_config", {{"buffer_type", "DRAM"}, {"memory_layout", "INTERLEAVED"}}}}}};
}

std::string description(const ChipOp& op, uint32_t call_count, uint64_t hash) {
  Json inputs = Json::array(), outputs = Json::array();
  for (const Tensor& t : op.inputs) inputs.push_back(tensor(t));
  for (const Tensor& t : op.outputs) outputs.push_back(tensor(t));
  const std::string folder = "emulated/kernels/" + std::string(to_string(op.pattern)) + "/";
  Json attributes{{"emulated_flops", std::to_string(op.flops)}};
  const Json info{
      {"attributes", attributes},
      {"device_id", 0},
      {"global_call_count", call_count},
      {"input_tensors", inputs},
      {"kernel_info",
       {{"compute_kernels",
         {{{"math_fidelity", op.fidelity}, {"name", "compute/0/"}, {"source", folder + "compute.cpp"}}}},
        {"datamovement_kernels",
         {{{"name", "writer/0/"}, {"source", folder + "writer.cpp"}},
          {{"name", "reader/0/"}, {"source", folder + "reader.cpp"}}}}}},
      {"op_code", op.code},
      {"op_hash", hash},
      {"op_type", "tt_dnn_device"},
      {"optional_input_tensors", Json::array()},
      {"output_tensors", outputs},
      {"program_cache_hit", false}};
  return info.dump(4);
}

}  // namespace

HostFiles::HostFiles(const std::string& directory, std::function<uint64_t(Cycles)> ns_of, HostStyle style)
    : ns_of_(std::move(ns_of)),
      style_(std::move(style)),
      data_(directory + "/tracy_ops_data.csv"),
      times_(directory + "/tracy_ops_times.csv") {
  data_.write("MessageName;total_ns\n");
  times_.write(
      "name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,special_parent_text\n");
  if (!style_.events.empty()) events_.emplace(style_.events);
  if (style_.year >= 2026) message("TTNN_SESSION_ID:emulated-" + std::to_string(getpid()), 0);
}

// In the file texts of tt-metal are in backticks, as it sends them; others are not.
void HostFiles::message(const std::string& text, uint64_t ns) {
  data_.write(text + ";" + std::to_string(ns) + "\n");
  if (!events_) return;
  events_->write("M " + std::to_string(ns) + " " + std::to_string(text.size()) + "\n" + text + "\n");
  events_->flush();
}

void HostFiles::signpost(const InPass& at, const char* which, uint64_t ns) {
  message("`TT_SIGNPOST: step_" + std::to_string(at.pass) + which + "`", ns);
}

void HostFiles::add(uint32_t call_count, const ChipOp& op, bool cached, Cycles begin, Cycles end,
                    const InPass& at) {
  const uint64_t hash = hash_of(op), begin_ns = ns_of_(begin), end_ns = ns_of_(end);
  const std::string id = std::to_string(call_count);
  if (style_.signposts && at.first) signpost(at, "_start", begin_ns);
  std::string text = "`TT_DNN_DEVICE_OP: \"" + op.code + "\", " + std::to_string(hash) + ", 0, ";
  if (style_.year >= 2026) text += cached ? "true, " : "false, ";
  text += id;
  if (!cached) text += " ->\n" + description(op, call_count, hash);
  message(text + "`", end_ns);
  times_.write("TT_DNN_DEVICE_OP,emulated/op_profiler.hpp,100,,\"" + op.code + " id:" + id + "\"," +
               std::to_string(begin_ns) + "," + std::to_string(end_ns - begin_ns) + ",1,id:" + id + "\n");
  if (events_)
    events_->write("Z " + std::to_string(begin_ns) + " " + std::to_string(end_ns) + " TT_DNN_DEVICE_OP\t\"" +
                   op.code + "\" id:" + id + "\n");
  if (style_.signposts && at.last) signpost(at, "_end", end_ns);
}

void HostFiles::close() {
  data_.close();
  times_.close();
  if (events_) events_->close();
}

}  // namespace ttc::chip
