// Programs whose Tracy client was served to its end, by build id: the condition of --wait-for-short.
//
// A client that TRACY_NO_EXIT holds in its exit waits without limit for a server of its own protocol. So the variable may only be set for a
// program that was served before, and is the same now: its own build id and that of the object that holds the client. A line of
//   BUILD-ID PROTOCOL OBJECT-BUILD-ID OBJECT
// is kept for each in $XDG_STATE_HOME/ttcollect/tracy-handshakes (else ~/.local/state/...); an OBJECT of - is the program itself.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/host/process_environment.hpp"

namespace ttc::collect {

// The note of an ELF file, in hexadecimal; empty: it is none, or has none.
std::string build_id_of(const std::string& path);

struct Handshake {
  std::string program;  // its build id
  uint32_t protocol = 0;
  std::string object, object_path;  // of the client: build id and file; empty: the program holds it
};

// Files of a process: to be taken while it is there, and examined later.
struct ProcessFiles {
  std::string program;
  std::vector<std::string> objects;  // that it has mapped as code, those named after Tracy first
};
ProcessFiles files_of_process(pid_t pid, const std::string& proc = "/proc");
// The handshake of a process with a client; no value if no file with a build id holds a client.
std::optional<Handshake> handshake_of(const ProcessFiles& files, uint32_t protocol);

// The file; empty where neither variable is set.
std::string handshakes_file(const Environment& environment);
// Adds a line that is not there yet; why it could not, empty when it could.
std::string keep_handshake(const std::string& file, const Handshake& handshake);
// The last handshake of this program whose object is still the same.
std::optional<Handshake> kept_handshake(const std::string& file, const std::string& build_id);

}  // namespace ttc::collect
