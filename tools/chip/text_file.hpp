// A text file whose writing may fail: closing it reports whether it did.
#pragma once
#include <cstdio>
#include <memory>
#include <string>

namespace ttc::chip {

class TextFile {
 public:
  explicit TextFile(std::string path);  // throws std::runtime_error when it cannot be written
  void write(const std::string& text);
  void flush();  // who reads along has it now
  void close();  // throws std::runtime_error when not all of it was written

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace ttc::chip
