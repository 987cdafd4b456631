// One self-contained page: style, script and data in one file that asks for nothing else.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace ttc::report {

// `data` is what html_script.cpp reads; its keys are those that html_report.cpp writes.
std::string html_page(const std::string& title, const nlohmann::ordered_json& data);
std::string base64(const void* bytes, size_t size);

// Each in a file of its own.
extern const char* const kHtmlStyle;
extern const char* const kHtmlBody;
extern const char* const kHtmlScript;

}  // namespace ttc::report
