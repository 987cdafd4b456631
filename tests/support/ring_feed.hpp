// A ring that is fed launches of one lane, core 1,2, RISC 0, and the values of them that tests need.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collector/publish/publisher.hpp"
#include "tests/support/capture_blocks.hpp"
#include "tests/support/frames.hpp"

namespace ttc::collect {

// A ring that is fed launches of one lane, as many as the test needs.
class Feed {
 public:
  // `session`: the text that describes it.
  explicit Feed(const char* name, uint64_t ring_bytes = 64 << 20,
                const std::string& session = "{\"device\":\"emu:x\"}")
      : name_("test-feed-" + std::to_string(getpid()) + "-" + name) {
    shm::SegmentOptions options;
    options.ring_bytes = ring_bytes;
    segment_ = std::make_unique<shm::SegmentWriter>(name_, "emu:x", 77, options);
    publisher_ = std::make_unique<Publisher>(*segment_, 0, uint8_t{4});
    segment_->add_standing(shm::ChunkKind::session, session);
  }
  ~Feed() {
    segment_.reset();
    shm::remove_segment(name_);
  }
  const std::string& name() const { return name_; }
  uint64_t markers() const { return markers_; }
  // The times of a launch: of the last marker before it, and of its own last one.
  struct Launch {
    uint64_t after, last;
  };
  const std::vector<Launch>& launches() const { return launches_; }

  // A chunk of so many launches.
  void publish(unsigned launches) {
    std::vector<uint32_t> words;
    for (unsigned i = 0; i < launches; ++i) {
      const uint64_t after = time_;
      append_frame(words, identity(), ++host_id_, time_, 2, dice_);
      launches_.push_back({after, time_});
      markers_ += 8;
    }
    const uint64_t bytes = Publisher::kHeadBytes + words.size() * 4;
    uint64_t* at = publisher_->claim(bytes);
    ASSERT_NE(at, nullptr);
    shm::store_bytes(at + Publisher::kHeadBytes / 8, words.data(), words.size() * 4);
    Publisher::Core core{1, 2, markers::CoreKind::tensix, device::Mode::normal, 3, 0, 1, 1000 + host_id_, 0};
    Publisher::Span span{0, next_word_, static_cast<uint32_t>(words.size()), Publisher::kHeadBytes, digest_};
    publisher_->publish_words(at, bytes, core, std::span(&span, 1));
    next_word_ += static_cast<uint32_t>(words.size());
    digest_.known = 1;
    digest_.last_time = time_;
    digest_.host_id = host_id_;
    digest_.trailing_words = 20;
    std::memcpy(digest_.guaranteed, words.data() + words.size() - 20 + 4, sizeof digest_.guaranteed);
    publisher_->end_sweep();
  }
  // A loss by the card, on the lane of the launches where it is `own`.
  void lose(uint64_t id, bool open, bool own = false) {
    shm::LossRecord r;
    r.id = id;
    if (own) r.core_x = 1, r.core_y = 2;
    r.precision = shm::LossPrecision::exact_words;
    r.from_cycles = time_, r.to_cycles = open ? shm::kOpenEnd : time_ + 1, r.words = 3;
    publisher_->publish_loss(r);
  }
  void end() {
    publisher_->publish_end("done");
    segment_->end();
  }

 private:
  static uint32_t identity() { return markers::layout_by_generation(4)->format.identity(0, 3, 0); }
  std::string name_;
  std::unique_ptr<shm::SegmentWriter> segment_;
  std::unique_ptr<Publisher> publisher_;
  std::mt19937_64 dice_{1};
  std::vector<Launch> launches_;
  uint64_t time_ = 5'000'000'000, markers_ = 0;
  uint32_t host_id_ = 0, next_word_ = 0;
  markers::FrameDigest digest_;
};

}  // namespace ttc::collect
