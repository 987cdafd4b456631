#include "collector/host_side/handshakes.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMarkOfClient = "TRACY_NO_EXIT";  // what every client searches the environment for
constexpr uint64_t kMostNotes = 1 << 20, kMostHeaders = 1 << 12;
constexpr size_t kPiece = 1 << 20;
constexpr const char* kItself = "-";

class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool read(uint64_t at, void* to, size_t bytes) const {
    return fd_ >= 0 && pread(fd_, to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }
  size_t some(uint64_t at, void* to, size_t bytes) const {
    const ssize_t got = fd_ < 0 ? 0 : pread(fd_, to, bytes, static_cast<off_t>(at));
    return got > 0 ? static_cast<size_t>(got) : 0;
  }

 private:
  int fd_;
};

// Reads a segment of notes (foreign bytes): each is a head, a name and a description, padded to 4.
std::string build_id_in(const std::vector<char>& notes) {
  const auto padded = [](size_t bytes) { return (bytes + 3) & ~size_t{3}; };
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    at += sizeof note;
    const size_t name = at, description = at + padded(note.n_namesz);
    if (note.n_namesz > notes.size() || note.n_descsz > notes.size() ||
        description + note.n_descsz > notes.size())
      return {};
    if (note.n_type == NT_GNU_BUILD_ID &&
        std::string_view(notes.data() + name, note.n_namesz) == std::string_view("GNU\0", 4)) {
      std::string id;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        constexpr const char* kDigits = "0123456789abcdef";
        const auto byte = static_cast<uint8_t>(notes[description + i]);
        id += kDigits[byte >> 4];
        id += kDigits[byte & 15];
      }
      return id;
    }
    at = description + padded(note.n_descsz);
  }
  return {};
}

bool holds_client(const std::string& path) {
  const File file(path);
  std::string piece;
  for (uint64_t at = 0;;) {
    std::string more(kPiece, '\0');
    more.resize(file.some(at, more.data(), more.size()));
    if (more.empty()) return false;
    at += more.size();
    piece += more;
    if (piece.find(kMarkOfClient) != std::string::npos) return true;
    piece.erase(0, piece.size() - std::min(piece.size(), kMarkOfClient.size()));
  }
}

std::vector<Handshake> read_all(const std::string& file) {
  std::ifstream in(file);
  std::vector<Handshake> all;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    Handshake one;
    if (!(words >> one.program >> one.protocol >> one.object) ||
        !std::getline(words >> std::ws, one.object_path))
      continue;
    if (one.object_path == kItself) one.object_path.clear(), one.object.clear();
    all.push_back(std::move(one));
  }
  return all;
}

bool still_the_same(const Handshake& handshake) {
  return handshake.object_path.empty() || build_id_of(handshake.object_path) == handshake.object;
}

}  // namespace

std::string build_id_of(const std::string& path) {
  const File file(path);
  Elf64_Ehdr head;
  if (!file.read(0, &head, sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
      head.e_phnum > kMostHeaders)
    return {};
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.read(head.e_phoff + i * sizeof segment, &segment, sizeof segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNotes) continue;
    std::vector<char> notes(segment.p_filesz);
    if (!file.read(segment.p_offset, notes.data(), notes.size())) continue;
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  return {};
}

ProcessFiles files_of_process(pid_t pid, const std::string& proc) {
  const std::string process = proc + "/" + std::to_string(pid);
  ProcessFiles files;
  std::error_code none;
  files.program = fs::read_symlink(process + "/exe", none).string();
  std::ifstream maps(process + "/maps");
  std::set<std::string> all;
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/'), rights = line.find(' ');
    constexpr size_t kExecutable = 3;
    if (path != std::string::npos && rights + kExecutable < line.size() && line[rights + kExecutable] == 'x')
      all.insert(line.substr(path));
  }
  all.erase(files.program);
  files.objects.assign(all.begin(), all.end());
  std::stable_partition(files.objects.begin(), files.objects.end(),
                        [](const std::string& path) { return path.find("racy") != std::string::npos; });
  return files;
}

std::optional<Handshake> handshake_of(const ProcessFiles& files, uint32_t protocol) {
  Handshake handshake{build_id_of(files.program), protocol, {}, {}};
  if (handshake.program.empty()) return std::nullopt;
  if (holds_client(files.program)) return handshake;
  for (const std::string& object : files.objects) {
    if (!holds_client(object)) continue;
    handshake.object = build_id_of(object);
    handshake.object_path = object;
    if (!handshake.object.empty()) return handshake;
  }
  return std::nullopt;
}

std::string handshakes_file(const Environment& environment) {
  const std::string state = value_in(environment, "XDG_STATE_HOME"), home = value_in(environment, "HOME");
  if (!state.empty()) return state + "/ttcollect/tracy-handshakes";
  return home.empty() ? std::string() : home + "/.local/state/ttcollect/tracy-handshakes";
}

std::string keep_handshake(const std::string& file, const Handshake& handshake) {
  if (const auto kept = kept_handshake(file, handshake.program);
      kept && kept->protocol == handshake.protocol && kept->object == handshake.object &&
      kept->object_path == handshake.object_path)
    return {};
  std::error_code error;
  fs::create_directories(fs::path(file).parent_path(), error);
  const bool itself = handshake.object_path.empty();
  const std::string line = handshake.program + ' ' + std::to_string(handshake.protocol) + ' ' +
                           (itself ? kItself : handshake.object) + ' ' +
                           (itself ? kItself : handshake.object_path) + '\n';
  // One write each: lines of several runs do not mix.
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int why = errno;
  if (fd >= 0) close(fd);
  return written ? std::string() : file + " cannot be written: " + std::strerror(why);
}

std::optional<Handshake> kept_handshake(const std::string& file, const std::string& build_id) {
  std::optional<Handshake> found;
  if (build_id.empty()) return found;
  for (Handshake& one : read_all(file))
    if (one.program == build_id && still_the_same(one)) found = std::move(one);
  return found;
}

}  // namespace ttc::collect
