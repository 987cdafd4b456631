#include "ttemu/truth.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace ttc::emulation {
namespace {

constexpr const char* kRiscs[] = {"BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2"};
constexpr const char* kTypes[] = {"ZONE_START", "ZONE_END", "ZONE_TOTAL",
                                  "TS_DATA",    "TS_EVENT", "TS_DATA_16B"};
constexpr uint8_t kEvent = 4, kData16 = 5;

std::runtime_error failed(const std::string& path) {
  return std::runtime_error("truth log " + path + ": " + std::strerror(errno));
}

const char* risc_name(const TruthRecord& r) {
  if (r.core_kind != markers::CoreKind::tensix) return "ERISC";
  return r.one_risc ? "TENSIX_RISC_AGG" : kRiscs[r.risc];
}

// Written with printf on purpose: an exporter's fast path is compared with this, so nothing is shared with
// it.
void write_row(std::FILE* out, const TruthRecord& r, const markers::ZoneNames& names) {
  const markers::ZoneSource* source = r.type == kEvent ? nullptr : names.find(r.id);
  std::fprintf(out, "0,%u,%u,%s,%u,%llu,%llu,%u,,", r.core_x, r.core_y, risc_name(r), r.id,
               static_cast<unsigned long long>(r.time), static_cast<unsigned long long>(r.data[0]),
               r.host_id);
  if (r.trace_counter) std::fprintf(out, "%u", r.trace_counter);
  std::fprintf(out, ",%s,%s,%u,%s,", source ? source->name.c_str() : "", kTypes[r.type],
               source ? source->line : 0, source ? source->file.c_str() : "");
  if (r.type == kData16) std::fprintf(out, "{\"data_2\":%llu}", static_cast<unsigned long long>(r.data[1]));
  std::fputc('\n', out);
}

}  // namespace

TruthLog::TruthLog(std::string csv_path) : csv_path_(std::move(csv_path)) {
  if (csv_path_.empty()) return;
  file_.reset(std::fopen((csv_path_ + ".bin").c_str(), "w+be"));
  if (!file_) throw failed(csv_path_ + ".bin");
}

TruthLog::~TruthLog() = default;

void TruthLog::add(const TruthRecord& record) {
  ++count_;
  if (file_ && std::fwrite(&record, sizeof record, 1, file_.get()) != 1) throw failed(csv_path_ + ".bin");
}

void TruthLog::convert(const Header& header, const markers::ZoneNames& names) {
  if (!file_) return;
  std::rewind(file_.get());
  std::unique_ptr<std::FILE, Close> out(std::fopen(csv_path_.c_str(), "we"));
  if (!out) throw failed(csv_path_);
  std::fprintf(out.get(), "ARCH: %s, CHIP_FREQ[MHz]: %u, Max Compute Cores: %u\n", header.arch.c_str(),
               header.aiclk_mhz, header.max_compute_cores);
  std::fputs(
      "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host "
      "ID, "
      "trace id, trace id counter, zone name, type, source line, source file, meta data\n",
      out.get());
  TruthRecord record;
  while (std::fread(&record, sizeof record, 1, file_.get()) == 1) write_row(out.get(), record, names);
  if (std::fflush(out.get()) != 0) throw failed(csv_path_);
  file_.reset();
  std::remove((csv_path_ + ".bin").c_str());
}

}  // namespace ttc::emulation
