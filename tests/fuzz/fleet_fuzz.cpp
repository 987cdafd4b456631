// Any bytes as each message of the bus: taken, or refused with a reason. The first byte chooses the parser. What is taken is given to
// whatever follows: rows to the account and to the comparison of cards, clocks to the intersection of intervals.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/fleet/agent/triggers.hpp"
#include "tools/fleet/clock/common_clock.hpp"
#include "tools/fleet/judge/ingest.hpp"
#include "tools/fleet/judge/stragglers.hpp"
#include "tools/fleet/wire/batch.hpp"
#include "tools/fleet/wire/control.hpp"

using namespace ttc::fleet;

namespace {

void refused_with_a_reason(bool taken, const std::string& wrong) {
  if (!taken && wrong.empty()) std::abort();
}

void rows(std::string_view bytes) {
  Stragglers judge(1000);
  Ingest ingest({[&](const Ingest::Taken& t, const std::vector<OpRow>& all) {
                   for (const OpRow& row : all)
                     judge.add({t.rank, row.chip}, row, row.begin_ns, row.bound_ns);
                 },
                 {},
                 {},
                 {}});
  const Identity who;
  for (const RowKind kind : kRowKinds) ingest.take(rows_subject(who, name_of(kind)), bytes);
  // The same rows as an agent would have sent them, so that the code after the digest check is reached, too.
  for (const RowKind kind : kRowKinds) {
    const uint16_t size = kind == RowKind::loss        ? sizeof(LossRow)
                          : kind == RowKind::telemetry ? sizeof(TelemetryRow)
                                                       : sizeof(OpRow);
    const size_t count = bytes.size() / size;
    if (count == 0 || count > kMostBatchRows) continue;
    const std::string batch = encode_batch(kind, 1, 0, 0, bytes.data(), count, size);
    ingest.take(rows_subject(who, name_of(kind)), batch);
    ingest.take(rows_subject(who, name_of(kind)), batch);
  }
  judge.end();
  judge.named();
  for (const auto& rank : ingest.ranks())
    for (const auto& [key, account] : rank.accounts)
      if (account.declared() > account.missing()) std::abort();
}

void clocks(std::string_view bytes) {
  const auto answer = parse_clock(bytes);
  if (!answer) return;
  CommonClock clock;
  if (clock.round_trip(1'000'000, *answer, 2'000'000,
                       {answer->scale, answer->scale_minus_raw_ns, answer->scale_bound_ns}) &&
      !clock.at(3'000'000).known())
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string wrong, kind;
  Identity who;
  switch (data[0] % 8) {
    case 0:
      rows(bytes);
      break;
    case 1:
      refused_with_a_reason(parse_command(bytes, wrong).has_value(), wrong);
      break;
    case 2:
      refused_with_a_reason(parse_state(bytes, wrong).has_value(), wrong);
      break;
    case 3:
      refused_with_a_reason(parse_answer(bytes, wrong).has_value(), wrong);
      break;
    case 4:
      if (const auto chunk = parse_chunk(bytes); chunk && chunk->offset + chunk->bytes.size() > chunk->whole)
        std::abort();
      break;
    case 5:
      clocks(bytes);
      break;
    case 6: {
      Triggers triggers;
      triggers.arm("lag>1ns");
      if (const auto progress = parse_progress(bytes)) triggers.progress(*progress, 0);
      refused_with_a_reason(parse_trigger_rule(bytes, wrong).has_value(), wrong);
      break;
    }
    default:
      if (parse_rows_subject(bytes, who, kind) && rows_subject(who, kind) != bytes) std::abort();
      parse_batch_name(bytes);
      bound_of_chrony(bytes), state_of_ptp(bytes);
      if (!is_token(token_of(bytes))) std::abort();
  }
  return 0;
}
