// Recycling of one card, as far as it is not one core's: the right to write, the options, the account.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/recycle/core_recycle.hpp"
#include "driver_iface/index_writer.hpp"

namespace ttc::collect {

struct RecycleAccount {
  uint64_t recycles = 0;   // stores made
  uint64_t lanes = 0;      // cleared by them
  uint64_t crossed = 0;    // recycles during which a run was under way or passed unread
  uint64_t recovered = 0;  // frames taken from an old place after the store
  std::array<uint64_t, static_cast<size_t>(Verdict::kinds)> verdicts{};  // of cleared lanes
  uint64_t provisional = 0;  // lanes found empty that the core might still write behind (Blackhole)
  uint64_t withdrawn = 0;    // of them, those it did write behind
  uint64_t slow = 0;         // stores later than they should be after the poll they rest on
  uint64_t surprises = 0;    // recycles that no reading fitted: what may be missing is an interval
  uint64_t found_again =
      0;  // times that the place of a core was certain again after it was lost, or after its log was full
  uint64_t rewound = 0;           // recycles that a reset of the host cut short
  uint64_t missing_launches = 0;  // that cores have counted and of which no frame came; known at the end
  uint64_t round_trips = 0, total_ns = 0, longest_ns = 0;  // from ARM to the verdict
};

class Recycling {
 public:
  struct Options {
    double at = 0.5;  // of a lane's log
    RecycleLimits limits;
    std::function<void(const std::string&)> audit;
  };
  Recycling(std::unique_ptr<card::IndexWriter> the_writer, Options the_options)
      : writer(std::move(the_writer)), options(std::move(the_options)) {}

  // Recycling is limited to layouts and modes on which it was tested. Empty: this attachment can be
  // recycled; else why not, as a sentence part.
  static std::string refusal(const Attachment& attachment);
  // What may be cleared: the index words of every Tensix core, in the order of the attachment's cores.
  static std::vector<card::ClearableWords> clearable(const card::Card& card, const Attachment& attachment);

  const std::unique_ptr<card::IndexWriter> writer;
  const Options options;
  RecycleAccount account;
};

}  // namespace ttc::collect
