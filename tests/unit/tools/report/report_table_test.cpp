// Tables of ops: reading them, joining host and device, and the evaluation of every op.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tools/report/diff/run_diff.hpp"
#include "tools/report/ops/busy_time.hpp"
#include "tools/report/ops/op_report.hpp"
#include "tools/report/ops/run.hpp"
#include "tools/report/page/html_page.hpp"
#include "tools/report/text/csv_file.hpp"
#include "tools/report/text/python_text.hpp"
#include "tools/report/text/spill.hpp"
#include "tools/report/text/text_table.hpp"

namespace ttc::report {
namespace {

using Fields = std::vector<std::string>;

std::vector<Fields> rows_of(const std::string& text, char separator = ',', char quote = '"') {
  std::istringstream in(text);
  CsvFile file(in, separator, quote);
  std::vector<Fields> rows;
  for (Fields fields; file.next(fields);) rows.push_back(fields);
  return rows;
}

TEST(ReportCsv, quotes_commas_and_line_ends) {
  EXPECT_EQ(rows_of("a,b\r\n\"x, y\",\"say \"\"no\"\"\"\r\n\r\n,\n"),
            (std::vector<Fields>{{"a", "b"}, {"x, y", "say \"no\""}, {"", ""}}));
  EXPECT_EQ(rows_of("`one\ntwo`;3\n", ';', '`'), (std::vector<Fields>{{"one\ntwo", "3"}}));
  EXPECT_EQ(rows_of("\xef\xbb\xbfid,n\n1,2"), (std::vector<Fields>{{"id", "n"}, {"1", "2"}}));
  std::istringstream in("\"never closed,\n1,2\n");
  CsvFile file(in);
  Fields fields;
  EXPECT_TRUE(file.next(fields));
  EXPECT_TRUE(file.unclosed());
  EXPECT_EQ(file.line(), 1u);
}

TEST(ReportCsv, what_is_written_reads_back) {
  for (const std::string value : {"", "plain", "a,b", "\"", "two\nlines", "loc(\"x\")"}) {
    std::string row;
    append_csv(row, value);
    row += ",end\n";
    EXPECT_EQ(rows_of(row), (std::vector<Fields>{{value, "end"}})) << value;
  }
}

TEST(ReportPython, spells_as_python_does) {
  using nlohmann::ordered_json;
  EXPECT_EQ(python_repr(ordered_json::parse(R"({"k":"v","n":[1,2.0,1.5e-7],"t":true,"z":null,"q":"it's"})")),
            R"({'k': 'v', 'n': [1, 2.0, 1.5e-07], 't': True, 'z': None, 'q': "it's"})");
  EXPECT_EQ(python_float(30), "30.0");
  EXPECT_EQ(python_float(0.03), "0.03");
  EXPECT_EQ(python_float(1e16), "1e+16");
  EXPECT_EQ(python_rounded(31.1436, 3), "31.144");
}

Cells table(const std::string& text) {
  Cells cells;
  std::vector<Fields> rows = rows_of(text);
  cells.header = rows.front();
  for (size_t i = 1; i < rows.size(); ++i) cells.rows.push_back(rows[i]);
  return cells;
}

constexpr const char* kHead =
    "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,MATH FIDELITY,CORE COUNT,HOST START TS,DEVICE FW "
    "START CYCLE,"
    "DEVICE FW END CYCLE,OP TO OP LATENCY [ns],DEVICE FW DURATION [ns],DEVICE KERNEL DURATION "
    "[ns],INPUT_0_W,INPUT_0_Z,INPUT_0_Y,"
    "INPUT_0_X,INPUT_0_DATATYPE,INPUT_0_MEMORY,INPUT_1_W,INPUT_1_Z,INPUT_1_Y,INPUT_1_X,INPUT_1_DATATYPE,"
    "INPUT_1_MEMORY,OUTPUT_0_W,"
    "OUTPUT_0_Z,OUTPUT_0_Y,OUTPUT_0_X,OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";

std::string matmul(const char* fidelity, const char* ns, const char* gap = "100", const char* start = "10") {
  return std::string("Matmul,tt_dnn_device,1024,0,,") + fidelity + ",64," + start + ",,," + gap + ",," + ns +
         ",1,1,32,2048,BFLOAT16,DEV_0_DRAM_INTERLEAVED,1,1,2048,5120,BFLOAT8_B,DEV_0_DRAM_INTERLEAVED,1,1,32,"
         "5120,BFLOAT16,DEV_0_L1_INTERLEAVED\n";
}

TEST(ReportSpill, what_was_appended_reads_back_from_memory_and_from_the_file) {
  std::mt19937 random(3);
  Spill spill(1000);
  std::vector<std::pair<uint64_t, std::string>> all;
  for (int i = 0; i < 3000; ++i) {
    const std::string text(random() % 400, static_cast<char>('a' + i % 26));
    all.emplace_back(spill.append(text), text);
    const auto& [place, want] = all[random() % all.size()];
    ASSERT_EQ(spill.at(place, want.size()), want) << "after " << i;
  }
  for (const auto& [place, want] : all) ASSERT_EQ(spill.at(place, want.size()), want);
}

TEST(ReportSpill, rows_of_a_table_that_fills_the_file_keep_every_field) {
  std::string text = kHead;
  constexpr size_t kRows = 4000;
  for (size_t i = 0; i < kRows; ++i) {
    std::string row = matmul("HiFi2", std::to_string(1000 + i).c_str());
    row.replace(row.find(",,HiFi2"), 2, "," + std::string(1000 + i % 7, 'x') + ",");
    text += row;
  }
  const Cells cells = table(text);
  const OpTable all = op_table(cells, {});
  ASSERT_EQ(all.rows.size(), kRows);
  for (size_t i = kRows; i-- > 0;) {
    const OpRow row = all.rows[i];
    ASSERT_EQ(row.id, i + 2);
    ASSERT_EQ(row.kernel, static_cast<double>(1000 + i));
    ASSERT_EQ(row.attributes.size(), 1000 + i % 7);
    ASSERT_EQ(row.output0.memory, "DEV_0_L1_INTERLEAVED");
    ASSERT_FALSE(row.slowest_x.has_value());
    ASSERT_EQ(cells.rows[i].size(), cells.header.size());
  }
}

TEST(ReportOpsTable, hifi3_has_a_peak_and_a_bad_cell_costs_that_cell_only) {
  const OpReport report =
      make_report(op_table(table(std::string(kHead) + matmul("HiFi3", "50000") + matmul("HiFi2", "5e1x") +
                                 matmul("HiFi2", "-7") + matmul("Wonder", "50000", "nan")),
                           {}),
                  {});
  ASSERT_EQ(report.rows.size(), 4u);
  const double tflops = 2.0 * 32 * 2048 * 5120 / 50000 / 1000;
  EXPECT_NEAR(*report.rows[0].figures.flops_percent, tflops / (74.0 * 4 / 3 / 72 * 64) * 100, 1e-9);
  EXPECT_NEAR(*report.rows[0].figures.dram_gb_s, (32.0 * 2048 * 2 + 2048.0 * 5120) / 50000, 1e-9);
  EXPECT_EQ(report.rows[0].figures.text, "Matmul 32 x 2048 x 5120");
  EXPECT_EQ(report.rows[0].figures.fidelity, "HiFi3 BF16 x BFP8 => BF16");
  EXPECT_FALSE(report.rows[1].figures.tflops.has_value());
  EXPECT_EQ(report.rows[2].device_us, 0.0);
  EXPECT_FALSE(report.rows[3].figures.flops_percent.has_value());
  EXPECT_FALSE(report.rows[3].gap_us.has_value());
  ASSERT_FALSE(report.remarks.empty());
  EXPECT_NE(report.remarks[0].find("2 cells"), std::string::npos) << report.remarks[0];
  EXPECT_NE(report.remarks[0].find("row 3"), std::string::npos) << report.remarks[0];
}

// Peaks are of the worker cores of an op's own sub-device.
TEST(ReportOpsTable, a_convolution_counts_the_worker_cores_of_its_own_row) {
  const auto row = [](const char* cores) {
    return std::string("OptimizedConvNew,tt_dnn_device,100000,window_hw=(3;3),LoFi,64,") + cores +
           ",1,1,1024,64,1,1,576,128,1,1,1024,128\n";
  };
  const OpReport report = make_report(
      op_table(
          table("OP CODE,OP TYPE,DEVICE KERNEL DURATION [ns],ATTRIBUTES,MATH FIDELITY,CORE COUNT,"
                "AVAILABLE WORKER CORE COUNT,INPUT_0_W,INPUT_0_Z,INPUT_0_Y,INPUT_0_X,INPUT_1_W,INPUT_1_Z,"
                "INPUT_1_Y,INPUT_1_X,OUTPUT_0_W,OUTPUT_0_Z,OUTPUT_0_Y,OUTPUT_0_X\n" +
                row("64") + row("32") + row("")),
          {}),
      {});
  ASSERT_EQ(report.rows.size(), 3u);
  const auto percent = [&](size_t i) { return report.rows[i].figures.flops_percent.value_or(0); };
  EXPECT_GT(percent(0), 0);
  EXPECT_NEAR(percent(1), 2 * percent(0), 1e-9);
  EXPECT_NEAR(percent(2), percent(0), 1e-9);  // the architecture's
}

TEST(ReportOpsTable, every_op_has_a_limit_with_its_rule) {
  const OpReport report = make_report(
      op_table(table(std::string(kHead) + matmul("HiFi2", "38000") + matmul("LoFi", "1")), {}), {});
  EXPECT_EQ(report.rows[0].limit().what, "dram");
  EXPECT_NE(report.rows[0].limit().why.find("%"), std::string::npos);
  for (const ReportRow& r : report.rows) EXPECT_FALSE(r.limit().what.empty() || r.limit().why.empty());
}

std::string op(const char* code, const char* type, int start, const char* gap = "0") {
  return std::string(code) + "," + type + ",1024,0,,,1," + std::to_string(start) + ",,," + gap +
         ",,1000,,,,,,,,,,,,,,,,,,\n";
}

TEST(ReportOpsTable, an_empty_default_window_falls_back_and_says_so) {
  const OpTable t = op_table(table(std::string(kHead) + op("first", "signpost", 1) +
                                   op("A", "tt_dnn_device", 2) + op("last", "signpost", 3)),
                             {});
  const OpReport report = make_report(t, {});
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.rows[0].op.code, "A");
  ASSERT_FALSE(report.remarks.empty());
  EXPECT_NE(report.remarks[0].find("'first'"), std::string::npos) << report.remarks[0];
}

TEST(ReportOpsTable, the_same_signpost_twice_is_a_window_between_both) {
  ReportOptions options;
  options.start_signpost = options.end_signpost = "s";
  const OpReport report = make_report(
      op_table(table(std::string(kHead) + op("X", "tt_dnn_device", 1) + op("s", "signpost", 2) +
                     op("A", "tt_dnn_device", 3) + op("s", "signpost", 4) + op("Y", "tt_dnn_device", 5)),
               {}),
      options);
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.rows[0].op.code, "A");
}

TEST(ReportOpsTable, equal_keys_keep_their_order) {
  std::string text = kHead;
  for (int i = 0; i < 60; ++i) text += op(("op" + std::to_string(i)).c_str(), "tt_dnn_device", 5);
  ReportOptions options;
  options.merge_devices = false;
  const OpReport report = make_report(op_table(table(text), {}), options);
  for (size_t i = 0; i < 60; ++i) EXPECT_EQ(report.rows[i].op.code, "op" + std::to_string(i));
}

TEST(ReportOpsTable, overlapping_ops_count_once) {
  std::vector<OpRow> ops(2);
  ops[0].kernel = 1000;
  ops[0].firmware = 1200;
  ops[0].firmware_start = 0;
  ops[0].firmware_end = 1200;
  ops[1] = ops[0];
  ops[1].firmware_start = 600;
  ops[1].firmware_end = 1800;
  const Busy busy = busy_time({&ops[0], &ops[1]});
  EXPECT_NEAR(busy.sum_us, 2.0, 1e-9);
  EXPECT_NEAR(busy.busy_us, 1.6, 1e-9);  // 200..1200 and 800..1800
  EXPECT_NEAR(busy.span_us, 1.6, 1e-9);
}

TEST(ReportOpsTable, host_bound_is_said_with_its_rule) {
  const OpReport report = make_report(
      op_table(table(std::string(kHead) + op("A", "tt_dnn_device", 1) + op("B", "tt_dnn_device", 2, "99000")),
               {}),
      {});
  EXPECT_EQ(report.totals.verdict, "host-bound");
  EXPECT_NE(report.totals.verdict_rule.find("70 %"), std::string::npos);
}

TEST(ReportDiff, significance_needs_spread_and_samples) {
  std::string slow = kHead, fast = kHead, one = kHead;
  for (const char* ns : {"1000", "1010", "990"}) fast += matmul("HiFi2", ns);
  for (const char* ns : {"2000", "2010", "1990"}) slow += matmul("HiFi2", ns);
  one += matmul("HiFi2", "1500");
  const RunDiff diff = compare(op_table(table(fast), {}), op_table(table(slow), {}));
  ASSERT_EQ(diff.rows.size(), 1u);
  const DiffRow& r = diff.rows[0];
  EXPECT_NEAR(*r.change_percent, 100, 1e-9);
  ASSERT_TRUE(r.change.has_value());
  EXPECT_TRUE(r.change->low > 90 && r.change->low < 100 && r.change->high > 100 && r.change->high < 110);
  EXPECT_TRUE(r.significant());
  EXPECT_GT(diff.total_change.low, 90);
  const RunDiff same = compare(op_table(table(fast), {}), op_table(table(fast), {}));
  EXPECT_FALSE(same.rows[0].significant());
  EXPECT_FALSE(compare(op_table(table(fast), {}), op_table(table(one), {})).rows[0].change.has_value());
}

TEST(ReportDiff, what_the_clock_cannot_tell_apart_is_not_ranked) {
  std::string a = kHead, b = kHead;
  for (const char* ns : {"1000", "1001", "1002"}) a += matmul("HiFi2", ns);
  for (const char* ns : {"1100", "1101", "1102"}) b += matmul("HiFi2", ns);
  DiffOptions options;
  EXPECT_TRUE(compare(op_table(table(a), {}), op_table(table(b), {}), options).rows[0].significant());
  options.bound_us = 0.2;
  const RunDiff hidden = compare(op_table(table(a), {}), op_table(table(b), {}), options);
  EXPECT_TRUE(hidden.rows[0].within_clock);
  EXPECT_FALSE(hidden.rows[0].significant());
}

TEST(ReportDiff, the_waterfall_adds_up_to_the_difference) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::string texts[2] = {kHead, kHead};
    for (std::string& text : texts)
      for (int i = 0; i < 30; ++i)
        text += op(("Op" + std::to_string(random() % 6)).c_str(), "tt_dnn_device", i,
                   std::to_string(random() % 9000).c_str());
    const RunDiff diff = compare(op_table(table(texts[0]), {}), op_table(table(texts[1]), {}));
    double sum = 0;
    for (const WaterfallPart& part : diff.waterfall) sum += part.us;
    EXPECT_NEAR(sum, diff.total_b + diff.gaps_b - diff.total_a - diff.gaps_a, 1e-9);
  }
}

// A median of n drawn samples is at or below the k-th of n values with the probability that at least half of
// n throws hit k of n places.
TEST(ReportDiff, drawn_medians_scatter_as_resampled_ones_do) {
  for (const size_t n : {1u, 2u, 3u, 8u, 51u}) {
    std::mt19937_64 random(n);
    std::vector<double> sorted;
    for (size_t i = 0; i < n; ++i) sorted.push_back(static_cast<double>(i));
    std::vector<double> plain;
    for (size_t draw = 0; draw < Bootstrap::kDraws; ++draw) {
      std::vector<double> sample;
      for (size_t i = 0; i < n; ++i) sample.push_back(sorted[random() % n]);
      plain.push_back(spread(sample).median);
    }
    const std::vector<double> drawn = Bootstrap().medians(sorted);
    const auto share_below = [](const std::vector<double>& all, double limit) {
      return static_cast<double>(
                 std::count_if(all.begin(), all.end(), [&](double v) { return v <= limit; })) /
             static_cast<double>(all.size());
    };
    for (size_t i = 0; i < n; ++i)
      EXPECT_NEAR(share_below(drawn, static_cast<double>(i)), share_below(plain, static_cast<double>(i)),
                  0.06)
          << n << " values, at " << i;
  }
}

TEST(ReportSteps, windows_lie_between_signposts) {
  std::string text = kHead;
  for (int i = 0; i < 5; ++i)
    text += op("step", "signpost", i * 100000 + (i > 0 ? 900000 : 0)) +
            op("A", "tt_dnn_device", i * 100000 + (i > 0 ? 900001 : 1));
  const Steps all = find_steps(op_table(table(text), {}), {});
  ASSERT_EQ(all.steps.size(), 4u);
  EXPECT_FALSE(all.steps[0].counted);  // ten times as long as the others
  EXPECT_NEAR(*all.steps[1].wall_us, 100, 1e-9);
  EXPECT_NEAR(all.steps[1].device_us, 1, 1e-9);
  EXPECT_NEAR(*all.steps[1].overhead_percent(), 99, 1e-9);
  EXPECT_NEAR(*all.steps[1].dispatch_us(), 99, 1e-9);
}

// step_1_start and step_2_start were signposts of two kinds, and only the first of them began a step.
TEST(ReportSteps, signposts_that_differ_in_their_number_are_steps_of_one_kind) {
  std::string text = kHead;
  for (int i = 0; i < 4; ++i) {
    const std::string step = "step_" + std::to_string(3 + i);
    text += op((step + "_start").c_str(), "signpost", i * 1000) + op("A", "tt_dnn_device", i * 1000 + 10) +
            op((step + "_end").c_str(), "signpost", i * 1000 + 500);
  }
  const Steps all = find_steps(op_table(table(text), {}), {});
  ASSERT_EQ(all.steps.size(), 4u);
  EXPECT_EQ(all.steps[0].name, "3");
  EXPECT_EQ(all.steps[3].name, "6");
  EXPECT_NEAR(*all.steps[1].wall_us, 0.5, 1e-9);
  EXPECT_EQ(all.warning, "");
  // A name that is given is that one.
  StepOptions options;
  options.start = "step_4_start";
  options.end = "step_4_end";
  EXPECT_EQ(find_steps(op_table(table(text), {}), options).steps.size(), 1u);
}

TEST(ReportSteps, steps_without_a_hit_are_compiled_every_time) {
  const auto steps = [](std::initializer_list<std::pair<size_t, size_t>> hits_and_misses) {
    std::vector<Step> all;
    for (const auto& [hits, misses] : hits_and_misses) {
      Step step;
      step.cache_hits = hits;
      step.cache_misses = misses;
      all.push_back(step);
    }
    return compiled_in_every_step(all);
  };
  EXPECT_NE(steps({{0, 9}, {0, 9}, {1, 9}}), "");
  EXPECT_EQ(steps({{0, 9}, {0, 9}, {2, 8}}), "");
  EXPECT_EQ(steps({{0, 9}}), "");
  EXPECT_EQ(steps({{0, 9}, {0, 0}}), "");  // the host does not send it
  EXPECT_NE(steps({{9, 0}, {0, 0}, {0, 9}}), "");
}

TEST(ReportText, columns_fit_the_width_and_colours_only_where_asked) {
  TextTable t({{"Name", true, 0, 6}, {"Value"}, {"Less", false, 1}});
  t.row({{"\xc3\xbc"
          "berlang und breit",
          Ink::red},
         {"1,000"},
         {"unwichtig"}});
  for (const size_t width : {16u, 30u, 80u}) {
    std::istringstream lines(t.text(width, false));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(shown_width(line), width) << line;
  }
  EXPECT_EQ(t.text(0, false).find('\033'), std::string::npos);
  EXPECT_NE(t.text(0, true).find('\033'), std::string::npos);
  EXPECT_EQ(thousands(-1234567.5, 1), "-1,234,567.5");
}

TEST(ReportHtml, nothing_in_the_data_ends_the_page) {
  const std::string page = html_page("a </title> <b>", {{"name", "</script><!-- \xff"}});
  EXPECT_EQ(page.find("</script><!--"), std::string::npos);
  EXPECT_EQ(page.find("a </title>"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_EQ(base64("ttr", 3) + base64("tt", 2) + base64("t", 1), "dHRydHQ=dA==");
}

}  // namespace
}  // namespace ttc::report
