// profile_log_device.csv as tt-metal writes it (report sheet 1.1): 15 columns, or the 13 of mid 2025.
#pragma once
#include <array>
#include <string>
#include <unordered_map>

#include "pipeline/format.hpp"

namespace ttc::tools {

class DeviceCsv : public Format {
 public:
  DeviceCsv(Output& out, const markers::ZoneNames& names, const FormatOptions& options);

  void begin(const Session& session) override;
  void frame(const FrameEvents& frame) override;
  void loss(const shm::LossRecord&) override {
  }  // the format has no place for it; ttexport tells it on stderr
  void names_changed() override { tails_.clear(); }
  void end() override {}

 private:
  const std::string& tail(const markers::Marker& marker);

  Output& out_;
  const markers::ZoneNames& names_;
  bool trace_columns_;
  bool begun_ = false;
  std::unordered_map<uint32_t, std::string> tails_;  // id, type, flag -> ",name,type,line,file,"
};

}  // namespace ttc::tools
