// Jobs that several threads do for their owner.
#include "ttcollect/workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ttc::jobs {
namespace {

class Call : public Workers::Job {
 public:
  explicit Call(std::function<void()> what) : what_(std::move(what)) {}

 private:
  void run() override { what_(); }
  std::function<void()> what_;
};

class WorkersOf : public testing::TestWithParam<unsigned> {};

TEST_P(WorkersOf, EachJobIsDoneOnceAndTheOwnerGetsThemInItsOrder) {
  constexpr size_t kJobs = 500;
  std::vector<int> done(kJobs);
  std::vector<std::unique_ptr<Call>> jobs;
  Workers workers(GetParam());
  for (size_t i = 0; i < kJobs; ++i) {
    jobs.push_back(std::make_unique<Call>([&done, i] { ++done[i]; }));
    workers.submit(*jobs.back());
  }
  for (size_t i = 0; i < kJobs; ++i) {
    workers.wait(*jobs[i]);
    EXPECT_EQ(done[i], 1) << i;
    EXPECT_TRUE(workers.done(*jobs[i]));
  }
}

TEST_P(WorkersOf, JobsOfARowComeOneAfterAnother) {
  constexpr size_t kRows = 3, kJobs = 300;
  std::vector<size_t> order[kRows];  // no lock: the row is one
  std::vector<std::unique_ptr<Call>> jobs;
  Workers::Row rows[kRows];
  Workers workers(GetParam());
  for (size_t i = 0; i < kJobs; ++i) {
    jobs.push_back(std::make_unique<Call>([&order, i] { order[i % kRows].push_back(i); }));
    workers.submit(*jobs.back(), &rows[i % kRows]);
  }
  for (const auto& job : jobs) workers.wait(*job);
  for (size_t row = 0; row < kRows; ++row) {
    ASSERT_EQ(order[row].size(), kJobs / kRows);
    for (size_t i = 0; i < order[row].size(); ++i) EXPECT_EQ(order[row][i], i * kRows + row);
  }
}

TEST_P(WorkersOf, AJobThatIsMeantForTheThreadOfAnotherIsDoneThere) {
  constexpr size_t kJobs = 500;
  std::vector<std::thread::id> first(kJobs), second(kJobs);
  std::vector<std::unique_ptr<Call>> jobs, meant;
  std::atomic<int> of_row = 0;
  Workers::Row row;
  Workers workers(GetParam());
  for (size_t i = 0; i < kJobs; ++i) {
    jobs.push_back(std::make_unique<Call>([&first, i] { first[i] = std::this_thread::get_id(); }));
    meant.push_back(std::make_unique<Call>([&, i] {
      EXPECT_EQ(++of_row, 1) << "two of a row at once";
      second[i] = std::this_thread::get_id();
      --of_row;
    }));
    workers.submit(*jobs.back());
  }
  for (size_t i = 0; i < kJobs; ++i) {
    workers.wait(*jobs[i]);
    workers.submit_to(jobs[i]->done_by(), *meant[i], &row);
  }
  for (size_t i = 0; i < kJobs; ++i) {
    workers.wait(*meant[i]);
    EXPECT_EQ(first[i], second[i]) << i;
    EXPECT_EQ(meant[i]->done_by(), jobs[i]->done_by()) << i;
  }
}

TEST(Workers, JobsThatAreMeantForAThreadComeBeforeOthers) {
  std::atomic<bool> begun = false, go = false;
  std::vector<int> order;
  Call blocks([&] {
    begun = true;
    while (!go) std::this_thread::yield();
  });
  Call any([&] { order.push_back(1); }), meant([&] { order.push_back(2); });
  Workers workers(2);
  workers.submit_to(1, blocks);
  while (!begun) std::this_thread::yield();
  workers.submit(any);
  workers.submit_to(1, meant);
  go = true;
  while (!workers.done(any) || !workers.done(meant))
    std::this_thread::yield();  // the owner does none of them
  EXPECT_EQ(order, (std::vector{2, 1}));
}

TEST_P(WorkersOf, AJobThatIsForgottenIsLeftOutOrAtItsEnd) {
  constexpr size_t kJobs = 300;
  std::vector<std::atomic<int>> begun(kJobs), ended(kJobs);
  std::vector<std::unique_ptr<Call>> jobs;
  Workers workers(GetParam());
  for (size_t i = 0; i < kJobs; ++i) {
    jobs.push_back(std::make_unique<Call>([&, i] { ++begun[i], std::this_thread::yield(), ++ended[i]; }));
    workers.submit(*jobs.back());
  }
  std::vector<int> when_forgotten(kJobs);
  for (size_t i = 0; i < kJobs; i += 2) {
    workers.forget(*jobs[i]);
    when_forgotten[i] = begun[i];
    EXPECT_TRUE(workers.done(*jobs[i]));
    EXPECT_EQ(ended[i], when_forgotten[i]) << "it runs, and its memory may be gone";
  }
  for (size_t i = 1; i < kJobs; i += 2) workers.wait(*jobs[i]);
  for (size_t i = 0; i < kJobs; ++i) {
    EXPECT_EQ(ended[i], begun[i]) << i;
    EXPECT_EQ(begun[i], i % 2 ? 1 : when_forgotten[i]) << i;
  }
}

TEST_P(WorkersOf, WhatAJobThrowsIsThrownToWhoWaitsForIt) {
  Call fails([] { throw std::runtime_error("no room"); });
  int done = 0;
  Call works([&done] { ++done; });
  Workers::Row row;
  Workers workers(GetParam());
  workers.submit(fails, &row);
  workers.submit(works, &row);
  workers.wait(works);
  EXPECT_EQ(done, 1);
  EXPECT_THROW(workers.wait(fails), std::runtime_error);
  EXPECT_NO_THROW(workers.wait(fails)) << "once";
  workers.submit(works);
  workers.wait(works);
  EXPECT_EQ(done, 2) << "a job is submitted again";
}

TEST_P(WorkersOf, AfterForgettingNoJobIsUnderWay) {
  std::atomic<int> under_way = 0;
  std::vector<std::unique_ptr<Call>> jobs;
  Workers workers(GetParam());
  for (int i = 0; i < 200; ++i) {
    jobs.push_back(std::make_unique<Call>([&under_way] {
      ++under_way;
      std::this_thread::yield();
      --under_way;
    }));
    workers.submit(*jobs.back());
  }
  workers.forget_all();
  EXPECT_EQ(under_way, 0);
  for (const auto& job : jobs) EXPECT_TRUE(workers.done(*job));
  jobs.clear();  // nothing refers to them
}

INSTANTIATE_TEST_SUITE_P(Threads, WorkersOf, testing::Values(1u, 2u, 3u, 8u));

TEST(Workers, OfOneAreTheOwnerAlone) {
  const auto owner = std::this_thread::get_id();
  std::thread::id by;
  Call job([&by] { by = std::this_thread::get_id(); });
  Workers workers(1);
  EXPECT_EQ(workers.threads(), 1u);
  workers.submit(job);
  EXPECT_EQ(by, owner);
}

TEST(Workers, TheOwnerWorksWhereItWouldWait) {
  std::atomic<bool> begun = false, may_end = false;
  Call first([&] {
    begun = true;
    while (!may_end) std::this_thread::yield();
  });
  std::thread::id by;
  Call second([&] { by = std::this_thread::get_id(); });
  Workers workers(2);
  workers.submit(first);
  while (!begun) std::this_thread::yield();  // the other thread has it, as the owner did not wait yet
  workers.submit(second);
  workers.wait(second);
  EXPECT_EQ(by, std::this_thread::get_id());
  EXPECT_FALSE(workers.done(first));
  may_end = true;
  workers.wait(first);
}

}  // namespace
}  // namespace ttc::jobs
