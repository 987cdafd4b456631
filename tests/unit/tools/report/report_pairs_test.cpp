// Rows of a log that have no partner, or come in another order.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/tools/report/log_text.hpp"
#include "tools/report/ops/run.hpp"
#include "tools/report/zones/zone_pairs.hpp"

namespace ttc::report {
namespace {

// Two cores of one program after the other, with rows to delete.
std::vector<std::string> rows_of_two_cores(int launches) {
  std::vector<std::string> rows;
  for (int x = 1; x <= 2; ++x)
    for (int i = 0; i < launches; ++i) {
      std::istringstream four(launch(x, "BRISC", 1000 + i * 1000, 500, 1024 + i * 1024));
      for (std::string row; std::getline(four, row);) rows.push_back(row + "\n");
    }
  return rows;
}

InputAccount account_without(std::vector<std::string> rows, size_t from, size_t count) {
  rows.erase(rows.begin() + static_cast<ptrdiff_t>(from),
             rows.begin() + static_cast<ptrdiff_t>(from + count));
  std::string text = k15;
  for (const std::string& row : rows) text += row;
  return read(text).account;
}

// Rows deleted from the middle of a log left programs with fewer cores, and no message reported it.
TEST(ReportPairs, rows_gone_from_the_middle_of_a_processors_rows_went_unnoticed) {
  const std::vector<std::string> rows = rows_of_two_cores(4);  // 16 rows a core
  for (size_t from = 0; from < rows.size(); ++from)
    for (size_t count = 1; count <= 6 && from + count <= rows.size(); ++count) {
      const InputAccount account = account_without(rows, from, count);
      // What is left of each core: whole launches, or launches that the edge of its rows cuts.
      bool damaged = false, cut = false;
      for (size_t core = 0; core < 2; ++core) {
        const size_t begin = core * 16, end = begin + 16;
        const size_t first = std::clamp(from, begin, end), last = std::clamp(from + count, begin, end);
        if (first == last) continue;
        const bool whole = (first - begin) % 4 == 0 && (last - begin) % 4 == 0;
        const bool front = first == begin, back = last == end;
        // A kernel zone of which both markers are gone leaves nothing that lacks a partner either.
        const bool zone = (first - begin) % 4 == 1 && last - first == 2;
        if (whole || zone) continue;
        if (front || back)
          cut = true;
        else
          damaged = true;
      }
      EXPECT_EQ(account.damaged, damaged) << "rows " << from << " to " << from + count;
      if (damaged) continue;
      EXPECT_EQ(account.cut_zones > 0, cut) << "rows " << from << " to " << from + count;
    }
  EXPECT_FALSE(account_without(rows, 4, 4).damaged) << "a launch of which no row is left cannot be detected";
}

TEST(ReportPairs, a_missing_end_beside_a_reported_loss_is_no_damage) {
  ZonePairs pairs;
  const Lane lane{1, 1, LogRisc::brisc};
  const auto marker = [&](uint64_t time, uint16_t id, ZoneClass of, markers::MarkerType type, uint32_t host) {
    const Event e{time, 0, 0, id, type, of};
    pairs.events({{0, host, -1, -1}, lane, {&e, 1}});
  };
  using markers::MarkerType;
  marker(100, 1, ZoneClass::firmware, MarkerType::zone_start, 1);
  marker(110, 2, ZoneClass::kernel, MarkerType::zone_start, 1);  // both ends are lost
  marker(300, 1, ZoneClass::firmware, MarkerType::zone_start, 2);
  marker(310, 1, ZoneClass::firmware, MarkerType::zone_end, 2);
  pairs.lost({0, {1, 2, LogRisc::brisc}, 100, 300});  // another core
  pairs.lost({0, lane, 600, 700});                    // behind
  pairs.lost({0, lane, 110, 150});
  pairs.end();
  EXPECT_EQ(pairs.damage(), 0u);
  EXPECT_EQ(pairs.beside_losses(), 2u);
  marker(500, 3, ZoneClass::other, MarkerType::zone_end, 2);
  pairs.end();
  EXPECT_EQ(pairs.damage(), 1u);
  ASSERT_NE(pairs.first(), nullptr);
  EXPECT_FALSE(pairs.first()->start);
}

// A core's trace-only markers come from several processors, whose kernel zones have ids of their own.
TEST(ReportPairs, kernels_of_trace_only_lanes_begin_and_end_under_different_ids) {
  std::string text = k15;
  for (uint64_t i = 0; i < 3; ++i) {
    const auto row = [&](int id, uint64_t time, const char* name, const char* type) {
      return row15(1, "TENSIX_RISC_AGG", id, i * 1000 + time, static_cast<uint32_t>(i + 1), name, type);
    };
    text += row(1, 100, "TRACE-FW", "ZONE_START") + row(2, 110, "TRACE-KERNEL", "ZONE_START") +
            row(3, 200, "TRACE-KERNEL", "ZONE_END") + row(1, 210, "TRACE-FW", "ZONE_END");
  }
  const auto run = read(text);
  EXPECT_FALSE(run.account.damaged);
  EXPECT_EQ(run.account.cut_zones, 0u);
}

// Beyond the number that is held nothing may be taken for explained.
TEST(ReportPairs, what_cannot_be_held_counts_as_damage) {
  ZonePairs pairs(2);
  const Lane lane{1, 1, LogRisc::brisc};
  for (uint64_t i = 0; i < 5; ++i) {
    const Event e{100 * (i + 1), 0, 0, 1, markers::MarkerType::zone_start, ZoneClass::firmware};
    pairs.events({{0, 1, -1, -1}, lane, {&e, 1}});
  }
  pairs.end();
  EXPECT_EQ(pairs.damage(), 4u);
  EXPECT_EQ(pairs.at_edges(), 1u);
}

TEST(ReportOrder, a_shuffled_log_is_sorted_or_refused) {
  std::vector<std::string> rows = rows_of_two_cores(6);
  std::string text = k15, other = k15;
  for (const std::string& row : rows) text += row;
  const auto in_order = read(text);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::shuffle(rows.begin(), rows.end(), std::mt19937(seed));
    other = k15;
    for (const std::string& row : rows) other += row;
    const auto run = read(other);
    EXPECT_FALSE(run.account.damaged) << "seed " << seed;
    ASSERT_EQ(run.rows.size(), in_order.rows.size()) << "seed " << seed;
    for (size_t i = 0; i < run.rows.size(); ++i) EXPECT_EQ(run.rows[i].kernel_ns, in_order.rows[i].kernel_ns);
    EXPECT_THROW(read(other, 64), InputError) << "seed " << seed;
  }
  EXPECT_NO_THROW(read(text, 64)) << "too large to be read first, but in order";
}

TEST(ReportOrder, logs_put_together_may_begin_anew) {
  const std::string one = launch(1, "BRISC", 1000, 500, 1024) + launch(1, "BRISC", 5000, 500, 2048);
  const auto run = read(k15 + one + k15 + one);
  EXPECT_FALSE(run.account.damaged);
  EXPECT_EQ(run.ops.size(), 4u);
}

// A 2025 log has both ends of a zone before what is nested in it.
TEST(ReportOrder, ends_before_what_is_nested_are_in_order) {
  const auto row = [](int id, uint64_t time, const char* name, const char* type) {
    return row15(1, "BRISC", id, time, 7, name, type);
  };
  const auto run =
      read(k15 + row(10, 100, "BRISC-FW", "ZONE_START") + row(10, 900, "BRISC-FW", "ZONE_END") +
           row(11, 200, "BRISC-KERNEL", "ZONE_START") + row(11, 800, "BRISC-KERNEL", "ZONE_END") +
           row(12, 300, "A", "ZONE_START") + row(12, 400, "A", "ZONE_END") + row(12, 500, "A", "ZONE_START") +
           row(12, 600, "A", "ZONE_END"));
  EXPECT_FALSE(run.account.damaged);
  EXPECT_EQ(run.account.cut_zones, 0u);
  ASSERT_EQ(run.rows.size(), 1u);
  EXPECT_EQ(run.rows[0].kernel_ns, 600u);
}

}  // namespace
}  // namespace ttc::report
