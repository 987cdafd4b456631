// What io_uring can and cannot do with device memory, tried out. There is no card here, so other memory
// is used that the kernel maps as it maps a BAR window: without pages behind it (VM_IO, VM_PFNMAP; "io" and
// "pf" in smaps).
//
//   vvar     the kernel's clock page, in every process; read-only, as an observer maps a window
//   perf     the ring of a perf event; the same flags, but writable: missing rights are not the reason for a failure here
//   revoked  a file mapping whose file has shrunk: touching it is SIGBUS, as a window after a reset
//   memory   ordinary memory, to compare with; and the same read-only
//
// Nothing is read from a real device. What the machine does not allow is skipped with a message.
#include <fcntl.h>
#include <liburing.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>

#include "bench/machine.hpp"

namespace {

using namespace ttc::bench;

constexpr size_t kPage = 4096;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

// One smaps entry: where it is mapped, and the VmFlags among "io", "pf", "wr".
struct Mapping {
  char* at = nullptr;
  std::string flags;
};
std::optional<Mapping> mapping_named(const std::string& name) {
  std::ifstream smaps("/proc/self/smaps");
  Mapping found;
  for (std::string line; std::getline(smaps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      found.at = line.find(name) != std::string::npos ? reinterpret_cast<char*>(begin) : nullptr;
    if (!found.at || !line.starts_with("VmFlags:")) continue;
    for (const char* flag : {" io", " pf", " wr"})
      if ((line + " ").find(std::string(flag) + " ") != std::string::npos) found.flags += flag;
    return found;
  }
  return std::nullopt;
}

// A ring, where the machine lets us have one.
class Uring {
 public:
  static constexpr unsigned kEntries = 64;
  Uring() : error_(-io_uring_queue_init(kEntries, &ring_, 0)) {}
  ~Uring() {
    if (ok()) io_uring_queue_exit(&ring_);
  }
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;
  bool ok() const { return error_ == 0; }
  int error() const { return error_; }
  io_uring* get() { return &ring_; }

  // Submits what was prepared and waits for all of it: the first failure, negative, or the last result.
  int run(unsigned count) {
    if (const int submitted = io_uring_submit_and_wait(&ring_, count); submitted < 0) return submitted;
    int last = 0;
    for (unsigned i = 0; i < count; ++i) {
      io_uring_cqe* cqe = nullptr;
      int error = 0;
      while ((error = io_uring_wait_cqe(&ring_, &cqe)) == -EINTR) {
      }
      if (error < 0) return error;
      if (last >= 0) last = cqe->res;
      io_uring_cqe_seen(&ring_, cqe);
    }
    return last;
  }

 private:
  io_uring ring_{};
  int error_;
};

std::string outcome(long result) {
  return result < 0 ? strerrorname_np(static_cast<int>(-result)) : "works";
}
long errno_of(long result) {
  return result < 0 ? -errno : result;
}

int write_by_ring(Uring& ring, int to, const char* from, size_t bytes) {
  io_uring_prep_write(io_uring_get_sqe(ring.get()), to, from, static_cast<unsigned>(bytes), 0);
  return ring.run(1);
}

int register_fixed(Uring& ring, char* at) {
  const iovec buffer{at, kPage};
  const int error = io_uring_register_buffers(ring.get(), &buffer, 1);
  if (error == 0) io_uring_unregister_buffers(ring.get());
  return error;
}

long splice_pages(char* at) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -errno;
  const Fd from(ends[0]), to(ends[1]);
  const iovec buffer{at, kPage};
  return errno_of(vmsplice(to.get(), &buffer, 1, 0));
}

long read_as_other_process(char* at) {
  std::vector<char> here(kPage);
  const iovec local{here.data(), kPage}, remote{at, kPage};
  return errno_of(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
}

// Passes `at` to the kernel in different requests.
void probe(const std::string& what, char* at, Uring& ring) {
  const Fd file(memfd_create("iouring-bar-bench", MFD_CLOEXEC));
  const std::string by_syscall = outcome(errno_of(pwrite(file.get(), at, kPage, 0)));
  const std::string spliced = outcome(splice_pages(at)), foreign = outcome(read_as_other_process(at));
  const std::string fixed = ring.ok() ? outcome(register_fixed(ring, at)) : "skipped";
  const std::string by_ring = ring.ok() ? outcome(write_by_ring(ring, file.get(), at, kPage)) : "skipped";
  result("%-34s io_uring: register %-7s write %-7s | write(2) %-7s vmsplice %-7s process_vm_readv %s",
         what.c_str(), fixed.c_str(), by_ring.c_str(), by_syscall.c_str(), spliced.c_str(), foreign.c_str());
}

// Threads the kernel started for this process's rings.
size_t kernel_workers() {
  size_t workers = 0;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    workers += name.starts_with("iou-wrk");
  }
  return workers;
}

// Copies as the collector does: by 64-bit loads, each once.
void load_loop(const char* from, char* to, size_t bytes) {
  const auto* source = reinterpret_cast<const uint64_t*>(from);
  auto* target = reinterpret_cast<uint64_t*>(to);
  for (size_t i = 0; i < bytes / 8; ++i)
    __atomic_store_n(target + i, __atomic_load_n(source + i, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
}

// Nanoseconds a call, at best; `work` is one call.
double time_calls(int calls, const std::function<void()>& work) {
  calls = once() ? 20 : calls;
  Best best;
  for (int repetition = 0; repetition < repetitions(7); ++repetition)
    best.time([&] {
      for (int i = 0; i < calls; ++i) work();
    });
  return best.ns() / calls;
}

void must(bool ok, const char* what) {
  if (!ok) result("WRONG: %s failed half-way: %s", what, std::strerror(errno)), std::exit(1);
}

// The ways that work, from such memory into a file in memory (a ring of readers is one).
void cost_from(const char* name, char* from, Uring& ring) {
  const Fd file(memfd_create("iouring-bar-bench", MFD_CLOEXEC));
  must(ftruncate(file.get(), kPage) == 0, "ftruncate");
  auto* mapped = static_cast<char*>(
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0));
  must(mapped != MAP_FAILED, "mmap");
  for (const size_t bytes : {size_t{64}, kPage}) {
    const double loads = time_calls(20'000, [&] { load_loop(from, mapped, bytes); });
    const double call = time_calls(
        5000, [&] { must(pwrite(file.get(), from, bytes, 0) == static_cast<ssize_t>(bytes), "write(2)"); });
    result("%zu B out of %s: loads %.0f ns, write(2) %.0f ns (ratio %.1f)", bytes, name, loads, call,
           call / loads);
    if (!ring.ok()) continue;
    const double single = time_calls(1000, [&] {
      must(write_by_ring(ring, file.get(), from, bytes) == static_cast<int>(bytes), "IORING_OP_WRITE");
    });
    constexpr unsigned kBatch = 32;
    const double batch = time_calls(100,
                                    [&] {
                                      for (unsigned i = 0; i < kBatch; ++i)
                                        io_uring_prep_write(io_uring_get_sqe(ring.get()), file.get(), from,
                                                            static_cast<unsigned>(bytes), 0);
                                      must(ring.run(kBatch) == static_cast<int>(bytes), "IORING_OP_WRITE");
                                    }) /
                         kBatch;
    result(
        "  IORING_OP_WRITE %.0f ns (ratio %.1f), in batches of %u %.0f ns each (ratio %.1f); kernel workers: "
        "%zu",
        single, single / loads, kBatch, batch, batch / loads, kernel_workers());
  }
  munmap(mapped, kPage);
}

// Card memory that is a descriptor, as the emulated card's: a file in memory.
void cost_of_descriptor(size_t bytes, Uring& ring) {
  constexpr size_t kFile = 8 << 20;
  constexpr unsigned kBatch = 32;
  const Fd file(memfd_create("iouring-bar-bench", MFD_CLOEXEC));
  must(ftruncate(file.get(), kFile) == 0, "ftruncate");
  auto* mapped = static_cast<char*>(
      mmap(nullptr, kFile, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0));
  must(mapped != MAP_FAILED, "mmap");
  SharedMemory to(kBatch * bytes);
  auto* out = reinterpret_cast<char*>(to.words());
  size_t at = 0;
  const auto next = [&] { return at = (at + 65536 + 64) % (kFile - bytes) & ~size_t{63}; };
  const auto prepare = [&](unsigned i) {
    io_uring_prep_read(io_uring_get_sqe(ring.get()), file.get(), out + i * bytes,
                       static_cast<unsigned>(bytes), next());
  };
  const double loads = time_calls(2000, [&] { load_loop(mapped + next(), out, bytes); });
  const double call = time_calls(2000, [&] {
    must(pread(file.get(), out, bytes, static_cast<off_t>(next())) == static_cast<ssize_t>(bytes), "pread");
  });
  result("%zu B of a descriptor: mapped loads %.0f ns, pread %.0f ns (ratio %.1f)", bytes, loads, call,
         call / loads);
  if (ring.ok()) {
    const double single = time_calls(500, [&] {
      prepare(0);
      must(ring.run(1) == static_cast<int>(bytes), "IORING_OP_READ");
    });
    const double batch = time_calls(50,
                                    [&] {
                                      for (unsigned i = 0; i < kBatch; ++i) prepare(i);
                                      must(ring.run(kBatch) == static_cast<int>(bytes), "IORING_OP_READ");
                                    }) /
                         kBatch;
    result(
        "  IORING_OP_READ %.0f ns (ratio %.1f), in batches of %u %.0f ns each (ratio %.1f); kernel workers: "
        "%zu",
        single, single / loads, kBatch, batch, batch / loads, kernel_workers());
  }
  munmap(mapped, kFile);
}

// The first page of a perf event's ring, or null with a message.
char* perf_page() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.exclude_kernel = 1;
  // The mapping keeps the event; both last until the process ends.
  const auto fd =
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  void* at = fd < 0 ? MAP_FAILED : mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) return static_cast<char*>(at);
  result("perf: skipped, no perf event here (%s); a container or kernel.perf_event_paranoid may forbid them",
         strerrorname_np(errno));
  return nullptr;
}

// Mapped beyond the end of its file.
char* revoked_page() {
  const Fd file(memfd_create("iouring-bar-bench", MFD_CLOEXEC));
  void* at = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file.get(), 0);
  must(at != MAP_FAILED, "mmap");
  return static_cast<char*>(at);
}

std::string with_flags(const std::string& name, const Mapping& m) {
  return name + " (" + (m.flags.empty() ? "none of io pf wr" : m.flags.substr(1)) + ")";
}

}  // namespace

int main() {
  print_machine("iouring_bar_bench");
  Uring ring;
  if (!ring.ok())
    result(
        "io_uring: skipped, not allowed here (%s); a container's seccomp filter or kernel.io_uring_disabled",
        strerrorname_np(ring.error()));
  SharedMemory memory(kPage);
  probe("memory", reinterpret_cast<char*>(memory.words()), ring);
  const SharedMemory read_only(kPage);
  must(mprotect(read_only.words(), kPage, PROT_READ) == 0, "mprotect");
  probe("memory, read-only", reinterpret_cast<char*>(read_only.words()), ring);
  const std::optional<Mapping> vvar = mapping_named("[vvar]");
  if (vvar)
    probe(with_flags("vvar", *vvar), vvar->at, ring);
  else
    result("vvar: skipped, this kernel maps no such page");
  if (char* perf = perf_page())
    if (const auto mapping = mapping_named("anon_inode:[perf_event]"))
      probe(with_flags("perf", *mapping), perf, ring);
  probe("revoked", revoked_page(), ring);

  cost_from("memory", reinterpret_cast<char*>(memory.words()), ring);
  if (vvar) cost_from("vvar", vvar->at, ring);
  for (const size_t bytes : {64, 4096, 65536}) cost_of_descriptor(bytes, ring);
}
