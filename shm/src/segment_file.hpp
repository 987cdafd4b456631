// Where a segment lives and who holds it.
#pragma once
#include <string>

namespace ttc::shm {

inline constexpr const char* kRemainsSuffix = ".remains";
std::string segment_object(const std::string& live_name);  // POSIX shared memory name
std::string segment_path(const std::string& live_name);

// Open-file-description locks: the kernel drops them when the last descriptor closes, also after kill -9.
bool take_writer_lock(int fd);
bool writer_lock_held(int fd);

}  // namespace ttc::shm
