// Where a segment lives and who holds it.
#pragma once
#include <string>

namespace ttc::shm {

inline constexpr const char* kRemainsSuffix = ".remains";
std::string segment_object(const std::string& live_name);  // POSIX shared memory name
std::string segment_path(const std::string& live_name);

// Open-file-description locks: the kernel drops them when the last descriptor closes, also after kill -9. A
// writer holds all of its segment. Whoever takes away what a dead one left holds all but the first byte
// meanwhile: no other does the same, and nobody who asks takes the dead one for a living.
bool take_writer_lock(int fd);
bool take_over(int fd);
bool writer_lock_held(int fd);  // there is a writer
bool any_lock_held(int fd);     // or somebody who takes it away

}  // namespace ttc::shm
