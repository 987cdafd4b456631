// What a mistyped word of the command line was probably meant to be.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace ttc::tools {

// The name nearest to `word`, at most a third of its letters away; empty: none is near.
std::string nearest(std::string_view word, std::span<const std::string> names);

// A sentence when the first word is no subcommand of `app`, or a later one is an option that the subcommand
// does not have; empty: neither. It decides nothing else about the command line.
std::string unknown_word(const CLI::App& app, std::span<const std::string> words);

}  // namespace ttc::tools
