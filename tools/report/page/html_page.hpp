// One self-contained page: style, script and data in one file that loads nothing else.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ttc::report {

// page.html with page.css and page.js in it. `data` is what page.js reads; html_report.cpp writes its keys.
std::string html_page(const std::string& title, const nlohmann::ordered_json& data);
std::string base64(const void* bytes, size_t size);

}  // namespace ttc::report
