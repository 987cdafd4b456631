// The simulated chip on plain values: programs written by hand where a rule is tested alone, the built-in workloads otherwise.
#include "tools/chip/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/chip/schedule.hpp"

namespace {

using namespace ttc::chip;

Shape grid(unsigned cores, unsigned columns = 8) {
  Shape s;
  for (unsigned i = 0; i < cores; ++i)
    s.cores.push_back({static_cast<uint8_t>(1 + i % columns), static_cast<uint8_t>(1 + i / columns)});
  s.columns = columns;
  return s;
}

ChipWorkload builtin(const char* name) {
  return read_workload(builtin_workload(name), name);
}

// The first program of each op of a workload.
std::vector<Launched> launches(const char* name, const Shape& shape, uint64_t seed = 1) {
  ChipWorkload w = builtin(name);
  const size_t ops = w.ops.size();
  Schedule schedule(shape, std::move(w), {}, seed, 1'000'000'000);
  std::vector<Launched> all;
  for (size_t i = 0; i < 2 * ops; ++i) all.push_back(schedule.next());
  for (Launched& l : all) l.op = nullptr;  // of the schedule that ends here
  return all;
}

ChipProgram one_core(Code writer, Code reader) {
  ChipProgram p;
  p.jitter = 0;
  p.codes = {std::move(writer), std::move(reader)};
  p.cores.resize(1);
  p.cores[0].code = {0, 1, -1, -1, -1};
  return p;
}

Cycles length(const Timeline& t) {
  return t.end() - t.moments[0].at;
}

TEST(ChipMachine, a_consumer_waits_for_its_producer_and_a_producer_for_room) {
  // 20 blocks, made in 10 cycles and used in 1000; and the other way round.
  for (const auto& [make, use] : {std::pair{10u, 1000u}, {1000u, 10u}}) {
    const Code producer{
        {Do::loop, 0, 0, 20}, {Do::reserve, 0}, {Do::spin, 0, 0, make}, {Do::push, 0}, {Do::loop_end}};
    const Code consumer{
        {Do::loop, 0, 0, 20}, {Do::front, 0}, {Do::spin, 0, 0, use}, {Do::pop, 0}, {Do::loop_end}};
    ChipProgram p = one_core(consumer, producer);
    p.capacity[0] = 3;
    const Timeline t = run(grid(1), p, 0, 1, true);
    int filled = 0, most = 0;
    for (const BufferChange& c : t.buffers) {
      filled += c.by;
      ASSERT_GE(filled, 0) << "a block was used before it was there";
      ASSERT_LE(filled, 3) << "a block was overwritten";
      most = std::max(most, filled);
    }
    EXPECT_EQ(t.buffers.size(), 40u);
    EXPECT_EQ(filled, 0);
    EXPECT_EQ(most, make < use ? 3 : 1) << "the slower side sets how full the buffer is";
    EXPECT_GT(length(t), 20'000u);
    EXPECT_LT(length(t), 24'000u) << "the two sides do not overlap";
  }
}

TEST(ChipMachine, a_buffer_is_never_overrun_nor_underrun_in_any_workload) {
  const Shape shape = grid(16, 4);
  for (const char* name : {"matmul", "pipeline", "allreduce", "imbalanced"}) {
    const ChipWorkload w = builtin(name);
    for (const ChipOp& op : w.ops) {
      const ChipProgram p = program_of(op, shape, w.jitter, 7);
      std::map<std::pair<int, int>, int> filled;
      const Timeline t = run(shape, p, 0, 3, true);
      Cycles last = 0;
      for (const BufferChange& c : t.buffers) {
        ASSERT_GE(c.at, last) << "changes are not in order of time";
        last = c.at;
        int& now = filled[{c.core, c.buffer}];
        now += c.by;
        ASSERT_TRUE(now >= 0 && now <= static_cast<int>(p.capacity[c.buffer])) << name << ", " << op.code;
      }
      ASSERT_FALSE(filled.empty());
      for (const auto& [where, now] : filled) EXPECT_EQ(now, 0) << name << ": blocks are left";
    }
  }
}

TEST(ChipMachine, kernels_of_one_core_and_of_many_overlap) {
  for (const char* name : {"matmul", "pipeline", "allreduce", "imbalanced"})
    for (const Launched& l : launches(name, grid(16, 4))) {
      // When each RISC's kernel runs.
      std::map<std::pair<int, int>, std::pair<Cycles, Cycles>> kernel;
      for (const Step& s : l.timeline.steps) {
        if (s.act == Act::kernel_start) kernel[{s.core, s.risc}].first = s.at;
        if (s.act == Act::kernel_end) kernel[{s.core, s.risc}].second = s.at;
      }
      ASSERT_EQ(kernel.size(), 80u);
      Cycles latest_start = 0, earliest_end = ~Cycles{0};
      for (const auto& [where, k] : kernel) {
        ASSERT_LT(k.first, k.second);
        latest_start = std::max(latest_start, k.first);
        earliest_end = std::min(earliest_end, k.second);
      }
      EXPECT_LT(latest_start, earliest_end) << name << ": RISCs run one after another";
    }
}

TEST(ChipMachine, steps_are_in_order_of_time_and_zones_nest) {
  for (const char* name : {"matmul", "pipeline", "allreduce", "imbalanced"}) {
    const auto all = launches(name, grid(24));
    for (size_t i = 0; i < all.size(); ++i) {
      const auto& steps = all[i].timeline.steps;
      ASSERT_TRUE(std::is_sorted(steps.begin(), steps.end(),
                                 [](const Step& a, const Step& b) { return a.at < b.at; }));
      if (i > 0) {
        ASSERT_GE(steps.front().at, all[i - 1].timeline.steps.back().at) << "programs overlap on a core";
      }
      std::map<std::pair<int, int>, std::vector<uint8_t>> open;
      std::map<std::pair<int, int>, Cycles> last;
      for (const Step& s : steps) {
        auto& zones = open[{s.core, s.risc}];
        const auto before = last.find({s.core, s.risc});
        if (before != last.end()) {
          ASSERT_GT(s.at, before->second) << "two markers of one RISC at one time";
        }
        last[{s.core, s.risc}] = s.at;
        if (s.act == Act::zone_begin) zones.push_back(s.zone);
        if (s.act != Act::zone_end) continue;
        ASSERT_FALSE(zones.empty());
        ASSERT_EQ(zones.back(), s.zone);
        zones.pop_back();
      }
      for (const auto& [where, zones] : open) EXPECT_TRUE(zones.empty());
    }
  }
}

TEST(ChipMachine, fewer_dram_channels_make_reading_slower) {
  ChipOp op;
  op.blocks = 20;
  op.math = op.unpack = op.pack = 10;
  Shape many = grid(32), one = grid(32);
  one.channels = 1;
  const Cycles wide = length(run(many, program_of(op, many, 0, 1), 0, 1));
  const Timeline narrow = run(one, program_of(op, one, 0, 1), 0, 1);
  const double all_bytes = 2.0 * 32 * 20 * op.tiles * op.tile_bytes;  // read and written
  EXPECT_GE(static_cast<double>(length(narrow)), all_bytes / one.channel_bytes_a_cycle)
      << "a channel gave more than it has";
  EXPECT_GT(length(narrow), 5 * wide);
  // Who waits for a channel follows from its user before, not from itself.
  for (const Moment& m : narrow.moments)
    if (m.why == Why::channel) {
      ASSERT_EQ(m.at - narrow.moments[m.cause].at, 86u) << "2048 bytes at 24 a cycle";
    }
  // And the critical path has the reason.
  Cycles by_channel = 0;
  for (const PathPart& p : critical_path(narrow))
    if (p.why == Why::channel) by_channel += p.end - p.begin;
  EXPECT_GT(by_channel, length(narrow) * 9 / 10);
}

TEST(ChipMachine, the_critical_path_is_a_chain_from_the_go_message_to_the_end) {
  for (const char* name : {"matmul", "pipeline", "allreduce", "imbalanced"}) {
    Cycles done_before = 0;
    for (const Launched& l : launches(name, grid(24))) {
      const std::vector<PathPart> path = critical_path(l.timeline);
      ASSERT_FALSE(path.empty());
      EXPECT_EQ(path.front().begin, l.go);
      EXPECT_EQ(path.back().end, l.timeline.end());
      for (size_t i = 1; i < path.size(); ++i)
        ASSERT_EQ(path[i].begin, path[i - 1].end) << name << ", part " << i;
      // The recorded work of a RISC is within its launch.
      std::map<std::pair<int, int>, std::pair<Cycles, Cycles>> launch;
      for (const Step& s : l.timeline.steps) {
        launch.try_emplace({s.core, s.risc}, s.at, s.at);
        launch[{s.core, s.risc}].second = s.at;
      }
      for (const PathPart& p : path) {
        if (p.why != Why::work) continue;
        ASSERT_TRUE(launch.contains({p.core, p.risc}));
        EXPECT_GE(p.begin, (launch[{p.core, p.risc}].first));
        EXPECT_LE(p.end, (launch[{p.core, p.risc}].second + kMarkerCycles));
      }
      const std::vector<ProgramPart> whole = program_path(l, done_before);
      for (size_t i = 1; i < whole.size(); ++i) ASSERT_EQ(whole[i].begin, whole[i - 1].end);
      EXPECT_LT(whole.front().begin, l.go) << "nothing held up the go message";
      done_before = l.timeline.end();
    }
  }
}

// What is on the path sets the end; what is not on it does not.
TEST(ChipMachine, the_critical_path_names_what_sets_the_end) {
  ChipOp op;
  op.blocks = 10;
  const Shape shape = grid(8);
  const auto end_with = [&](Cycles unpack, Cycles math) {
    op.unpack = unpack, op.math = math;
    return length(run(shape, program_of(op, shape, 0, 1), 0, 1));
  };
  const auto share = [&](uint8_t risc) {
    const Timeline t = run(shape, program_of(op, shape, 0, 1), 0, 1);
    Cycles sum = 0;
    for (const PathPart& p : critical_path(t))
      if (p.risc == risc && p.why == Why::work) sum += p.end - p.begin;
    return static_cast<double>(sum) / static_cast<double>(length(t));
  };
  const Cycles by_math = end_with(300, 5000);
  EXPECT_GT(share(math), 0.8);
  EXPECT_EQ(end_with(300, 6000) - by_math, 10'000u) << "1000 cycles more in each of ten blocks";
  EXPECT_LE(end_with(600, 5000) - by_math, 400u) << "unpacking is hidden, but for the first block's";
  end_with(5000, 300);
  EXPECT_GT(share(unpack), 0.8);
}

Watched delayed(const Shape& shape, uint16_t core, unsigned command, Cycles delay, uint8_t riscs = 0x1f) {
  Watched w{0, delay, {}};
  w.masks.resize(shape.cores.size());
  w.masks[core][command] = riscs;
  return w;
}

TEST(ChipMachine, a_debug_delay_holds_up_each_command_of_its_kind_on_its_core_and_risc) {
  const Code reader{{Do::loop, 0, 0, 10}, {Do::read, 0, 0, 64}, {Do::barrier}, {Do::loop_end}};
  const Code writer{{Do::loop, 0, 0, 3}, {Do::write, 0, 0, 64}, {Do::barrier}, {Do::loop_end}};
  Shape shape = grid(1);
  const ChipProgram p = one_core(writer, reader);
  const Cycles without = length(run(shape, p, 0, 1));
  shape.watched = delayed(shape, 0, 0, 5000);
  const Timeline reads = run(shape, p, 0, 1);
  EXPECT_EQ(length(reads), without + 50'000);
  ASSERT_EQ(reads.delayed.size(), 1u);
  EXPECT_EQ(reads.delayed[0].times, 10u);
  EXPECT_EQ(reads.delayed[0].command, 0);
  Cycles on_path = 0;
  for (const PathPart& part : critical_path(reads))
    on_path += part.why == Why::delay ? part.end - part.begin : 0;
  EXPECT_EQ(on_path, 50'000u);
  shape.watched = delayed(shape, 0, 0, 5000, 1u << brisc);  // which reads nothing
  EXPECT_EQ(length(run(shape, p, 0, 1)), without);
  shape.watched = delayed(shape, 0, 1, 5000, 1u << brisc);
  EXPECT_EQ(run(shape, p, 0, 1).delayed.at(0).times, 3u);
  shape.watched = delayed(shape, 0, 2, 5000);
  EXPECT_TRUE(run(shape, p, 0, 1).delayed.empty());
  shape.watched = {100, 0, {}};  // the watcher alone
  EXPECT_EQ(length(run(shape, p, 0, 1)), without + 1000);
}

TEST(ChipMachine, a_delay_on_one_core_reaches_those_that_wait_for_it) {
  Shape shape = grid(8);
  ChipWorkload w = builtin("pipeline");
  const ChipProgram p = program_of(w.ops[0], shape, 0, 1);
  const Timeline without = run(shape, p, 0, 1);
  shape.watched = delayed(shape, 2, 1, 3000);
  const Timeline with = run(shape, p, 0, 1);
  const auto end_of = [](const Timeline& t, uint16_t core) {
    Cycles end = 0;
    for (const Step& s : t.steps)
      if (s.core == core) end = std::max(end, s.at);
    return end;
  };
  ASSERT_EQ(with.delayed.size(), 1u);
  EXPECT_EQ(with.delayed[0].core, 2u);
  EXPECT_GT(end_of(with, 7), end_of(without, 7) + 3000) << "the last core waits for the delayed one's blocks";
  shape.watched = delayed(shape, 2, 2, 3000);
  EXPECT_EQ(run(shape, p, 0, 1).delayed.at(0).command, 2) << "a semaphore of one other core is an atomic";
}

// It held the channel that it was going to use from the beginning of its delay on.
TEST(ChipMachine, a_delayed_command_leaves_the_channel_to_others_while_it_waits) {
  const Code reader{{Do::loop, 0, 0, 20}, {Do::read, 0, 0, 2048}, {Do::barrier}, {Do::loop_end}};
  ChipProgram p = one_core({}, reader);
  p.cores.push_back(p.cores[0]);
  p.cores[1].core = 1;
  Shape shape = grid(2);
  shape.channels = 1;
  const auto end_of_core_1 = [&] {
    const Timeline t = run(shape, p, 0, 1);
    const auto is_last = [](const Step& s) {
      return s.core == 1 && s.act == Act::fw_end && s.risc == ncrisc;
    };
    return std::find_if(t.steps.begin(), t.steps.end(), is_last)->at;
  };
  const Cycles together = end_of_core_1();
  shape.watched = delayed(shape, 0, 0, 100'000);
  EXPECT_LE(end_of_core_1(), together) << "core 1 waited while core 0 was delayed";
}

TEST(ChipMachine, requests_of_one_time_are_served_in_order_of_cores) {
  const Code reader{{Do::await, 0, 0, 1}, {Do::read, 0, 0, 2048}, {Do::barrier}};
  const Code starter{{Do::spin, 1, 0, 9000}, {Do::signal, 0, 0, 1}};
  ChipProgram p = one_core(starter, reader);
  p.cores[0].group[0] = {2, 1, 3};
  for (uint16_t c = 1; c < 4; ++c) {
    p.cores.push_back({c, {-1, 1, -1, -1, -1}, 1, {}});
  }
  p.cores[0].code[ncrisc] = -1;
  Shape shape = grid(4);
  shape.channels = 1;
  for (Place& place : shape.cores) place = {1, 1};  // the signal reaches all at one time
  std::vector<std::pair<Cycles, uint16_t>> served;
  for (const Moment& m : run(shape, p, 0, 1).moments)
    if (m.why == Why::channel) served.emplace_back(m.at, m.core);
  std::sort(served.begin(), served.end());
  ASSERT_EQ(served.size(), 3u);
  for (uint16_t c = 0; c < 3; ++c) {
    EXPECT_EQ(served[c].second, c + 1);
    EXPECT_EQ(served[c].first - served[0].first, 86u * c);
  }
}

TEST(ChipMachine, a_seed_gives_the_same_run_again_and_another_one_another) {
  const auto steps = [](uint64_t seed) {
    std::vector<std::tuple<Cycles, int, int, int>> all;
    for (const Launched& l : launches("imbalanced", grid(12), seed))
      for (const Step& s : l.timeline.steps) all.emplace_back(s.at, s.core, s.risc, static_cast<int>(s.act));
    return all;
  };
  EXPECT_EQ(steps(5), steps(5));
  EXPECT_NE(steps(5), steps(6));
}

TEST(ChipMachine, programs_that_wait_for_ever_are_named) {
  const Code hopeless{{Do::front, 2}};
  try {
    run(grid(1), one_core(hopeless, {}), 0, 1);
    FAIL() << "it ended";
  } catch (const Deadlock& e) {
    EXPECT_STREQ(e.what(), "BRISC of core 0 waits for a block in buffer 2 without end");
  }
}

TEST(ChipSchedule, the_dispatcher_writes_a_program_while_the_one_before_runs) {
  ChipWorkload w;
  w.ops.emplace_back();
  w.ops[0].blocks = 40;  // the device is slower than the host
  Schedule schedule(grid(8), w, {}, 1, 1'000'000'000);
  std::vector<Launched> all;
  for (int i = 0; i < 80; ++i) all.push_back(schedule.next());
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_LT(all[i].written_end, all[i - 1].timeline.end());
    EXPECT_GT(all[i].go, all[i - 1].timeline.end());
    EXPECT_LT(all[i].go - all[i - 1].timeline.end(), 1000u) << "the device does not wait";
    EXPECT_EQ(program_path(all[i], all[i - 1].timeline.end()).front().what, "previous program");
  }
  EXPECT_TRUE(all[0].first_of_its_kind);
  EXPECT_FALSE(all[1].first_of_its_kind);
  EXPECT_GE(all[79].host_begin, all[15].timeline.end()) << "the host is further ahead than its queue is long";
}

TEST(ChipSchedule, a_slow_host_leaves_gaps_and_is_the_critical_path) {
  ChipWorkload w;
  w.ops.emplace_back();
  w.ops[0].host_us = 500;
  Schedule schedule(grid(8), w, {}, 1, 1'000'000'000);
  Launched before = schedule.next();
  for (int i = 0; i < 5; ++i) {
    const Launched l = schedule.next();
    EXPECT_GT(l.go, before.timeline.end() + 300'000);
    EXPECT_EQ(program_path(l, before.timeline.end()).front().what, "host");
    EXPECT_EQ(l.host_end - l.host_begin, 500'000u);
    before = l;
  }
}

}  // namespace
