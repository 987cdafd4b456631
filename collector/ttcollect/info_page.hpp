// `ttcollect info` as text: the facts of a capture as a page with units. Values of sessions are untrusted text.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ttc::collect {

// `info`: the object that --json prints.
std::string info_page(const nlohmann::ordered_json& info);

}  // namespace ttc::collect
