// Connects to the Tracy client of each process of a workload, as its server, and publishes what it reports.
//
//   one thread searches for clients; one thread a client: recv -> Exchange (LZ4, items) -> HostBatch -> HostPublisher
//
// Nothing on this way waits for a reader or a disk, so a client is read as fast as it sends: a client has no limit of
// its own for what it keeps when its server is slow. Events that exceed the capture's memory are left out and counted. An invalid stream is closed;
// its client then continues without a server.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collector/host_side/client_finder.hpp"
#include "collector/host_side/handshakes.hpp"
#include "collector/host_side/host_publisher.hpp"

namespace ttc::collect {

struct HostClientResult {
  TracyClient client;
  std::string program;
  uint32_t protocol = 0;
  uint64_t events = 0, callstacks_refused = 0, names_refused = 0;
  uint64_t context_switches = 0;  // that came, of the whole machine
  bool in_order = false;          // it ended by Tracy's own protocol
  bool other_protocol = false;    // it has one that this build does not support
  ProcessFiles files;             // as they were when it was welcomed
  std::string sentence;           // what failed; empty: no failure
};

class HostServer {
 public:
  // `made`: called once, with the segment, when the first client was welcomed; from a thread of the server.
  // `context_switches`: those of the clients' threads are recorded, where clients send them.
  HostServer(pid_t ancestor, std::string live_name, bool context_switches,
             std::function<void(HostPublisher&)> made);
  ~HostServer();
  // Starts the search for clients.
  void look();
  HostServer(const HostServer&) = delete;
  HostServer& operator=(const HostServer&) = delete;

  // The segment, created by the first call; null: failure() has the reason.
  HostPublisher* open_publisher();
  // The workload is over, or is left alone: takes what is still in flight, and publishes no more.
  void end();
  // Processes so far whose protocol is not supported.
  std::vector<pid_t> not_understood();
  // Valid after end().
  const std::vector<HostClientResult>& results() const { return results_; }
  std::string failure() const { return failure_; }  // of making the segment
  const HostPublisher* publisher() const { return publisher_.get(); }

 private:
  class Connection;
  void look_for_clients();
  void serve(TracyClient client);

  const pid_t ancestor_;
  const std::string live_name_;
  const bool context_switches_;
  const std::function<void(HostPublisher&)> made_;
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::unique_ptr<HostPublisher> publisher_;  // with mutex_ until end()
  std::vector<HostClientResult> results_;     // likewise
  std::string failure_;                       // likewise
  std::vector<std::thread> clients_;          // the searching thread's, then end()'s
  std::thread looking_;
};

}  // namespace ttc::collect
