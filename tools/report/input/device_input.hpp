// The source of device zones: a capture, a live collector, firmware memory, or profile_log_device.csv of any year.
// All of them reach a Listener in the same form, in constant memory.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "firmware_markers/metal_date.hpp"
#include "tools/pipeline/format.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/report/zones/duration_clock.hpp"
#include "tools/report/zones/lane_events.hpp"

namespace ttc::report {

// One sentence: which input, what, what was expected.
struct InputError : tools::SourceError {
  using tools::SourceError::SourceError;
};

// One sentence: a name that the command line gives and the input does not have.
struct UnknownName : InputError {
  using InputError::InputError;
};

// Losses and omissions on the way, which reports state.
struct InputAccount {
  uint64_t markers = 0;
  uint64_t skipped_lines = 0;
  std::vector<std::string> remarks;     // sentences for people
  std::vector<shm::LossRecord> losses;  // `device` is the chip
  uint64_t losses_beside = 0;           // intervals in the tables beside device logs
  // Zone markers without a partner: at either end of a lane's rows, beside a loss, and anywhere else, which
  // is damage.
  uint64_t cut_zones = 0, zones_beside_losses = 0, broken_zones = 0;
  uint64_t missing_words = 0;  // this reader was lapped
  // The bounds of a chip's clock model; only captures and live sources have one.
  struct Clock {
    uint32_t eras = 1;
  };
  std::map<uint32_t, Clock> clocks;  // by chip
  std::map<uint32_t, std::string> layouts;
  // The environment of the run: a name, and its value in the first chip's session.
  std::vector<std::pair<std::string, std::string>> environment;
  bool damaged = false;  // the source is cut or makes no sense in places
};

struct InputOptions {
  std::vector<std::string> from;  // files, live:NAME, directories; as ttexport takes them
  unsigned wait_ms = 0;
  std::optional<double> for_seconds;  // of a live source; none: what it holds now
  std::optional<markers::MetalDate> metal_date;
  bool want_meta = false;                // Listener::meta
  tools::Format* also = nullptr;         // receives the pipeline's events as well, if there is one
  std::function<void(double)> progress;  // share done, 0..1; not called for live sources
  unsigned threads = 1;       // from 2 on: decoding beside the listener, all but one unpack captures
  size_t budget = 64 << 20;   // bytes: a log out of order is sorted when a third of it holds the file
  bool follow_files = false;  // captures that are still written are read to their end
  std::function<void(DurationClock&&)> clock;  // gets the clock models of captures, before the first event
  std::function<void(std::span<const uint64_t>)> chunk;  // gets every chunk of captures and live sources
};

// True when the file begins like a device log, whatever its name.
bool is_device_log(const std::string& path);

// Reads everything; `zones` grows with each new name and may be read from within the listener.
// Throws InputError; a source that is damaged half way is delivered as far as it goes and accounted for.
InputAccount read_device(const InputOptions& options, std::vector<Zone>& zones, Listener& listener);

}  // namespace ttc::report
