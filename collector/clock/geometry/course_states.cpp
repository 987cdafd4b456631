#include "collector/clock/geometry/course_states.hpp"

#include <algorithm>
#include <cmath>

namespace ttc::collect {
namespace {

constexpr double kSameTime = 1e-8;   // ns
constexpr double kSamePace = 1e-17;  // ns a cycle; in 0.2 s hardly more
constexpr double kNever = 1e300;
constexpr double kRounding = 1e-15;

// Twice the area of a triangle; positive anticlockwise.
template <class Corner>
double area(const Corner& a, const Corner& b, const Corner& c) {
  return (b.time - a.time) * (c.pace - a.pace) - (b.pace - a.pace) * (c.time - a.time);
}

// But for rounding.
template <class Corner>
bool same(const Corner& a, const Corner& b) {
  return std::abs(a.time - b.time) < kSameTime && std::abs(a.pace - b.pace) < kSamePace;
}

}  // namespace

// A polygon of more corners, while it is worked on.
struct CourseStates::Outline {
  std::array<Corner, kRoom> corners;
  size_t count = 0;

  void add(double time, double pace) { corners[count++] = {time, pace}; }
  const Corner& at(size_t i) const { return corners[i % count]; }
  size_t lowest() const {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i)
      if (corners[i].pace < corners[best].pace ||
          (corners[i].pace == corners[best].pace && corners[i].time < corners[best].time))
        best = i;
    return best;
  }
  // Every sum of a state of the one and one of the other: their sides in order of direction.
  static Outline sum(const Outline& a, const Outline& b) {
    Outline s;
    size_t i = a.lowest(), j = b.lowest();
    for (size_t of_a = 0, of_b = 0; of_a < a.count || of_b < b.count;) {
      const Corner &p = a.at(i), &q = b.at(j), &p1 = a.at(i + 1), &q1 = b.at(j + 1);
      s.add(p.time + q.time, p.pace + q.pace);
      const double turn = (p1.time - p.time) * (q1.pace - q.pace) - (p1.pace - p.pace) * (q1.time - q.time);
      const bool take_a = of_a < a.count && (of_b >= b.count || turn >= 0);
      const bool take_b = of_b < b.count && (of_a >= a.count || turn <= 0);
      if (take_a) ++i, ++of_a;
      if (take_b) ++j, ++of_b;
    }
    return s;
  }
  // What a pace that bends by no less and no more reaches in so many cycles, from a state of (0, 0): the bends one behind
  // the other, in either order, are two arcs. The tangents at their ends go round them.
  static Outline reached(double cycles, double least, double most) {
    const double time = cycles * cycles / 2, low = least * time, high = most * time;
    const double middle = (least + most) / 2 * cycles;
    Outline o;
    o.add(low, least * cycles);
    o.add(high, middle);
    o.add(high, most * cycles);
    o.add(low, middle);
    return o;
  }
  // Removes corners that rounding put upon each other, and those that are within the others.
  void tidy() {
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
      const Corner& c = corners[i];
      if (kept > 0 && (same(c, corners[kept - 1]) || (i + 1 == count && same(c, corners[0])))) continue;
      corners[kept++] = c;
    }
    count = kept;
    for (size_t i = 0, good = 0; count > 3 && good < count;) {
      const size_t here = (i + 1) % count;
      if (area(at(i), at(here), at(here + 1)) > 0) {
        ++good;
        i = here;
        continue;
      }
      std::copy(corners.begin() + static_cast<ptrdiff_t>(here) + 1,
                corners.begin() + static_cast<ptrdiff_t>(count),
                corners.begin() + static_cast<ptrdiff_t>(here));
      --count;
      i = (i + count - (here <= i ? 2 : 1)) % count;
      good = 0;
    }
  }
  // The intersection of the neighbours of the side from corner i to the next when that side is left out, and by how much larger the polygon
  // is then.
  struct Loss {
    double more;
    Corner meet;
  };
  Loss without_side(size_t i) const {
    const Corner &a = at(i + count - 1), &b = at(i), &c = at(i + 1), &d = at(i + 2);
    const double uy = b.time - a.time, up = b.pace - a.pace, vy = d.time - c.time, vp = d.pace - c.pace;
    const double turn = uy * vp - up * vy, across = (c.time - b.time) * vp - (c.pace - b.pace) * vy;
    const double back = (c.time - b.time) * up - (c.pace - b.pace) * uy;
    // Both continue before they intersect; otherwise a part of the polygon would be lost.
    if (!(turn > 0 && across >= 0 && back <= 0)) return {kNever, {}};
    const double part = across / turn;
    const Corner meet{b.time + part * uy, b.pace + part * up};
    return {std::abs(area(b, c, meet)), meet};
  }
  // Leaves out sides until there are no more than `most`, those first whose loss makes it larger by least.
  bool drop_sides(size_t most) {
    if (count <= most) return true;
    std::array<Loss, kRoom> losses;
    for (size_t i = 0; i < count; ++i) losses[i] = without_side(i);
    while (count > most) {
      size_t best = 0;
      for (size_t i = 1; i < count; ++i)
        if (losses[i].more < losses[best].more) best = i;
      if (losses[best].more == kNever) return false;
      const size_t behind = (best + 1) % count;
      corners[best] = losses[best].meet;
      std::copy(corners.begin() + static_cast<ptrdiff_t>(behind) + 1,
                corners.begin() + static_cast<ptrdiff_t>(count),
                corners.begin() + static_cast<ptrdiff_t>(behind));
      std::copy(losses.begin() + static_cast<ptrdiff_t>(behind) + 1,
                losses.begin() + static_cast<ptrdiff_t>(count),
                losses.begin() + static_cast<ptrdiff_t>(behind));
      --count;
      const size_t here = behind == 0 ? best - 1 : best;
      for (const size_t i : {here + count - 2, here + count - 1, here, here + 1})
        losses[i % count] = without_side(i % count);
    }
    return true;
  }
};

CourseStates::CourseStates(Range times, Range paces)
    : corners_{{{times.low, paces.low},
                {times.high, paces.low},
                {times.high, paces.high},
                {times.low, paces.high}}},
      count_(times.low <= times.high && paces.low <= paces.high ? 4 : 0) {}

Range CourseStates::times() const {
  Range r{corners_[0].time, corners_[0].time};
  for (size_t i = 1; i < count_; ++i)
    r = {std::min(r.low, corners_[i].time), std::max(r.high, corners_[i].time)};
  return r;
}

Range CourseStates::paces() const {
  Range r{corners_[0].pace, corners_[0].pace};
  for (size_t i = 1; i < count_; ++i)
    r = {std::min(r.low, corners_[i].pace), std::max(r.high, corners_[i].pace)};
  return r;
}

Range CourseStates::times_straight_on(double cycles) const {
  Range r{corners_[0].time + corners_[0].pace * cycles, corners_[0].time + corners_[0].pace * cycles};
  for (size_t i = 1; i < count_; ++i) {
    const double then = corners_[i].time + corners_[i].pace * cycles;
    r = {std::min(r.low, then), std::max(r.high, then)};
  }
  return r;
}

void CourseStates::take(Outline& outline) {
  if (outline.count > kMost) {
    outline.tidy();
    if (!outline.drop_sides(kMost)) return take_box(outline);
  }
  count_ = outline.count;
  std::copy_n(outline.corners.begin(), count_, corners_.begin());
}

// Corners so close to each other that rounding leaves no side to drop.
void CourseStates::take_box(const Outline& outline) {
  const Corner& first = outline.corners[0];
  Range times{first.time, first.time}, paces{first.pace, first.pace};
  for (size_t i = 1; i < outline.count; ++i) {
    const Corner& c = outline.corners[i];
    times = {std::min(times.low, c.time), std::max(times.high, c.time)};
    paces = {std::min(paces.low, c.pace), std::max(paces.high, c.pace)};
  }
  *this = CourseStates(times, paces);
}

// Keeps what has of_time * time + of_pace * pace <= most.
void CourseStates::clip(double of_time, double of_pace, double most) {
  std::array<double, kMost> excess;
  bool all_kept = true;
  for (size_t i = 0; i < count_; ++i) {
    excess[i] = of_time * corners_[i].time + of_pace * corners_[i].pace - most;
    all_kept = all_kept && excess[i] <= 0;
  }
  if (all_kept) return;
  Outline kept;
  for (size_t i = 0, before = count_ - 1; i < count_; before = i++) {
    const Corner &b = corners_[before], &c = corners_[i];
    if ((excess[i] <= 0) != (excess[before] <= 0)) {
      const double part = excess[before] / (excess[before] - excess[i]);
      Corner cut{b.time + part * (c.time - b.time), b.pace + part * (c.pace - b.pace)};
      // An unlimited time leaves no digits to interpolate with.
      if (of_pace == 0) cut.time = most / of_time;
      if (of_time == 0) cut.pace = most / of_pace;
      kept.add(cut.time, cut.pace);
    }
    if (excess[i] <= 0) kept.add(c.time, c.pace);
  }
  take(kept);
}

void CourseStates::keep_times(Range times) {
  clip(1, 0, times.high);
  clip(-1, 0, -times.low);
}
void CourseStates::keep_paces(Range paces) {
  clip(0, 1, paces.high);
  clip(0, -1, -paces.low);
}
void CourseStates::keep_next_after(double time) {
  clip(-1, -1, -time);
}

void CourseStates::keep(const CourseStates& other) {
  if (other.empty()) count_ = 0;
  // What rounding can have moved a corner by, times the length of a side: a short side has no direction to rely on.
  const auto largest = [](const CourseStates& s, double Corner::*of) {
    double most = 0;
    for (size_t i = 0; i < s.count_; ++i) most = std::max(most, std::abs(s.corners_[i].*of));
    return most;
  };
  const double margin = kRounding * std::min(largest(*this, &Corner::time), largest(other, &Corner::time)) *
                        std::min(largest(*this, &Corner::pace), largest(other, &Corner::pace));
  for (size_t i = 0; i < other.count_ && !empty(); ++i) {
    const Corner &a = other.corners_[i], &b = other.corners_[(i + 1) % other.count_];
    const double across_time = b.pace - a.pace, across_pace = a.time - b.time;
    const bool sloped = across_time != 0 && across_pace != 0;
    if (!same(a, b))
      clip(across_time, across_pace, across_time * a.time + across_pace * a.pace + (sloped ? margin : 0));
  }
}

void CourseStates::join(const CourseStates& other) {
  std::array<Corner, 2 * kMost> all;
  size_t n = 0;
  for (size_t i = 0; i < count_; ++i) all[n++] = corners_[i];
  for (size_t i = 0; i < other.count_; ++i) all[n++] = other.corners_[i];
  if (n == 0) return;
  std::sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(n), [](const Corner& a, const Corner& b) {
    return a.time != b.time ? a.time < b.time : a.pace < b.pace;
  });
  // The lower side from left to right, then the upper one back.
  std::array<Corner, 4 * kMost> hull;
  size_t count = 0;
  const auto go = [&](const Corner& c, size_t least) {
    while (count >= least + 2 && area(hull[count - 2], hull[count - 1], c) <= 0) --count;
    hull[count++] = c;
  };
  for (size_t i = 0; i < n; ++i) go(all[i], 0);
  const size_t lower = count - 1;
  for (size_t i = n - 1; i-- > 0;) go(all[i], lower);
  if (count > 1) --count;  // the first one once more
  Outline outline;
  outline.count = std::min(count, kRoom);
  std::copy_n(hull.begin(), outline.count, outline.corners.begin());
  take(outline);
}

void CourseStates::shift_origin(double ns, double pace) {
  for (size_t i = 0; i < count_; ++i) corners_[i].time -= ns, corners_[i].pace -= pace;
}

// Numbers and times with the other sign: the pace is the same, and what bent upwards bends downwards.
void CourseStates::mirror() {
  for (size_t i = 0; i < count_; ++i) corners_[i].time = -corners_[i].time;
  std::reverse(corners_.begin(), corners_.begin() + static_cast<ptrdiff_t>(count_));
}

void CourseStates::advance(double cycles, const Pacing& m) {
  if (empty()) return;
  if (m.any_bend()) {
    const Range now = times();
    const double most =
        m.slow >= kUnlimited || now.high >= kUnlimited ? kUnlimited : now.high + m.slow * cycles;
    const double least = now.low <= -kUnlimited ? -kUnlimited : now.low + m.fast * cycles;
    *this = CourseStates({least, most}, {m.fast, std::min(m.slow, kSlowestPace)});
    return;
  }
  Outline from;
  for (size_t i = 0; i < count_; ++i)
    from.add(corners_[i].time + corners_[i].pace * cycles, corners_[i].pace);
  from.tidy();
  Outline by;
  if (m.least_bend > -kAnyBend && m.most_bend < kAnyBend) {
    by = Outline::reached(cycles, m.least_bend, m.most_bend);
  } else {
    // The pace only grows or only falls, at any rate: up to the slowest or the fastest pace.
    const bool slower = m.most_bend >= kAnyBend;
    const double room = slower ? std::max(m.slow - paces().low, 0.0) : std::min(m.fast - paces().high, 0.0);
    by.add(0, 0);
    by.add(cycles * room, room);
    by.add(0, room);
  }
  Outline sum = m.least_bend == m.most_bend ? from : Outline::sum(from, by);
  take(sum);
  keep_paces({m.fast, std::min(m.slow, kSlowestPace)});
}

void CourseStates::retreat(double cycles, const Pacing& m) {
  mirror();
  advance(cycles, {m.fast, m.slow, -m.most_bend, -m.least_bend});
  mirror();
}

}  // namespace ttc::collect
