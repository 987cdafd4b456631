#include "tools/viewers/host/host_tracks.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <optional>

namespace ttc::tools {
namespace {

using collect::EventKind;

// A chunk of a process whose ticks are two nanoseconds: tick 1000 is 50,000 ns.
class HostChunk {
 public:
  explicit HostChunk(uint64_t sequence, uint32_t process = 0, uint32_t protocol = 83) : sequence_(sequence) {
    head_.process = process;
    head_.pid = 1000 + process;
    head_.protocol = protocol;
    head_.tick = 1000;
    head_.raw_ns = 50'000;
    head_.ns_per_tick = 2;
  }
  HostChunk& add(EventKind kind, uint32_t subject, int64_t time, uint64_t value = 0,
                 std::string_view text = {}) {
    records_.add({kind, subject, time, value, text});
    return *this;
  }
  void push(HostTracks& to) const {
    shm::ChunkHeader h;
    h.device = collect::kHostDevice;
    h.sequence = sequence_;
    h.kind = shm::ChunkKind::host_events;
    h.bytes = static_cast<uint32_t>(sizeof h + sizeof head_ + records_.size());
    std::vector<uint64_t> chunk((h.bytes + 7) / 8);
    auto* at = reinterpret_cast<char*>(chunk.data());
    std::memcpy(at, &h, sizeof h);
    std::memcpy(at + sizeof h, &head_, sizeof head_);
    if (!records_.empty())
      std::memcpy(at + sizeof h + sizeof head_, records_.bytes().data(), records_.size());
    to.push(chunk);
  }

 private:
  uint64_t sequence_;
  collect::HostChunkHead head_;
  collect::HostRecords records_;
};

// What came, a line each.
class WrittenTracks : public HostWriter {
 public:
  void host_process(const HostProcess& p) override { add("process " + std::to_string(p.pid) + " " + p.name); }
  void host_thread(const HostThread& t) override { add("thread " + std::to_string(t.tid) + " " + t.name); }
  void host_plot(const HostPlot& p) override { add("plot " + p.name); }
  void host_begin(const HostThread& t, const HostZoneBegin& z) override {
    std::string line = std::to_string(t.tid) + " begin " + std::to_string(z.ns) + " " + z.source.name + " " +
                       z.source.file + ":" + std::to_string(z.source.line);
    if (!z.name.empty()) line.append(" as ").append(z.name);
    if (!z.text.empty()) line.append(" text ").append(z.text);
    if (z.flow) line += " flow";
    add(line);
  }
  void host_end(const HostThread& t, uint64_t ns, std::string_view text) override {
    add(std::to_string(t.tid) + " end " + std::to_string(ns) + (text.empty() ? "" : " text ") +
        std::string(text));
  }
  void host_message(const HostThread& t, uint64_t ns, std::string_view text) override {
    add(std::to_string(t.tid) + " message " + std::to_string(ns) + " " + std::string(text));
  }
  void host_value(const HostPlot& p, uint64_t ns, double value) override {
    add(p.name + " " + std::to_string(ns) + " " + std::to_string(static_cast<int>(value)));
  }
  void host_row(const HostRow& r) override {
    add("row " + r.name + (r.thread ? " beside " + std::to_string(r.thread->tid) : ""));
  }
  void host_span(const HostRow& r, const HostSpan& s) override {
    std::string fields;
    append_fields(fields, s.fields);
    add(r.name + ": " + s.name + " " + std::to_string(s.begin_ns) + " to " + std::to_string(s.end_ns) + " " +
        fields);
  }
  std::vector<std::string> lines;

 private:
  void add(std::string line) { lines.push_back(std::move(line)); }
};
using Lines = std::vector<std::string>;

std::string source(const char* name, const char* function, const char* file) {
  return std::string(name) + '\0' + function + '\0' + file + '\0';
}

TEST(HostTracks, events_wait_for_names_that_come_after_them) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk(0)
      .add(EventKind::process, 0, 0, 1000, std::string("python\0host\0", 12))
      .add(EventKind::zone_begin, 7, 1100, 5)
      .add(EventKind::zone_text, 7, 0, 0, "id:3")
      .add(EventKind::literal, 7, 1150, 66)
      .add(EventKind::zone_end, 7, 1200)
      .push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines, Lines{}) << "neither the thread nor the source has a name";
  HostChunk(1).add(EventKind::thread_name, 7, 0, 0, "main").push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines, Lines{});
  HostChunk(2).add(EventKind::source, 12, 0, 5, source("", "run", "a.cpp")).push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines,
            (Lines{"process 1000 python", "thread 7 main", "7 begin 50200 run a.cpp:12 text id:3"}));
  HostChunk(3).add(EventKind::string, 0, 0, 66, "hello").push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(Lines(written.lines.begin() + 3, written.lines.end()),
            (Lines{"7 message 50300 hello", "7 end 50400"}));
  EXPECT_EQ(tracks.held(), 0u);
}

TEST(HostTracks, an_op_has_a_name_and_its_zone_leads_to_its_first_program) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk(0)
      .add(EventKind::thread_name, 7, 0, 0, "main")
      .add(EventKind::source, 1, 0, 5, source("TT_DNN_DEVICE_OP", "f", "op.hpp"))
      .add(EventKind::zone_begin, 7, 1100, 5)
      .add(EventKind::message, 7, 1150, 0, "`TT_DNN_DEVICE_OP: \"Add\", 5, 1, false, 17 ->\n{}`")
      .push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines, Lines{}) << "the zone has not ended";
  HostChunk(1).add(EventKind::zone_end, 7, 1200).push(tracks);
  tracks.release(written, false);
  ASSERT_EQ(written.lines.size(), 5u);
  EXPECT_EQ(written.lines[2], "7 begin 50200 TT_DNN_DEVICE_OP op.hpp:1 flow");
  ASSERT_TRUE(tracks.names().find(1, 17));
  EXPECT_EQ(*tracks.names().find(1, 17), "Add");
  EXPECT_EQ(tracks.names().find(0, 17), nullptr) << "it is of another chip";
  EXPECT_EQ(tracks.take_flow(0, 17), 0u);
  EXPECT_NE(tracks.take_flow(1, 17), 0u);
  EXPECT_EQ(tracks.take_flow(1, 17), 0u) << "a replay is no launch of the zone";
}

TEST(HostTracks, a_zone_that_goes_on_does_not_hold_its_thread_for_ever) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk chunk(0);
  chunk.add(EventKind::thread_name, 7, 0, 0, "main")
      .add(EventKind::source, 1, 0, 5, source("main", "main", "m.cpp"))
      .add(EventKind::zone_begin, 7, 1000, 5);
  for (size_t i = 0; i < HostTracks::kLookAhead; ++i) chunk.add(EventKind::message, 7, 1001, 0, "x");
  chunk.push(tracks);
  tracks.release(written, false);
  ASSERT_EQ(written.lines.size(), 3u + HostTracks::kLookAhead);
  EXPECT_EQ(written.lines[2], "7 begin 50000 main m.cpp:1");
  HostChunk(1)
      .add(EventKind::zone_text, 7, 0, 0, "late")
      .add(EventKind::zone_value, 7, 0, 12)
      .add(EventKind::zone_end, 7, 1100)
      .push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines.back(), "7 end 50200 text late\n12");
}

TEST(HostTracks, times_of_a_thread_do_not_go_back_when_a_later_chunk_relates_them_otherwise) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk(0, 0, 0)
      .add(EventKind::message, 7, 1010, 0, "a")
      .add(EventKind::message, 7, 1000, 0, "b")
      .push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(Lines(written.lines.begin() + 2, written.lines.end()),
            (Lines{"7 message 50020 a", "7 message 50020 b"}));
}

TEST(HostTracks, zones_end_where_chunks_are_missing) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk(0)
      .add(EventKind::thread_name, 7, 0, 0, "main")
      .add(EventKind::source, 1, 0, 5, source("z", "f", "m.cpp"))
      .add(EventKind::zone_begin, 7, 1000, 5)
      .push(tracks);
  HostChunk(2).add(EventKind::zone_end, 7, 1100).push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines.back(), "7 end 50000 text events are missing behind this");
  ASSERT_EQ(tracks.remarks().size(), 2u);
  EXPECT_NE(tracks.remarks()[0].find("missing in 1 places"), std::string::npos);
  EXPECT_NE(tracks.remarks()[1].find("1 host zones ended without a beginning"), std::string::npos);
}

TEST(HostTracks, at_the_end_everything_goes_out_with_what_is_known) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk(0)
      .add(EventKind::zone_begin, 7, 1000, 5)
      .add(EventKind::zone_name, 7, 0, 0, "layer 3")
      .add(EventKind::plot, 7, 1005, std::bit_cast<uint64_t>(42.0), std::string("\x09\0\0\0\0\0\0\0", 8))
      .push(tracks);
  tracks.end();
  tracks.release(written, true);
  EXPECT_EQ(written.lines,
            (Lines{"process 1000 ", "thread 7 thread 7", "7 begin 50000 (unnamed) :0 as layer 3",
                   "plot plot 0", "plot 0 50010 42", "7 end 50010"}));
}

TEST(HostTracks, marks_name_no_thread_and_wait_for_none) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk(0, 0, 0)
      .add(EventKind::process, 0, 0, 1000, std::string("sh\0\0", 4))
      .add(EventKind::message, 7, 1000, 0, "step")
      .push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines, (Lines{"process 1000 sh (marks)", "thread 7 thread 7", "7 message 50000 step"}));
}

// Frames and locks of the host side were in captures and in no viewer.
TEST(HostTracks, frames_go_from_mark_to_mark_or_from_begin_to_end) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk(0)
      .add(EventKind::process, 0, 0, 1000, std::string("game\0\0", 6))
      .add(EventKind::frame, 0, 1000, 0)
      .add(EventKind::frame, 0, 1010, 0)
      .add(EventKind::frame, 1, 1012, 66)
      .add(EventKind::frame, 2, 1014, 66)
      .add(EventKind::frame, 2, 1015, 66)
      .add(EventKind::frame, 0, 1020, 0)
      .push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines, (Lines{"process 1000 game", "row frames", "frames: frame 1 50000 to 50020 "}))
      << "a set of frames waits for its name, and what is behind it";
  HostChunk(1).add(EventKind::string, 0, 0, 66, "load").push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(
      Lines(written.lines.begin() + 3, written.lines.end()),
      (Lines{"row frames load", "frames load: frame 1 50024 to 50028 ", "frames: frame 2 50020 to 50040 "}));
  EXPECT_EQ(tracks.held(), 0u);
}

TEST(HostTracks, a_lock_has_a_row_of_holders_and_a_thread_one_of_waits) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk(0)
      .add(EventKind::lock_source, 0, 5, 9)  // its time is the source
      .add(EventKind::lock_wait, 7, 1000, 9)
      .add(EventKind::lock_obtain, 7, 1001, 9)
      .add(EventKind::lock_wait, 8, 1010, 9)
      .add(EventKind::lock_release, 0, 1020, 9)
      .add(EventKind::lock_obtain, 8, 1021, 9)
      .add(EventKind::lock_release, 0, 1030, 9)
      .push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines, Lines{}) << "neither the lock nor the threads have names";
  HostChunk(1)
      .add(EventKind::source, 12, 0, 5, source("", "std::mutex queue", "a.cpp"))
      .add(EventKind::thread_name, 7, 0, 0, "main")
      .add(EventKind::thread_name, 8, 0, 0, "worker")
      .push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines,
            (Lines{"process 1000 ", "row lock std::mutex queue",
                   "lock std::mutex queue: held by main 50002 to 50040 waited ns 2", "thread 8 worker",
                   "row worker waits for locks beside 8",
                   "worker waits for locks: waits for std::mutex queue 50020 to 50042 held by main",
                   "lock std::mutex queue: held by worker 50042 to 50060 waited ns 22"}));
}

TEST(HostTracks, locks_of_one_name_are_numbered_and_readers_of_one_lie_in_rows) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk chunk(0);
  chunk.add(EventKind::source, 12, 0, 5, source("m", "", "a.cpp"))
      .add(EventKind::thread_name, 7, 0, 0, "main")
      .add(EventKind::thread_name, 8, 0, 0, "worker");
  for (const uint64_t lock : {9, 10}) {
    chunk.add(EventKind::lock_source, 0, 5, lock)
        .add(EventKind::lock_obtain, 7, 1000, lock)
        .add(EventKind::lock_obtain, 8, 1001, lock)
        .add(EventKind::lock_release, 8, 1004, lock)
        .add(EventKind::lock_release, 7, 1005, lock);
  }
  chunk.push(tracks);
  tracks.release(written, false);
  EXPECT_EQ(written.lines,
            (Lines{"process 1000 ", "row lock m", "lock m: held by worker 50002 to 50008 waited ns 0",
                   "row lock m (2)", "lock m (2): held by main 50000 to 50010 waited ns 0", "row lock m #2",
                   "lock m #2: held by worker 50002 to 50008 waited ns 0", "row lock m #2 (2)",
                   "lock m #2 (2): held by main 50000 to 50010 waited ns 0"}));
}

TEST(HostTracks, locks_end_and_frames_stop_where_chunks_are_missing) {
  HostTracks tracks;
  WrittenTracks written;
  HostChunk(0)
      .add(EventKind::lock_name, 0, 0, 9, "queue")
      .add(EventKind::thread_name, 7, 0, 0, "main")
      .add(EventKind::frame, 0, 1000, 0)
      .add(EventKind::lock_obtain, 7, 1001, 9)
      .push(tracks);
  HostChunk(2).add(EventKind::frame, 0, 2000, 0).add(EventKind::lock_obtain, 7, 2001, 9).push(tracks);
  tracks.end();
  tracks.release(written, true);
  EXPECT_EQ(written.lines,
            (Lines{"process 1000 ", "row lock queue",
                   "lock queue: held by main 50002 to 50002 waited ns 0, end events are missing behind this",
                   "lock queue: held by main 52002 to 52002 waited ns 0, end open at the end"}))
      << "the two marks are no frame";
  EXPECT_EQ(tracks.held(), 0u);
}

TEST(HostTracks, a_chunk_that_is_cut_is_counted) {
  HostTracks tracks;
  shm::ChunkHeader h;
  h.device = collect::kHostDevice;
  h.kind = shm::ChunkKind::host_events;
  h.bytes = sizeof h + 10;
  std::vector<uint64_t> chunk((h.bytes + 7) / 8);
  std::memcpy(chunk.data(), &h, sizeof h);
  tracks.push(chunk);
  ASSERT_EQ(tracks.remarks().size(), 1u);
  EXPECT_NE(tracks.remarks()[0].find("1 chunks of the host's side are damaged"), std::string::npos);
}

TEST(HostTracks, a_title_is_a_line_of_whole_characters) {
  EXPECT_EQ(title_of("`TT_SIGNPOST: a\nb`"), "TT_SIGNPOST: a");
  EXPECT_EQ(title_of("`A, 17 ->\n{}`"), "A, 17");
  EXPECT_EQ(title_of(""), "");
  EXPECT_EQ(title_of(std::string(119, 'x') + "\xc3\xa4 and more"), std::string(119, 'x'));
}

TEST(HostPids, are_real_ones_where_nothing_has_them) {
  HostPids pids(256);
  const auto of = [&](uint64_t pid) { return pids.of({0, pid, ""}); };
  EXPECT_EQ(of(4000), 4000u);
  const uint64_t again = of(4000), low = of(2), huge = of(uint64_t{1} << 40);
  EXPECT_GT(std::min({again, low, huge}), uint64_t{1} << 22);
  EXPECT_TRUE(again != low && low != huge && again != huge);
}

}  // namespace
}  // namespace ttc::tools
