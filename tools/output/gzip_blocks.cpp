#include "tools/output/gzip_blocks.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>

namespace ttc::tools {
namespace {

constexpr size_t kWindowBytes = 32 << 10;  // deflate refers to nothing before them
// RFC 1952, 2.3: no name, no time, not the best compression, written on Unix.
constexpr char kHead[] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, 3};

void put_32(char* at, uint64_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(value >> 8 * i);
}

}  // namespace

class GzipBlocks::Block : public jobs::Workers::Job {
 public:
  explicit Block(Members members) : members_(members) {
    constexpr int kFast = 3, kMemory = 8, kGzip = 16 + MAX_WBITS, kRaw = -MAX_WBITS;
    if (deflateInit2(&stream_, kFast, Z_DEFLATED, members == Members::one ? kRaw : kGzip, kMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
    in_.reserve(kBlockBytes);
  }
  ~Block() override { deflateEnd(&stream_); }

  void begin(const std::vector<char>& dictionary) {
    dictionary_ = dictionary;
    in_.clear();
    last_ = false;
  }
  // Of `bytes` what has room, or all.
  size_t take(std::string_view bytes) {
    const size_t taken =
        members_ == Members::of_appends ? bytes.size() : std::min(bytes.size(), kBlockBytes - in_.size());
    in_.insert(in_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(taken));
    return taken;
  }
  void set_last() { last_ = true; }
  bool full() const { return in_.size() == kBlockBytes; }
  const std::vector<char>& in() const { return in_; }
  // After run().
  std::string_view compressed() const { return {out_.data(), made_}; }
  uint64_t checksum() const { return checksum_; }

  void run() override {
    deflateReset(&stream_);
    if (!dictionary_.empty())
      deflateSetDictionary(&stream_, reinterpret_cast<const Bytef*>(dictionary_.data()),
                           static_cast<uInt>(dictionary_.size()));
    stream_.next_in = reinterpret_cast<Bytef*>(in_.data());
    stream_.avail_in = static_cast<uInt>(in_.size());
    const bool ends = last_ || members_ != Members::one;
    made_ = 0;
    do {
      constexpr size_t kStep = kBlockBytes / 4;
      out_.resize(std::max(out_.size(), made_ + kStep));
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data() + made_);
      stream_.avail_out = static_cast<uInt>(out_.size() - made_);
      deflate(&stream_, ends ? Z_FINISH : Z_SYNC_FLUSH);
      made_ = out_.size() - stream_.avail_out;
    } while (stream_.avail_out == 0);
    if (members_ == Members::one)
      checksum_ = crc32_z(0, reinterpret_cast<const Bytef*>(in_.data()), in_.size());
  }

 private:
  const Members members_;
  z_stream stream_{};
  std::vector<char> dictionary_, in_, out_;
  size_t made_ = 0;
  bool last_ = false;
  uint64_t checksum_ = 0;
};

GzipBlocks::GzipBlocks(jobs::Workers* workers, Members members, Write write)
    : workers_(workers),
      members_(members),
      write_(std::move(write)),
      most_blocks_(workers ? 2 * size_t{workers->threads()} : 1) {}

GzipBlocks::~GzipBlocks() {
  if (workers_) workers_->forget_all();
}

GzipBlocks::Block& GzipBlocks::filling() {
  if (filling_) return *blocks_.back();
  if (blocks_.size() == most_blocks_) write_oldest();
  if (spare_.empty()) spare_.push_back(std::make_unique<Block>(members_));
  blocks_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  blocks_.back()->begin(dictionary_);
  filling_ = true;
  return *blocks_.back();
}

void GzipBlocks::append(std::string_view bytes) {
  while (!bytes.empty()) {
    Block& block = filling();
    bytes.remove_prefix(block.take(bytes));
    if (block.full() || members_ == Members::of_appends) hand_over(false);
  }
}

void GzipBlocks::hand_over(bool last) {
  Block& block = *blocks_.back();
  filling_ = false;
  if (last) block.set_last();
  if (members_ == Members::one) {
    const std::vector<char>& in = block.in();
    dictionary_.assign(in.end() - static_cast<ptrdiff_t>(std::min(in.size(), kWindowBytes)), in.end());
  }
  if (workers_)
    workers_->submit(block);
  else
    block.run();
}

void GzipBlocks::write_oldest() {
  if (workers_) workers_->wait(*blocks_.front());
  Block& block = *blocks_.front();
  if (members_ == Members::one) {
    if (!begun_) write_({kHead, sizeof kHead});
    checksum_ = crc32_combine(checksum_, block.checksum(), static_cast<z_off_t>(block.in().size()));
    bytes_ += block.in().size();
  }
  begun_ = true;
  write_(block.compressed());
  spare_.push_back(std::move(blocks_.front()));
  blocks_.pop_front();
}

void GzipBlocks::flush() {
  if (members_ == Members::one)
    return;  // a block that ends early would make the stream depend on when that was
  if (filling_) hand_over(false);
  while (!blocks_.empty()) write_oldest();
}

void GzipBlocks::finish() {
  if (members_ == Members::one || (!begun_ && blocks_.empty())) {
    filling();
    hand_over(true);
  }
  if (filling_) hand_over(true);
  while (!blocks_.empty()) write_oldest();
  if (members_ != Members::one) return;
  char tail[8];
  put_32(tail, checksum_);
  put_32(tail + 4, bytes_);
  write_({tail, sizeof tail});
}

}  // namespace ttc::tools
