#include "collector/record/capture_output.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "collector/capture/capture_file.hpp"
#include "collector/record/dropped_blocks.hpp"
#include "collector/record/test_point.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kClockChunks = 8;  // that a new file begins with
constexpr uint64_t kTendEveryNs = 100'000'000;
constexpr uint64_t kClosingBytes = 64 << 10;
constexpr uint64_t kExtraNumber = uint64_t{1} << 62;  // of blocks that no queue numbered

uint64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// 0 when the clock went back.
uint64_t passed(uint64_t since_ns, uint64_t now_ns) {
  return now_ns > since_ns ? now_ns - since_ns : 0;
}

AlignedBytes file_header(uint64_t session, uint32_t part) {
  FileHeader h;
  h.session = session;
  h.created_realtime_ns = clock_ns(CLOCK_REALTIME);
  h.created_raw_ns = clock_ns(CLOCK_MONOTONIC_RAW);
  h.part = part;
  h.checksum = checksum_of(&h, offsetof(FileHeader, checksum));
  AlignedBytes bytes;
  bytes.resize(kCaptureAlign);
  std::memset(bytes.data(), 0, bytes.size());
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

// A name lasts only when the directory that holds it was synced.
void sync_directory_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  const int fd = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

CaptureOutput::CaptureOutput(std::string path, uint64_t session, const CaptureBounds& bounds, OpenDisk open,
                             std::function<uint64_t()> now_ns)
    : path_(std::move(path)),
      session_(session),
      bounds_(bounds),
      open_(std::move(open)),
      now_ns_(std::move(now_ns)) {
  open_file();
}

CaptureOutput::~CaptureOutput() = default;

std::string CaptureOutput::name_of_part(uint32_t part) const {
  char number[16];
  std::snprintf(number, sizeof number, ".%04u", part);
  std::filesystem::path p(path_);
  const std::string extension = p.extension();
  return p.replace_extension().string() + number + (extension.empty() ? ".ttc" : extension);
}

// Throws CaptureError.
void CaptureOutput::open_file() {
  final_name_ = bounds_.rotates() ? name_of_part(part_) : path_;
  file_name_ = bounds_.rotates() ? final_name_ + ".part" : path_;
  disk_ = open_(file_name_);
  how_ = disk_->how();
  offset_ = 0;
  index_.clear();
  opened_ns_ = synced_ns_ = now_ns_();
  write_here(file_header(session_, part_).bytes(), "its header");
  how_ = disk_->how();
  test_point("file_begun");
}

void CaptureOutput::fail(const std::string& what, int error) {
  if (error_.empty()) error_ = what + ": " + std::strerror(error);
}

// Writes at the end of the file and waits for it; nothing else is under way.
bool CaptureOutput::write_here(std::span<const std::byte> bytes, const char* what) {
  disk_->write(offset_, bytes, 0);
  int error = 0;
  while (disk_->under_way())
    for (const CaptureDisk::Done& d : disk_->done(true)) error = d.error;
  for (const CaptureDisk::Done& d : disk_->done(false)) error = d.error;
  if (error) {
    fail(std::string("writing ") + what + " failed", error);
    return false;
  }
  offset_ += bytes.size();
  bytes_total_ += bytes.size();
  unsynced_ = true;
  return true;
}

void CaptureOutput::reap(bool wait, const Ended& ended) {
  for (const CaptureDisk::Done& d : disk_->done(wait)) {
    const auto it = under_way_.find(d.tag);
    const auto [block, entry] = it->second;
    under_way_.erase(it);
    if (d.error == 0) {
      index_.push_back(entry);
      bytes_total_ += entry.header.bytes;
      unsynced_ = true;
      remember(block->facts);
      test_point("block_written");
    } else {
      fail("writing failed", d.error);
      // The place of a block that did not fit is used again, if nothing lies behind it.
      if (entry.offset + entry.header.bytes == offset_ && under_way_.empty()) offset_ = entry.offset;
    }
    ended(block, d.error);
  }
}

void CaptureOutput::wait_all(const Ended& ended) {
  while (!under_way_.empty()) reap(true, ended);
}

// Oldest files of a row make room. False: there is none, and no more may be written.
bool CaptureOutput::make_room(uint64_t bytes) {
  if (bounds_.max_bytes == 0) return true;
  const auto used = [this] {
    uint64_t all = offset_;
    for (const Part& p : parts_) all += p.bytes;
    return all;
  };
  // The index of what there is must still fit, and the account of what was not kept.
  const uint64_t rest = bytes + (index_.size() + under_way_.size() + 2) * sizeof(IndexEntry) + kClosingBytes;
  while (used() + rest > bounds_.max_bytes) {
    if (bounds_.keep == Keep::oldest || parts_.empty()) return false;
    remove_oldest();
  }
  return true;
}

void CaptureOutput::remove_oldest() {
  std::remove(parts_.front().path.c_str());
  std::erase(files_, parts_.front().path);
  parts_.pop_front();
}

void CaptureOutput::put(QueuedBlock* block, const Ended& ended) {
  const uint64_t now = now_ns_();
  if (bounds_.rotates() && !index_.empty() &&
      ((bounds_.rotate_bytes && offset_ + block->header.bytes > bounds_.rotate_bytes) ||
       (bounds_.rotate_ns && passed(opened_ns_, now) >= bounds_.rotate_ns)))
    close_file(ended), ++part_, open_file(), put_facts({});
  if (full_ || !make_room(block->header.bytes)) {
    full_ = true;
    ended(block, kNotKept);
    return;
  }
  while (disk_->under_way() >= kDiskDepth) reap(true, ended);
  const uint64_t tag = ++next_tag_;
  under_way_[tag] = {block, {offset_, block->header}};
  disk_->write(offset_, block->packed.bytes(), tag);
  offset_ += block->header.bytes;
  reap(false, ended);
}

void CaptureOutput::tend(const Ended& ended) {
  reap(false, ended);
  const uint64_t now = now_ns_();
  if (passed(tended_ns_, now) < kTendEveryNs && now >= tended_ns_) return;
  tended_ns_ = now;
  if (bounds_.durable_ns && unsynced_ && passed(synced_ns_, now) >= bounds_.durable_ns) {
    wait_all(ended);
    if (const int error = disk_->sync()) fail("syncing failed", error);
    synced_ns_ = now_ns_();
    unsynced_ = false;
  }
  if (bounds_.max_age_ns)
    while (!parts_.empty() && passed(parts_.front().last_ns, now) > bounds_.max_age_ns) remove_oldest();
  if (disk_->removed()) {
    remarks_.push_back(file_name_ +
                       " was removed while it was written; it is begun anew, and what was in it is gone");
    wait_all(ended);
    open_file();
    put_facts({});
  }
}

// Sessions, names and what else every reader must know, and the records of losses.
void CaptureOutput::remember(const ChunkBatch& facts) {
  if (!bounds_.rotates() && facts.empty()) return;
  for (size_t i = 0; i < facts.size(); ++i) {
    const shm::ChunkHeader& h = shm::header_of(facts[i]);
    switch (h.kind) {
      case shm::ChunkKind::session:
      case shm::ChunkKind::names:
      case shm::ChunkKind::clock_domains:
        lasting_.emplace_back(facts[i].begin(), facts[i].end());
        break;
      case shm::ChunkKind::loss: {
        shm::LossRecord r;
        std::memcpy(&r, shm::body_of(facts[i]).data(), sizeof r);
        losses_[{h.session, r.id}] = {r, part_};
        break;
      }
      case shm::ChunkKind::clock:
        clocks_.emplace_back(facts[i].begin(), facts[i].end());
        if (clocks_.size() > kClockChunks) clocks_.pop_front();
        break;
      default:
        break;
    }
  }
}

// What was told before the last file was begun and has an end lies before everything in this one. It is in
// the totals.
void CaptureOutput::add_losses(ChunkBatch& to) const {
  std::map<uint64_t, std::map<std::pair<shm::LossCause, shm::LossPrecision>, shm::LossTotal>> totals;
  for (const auto& [key, loss] : losses_) {
    const shm::LossRecord& r = loss.record;
    shm::LossTotal& total = totals[key.first][{r.cause, r.precision}];
    total.cause = r.cause, total.precision = r.precision;
    ++total.intervals, total.words += r.words, total.launches += r.launches;
    if (r.to_cycles == shm::kOpenEnd || loss.part + 1 >= part_) add_loss_chunk(to, key.first, r);
  }
  if (part_ == 0) return;
  for (const auto& [session, by_kind] : totals) {
    std::vector<shm::LossTotal> all;
    for (const auto& [kind, total] : by_kind) all.push_back(total);
    add_loss_totals_chunk(to, session, all);
  }
}

// With what is remembered in front, where a file begins.
void CaptureOutput::put_facts(const ChunkBatch& facts) {
  ChunkBatch all;
  if (index_.empty()) {
    for (const auto& c : lasting_) all.add(c);
    add_losses(all);
    for (const auto& c : clocks_) all.add(c);
  }
  for (size_t i = 0; i < facts.size(); ++i) all.add(facts[i]);
  if (all.empty()) return;
  AlignedBytes block;
  const BlockHeader h = encoder_.encode(all, kExtraNumber + extra_number_++, block);
  const IndexEntry entry{offset_, h};
  if (write_here(block.bytes(), "facts")) index_.push_back(entry);
}

void CaptureOutput::close_file(const Ended& ended) {
  wait_all(ended);
  std::sort(index_.begin(), index_.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  test_point("before_index");
  AlignedBytes block;
  encode_index(index_, kExtraNumber + extra_number_++, offset_, block);
  const bool whole = write_here(block.bytes(), "the index");
  test_point("after_index");
  // A write that failed may have left bytes behind.
  if (!error_.empty()) disk_->cut_at(offset_);
  if (bounds_.durable_ns)
    if (const int error = disk_->sync()) fail("syncing failed", error);
  if (!bounds_.rotates()) {
    if (whole) files_.push_back(file_name_);
    return;
  }
  if (std::rename(file_name_.c_str(), final_name_.c_str()) != 0) {
    fail("giving " + file_name_ + " its name failed", errno);
    return;
  }
  if (bounds_.durable_ns) sync_directory_of(final_name_);
  test_point("after_rename");
  parts_.push_back({final_name_, offset_, now_ns_()});
  files_.push_back(final_name_);
}

void CaptureOutput::finish(const ChunkBatch& last_facts, const Ended& ended) {
  wait_all(ended);
  put_facts(last_facts);
  close_file(ended);
  disk_.reset();
}

}  // namespace ttc::collect
