// tracy_ops_data.csv and tracy_ops_times.csv, as Tenstorrent's csvexport leaves them (csvexport/src/csvexport.cpp of
// tenstorrent/tracy 68c5cbd6; tt-metal tools/tracy/__init__.py), out of the chunks of the host's side.
//
//   data    MessageName;total_ns, all messages by time; of one time the later one first, as the server inserts them
//   times   name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,special_parent_text: all zones
//           that took time at all, source by source, thread by thread, by their begin, as the server reads them back. A zone without a name, text or
//           parent's text of its own repeats that of the zone before it in its source, as csvexport does.
//
// Messages, zones and texts are sorted in spills: memory does not grow with them.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tools/report/host/host_stream.hpp"
#include "tools/report/text/record_sort.hpp"
#include "tools/report/text/texts.hpp"

namespace ttc::report {

class TracyFiles : private HostListener {
 public:
  using Put = std::function<void(std::string_view)>;
  // `children`: as HostStream's.
  explicit TracyFiles(const std::set<std::string>& children = {}) : stream_(*this, children) {}

  // Reads the facts of a capture alone. Throws InputError.
  void read(const std::string& capture);
  void push(std::span<const uint64_t> chunk) { stream_.push(chunk); }
  void end() { stream_.end(); }

  // Valid after end(). Each of the files is written once.
  bool any() const { return messages_ || zones_; }
  size_t processes() const { return stream_.processes().size(); }
  uint64_t messages() const { return messages_; }
  uint64_t zones() const { return zones_; }
  void write_data(const Put& put);
  void write_times(const Put& put);
  std::vector<std::string> remarks() const;

 private:
  struct Message {
    int64_t ns = 0;
    uint64_t number = 0, text = 0;
  };
  struct MessageOrder {
    bool operator()(const Message& a, const Message& b) const {
      return std::tie(a.ns, b.number) < std::tie(b.ns, a.number);
    }
  };
  static constexpr uint64_t kNone = ~uint64_t{0};
  struct Zone {
    int64_t start_ns = 0, end_ns = 0;
    uint32_t source = 0, thread = 0, thread_order = 0;
    uint64_t number = 0, name = kNone, text = kNone, parent_text = kNone;  // places in texts_
  };
  struct ZoneOrder {
    bool operator()(const Zone& a, const Zone& b) const {
      return std::tie(a.source, a.thread_order, a.number) < std::tie(b.source, b.thread_order, b.number);
    }
  };

  void message(const HostMessage& message) override;
  void zone(const HostZone& zone) override;
  uint64_t keep(const std::optional<std::string>& text);

  HostStream stream_;
  Texts texts_;
  RecordSort<Message, MessageOrder> by_time_;
  RecordSort<Zone, ZoneOrder> by_source_;
  std::vector<const ZoneSource*> sources_;  // by number
  uint64_t messages_ = 0, zones_ = 0;
};

}  // namespace ttc::report
