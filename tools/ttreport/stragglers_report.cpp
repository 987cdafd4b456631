// ttreport stragglers: captures of several ranks against each other.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "collector/program/json_text.hpp"
#include "collector/program/output_guard.hpp"
#include "collector/program/printable.hpp"
#include "tools/fleet/judge/straggler_report.hpp"
#include "tools/fleet/rows/capture_rows.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/report/draw/picture.hpp"
#include "tools/report/text/csv_file.hpp"
#include "tools/ttreport/report.hpp"

namespace ttc::tools {
namespace {

using fleet::JobReport;
using report::Picture;
using report::Rgb;

constexpr size_t kShownCards = 16, kShownOps = 6;    // as text
constexpr size_t kDrawnCards = 512, kDrawnOps = 40;  // as a picture
constexpr double kCellWidth = 26, kCellHeight = 14, kLeft = 230, kAbove = 190, kBelow = 50;
constexpr double kMostPercent = 20;  // the ends of the scale
constexpr Rgb kInk{0, 0, 0}, kDim{0.35, 0.35, 0.35}, kWaits{0.85, 0.85, 0.85};

// White where a card is like the others, red where it takes longer, blue where it takes less.
Rgb colour_of(double percent) {
  const double share = std::clamp(percent / kMostPercent, -1.0, 1.0);
  return share > 0 ? Rgb{1, 1 - 0.85 * share, 1 - 0.9 * share} : Rgb{1 + 0.9 * share, 1 + 0.6 * share, 1};
}

void draw_legend(Picture& picture, double at) {
  constexpr int kSteps = 60;
  constexpr double kWidth = 240;
  for (int i = 0; i < kSteps; ++i)
    picture.box(kLeft + kWidth * i / kSteps, at, kWidth / kSteps + 0.5, 8,
                colour_of(kMostPercent * (2.0 * i / (kSteps - 1) - 1)));
  picture.text(kLeft, at + 20, "20 % less than the median card", 9, kDim);
  picture.text(kLeft + kWidth, at + 20, "20 % longer", 9, kDim);
  picture.box(kLeft + kWidth + 90, at, 10, 10, kWaits);
  picture.text(kLeft + kWidth + 104, at + 9, "cards wait for each other", 9, kDim);
}

// A row a card in the order of ranks, a column an op.
void draw_lateness(const JobReport& job, const std::string& path) {
  const auto ops = job.stragglers().longest_ops(kDrawnOps);
  const auto& cards = job.stragglers().all_cards();
  std::vector<size_t> order(std::min(cards.size(), kDrawnCards));
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto rank = [&](size_t i) {
      return std::pair(job.ingest().ranks()[cards[i].rank].who.rank, cards[i].chip);
    };
    return rank(a) < rank(b);
  });
  const double height = kAbove + kCellHeight * static_cast<double>(order.size()) + kBelow;
  Picture picture(path, std::max(640.0, kLeft + kCellWidth * static_cast<double>(ops.size()) + 30), height);
  picture.text(12, 22, "How much longer each card takes in each op", 13, kInk, Picture::Align::left, true);
  picture.text(12, 38, "against the median over the cards of the job; ops by time, the longest first", 9,
               kDim);
  for (size_t o = 0; o < ops.size();
       ++o) {  // names are listed one below the other, each with a line to its column
    const double x = kLeft + kCellWidth * (static_cast<double>(o) + 0.5),
                 y = 54 + static_cast<double>(o % 10) * 13;
    picture.box(x, y, 0.5, kAbove - y - 2, kDim);
    picture.text(x + 3, y + 8, program::printable(job.op_name(ops[o].op)).substr(0, 40), 8, kInk);
  }
  for (size_t row = 0; row < order.size(); ++row) {
    const double y = kAbove + kCellHeight * static_cast<double>(row);
    picture.text(kLeft - 6, y + 10, job.name_of(cards[order[row]]), 8, kInk, Picture::Align::right);
    for (size_t o = 0; o < ops.size(); ++o) {
      const double mean = ops[o].executions ? ops[o].ns / static_cast<double>(ops[o].executions) : 0;
      const double late = order[row] < ops[o].late_ns.size() ? ops[o].late_ns[order[row]] : 0;
      picture.box(kLeft + kCellWidth * static_cast<double>(o), y, kCellWidth - 1, kCellHeight - 1,
                  ops[o].collective ? kWaits : colour_of(mean > 0 ? 100 * late / mean : 0));
    }
  }
  draw_legend(picture, height - kBelow + 14);
  picture.finish();
}

class StragglersReport : public Report {
 public:
  void options(CLI::App& command) override {
    command
        .add_option("--from,input", from_,
                    "directory of captures <host>_rank_<N>.ttc, as ttfleet dump leaves it, or captures of "
                    "two ranks or more")
        ->required();
    command.add_option("-o,--output", output_,
                       "also a picture: how late each card is in each op, FILE.png or FILE.svg");
    command.add_option(
        "--csv", csv_,
        "how late each card came in the mean of its steps, as CSV there; - is standard output");
    command.add_flag("--json", as_json_, "as JSON");
    command.footer(
        "Cards of a job run the same ops. What a card takes longer than the median card makes it late; in a "
        "collective the others wait\n"
        "for it. The card that became latest within a step (a replay, a step that the workload marks, or 16 "
        "ops) held the step up.\n"
        "Times have the bounds of the cards' clocks, and of the hosts' where ranks are of several: = marks "
        "what may be as late as the row above.\n"
        "docs/fleet.md has the rules and how often they are wrong.");
  }

  int run() override {
    const std::vector<std::string> sources = named_sources(from_);
    for (const std::string& output : {output_, csv_}) program::refuse_output_over_input(output, sources);
    JobReport job({});
    std::vector<std::string> remarks;
    fleet::read_captures(
        sources, [&](const std::string& subject, const std::string& data) { job.message(subject, data); },
        remarks);
    job.end();
    for (const std::string& remark : remarks) say(ReportExit::kOk, remark);
    if (job.stragglers().cards() < 2)
      return say(ReportExit::kUsage,
                 "only one card's ops are in " + from_.front() + "; stragglers are found among several");
    if (!output_.empty()) draw_lateness(job, output_);
    const JobReport::Json facts = job.facts();
    if (!csv_.empty()) write_csv(facts);
    if (csv_ == "-") return ReportExit::kOk;
    if (as_json_)
      std::printf("%s\n", program::json_text(facts).c_str());
    else
      std::printf("%s\n%s", fleet::text_of_stragglers(facts).c_str(),
                  fleet::text_of_lateness(job, kShownCards, kShownOps).c_str());
    return ReportExit::kOk;
  }

 private:
  void write_csv(const JobReport::Json& facts) const {
    Output out(csv_, false);
    out.append("rank,chip,steps,mean_late_ns,mean_late_bound_ns,shares_rank\r\n");
    for (const auto& card : facts["cards_by_lateness"]) {
      std::string line;
      report::append_csv(line, card["rank"].get<std::string>());
      for (const char* figure : {"chip", "steps", "mean_late_ns", "mean_late_bound_ns"})
        line += "," + (card[figure].is_null() ? std::string() : card[figure].dump());
      out.append(line + (card["shares_rank"].get<bool>() ? ",1\r\n" : ",0\r\n"));
    }
    out.commit();
  }

  std::vector<std::string> from_;
  std::string output_, csv_;
  bool as_json_ = false;
};

}  // namespace

std::unique_ptr<Report> make_stragglers_report() {
  return std::make_unique<StragglersReport>();
}

}  // namespace ttc::tools
