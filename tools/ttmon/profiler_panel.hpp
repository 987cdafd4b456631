// The monitor's lines about profilers on a card besides the one that ttcollect reads, sampled from outside.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/other_profilers/watch.hpp"

namespace ttc::tools {

class ProfilerPanel {
 public:
  bool is_of(const std::string& live_name) const { return live_name_ == live_name; }
  // Opens the card for reading and searches it, once. What cannot be opened is a line.
  void open(const std::string& live_name, const std::string& device);
  void close();
  bool is_open() const { return !live_name_.empty(); }
  // Samples the card and makes the lines; rates are those since the sample before.
  void look(uint64_t now_ns);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void add_streaming(double seconds);
  void add_real_time(double seconds);

  std::string live_name_;
  std::unique_ptr<other_profilers::ProfilerWatch> watch_;
  std::vector<std::string> lines_;
  std::vector<other_profilers::OpRecord> records_;  // since the look before
  uint64_t looked_ns_ = 0, stalls_ = 0;
};

}  // namespace ttc::tools
