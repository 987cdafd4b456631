// The text of frames, made by several threads: the same as by one, with what is written at once in its places.
#include "tools/viewers/frame_texts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

namespace ttc::tools {
namespace {

struct Place {
  int number;
};
struct Name {
  std::string text;
};
using Texts = FrameTexts<Place, Name>;

void encode(const Texts::Frame& frame, const Texts::Step& step, const StepExtra* extra, Output& to) {
  to.append(std::to_string(frame.of->number) + " " + std::to_string(frame.host_id) + " " +
            std::to_string(step.ns) + " " + step.label->text + (extra ? " " + extra->name : "") + "\n");
}

std::string own_path() {
  return testing::TempDir() + "/frame_texts-" + std::to_string(getpid());
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Frames of places and names that appear on the way, as a format's do. `settle_every`: frames; 0: at the end only.
std::string written(unsigned threads, uint32_t frames, uint32_t settle_every) {
  const std::string path = own_path();
  const auto workers = threads ? std::make_unique<jobs::Workers>(threads) : nullptr;
  std::deque<Place> places;
  std::deque<Name> names;
  std::mt19937 dice(11);
  {
    Output out(path, false, false, workers.get());
    Texts texts(out, encode);
    for (uint32_t i = 0; i < frames; ++i) {
      if (places.empty() || dice() % 50 == 0) {
        places.push_back({static_cast<int>(places.size())});
        texts.at_once().append("place " + std::to_string(places.back().number) + "\n");
      }
      texts.begin({&places[dice() % places.size()], 0, i, 0});
      for (auto step = dice() % 20; step-- > 0;) {
        if (names.empty() || dice() % 500 == 0) {
          names.push_back({"name " + std::to_string(names.size())});
          texts.at_once().append(names.back().text + " comes\n");
        }
        Texts::Step& kept = texts.add();
        kept.ns = dice();
        kept.label = &names[dice() % names.size()];
        if (dice() % 30) continue;
        StepExtra extra;
        extra.name = std::string(dice() % 40, 'x');
        texts.add_extra(kept, std::move(extra));
      }
      texts.end();
      if (settle_every && i % settle_every == 0) {
        texts.settle();
        out.flush();
      }
    }
    texts.settle();
    out.commit();
  }
  std::string all = content(path);
  unlink(path.c_str());
  return all;
}

TEST(FrameTexts, AreTheSameForEveryNumberOfThreads) {
  constexpr uint32_t kFrames = 5000;  // a dozen batches
  const std::string first = written(0, kFrames, 0);
  EXPECT_GT(first.size(), 1'000'000u);
  EXPECT_EQ(first.find("place 0\n"), 0u);
  for (const unsigned threads : {1u, 2u, 3u, 8u})
    for (const uint32_t settle_every : {0u, 7u})
      EXPECT_TRUE(written(threads, kFrames, settle_every) == first) << threads;
}

TEST(FrameTexts, OfNoFramesAreWhatWasWrittenAtOnce) {
  EXPECT_EQ(written(0, 0, 0), "");
  EXPECT_EQ(written(2, 0, 0), "");
  jobs::Workers workers(2);
  {
    Output out(own_path(), false, false, &workers);
    Texts texts(out, encode);
    texts.at_once().append("head\n");
    texts.settle();
    out.commit();
  }
  EXPECT_EQ(content(own_path()), "head\n");
  unlink(own_path().c_str());
}

TEST(FrameTexts, ThrowWhatTheOutputThrows) {
  for (const unsigned threads : {0u, 1u, 2u, 8u}) {
    const auto workers = threads ? std::make_unique<jobs::Workers>(threads) : nullptr;
    const Place place{1};
    const Name name{std::string(2000, 'n')};
    Output out("/dev/full", false, false, workers.get());
    Texts texts(out, encode);
    EXPECT_THROW(
        {
          for (uint32_t i = 0; i < 20'000; ++i) {
            texts.begin({&place, 0, i, 0});
            texts.add().label = &name;
            texts.end();
          }
          texts.settle();
          out.finish();
        },
        OutputError)
        << threads;
  }
}

}  // namespace
}  // namespace ttc::tools
