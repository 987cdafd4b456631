#include "tools/report/text/csv_file.hpp"

namespace ttc::report {

// Keeps the line end within a quoted field as LF.
bool CsvFile::take_line(std::string& line) {
  if (!std::getline(in_, line)) return false;
  ended_ = !in_.eof();
  ++lines_;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

bool CsvFile::next(std::vector<std::string>& fields) {
  fields.clear();
  unclosed_ = false;
  do {
    if (!take_line(text_)) return false;
  } while (text_.empty());
  if (lines_ == 1 && text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
  line_ = lines_;
  fields.emplace_back();
  bool quoted = false;
  for (size_t i = 0;; ++i) {
    if (i >= text_.size()) {
      if (!quoted) return true;
      if (text_.size() > kLongestRow || !take_line(more_)) {
        unclosed_ = true;
        return true;
      }
      text_ += '\n';
      text_ += more_;
    }
    const char c = text_[i];
    if (quoted) {
      if (c != quote_)
        fields.back() += c;
      else if (i + 1 < text_.size() && text_[i + 1] == quote_)
        fields.back() += text_[++i];
      else
        quoted = false;
    } else if (c == quote_ && fields.back().empty()) {
      quoted = true;
    } else if (c == separator_) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
}

void append_csv(std::string& row, std::string_view value) {
  if (value.find_first_of(",\"\r\n") == std::string_view::npos) {
    row += value;
    return;
  }
  row += '"';
  for (const char c : value) {
    if (c == '"') row += '"';
    row += c;
  }
  row += '"';
}

}  // namespace ttc::report
