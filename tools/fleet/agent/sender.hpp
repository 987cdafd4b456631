// The spool to the bus, oldest first, on a thread of its own, which alone waits for the network.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tools/fleet/agent/publisher.hpp"
#include "tools/fleet/bus/bus.hpp"
#include "tools/fleet/bus/spool.hpp"
#include "tools/fleet/wire/identity.hpp"

namespace ttc::fleet {

class Sender {
 public:
  // `prepared`: called on the sender's thread for each connection, once the stream exists and before a row is sent.
  Sender(Bus& bus, Spool& spool, Publisher& publisher, const Identity& who, const StreamLimits& limits,
         std::function<void()> prepared);
  ~Sender();

  void wake();
  // Ends the thread; what is spooled stays for the next agent.
  void stop();
  // Must be called after the last batch: sends the rest, within the given time. True if all of it is stored.
  bool finish(uint64_t linger_ns);

  uint64_t rows_stored() const { return stored_; }
  uint64_t rows_dropped() const { return dropped_; }
  std::string complaint() const;  // why nothing is stored now; empty: it is

 private:
  void run();
  bool prepare();
  bool send_one();
  std::string id_of(const BatchName& name) const;
  bool is_stored(const BatchName& name) const;
  void account_for_drops();
  void complain(const std::string& why);
  void rest(uint64_t ns);

  Bus& bus_;
  Spool& spool_;
  Publisher& publisher_;
  const Identity who_;
  const StreamLimits limits_;
  const std::function<void()> prepared_;
  std::atomic<uint64_t> stored_{0}, dropped_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool finishing_ = false, stop_ = false, woken_ = false;  // with mutex_
  std::string complaint_;                                  // with mutex_
  // The thread's own.
  uint64_t prepared_for_ = 0;  // connection; 0: none
  std::array<std::optional<BatchName>, std::size(kRowKinds)> last_;
  uint64_t pause_ns_ = 0;
  std::thread thread_;
};

}  // namespace ttc::fleet
