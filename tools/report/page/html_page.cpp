#include "tools/report/page/html_page.hpp"

#include "tools/pipeline/text_escape.hpp"

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

std::string html_page(const std::string& title, const nlohmann::ordered_json& data) {
  // Names come from files: bad bytes become a mark, and nothing in them ends the script element.
  std::string text = data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  for (size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3) text.replace(at, 2, "<\\/");
  for (size_t at = 0; (at = text.find("<!--", at)) != std::string::npos; at += 7)
    text.replace(at, 4, "\\u003c!--");
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      tools::for_markup(title) + "</title>\n<style>\n";
  page += kHtmlStyle;
  page += "</style>\n</head>\n<body>\n";
  page += kHtmlBody;
  page += "<script type=\"application/json\" id=\"data\">" + text + "</script>\n<script>\n";
  page += kHtmlScript;
  return page + "</script>\n</body>\n</html>\n";
}

}  // namespace ttc::report
