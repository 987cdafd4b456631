// Programs that a collector starts beside itself. They read its segments like any other reader, so that a slow or failing
// one cannot delay collecting. `--tracy`, `--metrics`: ttexport serves Tracy servers or
// Prometheus. `--publish`: ttfleet publishes rows.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace ttc::collect {

class Companion {
 public:
  // `option`: the option that starts it, for sentences. `program` is looked for beside this one, then in PATH; `words` are its own, and the
  // live names and this process are added. `well`: an exit code besides 0 that is no failure.
  Companion(std::string option, const std::string& program, std::vector<std::string> words,
            const std::vector<std::string>& live_names, int well = 0);
  ~Companion();  // kills it, unless end() was called
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  // Lets it send what is left, half a minute at most. Why it failed, empty when it did not.
  std::string end();

 private:
  const std::string option_;
  std::string program_;
  const int well_;
  pid_t pid_ = -1;
  std::string failure_;
};

}  // namespace ttc::collect
