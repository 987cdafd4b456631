// What a mistyped name was probably meant to be.
#pragma once
#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttc::program {

// Letters to insert, remove, exchange, or swap with the next one.
inline size_t letters_apart(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last, row(b.size() + 1);  // the two rows above this one
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

// The name nearest to `word`, at most a third of its letters away; else the only one that begins with it;
// empty: neither.
inline std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  std::string best;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const size_t far = letters_apart(word, name);
    if (far < least) {
      least = far;
      best = name;
    }
  }
  if (!best.empty() || word.size() < 2) return best;
  for (const std::string& name : names)
    if (name.starts_with(word)) {
      if (!best.empty() && best != name) return "";
      best = name;
    }
  return best;
}

}  // namespace ttc::program
