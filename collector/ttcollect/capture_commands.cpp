#include "collector/ttcollect/capture_commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "collector/capture/capture_file.hpp"
#include "collector/program/json_text.hpp"
#include "collector/program/output_guard.hpp"
#include "collector/program/printable.hpp"
#include "collector/record/capture_copy.hpp"
#include "collector/record/play.hpp"
#include "collector/record/snapshot.hpp"
#include "collector/ttcollect/info_page.hpp"
#include "collector/ttcollect/program.hpp"
#include "shm/reader.hpp"
#include "ttcollect/capture_reader.hpp"
#include "ttcollect/late_reader.hpp"
#include "ttcollect/redact.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::collect {
namespace {

using json = nlohmann::ordered_json;

std::string without_live(const std::string& name) {
  return name.starts_with("live:") ? name.substr(5) : name;
}

volatile std::sig_atomic_t stop_asked = 0;

// What `info` prints, from block headers and facts alone.
struct Contents {
  json sessions = json::array();
  uint64_t raw_bytes = 0, chunks = 0, markers = 0;
  uint64_t read_from = ~uint64_t{0}, read_to = 0, cycles_from = ~uint64_t{0}, cycles_to = 0;
  uint64_t dropped_blocks = 0;
  size_t losses = 0;
  std::set<std::string> personal;
};

void add_fact(const std::vector<uint64_t>& chunk, Contents& c,
              std::set<std::pair<uint64_t, uint64_t>>& lost) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  const auto body = shm::body_of(chunk);
  list_personal(chunk, c.personal);
  if (h.kind == shm::ChunkKind::loss) {
    uint64_t id;
    std::memcpy(&id, body.data(), sizeof id);
    lost.insert({h.session, id});
  }
  if (h.kind != shm::ChunkKind::session) return;
  const auto j = program::json_value({body.data(), body.size()});
  if (!j.is_object()) return;
  json s = j;
  s["session"] = h.session;
  if (j.contains("cores") && j["cores"].is_array()) s["cores"] = j["cores"].size();
  c.sessions.push_back(std::move(s));
}

// A file of version 1 has to be read completely.
Contents contents_of(CaptureReader& reader) {
  Contents c;
  std::set<std::pair<uint64_t, uint64_t>> lost;
  uint64_t last_number = 0;
  for (const IndexEntry& e : reader.file().blocks()) {
    const BlockHeader& h = e.header;
    c.raw_bytes += h.raw_bytes;
    c.chunks += h.chunks;
    c.markers += h.markers;
    if (h.read_to_ns)
      c.read_from = std::min(c.read_from, h.read_from_ns), c.read_to = std::max(c.read_to, h.read_to_ns);
    if (h.cycles_from <= h.cycles_to)
      c.cycles_from = std::min(c.cycles_from, h.cycles_from),
      c.cycles_to = std::max(c.cycles_to, h.cycles_to);
    if (h.number >> 62) continue;  // made at the file's beginning or end
    if (h.number > last_number + 1) c.dropped_blocks += h.number - last_number - 1;
    last_number = h.number;
  }
  for (std::vector<uint64_t> chunk; reader.next(chunk);) {
    add_fact(chunk, c, lost);
    if (reader.file().version() != 1) continue;
    const shm::ChunkHeader& h = shm::header_of(chunk);
    ++c.chunks;
    c.raw_bytes += chunk.size() * 8;
    if (h.kind == shm::ChunkKind::device_words)
      c.read_from = std::min(c.read_from, h.read_time_ns), c.read_to = std::max(c.read_to, h.read_time_ns);
  }
  c.losses = lost.size();
  return c;
}

std::string when(uint64_t realtime_ns) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  char text[40];
  std::tm utc{};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
  return text;
}

json to_json(const CaptureReader& reader, const Contents& c) {
  const CaptureFile& f = reader.file();
  json j{{"file", f.path()}, {"version", f.version()}, {"bytes", f.bytes()}};
  if (f.version() != 1) {
    j["created"] = f.header().created_realtime_ns ? json(when(f.header().created_realtime_ns)) : json();
    j["part"] = f.header().part;
    j["ended_in_order"] = f.indexed();
    j["blocks"] = f.blocks().size();
    j["dropped_blocks"] = c.dropped_blocks;
    j["markers"] = c.markers;
    j["bytes_per_marker"] =
        c.markers ? json(static_cast<double>(f.bytes()) / static_cast<double>(c.markers)) : json();
  }
  j["chunks"] = c.chunks;
  j["chunk_bytes"] = c.raw_bytes;
  j["seconds"] = c.read_from <= c.read_to ? static_cast<double>(c.read_to - c.read_from) / 1e9 : 0.0;
  if (c.cycles_from <= c.cycles_to) j["cycles"] = {c.cycles_from, c.cycles_to};
  j["loss_intervals"] = c.losses;
  j["personal"] = c.personal;
  j["sessions"] = c.sessions;
  j["cut"] = reader.cut();
  j["damaged_parts"] = reader.damaged_parts();
  if (!reader.damage().empty()) j["damage"] = reader.damage();
  return j;
}

std::string describe(const shm::LossRecord& r) {
  std::string text = std::to_string(r.core_x) + "-" + std::to_string(r.core_y) + " RISC " +
                     std::to_string(r.risc) + ": " + to_string(r.cause) + ", " + to_string(r.precision);
  if (r.precision == shm::LossPrecision::exact_words) text += " " + std::to_string(r.words) + " words";
  return text + ", after " + std::to_string(r.from_cycles) + " cycles";
}

constexpr size_t kShownLosses = 5;

std::string rest_in_words(const CaptureCopy& copy, size_t missing, size_t complaints) {
  if (missing || copy.chunks() == 0) return {};
  if (complaints) return "; of no lane that is in it anything is missing";
  if (copy.losses().without_end())
    return "; nothing is missing until its end, which is not that of its run (a snapshot, a file of a row, a "
           "disk "
           "that was full)";
  return "; nothing is missing";
}

int report_recovered(const CaptureCopy& copy, const std::string& from, const std::string& to,
                     const std::vector<std::string>& complaints) {
  for (const std::string& c : complaints) say(Exit::kOk, c);
  size_t missing = 0;
  for (const auto& [session, records] : copy.losses().found())
    for (const auto& [id, r] : records)
      if (missing++ < kShownLosses) say(Exit::kOk, "missing: " + describe(r));
  if (missing > kShownLosses)
    say(Exit::kOk, "and " + std::to_string(missing - kShownLosses) + " more; ttreport loss --from " + to +
                       " lists them");
  const int code = missing || !complaints.empty() ? Exit::kDamaged : Exit::kOk;
  return say(code, from + ": " + std::to_string(copy.chunks()) + " chunks with " +
                       std::to_string(copy.markers()) + " markers are in " + to +
                       rest_in_words(copy, missing, complaints.size()));
}

int recover_segment(const std::string& name, const std::string& to, bool redact) {
  shm::Reader reader(name, shm::StartAt::oldest);
  if (reader.writer_alive())
    return say(Exit::kUsage, "live:" + name + " is being collected (pid " +
                                 std::to_string(reader.info().writer_pid) + "); ttcollect snapshot " + name +
                                 " takes what it has");
  CaptureCopy copy(to, reader.info().session, shm::LossCause::not_read);
  if (redact) copy.redact();
  std::vector<std::string> complaints;
  std::vector<uint64_t> chunk;
  for (;;) {
    const shm::Reader::Next next = reader.next(chunk, 0);
    if (reader.overwritten().chunks) copy.lost_beginning(shm::LossCause::reader_lapped);
    if (next == shm::Reader::Next::chunk)
      copy.add(chunk);
    else if (next != shm::Reader::Next::lapped)
      break;
  }
  if (std::string late = late_reader(reader); !late.empty()) complaints.push_back(std::move(late));
  if (!reader.damage().empty()) complaints.push_back("live:" + name + " is damaged: " + reader.damage());
  if (!reader.info().ended) copy.broke_off();
  copy.finish();
  return report_recovered(copy, "live:" + name, to, complaints);
}

int recover_file(const std::string& from, const std::string& to, bool redact) {
  jobs::Workers workers(2);
  CaptureReader reader(from, {}, &workers);
  CaptureCopy copy(to, reader.file().header().session,
                   reader.lacks_blocks() ? shm::LossCause::not_kept : shm::LossCause::file_damaged);
  if (redact) copy.redact();
  for (std::vector<uint64_t> chunk; reader.next(chunk);) {
    if (reader.lost_beginning()) copy.lost_beginning();
    copy.add(chunk);
  }
  if (reader.broke_off()) copy.broke_off();
  copy.finish();
  std::vector<std::string> complaints;
  if (copy.chunks() == 0)
    complaints.push_back(from + " holds no block that can be read; what was recorded in it is not known");
  else if (reader.broke_off() && !reader.cut())
    complaints.push_back(
        from +
        " was not ended in order: its collector was killed, its disk took no more, or its end "
        "is cut away; what it lacks is not known");
  if (reader.cut()) complaints.push_back(from + " ends inside a block; what was in it is gone");
  if (reader.damaged_parts())
    complaints.push_back(from + ": " + std::to_string(reader.damaged_parts()) + " damaged parts, the first " +
                         reader.damage());
  return report_recovered(copy, from, to, complaints);
}

}  // namespace

CaptureCommands::CaptureCommands(CLI::App& app) {
  info_ = program::add_command(app, "info", "what is inside a capture file");
  info_->add_option("file", file_, "FILE.ttc")->required();
  info_->add_flag("--json", json_, "as JSON");
  info_->footer(
      "personal: data that identifies users and their machine; `ttcollect recover --redact` makes a copy "
      "without.\n"
      "Exit codes: 0 it is whole, 2 wrong usage, 3 it cannot be read, 4 it is cut, damaged or was not ended "
      "in order.");

  recover_ =
      program::add_command(app, "recover",
                           "a sound capture of everything that is left of a cut or damaged file, or of "
                           "a dead collector's segment");
  recover_->add_option("from", file_, "FILE.ttc or live:NAME")->required();
  recover_->add_option("--output,-o", output_, "default: FILE.recovered.ttc, NAME.ttc");
  recover_->footer(
      "Exit codes: 0 nothing is missing, 2 wrong usage, 3 it cannot be read, 4 the output holds what was "
      "left "
      "and something\nis missing (which is printed, and is in the output as losses), 6 the output failed.");

  constexpr const char* kRedact = "leave out what is personal; `ttcollect info` lists what that is";
  recover_->add_flag("--redact", redact_, kRedact);

  snapshot_ = program::add_command(app, "snapshot",
                                   "write what live collectors have in their rings, while they go on");
  snapshot_->add_option("name", names_, "live names (default: every live collector)");
  snapshot_->add_option("--output,-o", output_, "default: NAME-DATE.ttc");
  program::add_size_or_duration_option(
      *snapshot_, "--last", last_,
      "only the last so much of each ring, or what was read in so long: 64MiB, 10s");
  snapshot_->add_option(
      "--at", at_ns_,
      "cut at this instant of CLOCK_MONOTONIC_RAW, in ns, which is waited for (default: now)");
  snapshot_->add_flag("--redact", redact_, kRedact);
  snapshot_->add_flag("--json", json_, "what was written and how long it took, as JSON");
  snapshot_->footer(
      "Exit codes: 0 ok, 2 wrong usage, 3 no such collector, 6 the output failed, 8 anything else (memory, "
      "an "
      "error of the system).");

  play_ = program::add_command(app, "play", "feed a capture into live rings, for readers to be tried on");
  play_->add_option("file", file_, "FILE.ttc")->required();
  play_->add_option("--speed", speed_, "times the original pace, or max")
      ->check([](const std::string& text) {
        char* end = nullptr;
        return text == "max" || (std::strtod(text.c_str(), &end) > 0 && *end == 0)
                   ? std::string()
                   : "'" + text + "' is no speed; it takes a number above 0, or max";
      })
      ->capture_default_str();
  play_->add_option("--prefix", prefix_, "of the live names, before the device's")->capture_default_str();
  play_->footer(
      "Exit codes: 0 played, 2 wrong usage, 3 the file cannot be read, or no ring can be made, 4 the file is "
      "damaged, 8 anything\nelse (memory, an error of the system).");
  constexpr program::UnitRange kRing{uint64_t{256} << 10, uint64_t{1} << 31};
  program::add_size_option(*play_, "--ring", ring_bytes_, "size of each ring: 32MiB (at least 256KiB)",
                           kRing);
}

std::optional<int> CaptureCommands::run() {
  try {
    if (*info_) return info();
    if (*recover_) return recover();
    if (*snapshot_) return snapshot();
    if (*play_) return play();
  } catch (const CaptureError& e) {
    return say(*recover_ || *snapshot_ ? Exit::kOutput : Exit::kNoSource, e.what());
  } catch (const shm::SegmentError& e) {
    return say(Exit::kNoSource, e.what());
  }
  return std::nullopt;
}

int CaptureCommands::info() {
  Wanted facts_only;
  facts_only.read_from_ns = ~uint64_t{0};
  const bool old = CaptureFile(file_).version() == 1;
  CaptureReader reader(file_, old ? Wanted{} : facts_only);
  const Contents contents = contents_of(reader);
  const json j = to_json(reader, contents);
  std::fputs((json_ ? program::json_text(j) + "\n" : info_page(j)).c_str(), stdout);
  const bool whole = !reader.cut() && reader.damage().empty() && (old || reader.file().indexed());
  return whole ? Exit::kOk : Exit::kDamaged;
}

int CaptureCommands::recover() {
  if (file_.starts_with("live:")) {
    const std::string name = without_live(file_);
    const std::string to = output_.empty() ? name + ".ttc" : output_;
    program::refuse_foreign_link(to);
    return recover_segment(name, to, redact_);
  }
  std::string to = output_;
  if (to.empty()) to = std::filesystem::path(file_).replace_extension().string() + ".recovered.ttc";
  program::refuse_output_over_input(to, std::vector<std::string>{file_});
  try {
    CaptureFile probe(file_);
  } catch (const CaptureError& e) {
    return say(Exit::kNoSource, e.what());
  }
  return recover_file(file_, to, redact_);
}

int CaptureCommands::snapshot() {
  std::vector<std::string> names;
  for (const std::string& n : names_) names.push_back(without_live(n));
  if (names.empty())
    for (const shm::SegmentInfo& s : shm::list_segments())
      if (s.alive) names.push_back(s.live_name);
  if (names.empty())
    return say(Exit::kNoSource, "no collector is running; name a segment that was left behind");
  SnapshotOptions options;
  options.redact = redact_;
  options.at_ns = at_ns_;
  if (last_.bytes) options.last_bytes = last_.bytes;  // without the option there is no bound
  if (last_.nanoseconds) options.last_ns = last_.nanoseconds;
  std::string to = output_;
  if (to.empty()) {
    std::string date = when(static_cast<uint64_t>(std::time(nullptr)) * 1'000'000'000);
    std::erase_if(date, [](char c) { return c == '-' || c == ':'; });
    to = (names.size() == 1 ? names[0] : "ttcollect") + "-" + date + ".ttc";
  }
  program::refuse_foreign_link(to);
  const SnapshotResult r = take_snapshot(names, to, options);
  if (json_)
    std::printf("%s\n", program::json_text(json{{"file", r.path},
                                                {"cut_ns", r.cut_ns},
                                                {"total_ns", r.total_ns},
                                                {"ring_bytes", r.ring_bytes},
                                                {"file_bytes", r.file_bytes},
                                                {"chunks", r.chunks},
                                                {"markers", r.markers},
                                                {"lapped_bytes", r.lapped_bytes},
                                                {"overwritten", r.late}})
                            .c_str());
  else
    std::printf(
        "%s: %.2f MB of the rings, %llu markers, in %.2f MB; cut within %.3f ms, complete after %.0f ms\n",
        program::printable(r.path).c_str(), static_cast<double>(r.ring_bytes) / 1e6,
        static_cast<unsigned long long>(r.markers), static_cast<double>(r.file_bytes) / 1e6,
        static_cast<double>(r.cut_ns) / 1e6, static_cast<double>(r.total_ns) / 1e6);
  for (const std::string& late : r.late) say(Exit::kOk, late);
  if (r.lapped_bytes)
    say(Exit::kOk, std::to_string(r.lapped_bytes) +
                       " bytes were overwritten before they were written; a larger --ring helps");
  return Exit::kOk;
}

int CaptureCommands::play() {
  PlayOptions options;
  options.speed = speed_ == "max" ? 0 : std::strtod(speed_.c_str(), nullptr);
  options.prefix = prefix_;
  options.ring_bytes = ring_bytes_;
  options.stop = [] { return stop_asked != 0; };
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) std::signal(s, [](int) { stop_asked = 1; });
  const PlayResult r = collect::play(
      file_, options, [](const std::string& name) { say(Exit::kOk, "readers attach to live:" + name); });
  say(Exit::kOk, std::to_string(r.chunks) + " chunks, " + std::to_string(r.bytes) + " bytes in " +
                     std::to_string(r.seconds) + " s");
  if (r.skipped_chunks)
    say(Exit::kOk,
        std::to_string(r.skipped_chunks) + " chunks are larger than the ring takes; give a larger --ring");
  if (r.untold_losses)
    say(Exit::kOk, "the file has more intervals of loss than a segment keeps for readers that come late: " +
                       std::to_string(r.untold_losses) + " times one was left out; `ttreport loss --from " +
                       file_ + "` has all");
  return r.damage.empty() ? Exit::kOk : say(Exit::kDamaged, file_ + " is damaged " + r.damage);
}

}  // namespace ttc::collect
