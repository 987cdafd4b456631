// Names in files of others' forms. They come from compilers' logs and may be any bytes: what is no UTF-8
// becomes '?', what has a meaning in the form is spelled out.
#pragma once
#include <string>
#include <string_view>

namespace ttc::tools {

std::string for_json(std::string_view text);    // inside quotes
std::string for_markup(std::string_view text);  // of SVG and HTML: content, or an attribute in quotes

}  // namespace ttc::tools
