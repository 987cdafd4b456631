#include "tools/fleet/wire/batch.hpp"

#include <xxhash.h>
#include <zstd.h>

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "shm/chunk.hpp"

namespace ttc::fleet {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are little-endian");
constexpr int kPackLevel = 1;

size_t least_row_bytes(RowKind kind) {
  switch (kind) {
    case RowKind::ops:
      return sizeof(OpRow);
    case RowKind::loss:
      return sizeof(LossRow);
    case RowKind::clock:
      return sizeof(ClockRow);
    case RowKind::telemetry:
      return sizeof(TelemetryRow);
  }
  return 0;
}

}  // namespace

const char* name_of(RowKind kind) {
  switch (kind) {
    case RowKind::ops:
      return "ops";
    case RowKind::loss:
      return "loss";
    case RowKind::clock:
      return "clock";
    case RowKind::telemetry:
      return "telemetry";
  }
  return "unknown";
}

std::optional<RowKind> row_kind_by_name(std::string_view name) {
  for (const RowKind kind : kRowKinds)
    if (name == name_of(kind)) return kind;
  return std::nullopt;
}

std::string cause_name(uint8_t cause) {
  switch (static_cast<BusLoss>(cause)) {
    case BusLoss::spool_full:
      return "spool full while the bus was away";
    case BusLoss::agent_lapped:
      return "the agent was too slow for the ring";
    case BusLoss::agent_stopped:
      return "an agent ended before it had published";
  }
  return cause < static_cast<uint8_t>(shm::LossCause::kinds)
             ? shm::to_string(static_cast<shm::LossCause>(cause))
             : "unknown cause";
}

std::string encode_batch(RowKind kind, uint64_t session, uint32_t epoch, uint64_t position, const void* rows,
                         size_t count, uint16_t row_bytes) {
  BatchHeader header;
  header.kind = kind, header.row_bytes = row_bytes;
  header.session = session, header.epoch = epoch, header.position = position;
  header.rows = static_cast<uint32_t>(count);
  const size_t bytes = count * row_bytes;
  header.digest = XXH64(rows, bytes, 0);
  std::string out(sizeof header + ZSTD_compressBound(bytes), '\0');
  const size_t packed =
      ZSTD_compress(out.data() + sizeof header, out.size() - sizeof header, rows, bytes, kPackLevel);
  if (ZSTD_isError(packed))
    throw std::runtime_error(std::string("a batch cannot be packed: ") + ZSTD_getErrorName(packed));
  out.resize(sizeof header + packed);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

std::optional<Batch> decode_batch(std::string_view bytes, std::string& wrong) {
  const auto no = [&](std::string why) {
    wrong = std::move(why);
    return std::nullopt;
  };
  Batch batch;
  BatchHeader& h = batch.header;
  if (bytes.size() < sizeof h) return no("it is shorter than a header");
  std::memcpy(&h, bytes.data(), sizeof h);
  if (std::memcmp(h.magic, BatchHeader().magic, sizeof h.magic) != 0)
    return no("it does not begin with TTFB");
  if (h.version != BatchHeader().version)
    return no("its version is " + std::to_string(h.version) + ", not 1");
  const size_t least = least_row_bytes(h.kind);
  if (least == 0) return no("its kind of rows is unknown");
  if (h.row_bytes < least || h.row_bytes > kMostRowBytes) return no("its rows have an impossible size");
  if (h.rows == 0 || h.rows > kMostBatchRows) return no("its number of rows is impossible");
  if (h.position > ~uint64_t{0} - h.rows) return no("its position is impossible");
  const std::string_view frame = bytes.substr(sizeof h);
  const size_t whole = size_t{h.rows} * h.row_bytes;
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != whole)
    return no("its size does not fit its rows");
  batch.bytes.resize(whole);
  if (ZSTD_decompress(batch.bytes.data(), whole, frame.data(), frame.size()) != whole)
    return no("its rows cannot be unpacked");
  if (XXH64(batch.bytes.data(), whole, 0) != h.digest) return no("its digest does not fit its rows");
  return batch;
}

std::string text_of(const BatchName& name) {
  char text[80];
  std::snprintf(text, sizeof text, "%016" PRIx64 "-%" PRIu32 "-%s-%" PRIu64, name.session, name.epoch,
                name_of(name.kind), name.position);
  return text;
}

std::optional<BatchName> parse_batch_name(std::string_view text) {
  BatchName name;
  char kind[16] = "";
  const std::string whole(text);
  if (std::sscanf(whole.c_str(), "%16" SCNx64 "-%" SCNu32 "-%15[a-z]-%" SCNu64, &name.session, &name.epoch,
                  kind, &name.position) != 4)
    return std::nullopt;
  const auto known = row_kind_by_name(kind);
  if (!known) return std::nullopt;
  name.kind = *known;
  return text_of(name) == whole ? std::optional(name) : std::nullopt;
}

}  // namespace ttc::fleet
