#include "collector/run/request/collector_words.hpp"

#include <sstream>

namespace ttc::collect {
namespace {

constexpr const char* kWaitForCards = "10000d";  // until SIGTERM ends it

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

}  // namespace

std::vector<std::string> collector_words(const RunRequest& request) {
  std::vector<std::string> words{"--wait", kWaitForCards, "--quiet"};
  if (request.verbose) words.pop_back();
  std::string devices;
  for (const std::string& d : request.devices) devices += (devices.empty() ? "" : ",") + d;
  words.insert(words.end(), {"--device", devices.empty() ? "all" : devices});
  for (const std::string& word : split(request.collector_options)) words.push_back(word);
  return words;
}

}  // namespace ttc::collect
