// The path, owner and lock of a segment's file.
//
// The file of live name NAME is /dev/shm/ttcollect-NAME.UID, UID being the user who collects, so that remains of one user do not
// block another. Files without a number are of earlier versions and belong to the owner of the file.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace ttc::shm {

inline constexpr const char* kRemainsSuffix = ".remains";
// Both names are for this user.
std::string segment_object(const std::string& live_name);  // POSIX shared memory name
std::string segment_path(const std::string& live_name);

struct SegmentFile {
  std::string live_name;  // without the user
  uid_t user = 0;
  std::string object;  // POSIX shared memory name
  std::string path() const { return "/dev/shm/" + object; }
  // What names it from this user's side: NAME, or NAME.UID of another user.
  std::string address() const;
};
// Everything in /dev/shm that is named like a segment, whatever it is.
std::vector<SegmentFile> segment_files();

// The file that live:NAME means: the one that is collected into; where there is none, this user's own; else what
// another user left. NAME.UID is that user's. Throws SegmentError: there is none, several are collected into, or
// this user may not read it.
SegmentFile find_segment(const std::string& name);

// Like open(2), but follows no link. The file is closed at the end.
class SegmentDescriptor {
 public:
  SegmentDescriptor(const std::string& path, int flags);
  ~SegmentDescriptor();
  SegmentDescriptor(const SegmentDescriptor&) = delete;
  SegmentDescriptor& operator=(const SegmentDescriptor&) = delete;
  int get() const { return fd_; }
  int error() const { return error_; }  // errno; 0: it is open

 private:
  int fd_, error_;
};

std::string user_name(uid_t user);  // "root", or "user 1000" where there is no name

// Open-file-description locks: the kernel drops them when the last descriptor closes, also after kill -9. A
// writer holds all of its segment. A process that removes what a dead one left holds all but the first byte
// meanwhile: no other does the same, and no test takes the dead one for a living one.
bool take_writer_lock(int fd);
bool take_over(int fd);
bool writer_lock_held(int fd);  // there is a writer
bool any_lock_held(int fd);     // or of a process that removes it

}  // namespace ttc::shm
