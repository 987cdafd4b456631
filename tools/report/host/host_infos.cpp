#include "tools/report/host/host_infos.hpp"

#include <nlohmann/json.hpp>

namespace ttc::report {

uint64_t HostInfos::add(std::string_view text) {
  return texts_.add(text);
}

std::shared_ptr<const HostInfos::Json> HostInfos::at(uint64_t place) {
  Parsed& parsed = parsed_[(place * 0x9e3779b97f4a7c15ull >> 32) % kParsed];
  if (!parsed.json || parsed.place != place) {
    const std::string_view text = texts_.at(place);
    parsed = {place, std::make_shared<Json>(Json::parse(text.begin(), text.end()))};
  }
  return parsed.json;
}

uint64_t HostInfos::add(const MlirNotes& notes) {
  const uint64_t place = texts_.add(notes.location);
  texts_.add(notes.const_eval);
  texts_.add(notes.metadata);
  return place;
}

MlirNotes HostInfos::notes_at(uint64_t place) {
  MlirNotes notes;
  for (std::string* const field : {&notes.location, &notes.const_eval, &notes.metadata}) {
    *field = texts_.at(place);
    place = Texts::behind(place, *field);
  }
  return notes;
}

}  // namespace ttc::report
