#include "tools/emulation/truth/truth.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "collector/program/pending_file.hpp"

namespace ttc::emulation {
namespace {

constexpr const char* kRiscs[] = {"BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2"};
constexpr const char* kTypes[] = {"ZONE_START", "ZONE_END", "ZONE_TOTAL",
                                  "TS_DATA",    "TS_EVENT", "TS_DATA_16B"};
constexpr uint8_t kEnd = 1, kEvent = 4, kData16 = 5;
constexpr uint16_t kNoc = 12345, kCounter = 9090;  // fixed ids of data: no names

std::runtime_error failed(const std::string& path) {
  return std::runtime_error("truth log " + path + ": " + std::strerror(errno));
}

const char* risc_name(const TruthRecord& r) {
  if (r.core_kind != markers::CoreKind::tensix) return "ERISC";
  return r.one_risc ? "TENSIX_RISC_AGG" : kRiscs[r.risc];
}

// tt-metal's host has one name for the zones of whichever RISC wrote them.
std::string zone_name(const TruthRecord& r, const markers::ZoneSource* source) {
  if (!source) return "";
  if (r.one_risc && source->name.ends_with("-FW")) return "TRACE-FW";
  if (r.one_risc && source->name.ends_with("-KERNEL")) return "TRACE-KERNEL";
  return source->name;
}

// The names of the counters that the workload records.
const char* counter_name(uint64_t type) {
  switch (type) {
    case 1:
      return "FPU_COUNTER";
    case 2:
      return "SFPU_COUNTER";
    case 3:
      return "MATH_COUNTER";
    case 18:
      return "PACKER_DEST_READ_AVAILABLE";
    case 19:
      return "PACKER_BUSY";
    default:
      return "AVAILABLE_MATH";
  }
}

void write_meta(std::FILE* out, const TruthRecord& r) {
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  if (r.type != kData16) return;
  if (r.id == kCounter)
    std::fprintf(out, "{\"counter type\":\"%s\";\"ref cnt\":%llu;\"value\":%llu}", counter_name(r.data[1]),
                 number(r.data[0] >> 32), number(r.data[0] & 0xffffffff));
  else
    std::fprintf(out, "{\"data_2\":%llu}", number(r.data[1]));
}

// Written with printf on purpose: an exporter's fast path is compared with this, so nothing is shared with
// it.
void write_row(std::FILE* out, const TruthRecord& r, const markers::ZoneNames& names) {
  const bool unnamed = r.type == kEvent || (r.type > kEnd && (r.id == kNoc || r.id == kCounter));
  const markers::ZoneSource* source = unnamed ? nullptr : names.find(r.id);
  std::fprintf(out, "0,%u,%u,%s,%u,%llu,%llu,%u,,", r.core_x, r.core_y, risc_name(r), r.id,
               static_cast<unsigned long long>(r.time), static_cast<unsigned long long>(r.data[0]),
               r.host_id);
  if (r.trace_counter) std::fprintf(out, "%u", r.trace_counter);
  std::fprintf(out, ",%s,%s,%u,%s,", zone_name(r, source).c_str(), kTypes[r.type], source ? source->line : 0,
               source ? source->file.c_str() : "");
  write_meta(out, r);
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
  struct stat there {};
  const bool special = stat(csv_path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode);  // /dev/null, a pipe
  if (special) {
    write_all(csv_path_, header, names);
  } else {
    program::PendingFile whole(csv_path_);
    if ((errno = whole.error()) != 0) throw failed(csv_path_);
    write_all(whole.name(), header, names);
    if ((errno = whole.put_in_place()) != 0) throw failed(csv_path_);
  }
  file_.reset();
  std::remove((csv_path_ + ".bin").c_str());
}

void TruthLog::write_all(const std::string& path, const Header& header, const markers::ZoneNames& names) {
  if (std::fflush(file_.get()) != 0) throw failed(csv_path_ + ".bin");  // rewind() does not report an error
  std::rewind(file_.get());
  std::unique_ptr<std::FILE, Close> out(std::fopen(path.c_str(), "we"));
  if (!out) throw failed(csv_path_);
  std::fprintf(out.get(), "ARCH: %s, CHIP_FREQ[MHz]: %u, Max Compute Cores: %u", header.arch.c_str(),
               header.aiclk_mhz, header.max_compute_cores);
  for (size_t i = 0; i < header.contradicts.size(); ++i)
    std::fprintf(out.get(), "%s%s", i == 0 ? ", Contradicts: " : " ", header.contradicts[i].c_str());
  std::fputc('\n', out.get());
  std::fputs(
      "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host "
      "ID, "
      "trace id, trace id counter, zone name, type, source line, source file, meta data\n",
      out.get());
  TruthRecord record;
  while (!std::ferror(out.get()) && std::fread(&record, sizeof record, 1, file_.get()) == 1)
    write_row(out.get(), record, names);
  if (std::ferror(file_.get())) throw failed(csv_path_ + ".bin");
  // What failed before the last flush is not written again by it.
  const bool lacks = std::ferror(out.get()) != 0;
  if (std::fflush(out.get()) != 0 || lacks || std::fclose(out.release()) != 0) throw failed(csv_path_);
}

}  // namespace ttc::emulation
