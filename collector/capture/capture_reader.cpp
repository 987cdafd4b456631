#include "ttcollect/capture_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <new>
#include <tuple>
#include <utility>

#include "collector/capture/capture_file.hpp"
#include "collector/jobs/memory_pool.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::collect {
namespace {

constexpr uint32_t kLargestChunk = 256u << 20;  // an eighth of the largest ring that --ring accepts
constexpr uint32_t kWordsBit = 1u << static_cast<uint32_t>(shm::ChunkKind::device_words);
constexpr size_t kBlocksAhead = 1;  // for each thread

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
  } catch (const std::bad_alloc&) {  // one block is given up, and not all that is behind it
    chunks = {};
    decoder.give_back();
    return "a block of it needs more memory than there is";
  }
  return {};
}

// Blocks decoded by any thread, some ahead of the reader, handed over in the file's order.
class Ahead {
 public:
  using Todo = std::vector<std::pair<size_t, Take>>;
  Ahead(const CaptureFile& file, Todo todo, jobs::Workers& workers)
      : file_(file),
        todo_(std::move(todo)),
        workers_(workers),
        most_(kBlocksAhead * workers.threads()),
        decoders_(workers.threads()),
        memory_(workers.threads()) {
    submit_some();
  }
  ~Ahead() {
    for (const auto& block : under_way_) workers_.forget(*block);
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // Does what decode() does. No chunks: it could not.
  std::string next(std::shared_ptr<const ChunkBatch>& chunks) {
    Block& oldest = *under_way_.front();
    workers_.wait(oldest);
    chunks = std::move(oldest.chunks);
    std::string why = std::move(oldest.why);
    spare_.push_back(std::move(under_way_.front()));
    under_way_.pop_front();
    submit_some();
    return why;
  }

 private:
  class Block : public jobs::Workers::Job {
   public:
    explicit Block(Ahead& ahead) : ahead_(ahead) {}
    size_t number = 0;
    Take take = Take::all;
    std::shared_ptr<const ChunkBatch> chunks;
    std::string why;

   private:
    void run() override {
      const std::shared_ptr<ChunkBatch> memory = ahead_.memory_.take(done_by());
      why = decode(ahead_.file_, number, take, ahead_.decoders_[done_by()], *memory);
      chunks = why.empty() ? memory : nullptr;
    }
    Ahead& ahead_;
  };

  void submit_some() {
    for (; begun_ < todo_.size() && under_way_.size() < most_; ++begun_) {
      if (spare_.empty()) spare_.push_back(std::make_unique<Block>(*this));
      under_way_.push_back(std::move(spare_.back()));
      spare_.pop_back();
      Block& block = *under_way_.back();
      std::tie(block.number, block.take) = todo_[begun_];
      workers_.submit(block);
    }
  }

  const CaptureFile& file_;
  const Todo todo_;
  jobs::Workers& workers_;
  const size_t most_;
  std::deque<std::unique_ptr<Block>> under_way_;  // oldest first
  std::vector<std::unique_ptr<Block>> spare_;
  size_t begun_ = 0;                    // of todo_
  std::vector<BlockDecoder> decoders_;  // by thread, in whose caches they stay
  jobs::MemoryPool<ChunkBatch> memory_;
};

}  // namespace

bool Wanted::wants(const BlockHeader& b) const {
  return b.read_from_ns <= read_to_ns && b.read_to_ns >= read_from_ns && b.cycles_from <= cycles_to &&
         b.cycles_to >= cycles_from && b.lane_from <= lane_to && b.lane_to >= lane_from;
}
bool Wanted::wants(const shm::ChunkHeader& c) const {
  return c.kind != shm::ChunkKind::device_words ||
         (c.read_time_ns >= read_from_ns && c.read_time_ns <= read_to_ns);
}

struct CaptureReader::Parts {
  Parts(const std::string& path, const Wanted& what, jobs::Workers* workers);

  // Without its memory of version 1, whose chunks are in `own`. False at the end.
  bool next(shm::KeptChunk& chunk);
  bool next_of_version_1(std::vector<uint64_t>& chunk);
  bool next_batch();
  std::string decode_now(size_t at, Take take);
  void count_from(uint64_t first_ns);
  void note_edges();
  void note_damage(const std::string& why);
  double progress() const;

  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  CaptureFile file;
  Wanted wanted;
  std::unique_ptr<std::FILE, Close> stream;  // of version 1
  std::unique_ptr<Ahead> ahead;
  BlockDecoder decoder;
  jobs::MemoryPool<ChunkBatch> memory;
  std::shared_ptr<const ChunkBatch> batch;
  size_t in_batch = 0;
  bool lasting = true;  // sessions and names come first
  size_t block = 0;     // the next one
  uint64_t offset = 0;
  uint64_t blocks_read = 0, blocks_of_facts = 0;
  uint64_t facts_first = 0;  // of those, read for sessions and names before anything else
  bool cut = false;
  bool lost_beginning = false, lost_end = false;
  std::string damage;
  size_t damaged_parts = 0;
};

CaptureReader::Parts::Parts(const std::string& path, const Wanted& what, jobs::Workers* workers)
    : file(path), wanted(what) {
  if (file.version() == 1) {
    stream.reset(std::fopen(path.c_str(), "rbe"));
    if (!stream) throw CaptureError("capture " + path + " cannot be opened: " + std::strerror(errno));
    if (std::fseek(stream.get(), sizeof(CaptureHeader), SEEK_SET) != 0)
      throw CaptureError("capture " + path + " cannot be read: " + std::strerror(errno));
    offset = sizeof(CaptureHeader);
    return;
  }
  for (const DamagedPart& part : file.damage())
    note_damage("at byte " + std::to_string(part.from) + ": " + part.why);
  note_edges();
  cut = file.cut();
  uint64_t first = ~uint64_t{0};
  for (const IndexEntry& e : file.blocks())
    if (e.header.read_to_ns) first = std::min(first, e.header.read_from_ns);
  if (first != ~uint64_t{0}) count_from(first);
  if (!workers) return;
  Ahead::Todo todo;
  for (size_t i = 0; i < file.blocks().size(); ++i)
    if (const Take take = take_of(file.blocks()[i].header, wanted); take != Take::nothing)
      todo.emplace_back(i, take);
  ahead = std::make_unique<Ahead>(file, std::move(todo), *workers);
}

void CaptureReader::Parts::count_from(uint64_t first_ns) {
  if (!wanted.relative) return;
  wanted.relative = false;
  wanted.read_from_ns += first_ns;
  if (wanted.read_to_ns != ~uint64_t{0}) wanted.read_to_ns += first_ns;
}

// Damaged parts in front of the first block and behind the last. The file's header holds no chunks.
void CaptureReader::Parts::note_edges() {
  const auto blocks = file.blocks();
  for (const DamagedPart& part : file.damage()) {
    if (part.from < kCaptureAlign) continue;
    lost_beginning |= blocks.empty() || part.from < blocks.front().offset;
    lost_end |= blocks.empty() || part.from > blocks.back().offset;
  }
}

void CaptureReader::Parts::note_damage(const std::string& why) {
  if (damaged_parts++ == 0) damage = why;
}

double CaptureReader::Parts::progress() const {
  if (file.version() != 1)
    return file.blocks().empty() ? 1 : static_cast<double>(block) / static_cast<double>(file.blocks().size());
  return file.bytes() ? static_cast<double>(offset) / static_cast<double>(file.bytes()) : 0;
}

bool CaptureReader::Parts::next(shm::KeptChunk& chunk) {
  if (stream) {
    chunk.memory.reset();
    const bool more = next_of_version_1(chunk.own);
    chunk.words = chunk.own;
    return more;
  }
  for (;;) {
    while (!batch || in_batch == batch->size())
      if (!next_batch()) return false;
    const auto found = (*batch)[in_batch++];
    // Another thread may have unpacked it: the next one's header is on its way from that one's caches while this chunk is worked on.
    if (in_batch < batch->size()) __builtin_prefetch((*batch)[in_batch].data());
    const shm::ChunkHeader& h = shm::header_of(found);
    if (lasts(h) != lasting || !wanted.wants(h)) continue;
    chunk.words = found;
    chunk.memory = batch;
    return true;
  }
}

std::string CaptureReader::Parts::decode_now(size_t at, Take take) {
  const std::shared_ptr<ChunkBatch> chunks = memory.take();
  std::string why = decode(file, at, take, decoder, *chunks);
  batch = why.empty() ? chunks : nullptr;
  return why;
}

// The chunks of the next block that holds any of the selected ones. False at the end.
bool CaptureReader::Parts::next_batch() {
  batch.reset();
  in_batch = 0;
  for (; lasting && block < file.blocks().size();) {
    const size_t at = block++;
    if (!(file.blocks()[at].header.kinds & kLastingBits)) continue;
    if (const std::string why = decode_now(at, Take::facts);
        !why.empty()) {  // where the block is read again it is reported then
      if (take_of(file.blocks()[at].header, wanted) == Take::nothing)
        note_damage("at byte " + std::to_string(file.blocks()[at].offset) + ": " + why);
      continue;
    }
    ++blocks_of_facts;
    return true;
  }
  if (lasting) lasting = false, block = 0, facts_first = blocks_of_facts;
  while (block < file.blocks().size()) {
    const size_t at = block++;
    const IndexEntry& e = file.blocks()[at];
    offset = e.offset + e.header.bytes;
    const Take take = take_of(e.header, wanted);
    if (take == Take::nothing) continue;
    if (const std::string why = ahead ? ahead->next(batch) : decode_now(at, take); !why.empty()) {
      note_damage("at byte " + std::to_string(e.offset) + ": " + why);
      lost_beginning |= blocks_read + blocks_of_facts == facts_first;
      lost_end |= at + 1 == file.blocks().size();
      continue;
    }
    ++(take == Take::facts ? blocks_of_facts : blocks_read);
    return true;
  }
  return false;
}

bool CaptureReader::Parts::next_of_version_1(std::vector<uint64_t>& chunk) {
  for (;;) {
    if (cut || !damage.empty()) return false;  // blocks behind it cannot be found
    uint64_t first;
    const size_t got = std::fread(&first, 1, sizeof first, stream.get());
    if (got != sizeof first) {
      cut = got != 0;
      return false;
    }
    const auto bytes_untrusted = static_cast<uint32_t>(first);
    if (bytes_untrusted < sizeof(shm::ChunkHeader) || bytes_untrusted > kLargestChunk) {
      note_damage("at byte " + std::to_string(offset) + ": a chunk cannot be " +
                  std::to_string(bytes_untrusted) + " bytes long");
      return false;
    }
    if (bytes_untrusted > file.bytes() - std::min(file.bytes(), offset)) {
      cut = true;  // never reserve memory for what is not there
      return false;
    }
    chunk.resize((bytes_untrusted + 7) / 8);
    chunk[0] = first;
    if (std::fread(chunk.data() + 1, 8, chunk.size() - 1, stream.get()) != chunk.size() - 1) {
      cut = true;
      return false;
    }
    if (const std::string why = shm::check_chunk(chunk); !why.empty()) {
      note_damage("at byte " + std::to_string(offset) + ": " + why);
      return false;
    }
    offset += chunk.size() * 8;
    if (const shm::ChunkHeader& h = shm::header_of(chunk); h.kind == shm::ChunkKind::device_words)
      count_from(h.read_time_ns);
    if (wanted.wants(shm::header_of(chunk))) return true;
  }
}

CaptureReader::CaptureReader(const std::string& path, const Wanted& wanted, jobs::Workers* workers)
    : parts_(std::make_unique<Parts>(path, wanted, workers)) {}
CaptureReader::~CaptureReader() = default;
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;

bool CaptureReader::next(shm::KeptChunk& chunk) {
  return parts_->next(chunk);
}
bool CaptureReader::next(std::vector<uint64_t>& chunk) {
  if (parts_->stream) return parts_->next_of_version_1(chunk);
  shm::KeptChunk kept;
  if (!parts_->next(kept)) return false;
  chunk.assign(kept.words.begin(), kept.words.end());
  return true;
}
bool CaptureReader::cut() const {
  return parts_->cut;
}
const std::string& CaptureReader::damage() const {
  return parts_->damage;
}
size_t CaptureReader::damaged_parts() const {
  return parts_->damaged_parts;
}
bool CaptureReader::lost_beginning() const {
  return parts_->lost_beginning;
}
bool CaptureReader::broke_off() const {
  return parts_->cut || parts_->lost_end || !parts_->file.indexed();
}
bool CaptureReader::lacks_blocks() const {
  return parts_->file.lacks_blocks();
}
uint64_t CaptureReader::offset() const {
  return parts_->offset;
}
double CaptureReader::progress() const {
  return parts_->progress();
}
uint32_t CaptureReader::version() const {
  return parts_->file.version();
}
bool CaptureReader::ended_in_order() const {
  return parts_->file.indexed();
}
uint64_t CaptureReader::blocks_read() const {
  return parts_->blocks_read;
}
uint64_t CaptureReader::blocks_of_facts() const {
  return parts_->blocks_of_facts;
}
const CaptureFile& CaptureReader::file() const {
  return parts_->file;
}

}  // namespace ttc::collect
