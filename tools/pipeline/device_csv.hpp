// profile_log_device.csv as tt-metal writes it (report sheet 1.1): 15 columns, or the 13 of mid 2025.
#pragma once
#include <array>
#include <string>
#include <unordered_map>

#include "pipeline/decimal_clock.hpp"
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
  // ",name,type,line,file," as one text, and where the name ends.
  struct Tail {
    std::string text;
    size_t name_end = 0;
  };
  const Tail& tail(const markers::Marker& marker, std::string_view processor, uint32_t processor_key);
  char* put_launch(char* at, uint32_t host_id, uint16_t trace_counter) const;
  char* put_meaning(char* at, const MarkerMeaning& more, const FrameEvents& f, const Tail& rest) const;

  Output& out_;
  const markers::ZoneNames& names_;
  bool trace_columns_;
  bool begun_ = false;
  DecimalClock clock_;
  std::string_view wide_data_;                // what 16-byte data was called at the time
  std::unordered_map<uint32_t, Tail> tails_;  // by id, type, flag, processor
};

}  // namespace ttc::tools
