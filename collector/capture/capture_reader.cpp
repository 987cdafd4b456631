#include "ttcollect/capture_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace ttc::collect {
namespace {

constexpr uint32_t kLargestChunk = 256u << 20;  // an eighth of the largest ring anybody can ask for
constexpr uint32_t kWordsBit = 1u << static_cast<uint32_t>(shm::ChunkKind::device_words);
constexpr size_t kBlocksAhead = 2;  // of each thread

// What every reader needs before the words; as from a segment, it is delivered first.
constexpr uint32_t bit(shm::ChunkKind kind) {
  return 1u << static_cast<uint32_t>(kind);
}
constexpr uint32_t kLastingBits =
    bit(shm::ChunkKind::session) | bit(shm::ChunkKind::names) | bit(shm::ChunkKind::clock_domains);
bool lasts(const shm::ChunkHeader& h) {
  return static_cast<uint32_t>(h.kind) < 31 && (bit(h.kind) & kLastingBits);
}

enum class Take : uint8_t { nothing, facts, all };

Take take_of(const BlockHeader& h, const Wanted& wanted) {
  if (h.kinds & kWordsBit && wanted.wants(h)) return Take::all;
  return h.kinds & ~kWordsBit & ~kLastingBits ? Take::facts : Take::nothing;
}

// Why it could not be decoded, empty when it could.
std::string decode(const CaptureFile& file, size_t block, Take take, BlockDecoder& decoder,
                   ChunkBatch& chunks) {
  chunks.clear();
  try {
    file.read(block, take == Take::facts, decoder, chunks);
  } catch (const BlockError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

bool Wanted::wants(const BlockHeader& b) const {
  return b.read_from_ns <= read_to_ns && b.read_to_ns >= read_from_ns && b.cycles_from <= cycles_to &&
         b.cycles_to >= cycles_from && b.lane_from <= lane_to && b.lane_to >= lane_from;
}
bool Wanted::wants(const shm::ChunkHeader& c) const {
  return c.kind != shm::ChunkKind::device_words ||
         (c.read_time_ns >= read_from_ns && c.read_time_ns <= read_to_ns);
}

// Blocks decoded ahead, each by one of several threads, handed over in the file's order.
struct CaptureReader::Ahead {
  Ahead(const CaptureFile& source, std::vector<std::pair<size_t, Take>> list, unsigned threads)
      : file(source), todo(std::move(list)), most(kBlocksAhead * threads) {
    for (unsigned i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
  }
  ~Ahead() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
      changed.notify_all();
    }
    for (std::thread& t : workers) t.join();
  }

  void work() {
    BlockDecoder decoder;
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return stop || begun == todo.size() || begun < taken + most; });
      if (stop || begun == todo.size()) return;
      const size_t mine = begun++;
      slots.emplace_back();
      Slot& slot = slots.back();  // a deque's elements stay where they are
      if (!spare.empty()) {
        slot.chunks = std::move(spare.back());
        spare.pop_back();
      }
      lock.unlock();
      slot.why = decode(file, todo[mine].first, todo[mine].second, decoder, slot.chunks);
      lock.lock();
      slot.ready = true;
      changed.notify_all();
    }
  }

  // As decode(). What `chunks` had for memory is used again.
  std::string next(ChunkBatch& chunks) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return !slots.empty() && slots.front().ready; });
    spare.push_back(std::exchange(chunks, std::move(slots.front().chunks)));
    std::string why = std::move(slots.front().why);
    slots.pop_front();
    ++taken;
    changed.notify_all();
    return why;
  }

  struct Slot {
    ChunkBatch chunks;
    std::string why;
    bool ready = false;
  };
  const CaptureFile& file;
  const std::vector<std::pair<size_t, Take>> todo;
  const size_t most;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Slot> slots;  // from `taken` on
  std::vector<ChunkBatch> spare;
  size_t begun = 0, taken = 0;
  bool stop = false;
  std::vector<std::thread> workers;
};

CaptureReader::CaptureReader(const std::string& path, const Wanted& wanted, unsigned threads)
    : file_(path), wanted_(wanted) {
  if (file_.version() == 1) {
    stream_.reset(std::fopen(path.c_str(), "rbe"));
    if (!stream_) throw CaptureError("capture " + path + " cannot be opened: " + std::strerror(errno));
    if (std::fseek(stream_.get(), sizeof(CaptureHeader), SEEK_SET) != 0)
      throw CaptureError("capture " + path + " cannot be read: " + std::strerror(errno));
    offset_ = sizeof(CaptureHeader);
    return;
  }
  for (const DamagedPart& part : file_.damage())
    note_damage("at byte " + std::to_string(part.from) + ": " + part.why);
  note_edges();
  cut_ = file_.cut();
  uint64_t first = ~uint64_t{0};
  for (const IndexEntry& e : file_.blocks())
    if (e.header.read_to_ns) first = std::min(first, e.header.read_from_ns);
  if (first != ~uint64_t{0}) count_from(first);
  if (threads == 0) return;
  std::vector<std::pair<size_t, Take>> todo;
  for (size_t i = 0; i < file_.blocks().size(); ++i)
    if (const Take take = take_of(file_.blocks()[i].header, wanted_); take != Take::nothing)
      todo.emplace_back(i, take);
  ahead_ = std::make_unique<Ahead>(file_, std::move(todo), threads);
}

CaptureReader::~CaptureReader() = default;

void CaptureReader::count_from(uint64_t first_ns) {
  if (!wanted_.relative) return;
  wanted_.relative = false;
  wanted_.read_from_ns += first_ns;
  if (wanted_.read_to_ns != ~uint64_t{0}) wanted_.read_to_ns += first_ns;
}

// Damaged parts in front of the first block and behind the last. The file's header holds no chunks.
void CaptureReader::note_edges() {
  const auto blocks = file_.blocks();
  for (const DamagedPart& part : file_.damage()) {
    if (part.from < kCaptureAlign) continue;
    lost_beginning_ |= blocks.empty() || part.from < blocks.front().offset;
    lost_end_ |= blocks.empty() || part.from > blocks.back().offset;
  }
}

void CaptureReader::note_damage(const std::string& why) {
  if (damaged_parts_++ == 0) damage_ = why;
}

double CaptureReader::progress() const {
  if (file_.version() != 1)
    return file_.blocks().empty() ? 1
                                  : static_cast<double>(block_) / static_cast<double>(file_.blocks().size());
  return file_.bytes() ? static_cast<double>(offset_) / static_cast<double>(file_.bytes()) : 0;
}

bool CaptureReader::next(std::vector<uint64_t>& chunk) {
  if (stream_) return next_of_version_1(chunk);
  for (;;) {
    while (in_batch_ == batch_.size())
      if (!next_batch()) return false;
    const auto found = batch_[in_batch_++];
    const shm::ChunkHeader& h = shm::header_of(found);
    if (lasts(h) != lasting_ || !wanted_.wants(h)) continue;
    chunk.assign(found.begin(), found.end());
    return true;
  }
}

// The chunks of the next block that holds any that are wanted. False at the end.
bool CaptureReader::next_batch() {
  batch_.clear();
  in_batch_ = 0;
  for (; lasting_ && block_ < file_.blocks().size();) {
    const size_t at = block_++;
    if (!(file_.blocks()[at].header.kinds & kLastingBits)) continue;
    if (const std::string why = decode(file_, at, Take::facts, decoder_, batch_);
        !why.empty()) {  // where the block is read again it is told then
      if (take_of(file_.blocks()[at].header, wanted_) == Take::nothing)
        note_damage("at byte " + std::to_string(file_.blocks()[at].offset) + ": " + why);
      continue;
    }
    ++blocks_of_facts_;
    return true;
  }
  if (lasting_) lasting_ = false, block_ = 0, facts_first_ = blocks_of_facts_;
  while (block_ < file_.blocks().size()) {
    const size_t at = block_++;
    const IndexEntry& e = file_.blocks()[at];
    offset_ = e.offset + e.header.bytes;
    const Take take = take_of(e.header, wanted_);
    if (take == Take::nothing) continue;
    if (const std::string why = ahead_ ? ahead_->next(batch_) : decode(file_, at, take, decoder_, batch_);
        !why.empty()) {
      note_damage("at byte " + std::to_string(e.offset) + ": " + why);
      lost_beginning_ |= blocks_read_ + blocks_of_facts_ == facts_first_;
      lost_end_ |= at + 1 == file_.blocks().size();
      continue;
    }
    ++(take == Take::facts ? blocks_of_facts_ : blocks_read_);
    return true;
  }
  return false;
}

bool CaptureReader::next_of_version_1(std::vector<uint64_t>& chunk) {
  for (;;) {
    if (cut_ || !damage_.empty()) return false;  // nothing behind it can be found
    uint64_t first;
    const size_t got = std::fread(&first, 1, sizeof first, stream_.get());
    if (got != sizeof first) {
      cut_ = got != 0;
      return false;
    }
    const auto bytes_untrusted = static_cast<uint32_t>(first);
    if (bytes_untrusted < sizeof(shm::ChunkHeader) || bytes_untrusted > kLargestChunk) {
      note_damage("at byte " + std::to_string(offset_) + ": a chunk cannot be " +
                  std::to_string(bytes_untrusted) + " bytes long");
      return false;
    }
    if (bytes_untrusted > file_.bytes() - std::min(file_.bytes(), offset_)) {
      cut_ = true;  // never reserve memory for what is not there
      return false;
    }
    chunk.resize((bytes_untrusted + 7) / 8);
    chunk[0] = first;
    if (std::fread(chunk.data() + 1, 8, chunk.size() - 1, stream_.get()) != chunk.size() - 1) {
      cut_ = true;
      return false;
    }
    if (const std::string why = shm::check_chunk(chunk); !why.empty()) {
      note_damage("at byte " + std::to_string(offset_) + ": " + why);
      return false;
    }
    offset_ += chunk.size() * 8;
    if (const shm::ChunkHeader& h = shm::header_of(chunk); h.kind == shm::ChunkKind::device_words)
      count_from(h.read_time_ns);
    if (wanted_.wants(shm::header_of(chunk))) return true;
  }
}

}  // namespace ttc::collect
