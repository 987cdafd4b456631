// Memory that goes back to the thread that took it.
#include "collector/jobs/memory_pool.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ttc::jobs {
namespace {

TEST(MemoryPool, what_no_one_has_any_more_is_taken_again) {
  MemoryPool<std::string> pool;
  std::shared_ptr<std::string> first = pool.take(), second = pool.take();
  ASSERT_NE(first.get(), second.get());
  *first = "left in it";
  const std::string* const memory = first.get();
  const std::shared_ptr<const void> kept = first;
  first.reset();
  EXPECT_NE(pool.take().get(), memory) << "it is kept";
}

TEST(MemoryPool, a_thread_gets_what_it_had) {
  MemoryPool<std::string> pool(2);
  const std::string* memory[2] = {pool.take(0).get(), nullptr};
  {
    const auto of_thread_1 = pool.take(1);
    memory[1] = of_thread_1.get();
    EXPECT_NE(memory[0], memory[1]);
  }
  EXPECT_EQ(pool.take(1).get(), memory[1]);
  EXPECT_EQ(pool.take(0).get(), memory[0]);
}

TEST(MemoryPool, memory_outlives_its_pool) {
  std::shared_ptr<std::string> text;
  {
    MemoryPool<std::string> pool;
    text = pool.take();
  }
  *text = "still there";
  EXPECT_EQ(*text, "still there");
}

}  // namespace
}  // namespace ttc::jobs
