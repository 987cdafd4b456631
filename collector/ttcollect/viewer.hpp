// `ttcollect --tracy`: a ttexport of its own process reads the segments like any other reader and serves
// Tracy servers, so that nothing a viewer does can hold up or break collecting.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace ttc::collect {

class Viewer {
 public:
  // `listen`: [ADDR:]PORT. ttexport is looked for beside this program, then in PATH.
  Viewer(const std::string& listen, const std::vector<std::string>& live_names);
  ~Viewer();  // kills it, unless end() was called
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  // Lets it send what is left to whoever is connected, half a minute at most. Why it failed, empty when it
  // did not.
  std::string end();

 private:
  pid_t pid_ = -1;
  std::string failure_;
};

}  // namespace ttc::collect
