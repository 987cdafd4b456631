#include "tools/report/noc/npe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <utility>

#include "tools/report/text/python_text.hpp"

namespace ttc::report {
namespace {

constexpr const char* kNocUtil = "NOC UTIL (%)";
constexpr const char* kMulticast = "MULTICAST NOC UTIL (%)";
constexpr const char* kDramUtil = "DRAM BW UTIL (%)";
constexpr const char* kEthernet = "ETH BW UTIL (%)";
constexpr const char* kCongestion = "NPE CONG IMPACT (%)";

bool executable(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::string on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream places(path ? path : "");
  for (std::string place; std::getline(places, place, ':');)
    if (std::string file = (place.empty() ? "." : place) + "/" + name; executable(file)) return file;
  return "";
}

// A program with its output caught; nothing is read from the terminal.
class Child {
 public:
  explicit Child(std::vector<std::string> words) {
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (pipe2(out_.data(), O_CLOEXEC) != 0 || pipe2(err_.data(), O_CLOEXEC) != 0) {
      error_ = errno;
      return;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out_[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err_[1], 2);
    error_ = posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    for (int* end : {&out_[1], &err_[1]}) close(std::exchange(*end, -1));
  }
  ~Child() {
    for (const int end : {out_[0], out_[1], err_[0], err_[1]})
      if (end >= 0) close(end);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int error() const { return error_; }
  // Waits until it has ended; returns its wait status.
  int wait(std::string& out, std::string& err) {
    std::array<pollfd, 2> ends{pollfd{out_[0], POLLIN, 0}, pollfd{err_[0], POLLIN, 0}};
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
      if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) break;
      take(ends[0], out);
      take(ends[1], err);
    }
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

 private:
  static void take(pollfd& end, std::string& text) {
    if (end.fd < 0 || end.revents == 0) return;
    char bytes[1 << 14];
    const ssize_t got = read(end.fd, bytes, sizeof bytes);
    if (got > 0)
      text.append(bytes, static_cast<size_t>(got));
    else if (got == 0 || errno != EINTR)
      end.fd = -1;  // poll() leaves it aside
  }

  std::array<int, 2> out_{-1, -1}, err_{-1, -1};
  pid_t pid_ = -1;
  int error_ = 0;
};

// Removes the escape sequences that colour a terminal.
std::string plain_text(std::string_view text) {
  static const std::regex escape("\x1b\\[[0-9;]*[A-Za-z]");
  return std::regex_replace(std::string(text), escape, "");
}

std::string last_line(const std::string& text) {
  std::istringstream lines(plain_text(text));
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line.substr(0, 200);
  std::replace_if(
      last.begin(), last.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return last;
}

std::optional<uint64_t> whole_of(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `12.50%`; nothing when it is no finite number.
std::optional<double> share_of(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, value);
  if (error != std::errc{} || end != text.data() + text.size() - 1 || !std::isfinite(value))
    return std::nullopt;
  return value;
}

using Share = std::optional<double> NpeRow::*;

// Shares of the table in the order in which its head names them; null: one that no column is made of.
std::vector<Share> shares_in(const std::string& head) {
  static const std::map<std::string, Share> members = {{"McastWr NoC Util", &NpeRow::multicast},
                                                       {"NoC Util", &NpeRow::noc},
                                                       {"DRAM BW Util", &NpeRow::dram},
                                                       {"Cong Impact", &NpeRow::congestion},
                                                       {"% Overall Cycles", nullptr}};
  static const std::regex names("(McastWr )?NoC Util|DRAM BW Util|Cong Impact|% Overall Cycles");
  std::vector<Share> order;
  for (std::sregex_iterator it(head.begin(), head.end(), names), end; it != end; ++it)
    order.push_back(members.at(it->str()));
  return order;
}

// Name, id, id of a replay or nothing, shares, Ethernet cores.
std::optional<NpeRow> npe_row(const std::string& line, const std::vector<Share>& shares) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  if (words.size() < 2 + shares.size()) return std::nullopt;
  NpeRow row;
  const auto op = whole_of(words[1]);
  if (!op) return std::nullopt;
  row.op = *op;
  row.trace = whole_of(words[2]);
  size_t next = row.trace ? 3 : 2;
  for (const Share member : shares) {
    if (next == words.size() || !words[next].ends_with('%')) return std::nullopt;
    if (member) row.*member = share_of(words[next]);
    ++next;
  }
  for (; next < words.size(); ++next) row.ethernet += (row.ethernet.empty() ? "" : " ") + words[next];
  return row;
}

using Name = std::pair<uint64_t, std::optional<uint64_t>>;  // of an op, as tt-npe prints it

Name name_of(const Launch& launch) {
  constexpr int kDeviceBits = 10;
  Name name{launch.host_id >> kDeviceBits, {}};
  if (launch.trace_counter >= 0)
    name.second = static_cast<uint64_t>(std::max<int64_t>(0, launch.trace_id)) << 32 |
                  static_cast<uint64_t>(launch.trace_counter);
  return name;
}

}  // namespace

std::string find_npe(const std::string& command) {
  if (command.find('/') != std::string::npos) return executable(command) ? command : "";
  if (!command.empty()) return on_path(command);
  for (const char* name : {"npe_analyze_noc_trace_dir", "npe_analyze_noc_trace_dir.py"}) {
    if (const char* tools = std::getenv("TTC_TOOLS"); tools && *tools)
      if (std::string file = std::string(tools) + "/" + name; executable(file)) return file;
    if (std::string file = on_path(name); !file.empty()) return file;
  }
  return "";
}

std::optional<std::vector<NpeRow>> read_npe_table(std::string_view printed) {
  std::istringstream lines(plain_text(printed));
  std::vector<Share> shares;
  std::vector<NpeRow> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Opname")) {
      shares = shares_in(line);
    } else if (!shares.empty()) {
      if (auto row = npe_row(line, shares)) rows.push_back(std::move(*row));
    }
  }
  if (shares.empty()) return std::nullopt;
  return rows;
}

NpeRun run_npe(const std::string& program, const std::string& directory, size_t traces) {
  NpeRun run;
  Child child({program, directory, "-m", std::to_string(traces), "-e", "--compress_timeline_files"});
  if (child.error()) {
    run.failure = "--npe: " + program + " cannot be started: " + std::strerror(child.error());
    return run;
  }
  std::string out, err;
  const int status = child.wait(out, err);
  const std::string said = last_line(err.empty() ? out : err);
  const std::string words = said.empty() ? "; it printed nothing" : "; its last words: " + said;
  if (WIFSIGNALED(status))
    run.failure = "--npe: " + program + " was ended by signal " + std::to_string(WTERMSIG(status)) + words;
  else if (WEXITSTATUS(status) != 0)
    run.failure =
        "--npe: " + program + " failed with exit code " + std::to_string(WEXITSTATUS(status)) + words;
  else if (auto rows = read_npe_table(out); rows && !rows->empty())
    run.rows = std::move(*rows);
  else
    run.failure =
        "--npe: " + program + " printed no table of ops as npe_analyze_noc_trace_dir.py does" + words;
  return run;
}

NpeFilled fill_npe(const Run& run, const std::vector<NpeRow>& rows) {
  std::map<Name, std::pair<const NpeRow*, size_t>> printed;
  for (const NpeRow& row : rows) {
    auto& [one, count] = printed[{row.op, row.trace}];
    one = &row;
    ++count;
  }
  std::map<Name, size_t> launches;
  for (const DeviceOp& op : run.ops) ++launches[name_of(op.launch)];
  NpeFilled filled;
  filled.table.header = run.table.header;
  std::map<std::string, size_t> place;
  for (const char* column : {kNocUtil, kMulticast, kDramUtil, kEthernet, kCongestion}) {
    auto at = std::find(filled.table.header.begin(), filled.table.header.end(), column);
    place[column] = static_cast<size_t>(at - filled.table.header.begin());
    if (at == filled.table.header.end()) filled.table.header.emplace_back(column);
  }
  for (size_t i = 0; i < run.table.rows.size(); ++i) {
    std::vector<std::string> cells = run.table.rows[i];
    cells.resize(filled.table.header.size());
    const uint32_t device = run.table.device[i];
    if (device != Cells::kNoDevice && device < run.ops.size()) {
      const Name name = name_of(run.ops[device].launch);
      const auto it = printed.find(name);
      if (it != printed.end() && (it->second.second > 1 || launches[name] > 1)) {
        ++filled.ambiguous;
      } else if (it != printed.end()) {
        const NpeRow& row = *it->second.first;
        const auto put = [&](const char* column, const std::optional<double>& value, int digits) {
          if (value) cells[place[column]] = python_rounded(*value, digits);
        };
        put(kNocUtil, row.noc, 1);
        put(kMulticast, row.multicast, 1);
        put(kDramUtil, row.dram, 1);
        put(kCongestion, row.congestion, 2);
        cells[place[kEthernet]] = row.ethernet;
        std::replace(cells[place[kEthernet]].begin(), cells[place[kEthernet]].end(), ',', ';');
        ++filled.launches;
      }
    }
    filled.table.rows.push_back(cells);
    filled.table.device.push_back(device);
  }
  return filled;
}

}  // namespace ttc::report
