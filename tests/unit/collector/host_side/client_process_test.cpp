#include "collector/host_side/client_process.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "collector/host_side/handshakes.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;

class ClientProcess : public testing::Test {
 protected:
  ClientProcess() : root_(fs::temp_directory_path() / ("client-process-" + std::to_string(getpid()))) {
    fs::create_directories(root_ / "7");
  }
  ~ClientProcess() override { fs::remove_all(root_); }
  std::string facts(const std::string& environment) {
    std::ofstream(root_ / "7/environ", std::ios::binary) << environment;
    return facts_of_process(7, root_.string());
  }
  std::string file() const { return (root_ / "state/ttcollect/tracy-handshakes").string(); }
  const fs::path root_;
};

std::string variables(std::initializer_list<std::string> all) {
  std::string text;
  for (const std::string& one : all) text += one + '\0';
  return text;
}

TEST_F(ClientProcess, facts_are_rank_and_chips_by_number) {
  EXPECT_EQ(facts(variables({"HOME=/", "PMI_RANK=9", "TT_RUN_RANK=3", "TT_VISIBLE_DEVICES=4,2"})),
            std::string("rank=3") + '\0' + "chips=4,2" + '\0');
  EXPECT_EQ(facts(variables({"TT_METAL_VISIBLE_DEVICES=1"})), std::string("chips=1") + '\0');
  // Addresses number nothing, and what is no number is no rank.
  EXPECT_EQ(facts(variables({"TT_VISIBLE_DEVICES=0000:01:00.0", "SLURM_PROCID=x"})), "");
  for (const char* list : {",", "1,", ",1", "1,,2", ""})
    EXPECT_EQ(facts(variables({std::string("TT_VISIBLE_DEVICES=") + list})), "");
  EXPECT_EQ(facts_of_process(8, root_.string()), "");
}

TEST_F(ClientProcess, own_threads_are_those_of_the_process) {
  OwnThreads own(getpid());
  EXPECT_TRUE(own.contains(static_cast<uint32_t>(syscall(SYS_gettid))));
  EXPECT_FALSE(own.contains(1));
  EXPECT_FALSE(own.contains(0));
}

// This test program has one, since the linker gives it a build id.
TEST_F(ClientProcess, a_program_has_one_build_id_and_a_text_none) {
  const std::string id = build_id_of("/proc/self/exe");
  EXPECT_GE(id.size(), 16u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  std::ofstream(root_ / "text") << "#!/bin/sh\n";
  EXPECT_EQ(build_id_of((root_ / "text").string()), "");
  EXPECT_EQ(build_id_of((root_ / "absent").string()), "");
}

// Foreign files: cut at any byte of the front, where headers and notes are.
TEST_F(ClientProcess, a_cut_program_is_an_answer) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string front(4096, '\0');
  self.read(front.data(), static_cast<std::streamsize>(front.size()));
  const std::string path = (root_ / "cut").string(), id = build_id_of("/proc/self/exe");
  for (size_t bytes = 0; bytes < front.size(); bytes += 7) {
    std::ofstream(path, std::ios::binary) << front.substr(0, bytes);
    const std::string got = build_id_of(path);
    EXPECT_TRUE(got.empty() || got == id) << bytes;
  }
}

TEST_F(ClientProcess, handshakes_are_kept_by_program_and_object) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  EXPECT_FALSE(kept_handshake(file(), "aa").has_value());
  EXPECT_EQ(keep_handshake(file(), {"aa", 76, "", ""}), "");
  EXPECT_EQ(keep_handshake(file(), {"bb", 66, build_id_of(self), self}), "");
  EXPECT_EQ(keep_handshake(file(), {"cc", 66, "0123", self}), "");  // that object is another one now
  EXPECT_EQ(kept_handshake(file(), "aa").value().protocol, 76u);
  EXPECT_EQ(kept_handshake(file(), "bb").value().object_path, self);
  EXPECT_FALSE(kept_handshake(file(), "cc").has_value());
  EXPECT_FALSE(kept_handshake(file(), "").has_value());
  const auto bytes = fs::file_size(file());
  EXPECT_EQ(keep_handshake(file(), {"aa", 76, "", ""}), "");
  EXPECT_EQ(fs::file_size(file()), bytes);  // a line once
  std::ofstream(file(), std::ios::app) << "garbage\nonly two\n\n";
  EXPECT_EQ(kept_handshake(file(), "aa").value().protocol, 76u);
}

TEST_F(ClientProcess, a_state_directory_that_cannot_be_made_is_said) {
  std::ofstream(root_ / "state") << "a file";
  EXPECT_NE(keep_handshake(file(), {"aa", 76, "", ""}), "");
}

// The client is in an object that the program has mapped: here this program is that object.
TEST_F(ClientProcess, the_object_that_holds_the_client_is_found) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const ProcessFiles files = files_of_process(getpid());
  EXPECT_EQ(files.program, self);
  EXPECT_FALSE(files.objects.empty());
  // Its own literals hold the variable's name.
  const auto own = handshake_of(files, 82);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->object_path, "");
  EXPECT_EQ(own->program, build_id_of(self));
  EXPECT_EQ(handshake_of({"/nowhere", {}}, 82), std::nullopt);
}

TEST_F(ClientProcess, the_file_is_that_of_the_user) {
  EXPECT_EQ(handshakes_file({{"XDG_STATE_HOME", "/s"}, {"HOME", "/h"}}), "/s/ttcollect/tracy-handshakes");
  EXPECT_EQ(handshakes_file({{"HOME", "/h"}}), "/h/.local/state/ttcollect/tracy-handshakes");
  EXPECT_EQ(handshakes_file({}), "");
}

}  // namespace
}  // namespace ttc::collect
