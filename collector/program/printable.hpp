// Foreign text on a terminal: names out of compilers' logs, paths, command lines of other processes.
#pragma once
#include <string>
#include <string_view>

namespace ttc::program {

// A control character, one that turns the direction of writing, or one that ends a line.
bool obeyed_by_terminals(char32_t point);

// `text` without anything a terminal obeys. Control characters, line ends among them, become \xNN; characters
// that turn the direction of writing or end a line become \uNNNN; bytes that are no UTF-8 become \xNN. The
// rest stays.
std::string printable(std::string_view text);

// Does the same for text of many lines: its line ends and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace ttc::program
