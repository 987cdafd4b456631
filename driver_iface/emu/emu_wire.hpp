// What an observer and an emulated card say to each other over a SOCK_SEQPACKET socket in the abstract
// namespace (nothing in the file system to go stale). One request, one answer. Both are the same build.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

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
  clear         // address, total_bytes words from there, `bytes` says which (bit i: word i)
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
  uint32_t total_bytes = 0;  // copy: of all parts still to come, judged as a whole
};

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
  uint32_t took_us = 0;  // what the card took for the access; the rest is asking and answering
};

// Abstract socket address of a card.
std::string socket_name(std::string_view card);

}  // namespace ttc::card::emu
