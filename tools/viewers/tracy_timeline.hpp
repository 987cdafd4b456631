// The timeline as it is sent to a Tracy server, over one connection.
//
// Stock servers get a thread a RISC: zones with text and colour, messages, an order of lanes where the
// dialect has one. Tenstorrent's get a device context a core and device zones, as from tt-metal's own
// profiler, which its lanes and heat map are made for; stock ones on request, for their statistics of GPU zones.
// Device zones carry no text. Programs and losses are zones of threads of their own in every dialect, and threads of the
// workload's host side, its frames and its locks are threads in front of the chips.
//
// A server has limits (tracy server/TracyWorker.cpp). This is what happens at each, and a message reports how often:
//
//   32,000 source locations      names beyond it share one, and a zone's text has its own name
//   65,535 threads               lanes beyond it are left out
//   256 or 65,536 contexts       likewise
//   a context must not go        a lane that is read more than 2 s behind the others of its core gets a
//   back by 2 s                  context of its own under the same name
//   zones of a lane in order     launches that come late are shown on the lane beside it, or left out
//   39 hours, no earlier zones   what is outside is left out
#pragma once
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "tools/tracy/client.hpp"
#include "tools/viewers/timeline.hpp"

namespace ttc::tools {

class TracyTimeline : public TimelineWriter, private tracy::Names {
 public:
  // Nothing earlier than `init_begin_ns` can be shown.
  TracyTimeline(const tracy::Dialect& dialect, tracy::BlockSink& sink, uint64_t init_begin_ns,
                bool device_contexts);

  tracy::Client& client() { return client_; }

  void device(const Session& session) override;
  void clock_known(uint32_t chip, bool cycles, const collect::ClockHead& head) override;
  void lane(const TimelineLane& lane) override;
  void frame(const TimelineLane& lane, const TimelineFrame& frame) override;
  void row(const TimelineRow& row) override;
  void span(const TimelineRow& row, const TimelineSpan& span) override;
  void counter(const TimelineCounter& counter) override;
  void value(const TimelineCounter& counter, uint64_t ns, double value) override;
  void note(uint32_t chip, uint64_t ns, const std::string& text) override;
  void host_process(const HostProcess& process) override;
  void host_thread(const HostThread& thread) override;
  void host_plot(const HostPlot& plot) override;
  void host_begin(const HostThread& thread, const HostZoneBegin& zone) override;
  void host_end(const HostThread& thread, uint64_t ns, std::string_view text) override;
  void host_message(const HostThread& thread, uint64_t ns, std::string_view text) override;
  void host_value(const HostPlot& plot, uint64_t ns, double value) override;
  void host_row(const HostRow& row) override;
  void host_span(const HostRow& row, const HostSpan& span) override;
  void end() override;  // closes what a server needs closed

  // Writes a message of the reader, at the latest time so far.
  void message(const std::string& text);

 private:
  struct Row {  // a thread, or a lane of device zones
    uint32_t id = 0;
    bool known = false;  // to the server
    uint32_t depth = 0;
    uint64_t last_ns = 0;
    uint16_t context = 0;
  };
  struct Lane {
    std::string name;
    uint32_t number = 0, chip = 0;
    uint8_t core_x = 0, core_y = 0;
    int32_t rank = 0;
    Row main, aside;
    bool left_out = false;
  };
  struct HostLane {  // a thread of the host side
    uint32_t id = 0;
    bool known = false;      // to the server
    std::vector<bool> open;  // zones, innermost last: whether the server has it
    uint64_t last_ns = 0;
  };
  struct Context {
    uint64_t last_ns = 0;
  };

  bool can_show(uint64_t ns) const { return ns >= init_begin_ns_ && ns - init_begin_ns_ < kLongestNs; }
  void announce(Lane& lane, Row& row, bool aside, uint64_t ns);
  void place_in_context(Lane& lane, Row& row, uint64_t ns);
  void begin(Row& row, uint64_t ns, const ZoneLabel& label, Flaw flaw, std::string_view text);
  void end_zone(Row& row, uint64_t ns, Flaw flaw);
  void event(Row& row, const TimelineFrame& frame, const ZoneStep& step, MarkerExtras& extras);
  std::string_view text_of(const TimelineFrame& frame, const ZoneStep& step, const HostSemantics* semantics);
  uint64_t location_of(const ZoneLabel& label, Flaw flaw, bool& overflown);
  uint64_t location_of(const std::string& label, uint32_t rgb);
  void put_span(uint32_t thread, uint64_t begin_ns, uint64_t end_ns, uint64_t location, std::string_view name,
                std::span<const EventField> fields);
  uint64_t location_of(const HostSource& source);
  uint64_t add_location(tracy::SourceLocation location);
  HostLane* host_lane(const HostThread& thread, uint64_t ns);
  void own_message(uint64_t ns, const std::string& text, uint32_t rgb);
  std::string context_name(const Lane& lane) const;

  std::string text(uint64_t key) override;
  std::string thread(uint32_t id) override;
  tracy::SourceLocation source_location(uint64_t key) override;

  static constexpr uint64_t kLongestNs = tracy::kLongestTimeNs - 1;
  const tracy::Dialect& dialect_;
  const bool contexts_wanted_;
  tracy::Client client_;
  tracy::Stream& stream_;
  uint64_t init_begin_ns_;
  uint64_t latest_ns_;
  std::string title_of(uint32_t chip) const {
    const auto known = chips_.find(chip);
    return known == chips_.end() ? chip_title(chip, {}, 0) : known->second.title();
  }

  std::map<uint32_t, Session> chips_;
  std::vector<Lane> lanes_;                            // by number
  std::unordered_map<uint32_t, std::string> threads_;  // names, by id
  std::map<std::tuple<uint32_t, uint8_t, uint8_t>, uint16_t> core_contexts_;
  std::vector<Context> contexts_;
  std::vector<uint32_t> location_keys_;  // by label and flaw: 1 + index below
  std::vector<tracy::SourceLocation> locations_;
  std::set<uint32_t> span_rows_, host_span_rows_;                        // that were sent to the server
  std::map<std::pair<std::string, uint32_t>, uint64_t> span_locations_;  // by label and colour
  std::vector<std::string> processes_;                                   // names, by number
  std::vector<HostLane> host_lanes_;                                     // by number
  std::vector<uint64_t> host_locations_;                                 // keys, by source; 0: none yet
  std::unordered_map<uint64_t, std::string> plots_;                      // names, by key
  std::string text_;                                                     // of the current span
  std::string
      frame_text_;  // of a zone of the current frame: what all have, of `frame_text_bytes_`, and its own
  size_t frame_text_bytes_ = 0;
  uint64_t left_out_lanes_ = 0, left_out_late_ = 0, left_out_times_ = 0, left_out_spans_ = 0,
           left_out_host_ = 0, overflown_names_ = 0;
};

}  // namespace ttc::tools
