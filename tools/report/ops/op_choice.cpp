#include "tools/report/ops/op_choice.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "tools/report/input/signposts.hpp"

namespace ttc::report {
namespace {

using Key = OpChoice::Key;
constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

double or_zero(double value) {
  return std::isnan(value) ? 0 : value;
}

size_t hash_of(const std::string& code) {
  return std::hash<std::string>()(code);
}

bool is_collective(const std::string& code) {
  for (const char* name : {"AllGather", "ReduceScatter", "AllReduce"})
    if (code.find(name) != std::string::npos) return true;
  return false;
}

// A stretch of the rows, with its signposts or without.
struct Window {
  size_t begin = 0, end = 0;
  bool signposts = true;
};

template <class Take>
void each_of(const Records<Key>& rows, const Window& window, const Take& take) {
  for (RecordReader<Key> next(rows, window.begin, window.end); !next.done(); next.pop())
    if (window.signposts || !next.front().signpost) take(next.front());
}

// The position of the first row that `wanted` takes; else the end of the rows.
template <class Wanted>
size_t first_place(const Records<Key>& rows, const Wanted& wanted) {
  size_t place = 0;
  for (RecordReader<Key> next(rows, 0, rows.size()); !next.done(); next.pop(), ++place)
    if (wanted(next.front())) break;
  return place;
}

// The position of the `which`-th signpost of that name, from 0.
size_t place_of(const Records<Key>& rows, const std::string& name, size_t which) {
  return first_place(rows, [&, code = hash_of(name)](const Key& key) {
    return key.signpost && key.code == code && which-- == 0;
  });
}

// Throws UnknownName unless the signpost is there so often.
void need_in(const Records<Key>& rows, const OpRows& ops, const std::string& wish, size_t times) {
  if (wish.empty() || place_of(rows, wish, times - 1) < rows.size()) return;
  std::vector<std::string> names;
  each_of(rows, {0, rows.size()}, [&](const Key& key) {
    if (key.signpost) names.push_back(ops[key.row].code);
  });
  need_signpost(wish, times, names);
}

Window named_window(const Records<Key>& rows, const ReportOptions& o) {
  const size_t begin = o.start_signpost.empty() ? 0 : place_of(rows, o.start_signpost, 0) + 1;
  const size_t end = o.end_signpost.empty()
                         ? rows.size()
                         : place_of(rows, o.end_signpost, o.end_signpost == o.start_signpost ? 1 : 0);
  return {begin, std::max(begin, end), o.print_signposts};
}

// The rows' signposts and ops, as far as the default window depends on them.
struct Signposts {
  std::optional<Key> last, before_ops;  // of all; of those that an op follows
  std::vector<Key> trailing;            // behind the last op
  size_t last_op = 0;
  bool any_op = false;
};

Signposts signposts_in(const Records<Key>& rows) {
  Signposts found;
  size_t place = 0;
  each_of(rows, {0, rows.size()}, [&](const Key& key) {
    if (key.signpost) {
      found.trailing.push_back(key);
      found.last = key;
    } else {
      if (!found.trailing.empty()) found.before_ops = found.trailing.back();
      found.trailing.clear();
      found.last_op = place;
      found.any_op = true;
    }
    ++place;
  });
  return found;
}

// The last signpost whose name's first row has an op behind it.
std::optional<Key> last_followed(const Records<Key>& rows, const Signposts& found) {
  if (!found.any_op) return std::nullopt;
  std::unordered_set<size_t> trailing, met;
  for (const Key& key : found.trailing) trailing.insert(key.code);
  if (!trailing.empty())
    each_of(rows, {0, found.last_op}, [&](const Key& key) {
      if (trailing.contains(key.code)) met.insert(key.code);
    });
  for (auto key = found.trailing.rbegin(); key != found.trailing.rend(); ++key)
    if (met.contains(key->code)) return *key;
  return found.before_ops;
}

// If no window was given: the rows after the last signpost's name, or after an earlier one's if there are none.
Window window_of(const Records<Key>& rows, const OpRows& ops, const ReportOptions& o,
                 std::vector<std::string>& remarks) {
  if (o.ignore_signposts) return {0, rows.size()};
  need_in(rows, ops, o.start_signpost, 1);
  need_in(rows, ops, o.end_signpost, o.end_signpost == o.start_signpost ? 2 : 1);
  if (!o.start_signpost.empty() || !o.end_signpost.empty()) return named_window(rows, o);
  const Signposts found = signposts_in(rows);
  if (!found.last) return {0, rows.size()};
  const std::optional<Key> from = last_followed(rows, found);
  if (!from) {
    remarks.emplace_back("no op follows a signpost; all ops are shown");
    return {0, rows.size(), o.print_signposts};
  }
  remarks.push_back("the ops after signpost '" + ops[from->row].code + "' are shown" +
                    (from->row == found.last->row
                         ? ""
                         : ", because none follow the last one, '" + ops[found.last->row].code + "'") +
                    "; --ignore-signposts shows all");
  const size_t begin = first_place(rows, [&](const Key& key) { return key.code == from->code; }) + 1;
  return {begin, rows.size(), o.print_signposts};
}

struct Picked {
  Key key;
  double kernel = kAbsent;  // instead of the row's
  double kernel_bound = kAbsent;
  double kernel_ns() const { return or_zero(std::isnan(kernel) ? key.kernel : kernel); }
};
struct ById {
  bool operator()(const Picked& a, const Picked& b) const {
    return std::tie(a.key.id, a.key.row) < std::tie(b.key.id, b.key.row);
  }
};
using PickedById = RecordSort<Picked, ById>;

// Picks from one step over several devices: the longest; of collectives the first, with the mean.
Picked one_of(const std::vector<Key>& step) {
  if (!step.front().collective)
    return {*std::max_element(step.begin(), step.end(), [](const Key& a, const Key& b) {
      const auto known = [](double ns) { return std::isnan(ns) ? -1 : ns; };
      return known(a.kernel) < known(b.kernel);
    })};
  double sum = 0, bounds = 0;  // NaN as soon as one of them is not known
  size_t count = 0;
  for (const Key& key : step)
    if (!std::isnan(key.kernel)) sum += key.kernel, bounds += key.kernel_bound, ++count;
  Picked one{step.front()};
  if (count)
    one.kernel = sum / static_cast<double>(count), one.kernel_bound = bounds / static_cast<double>(count);
  return one;
}

// The ops of every device, in order.
class Devices {
 public:
  void add(const Key& key) {
    sorted_.add({key, added_++});
    ++sizes_[key.device];
  }
  std::vector<RecordReader<Key>> readers() {
    sorted_.drain([&](const Placed& one) { rows_.push_back(one.key); });
    std::vector<RecordReader<Key>> all;
    size_t begin = 0;
    for (const auto& [device, size] : sizes_) {
      all.emplace_back(rows_, begin, begin + size);
      begin += size;
    }
    return all;
  }

 private:
  struct Placed {
    Key key;
    uint64_t place;
  };
  struct ByDevice {
    bool operator()(const Placed& a, const Placed& b) const {
      return std::tie(a.key.device, a.place) < std::tie(b.key.device, b.place);
    }
  };
  RecordSort<Placed, ByDevice> sorted_;
  std::map<uint32_t, size_t> sizes_;
  Records<Key> rows_;
  uint64_t added_ = 0;
};

// Several devices that ran the same ops in the same order become one.
void merge_devices(Devices& devices, const OpRows& names, PickedById& all,
                   std::vector<std::string>& remarks) {
  std::vector<RecordReader<Key>> next = devices.readers();
  size_t misaligned = 0;
  std::string first;
  std::vector<Key> step;
  for (;;) {
    step.clear();
    for (RecordReader<Key>& device : next) {
      if (device.done()) continue;
      if (!step.empty() && device.front().code != step.front().code) {
        if (misaligned++ == 0)
          first = names[step.front().row].code + " (row " + std::to_string(step.front().id) + ")";
        continue;
      }
      step.push_back(device.front());
      device.pop();
    }
    if (step.empty()) break;
    all.add(one_of(step));
  }
  if (misaligned)
    remarks.push_back("the devices did not run the same ops: " + std::to_string(misaligned) +
                      " steps do not match, the first at " + first +
                      "; --no-merge-devices keeps the devices apart");
}

// The rows of a range of IDs, with what is theirs alone.
class IdRange {
 public:
  IdRange(const ReportOptions& options, Choice& choice) : options_(options), choice_(choice) {}
  void add(const Picked& one) {
    const Key& key = one.key;
    const bool gap = has_previous_;
    has_previous_ = has_previous_ || !key.signpost;
    if (options_.id_range &&
        (key.id < options_.first_id.value_or(0) || key.id > options_.last_id.value_or(~0ull)))
      return;
    const bool keeps_gap = gap && !(options_.id_range && first_);
    first_ = false;
    if (options_.no_host_ops && key.host) return;
    choice_.rows.push_back({key.row, keeps_gap, one.kernel, one.kernel_bound});
    if (key.signpost) return;
    choice_.total_us += (key.host ? 0 : one.kernel_ns() / 1000) + (keeps_gap ? or_zero(key.gap) / 1000 : 0);
  }

 private:
  const ReportOptions& options_;
  Choice& choice_;
  bool has_previous_ = false, first_ = true;
};

}  // namespace

void OpChoice::add(const OpRow& op) {
  Key key;
  key.row = added_++;
  key.device = op.device.value_or(0);
  key.has_device = op.device.has_value();
  key.id = static_cast<uint32_t>(op.id);
  key.code = hash_of(op.code);
  key.collective = is_collective(op.code);
  key.host_start = op.host_start.value_or(1e300);
  key.kernel = op.kernel.value_or(kAbsent);
  key.gap = op.gap.value_or(kAbsent);
  key.kernel_bound = op.kernel_bound().value_or(kAbsent);
  key.signpost = op.signpost();
  key.host = op.host();
  key.on_device = op.type == "tt_dnn_device";
  if (options_.tracing_mode)
    as_they_came_.push_back(key);
  else
    by_time_.add(key);
}

Choice OpChoice::choose(const OpRows& ops, std::vector<std::string>& remarks) {
  Records<Key> rows = as_they_came_;
  by_time_.drain([&](const Key& key) { rows.push_back(key); });
  const Window window = window_of(rows, ops, options_, remarks);
  std::set<uint32_t> devices;
  each_of(rows, window, [&](const Key& key) {
    if (key.has_device) devices.insert(key.device);
  });
  Choice choice;
  choice.devices = devices.size();
  IdRange range(options_, choice);
  if (!options_.merge_devices || devices.empty()) {
    each_of(rows, window, [&](const Key& key) { range.add({key}); });
    return choice;
  }
  PickedById picked;
  Devices apart;
  each_of(rows, window, [&](const Key& key) {
    if (devices.size() > 1 && key.on_device)
      apart.add(key);
    else
      picked.add({key});
  });
  merge_devices(apart, ops, picked, remarks);
  picked.drain([&](const Picked& one) { range.add(one); });
  return choice;
}

}  // namespace ttc::report
