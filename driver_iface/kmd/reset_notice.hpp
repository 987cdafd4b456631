// Advance notice of card resets, the only one there is: a process that resets cards through UMD first
// connects to every stream socket client_<pid>.sock in a directory and sends one byte, 1 before and 2 after.
// It means all cards of the machine. Source: tt-umd device/warm_reset.cpp@3ed9cb6.
//
// One socket a process, shared by its cards; thread-safe. Files of collectors that were killed are removed
// when the next one starts, our own when the last card is closed.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver_iface/card/fd.hpp"

namespace ttc::card {

class ResetNotice {
 public:
  // The process's only object for this directory. nullptr: it cannot listen there, `why` has the reason.
  static std::shared_ptr<ResetNotice> listen(const std::string& directory, std::string& why);
  ~ResetNotice();

  // How often a reset was announced until now. Never waits.
  uint64_t announced();
  // A reset was announced, and its end was not. False again after kLongestResetNs.
  bool under_way();
  static constexpr uint64_t kLongestResetNs = 30'000'000'000;

 private:
  void hear();

  ResetNotice(Fd socket, std::string path) : socket_(std::move(socket)), path_(std::move(path)) {}

  Fd socket_;
  std::string path_;
  std::mutex mutex_;
  std::vector<Fd> senders_;  // connected, their byte not there yet
  uint64_t announced_ = 0;
  bool under_way_ = false;
  uint64_t announced_ns_ = 0;  // the last one, CLOCK_MONOTONIC
};

// Removes socket files in `directory` whose process is gone and on which no process listens.
void remove_stale_notices(const std::string& directory);

}  // namespace ttc::card
