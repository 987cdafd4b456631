// A device log, row by row, to a listener.
#pragma once
#include <istream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/report/input/device_input.hpp"
#include "tools/report/input/old_dispatch.hpp"
#include "tools/report/input/zone_index.hpp"

namespace ttc::report {

class LogFeed {
 public:
  LogFeed(const InputOptions& options, std::vector<Zone>& zones, Listener& listener, InputAccount& account)
      : options_(options), index_(zones), listener_(listener), account_(account) {}

  // `known`: chips whose rows are left out, because another source has them already.
  void read(const std::string& path, const std::set<uint32_t>& known, std::set<uint32_t>& delivered);

 private:
  struct Tail {
    uint32_t zone = 0;
    ZoneClass zone_class = ZoneClass::none;
    bool known = false;
  };
  const Tail& tail_of(const tools::DeviceLogRow& row);
  void meet(uint32_t chip, const tools::DeviceLogHead& head);
  void flush();
  void report_skipped(const tools::DeviceLogReader& reader, const std::string& path);
  std::unique_ptr<std::istream> open(const std::string& path);
  bool ordered(const std::string& path);
  void rows(tools::DeviceLogReader& reader, std::istream& in, const std::set<uint32_t>& known,
            std::set<uint32_t>& delivered);
  uint8_t twin_of(const tools::DeviceLogRow& row, ZoneClass zone_class);
  Event take(const tools::DeviceLogRow& row, bool renamed, OldDispatch& old);

  const InputOptions& options_;
  ZoneIndex index_;
  Listener& listener_;
  InputAccount& account_;
  std::string name_;  // of the log
  double size_ = 1;   // bytes
  std::vector<Tail> tails_;
  Tail odd_;
  std::vector<Event> batch_;
  Launch launch_;
  Lane lane_;
  // A core with two processors of one name: the firmware zone of the first, and whose rows these are.
  struct Twins {
    std::optional<uint16_t> first;
    uint8_t now = 0;
  };
  std::unordered_map<uint64_t, Twins> twins_;  // by lane
};

}  // namespace ttc::report
