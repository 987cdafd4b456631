// Tests where a drain thread runs: lists of CPUs, the choice, and its effect on this thread.
#include "collector/host/host_fit.hpp"

#include <gtest/gtest.h>
#include <numaif.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;

TEST(CpuList, is_read_and_written_as_the_kernel_does) {
  EXPECT_EQ(parse_cpus("0-3,8"), (CpuSet{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpus("7"), CpuSet{7});
  EXPECT_EQ(parse_cpus("9,2-3,3-4"), (CpuSet{2, 3, 4, 9}));
  EXPECT_EQ(to_string(CpuSet{0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(to_string(CpuSet{}), "");
  for (const char* wrong : {"", "a", "3-1", "1,", ",1", "1-", "-1", "1--2", "1 2", "70000", "0x2", "1-2-3"})
    EXPECT_FALSE(parse_cpus(wrong)) << wrong;
}

TEST(CpuList, what_is_written_is_read_back) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 dice(seed);
  for (int i = 0; i < 200; ++i) {
    CpuSet cpus;
    for (auto n = 1 + dice() % 40; n > 0; --n) cpus.insert(static_cast<unsigned>(dice() % 70));
    ASSERT_EQ(parse_cpus(to_string(cpus)), cpus) << to_string(cpus);
  }
}

WorkloadThread pinned(unsigned cpu) {
  return {{cpu}, false, cpu};
}
WorkloadThread roaming(const CpuSet& allowed, unsigned cpu) {
  return {allowed, true, cpu};
}

struct Choice {
  const char* what;
  CpuSet local, allowed;
  std::vector<WorkloadThread> workload;
  CpuSet chosen;
  const char* why;
};

TEST(CpuChoice, near_the_card_and_away_from_the_workload_as_far_as_that_goes) {
  const CpuSet all{0, 1, 2, 3, 4, 5, 6, 7};
  const CpuSet node{4, 5, 6, 7};
  const Choice kChoices[] = {
      {"no other process", node, all, {}, node, "near the card"},
      {"the node is not known", {}, all, {}, {}, "not known"},
      {"a cpuset leaves part of the node", node, {0, 1, 5, 6}, {}, {5, 6}, "near the card"},
      {"a cpuset leaves nothing of the node", node, {0, 1}, {}, {}, "may be used"},
      {"dispatch threads on two CPUs", node, all, {pinned(4), pinned(5)}, {6, 7}, "away"},
      {"pinned elsewhere", node, all, {pinned(0)}, node, "near the card"},
      {"one runs wherever it likes", node, all, {roaming(all, 6)}, {4, 5, 7}, "away"},
      {"one could run, but waits", node, all, {{all, false, 6}}, node, "near the card"},
      {"pinned and busy", node, all, {pinned(4), roaming(all, 5)}, {6, 7}, "away"},
      {"busy on all that pinned ones leave", {4, 5}, all, {pinned(4), roaming(all, 5)}, {5}, "runs on all"},
      {"pinned to all of it", {4, 5}, all, {pinned(4), pinned(5)}, {4, 5}, "pinned to all"},
      {"a whole machine of CPUs is no pinning", node, all, {{node, false, 4}}, node, "near the card"},
  };
  for (const Choice& c : kChoices) {
    const CpuChoice got = choose_cpus(c.local, c.allowed, c.workload);
    EXPECT_EQ(got.cpus, c.chosen) << c.what << ": " << to_string(got.cpus);
    EXPECT_NE(got.why.find(c.why), std::string::npos) << c.what << ": " << got.why;
  }
}

TEST(HostFit, follows_the_cards_node_and_does_nothing_where_it_is_not_reported) {
  const CpuSet all{0, 1, 2, 3};
  HostFit fit = fit_for(1, "2-3", all, {pinned(2)});
  EXPECT_EQ(fit.cpus.cpus, CpuSet{3});
  EXPECT_EQ(fit.memory_node, 1);
  fit = fit_for(-1, "0-3", all, {});
  EXPECT_TRUE(fit.cpus.cpus.empty());
  EXPECT_NE(fit.cpus.why.find("not known"), std::string::npos);
  EXPECT_EQ(fit.memory_node, -1);
  fit = fit_for(1, "8-15", all, {});  // a cpuset without any of them: the memory may still be near
  EXPECT_TRUE(fit.cpus.cpus.empty());
  EXPECT_EQ(fit.memory_node, 1);
  fit = fit_for(0, "", all, {});
  EXPECT_TRUE(fit.cpus.cpus.empty());
}

TEST(WorkloadThreads, are_read_from_proc) {
  std::string pattern = testing::TempDir() + "ttc-proc-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::string task = std::string(pattern) + "/77/task/";
  const auto thread = [&](const char* tid, const char* stat, const char* cpus) {
    fs::create_directories(task + tid);
    std::ofstream(task + tid + "/stat") << stat;
    std::ofstream(task + tid + "/status")
        << "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t" << cpus << "\n";
  };
  // The kernel has 52 fields: state is the 3rd, the CPU the 39th. The name holds what looks like fields.
  const auto stat = [](const char* name, const char* state, const char* cpu) {
    std::string text = std::string("77 (") + name + ") " + state;
    for (int field = 4; field <= 52; ++field) text += field == 39 ? std::string(" ") + cpu : " 17";
    return text + "\n";
  };
  thread("77", stat("a) S 1", "R", "5").c_str(), "5");
  thread("78", stat("b", "S", "2").c_str(), "0-7");
  thread("79", "79", "what");
  auto threads = threads_of(77, pattern);
  ASSERT_EQ(threads.size(), 2u);
  std::sort(threads.begin(), threads.end(), [](const auto& a, const auto& b) { return a.cpu > b.cpu; });
  EXPECT_TRUE(threads[0].running);
  EXPECT_EQ(threads[0].cpu, 5u);
  EXPECT_EQ(threads[0].allowed, CpuSet{5});
  EXPECT_FALSE(threads[1].running);
  EXPECT_EQ(threads[1].cpu, 2u);
  EXPECT_EQ(threads[1].allowed.size(), 8u);
  EXPECT_TRUE(threads_of(0, pattern).empty());
  EXPECT_TRUE(threads_of(99, pattern).empty());
  fs::remove_all(pattern);
}

TEST(WorkloadThreads, of_this_process_are_where_they_were_put) {
  const unsigned cpu = *allowed_cpus().begin();
  std::atomic<bool> placed{false}, over{false};
  std::thread other([&] {
    EXPECT_TRUE(run_on({cpu}));
    placed = true;
    placed.notify_one();
    over.wait(false);
  });
  placed.wait(false);
  const auto threads = threads_of(getpid());
  EXPECT_TRUE(std::any_of(threads.begin(), threads.end(),
                          [&](const auto& t) { return t.allowed == CpuSet{cpu} && t.cpu == cpu; }));
  EXPECT_GE(threads.size(), 2u);
  over = true;
  over.notify_one();
  other.join();
}

TEST(RunOn, changes_this_thread_only_and_refuses_what_cannot_be) {
  const CpuSet before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  std::thread([&] {
    const CpuSet last{*before.rbegin()};
    EXPECT_TRUE(run_on(last));
    EXPECT_EQ(allowed_cpus(), last);
    EXPECT_FALSE(run_on({60000}));
    EXPECT_FALSE(run_on({}));
    EXPECT_EQ(allowed_cpus(), last);
  }).join();
  EXPECT_EQ(allowed_cpus(), before);
}

int policy() {
  int mode = -1;
  EXPECT_EQ(get_mempolicy(&mode, nullptr, 0, nullptr, 0), 0);
  return mode;
}

TEST(PreferNode, holds_while_it_lives_and_leaves_what_was_before) {
  const int before = policy();
  const int node = common_node(allowed_cpus());
  if (node < 0) GTEST_SKIP() << "the CPUs of this process belong to several nodes, or to none that is known";
  {
    const PreferNode near(node);
    EXPECT_TRUE(near.effective());
    EXPECT_EQ(policy(), MPOL_PREFERRED);
    {
      const PreferNode again(node);
      EXPECT_TRUE(again.effective());
    }
    EXPECT_EQ(policy(), MPOL_PREFERRED);
  }
  EXPECT_EQ(policy(), before);
}

TEST(PreferNode, a_node_that_is_not_there_changes_nothing) {
  const int before = policy();
  for (const int node : {-1, 900, 100000}) {
    const PreferNode nowhere(node);
    EXPECT_FALSE(nowhere.effective()) << node;
    EXPECT_EQ(policy(), before);
  }
}

TEST(CommonNode, is_none_for_no_cpu) {
  EXPECT_EQ(common_node({}), -1);
}

}  // namespace
}  // namespace ttc::collect
