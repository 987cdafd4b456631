// What a run says at its end of its host side, as sentences.
#pragma once
#include <string>
#include <vector>

#include "collector/host_side/host_server.hpp"
#include "collector/host_side/mark_losses.hpp"

namespace ttc::collect {

std::string sentence_of(const MarkLoss& loss);
// Of what went wrong with a client; `all`: of one with which nothing did, too.
std::vector<std::string> sentences_of(const HostClientResult& result, bool all);
// Where context switches were asked for and no client sent one; else empty.
std::string no_context_switches(const std::vector<HostClientResult>& results);

}  // namespace ttc::collect
