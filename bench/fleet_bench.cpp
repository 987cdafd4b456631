// Hosts of eight cards on one nats-server: rows a second that the stream stores, what a row costs the hosts, the server and the reader,
// and the memory of `ttfleet report`, which reads all of them afterwards; from 1 to 64 hosts.
//
// The hosts are generated. Each is what `ttfleet agent` is behind its rings: a publisher, a spool on the disk and a sender with a
// connection of its own and the real protocol to a real server; rows are drawn instead of read from a card. Every card runs the
// same ops, one card of the last host is 20 % slow in one of them. A result is wrong, and the program fails, where the report lacks a row,
// has one twice, or does not name that card.
//
// TTC_BENCH_SECONDS: of each size (default 60). TTC_BENCH_ROWS: a minute, of 64 hosts (default 5,000,000). Files are in the temporary directory
// and are removed. Without nats-server nothing is measured.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "bench/machine.hpp"
#include "tools/fleet/agent/publisher.hpp"
#include "tools/fleet/agent/sender.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;
using namespace ttc::fleet;
namespace fs = std::filesystem;

constexpr uint32_t kChips = 8, kOpsAStep = 16;
constexpr double kSlow = 1.20;
constexpr uint32_t kSlowOp = 15;
constexpr uint64_t kOpNs = 400'000;

uint64_t setting(const char* name, uint64_t usual) {
  const char* set = std::getenv(name);
  return set ? std::strtoull(set, nullptr, 10) : usual;
}

struct Usage {
  double cpu_seconds = 0, peak_mib = 0;
};

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class Server {
 public:
  explicit Server(const std::string& directory) : ports_(directory + "/ports") {
    fs::create_directories(ports_);
    pid_ = fork();
    if (pid_ == 0) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, STDOUT_FILENO), dup2(null, STDERR_FILENO);
      setenv("PATH", (std::string(std::getenv("PATH")) + ":/usr/sbin").c_str(), 1);
      execlp("nats-server", "nats-server", "-a", "127.0.0.1", "-p", "-1", "-js", "-sd",
             (directory + "/js").c_str(), "--ports_file_dir", ports_.c_str(), nullptr);
      _exit(127);
    }
    for (url_.clear(); url_.empty() && there();) {
      for (const auto& file : fs::directory_iterator(ports_)) {
        const auto ports = nlohmann::json::parse(text_of(file.path().string()), nullptr, false);
        if (ports.is_object() && ports.contains("nats") && !ports["nats"].empty()) url_ = ports["nats"][0];
      }
      usleep(10'000);
    }
  }
  ~Server() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  bool there() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }
  const std::string& url() const { return url_; }
  Usage usage() const {
    const std::string stat = text_of("/proc/" + std::to_string(pid_) + "/stat");
    unsigned long user = 0, system = 0;
    std::sscanf(stat.c_str() + stat.rfind(')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                &user, &system);
    const std::string status = text_of("/proc/" + std::to_string(pid_) + "/status");
    const double kib = std::strtod(status.c_str() + status.find("VmHWM:") + 6, nullptr);
    return {static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)), kib / 1024};
  }

 private:
  std::string ports_, url_;
  pid_t pid_ = -1;
};

// What an agent is behind its rings.
class Host {
 public:
  Host(uint32_t rank, const std::string& url, const std::string& directory, bool slow)
      : who_{"local", "bench", "host" + std::to_string(rank), rank, ""},
        slow_(slow),
        dice_(rank + 1),
        spool_(directory + "/spool/" + who_.prefix(), 256 << 20),
        publisher_(spool_, rank + 1, 1),
        bus_({.url = url,
              .name = who_.name(),
              .credentials = {},
              .authority = {},
              .certificate = {},
              .key = {},
              .patient = true}),
        sender_(bus_, spool_, publisher_, who_, {}, [] {}) {}

  // Sends `rows_a_chip` rows of every chip, and what else an agent sends in a second.
  void second(uint64_t rows_a_chip) {
    for (uint64_t i = 0; i < rows_a_chip; ++i, ++op_)
      for (uint8_t chip = 0; chip < kChips; ++chip) publisher_.add(row(chip));
    for (uint8_t chip = 0; chip < kChips; ++chip) {
      TelemetryRow t;
      t.raw_ns = at_ns_, t.aiclk_mhz = 1000, t.power_mw = 90'000, t.known = 3, t.chip = chip;
      for (int k = 0; k < 4; ++k) publisher_.add(t);
    }
    ClockRow clock;
    clock.raw_ns = at_ns_, clock.offset_ns = who_.rank, clock.bound_ns = 50'000, clock.reference = 7,
    clock.how = 2;
    publisher_.add(clock);
    publisher_.flush();
    sender_.wake();
  }
  bool finish() { return sender_.finish(120'000'000'000); }
  uint64_t ops() const { return op_ * kChips; }
  uint64_t stored() const { return sender_.rows_stored(); }
  uint64_t made() const { return publisher_.made(); }

 private:
  OpRow row(uint8_t chip) {
    const auto of_step = static_cast<uint32_t>(op_ % kOpsAStep);
    double ns = static_cast<double>(kOpNs) * (1 + of_step) / 8 * (1 + 0.03 * scatter_(dice_));
    if (slow_ && chip == 3 && of_step == kSlowOp) ns *= kSlow;
    OpRow r;
    r.begin_ns = at_ns_, r.duration_ns = static_cast<uint32_t>(ns),
    r.core_most_ns = static_cast<uint32_t>(ns * 0.97);
    r.mean_share = static_cast<uint16_t>(OpRow::kWhole * std::min(1.0, 0.9 + 0.01 * scatter_(dice_)));
    r.host_id = 1000 + of_step, r.replay = static_cast<uint16_t>(1 + op_ / kOpsAStep % 65'000), r.cores = 64,
    r.chip = chip;
    r.most_x = static_cast<uint8_t>(1 + dice_() % 8), r.most_y = static_cast<uint8_t>(1 + dice_() % 8),
    r.bound_ns = 900;
    if (chip + 1 == kChips) at_ns_ += static_cast<uint64_t>(ns);
    return r;
  }

  const Identity who_;
  const bool slow_;
  std::mt19937_64 dice_;
  std::normal_distribution<> scatter_;
  Spool spool_;
  Publisher publisher_;
  Bus bus_;
  Sender sender_;
  uint64_t op_ = 0, at_ns_ = 1'000'000'000;
};

struct Reported {
  int code = -1;
  double seconds = 0;
  Usage usage;
  nlohmann::json facts;
};

Reported report(const std::string& url, const std::string& directory, bool database) {
  const std::string out = directory + "/report.json", rows = directory + "/rows.sqlite";
  const std::string program = fs::read_symlink("/proc/self/exe").parent_path().string() + "/ttfleet";
  Reported r;
  const uint64_t begin = now_ns();
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    if (database)
      execlp(program.c_str(), "ttfleet", "report", "--bus", url.c_str(), "--cluster", "local", "--job",
             "bench", "--json", "-o", rows.c_str(), nullptr);
    else
      execlp(program.c_str(), "ttfleet", "report", "--bus", url.c_str(), "--cluster", "local", "--job",
             "bench", "--json", nullptr);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  r.seconds = static_cast<double>(now_ns() - begin) / 1e9;
  r.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  r.usage = {seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024};
  r.facts = nlohmann::json::parse(text_of(out), nullptr, false);
  fs::remove(rows);
  return r;
}

// Empty, or what is wrong.
std::string wrong_in(const Reported& r, uint64_t ops, uint32_t hosts) {
  if (r.code != 0 || !r.facts.is_object()) return "ttfleet report ended with " + std::to_string(r.code);
  uint64_t came = 0, again = 0, missing = 0;
  for (const auto& rank : r.facts["ranks"])
    came += rank["ops"].get<uint64_t>(), again += rank["again"].get<uint64_t>(),
        missing += rank["missing"].get<uint64_t>();
  if (came != ops || missing)
    return std::to_string(came) + " of " + std::to_string(ops) + " ops, " + std::to_string(missing) +
           " missing";
  if (again) return std::to_string(again) + " rows came twice";
  const auto& named = r.facts["stragglers"];
  const std::string slow = "host" + std::to_string(hosts - 1) + "_rank_" + std::to_string(hosts - 1);
  if (named.size() != 1 || named[0]["rank"] != slow || named[0]["chip"] != 3 ||
      named[0]["op"] != "op " + std::to_string(1000 + kSlowOp))
    return "the slow card is not named: " + named.dump();
  return {};
}

// False: a result is wrong.
bool measure(uint32_t hosts, uint64_t rows_a_chip, uint64_t seconds, const std::string& directory) {
  const Server server(directory);
  if (server.url().empty()) {
    result("nats-server cannot be started (Debian: nats-server); nothing was measured");
    return true;
  }
  std::vector<std::unique_ptr<Host>> all;
  for (uint32_t rank = 0; rank < hosts; ++rank)
    all.push_back(std::make_unique<Host>(rank, server.url(), directory, rank + 1 == hosts));
  const uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), begin = now_ns();
  for (uint64_t s = 0; s < seconds; ++s) {
    for (const auto& host : all) host->second(rows_a_chip);
    const uint64_t due = begin + (s + 1) * 1'000'000'000, now = now_ns();
    if (now < due) usleep(static_cast<useconds_t>((due - now) / 1000));
  }
  const uint64_t made_ns = now_ns() - begin;
  uint64_t ops = 0, rows = 0, stored = 0;
  for (const auto& host : all) stored += host->stored();
  bool whole = true;
  for (const auto& host : all) whole &= host->finish(), ops += host->ops(), rows += host->made();
  const uint64_t stored_ns = now_ns() - begin;
  const double hosts_cpu = static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e9;
  const Usage of_server = server.usage();
  all.clear();
  uint64_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(directory + "/js"))
    if (file.is_regular_file() && file.path().extension() == ".blk") bytes += file.file_size();
  const Reported read = report(server.url(), directory, false), kept = report(server.url(), directory, true);
  for (const Reported& r : {read, kept})
    if (const std::string wrong = whole ? wrong_in(r, ops, hosts) : "rows were not stored"; !wrong.empty()) {
      result("%u hosts: WRONG: %s", hosts, wrong.c_str());
      return false;
    }
  const double minutes = static_cast<double>(made_ns) / 60e9, millions = static_cast<double>(rows) / 1e6;
  result(
      "%2u hosts: %.2f M op rows a minute %s, %.2f M in all; %.1f %% stored when the last was made, all %.1f "
      "s after it",
      hosts, static_cast<double>(ops) / 1e6 / minutes,
      hosts == 64 ? judged(static_cast<double>(ops) / minutes, ">=", 5e6).c_str() : "",
      static_cast<double>(ops) / 1e6, 100.0 * static_cast<double>(stored) / static_cast<double>(rows),
      static_cast<double>(stored_ns - made_ns) / 1e9);
  result(
      "          a million rows: hosts %.2f, server %.2f, report %.2f, report into SQLite %.2f s of CPU; "
      "%.1f bytes a row on the server's disk",
      hosts_cpu / millions, of_server.cpu_seconds / millions, read.usage.cpu_seconds / millions,
      kept.usage.cpu_seconds / millions, static_cast<double>(bytes) / static_cast<double>(rows));
  result(
      "          report %.2f M rows/s, peak %.0f MiB; into SQLite %.2f M rows/s, %.0f MiB; server %.0f MiB",
      millions / read.seconds, read.usage.peak_mib, millions / kept.seconds, kept.usage.peak_mib,
      of_server.peak_mib);
  return true;
}

}  // namespace

int main() {
  print_machine("fleet_bench");
  setenv("TTFLEET_CLUSTER", "local", 1);
  const uint64_t seconds = once() ? 2 : setting("TTC_BENCH_SECONDS", 60),
                 a_minute = setting("TTC_BENCH_ROWS", 5'000'000);
  const uint64_t rows_a_chip =
      once() ? 160
             : static_cast<uint64_t>(std::ceil(static_cast<double>(a_minute) / 60 / 64 / kChips * 1.01));
  result("generated hosts of %u cards, %lu op rows a second a card, %lu s a size", kChips, rows_a_chip,
         seconds);
  for (const uint32_t hosts : once() ? std::vector<uint32_t>{2} : std::vector<uint32_t>{1, 4, 16, 64}) {
    char directory[] = "/tmp/fleet-bench-XXXXXX";
    if (!mkdtemp(directory)) return std::perror("mkdtemp"), 1;
    const bool right = measure(hosts, rows_a_chip, seconds, directory);
    std::error_code none;
    fs::remove_all(directory, none);
    if (!right) return 1;
  }
  return 0;
}
