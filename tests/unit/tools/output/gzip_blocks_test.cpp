// A gzip stream of blocks: its bytes are the same for every number of threads, and any reader takes them.
#include "tools/output/gzip_blocks.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttc::tools {
namespace {

constexpr size_t kBlock = GzipBlocks::kBlockBytes;

// Rows, as exports have them: each refers to the ones before it.
std::string rows(size_t bytes) {
  std::mt19937 dice(7);
  std::string text;
  while (text.size() < bytes)
    text += "0,1," + std::to_string(dice() % 12) + ",BRISC," + std::to_string(dice()) +
            ",,ZONE_START,kernel.cpp\n";
  text.resize(bytes);
  return text;
}

struct Unpacked {
  std::string text;
  unsigned members = 0;
  bool whole = true;  // the stream ends where a member does
};

Unpacked unpacked(const std::string& stream) {
  Unpacked all;
  z_stream z{};
  EXPECT_EQ(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stream.data()));
  z.avail_in = static_cast<uInt>(stream.size());
  std::string part(1 << 16, '\0');
  while (z.avail_in) {
    all.whole = false;
    z.next_out = reinterpret_cast<Bytef*>(part.data());
    z.avail_out = static_cast<uInt>(part.size());
    const int code = inflate(&z, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) {
      ADD_FAILURE() << "inflate: " << code;
      break;
    }
    all.text.append(part, 0, part.size() - z.avail_out);
    if (code != Z_STREAM_END) continue;
    ++all.members;
    all.whole = true;
    inflateReset(&z);
  }
  inflateEnd(&z);
  return all;
}

// `threads` 0: no workers. `piece`: bytes an append().
std::string zipped(const std::string& text, unsigned threads, GzipBlocks::Members members, size_t piece) {
  const auto workers = threads ? std::make_unique<jobs::Workers>(threads) : nullptr;
  std::string stream;
  GzipBlocks gzip(workers.get(), members, [&](std::string_view bytes) { stream += bytes; });
  for (size_t at = 0; at < text.size(); at += piece) gzip.append(std::string_view(text).substr(at, piece));
  gzip.finish();
  return stream;
}

TEST(GzipBlocks, AreTheSameForEveryNumberOfThreadsAndEveryPiece) {
  for (const size_t bytes : {size_t{0}, size_t{1}, kBlock - 1, kBlock, kBlock + 1, 5 * kBlock + 12345}) {
    const std::string text = rows(bytes);
    for (const auto members : {GzipBlocks::Members::one, GzipBlocks::Members::of_blocks}) {
      const std::string first = zipped(text, 0, members, 100'000);
      const Unpacked back = unpacked(first);
      EXPECT_EQ(back.text, text) << bytes;
      EXPECT_TRUE(back.whole);
      const size_t blocks = std::max<size_t>(1, (bytes + kBlock - 1) / kBlock);
      EXPECT_EQ(back.members, members == GzipBlocks::Members::one ? 1 : blocks) << bytes;
      for (const unsigned threads : {1u, 2u, 3u, 8u})
        for (const size_t piece : {size_t{77'777}, kBlock, 3 * kBlock})
          EXPECT_EQ(zipped(text, threads, members, piece), first) << bytes << " by " << threads;
    }
  }
}

TEST(GzipBlocks, OfOneMemberCostNextToNothing) {
  const std::string text = rows(6 * kBlock);
  std::string whole(compressBound(text.size()), '\0');
  z_stream z{};
  ASSERT_EQ(deflateInit2(&z, 3, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(whole.data());
  z.avail_out = static_cast<uInt>(whole.size());
  ASSERT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  const size_t in_one_go = z.total_out;
  deflateEnd(&z);
  const size_t in_blocks = zipped(text, 2, GzipBlocks::Members::one, kBlock).size();
  EXPECT_LT(in_blocks, in_one_go + in_one_go / 200);
}

TEST(GzipBlocks, OfWholeMembersEndWhereTheyWereFlushed) {
  const std::string text = rows(3 * kBlock);
  jobs::Workers workers(3);
  std::string stream;
  size_t at = 0;
  GzipBlocks gzip(&workers, GzipBlocks::Members::of_blocks, [&](std::string_view bytes) {
    stream += bytes;
    EXPECT_TRUE(unpacked(stream).whole);
  });
  for (const size_t bytes : {size_t{10}, kBlock + 5, size_t{100}}) {
    gzip.append(std::string_view(text).substr(at, bytes));
    gzip.flush();
    EXPECT_EQ(unpacked(stream).text, text.substr(0, at += bytes));
  }
  gzip.flush();
  gzip.finish();
  EXPECT_EQ(unpacked(stream).members, 4u);
}

TEST(GzipBlocks, OfAppendsAreAMemberEach) {
  const std::string text = rows(4 * kBlock);
  jobs::Workers workers(3);
  std::vector<size_t> ends;  // of members, in the text
  std::string so_far;
  GzipBlocks gzip(&workers, GzipBlocks::Members::of_appends, [&](std::string_view bytes) {
    const Unpacked member = unpacked(std::string(bytes));
    EXPECT_EQ(member.members, 1u);
    so_far += member.text;
    ends.push_back(so_far.size());
  });
  gzip.append(std::string_view(text).substr(0, 100));
  gzip.append(std::string_view(text).substr(100, 3 * kBlock));
  gzip.append(std::string_view(text).substr(100 + 3 * kBlock));
  gzip.finish();
  EXPECT_EQ(so_far, text);
  EXPECT_EQ(ends, (std::vector<size_t>{100, 100 + 3 * kBlock, text.size()}));
}

TEST(GzipBlocks, ThrowWhatTheirWriteThrows) {
  const std::string text = rows(20 * kBlock);
  for (const unsigned threads : {1u, 2u, 5u}) {
    jobs::Workers workers(threads);
    GzipBlocks gzip(&workers, GzipBlocks::Members::one,
                    [](std::string_view) { throw std::runtime_error("no room"); });
    EXPECT_THROW(
        {
          gzip.append(text);
          gzip.finish();
        },
        std::runtime_error);
  }
}

}  // namespace
}  // namespace ttc::tools
