#include "tools/fleet/agent/dumps.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "ttcollect/host_time.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace ttc::fleet {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostSaid = 4096;

std::string collector_program() {
  std::error_code error;
  const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / "ttcollect";
  return !error && fs::exists(beside, error) ? beside.string() : "ttcollect";
}

// Its exit code (127: it cannot be started) and its output.
int run_and_hear(std::vector<std::string> words, std::string& said) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return 127;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  char bytes[1024];
  for (ssize_t got; !failed && (got = read(ends[0], bytes, sizeof bytes)) > 0;)
    if (said.size() < kMostSaid) said.append(bytes, static_cast<size_t>(got));
  close(ends[0]);
  if (failed) {
    said = "ttcollect cannot be started: " + std::string(std::strerror(failed));
    return 127;
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

bool digest_of(const std::string& path, Answer& answer) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> state(XXH64_createState(),
                                                                         &XXH64_freeState);
  XXH64_reset(state.get(), 0);
  std::vector<char> block(1 << 20);
  ssize_t got = 0;
  uint64_t bytes = 0;
  while ((got = read(fd, block.data(), block.size())) > 0) {
    XXH64_update(state.get(), block.data(), static_cast<size_t>(got));
    bytes += static_cast<uint64_t>(got);
  }
  close(fd);
  answer.bytes = bytes, answer.digest = XXH64_digest(state.get());
  return got == 0;
}

std::vector<fs::directory_entry> captures_in(const std::string& directory) {
  std::vector<fs::directory_entry> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.path().extension() == ".ttc" && entry.is_regular_file(error)) all.push_back(entry);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    std::error_code none;
    return a.last_write_time(none) < b.last_write_time(none);
  });
  return all;
}

}  // namespace

void Dumps::cut(const std::string& id, uint64_t at_raw_ns, uint64_t last_ns, Answer& answer) {
  constexpr uint64_t kFarNs = 60'000'000'000;
  const auto no = [&](const std::string& why) {
    answer.ok = false;
    answer.text = why;
  };
  if (at_raw_ns > collect::raw_now_ns() + kFarNs) return no("the instant is more than a minute ahead");
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) return no(directory_ + " cannot be made: " + error.message());
  std::vector<std::string> words{collector_program(), "snapshot"};
  words.insert(words.end(), live_names_.begin(), live_names_.end());
  words.insert(words.end(), {"--at", std::to_string(at_raw_ns), "--last", std::to_string(last_ns) + "ns",
                             "-o", path_of(id)});
  std::string said;
  if (const int code = run_and_hear(std::move(words), said); code != 0)
    return no("ttcollect snapshot ended with " + std::to_string(code) + ": " + said);
  if (!digest_of(path_of(id), answer)) return no("what was cut cannot be read");
  answer.ok = true, answer.id = id;
  keep_latest();
}

void Dumps::describe(const Answer& answer) const {
  std::ofstream out(description_of(answer.id), std::ios::trunc);
  out << to_text(answer);
}

std::optional<Answer> Dumps::described(const std::string& id) const {
  std::ifstream in(description_of(id));
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::string wrong;
  auto answer = parse_answer(text, wrong);
  std::error_code error;
  return answer && fs::exists(path_of(id), error) ? answer : std::nullopt;
}

std::string Dumps::piece(const std::string& id, uint64_t offset, uint64_t length) const {
  const int fd = open(path_of(id).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return {};
  struct stat status {};
  std::string bytes(std::min(length, kMostChunkBytes), '\0');
  ssize_t got = -1;
  if (fstat(fd, &status) == 0 && offset <= static_cast<uint64_t>(status.st_size))
    got = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  close(fd);
  if (got < 0) return {};
  bytes.resize(static_cast<size_t>(got));
  return encode_chunk(offset, static_cast<uint64_t>(status.st_size), bytes);
}

std::string Dumps::list() const {
  std::string lines;
  for (const auto& entry : captures_in(directory_)) {
    std::error_code error;
    lines += entry.path().stem().string() + " " + std::to_string(entry.file_size(error)) + "\n";
  }
  return lines;
}

void Dumps::keep_latest() const {
  const auto all = captures_in(directory_);
  std::error_code error;
  for (size_t i = 0; i + kKept < all.size(); ++i) {
    fs::remove(all[i].path(), error);
    fs::remove(description_of(all[i].path().stem().string()), error);
  }
}

}  // namespace ttc::fleet
