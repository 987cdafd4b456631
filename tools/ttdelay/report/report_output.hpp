// An analysis as text for a terminal, as CSV, as JSON and as a page.
#pragma once
#include <string>

#include "tools/ttdelay/report/analysis.hpp"

namespace ttc::delay {

// `top`: so many lines of each table; 0: all.
std::string report_text(const Experiment& experiment, const Analysis& analysis, size_t top, int columns,
                        bool color);
// A row for every unit, observable and delay.
std::string report_csv(const Analysis& analysis);
std::string report_json(const Experiment& experiment, const JournalContent& journal,
                        const Analysis& analysis);
// A self-contained page. `page_of_a_run`: that of `ttreport html`, which gets this report as a section; empty: a page of its own.
std::string report_page(const Experiment& experiment, const JournalContent& journal, const Analysis& analysis,
                        const std::string& page_of_a_run);

// Sentences that all of them have: what was found, and what the numbers rest on.
std::vector<std::string> report_sentences(const Experiment& experiment, const Analysis& analysis);
// "effect", "no effect found: 12.3 us (4.5 %) would have been found", "too few runs to find any effect"
std::string verdict_of(const Effect& effect);
// "120.3 us", "1.20 ns"; with a sign
std::string microseconds(double us);
std::string between(const Estimate& e);

}  // namespace ttc::delay
