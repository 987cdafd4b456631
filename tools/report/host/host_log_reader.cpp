#include "tools/report/host/host_log_reader.hpp"

#include <algorithm>
#include <string_view>

#include "tools/report/input/device_input.hpp"

namespace ttc::report {
namespace {

constexpr std::string_view kMlir = "MLIR_";
constexpr const char* kMessage = "message ";  // used in place of a line of a file

// The field has the form of a line of tracy_ops_data.csv: between back-ticks, or up to the first separator.
std::string_view field_of(std::string_view text) {
  constexpr char kQuote = '`', kSeparator = ';';
  if (!text.starts_with(kQuote)) return text.substr(0, text.find(kSeparator));
  text.remove_prefix(1);
  return text.substr(0, text.find(kQuote));
}

// Blocks with markers are not read.
collect::Wanted facts_alone() {
  collect::Wanted facts;
  facts.read_from_ns = ~uint64_t{0};
  return facts;
}

}  // namespace

HostLogReader::HostLogReader(const std::string& name, HostLog& log, const std::set<std::string>& children,
                             const HostNumbers& from)
    : log_(log),
      from_(from),
      stream_(*this, children),
      messages_(name, kMessage, log),
      zones_(name, "zone ", log) {}

void HostLogReader::message(const HostMessage& message) {
  MessagePlace place;
  place.first = message.ns;
  place.second = ~message.number;  // of one time the later one first, as Tracy's server inserts them
  place.line = message.number + 1;
  place.process = from_.first_process + message.process;
  place.ns = message.ns;
  place.raw_ns = message.raw_ns;
  const std::string_view field = field_of(message.text);
  if (!field.starts_with(kMlir)) return messages_.message(field, place);
  const std::string_view value = message.text.substr(std::min(field.size() + 1, message.text.size()));
  messages_.mlir(field, value, place);
}

void HostLogReader::zone(const HostZone& zone) {
  const uint64_t took = zone.end_ns > zone.start_ns ? static_cast<uint64_t>(zone.end_ns - zone.start_ns) : 0;
  const std::string& name = zone.source->shown();
  const ZonePlace place{from_.first_process + zone.process, zone.source->number, zone.start_ns,
                        zone.number + 1};
  if (zone.source->op &&
      (name.find("TT_DNN") != std::string::npos || name.find("TT_METAL") != std::string::npos))
    zones_.add_op(op_id_in(zone.text.value_or("")), place, zone.start_ns, took);
  if (zone.parent_text && zone.parent_text->find("id:") != std::string::npos)
    zones_.add_inside(op_id_in(*zone.parent_text), place, name, took);
}

void HostLogReader::end() {
  stream_.end();
  const auto& processes = stream_.processes();
  const auto chip_of = [&](uint32_t process, uint32_t device) {
    const auto of = processes.find(process - from_.first_process);
    const bool own = of == processes.end() || device >= of->second.chips.size();
    return from_.first_chip + (own ? device : of->second.chips[device]);
  };
  messages_.resolve(chip_of);
  zones_.join();
  for (const auto& [number, process] : processes)
    log_.processes[from_.first_process + number] = process.label();
  for (std::string& remark : stream_.remarks()) log_.remarks.push_back(std::move(remark));
}

void HostLogReader::read(const std::string& capture) {
  read_all([&] { return tools::open_source({capture}, false, 0, facts_alone()); });
}

void HostLogReader::read(const tools::RankCapture& capture) {
  read_all([&] { return tools::open_rank(capture, facts_alone(), nullptr); });
}

void HostLogReader::read_all(const std::function<std::unique_ptr<tools::Source>()>& open) {
  try {
    const auto source = open();
    for (std::vector<uint64_t> chunk; source->next(chunk) == tools::Source::Next::chunk;) push(chunk);
  } catch (const tools::SourceError& e) {
    throw InputError(e.what());
  }
  end();
}

}  // namespace ttc::report
