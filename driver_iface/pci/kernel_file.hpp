// Small text files of the kernel, and why one could not be read.
#pragma once
#include <optional>
#include <string>

namespace ttc::card {

struct KernelFile {
  std::string text;  // without the newline at the end
  int error = 0;     // errno; 0: read
  bool missing() const;
  explicit operator bool() const { return error == 0; }
};

KernelFile read_kernel_file(const std::string& path);
// Every byte: of a file that is no text, a blank at the end may be part of a number.
KernelFile read_binary_file(const std::string& path);
// The last component of what a symbolic link points to; empty when there is none.
std::string link_target_name(const std::string& path);
std::optional<unsigned> as_number(const std::string& text);  // decimal digits only

}  // namespace ttc::card
