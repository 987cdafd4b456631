// The messages between an observer and an emulated card, over a SOCK_SEQPACKET socket in the abstract
// namespace (no name is left in the file system). One request, one answer. Both are of one version: the card
// must refuse a request whose `version` is not kPageVersion.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "driver_iface/emu/emu_page.hpp"

namespace ttc::card::emu {

enum class Op : uint32_t {
  hello,  // -> page descriptor (and memory, unless strict); the two windows are taken here
  aim,    // strict only from here on
  copy,
  registers,
  one_load,
  write,        // there is no such thing for an observer: recorded as a violation
  take_writer,  // the right to clear index words, one connection's at a time
  clear         // address, total_bytes words from there, `bytes` is the mask (bit i: word i)
};

struct Request {
  uint32_t version = kPageVersion;
  Op op = Op::hello;
  uint32_t window = 0;
  uint32_t windows_wanted = kWindows;  // hello
  uint8_t x = 0, y = 0;
  uint16_t reserved = 0;
  uint32_t offset = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t total_bytes = 0;  // copy: of all parts still to come, checked as a whole
};
static_assert(offsetof(Request, version) == 0 && offsetof(Request, op) == 4 &&
              offsetof(Request, window) == 8 && offsetof(Request, windows_wanted) == 12 &&
              offsetof(Request, x) == 16 && offsetof(Request, y) == 17 && offsetof(Request, reserved) == 18 &&
              offsetof(Request, offset) == 20 && offsetof(Request, address) == 24 &&
              offsetof(Request, bytes) == 32 && offsetof(Request, total_bytes) == 36 &&
              sizeof(Request) == 40 && std::is_standard_layout_v<Request>);

enum class Greeting : uint32_t {
  welcome,
  version_mismatch,
  no_window_left,
  too_many_windows,
  writer_taken,
  no_writes
};

inline constexpr uint32_t kMaxAnswerBytes = 32 << 10;
struct Answer {
  uint32_t status = 0;   // Access, Health or Greeting by request
  uint32_t strict = 0;   // hello
  uint32_t bytes = 0;    // payload that follows
  uint32_t took_us = 0;  // what the card took for the access; the rest is the message's way
};
static_assert(offsetof(Answer, status) == 0 && offsetof(Answer, strict) == 4 &&
              offsetof(Answer, bytes) == 8 && offsetof(Answer, took_us) == 12 && sizeof(Answer) == 16);

// Abstract socket address of a card.
std::string socket_name(std::string_view card);

}  // namespace ttc::card::emu
