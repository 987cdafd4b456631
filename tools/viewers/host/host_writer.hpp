// The workload's host side as formats receive it: processes, their threads with zones, messages and plots, and rows of
// spans: frames and locks of a process, and what a thread waited for.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tools/viewers/host/event_field.hpp"

namespace ttc::tools {

struct HostProcess {
  uint32_t number = 0;  // from 0, without gaps
  uint64_t pid = 0;     // as the process had it; two of other name spaces may have one
  std::string name;
};
struct HostThread {
  uint32_t number = 0;  // from 0, without gaps, over all processes
  uint32_t process = 0, tid = 0;
  std::string name;
};
struct HostPlot {
  uint32_t number = 0;  // from 0, without gaps, over all processes
  uint32_t process = 0;
  std::string name;
};
// A zone's place in the source.
struct HostSource {
  uint32_t number = 0;  // from 0, without gaps, over all processes
  std::string name, function, file;
  uint32_t line = 0;
};
// A program of a chip that a zone launches.
struct HostOp {
  uint32_t chip = 0, host_id = 0;
};
struct HostZoneBegin {
  uint64_t ns = 0;
  const HostSource& source;
  std::string_view name;  // its own, instead of the source's; or empty
  std::string_view text;
  uint64_t flow = 0;  // to the launches of the op that the zone is; 0: none
  HostOp op = {};     // of the flow
  std::string_view shown_name() const { return name.empty() ? std::string_view(source.name) : name; }
};

// A row of spans that are no zones of a thread. The spans of a row do not overlap and come in order of time.
enum class HostRowKind : uint8_t { frames, lock, waits };
struct HostRow {
  uint32_t number = 0;  // from 0, without gaps, over all processes
  uint32_t process = 0;
  HostRowKind kind = HostRowKind::frames;
  std::string name;
  const HostThread* thread = nullptr;  // of waits; the row is beside it
  uint32_t rank = 0;                   // among rows of one name
};
struct HostSpan {
  uint64_t begin_ns = 0, end_ns = 0;
  const char* label = "";  // few different ones; statistics go by it
  std::string name;
  std::vector<EventField> fields;
};
uint32_t colour_of(HostRowKind kind);

class HostWriter {
 public:
  virtual ~HostWriter() = default;
  // Each once, before the first that refers to it.
  virtual void host_process(const HostProcess&) {}
  virtual void host_thread(const HostThread&) {}
  virtual void host_plot(const HostPlot&) {}
  virtual void host_row(const HostRow&) {}

  virtual void host_begin(const HostThread&, const HostZoneBegin&) {}
  // `text`: what came about the zone after its begin was handed over.
  virtual void host_end(const HostThread&, uint64_t /*ns*/, std::string_view /*text*/) {}
  virtual void host_message(const HostThread&, uint64_t /*ns*/, std::string_view /*text*/) {}
  virtual void host_value(const HostPlot&, uint64_t /*ns*/, double /*value*/) {}
  virtual void host_span(const HostRow&, const HostSpan&) {}
};

// The name of a message's event in viewers: its first line, at most 120 bytes, without back-ticks around it and the arrow
// in front of an op's JSON.
std::string_view title_of(std::string_view message);

// Numbers under which viewers that go by them show processes: their own, or one beyond all real ones where it is
// taken, or is one of the lowest `reserved`.
class HostPids {
 public:
  explicit HostPids(uint64_t reserved) : reserved_(reserved) {}
  uint64_t of(const HostProcess& process);

 private:
  static constexpr uint64_t kBeyond = 1 << 22;  // the kernel's greatest
  uint64_t reserved_;
  std::unordered_set<uint64_t> taken_;
  uint64_t next_ = kBeyond + 1;
};

}  // namespace ttc::tools
