#include "tools/fleet/bus/spool.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <utility>

namespace ttc::fleet {
namespace {

constexpr uint32_t kMagic = 0x31505354;  // TSP1
constexpr uint64_t kFiles = 8;           // that the limit is divided into
constexpr uint32_t kMostBatchBytes = 64u << 20;
constexpr mode_t kMode = 0640;
constexpr const char* kEnding = ".spool";

// Before each batch in a file.
struct Head {
  uint32_t magic = kMagic, length = 0;
  uint64_t session = 0, position = 0;
  uint32_t epoch = 0, rows = 0;
  uint64_t from_ns = 0, to_ns = 0, digest = 0;
  uint64_t kind = 0;
};
static_assert(sizeof(Head) == 64);

struct Note {
  uint64_t session = 0, to_ns = 0, epoch = 0, digest = 0;
};

std::string reason() {
  return std::strerror(errno);
}

bool write_all(int fd, const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size) {
    const ssize_t n = ::write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n, size -= static_cast<size_t>(n);
  }
  return true;
}

bool read_at(int fd, void* bytes, size_t size, uint64_t offset) {
  return pread(fd, bytes, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

}  // namespace

Spool::Spool(const std::string& directory, uint64_t limit)
    : directory_(directory), limit_(std::max(limit, kLeast)) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw SpoolError("spool " + directory + " cannot be made: " + error.message());
  lock_ = open((directory + "/lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (lock_ < 0) throw SpoolError("spool " + directory + " cannot be used: " + reason());
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    close(lock_);
    throw SpoolError("spool " + directory +
                     " is used by another agent; give each rank a --rank or a --spool of its own");
  }
  notes_ = open((directory + "/note").c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, kMode);
  Note note;
  if (notes_ >= 0 && read_at(notes_, &note, sizeof note, 0) &&
      XXH64(&note, offsetof(Note, digest), 0) == note.digest)
    earlier_ = {note.session, note.to_ns, static_cast<uint32_t>(note.epoch)};
  take_over();
}

Spool::~Spool() {
  for (const int fd : {writers_[0].fd, writers_[1].fd, notes_, lock_})
    if (fd >= 0) close(fd);
}

std::string Spool::path_of(uint64_t file) const {
  char name[32];
  std::snprintf(name, sizeof name, "/%016llx", static_cast<unsigned long long>(file));
  return directory_ + name + kEnding;
}

void Spool::take_over() {
  std::vector<uint64_t> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    const std::string name = entry.path().filename().string();
    constexpr size_t kDigits = 16;
    if (name.size() != kDigits + std::strlen(kEnding) || !name.ends_with(kEnding)) continue;
    char* end = nullptr;
    const uint64_t number = std::strtoull(name.c_str(), &end, 16);
    if (end == name.c_str() + kDigits && number) files.push_back(number);
  }
  std::sort(files.begin(), files.end());
  for (const uint64_t number : files) {
    newest_ = number;
    read_file(number);
  }
  make_room();
}

// Reads up to where the file was written whole: a process may have been killed while it wrote, or the disk was full.
void Spool::read_file(uint64_t number) {
  const int fd = open(path_of(number).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  uint64_t offset = 0;
  for (Head h; read_at(fd, &h, sizeof h, offset); offset += sizeof h + h.length) {
    if (h.magic != kMagic || h.length == 0 || h.length > kMostBatchBytes) break;
    if (!row_kind_by_name(name_of(static_cast<RowKind>(h.kind))) || h.kind > UINT8_MAX) break;
    std::string batch(h.length, '\0');
    if (!read_at(fd, batch.data(), batch.size(), offset + sizeof h)) break;
    if (XXH64(batch.data(), batch.size(), 0) != h.digest) break;
    Place place;
    place.entry = {
        {h.session, h.epoch, static_cast<RowKind>(h.kind), h.position}, h.rows, h.from_ns, h.to_ns};
    place.file = number, place.offset = offset + sizeof h, place.length = h.length, place.digest = h.digest;
    ++in_file_[number];
    places_.push_back(std::move(place));
  }
  struct stat status {};
  fstat(fd, &status);
  close(fd);
  if (!in_file_.contains(number)) {
    unlink(path_of(number).c_str());
    return;
  }
  file_bytes_[number] = static_cast<uint64_t>(status.st_size);
  bytes_ += static_cast<uint64_t>(status.st_size);
}

bool Spool::begin_file(Writer& w) {
  if (w.fd >= 0) close(w.fd);
  w.file = ++newest_;
  w.fd = open(path_of(w.file).c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (w.fd < 0) {
    complaint_ = "spool " + directory_ + " takes nothing: " + reason();
    return false;
  }
  file_bytes_[w.file] = 0;
  return true;
}

bool Spool::write(Place& place, const std::string& batch) {
  Writer& w = writer_of(place.entry.name.kind);
  if ((w.fd < 0 || file_bytes_[w.file] >= limit_ / kFiles) && !begin_file(w)) return false;
  const BatchName& n = place.entry.name;
  const Head h{kMagic,
               static_cast<uint32_t>(batch.size()),
               n.session,
               n.position,
               n.epoch,
               place.entry.rows,
               place.entry.from_ns,
               place.entry.to_ns,
               place.digest,
               static_cast<uint64_t>(n.kind)};
  uint64_t& size = file_bytes_[w.file];
  if (!write_all(w.fd, &h, sizeof h) || !write_all(w.fd, batch.data(), batch.size())) {
    complaint_ = "spool " + directory_ + " takes nothing: " + reason();
    // The part that was written is cut off; if that fails, too, a new file keeps readers from it.
    if (ftruncate(w.fd, static_cast<off_t>(size)) != 0 || lseek(w.fd, 0, SEEK_END) < 0) {
      close(w.fd);
      w.fd = -1;
    }
    return false;
  }
  complaint_.clear();
  place.file = w.file, place.offset = size + sizeof h;
  size += sizeof h + batch.size();
  bytes_ += sizeof h + batch.size();
  ++in_file_[w.file];
  return true;
}

void Spool::append(const SpoolEntry& entry, const std::string& batch) {
  const std::lock_guard lock(mutex_);
  Place place;
  place.entry = entry;
  place.length = static_cast<uint32_t>(batch.size());
  place.digest = XXH64(batch.data(), batch.size(), 0);
  if (!write(place, batch)) {
    place.memory = batch;
    memory_bytes_ += batch.size();
  }
  places_.push_back(std::move(place));
  make_room();
}

void Spool::make_room() {
  const size_t kept = taken_ ? 1 : 0;
  while (places_.size() > kept && (bytes_ > limit_ || memory_bytes_ > kMemoryBytes)) {
    // The oldest of what is too much: on the disk a whole file goes, since less gives no room.
    const bool of_disk = bytes_ > limit_;
    const auto first = places_.begin() + static_cast<ptrdiff_t>(kept);
    const auto oldest = [&](bool losses) {
      return std::find_if(first, places_.end(), [&](const Place& p) {
        return (p.file != 0) == of_disk && (losses || p.entry.name.kind != RowKind::loss);
      });
    };
    auto it = oldest(false);
    if (it == places_.end()) it = oldest(true);
    if (it == places_.end()) return;
    const uint64_t file = it->file;
    do {
      const Place gone = std::move(*it);
      places_.erase(it);
      drop(gone);
      it = std::find_if(places_.begin() + static_cast<ptrdiff_t>(kept), places_.end(),
                        [&](const Place& p) { return file != 0 && p.file == file; });
    } while (it != places_.end());
  }
}

void Spool::drop(const Place& place) {
  const SpoolEntry& e = place.entry;
  const auto follows = [&](const DroppedRows& d) {
    return d.first.session == e.name.session && d.first.epoch == e.name.epoch &&
           d.first.kind == e.name.kind && d.first.position + d.rows == e.name.position;
  };
  if (const auto it = std::find_if(drops_.begin(), drops_.end(), follows); it != drops_.end()) {
    it->rows += e.rows;
    it->from_ns = std::min(it->from_ns, e.from_ns), it->to_ns = std::max(it->to_ns, e.to_ns);
  } else {
    drops_.push_back({e.name, e.rows, e.from_ns, e.to_ns});
  }
  left(place);
}

void Spool::left(const Place& place) {
  if (place.file == 0) {
    memory_bytes_ -= place.memory.size();
    return;
  }
  if (--in_file_[place.file] == 0) forget_file(place.file);
}

void Spool::forget_file(uint64_t number) {
  for (Writer& w : writers_)
    if (number == w.file && w.fd >= 0) {
      close(w.fd);
      w.fd = -1;
    }
  unlink(path_of(number).c_str());
  bytes_ -= file_bytes_[number];
  file_bytes_.erase(number);
  in_file_.erase(number);
}

std::optional<std::string> Spool::load(const Place& place) const {
  if (place.file == 0) return place.memory;
  const int fd = open(path_of(place.file).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return std::nullopt;
  std::string batch(place.length, '\0');
  const bool whole = read_at(fd, batch.data(), batch.size(), place.offset) &&
                     XXH64(batch.data(), batch.size(), 0) == place.digest;
  close(fd);
  return whole ? std::optional(batch) : std::nullopt;
}

std::optional<Spool::Taken> Spool::take() {
  const std::lock_guard lock(mutex_);
  while (!places_.empty()) {
    if (auto batch = load(places_.front())) {
      taken_ = true;
      return Taken{places_.front().entry, std::move(*batch)};
    }
    // The file was removed or damaged from outside.
    const Place gone = std::move(places_.front());
    places_.pop_front();
    drop(gone);
  }
  return std::nullopt;
}

void Spool::done() {
  const std::lock_guard lock(mutex_);
  if (!taken_) return;
  taken_ = false;
  const Place gone = std::move(places_.front());
  places_.pop_front();
  left(gone);
}

void Spool::put_back() {
  const std::lock_guard lock(mutex_);
  taken_ = false;
  make_room();
}

std::vector<DroppedRows> Spool::take_drops() {
  const std::lock_guard lock(mutex_);
  return std::exchange(drops_, {});
}

size_t Spool::batches() const {
  const std::lock_guard lock(mutex_);
  return places_.size();
}
uint64_t Spool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}
std::string Spool::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

void Spool::note(const Earlier& now) {
  Note note{now.session, now.to_ns, now.epoch, 0};
  note.digest = XXH64(&note, offsetof(Note, digest), 0);
  // A full disk takes it: the bytes are there since the first time, or the note is of no use before rows were spooled.
  if (notes_ >= 0 && pwrite(notes_, &note, sizeof note, 0) != static_cast<ssize_t>(sizeof note)) {
    const std::lock_guard lock(mutex_);
    complaint_ = "spool " + directory_ + " takes no note: " + reason();
  }
}

}  // namespace ttc::fleet
