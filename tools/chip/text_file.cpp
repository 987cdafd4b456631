#include "tools/chip/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace ttc::chip {

TextFile::TextFile(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "we")) {
  if (!file_) throw std::runtime_error(path_ + " cannot be written: " + std::strerror(errno));
}

void TextFile::write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file_.get());
}

void TextFile::flush() {
  std::fflush(file_.get());  // a failure shows when it is closed
}

void TextFile::close() {
  if (!file_) return;
  const bool lacks = std::ferror(file_.get()) != 0;
  if (std::fclose(file_.release()) != 0 || lacks)
    throw std::runtime_error(path_ + " was not written whole: " + std::strerror(errno));
}

}  // namespace ttc::chip
