#include "tools/report/page/html_page.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "collector/draw/text_escape.hpp"
#include "collector/program/json_text.hpp"

namespace ttc::embedded {
extern const std::string_view page_html, page_css, pure_js, base_js, timeline_js,
    page_js;  // ttc_embed of CMakeLists.txt
}

namespace ttc::report {

std::string base64(const void* bytes, size_t size) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* in = static_cast<const unsigned char*>(bytes);
  std::string out;
  out.reserve((size + 2) / 3 * 4);
  for (size_t i = 0; i < size; i += 3) {
    const size_t left = size - i;
    const unsigned word = in[i] << 16 | (left > 1 ? in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
    out += kDigits[word >> 18];
    out += kDigits[word >> 12 & 63];
    out += left > 1 ? kDigits[word >> 6 & 63] : '=';
    out += left > 2 ? kDigits[word & 63] : '=';
  }
  return out;
}

namespace {

// The template with each {{name}} replaced by its value. Values are not searched for names.
std::string fill(std::string_view page, const std::map<std::string_view, std::string_view>& values) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t name = page.find("{{", at);
    out += page.substr(at, name - at);
    if (name == page.npos) return out;
    const size_t end = page.find("}}", name);
    out += values.at(page.substr(name + 2, end - name - 2));
    at = end + 2;
  }
}

// JSON inside a script element. Bad bytes of names become a replacement character; no name ends the element.
std::string script_json(const nlohmann::ordered_json& data) {
  std::string text = program::json_text(data);
  for (size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3) text.replace(at, 2, "<\\/");
  for (size_t at = 0; (at = text.find("<!--", at)) != std::string::npos; at += 7)
    text.replace(at, 4, "\\u003c!--");
  return text;
}

}  // namespace

std::string html_page(const std::string& title, const nlohmann::ordered_json& data) {
  std::string script;  // one scope: timeline.js and page.js use each other
  for (const std::string_view part :
       {embedded::pure_js, embedded::base_js, embedded::timeline_js, embedded::page_js})
    script += part;
  return fill(embedded::page_html, {{"title", draw::for_markup(title)},
                                    {"style", embedded::page_css},
                                    {"data", script_json(data)},
                                    {"script", script}});
}

}  // namespace ttc::report
