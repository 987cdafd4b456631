// `ttcollect probe`, and how a probe's figures are shown.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "collector/sampling/link_probe.hpp"

namespace ttc::collect {

nlohmann::ordered_json to_json(const LinkProbe& probe);
std::string to_table(const LinkProbe& probe);
// One line for a report; empty if no kind could be measured.
std::string in_words(const LinkProbe& probe);

// The card could not be read; one sentence.
struct ProbeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Opens the card, measures, prints on stdout. Throws card::OpenError, ProbeError.
void probe(const std::string& device, const card::OpenOptions& open, uint32_t samples, bool as_json);

}  // namespace ttc::collect
