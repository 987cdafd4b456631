#include "collector/record/capture_output.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "collector/capture/capture_file.hpp"
#include "collector/record/dropped_blocks.hpp"
#include "collector/record/test_point.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kClockChunks = 8;  // that a new file begins with
constexpr uint64_t kTendEveryNs = 100'000'000;
constexpr uint64_t kBeginAgainNs = 1'000'000'000;  // a file that could not be begun
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

}  // namespace

CaptureOutput::CaptureOutput(std::string path, uint64_t session, const CaptureBounds& bounds, OpenDisk open,
                             std::function<uint64_t()> now_ns)
    : path_(std::move(path)),
      session_(session),
      bounds_(bounds),
      open_(std::move(open)),
      now_ns_(std::move(now_ns)) {
  open_file();
  try {
    if (!write_here(file_header(session_, part_).bytes(), "its header"))
      throw CaptureError("capture " + file_.name + " cannot be written: " + error_);
  } catch (...) {
    file_.disk->discard();
    throw;
  }
  how_ = file_.disk->how();
  test_point("file_begun");
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
  file_.final_name = bounds_.rotates() ? name_of_part(part_) : path_;
  file_.name = bounds_.rotates() ? file_.final_name + ".part" : path_;
  file_.disk.reset();
  file_.disk = open_(file_.name);
  how_ = file_.disk->how();
  file_.offset = 0;
  file_.index.clear();
  file_.lacking = false;
  file_.opened_ns = file_.synced_ns = now_ns_();
}

// Begins a file after the first one, with what every reader must know. False: it failed, and no file is left.
bool CaptureOutput::begin_file() {
  try {
    open_file();
  } catch (const CaptureError& e) {
    fail(std::string(e.what()));
  }
  if (file_.disk && write_here(file_header(session_, part_).bytes(), "its header") && put_facts({})) {
    test_point("file_begun");
    return true;
  }
  if (file_.disk) file_.disk->discard();
  file_.disk.reset();
  try_again_ns_ = now_ns_() + kBeginAgainNs;
  return false;
}

void CaptureOutput::fail(const std::string& sentence) {
  if (error_.empty()) error_ = sentence;
}
void CaptureOutput::fail(const std::string& what, int error) {
  fail(what + ": " + std::strerror(error));
}

void CaptureOutput::abandon(const char* why) noexcept {
  try {
    fail(std::string(why));
  } catch (const std::exception&) {
    error_ = "no memory";  // short enough to need none
  }
  file_.disk.reset();  // waits for what is under way
  under_way_.clear();
}

// Writes at the end of the file and waits for it; no other write may be under way.
bool CaptureOutput::write_here(std::span<const std::byte> bytes, const char* what) {
  file_.disk->write(file_.offset, bytes, 0);
  int error = 0;
  while (file_.disk->under_way())
    for (const CaptureDisk::Done& d : file_.disk->done(true)) error = d.error;
  if (error) {
    fail(std::string("writing ") + what + " failed", error);
    return false;
  }
  file_.offset += bytes.size();
  bytes_total_ += bytes.size();
  file_.unsynced = true;
  return true;
}

void CaptureOutput::reap(bool wait, const Ended& ended) {
  for (const CaptureDisk::Done& d : file_.disk->done(wait)) {
    const auto it = under_way_.find(d.tag);
    const auto [block, entry] = it->second;
    under_way_.erase(it);
    if (d.error == 0) {
      file_.index.push_back(entry);
      bytes_total_ += entry.header.bytes;
      file_.unsynced = true;
      remember(block->facts);
      test_point("block_written");
    } else {
      fail("writing failed", d.error);
      // The place of a block that did not fit is used again if it is the last one.
      if (entry.offset + entry.header.bytes == file_.offset && under_way_.empty())
        file_.offset = entry.offset;
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
    uint64_t all = file_.offset;
    for (const Part& p : parts_) all += p.bytes;
    return all;
  };
  // The index of what there is must still fit, and the account of what was not kept.
  const uint64_t rest =
      bytes + (file_.index.size() + under_way_.size() + 2) * sizeof(IndexEntry) + kClosingBytes;
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

bool CaptureOutput::rotation_due(uint64_t more_bytes, uint64_t now_ns) const {
  return bounds_.rotates() && !file_.index.empty() &&
         ((bounds_.rotate_bytes && file_.offset + more_bytes > bounds_.rotate_bytes) ||
          (bounds_.rotate_ns && passed(file_.opened_ns, now_ns) >= bounds_.rotate_ns));
}

// If the next file cannot be begun, this one is continued.
void CaptureOutput::rotate(const Ended& ended, uint64_t now_ns) {
  if (now_ns < try_again_ns_) return;
  wait_all(ended);
  File done = std::exchange(file_, {});
  ++part_;
  if (!begin_file()) {
    --part_;
    file_ = std::move(done);
    return;
  }
  std::swap(file_, done);
  close_file(ended);
  file_ = std::move(done);
}

void CaptureOutput::put(QueuedBlock* block, const Ended& ended) {
  const uint64_t now = now_ns_();
  if (file_.disk && rotation_due(block->header.bytes, now))
    rotate(ended, now);
  else if (!file_.disk && now >= try_again_ns_)
    begin_file();
  if (full_ || !file_.disk || !make_room(block->header.bytes)) {
    full_ |= file_.disk != nullptr;
    ended(block, kNotKept);
    return;
  }
  while (file_.disk->under_way() >= kDiskDepth) reap(true, ended);
  const uint64_t tag = ++next_tag_;
  under_way_[tag] = {block, {file_.offset, block->header}};
  file_.disk->write(file_.offset, block->packed.bytes(), tag);
  file_.offset += block->header.bytes;
  reap(false, ended);
}

void CaptureOutput::tend(const Ended& ended) {
  if (!file_.disk) return;
  reap(false, ended);
  const uint64_t now = now_ns_();
  if (passed(tended_ns_, now) < kTendEveryNs && now >= tended_ns_) return;
  tended_ns_ = now;
  if (bounds_.durable_ns && file_.unsynced && passed(file_.synced_ns, now) >= bounds_.durable_ns) {
    wait_all(ended);
    if (const int error = file_.disk->sync()) fail("syncing failed", error), file_.lacking = true;
    file_.synced_ns = now_ns_();
    file_.unsynced = false;
  }
  if (bounds_.max_age_ns)
    while (!parts_.empty() && passed(parts_.front().last_ns, now) > bounds_.max_age_ns) remove_oldest();
  if (file_.disk->removed()) {
    remarks_.push_back(file_.name +
                       " was removed while it was written; it is begun again, and what was in it is gone");
    wait_all(ended);
    begin_file();
  }
}

// Keeps sessions, names and what else every reader must know, and the records of losses.
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

// An interval that has an end, and was reported before the last file was begun, precedes everything in this one. It is in
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

// At the beginning of a file the facts that are kept are put in front. False: the facts are not in the file.
bool CaptureOutput::put_facts(const ChunkBatch& facts) {
  ChunkBatch all;
  if (file_.index.empty()) {
    for (const auto& c : lasting_) all.add(c);
    add_losses(all);
    for (const auto& c : clocks_) all.add(c);
  }
  for (size_t i = 0; i < facts.size(); ++i) all.add(facts[i]);
  if (all.empty()) return true;
  AlignedBytes block;
  const BlockHeader h = encoder_.encode(all, kExtraNumber + extra_number_++, block);
  const IndexEntry entry{file_.offset, h};
  if (!write_here(block.bytes(), "facts")) return false;
  file_.index.push_back(entry);
  return true;
}

// False: the file has none, and ends behind its last block.
bool CaptureOutput::write_index() {
  std::sort(file_.index.begin(), file_.index.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  AlignedBytes block;
  encode_index(file_.index, kExtraNumber + extra_number_++, file_.offset, block);
  const uint64_t before = file_.offset;
  bool whole = write_here(block.bytes(), "the index");
  test_point("after_index");
  // A write that failed may have left bytes behind.
  if (!error_.empty()) file_.disk->cut_at(file_.offset);
  if (!bounds_.durable_ns) return whole;
  if (const int error = file_.disk->sync()) {
    fail("syncing failed", error);
    file_.offset = before;
    whole = false;
  }
  return whole;
}

void CaptureOutput::close_file(const Ended& ended) {
  wait_all(ended);
  test_point("before_index");
  const bool whole = !file_.lacking && write_index();
  if (!whole) {
    file_.disk->cut_at(file_.offset);
    remarks_.push_back(file_.name + " could not be completed: " + error_ +
                       "; readers take what is in it for a capture that broke off");
  } else if (!bounds_.rotates()) {
    files_.push_back(file_.name);
  } else if (const int error = file_.disk->rename(file_.final_name, bounds_.durable_ns)) {
    fail("giving " + file_.name + " its name failed", error);
    remarks_.push_back(file_.name + " is complete, but " + error_);
  } else {
    test_point("after_rename");
    parts_.push_back({file_.final_name, file_.offset, now_ns_()});
    files_.push_back(file_.final_name);
  }
  file_.disk.reset();
}

void CaptureOutput::finish(const ChunkBatch& last_facts, const Ended& ended) {
  if (!file_.disk && !begin_file()) return;
  wait_all(ended);
  file_.lacking |= !put_facts(last_facts);
  close_file(ended);
}

}  // namespace ttc::collect
