// Reads the host side that `ttcollect run` recorded from the chunks of a capture into a HostLog: messages and zones are parsed as they come,
// and joined at the end. Memory does not grow with them.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "tools/pipeline/source.hpp"
#include "tools/report/host/host_messages.hpp"
#include "tools/report/host/host_stream.hpp"
#include "tools/report/host/host_zones.hpp"

namespace ttc::report {

class HostLogReader : private HostListener {
 public:
  // `name`: of the capture, for sentences. `children`: HostStream's.
  HostLogReader(const std::string& name, HostLog& log, const std::set<std::string>& children = {},
                const HostNumbers& from = {});
  void push(std::span<const uint64_t> chunk) { stream_.push(chunk); }
  // Must be called after the last chunk: the log is whole.
  void end();
  // Reads the facts of a capture alone; of one of a job's, on the common time. Throws InputError.
  void read(const std::string& capture);
  void read(const tools::RankCapture& capture);

 private:
  void message(const HostMessage& message) override;
  void zone(const HostZone& zone) override;

  void read_all(const std::function<std::unique_ptr<tools::Source>()>& open);

  HostLog& log_;
  const HostNumbers from_;
  HostStream stream_;
  HostMessages messages_;
  HostZones zones_;
};

}  // namespace ttc::report
