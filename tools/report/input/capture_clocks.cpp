#include "tools/report/input/capture_clocks.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "tools/pipeline/pipeline.hpp"
#include "tools/pipeline/source.hpp"

namespace ttc::report {
namespace {

// Words are not read here.
class SessionCount : public tools::Format {
 public:
  void begin(const tools::Session& session) override { ++sessions[session.chip]; }
  void frame(const tools::FrameEvents&) override {}
  void loss(const shm::LossRecord&) override {}
  void names_changed() override {}
  void end() override {}

  std::map<uint32_t, size_t> sessions;  // by chip
};

bool is_file(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(name, ignored);
}

}  // namespace

DurationClock read_capture_clocks(const std::vector<std::string>& from) {
  DurationClock clock;
  const std::vector<std::string> names = tools::named_sources(from);
  if (names.empty() || !std::all_of(names.begin(), names.end(), is_file)) return clock;
  collect::Wanted facts;
  facts.read_from_ns = ~uint64_t{0};
  const auto source = tools::open_source(from, false, 0, facts);
  tools::Pipeline pipeline({}, false);
  SessionCount count;
  for (std::vector<uint64_t> chunk; source->next(chunk) != tools::Source::Next::end;)
    pipeline.push(chunk, count);
  for (const uint32_t chip : pipeline.chips())
    // If a chip has several runs, each has a model, and a launch does not name its run.
    if (const collect::ClockMap* map = pipeline.clock_of(chip);
        map && !map->empty() && count.sessions[chip] == 1)
      clock.add(chip, *map, pipeline.tiles_apart(chip));
  return clock;
}

}  // namespace ttc::report
