// What a mistyped word of the command line was probably meant to be.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ttc::tools {

// A sentence when the first word is no subcommand of `app`, or a later one is an option that the subcommand
// does not have; empty: neither. It decides nothing else about the command line.
std::string unknown_word(const CLI::App& app, std::span<const std::string> words);

}  // namespace ttc::tools
