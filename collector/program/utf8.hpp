// UTF-8, one character at a time.
#pragma once
#include <cstddef>
#include <string_view>

namespace ttc::program {

// Bytes of the character at `at`. 0: the byte begins none; an overlong form, a surrogate and a cut character
// are none.
size_t utf8_length(std::string_view text, size_t at);

// The code point of the character at `at`, which has `length` bytes by utf8_length().
char32_t utf8_point(std::string_view text, size_t at, size_t length);

}  // namespace ttc::program
