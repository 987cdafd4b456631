// Rows on the bus: a header of 48 bytes and a zstd frame of rows of one size, all little-endian (docs/fleet.md). Pure.
//
// A batch is named by session, epoch, kind and the position of its first row: the name is the end of its Nats-Msg-Id, and positions of one
// session, epoch and kind are consecutive, so that gaps and repetitions show.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ttc::fleet {

enum class RowKind : uint8_t { ops = 1, loss = 2, clock = 3, telemetry = 4 };
inline constexpr RowKind kRowKinds[] = {RowKind::ops, RowKind::loss, RowKind::clock, RowKind::telemetry};
const char* name_of(RowKind kind);
std::optional<RowKind> row_kind_by_name(std::string_view name);

inline constexpr uint32_t kUnknownBoundNs = ~uint32_t{0};

// One program on all its cores. Times are CLOCK_MONOTONIC_RAW of the row's host.
struct OpRow {
  uint64_t begin_ns = 0;
  uint32_t duration_ns = 0;   // firmware zones, first to last; ~0: that or more
  uint32_t core_most_ns = 0;  // kernels of the core that took longest
  uint32_t host_id = 0;
  uint32_t code = 0;                    // code_of() its name; 0: not known
  uint32_t bound_ns = kUnknownBoundNs;  // of its begin and of its end, by the device's clock model
  uint16_t replay = 0;                  // of a trace, or a marked step (kMarkedStep); 0: neither
  uint16_t cores = 0;
  uint16_t open = 0;        // processors whose end did not come
  uint16_t mean_share = 0;  // core_mean_ns() of core_most_ns, in parts of kWhole
  uint8_t chip = 0, most_x = 0, most_y = 0;
  uint8_t flags = 0;

  static constexpr uint8_t kDeviceClock = 1;  // no clock model: times are cycles at the nominal clock
  static constexpr uint8_t kMarkedStep = 2;   // `replay` is the number of a step that the workload marked
  static constexpr uint32_t kWhole = 65535;
  uint32_t core_mean_ns() const {
    return static_cast<uint32_t>((uint64_t{core_most_ns} * mean_share + kWhole / 2) / kWhole);
  }
};
static_assert(sizeof(OpRow) == 40 && offsetof(OpRow, replay) == 28 && offsetof(OpRow, chip) == 36);

// What a row is an execution of: its name where that is known, else its host id. A workload without traces gives every execution an id of
// its own, so that names alone recur.
inline uint64_t op_of(const OpRow& row) {
  return row.code ? uint64_t{1} << 32 | row.code : row.host_id;
}

// Rows of a card that may be missing (cause below 128: shm::LossCause), or rows of the bus that are (see BusLoss).
struct LossRow {
  uint64_t id = 0;  // of the card's account; a later row of the same id replaces it
  uint64_t from_ns = 0, to_ns = 0;
  uint64_t count = 0;     // words, launches or rows
  uint64_t position = 0;  // of the first row that is missing, where rows are
  uint8_t chip = 0, x = 0, y = 0, risc = 0;
  uint8_t cause = 0;
  uint8_t precision =
      0;  // 0 exactly `count` words, 1 at most `count` launches, 2 unknown, 3 exactly `count` rows
  uint8_t of_kind = 0;  // RowKind, of rows
  uint8_t reserved = 0;
  uint64_t session = 0;  // of the rows, where rows are missing
  uint32_t epoch = 0;
  uint32_t reserved2 = 0;
};
static_assert(sizeof(LossRow) == 64 && offsetof(LossRow, session) == 48);
enum class BusLoss : uint8_t {
  spool_full = 128,     // the bus was away for longer than the spool had room
  agent_lapped = 129,   // the ring was overwritten before the agent had read it
  agent_stopped = 130,  // an agent ended before it had published what it had read
};
std::string cause_name(uint8_t cause);

struct ClockRow {
  uint64_t raw_ns = 0;                         // when this was so
  int64_t offset_ns = 0;                       // common time less RAW of this host
  uint64_t bound_ns = 0;                       // of the offset; ~0: none is known
  uint64_t reference = 0;                      // whose RAW the common time is
  uint32_t device_bound_ns = kUnknownBoundNs;  // of `chip`'s clock model
  uint16_t mhz = 0;                            // of `chip`
  uint8_t chip = 0;
  uint8_t how = 0;  // ClockSource; 255: this row is about `chip` alone
};
static_assert(sizeof(ClockRow) == 40);

struct TelemetryRow {
  uint64_t raw_ns = 0;
  uint32_t power_mw = 0;
  int32_t temperature_mc = 0;
  uint16_t aiclk_mhz = 0;
  uint8_t chip = 0;
  uint8_t known = 0;  // bit 0 clock, 1 power, 2 temperature
  uint32_t reserved = 0;
};
static_assert(sizeof(TelemetryRow) == 24);

struct BatchHeader {
  char magic[4] = {'T', 'T', 'F', 'B'};
  uint8_t version = 1;
  RowKind kind = RowKind::ops;
  uint16_t row_bytes = 0;
  uint64_t session = 0;
  uint32_t epoch = 0;
  uint32_t rows = 0;
  uint64_t position = 0;  // of the first row
  uint64_t digest = 0;    // XXH64 of the rows
  uint64_t reserved = 0;
};
static_assert(sizeof(BatchHeader) == 48 && offsetof(BatchHeader, digest) == 32);

inline constexpr uint32_t kMostBatchRows = 1u << 16;
inline constexpr uint32_t kMostRowBytes = 256;

std::string encode_batch(RowKind kind, uint64_t session, uint32_t epoch, uint64_t position, const void* rows,
                         size_t count, uint16_t row_bytes);
template <class Row>
std::string encode_batch(RowKind kind, uint64_t session, uint32_t epoch, uint64_t position,
                         const std::vector<Row>& rows) {
  return encode_batch(kind, session, epoch, position, rows.data(), rows.size(), sizeof(Row));
}

struct Batch {
  BatchHeader header;
  std::string bytes;  // of the rows
  // Rows of a later version are longer: bytes after the known fields are skipped.
  template <class Row>
  std::vector<Row> rows() const {
    static_assert(std::is_trivially_copyable_v<Row>);
    std::vector<Row> all(header.rows);
    for (size_t i = 0; i < all.size(); ++i)
      bytes.copy(reinterpret_cast<char*>(&all[i]), sizeof(Row), i * header.row_bytes);
    return all;
  }
};
// Decodes foreign bytes. `wrong`: why there is none, as a sentence part.
std::optional<Batch> decode_batch(std::string_view bytes, std::string& wrong);

struct BatchName {
  uint64_t session = 0;
  uint32_t epoch = 0;
  RowKind kind = RowKind::ops;
  uint64_t position = 0;
  bool operator==(const BatchName&) const = default;
};
std::string text_of(const BatchName& name);
std::optional<BatchName> parse_batch_name(std::string_view text);

}  // namespace ttc::fleet
