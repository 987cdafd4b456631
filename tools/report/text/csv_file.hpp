// Comma-separated text with quotes, as Python's csv module writes it: row by row, with line numbers, in
// constant memory. Fields may hold commas, doubled quotes and line ends; lines end with LF or CRLF.
#pragma once
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace ttc::report {

class CsvFile {
 public:
  static constexpr size_t kLongestRow = 8 << 20;  // bytes; a quote that is never closed ends there

  explicit CsvFile(std::istream& in, char separator = ',', char quote = '"')
      : in_(in), separator_(separator), quote_(quote) {}

  // False at the end of the file. Empty lines are passed over.
  bool next(std::vector<std::string>& fields);
  uint64_t line() const { return line_; }      // where the row began, from 1
  bool unclosed() const { return unclosed_; }  // the last row ended in the middle of a quoted field
  bool ended() const { return ended_; }        // the last row had a line end

 private:
  bool take_line(std::string& line);

  std::istream& in_;
  char separator_, quote_;
  std::string text_, more_;
  uint64_t line_ = 0, lines_ = 0;
  bool unclosed_ = false, ended_ = true;
};

// Appends `value` to a row, quoted when it has to be.
void append_csv(std::string& row, std::string_view value);

}  // namespace ttc::report
