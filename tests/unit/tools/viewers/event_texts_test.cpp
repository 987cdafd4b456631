// NoC events and hardware counters in words.
#include "tools/viewers/event_texts.hpp"

#include <gtest/gtest.h>

#include <array>
#include <tuple>

#include "firmware_markers/perf_counter.hpp"

namespace ttc::tools {
namespace {

using markers::Marker;
using markers::MarkerType;

constexpr markers::MetalDate kTableOfEvents{2026, 3};

// A frame of markers whose payloads come beside them, as those of a device log do.
std::vector<EventText> texts_of(std::span<const Marker> markers, std::span<const uint64_t> payloads,
                                markers::MetalDate date = kTableOfEvents, bool from_log = false) {
  const markers::Batch batch;
  const markers::ZoneNames names;
  FrameEvents frame{0, 1, 2, markers::CoreKind::tensix, device::Mode::normal, 0, 5, 0, markers, batch, names};
  frame.payloads = payloads;
  frame.from_log = from_log;
  frame.metal_date = date;
  EventTexts all;
  const auto of = all.of(frame);
  return {of.begin(), of.end()};
}

uint64_t packed_word(const std::array<uint8_t, 8>& bytes) {
  uint64_t w = 0;
  for (unsigned i = 0; i < 8; ++i) w |= uint64_t{bytes[i]} << 8 * i;
  return w;
}

std::string field_of(const EventText& text, std::string_view name) {
  for (const EventField& f : text.fields)
    if (f.name == name) return f.text.empty() ? std::to_string(f.number) : f.text;
  return "none";
}

TEST(EventTexts, a_multicast_is_named_by_type_and_area) {
  const Marker m[] = {{1, markers::kNocTraceId, MarkerType::ts_data, 0, 0}};
  const uint64_t payload[] = {packed_word({15, 1, 2, 7, 8, 0x42, 3, 1})};
  const auto all = texts_of(m, payload);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "WRITE_MULTICAST to 1,2 .. 7,8");
  EXPECT_EQ(field_of(all[0], "target"), "1,2");
  EXPECT_EQ(field_of(all[0], "target's other corner"), "7,8");
  EXPECT_EQ(field_of(all[0], "bytes"), "96");
  EXPECT_EQ(field_of(all[0], "NoC"), "1");
  EXPECT_EQ(field_of(all[0], "virtual channel"), "4");
  EXPECT_EQ(field_of(all[0], "posted"), "1");
  ASSERT_TRUE(all[0].target);
  EXPECT_EQ(std::tie(all[0].target->x, all[0].target->y), std::tuple(1, 2));
  EXPECT_EQ(std::tie(all[0].target->end_x, all[0].target->end_y), std::tuple(7, 8));
  EXPECT_TRUE(all[0].target->noc1);
  EXPECT_EQ(all[0].type, "WRITE_MULTICAST");
}

TEST(EventTexts, a_single_core_is_both_corners_and_another_chips_is_none) {
  const Marker m[] = {{1, markers::kNocTraceId, MarkerType::ts_data, 0, 0}};
  const auto* table = markers::noc_event_table(kTableOfEvents);
  ASSERT_TRUE(table);
  for (const uint8_t type : {uint8_t{0}, table->first_fabric}) {
    const uint64_t payload[] = {packed_word({type, 3, 4, 0xff, 0xff, 0x01, 1, 0})};
    const auto all = texts_of(m, payload);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].target.has_value(), type == 0) << all[0].name;
    if (!all[0].target) continue;
    EXPECT_EQ(std::tie(all[0].target->end_x, all[0].target->end_y), std::tuple(3, 4));
    EXPECT_FALSE(all[0].target->noc1);
  }
}

TEST(EventTexts, an_event_without_a_target_has_no_field_of_it) {
  const Marker m[] = {{1, markers::kNocTraceId, MarkerType::ts_data, 0, 0}};
  const uint64_t payload[] = {packed_word({20, 0xff, 0xff, 0xff, 0xff, 0xf1, 0xff, 0xfe})};
  const auto all = texts_of(m, payload);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name.find(" to "), std::string::npos);
  EXPECT_EQ(field_of(all[0], "target"), "none");
  EXPECT_EQ(field_of(all[0], "virtual channel"), "none");
}

TEST(EventTexts, only_packed_numbers_are_taken_apart) {
  const Marker m[] = {{1, 4711, MarkerType::ts_data, 0, 0},
                      {2, markers::kNocTraceId, MarkerType::zone_start, 0, 0},
                      {3, markers::kNocTraceId, MarkerType::ts_data, 0, 1}};
  const uint64_t payload[] = {5, packed_word({15, 1, 2, 7, 8, 0x42, 3, 1})};
  const auto all = texts_of(m, payload);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].marker, 2u);
}

// A device log names its counters itself; the number in its column is not packed.
TEST(EventTexts, counters_of_a_device_log_stay_as_they_are) {
  const Marker m[] = {{1, markers::kPerfCounterId, MarkerType::ts_data, 0, 0}};
  const uint64_t payload[] = {12345};
  EXPECT_TRUE(texts_of(m, payload, kTableOfEvents, true).empty());
}

// An exporter of two threads left them out, because it keeps payloads by themselves as a log does.
TEST(EventTexts, counters_of_a_card_have_texts_wherever_their_payload_is_kept) {
  const Marker m[] = {{1, markers::kPerfCounterId, MarkerType::ts_data, 0, 0}};
  const uint64_t payload[] = {12345};
  EXPECT_EQ(texts_of(m, payload).size(), 1u);
}

TEST(EventTexts, cores_have_one_spelling) {
  EXPECT_EQ(core_name(1, 2), "core 1,2");
  EXPECT_EQ(core_name(18, 0), "core 18,0");
}

}  // namespace
}  // namespace ttc::tools
