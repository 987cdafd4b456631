// Lists a directory of the kernel's, whose contents come and go while they are read.
#pragma once
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace ttc::collect::doctor {

// Empty if there is no such directory or this user may not read it (`error` has the reason); an entry that vanishes meanwhile ends the list.
inline std::vector<std::filesystem::path> entries_of(const std::string& directory, std::error_code& error) {
  std::vector<std::filesystem::path> found;
  std::filesystem::directory_iterator at(directory, error);
  std::error_code gone;
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(gone))
    found.push_back(at->path());
  return found;
}
inline std::vector<std::filesystem::path> entries_of(const std::string& directory) {
  std::error_code not_there;  // the same answer as an empty one
  return entries_of(directory, not_there);
}

}  // namespace ttc::collect::doctor
