// Just enough of protocol buffers' wire format to write messages: varints and length-delimited fields.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ttc::tools {

inline char* put_varint(char* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

// A message that is not written often, in a string of its own.
class ProtoMessage {
 public:
  ProtoMessage& number(unsigned field, uint64_t value) {
    varint(uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  ProtoMessage& text(unsigned field, std::string_view bytes) {
    varint(uint64_t{field} << 3 | 2);
    varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  ProtoMessage& message(unsigned field, const ProtoMessage& inner) { return text(field, inner.bytes_); }
  ProtoMessage& fixed(unsigned field, uint64_t value) {
    varint(uint64_t{field} << 3 | 1);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof raw);
    return *this;
  }
  ProtoMessage& real(unsigned field, double value) { return fixed(field, std::bit_cast<uint64_t>(value)); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    char raw[10];
    bytes_.append(raw, static_cast<size_t>(put_varint(raw, value) - raw));
  }
  std::string bytes_;
};

}  // namespace ttc::tools
