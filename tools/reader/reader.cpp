// The C ABI of ttcollect/reader.h. Nothing leaves a function but its status: what the code below throws ends here.
#include "ttcollect/reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>

#include "collector/program/version.hpp"
#include "firmware_markers/layout.hpp"
#include "tools/reader/table_reader.hpp"

namespace {

using namespace ttc;

// Layouts that a binary built against an earlier header of this SONAME relies on, and the Python package.
static_assert(sizeof(ttcollect_marker) == 64 && sizeof(ttcollect_zone) == 64 && sizeof(ttcollect_op) == 72 &&
              sizeof(ttcollect_loss) == 72 && sizeof(ttcollect_clock) == 72 &&
              sizeof(ttcollect_telemetry) == 32 && sizeof(ttcollect_session) == 64 &&
              sizeof(ttcollect_host_zone) == 64 && sizeof(ttcollect_host_message) == 32 &&
              sizeof(ttcollect_name) == 24 && sizeof(ttcollect_op_name) == 16);

constexpr uint32_t kMostThreads = 64, kMostRows = 1 << 24;
constexpr size_t kMostStructBytes = 4096;  // more is a struct_bytes that was not set

void put_text(char* to, size_t bytes, const char* text) {
  if (to && bytes) std::snprintf(to, bytes, "%s", text);
}

// Into a caller's struct of its own size, which stays in front. What it has behind ours becomes 0.
template <class T>
bool has_size(const T* given) {
  return given && given->struct_bytes >= sizeof(size_t) && given->struct_bytes <= kMostStructBytes;
}
template <class T>
void hand_over(T* given, T ours) {
  const size_t bytes = given->struct_bytes;
  ours.struct_bytes = bytes;
  std::memcpy(given, &ours, std::min(bytes, sizeof ours));
  if (bytes > sizeof ours) std::memset(reinterpret_cast<char*>(given) + sizeof ours, 0, bytes - sizeof ours);
}

ttcollect_options defaults() {
  ttcollect_options o{};
  o.struct_bytes = sizeof o;
  o.tables = TTCOLLECT_ALL_TABLES;
  o.follow = 1, o.host_times = 1, o.threads = 1;
  o.batch_rows = 1 << 13;  // 512 KiB of markers: what a core's second cache holds
  return o;
}

// Null: it can be used.
const char* why_not(const ttcollect_options& o) {
  if (o.threads > kMostThreads) return "options: threads is more than 64";
  if (o.batch_rows == 0 || o.batch_rows > kMostRows) return "options: batch_rows is 0 or more than 2^24";
  if (o.tables & ~uint32_t{TTCOLLECT_ALL_TABLES}) return "options: tables has bits that are not defined";
  return nullptr;
}

ttcollect_batch batch_of(const tools::Tables& t) {
  ttcollect_batch b{};
  b.names = t.names.data(), b.name_count = t.names.size();
  b.markers = t.markers.data(), b.marker_count = t.markers.size();
  b.zones = t.zones.data(), b.zone_count = t.zones.size();
  b.ops = t.ops.data(), b.op_count = t.ops.size();
  b.losses = t.losses.data(), b.loss_count = t.losses.size();
  b.clocks = t.clocks.data(), b.clock_count = t.clocks.size();
  b.telemetry = t.telemetry.data(), b.telemetry_count = t.telemetry.size();
  b.sessions = t.sessions.data(), b.session_count = t.sessions.size();
  b.host_zones = t.host_zones.data(), b.host_zone_count = t.host_zones.size();
  b.host_messages = t.host_messages.data(), b.host_message_count = t.host_messages.size();
  b.op_names = t.op_names.data(), b.op_name_count = t.op_names.size();
  b.zone_bounds = t.zone_bounds.data(), b.op_bounds = t.op_bounds.data();
  return b;
}

}  // namespace

struct ttcollect_reader {
  tools::TableReader tables;
  std::string error;
  int failed = TTCOLLECT_OK;  // what every further call gives
};

extern "C" {

const char* ttcollect_version(void) {
  return program::version();
}

const char* ttcollect_status_text(int status) {
  switch (status) {
    case TTCOLLECT_OK:
      return "ok";
    case TTCOLLECT_IDLE:
      return "nothing came in time";
    case TTCOLLECT_END:
      return "the end";
    case TTCOLLECT_LAPPED:
      return "overwritten before it was read";
    case TTCOLLECT_INCOMPLETE:
      return "the end of a source that is not whole";
    case TTCOLLECT_NO_SOURCE:
      return "the source cannot be opened";
    case TTCOLLECT_USAGE:
      return "an argument that is not allowed";
    case TTCOLLECT_NO_MEMORY:
      return "not enough memory";
    case TTCOLLECT_FAILED:
      return "reading failed";
    default:
      return "a status that is not defined";
  }
}

const char* ttcollect_loss_cause(unsigned cause) {
  return cause < static_cast<unsigned>(shm::LossCause::kinds) ? to_string(static_cast<shm::LossCause>(cause))
                                                              : "unknown cause";
}

const char* ttcollect_processor(unsigned core_kind, unsigned risc) {
  if (core_kind >= markers::kCoreKinds || risc >= device::kMaxRiscs) return "unknown processor";
  return markers::risc_name(static_cast<markers::CoreKind>(core_kind), risc).data();
}

void ttcollect_options_init(ttcollect_options* options) {
  if (has_size(options)) hand_over(options, defaults());
}

int ttcollect_open(const char* from, const ttcollect_options* options, ttcollect_reader** reader, char* why,
                   size_t why_bytes) {
  put_text(why, why_bytes, "");
  if (reader) *reader = nullptr;
  if (!from || !reader || (options && !has_size(options))) {
    put_text(why, why_bytes, "ttcollect_open: a null pointer, or options whose struct_bytes is not set");
    return TTCOLLECT_USAGE;
  }
  ttcollect_options o = defaults();
  if (options) std::memcpy(&o, options, std::min(options->struct_bytes, sizeof o));
  if (const char* wrong = why_not(o)) {
    put_text(why, why_bytes, wrong);
    return TTCOLLECT_USAGE;
  }
  try {
    *reader = new ttcollect_reader{{from, o}, {}};
    return TTCOLLECT_OK;
  } catch (const std::bad_alloc&) {
    put_text(why, why_bytes, "not enough memory");
    return TTCOLLECT_NO_MEMORY;
  } catch (const std::exception& e) {
    put_text(why, why_bytes, e.what());
    return TTCOLLECT_NO_SOURCE;
  } catch (...) {
    put_text(why, why_bytes, "unknown exception");
    return TTCOLLECT_FAILED;
  }
}

int ttcollect_next(ttcollect_reader* reader, uint32_t timeout_ms, ttcollect_batch* batch) {
  if (!reader || !has_size(batch)) return TTCOLLECT_USAGE;
  const auto fail = [&](int status, const char* text) {
    hand_over(batch, ttcollect_batch{});
    reader->failed = status;
    try {
      reader->error = text;
    } catch (...) {
      reader->error.clear();  // no memory for the sentence either
    }
    return status;
  };
  if (reader->failed != TTCOLLECT_OK) {
    hand_over(batch, ttcollect_batch{});
    return reader->failed;
  }
  try {
    reader->error.clear();
    const int status = reader->tables.next(timeout_ms);
    hand_over(batch, batch_of(reader->tables.tables()));
    if (status == TTCOLLECT_LAPPED)
      reader->error =
          "the collector overwrote chunks before they were read; read faster, or give it a larger --ring";
    if (status == TTCOLLECT_INCOMPLETE) reader->error = reader->tables.remarks().front();
    return status;
  } catch (const std::bad_alloc&) {
    return fail(TTCOLLECT_NO_MEMORY, "not enough memory");
  } catch (const std::exception& e) {
    return fail(TTCOLLECT_FAILED, e.what());
  } catch (...) {
    return fail(TTCOLLECT_FAILED, "unknown exception");
  }
}

const char* ttcollect_error(const ttcollect_reader* reader) {
  return reader ? reader->error.c_str() : "no reader";
}

const char* ttcollect_remark(const ttcollect_reader* reader, size_t index) {
  if (!reader || index >= reader->tables.remarks().size()) return nullptr;
  return reader->tables.remarks()[index].c_str();
}

int ttcollect_get_account(const ttcollect_reader* reader, ttcollect_account* account) {
  if (!reader || !has_size(account)) return TTCOLLECT_USAGE;
  try {
    hand_over(account, reader->tables.account());
    return TTCOLLECT_OK;
  } catch (...) {
    return TTCOLLECT_NO_MEMORY;  // nothing else can fail in adding up
  }
}

void ttcollect_close(ttcollect_reader* reader) {
  delete reader;
}

}  // extern "C"
