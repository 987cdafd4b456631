#include "tools/reader/table_reader.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace ttc::tools {
namespace {

constexpr std::chrono::milliseconds kLeastBusy{
    10};  // while chunks come without a rest, whatever the caller's time

std::optional<HostClock> host_clock(const ttcollect_options& options) {
  return options.host_times ? std::optional(HostClock::raw) : std::nullopt;
}

}  // namespace

TableReader::TableReader(const std::string& from, const ttcollect_options& options)
    : TableReader(open(from, options), options, {}, {}, true) {}

TableReader::Opened TableReader::open(const std::string& from, const ttcollect_options& options) {
  Opened opened;
  if (options.threads) opened.workers = std::make_unique<jobs::Workers>(options.threads + 1);
  opened.source = open_source({from}, options.follow != 0, options.wait_ms, {}, opened.workers.get(),
                              options.from_now != 0);
  return opened;
}

TableReader::TableReader(std::unique_ptr<Source> source, const ttcollect_options& options,
                         const Filter& filter, std::optional<markers::MetalDate> date, bool everything)
    : TableReader(Opened{nullptr, std::move(source)}, options, filter, date, everything) {}

TableReader::TableReader(Opened opened, const ttcollect_options& options, const Filter& filter,
                         std::optional<markers::MetalDate> date, bool everything)
    : options_(options),
      workers_(std::move(opened.workers)),
      source_(std::move(opened.source)),
      pipeline_(filter, false, date, host_clock(options),
                everything ? std::optional(source_->loss_cause()) : std::nullopt),
      devices_(tables_, options.tables),
      host_(tables_) {
  pipeline_.deliver_at_most(options.batch_rows);
}

bool TableReader::read(uint32_t timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now(), until = begun + std::chrono::milliseconds(timeout_ms);
  const auto busy_until = std::max(until, begun + kLeastBusy);
  while (tables_.most_rows() < options_.batch_rows) {
    if (pipeline_.deliver(devices_, ended_)) continue;
    if (ended_) return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    // Rows are handed over as soon as no chunk follows at once.
    source_->wait_at_most(tables_.empty() && left > 0 ? static_cast<unsigned>(left) : 1);
    switch (source_->next(chunk_)) {
      case Source::Next::end:
        ended_ = true;
        continue;
      case Source::Next::idle:
        if (!tables_.empty() || Clock::now() >= until) return true;
        continue;
      case Source::Next::chunk:
        break;
    }
    if (source_->lost_beginning()) pipeline_.lost_beginning();
    if (options_.tables & TTCOLLECT_HOST) host_.push(chunk_);
    pipeline_.push(chunk_, devices_);
    if (Clock::now() >= busy_until) return true;
  }
  return true;
}

void TableReader::finish() {
  over_ = true;
  if (source_->broke_off()) pipeline_.broke_off();
  pipeline_.finish(devices_);
  devices_.end();
  remarks_ = source_->complaints();
  if (!pipeline_.complaint().empty()) remarks_.push_back(pipeline_.complaint());
  if (!host_.complaint().empty()) remarks_.push_back(host_.complaint());
  const collect::LossView& view = pipeline_.loss_view();
  if (const uint64_t chunks = view.missing_chunks(), words = view.missing_words(); chunks || words)
    remarks_.push_back(std::to_string(chunks) + " chunks with at least " + std::to_string(words) +
                       " words are missing between those that came");
  whole_ = remarks_.empty();
  for (std::string& remark : source_->remarks()) remarks_.push_back(std::move(remark));
  note_bounds(view);
  for (std::string& notice : pipeline_.notices()) remarks_.push_back(std::move(notice));
}

// Data that the source never held is no loss of it.
void TableReader::note_bounds(const collect::LossView& view) {
  const bool live = source_->loss_cause() == shm::LossCause::reader_lapped;  // it has a remark of its own
  if (view.chunks_before() && !live)
    remarks_.push_back("this source begins " + std::to_string(view.chunks_before()) +
                       " chunks after its run did; what was collected before is not in it");
  if (view.without_end() && !live && !source_->broke_off())
    remarks_.push_back(
        "this source ends before its run did (a snapshot, a file of a row, a disk that was full); what was "
        "collected later is not in it");
}

int TableReader::next(uint32_t timeout_ms) {
  tables_.clear();
  if (!over_ && (stopped_ || !read(timeout_ms))) finish();
  if (over_) return whole_ ? TTCOLLECT_END : TTCOLLECT_INCOMPLETE;
  const uint64_t missed = source_->missed_bytes();
  if (missed > std::exchange(missed_bytes_, missed)) return TTCOLLECT_LAPPED;
  return tables_.empty() ? TTCOLLECT_IDLE : TTCOLLECT_OK;
}

bool TableReader::lapped() const {
  const collect::LossView& view = pipeline_.loss_view();
  return source_->missed_bytes() || view.missing_chunks() ||
         (view.chunks_before() && source_->lost_beginning());
}

ttcollect_account TableReader::account() const {
  ttcollect_account account{};
  account.markers = pipeline_.markers();
  account.unpaired = devices_.unpaired() + host_.unpaired();
  account.lost_intervals = over_ ? pipeline_.losses().size() : pipeline_.loss_view().reported_count();
  account.missed_bytes = source_->missed_bytes();
  account.without_bound = pipeline_.without_bound();
  account.unparsable_words = pipeline_.anomalies().unparsable_words;
  return account;
}

}  // namespace ttc::tools
