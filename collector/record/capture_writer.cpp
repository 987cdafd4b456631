#include "collector/record/capture_writer.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <system_error>

#include "collector/capture/capture_file.hpp"
#include "collector/record/test_point.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr unsigned kChunksATurn = 256;         // then the next segment has its turn
constexpr unsigned kWaitAloneMs = 20;          // on the only segment: until it wakes its readers
constexpr unsigned kWaitAmongMs = 2;           // on one of several: the others' rings fill meanwhile
constexpr uint64_t kBlockAgeNs = 200'000'000;  // what is older goes to the disk, however little it is
constexpr uint64_t kReportLossesNs =
    1'000'000'000;  // a disk that is behind must not be fed with accounts of it
constexpr unsigned kWriterWaitMs = 50;
constexpr uint64_t kTurnsInMemory = 8;  // so much of it a feed fills before the rings have their turn
constexpr auto kFeedWait = std::chrono::milliseconds(5);  // where there is no ring to sleep on

}  // namespace

CaptureWriter::CaptureWriter(const CaptureOptions& options, uint64_t session)
    : options_(options),
      queue_(options.memory_bytes, options.keep_in_memory),
      gaps_(shm::LossCause::reader_lapped,
            [this](uint64_t of, const shm::LossRecord& record) { drops_.add(of, record); }) {
  OpenDisk open = options.open_disk;
  if (!open)
    open = [plain = options.plain](const std::string& path) { return open_capture_disk(path, plain); };
  output_ = std::make_unique<CaptureOutput>(options.path, session, options.bounds, std::move(open),
                                            options.now_ns ? options.now_ns : monotonic_now_ns);
  how_ = output_->how();
  try {
    begin_threads();
  } catch (const std::system_error& e) {
    end_begun();
    throw CaptureError(std::string("capture ") + options.path +
                       " cannot be written: no thread can be started: " + e.what());
  } catch (const std::bad_alloc&) {
    end_begun();
    throw;
  }
}

// Threads that were begun before one that could not be: the destructor of a thread that runs ends the program.
void CaptureWriter::end_begun() {
  queue_.close();
  join();
}

void CaptureWriter::begin_threads() {
  for (unsigned i = 0; i < std::max(1u, options_.packers); ++i) packers_.emplace_back([this] { pack(); });
  writer_ = std::thread([this] { write(); });
  gatherer_ = std::thread([this] { gather(); });
}

void CaptureWriter::join() {
  if (gatherer_.joinable()) gatherer_.join();
  for (std::thread& t : packers_) t.join();
  if (writer_.joinable()) writer_.join();
}

// An exception in a thread: the first one is kept.
void CaptureWriter::broke(std::exception_ptr why) {
  const std::lock_guard lock(mutex_);
  if (!broken_) broken_ = std::move(why);
}
bool CaptureWriter::is_broken() const {
  const std::lock_guard lock(mutex_);
  return broken_ != nullptr;
}

std::string CaptureWriter::error() const {
  if (!broken_) return output_->error();
  try {
    std::rethrow_exception(broken_);
  } catch (const std::bad_alloc&) {
    return "there was not enough memory";
  } catch (const std::exception& e) {
    return e.what();
  }
}

CaptureWriter::~CaptureWriter() {
  finish();
}

const CaptureWriter::Track& CaptureWriter::add(const std::string& live_name) {
  std::unique_ptr<Track> track(new Track(live_name));  // its constructor is ours alone
  const std::lock_guard lock(mutex_);
  tracks_.push_back(std::move(track));
  changed_.notify_one();
  return *tracks_.back();
}

void CaptureWriter::add(std::shared_ptr<ChunkFeed> feed) {
  const std::lock_guard lock(mutex_);
  feeds_.push_back(std::move(feed));
  changed_.notify_one();
}

// --- gathering

void CaptureWriter::gather() {
  try {
    gather_all();
  } catch (const std::exception&) {
    broke(std::current_exception());
    filling_.reset();
  }
  queue_.close();
}

void CaptureWriter::gather_all() {
  for (size_t turn = 0; refresh_active(); ++turn) {
    bool news = take_feeds();
    for (Track* track : active_) news |= take(*track, 0);
    const unsigned patience = active_.size() + active_feeds_.size() == 1 ? kWaitAloneMs : kWaitAmongMs;
    if (!news && active_.empty())
      std::this_thread::sleep_for(kFeedWait);
    else if (!news)
      take(*active_[turn % active_.size()], patience);
    if (filling_ && monotonic_now_ns() - filling_since_ns_ >= kBlockAgeNs) push_block();
  }
  if (filling_) push_block();
}

// False when every segment ended and none will be added. Sleeps while there is none to follow.
bool CaptureWriter::refresh_active() {
  std::unique_lock lock(mutex_);
  const auto collect = [this] {
    active_.clear();
    for (const auto& track : tracks_)
      if (!track->over_) active_.push_back(track.get());
    active_feeds_.clear();
    for (const auto& feed : feeds_)
      if (!feed->over()) active_feeds_.push_back(feed.get());
    return !active_.empty() || !active_feeds_.empty();
  };
  if (!collect() && filling_) {
    lock.unlock();
    push_block();
    lock.lock();
  }
  changed_.wait(lock, [&] { return collect() || finishing_; });
  return !active_.empty() || !active_feeds_.empty();
}

// True when anything came.
bool CaptureWriter::take_feeds() {
  bool any = false;
  for (ChunkFeed* feed : active_feeds_) {
    if (!is_broken() && queue_.bytes() > options_.memory_bytes / 2) return any;
    for (const auto& chunk : feed->take(options_.memory_bytes / kTurnsInMemory)) keep(chunk), any = true;
  }
  return any;
}

// True when anything came.
bool CaptureWriter::take(Track& track, unsigned wait_ms) {
  for (unsigned taken = 0; taken < kChunksATurn && !track.over_; ++taken) {
    switch (track.reader_.next(chunk_, taken ? 0 : wait_ms)) {
      case shm::Reader::Next::chunk:
        keep(chunk_);
        track.bytes_.fetch_add(chunk_.size() * 8, std::memory_order_relaxed);
        break;
      case shm::Reader::Next::lapped:
        track.lapped_.store(track.reader_.lost_bytes(), std::memory_order_relaxed);
        break;
      case shm::Reader::Next::timeout:
        return taken > 0;
      case shm::Reader::Next::damaged:
        track.error_ = "the ring is damaged: " + track.reader_.damage();
        track.over_ = true;
        break;
      case shm::Reader::Next::ended:
      case shm::Reader::Next::writer_died:
        track.over_ = true;
        break;
    }
  }
  return true;
}

void CaptureWriter::keep(std::span<const uint64_t> chunk) {
  gaps_.push(chunk);
  if (options_.redact) chunk = redactor_.redacted(chunk);
  if (filling_ && filling_->chunks.bytes() + chunk.size_bytes() > options_.block_bytes) push_block();
  if (!filling_) {
    filling_ = std::make_unique<QueuedBlock>();
    filling_->chunks.reserve(options_.block_bytes / 8);
    filling_since_ns_ = monotonic_now_ns();
  }
  filling_->chunks.add(chunk);
  // Chunks of the host's side are large, and none of their contents is needed while the file is written.
  const shm::ChunkKind kind = shm::header_of(chunk).kind;
  if (kind != shm::ChunkKind::device_words && kind != shm::ChunkKind::host_events) filling_->facts.add(chunk);
}

void CaptureWriter::push_block() {
  const uint64_t now = monotonic_now_ns();
  if (now - reported_losses_ns_ >= kReportLossesNs) {
    reported_losses_ns_ = now;
    const ChunkBatch reported = drops_.take();
    for (size_t i = 0; i < reported.size(); ++i)
      filling_->chunks.add(reported[i]), filling_->facts.add(reported[i]);
  }
  filling_->number = next_number_++;
  for (const auto& dropped : queue_.push(std::move(filling_))) drop(*dropped, shm::LossCause::disk_too_slow);
}

// --- packing

void CaptureWriter::pack() {
  std::optional<BlockEncoder> made;
  try {
    made.emplace();
  } catch (const std::exception&) {
    broke(std::current_exception());
    queue_.abandon();
    return;
  }
  BlockEncoder& encoder = *made;
  while (QueuedBlock* block = queue_.next_to_pack()) {
    try {
      block->header = encoder.encode(block->chunks, block->number, block->packed);
    } catch (const std::exception&) {
      broke(std::current_exception());
      queue_.not_packed(block);
      continue;
    }
    block->chunks = {};
    test_point("block_packed");
    queue_.packed(block);
  }
}

// --- writing

void CaptureWriter::drop(const QueuedBlock& block, shm::LossCause cause) {
  if (!block.chunks.empty()) return drops_.drop(block.chunks, cause);
  ChunkBatch chunks;
  BlockDecoder().decode(block.packed.bytes(), false, chunks);  // our own: it holds
  drops_.drop(chunks, cause);
}

void CaptureWriter::write() {
  try {
    write_all();
  } catch (const std::exception&) {
    broke(std::current_exception());
    output_->abandon("there was not enough memory");
    queue_.abandon();
  }
  file_bytes_.store(output_->bytes(), std::memory_order_relaxed);
}

void CaptureWriter::write_all() {
  const CaptureOutput::Ended ended = [this](QueuedBlock* block, int error) {
    if (error) drop(*block, shm::LossCause::not_kept);
    queue_.written(block);
  };
  while (!queue_.finished()) {
    if (QueuedBlock* block = queue_.next_to_write(output_->under_way() ? 1 : kWriterWaitMs))
      output_->put(block, ended);
    output_->tend(ended);
    file_bytes_.store(output_->bytes(), std::memory_order_relaxed);
  }
  if (is_broken()) return output_->abandon("there was not enough memory");
  output_->finish(drops_.take(), ended);
}

void CaptureWriter::finish() {
  if (!gatherer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    changed_.notify_one();
  }
  join();
  how_ = output_->how();
}

}  // namespace ttc::collect
