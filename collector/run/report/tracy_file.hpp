// The timeline of a run as a .tracy file, by Tracy's own capture program where one is installed: ttexport serves the capture to it.
#pragma once
#include <string>

namespace ttc::collect {

// tracy-capture or capture-release, in `folder` (where it is not empty) or in the folders of `path`; empty: there is none.
std::string tracy_capture_program(const std::string& folder, const std::string& path);

// Replaces `out` when the program has written all of it. A sentence: what came of it.
std::string make_tracy_file(const std::string& program, const std::string& capture, const std::string& out);

}  // namespace ttc::collect
