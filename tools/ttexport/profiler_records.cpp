#include "tools/ttexport/profiler_records.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/pipeline/source.hpp"

namespace ttc::tools {

std::vector<ProfilerRecord> read_profiler_records(const std::string& path) {
  using Json = nlohmann::json;
  const auto refuse = [&](const std::string& why) -> SourceError {
    return SourceError(path + " " + why + "; make it with ttmon profilers --trace");
  };
  std::ifstream in(path);
  if (!in) throw refuse(std::string("cannot be read: ") + std::strerror(errno));
  const Json trace = Json::parse(in, nullptr, false);
  const auto about = trace.is_object() ? trace.find("otherData") : trace.end();
  const auto events = trace.is_object() ? trace.find("traceEvents") : trace.end();
  if (trace.is_discarded() || about == trace.end() || events == trace.end() || !events->is_array())
    throw refuse("is no trace of profilers");
  try {
    const auto device = about->at("device").get<std::string>();
    std::vector<ProfilerRecord> records;
    for (const Json& event : *events) {
      if (event.at("ph") != "X") continue;
      const Json& args = event.at("args");
      records.push_back(
          {device, args.at("record"), args.at("program"), args.at("start_cycles"), args.at("end_cycles")});
    }
    return records;
  } catch (const Json::exception& e) {
    throw refuse(std::string("lacks something of a trace of profilers (") + e.what() + ")");
  }
}

}  // namespace ttc::tools
