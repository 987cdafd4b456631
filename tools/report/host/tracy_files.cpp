#include "tools/report/host/tracy_files.hpp"

#include "tools/report/input/device_input.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::report {

void TracyFiles::read(const std::string& capture) {
  collect::Wanted facts;
  facts.read_from_ns = ~uint64_t{0};
  try {
    collect::CaptureReader reader(capture, facts);
    for (std::vector<uint64_t> chunk; reader.next(chunk);) push(chunk);
  } catch (const collect::CaptureError& e) {
    throw InputError(e.what());
  }
  end();
}

uint64_t TracyFiles::keep(const std::optional<std::string>& text) {
  return text ? texts_.add(*text) : kNone;
}

void TracyFiles::message(const HostMessage& message) {
  by_time_.add({message.ns, message.number, texts_.add(message.text)});
  ++messages_;
}

void TracyFiles::zone(const HostZone& zone) {
  // The server keeps no zone without a duration for its statistics, which the exporter goes through.
  if (zone.end_ns <= zone.start_ns) return;
  const uint32_t source = zone.source->number;
  if (source >= sources_.size()) sources_.resize(source + 1, nullptr);
  sources_[source] = zone.source;
  std::optional<std::string> parent = zone.parent_text;
  if (parent && parent->empty()) parent.reset();
  by_source_.add({zone.start_ns, zone.end_ns, source, zone.thread, zone.thread_order, zone.number,
                  keep(zone.name), keep(zone.text), keep(parent)});
  ++zones_;
}

void TracyFiles::write_data(const Put& put) {
  if (messages_ == 0) return put("There are currently no messages!\n");
  put("MessageName;total_ns\n");
  std::string line;
  by_time_.drain([&](const Message& m) {
    line = texts_.at(m.text);
    put(line.append(1, ';').append(std::to_string(m.ns)).append(1, '\n'));
  });
}

void TracyFiles::write_times(const Put& put) {
  put("name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,special_parent_text\n");
  std::string line, name, text, parent;
  std::optional<uint32_t> source;
  by_source_.drain([&](const Zone& zone) {
    if (source != zone.source) name.clear(), text.clear(), parent.clear();
    source = zone.source;
    if (zone.name != kNone) name = texts_.at(zone.name);
    if (zone.text != kNone) text.assign(1, '"').append(texts_.at(zone.text)).append(1, '"');
    if (zone.parent_text != kNone) parent = texts_.at(zone.parent_text);
    const ZoneSource& s = *sources_[zone.source];
    line = s.shown();
    line.append(1, ',').append(s.file).append(1, ',').append(std::to_string(s.line)).append(1, ',');
    line.append(name).append(1, ',').append(text).append(1, ',');
    line.append(std::to_string(zone.start_ns)).append(1, ',');
    line.append(std::to_string(zone.end_ns - zone.start_ns)).append(1, ',');
    put(line.append(std::to_string(zone.thread)).append(1, ',').append(parent).append(1, '\n'));
  });
}

std::vector<std::string> TracyFiles::remarks() const {
  std::vector<std::string> all = stream_.remarks();
  if (processes() > 1)
    all.push_back(std::to_string(processes()) +
                  " processes had a host side; their messages and zones are in one file, on the first one's "
                  "time line");
  return all;
}

}  // namespace ttc::report
