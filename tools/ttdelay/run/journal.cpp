#include "tools/ttdelay/run/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"

namespace ttc::delay {
namespace {

using json = nlohmann::ordered_json;
constexpr const char* kOutcomes[] = {"ok", "failed", "hang", "broken off"};

template <class Value, size_t N>
Value named(const std::string& name, const char* const (&names)[N]) {
  for (size_t i = 0; i < N; ++i)
    if (name == names[i]) return static_cast<Value>(i);
  throw JournalError("'" + name + "' is not known");
}

RunRecord run_of(const nlohmann::json& j) {
  constexpr const char* kArms[] = {"plain", "watcher only", "delay"};
  RunRecord r;
  j.at("run").get_to(r.number);
  if (r.number == 0) throw JournalError("a run has the number 0");
  j.at("attempt").get_to(r.attempt);
  r.arm = named<Arm>(j.at("arm"), kArms);
  if (r.arm == Arm::delay) {
    j.at("unit").get_to(r.unit);
    j.at("cycles").get_to(r.cycles);
  }
  r.outcome = named<Outcome>(j.at("outcome"), kOutcomes);
  j.at("exit_code").get_to(r.exit_code);
  j.at("valid").get_to(r.valid);
  r.why = j.value("why", "");
  j.at("seconds").get_to(r.seconds);
  j.at("values").get_to(r.values);
  if (j.contains("output")) r.output = j.at("output").get<std::string>();
  if (j.contains("feedback")) j.at("feedback").get_to(r.feedback);
  if (j.contains("waypoints") && !j.at("waypoints").is_null()) j.at("waypoints").get_to(r.waypoints);
  r.command = j.value("command", "");
  return r;
}

TrialRecord trial_of(const nlohmann::json& j) {
  TrialRecord t;
  const auto& trial = j.at("trial");
  trial.at("device_zones").get_to(t.device_zones);
  trial.at("features").get_to(t.features);
  if (t.features >= feature_sets().size()) throw JournalError("there is no such set of features");
  if (trial.contains("record"))
    t.place = RecordPlace{trial.at("record").at("address").get<uint32_t>(),
                          trial.at("record").at("words").get<bool>()};
  trial.at("cores").get_to(t.cores);
  trial.at("refused").get_to(t.refused);
  t.without_zones = trial.value("without_zones", "");
  return t;
}

std::string whole_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t end = text.rfind('\n');
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text;
}

}  // namespace

const char* to_string(Outcome outcome) {
  return kOutcomes[static_cast<size_t>(outcome)];
}

json to_json(const RunRecord& r) {
  json j{{"run", r.number}, {"attempt", r.attempt}, {"arm", to_string(r.arm)}};
  if (r.arm == Arm::delay) j.update({{"unit", r.unit}, {"cycles", r.cycles}});
  j.update({{"outcome", to_string(r.outcome)},
            {"exit_code", r.exit_code},
            {"valid", r.valid},
            {"why", r.why},
            {"seconds", r.seconds},
            {"values", r.values}});
  if (r.output) j["output"] = *r.output;
  if (r.arm == Arm::delay) j["feedback"] = r.feedback;
  if (r.outcome == Outcome::hang) j["waypoints"] = r.waypoints.empty() ? json(nullptr) : json(r.waypoints);
  j["command"] = r.command;
  return j;
}

json to_json(const TrialRecord& t) {
  json trial{{"device_zones", t.device_zones},
             {"features", t.features},
             {"cores", t.cores},
             {"refused", t.refused},
             {"without_zones", t.without_zones}};
  if (t.place) trial["record"] = {{"address", t.place->address}, {"words", t.place->words}};
  return {{"trial", trial}};
}

JournalContent read_journal(const std::string& path) {
  JournalContent content;
  std::map<unsigned, RunRecord> runs;
  const std::string text = whole_lines(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    ++content.lines;
    try {
      const nlohmann::json line = program::json_value(std::string_view(text).substr(at, end - at));
      if (line.is_object() && line.contains("trial")) {
        content.trial = trial_of(line);
      } else {
        RunRecord record = run_of(line);
        runs[record.number] = std::move(record);
      }
    } catch (const std::exception& e) {
      throw JournalError(path + ":" + std::to_string(content.lines) + ": no line of a journal: " + e.what());
    }
    at = end + 1;
  }
  for (auto& [number, record] : runs) content.runs.push_back(std::move(record));
  return content;
}

Journal::Journal(const std::string& path)
    : path_(path), fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  const auto whole = static_cast<off_t>(fd_ < 0 ? 0 : whole_lines(path).size());
  if (fd_ < 0 || ftruncate(fd_, whole) != 0 || lseek(fd_, 0, SEEK_END) != whole)
    throw JournalError(path + " cannot be written: " + std::strerror(errno));
  const int folder =
      open(std::filesystem::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) fsync(folder), close(folder);
}

Journal::~Journal() {
  close(fd_);
}

void Journal::append(const json& line) {
  const std::string text = program::json_text(line) + "\n";
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(fd_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw JournalError(path_ + " cannot be written: " + std::strerror(errno));
    done += static_cast<size_t>(wrote);
  }
  if (fsync(fd_) != 0) throw JournalError(path_ + " cannot be put on the disk: " + std::strerror(errno));
}

}  // namespace ttc::delay
