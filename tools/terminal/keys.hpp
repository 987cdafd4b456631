// Keys of a terminal from the bytes that it sends.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ttc::tools {

enum class Key : uint8_t { quit, pause, sort, next_card, card_before, flight, clear, profilers, help };

// Takes what is complete off the front of `bytes`; a sequence that is cut stays for the next call, and what means nothing
// is passed over. `more_may_come`: false where a lone escape is all that came in this turn.
std::vector<Key> take_keys(std::string& bytes, bool more_may_come);

}  // namespace ttc::tools
