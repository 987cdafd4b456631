#include "tools/report/input/op_names.hpp"

#include <filesystem>
#include <fstream>
#include <map>

#include "tools/op_messages/op_message.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/report/text/csv_file.hpp"
#include "tools/viewers/host/op_names.hpp"
#include "ttcollect/capture_reader.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::report {
namespace {

namespace fs = std::filesystem;

void add_names_of(const fs::path& path, uint32_t first_chip, tools::OpNames& to,
                  std::vector<std::string>& remarks) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    remarks.push_back(path.string() + " cannot be read; programs have no names of it");
    return;
  }
  CsvFile file(in, ';', '`');
  std::vector<std::string> fields;
  if (!file.next(fields) || fields[0] != "MessageName") {
    remarks.push_back(path.string() + " holds no messages: its first line is no 'MessageName;total_ns'");
    return;
  }
  while (file.next(fields))
    if (const auto op = tools::named_op(fields[0])) to.add(op->device + first_chip, op->call_count, op->name);
  if (!file.ended() || file.unclosed())
    remarks.push_back(path.string() + " ends in the middle of a line; it was cut");
}

// Reads the facts of a capture alone.
void add_names_in(const fs::path& capture, uint32_t first_chip, tools::OpNames& to) {
  collect::Wanted facts;
  facts.read_from_ns = ~uint64_t{0};
  try {
    collect::CaptureReader reader(capture, facts);
    for (std::vector<uint64_t> chunk; reader.next(chunk);) {
      if (shm::header_of(chunk).kind != shm::ChunkKind::host_events) continue;
      collect::HostChunkReader records(shm::body_of(chunk));
      for (collect::HostEvent event; records.next(event);)
        if (event.kind == collect::EventKind::message)
          if (const auto op = tools::named_op(event.text))
            to.add(op->device + first_chip, op->call_count, op->name);
    }
  } catch (const collect::CaptureError&) {  // the reader of its launches refuses it with a sentence
  }
}

}  // namespace

void add_op_names(const std::vector<std::string>& from, tools::OpNames& to,
                  std::vector<std::string>& remarks) {
  const std::vector<std::string> sources = tools::named_sources(from);
  const tools::RankCaptures ranks = tools::rank_captures(sources);
  std::map<fs::path, uint32_t> beside;  // first chip of the host whose file it is
  for (const std::string& file : sources) {
    std::error_code
        ignored;  // what has no readable status is opened, and refused, by the program that reads it
    if (!fs::is_regular_file(file, ignored)) continue;
    const fs::path place = fs::path(file).parent_path();
    const tools::RankCapture* const rank = ranks.find(file);
    if (rank && !tools::parse_rank_name(place.filename().string())) continue;  // of several hosts
    beside.try_emplace(place / "tracy_ops_data.csv", rank ? rank->first_chip : 0);
  }
  for (const auto& [path, first_chip] : beside) {
    std::error_code ignored;
    if (fs::exists(path, ignored)) add_names_of(path, first_chip, to, remarks);
  }
  for (const std::string& file : sources) {
    const tools::RankCapture* const rank = ranks.find(file);
    if (fs::path(file).extension() == ".ttc") add_names_in(file, rank ? rank->first_chip : 0, to);
  }
}

}  // namespace ttc::report
