// The processes that have a node of the driver open, as far as this user may read that.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "driver_iface/pci_functions.hpp"

namespace ttc::card {

// Examines every process once, for all nodes.
class NodeUsers {
 public:
  explicit NodeUsers(const SystemRoots& roots);

  // The openers in order of pid. `hidden` gets what could not be read.
  std::vector<Opener> of(unsigned ordinal, std::vector<std::string>& hidden) const;

 private:
  struct Seen {
    unsigned descriptors = 0;
    bool all_power_aware = true;
  };
  void read_process(const std::string& process, int pid);
  std::map<int, unsigned> reported_by_driver(unsigned ordinal, bool& reported) const;
  std::map<int, unsigned> windows_of(unsigned ordinal) const;

  SystemRoots roots_;
  std::map<unsigned, std::map<int, Seen>> seen_;  // by ordinal, then pid
  unsigned closed_to_us_ = 0;                     // processes whose descriptors this user may not read
};

// UMD's CHIP_IN_USE lock of a device: held from device start to close.
struct UmdLock {
  bool taken = false;        // the word of the mutex names an owner
  bool waited_for = false;   // the same word shows that others wait
  int owner_pid = 0;         // of the last owner, in its own pid namespace; 0: it never had one
  bool owner_lives = false;  // a process of that number exists
};
// `hidden` gets the reason if the lock could not be read.
UmdLock umd_lock(const SystemRoots& roots, unsigned ordinal, std::vector<std::string>& hidden);

// The process that holds the lock; 0 if no visible process does.
int umd_owner(const SystemRoots& roots, unsigned ordinal, std::vector<std::string>& hidden);

}  // namespace ttc::card
