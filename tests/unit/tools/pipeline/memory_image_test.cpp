// Directories of firmware memory: what emulated firmware of every generation, mode and mailbox left in L1 and
// DRAM comes out of the pipeline as what the cores report as emitted. (Memory written by real firmware is in
// markers_golden_test.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/image_writer.hpp"
#include "tools/formats/device_csv.hpp"
#include "tools/pipeline/image_source.hpp"
#include "tools/pipeline/pipeline.hpp"

namespace ttc::emulation {
namespace {

using device::Mode;

// The first few lines of `from` that are not in `what`, both sorted. A repeated row counts as often as it is there.
Lines without(const Lines& from, const Lines& what) {
  Lines rest;
  std::set_difference(from.begin(), from.end(), what.begin(), what.end(), std::back_inserter(rest));
  if (rest.size() > 3) rest[2] = std::to_string(rest.size()) + " in all", rest.resize(3);
  return rest;
}

Lines exported_rows() {
  const std::string path = ImageWriter::directory() + "/exported.csv";
  tools::Output out(path, true);
  tools::DeviceCsv csv(out, {});
  tools::Pipeline pipeline({}, false);
  tools::ImageSource source(ImageWriter::directory());
  std::vector<uint64_t> chunk;
  while (source.next(chunk) == tools::Source::Next::chunk) pipeline.push(chunk, csv);
  pipeline.finish(csv);
  csv.end();
  out.commit();
  return csv_rows(path);
}

void expect_equal(const Imaged& what, uint32_t programs = 12, uint32_t epochs = 3) {
  SCOPED_TRACE(what.generation + " " + what.mailbox + " " + what.arch);
  ImageWriter image(what);
  for (uint32_t e = 0; e < epochs; ++e) image.add_epoch(programs, e + 1 == epochs);
  const auto got = exported_rows();
  const auto wanted = image.true_rows();
  EXPECT_GT(wanted.size(), 20u);
  EXPECT_EQ(without(wanted, got), Lines()) << "missing";
  EXPECT_EQ(without(got, wanted), Lines()) << "invented";
}

constexpr const char* kArchitectures[] = {"wormhole_b0", "blackhole"};
constexpr const char* kPairs[][2] = {{"G1-16", "M0"},   {"G1", "M1-early"}, {"G1", "M1"}, {"G2", "M1"},
                                     {"G2", "M2-2025"}, {"G3", "M2"},       {"G3", "M3"}, {"G4", "M4"}};

TEST(MemoryImage, every_generation_and_mailbox_on_both_architectures) {
  for (const char* arch : kArchitectures)
    for (const auto& [generation, mailbox] : kPairs) expect_equal({generation, mailbox, Mode::normal, arch});
}

TEST(MemoryImage, sums_and_buffers_that_overran) {
  for (const char* generation : {"G3", "G4"}) {
    expect_equal({.generation = generation, .sums = true});
    expect_equal({.generation = generation, .overruns = 4});
  }
}

TEST(MemoryImage, trace_only_with_the_last_replay_in_l1) {
  for (const char* arch : kArchitectures)
    for (const auto& [generation, mailbox] : kPairs)
      if (markers::layout_by_name(generation)->format.trace_status)
        expect_equal({generation, mailbox, Mode::trace_only, arch}, 12, 1);
}

TEST(MemoryImage, accumulated_launches_with_the_rest_in_l1) {
  for (const char* arch : kArchitectures) {
    expect_equal({.mode = Mode::accumulate, .arch = arch}, 60, 1);
    expect_equal({.mode = Mode::accumulate, .arch = arch, .dispatch = true}, 60, 1);
    expect_equal({.mode = Mode::accumulate, .arch = arch, .ethernet = true}, 60, 1);
  }
}

// Its own launch is 0, which shows no 16-bit id.
TEST(MemoryImage, a_dispatch_core_does_not_hide_how_wide_ids_are) {
  for (const auto& [generation, mailbox] : kPairs) {
    Imaged what{generation, mailbox};
    what.dispatch = true;
    expect_equal(what);
  }
}

TEST(MemoryImage, ethernet_cores) {
  for (const char* arch : kArchitectures)
    for (const auto& [generation, mailbox] : kPairs)
      if (markers::mailbox_by_name(mailbox)->ethernet_offset) {
        Imaged what{generation, mailbox, Mode::normal, arch};
        what.ethernet = true;
        expect_equal(what);
      }
}

// The first firmware waits for its log without end; the others continue, and each launch clears the one before.
TEST(MemoryImage, cores_that_were_given_no_log) {
  for (const auto& [generation, mailbox] : kPairs) {
    if (markers::layout_by_name(generation)->format.early_2025) continue;
    Imaged what{generation, mailbox};
    what.no_log = true;
    expect_equal(what, 1, 4);
  }
}

// --- what is not read

std::string refusal() {
  try {
    tools::ImageSource source(ImageWriter::directory());
  } catch (const tools::SourceError& e) {
    return e.what();
  }
  return "none";
}
void name_generation(const std::string& generation) {
  const std::string path = ImageWriter::directory() + "/meta.json";
  auto meta = nlohmann::json::parse(std::ifstream(path));
  meta["gen"] = generation;
  std::ofstream(path) << meta;
}
void set_word(const std::string& name, uint32_t word, uint32_t value) {
  std::fstream file(ImageWriter::directory() + name, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(4 * word);
  file.write(reinterpret_cast<const char*>(&value), 4);
}

TEST(MemoryImage, a_generation_that_is_not_read_is_refused_by_its_name) {
  ImageWriter image({.generation = "G3"});
  image.add_epoch(5, true);
  EXPECT_EQ(refusal(), "none");
  name_generation("g3b");
  EXPECT_NE(refusal().find("G3b"), std::string::npos) << refusal();
  EXPECT_NE(refusal().find("July 2026"), std::string::npos) << refusal();
}

TEST(MemoryImage, a_description_that_is_not_json_is_refused_by_its_file) {
  ImageWriter image({.generation = "G3"});
  image.add_epoch(5, true);
  const std::string path = ImageWriter::directory() + "/meta.json";
  std::ofstream(path) << "{ nope";
  EXPECT_EQ(refusal(), path + " is not JSON");
}

// The cores that show nothing of it yet do not count then.
TEST(MemoryImage, debug_dump_on_one_core_is_refused_in_one_sentence) {
  ImageWriter image({.generation = "G3"});
  image.add_epoch(5, false);
  image.add_epoch(5, true);
  set_word("/epoch0001/cv_01_01.bin", device::kG3.risc_dram_address + 1u, 0xffffffff);
  const std::string why = refusal();
  const size_t at = why.find("debug dump at");
  ASSERT_NE(at, std::string::npos) << why;
  EXPECT_EQ(why.find("G4", at), std::string::npos) << why;  // in front of it is a path, of random letters
}

TEST(MemoryImage, a_profiler_that_never_ran_is_refused) {
  ImageWriter image({.no_log = true});
  image.add_epoch(0, true);
  EXPECT_NE(refusal().find("profiler not set up"), std::string::npos) << refusal();
  name_generation("g9");
  EXPECT_NE(refusal().find("'g9'"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace ttc::emulation
