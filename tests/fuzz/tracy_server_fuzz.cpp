// Any bytes from a Tracy client: taken, or refused with a sentence. The first byte chooses the protocol and
// whether the rest are frames, which are packed here, or what the connection brings.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "collector/tracy_server/exchange.hpp"

using namespace ttc;
using namespace ttc::tracy_server;

namespace {

void decode_items(uint32_t protocol, std::span<const std::byte> items) {
  const Dialect* fork = dialect_of(protocol, true);
  EventDecoder decoder(fork ? *fork : *dialect_of(protocol, false), [](const collect::HostEvent& event) {
    if (event.text.size() > FrameUnpacker::kMostUnpacked) std::abort();
  });
  const bool good = decoder.decode(items);
  if (good == !decoder.why().empty()) std::abort();
  if (!good && decoder.decode(items)) std::abort();
  decoder.finish();
}

void take_bytes(uint32_t protocol, std::span<const std::byte> bytes, size_t piece) {
  Exchange exchange(protocol, [](const collect::HostEvent&) {});
  std::vector<std::byte> all(1, std::byte{1});
  // The welcome has the protocol's number of bytes: otherwise the frames behind begin with a length of zero, which is
  // refused.
  const Dialect* fork = dialect_of(protocol, true);
  all.resize(1 + (fork ? *fork : *dialect_of(protocol, false)).welcome_bytes);
  all.insert(all.end(), bytes.begin(), bytes.end());
  for (size_t at = 0; at < all.size(); at += piece)
    exchange.receive(std::span(all).subspan(at, std::min(piece, all.size() - at)));
  if ((exchange.state() == ExchangeState::broken) == exchange.why().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint32_t protocol = protocols()[data[0] % protocols().size()];
  const std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  if (data[0] & 0x80)
    decode_items(protocol, rest);
  else
    take_bytes(protocol, rest, 1 + (data[0] >> 3) % 16 * 97);
  return 0;
}
