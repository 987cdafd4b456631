// What a process that resets cards does before and after: it sends every listener in the directory one byte.
// Source: tt-umd device/warm_reset.cpp@3ed9cb6.
#pragma once
#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace ttc::card::testing_support {

// How many were sent one.
inline unsigned report_listeners(const std::string& directory, unsigned char message) {
  unsigned reported = 0;
  DIR* d = opendir(directory.c_str());
  if (!d) return 0;
  while (const dirent* e = readdir(d)) {
    if (std::strncmp(e->d_name, "client_", 7) != 0) continue;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory + "/" + e->d_name;
    if (path.size() >= sizeof address.sun_path) continue;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      reported += send(fd, &message, 1, MSG_NOSIGNAL) == 1;
    close(fd);
  }
  closedir(d);
  return reported;
}

}  // namespace ttc::card::testing_support
