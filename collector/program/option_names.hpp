// Options that take one of some names, and words of a command line that are no name of anything.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace ttc::program {

enum class Letters { exact, any_case };

// A check for CLI::Option::check(): refuses any other value, with the name that is near.
CLI::Validator one_of(const std::vector<std::string>& names, Letters letters = Letters::exact);

// The option of `app` that `name`, with its --, was probably meant to be; empty: none is near.
std::string near_option(const CLI::App& app, const std::string& name);

// A sentence when one of `words`, those behind the program's name, is an option that its command does not
// have, or is where a subcommand is expected and is none; empty: neither. Words behind a
// command that takes another program's words (CLI::App::prefix_command) are left alone.
std::string unknown_word(const CLI::App& app, std::span<const std::string> words);

}  // namespace ttc::program
