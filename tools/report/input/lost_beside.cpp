#include "tools/report/input/lost_beside.hpp"

#include <charconv>
#include <fstream>
#include <optional>

#include "tools/formats/loss_csv.hpp"
#include "tools/report/text/csv_file.hpp"

namespace ttc::report {
namespace {

enum LossColumn : size_t { kChip, kX, kY, kProcessor, kCause, kPrecision, kFrom, kTo, kWords, kLaunches };

template <class T>
bool number_of(const std::string& text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

template <class T>
bool number_or_nothing(const std::string& text, T& out) {
  return text.empty() || number_of(text, out);
}

std::optional<LostInterval> interval_of(const std::vector<std::string>& fields) {
  LostInterval lost;
  uint64_t amount = 0;
  if (fields.size() != kLaunches + 1) return std::nullopt;
  size_t risc = 0;
  while (risc < kRiscs && fields[kProcessor] != kRiscNames[risc]) ++risc;
  if (risc == kRiscs) return std::nullopt;
  lost.lane.risc = static_cast<LogRisc>(risc);
  if (!number_of(fields[kChip], lost.chip) || !number_of(fields[kX], lost.lane.x) ||
      !number_of(fields[kY], lost.lane.y) || !number_of(fields[kFrom], lost.from) ||
      !number_or_nothing(fields[kTo], lost.to) || !number_or_nothing(fields[kWords], amount) ||
      !number_or_nothing(fields[kLaunches], amount))
    return std::nullopt;
  return lost;
}

}  // namespace

std::vector<LostInterval> losses_beside(const std::string& log, InputAccount& account) {
  std::vector<LostInterval> all;
  const std::string path = tools::path_beside(log);
  if (path.empty() || path == log) return all;
  std::ifstream in(path, std::ios::binary);
  if (!in) return all;
  CsvFile file(in);
  std::vector<std::string> fields;
  uint64_t bad = 0, first = 0;
  while (file.next(fields)) {
    if (file.line() <= 2) continue;  // head and names
    if (const auto lost = interval_of(fields))
      all.push_back(*lost);
    else if (bad++ == 0)
      first = file.line();
  }
  if (bad)
    account.remarks.push_back(path + ": " + std::to_string(bad) +
                              " rows of losses cannot be read and count as none, the first is line " +
                              std::to_string(first));
  const bool cut = !file.ended() || file.unclosed();
  if (cut) account.remarks.push_back(path + " ends in the middle of a line; it was cut");
  account.damaged = account.damaged || bad > 0 || cut;
  return all;
}

}  // namespace ttc::report
