// profile_log_device.csv as tt-metal writes and wrote it (tt-metal impl/profiler/profiler.cpp): 15 columns,
// or those of an earlier era for readers of that era. device_log_reader.hpp reads all of them back.
//
// Several devices share the table; column 1 distinguishes them. The head has room for one architecture and one
// clock, those of the first device, as in tt-metal's own file.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/formats/decimal_clock.hpp"
#include "tools/formats/loss_csv.hpp"
#include "tools/pipeline/format.hpp"

namespace ttc::tools {

class DeviceCsv : public Format {
 public:
  DeviceCsv(Output& out, const FormatOptions& options);

  Order order() const override { return order_; }
  bool lanes_are_apart() const override { return !host_times_; }  // host times wait for clock models
  void begin(const Session& session) override;
  void frame(const FrameEvents& frame) override;
  void loss(const shm::LossRecord&) override {}  // no place for it but beside
  std::string losses_beside(std::span<const shm::LossRecord> losses) const override {
    return losses_.text(losses);
  }
  void names_changed() override {
    tails_.clear();
    current_ = nullptr;
  }
  void end() override {}
  std::vector<std::string> remarks() const override { return remarks_; }

  // The differences of one era's table.
  struct Era {
    unsigned columns;
    std::string_view further_columns;  // behind time
    bool core_count;                   // in the preamble
    bool wide_ids;                     // packet type on top of the 16-bit id
    bool trace_columns;                // trace id, trace id counter
    bool phases;                       // begin, end, sum
    bool meta;                         // meta data
    Order order;                       // that its writer printed a launch in
  };

 private:
  // ",name,type,line,file," as one text, and where the name ends.
  struct Tail {
    std::string text;
    size_t name_end = 0;
  };
  struct Tails {
    std::unordered_map<uint32_t, Tail> all;  // by id, type, flag, processor
    // Those that were used last, by a part of a hash: in the first cache, where what finds them in `all` is not.
    struct Recent {
      uint32_t key = 0;
      const Tail* tail = nullptr;
    };
    static constexpr unsigned kRecentBits = 10;
    std::array<Recent, 1 << kRecentBits> recent{};
  };

  Tail make_tail(const markers::ZoneSource* source, const markers::Marker& marker) const;
  const Tail& tail(Tails& tails, const markers::Marker& marker, const markers::ZoneNames& names,
                   std::string_view processor, uint32_t processor_key) const;
  std::string_view type_word(markers::MarkerType type) const;
  void frame_of_2023(const FrameEvents& frame, std::string_view place);
  Tails& tails_of(const markers::ZoneNames& names);
  char* put_launch(char* at, uint32_t host_id, const FrameEvents& f) const;
  char* put_host_time(char* at, const FrameEvents& f, uint32_t marker) const;
  char* put_semantics(char* at, const HostSemantics& more, const FrameEvents& f, const Tail& rest) const;

  Output& out_;
  const Era& era_;
  Order order_;
  bool host_times_;
  DecimalClock clock_;
  std::string_view wide_data_;   // what 16-byte data was called at the time
  std::optional<Session> head_;  // the device in the head line
  LossCsv losses_;
  std::vector<std::string> remarks_;
  std::map<const markers::ZoneNames*, Tails> tails_;
  const markers::ZoneNames* current_ = nullptr;  // whose tails were used last
  Tails* current_tails_ = nullptr;
};

}  // namespace ttc::tools
