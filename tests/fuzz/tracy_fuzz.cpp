// Any bytes from a Tracy server: refused, or answered within bounds; what goes out can be unpacked.
#include <lz4.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tools/tracy/client.hpp"

using namespace ttc::tracy;

namespace {

struct Checked : BlockSink {
  void block(std::span<const char> block) override {
    uint32_t size = 0;
    std::memcpy(&size, block.data(), 4);
    std::vector<char> out(kBlockBytes);
    if (size + 4 != block.size() ||
        LZ4_decompress_safe(block.data() + 4, out.data(), static_cast<int>(size), kBlockBytes) < 0)
      std::abort();
  }
};

struct Echo : Names {
  std::string text(uint64_t key) override { return std::string(key % 70000, 't'); }
  std::string thread(uint32_t id) override { return std::to_string(id); }
  SourceLocation source_location(uint64_t key) override {
    return {"n", "f", "s", static_cast<uint32_t>(key), {}};
  }
};

}  // namespace

// The first byte cuts the rest into pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = 1 + data[0] % 64;
  std::span<const char> bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  Handshake handshake;
  auto state = Handshake::State::incomplete;
  while (!bytes.empty() && state == Handshake::State::incomplete) {
    size_t taken = 0;
    state = handshake.take(bytes.first(std::min(piece, bytes.size())), taken);
    if (taken > bytes.size() || (taken == 0 && state == Handshake::State::incomplete)) std::abort();
    bytes = bytes.subspan(taken);
  }
  if (state != Handshake::State::complete) return 0;
  const Dialect* dialect = dialect_for(handshake.protocol(), data[0] & 1);
  if (!dialect) return 0;
  Checked sink;
  Echo names;
  Client client(*dialect, sink, names);
  while (!bytes.empty() && !client.finished()) {
    const auto now = bytes.first(std::min(piece, bytes.size()));
    client.take(now);
    client.answer();
    bytes = bytes.subspan(now.size());
  }
  client.stream().flush();
  return 0;
}
