// The sentences that a run prints at its end about its host side.
#pragma once
#include <string>
#include <vector>

#include "collector/host_side/host_server.hpp"
#include "collector/host_side/mark_losses.hpp"

namespace ttc::collect {

std::string sentence_of(const MarkLoss& loss);
// About failures of a client; `all`: also about clients without any.
std::vector<std::string> sentences_of(const HostClientResult& result, bool all);
// The sentence if context switches were requested and no client sent one; else empty.
std::string no_context_switches(const std::vector<HostClientResult>& results);

}  // namespace ttc::collect
