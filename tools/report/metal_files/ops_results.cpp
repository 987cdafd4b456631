#include "tools/report/metal_files/ops_results.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/report/metal_files/counters.hpp"
#include "tools/report/metal_files/device_cells.hpp"
#include "tools/report/text/python_text.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {
namespace {

using Json = nlohmann::ordered_json;
using Row = NamedCells;

// Columns in the order of tt-metal (tools/tracy/process_ops_logs.py@00761ba, and SUB DEVICE ID of August
// 2026); the tensors come at the place kTensors.
constexpr const char* kTensors = "INPUTS and OUTPUTS";
constexpr const char* kColumns[] = {"OP CODE",
                                    "OP TYPE",
                                    "GLOBAL CALL COUNT",
                                    "DEVICE ID",
                                    "DEVICE ARCH",
                                    "ATTRIBUTES",
                                    "MATH FIDELITY",
                                    "CORE COUNT",
                                    "AVAILABLE WORKER CORE COUNT",
                                    "SUB DEVICE ID",
                                    "PARALLELIZATION STRATEGY",
                                    "HOST START TS",
                                    "HOST END TS",
                                    "HOST DURATION [ns]",
                                    "DEVICE FW START CYCLE",
                                    "DEVICE FW END CYCLE",
                                    "OP TO OP LATENCY [ns]",
                                    "OP TO OP LATENCY BR/NRISC START [ns]",
                                    "DEVICE FW DURATION [ns]",
                                    "DEVICE KERNEL DURATION [ns]",
                                    "DEVICE KERNEL DURATION DM START [ns]",
                                    "DEVICE KERNEL DURATION PER CORE MIN [ns]",
                                    "DEVICE KERNEL DURATION PER CORE MAX [ns]",
                                    "DEVICE KERNEL DURATION PER CORE AVG [ns]",
                                    "DEVICE KERNEL FIRST TO LAST START [ns]",
                                    "DEVICE BRISC KERNEL DURATION [ns]",
                                    "DEVICE NCRISC KERNEL DURATION [ns]",
                                    "DEVICE TRISC0 KERNEL DURATION [ns]",
                                    "DEVICE TRISC1 KERNEL DURATION [ns]",
                                    "DEVICE TRISC2 KERNEL DURATION [ns]",
                                    "DEVICE ERISC KERNEL DURATION [ns]",
                                    "DEVICE COMPUTE CB WAIT FRONT [ns]",
                                    "DEVICE COMPUTE CB RESERVE BACK [ns]",
                                    "DISPATCH TOTAL CQ CMD OP TIME [ns]",
                                    "DISPATCH GO SEND WAIT TIME [ns]",
                                    kTensors,
                                    "METAL TRACE ID",
                                    "METAL TRACE REPLAY SESSION ID",
                                    "COMPUTE KERNEL SOURCE",
                                    "COMPUTE KERNEL HASH",
                                    "DATA MOVEMENT KERNEL SOURCE",
                                    "DATA MOVEMENT KERNEL HASH",
                                    "PROGRAM HASH",
                                    "PROGRAM CACHE HIT",
                                    "TENSIX DM 0 MAX KERNEL SIZE [B]",
                                    "TENSIX DM 1 MAX KERNEL SIZE [B]",
                                    "TENSIX COMPUTE 0 MAX KERNEL SIZE [B]",
                                    "TENSIX COMPUTE 1 MAX KERNEL SIZE [B]",
                                    "TENSIX COMPUTE 2 MAX KERNEL SIZE [B]",
                                    "ACTIVE ETH DM 0 MAX KERNEL SIZE [B]",
                                    "ACTIVE ETH DM 1 MAX KERNEL SIZE [B]",
                                    "IDLE ETH DM 0 MAX KERNEL SIZE [B]",
                                    "IDLE ETH DM 1 MAX KERNEL SIZE [B]",
                                    "PM IDEAL [ns]",
                                    "PM COMPUTE [ns]",
                                    "PM BANDWIDTH [ns]",
                                    "PM REQ I BW",
                                    "PM REQ O BW",
                                    "PM FPU UTIL (%)",
                                    "NOC UTIL (%)",
                                    "MULTICAST NOC UTIL (%)",
                                    "DRAM BW UTIL (%)",
                                    "DRAM BW UTIL PER CTRL (%)",
                                    "ETH BW UTIL (%)",
                                    "NPE CONG IMPACT (%)"};

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

template <class T>
void put(Row& row, const char* column, const std::optional<T>& value) {
  if (value) row[column] = std::to_string(*value);
}

// The path of members, or null.
const Json* member(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* key : path) {
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &(*at)[key];
  }
  return at;
}

std::string text_of(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = member(json, path);
  return at ? python_str(*at) : "";
}

struct TensorColumns {
  size_t inputs = 0, outputs = 0;
};
constexpr const char* kShape[] = {"W", "Z", "Y", "X"};

std::vector<std::string> tensor_header(const TensorColumns& t) {
  std::vector<std::string> names;
  for (const auto& [kind, count] : {std::pair{"INPUT_", t.inputs}, std::pair{"OUTPUT_", t.outputs}})
    for (size_t i = 0; i < count; ++i) {
      const std::string front = kind + std::to_string(i) + "_";
      for (const char* side : kShape) names.push_back(front + side + "_PAD[LOGICAL]");
      for (const char* what : {"LAYOUT", "DATATYPE", "MEMORY"}) names.push_back(front + what);
    }
  return names;
}

std::vector<std::string> all_columns(const TensorColumns& tensors) {
  std::vector<std::string> names;
  for (const char* name : kColumns)
    if (name == kTensors)
      for (std::string& tensor : tensor_header(tensors)) names.push_back(std::move(tensor));
    else
      names.emplace_back(name);
  return names;
}

size_t put_tensors(Row& row, const std::string& kind, const Json* tensors, size_t first) {
  if (!tensors || !tensors->is_array()) return first;
  for (const Json& tensor : *tensors) {
    const std::string front = kind + std::to_string(first++) + "_";
    for (const char* side : kShape) row[front + side + "_PAD[LOGICAL]"] = text_of(tensor, {"shape", side});
    row[front + "LAYOUT"] = text_of(tensor, {"layout"});
    row[front + "DATATYPE"] = text_of(tensor, {"dtype"});
    const Json* storage = member(tensor, {"storage_type"});
    if (storage && storage->is_object())
      row[front + "MEMORY"] = "DEV_" + text_of(*storage, {"device_id"}) + "_" +
                              upper(text_of(*storage, {"memory_config", "buffer_type"})) + "_" +
                              upper(text_of(*storage, {"memory_config", "memory_layout"}));
    else if (storage)
      row[front + "MEMORY"] = python_str(*storage);
  }
  return first;
}

void put_kernels(Row& row, const Json& info) {
  const auto lists = [&](const char* kind, const char* source, const char* hash) {
    const Json* kernels = member(info, {"kernel_info", kind});
    if (!kernels || !kernels->is_array()) return;
    Json sources = Json::array(), names = Json::array();
    for (const Json& kernel : *kernels) {
      if (const Json* fidelity = member(kernel, {"math_fidelity"}))
        row["MATH FIDELITY"] = python_str(*fidelity);
      sources.push_back(text_of(kernel, {"source"}));
      names.push_back(text_of(kernel, {"name"}));
    }
    row[source] = python_repr(sources);
    row[hash] = python_repr(names);
  };
  lists("compute_kernels", "COMPUTE KERNEL SOURCE", "COMPUTE KERNEL HASH");
  lists("datamovement_kernels", "DATA MOVEMENT KERNEL SOURCE", "DATA MOVEMENT KERNEL HASH");
  if (const Json* sizes = member(info, {"kernel_info", "kernel_sizes"}); sizes && sizes->is_object())
    for (const auto& [key, size] : sizes->items()) {
      std::string name = upper(key) + " [B]";
      std::replace(name.begin(), name.end(), '_', ' ');
      row[name] = python_str(size);
    }
}

void put_model(Row& row, const Json& info) {
  const Json* model = member(info, {"performance_model"});
  if (!model) return;
  row["PM IDEAL [ns]"] = text_of(*model, {"ideal_ns"});
  row["PM COMPUTE [ns]"] = text_of(*model, {"compute_ns"});
  row["PM BANDWIDTH [ns]"] = text_of(*model, {"bandwidth_ns"});
  row["PM REQ I BW"] = text_of(*model, {"input_bws"});
  row["PM REQ O BW"] = text_of(*model, {"output_bws"});
  const Json* compute = member(*model, {"compute_ns"});
  const std::string* const took = row.find("DEVICE KERNEL DURATION [ns]");
  if (!compute || !compute->is_number() || !took) return;
  const double ns = std::strtod(took->c_str(), nullptr);
  row["PM FPU UTIL (%)"] = ns > 0 ? python_rounded(100.0 * compute->get<double>() / ns, 3) : "0.0";
}

void put_all_tensors(Row& row, const Json& info, TensorColumns& tensors) {
  size_t inputs = put_tensors(row, "INPUT_", member(info, {"input_tensors"}), 0);
  inputs = put_tensors(row, "INPUT_", member(info, {"optional_input_tensors"}), inputs);
  tensors.inputs = std::max(tensors.inputs, inputs);
  tensors.outputs =
      std::max(tensors.outputs, put_tensors(row, "OUTPUT_", member(info, {"output_tensors"}), 0));
}

std::string child_column(const HostLog& host, uint32_t name) {
  return host.child_names[name] + "_TT_HOST_FUNC [ns]";
}

void put_host(Row& row, const HostOp& op, const Json& info, const HostLog& host, TensorColumns& tensors) {
  row["OP CODE"] = text_of(info, {"op_code"});
  row["OP TYPE"] = text_of(info, {"op_type"});
  row["GLOBAL CALL COUNT"] = std::to_string(op.call_count);
  put(row, "DEVICE ID", op.device);
  if (const Json* attributes = member(info, {"attributes"})) row["ATTRIBUTES"] = python_str(*attributes);
  if (const Json* strategy = member(info, {"parallelization_strategy"}))
    row["PARALLELIZATION STRATEGY"] = python_str(*strategy);
  put(row, "METAL TRACE ID", op.trace_id);
  if (op.start_ns) {
    row["HOST START TS"] = std::to_string(*op.start_ns);
    row["HOST END TS"] = std::to_string(*op.start_ns + static_cast<int64_t>(*op.duration_ns));
    row["HOST DURATION [ns]"] = std::to_string(*op.duration_ns);
  }
  put_all_tensors(row, info, tensors);
  put_kernels(row, info);
  if (const Json* hash = member(info, {"op_hash"})) row["PROGRAM HASH"] = python_str(*hash);
  if (op.cache_hit) row["PROGRAM CACHE HIT"] = *op.cache_hit ? "True" : "False";
  for (uint64_t i = 0; i < op.child_count; ++i) {
    const HostChild child = host.children[op.children + i];
    row[child_column(host, child.name)] = std::to_string(child.ns);
  }
  const MlirNotes notes = host.infos->notes_at(op.notes);
  row["LOC"] = notes.location;
  row["CONST_EVAL_OP"] = notes.const_eval;
  row["PROGRAM_METADATA"] = notes.metadata;
}

using Names = std::set<std::string>;

void add_counters(Names& names, const DeviceRow& d) {
  for (const auto& [name, value] : d.counters) names.insert(name);
}

Names counters_of(const DeviceRows& device) {
  Names names;
  for (const DeviceRow& d : device) add_counters(names, d);
  return names;
}

// In tt-metal's order, those that some row has.
std::vector<std::string> counter_columns(const Names& some_row_has) {
  std::vector<std::string> present;
  if (some_row_has.empty()) return present;
  for (std::string& name : all_counter_columns())
    if (some_row_has.contains(name)) present.push_back(std::move(name));
  return present;
}

void put_signpost(Row& row, const Signpost& signpost) {
  row["OP CODE"] = signpost.header;
  row["OP TYPE"] = "signpost";
  if (!signpost.message.empty()) row["ATTRIBUTES"] = signpost.message;
  row["HOST START TS"] = std::to_string(signpost.ns);
}

// Rows of a device and the one before each of the same device, or signposts: `take`(place, row, previous); `previous` may be null.
template <class Take>
void each_row(const DeviceRows& device, const Records<RowPlace>& places, Take take) {
  std::map<uint32_t, DeviceRow> last;
  for (const RowPlace place : places) {
    if (place.signpost) {
      take(place, DeviceRow(), nullptr);
      continue;
    }
    DeviceRow d = device[place.row];
    const auto before = last.find(d.device);
    take(place, d, before == last.end() ? nullptr : &before->second);
    if (d.kernel_start) last[d.device] = std::move(d);
  }
}

std::vector<std::string> device_only_header(const DeviceRows& device, const Records<RowPlace>& places,
                                            bool every_column) {
  Names counters;
  std::set<uint32_t> devices;
  bool replays = false, signposts = false;
  PresentColumns present;
  for (const RowPlace place : places) {
    signposts = signposts || place.signpost;
    if (place.signpost) continue;
    const DeviceRow d = device[place.row];
    add_counters(counters, d);
    if (every_column) continue;
    present.add(d);
    devices.insert(d.device);
    replays = replays || d.trace_id || d.session;
  }
  // tt-metal leaves out which device and replay a row is of; they are kept where rows could not be distinguished.
  Names unwanted = {"CORE COUNT", "AVAILABLE WORKER CORE COUNT", "DEVICE ARCH"};
  if (devices.size() < 2) unwanted.insert("DEVICE ID");
  if (!replays) unwanted.insert({"METAL TRACE ID", "METAL TRACE REPLAY SESSION ID"});
  std::vector<std::string> header;
  if (every_column || signposts)
    header = all_columns({1, 1});
  else
    for (const char* name : kColumns)
      if (present.has(name) && !unwanted.contains(name)) header.emplace_back(name);
  for (std::string& name : counter_columns(counters)) header.push_back(std::move(name));
  return header;
}

void put_joined(Row& row, const Joined& joined, const std::optional<DeviceRow>& device, const HostLog& host,
                TensorColumns& tensors) {
  if (joined.signpost) return put_signpost(row, *joined.signpost);
  if (device) put_device(row, *device);
  const auto info = host.infos->at(joined.op.info);
  put_host(row, joined.op, *info, host, tensors);
  put_model(row, *info);
  if (device) {
    put(row, "METAL TRACE ID", joined.trace);
    if (!device->session) row.erase("METAL TRACE ID");
  }
}

bool several_processes(const Records<Joined>& rows) {
  std::optional<uint32_t> first;
  for (const Joined& j : rows) {
    if (j.signpost) continue;
    if (first && *first != j.op.process) return true;
    first = j.op.process;
  }
  return false;
}

std::string process_label(const HostLog& host, const Joined& joined) {
  const uint32_t process = joined.signpost ? joined.signpost->process : joined.op.process;
  const auto label = host.processes.find(process);
  return label == host.processes.end() ? std::to_string(process) : label->second;
}

std::vector<std::string> joined_header(const DeviceRows& device, const HostLog& host,
                                       const Records<Joined>& joined, bool mlir) {
  TensorColumns tensors;
  Row ignored;
  RecordSort<uint64_t, std::less<>> places;  // cached ops share what describes them
  for (const Joined& j : joined)
    if (!j.signpost) places.add(j.op.info);
  std::optional<uint64_t> last;
  places.drain([&](uint64_t place) {
    if (place != last) put_all_tensors(ignored, *host.infos->at(place), tensors);
    last = place;
  });
  std::set<std::string> children;
  for (uint32_t name = 0; name < host.child_names.size(); ++name) children.insert(child_column(host, name));
  std::vector<std::string> header = all_columns(tensors);
  for (const std::string& name : counter_columns(counters_of(device))) header.push_back(name);
  for (const std::string& name : children) header.push_back(name);
  if (mlir)
    for (const char* name : {"LOC", "CONST_EVAL_OP", "PROGRAM_METADATA"}) header.emplace_back(name);
  return header;
}

}  // namespace

RowPlan plan_rows(const DeviceRows& device, const HostLog& host, const RawTime& raw_ns) {
  RowPlan plan;
  JoinSummary& summary = plan.summary;
  summary.device_ops = device.size();
  summary.host_ops = host.ops.size();
  summary.signposts = host.signposts.size();
  plan.joined = !host.ops.empty();
  if (plan.joined) {
    plan.rows = join(device, host, raw_ns, summary);
  } else {
    plan.places = places_without_ops(device, host, raw_ns);
    summary.rows = plan.places.size();
  }
  return plan;
}

CellLines::CellLines(const RowPlan& plan, const DeviceRows& device, const HostLog& host,
                     const ResultOptions& options)
    : plan_(plan), device_(device), host_(host), options_(options) {
  header_ = plan.joined ? joined_header(device, host, plan.rows, options.mlir)
                        : device_only_header(device, plan.places, options.every_column);
  several_processes_ = plan.joined && several_processes(plan.rows);
  if (several_processes_) header_.emplace_back(kProcessColumn);
}

void CellLines::each(const Put& put) const {
  if (plan_.joined)
    each_joined(put);
  else
    each_of_device(put);
}

// The device's rows alone, and signposts where the plan has them.
void CellLines::each_of_device(const Put& put) const {
  const bool with_op = std::find(header_.begin(), header_.end(), "OP TYPE") != header_.end();
  Row row;
  CellLine line;
  each_row(device_, plan_.places, [&](const RowPlace& place, const DeviceRow& d, const DeviceRow* previous) {
    row.clear();
    if (place.signpost) {
      put_signpost(row, *place.signpost);
    } else {
      put_device(row, d);
      put_signed_gaps(row, d, previous);
      if (options_.every_column) row["OP CODE"] = "Program " + std::to_string(d.call_count);
      if (with_op) row["OP TYPE"] = "tt_dnn_device", row["ATTRIBUTES"] = "{}";
      // The key by which readers sort rows.
      if (place.has_host_ns) row["HOST START TS"] = std::to_string(place.host_ns);
    }
    row.below(header_, line.cells);
    line.place = place.row;
    if (place.signpost)
      line.device.reset();
    else
      line.device = d;
    put(line);
  });
}

void CellLines::each_joined(const Put& put) const {
  TensorColumns ignored;
  Row row;
  CellLine line;
  for (const Joined& j : plan_.rows) {
    row.clear();
    std::optional<DeviceRow> device;
    if (j.device != Cells::kNoDevice) device = device_[j.device];
    put_joined(row, j, device, host_, ignored);
    if (several_processes_) row[kProcessColumn] = process_label(host_, j);
    row.below(header_, line.cells);
    line.place = j.device;
    line.device = std::move(device);
    put(line);
  }
}

Cells cells_of(const RowPlan& plan, const DeviceRows& device, const HostLog& host,
               const ResultOptions& options) {
  const CellLines lines(plan, device, host, options);
  Cells cells;
  cells.header = lines.header();
  lines.each([&](CellLine& line) {
    cells.rows.push_back(line.cells);
    cells.device.push_back(line.place);
  });
  return cells;
}

Cells join_results(const DeviceRows& device, const HostLog& host, const ResultOptions& options,
                   JoinSummary& summary) {
  const RowPlan plan = plan_rows(device, host, options.raw_ns);
  summary = plan.summary;
  return cells_of(plan, device, host, options);
}

}  // namespace ttc::report
