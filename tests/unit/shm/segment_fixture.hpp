// What tests of segments begin with: a live name that leaves nothing behind, a small segment, and a writer that died.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "shm/reader.hpp"
#include "tests/support/ring_chunks.hpp"
#include "tests/support/segment_refusal.hpp"

namespace ttc::shm::segment_test {

using Next = Reader::Next;

// A live name of this process, removed at the end with what it may leave.
class Name {
 public:
  explicit Name(const std::string& tag) : text_("test-" + std::to_string(getpid()) + "-" + tag) { remove(); }
  ~Name() { remove(); }
  operator const std::string&() const { return text_; }
  const std::string& text() const { return text_; }
  std::string remains() const { return text_ + ".remains"; }
  std::string path() const { return path_of(text_); }
  bool exists() const { return std::filesystem::exists(path()); }
  bool remains_exist() const { return std::filesystem::exists(path_of(remains())); }

 private:
  static std::string path_of(const std::string& name) {
    return "/dev/shm/ttcollect-" + name + "." + std::to_string(geteuid());
  }
  void remove() const {
    remove_segment(text_);
    remove_segment(remains());
  }
  std::string text_;
};

inline SegmentOptions small() {
  SegmentOptions o;
  o.ring_bytes = 64 << 10;
  o.standing_bytes = 8 << 10;
  o.loss_records = 64;
  return o;
}

inline std::string body_text(const std::vector<uint64_t>& chunk) {
  const auto body = body_of(chunk);
  return {body.begin(), body.end()};
}

// Runs `work` in a child that is then dead, by `how`: a signal, or 0 for _exit without any destructor.
inline void in_dead_child(int how, const std::function<void()>& work) {
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    work();
    if (how) raise(how);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(how ? WIFSIGNALED(status) : WIFEXITED(status));
}

inline void crash_after(const std::string& name, uint64_t chunks, int how = SIGKILL) {
  in_dead_child(how, [&] {
    auto* writer = new SegmentWriter(name, "emu:x", 77, small());
    writer->add_standing(ChunkKind::session, "{}");
    for (uint64_t i = 0; i < chunks; ++i) publish(writer->ring(), i);
    writer->ring().claim(4096);  // killed in the middle of a claim
  });
}

}  // namespace ttc::shm::segment_test
