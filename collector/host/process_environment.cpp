#include "collector/host/process_environment.hpp"

#include <fstream>

namespace ttc::collect {

std::optional<Environment> environment_of(int pid, const std::string& proc) {
  if (pid <= 0) return std::nullopt;
  std::ifstream file(proc + "/" + std::to_string(pid) + "/environ", std::ios::binary);
  if (!file) return std::nullopt;
  Environment variables;
  for (std::string entry; std::getline(file, entry, '\0');)
    if (const size_t equals = entry.find('='); equals != std::string::npos)
      variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  return variables;
}

std::string value_in(const Environment& environment, const std::string& name) {
  const auto it = environment.find(name);
  return it == environment.end() ? std::string() : it->second;
}

}  // namespace ttc::collect
