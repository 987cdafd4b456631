// The rows of a report as lines of a CSV file.
#include "tools/report/ops/op_report.hpp"
#include "tools/report/text/python_text.hpp"

namespace ttc::report {
namespace {

std::string cell_text(const Number& n) {
  if (!n) return "";
  const std::string text = python_float(*n);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

}  // namespace

std::vector<std::string> report_header(const ReportColumns& columns) {
  std::vector<std::string> header = {"ID",
                                     "Total %",
                                     "Bound",
                                     "OP Code",
                                     "Device",
                                     "Device Time",
                                     "Op-to-Op Gap",
                                     "Cores",
                                     "DRAM",
                                     "DRAM %",
                                     "FLOPs",
                                     "FLOPs %",
                                     "Math Fidelity",
                                     "Output Datatype",
                                     "Input 0 Datatype",
                                     "Input 1 Datatype",
                                     "DRAM Sharded",
                                     "Input 0 Memory",
                                     "Inner Dim Block Size",
                                     "Output Subblock H",
                                     "Output Subblock W",
                                     "Global Call Count"};
  if (columns.advice) header.emplace_back("Advice");
  if (columns.raw_codes) header.emplace_back("Raw OP Code");
  if (columns.extended)
    header.insert(
        header.end(),
        {"Limit", "Limit Rule", "Waits For", "RISC Shares", "Slowest Core", "Imbalance [%]", "Not Kernel [%]",
         "First To Last Start [us]", "Dispatch [us]", "Host Process", "Device Time Bound [us]",
         "Op-to-Op Gap Bound [us]", "Measured Device Time [us]", "Measured Gap [us]", "Not Kernel Bound [%]",
         "First To Last Start Bound [us]", "Dispatch Bound [us]"});
  return header;
}

std::vector<std::string> report_line(const ReportRow& r, const ReportColumns& columns) {
  const Figures& f = r.figures;
  std::vector<std::string> line{std::to_string(r.op.id),
                                cell_text(r.total_percent),
                                r.bound,
                                f.text,
                                r.op.device ? std::to_string(*r.op.device) : "",
                                cell_text(r.device_us),
                                cell_text(r.gap_us),
                                cell_text(f.cores),
                                cell_text(f.dram_gb_s),
                                cell_text(f.dram_percent),
                                cell_text(f.tflops),
                                cell_text(f.flops_percent),
                                f.fidelity,
                                r.op.output0.datatype,
                                r.op.input0.datatype,
                                r.op.input1.datatype,
                                f.dram_sharded ? "True" : "False",
                                r.op.input0.memory,
                                cell_text(f.block_w),
                                cell_text(f.subblock_h),
                                cell_text(f.subblock_w),
                                r.op.call_count ? std::to_string(*r.op.call_count) : ""};
  if (columns.advice) {
    std::string all;
    for (const std::string& a : r.advice) all += (all.empty() ? "" : " \u2022 ") + a;
    line.push_back(all);
  }
  if (columns.raw_codes) line.push_back(r.op.code);
  if (columns.extended) {
    const Bound limit = r.limit();
    const Bottleneck waits = r.waits();
    line.insert(line.end(), {limit.what, limit.why, waits.who, waits.why});
    line.push_back(r.op.slowest_x
                       ? std::to_string(*r.op.slowest_x) + "," + std::to_string(r.op.slowest_y.value_or(0))
                       : "");
    line.push_back(cell_text(r.imbalance_percent));
    line.push_back(cell_text(r.dispatch_percent));
    line.push_back(r.op.first_to_last ? cell_text(*r.op.first_to_last / 1000) : "");
    line.push_back(r.op.dispatch ? cell_text(*r.op.dispatch / 1000) : "");
    line.push_back(r.op.process);
    const auto in_us = [](const Number& ns) { return cell_text(ns ? Number(*ns / 1000) : Number()); };
    line.push_back(cell_text(r.device_bound_us));
    line.push_back(cell_text(r.gap_bound_us));
    line.push_back(in_us(r.op.kernel_measured));
    line.push_back(in_us(r.op.gap_measured));
    line.push_back(cell_text(r.dispatch_percent_bound));
    line.push_back(cell_text(r.first_to_last_bound_us));
    line.push_back(cell_text(r.dispatch_bound_us));
  }
  return line;
}

}  // namespace ttc::report
