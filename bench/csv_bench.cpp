// How fast chunks become the device CSV: the whole pipeline (decode, name, order, format) into /dev/null,
// against appending as many rows that are already text.
#include <filesystem>
#include <fstream>

#include "bench/machine.hpp"
#include "bench/synthetic_chunks.hpp"
#include "tools/formats/device_csv.hpp"
#include "tools/pipeline/pipeline.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

uint64_t export_all(std::span<const Chunk> chunks, const std::string& path) {
  tools::Output out(path, false);
  tools::Pipeline pipeline({}, false, {}, {}, shm::LossCause::file_damaged);
  tools::DeviceCsv csv(out, {});
  for (const Chunk& chunk : chunks) pipeline.push(chunk, csv);
  csv.end();
  out.commit();
  return pipeline.markers();
}

// What is left of the pipeline when a format does nothing.
struct NoFormat : tools::Format {
  void begin(const tools::Session&) override {}
  void frame(const tools::FrameEvents& f) override { rows += f.markers.size(); }
  void loss(const shm::LossRecord&) override {}
  void names_changed() override {}
  void end() override {}
  uint64_t rows = 0;
};

uint64_t decode_all(std::span<const Chunk> chunks) {
  tools::Pipeline pipeline({}, false, {}, {}, shm::LossCause::file_damaged);
  NoFormat none;
  for (const Chunk& chunk : chunks) pipeline.push(chunk, none);
  return none.rows;
}

// Real rows of this export, as text.
std::vector<std::string> sample_rows(std::span<const Chunk> chunks) {
  const std::string path = std::filesystem::temp_directory_path() / ("csv_bench-" + std::to_string(getpid()));
  export_all(chunks.first(std::min<size_t>(chunks.size(), 10)), path);
  std::vector<std::string> rows;
  std::ifstream in(path);
  for (std::string row; std::getline(in, row);) rows.push_back(row + '\n');
  rows.erase(rows.begin(), rows.begin() + 2);  // the two head lines
  std::filesystem::remove(path);
  return rows;
}

size_t append_rows(const std::vector<std::string>& rows, uint64_t count) {
  tools::Output out("/dev/null", false);
  size_t bytes = 0;
  for (uint64_t done = 0; done < count;)
    for (size_t i = 0; i < rows.size() && done < count; ++i, ++done) {
      out.append(rows[i]);
      bytes += rows[i].size();
    }
  out.commit();
  return bytes;
}

void measure(const char* what, const LogShape& shape) {
  const auto chunks = make_chunks(shape, working_set(), 8);
  const auto rows = sample_rows(chunks);
  Best exporting, decoding, appending;
  uint64_t count = 0;
  size_t bytes = 0;
  for (int i = 0; i < repetitions(5); ++i) {
    exporting.cpu_time([&] { count = export_all(chunks, "/dev/null"); });
    decoding.cpu_time([&] { keep(decode_all(chunks)); });
    appending.cpu_time([&] { bytes = append_rows(rows, count); });
  }
  const auto rate = [&](const Best& b) { return static_cast<double>(count) * 1000 / b.ns(); };
  result("%s: %zu chunks, %.1f M rows, about %zu MB of text", what, chunks.size(),
         static_cast<double>(count) / 1e6, bytes / 1000000);
  result("  export %.1f M rows/s %s; ready rows appended %.1f M rows/s, ratio %.2f", rate(exporting),
         judged(rate(exporting), ">=", 10).c_str(), rate(appending), appending.ns() / exporting.ns());
  result("  of it decode, order and account %.1f M rows/s, format and write %.1f ns a row", rate(decoding),
         (exporting.ns() - decoding.ns()) / static_cast<double>(count));
}

}  // namespace

int main() {
  print_machine("csv_bench");
  measure("4 zones, data in every 4th frame", {4, 4, 4});
  measure("60 zones", {60, 60, 0});
}
