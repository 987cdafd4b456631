#include "tools/emulation/fault_plan.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "collector/program/units.hpp"

namespace ttc::emulation {
namespace {

using card::CardFault;
using card::FaultKind;

enum class Form { duration, moment, count, percent, tile, yes, time };
const char* to_string(Form form) {
  switch (form) {
    case Form::duration:
      return "a time such as 50ms (ns, us, ms, s, m, h, d)";
    case Form::moment:
      return "a time such as 200ms, or a plain number of round trips";
    case Form::count:
      return "a number";
    case Form::percent:
      return "a number from 0 to 100";
    case Form::tile:
      return "X-Y (NOC0) or all";
    case Form::yes:
      return "yes or no";
    case Form::time:
      return "past or future";
  }
  return "";
}

struct Key {
  const char* name;
  Form form;
  const char* standard;  // "" where the key must be given
  const char* semantics;
};

struct Value {
  uint64_t number = 0;  // durations in nanoseconds
  bool round_trips = false;
  bool all = false;
  card::Coord tile;
};
using Values = std::map<std::string_view, Value>;

struct Row {
  const char* name;
  const char* semantics;
  std::vector<Key> keys;
  void (*add)(const Row&, const Values&, FaultPlan&);
  bool of_workload = false;
};

const Key kTile{"tile", Form::tile, "all", "which tile"};
const Key kAfter{"after", Form::moment, "0", "when it begins, from the first observer on"};
const Key kFor{"for", Form::duration, "0ns", "how long it lasts; 0ns: for good"};
const Key kSeed{"seed", Form::count, "1", "of the dice"};

CardFault card_fault(FaultKind kind, const Values& v) {
  CardFault f;
  f.kind = kind;
  if (const auto it = v.find("tile"); it != v.end()) {
    f.every_tile = it->second.all;
    f.tile = it->second.tile;
  }
  if (const auto it = v.find("after"); it != v.end()) {
    f.after = it->second.number;
    f.after_is_round_trips = it->second.round_trips;
  }
  const auto number = [&](const char* key, uint64_t& field) {
    if (const auto it = v.find(key); it != v.end()) field = it->second.number;
  };
  number("for", f.for_ns);
  number("every", f.every);
  number("wait", f.wait_ns);
  number("ones", f.all_ones);
  number("observers", f.observers);
  number("notice", f.notice_ns);
  number("within", f.cycles);
  number("seed", f.seed);
  return f;
}

template <FaultKind kind>
void of_card(const Row& row, const Values& v, FaultPlan& plan) {
  plan.card.push_back(card_fault(kind, v));
  plan.card_names.emplace_back(row.name);
}

void clock_stop(const Row&, const Values& v, FaultPlan& plan) {
  uint64_t at = v.at("after").number;
  for (uint64_t i = 0; i < v.at("times").number; ++i) {
    plan.clock_steps.push_back({at, 0});
    plan.clock_steps.push_back({at += v.at("for").number, kCardRate});
    at += v.at("gap").number;
  }
}

void roll_over(const Row& row, const Values& v, FaultPlan& plan) {
  of_card<FaultKind::roll_over>(row, v, plan);
  plan.work.torn_marker = {v.at("every").number, v.at("within").number, v.at("seed").number};
  plan.card.back().every = 1;  // `every` is the firmware's
  if (v.at("after").number) plan.wrap_after_ns = v.at("after").number, plan.wrap_bits = 32;
  plan.card.back().after = 0;
}

const std::vector<Row>& table() {
  static const std::vector<Row> kTable{
      {"late-landing",
       "posted DRAM writes land late, each by its own time; lanes overtake one another",
       {{"min", Form::duration, "0ns", "earliest"}, {"max", Form::duration, "40us", "latest"}, kSeed},
       [](const Row&, const Values& v, FaultPlan& plan) {
         plan.work.late_landing = {true, v.at("min").number, v.at("max").number, v.at("seed").number};
       },
       true},
      {"torn-vector",
       "a copy of L1 holds words from before and after a change, mixed",
       {{"every", Form::count, "10", "one of so many copies"},
        {"wait", Form::duration, "200us", "at most so long for a change to happen"},
        kTile,
        kAfter,
        kFor,
        kSeed},
       of_card<FaultKind::torn_copy>},
      {"all-ones", "loads of a tile return 0xFFFFFFFF", {kTile, kAfter, kFor}, of_card<FaultKind::all_ones>},
      {"hung-read",
       "a load takes long",
       {{"for", Form::duration, "5ms", "how long"},
        {"every", Form::count, "1000", "one of so many loads"},
        {"ones", Form::yes, "no", "it comes back as 0xFFFFFFFF"},
        kTile,
        kAfter,
        kSeed},
       [](const Row& row, const Values& v, FaultPlan& plan) {
         of_card<FaultKind::hung_read>(row, v, plan);
         plan.card.back().wait_ns = std::exchange(plan.card.back().for_ns, 0);
       }},
      {"stolen-cpu",
       "an observer's thread has no CPU for a while behind a load, which the card has answered at once",
       {{"for", Form::duration, "20ms", "how long"},
        {"every", Form::count, "1000", "one of so many loads"},
        kTile,
        kAfter,
        kSeed},
       [](const Row& row, const Values& v, FaultPlan& plan) {
         of_card<FaultKind::stolen_cpu>(row, v, plan);
         plan.card.back().wait_ns = std::exchange(plan.card.back().for_ns, 0);
       }},
      {"reset",
       "the card is reset: indices, L1 and DRAM are lost, the clock restarts, observers are out for good",
       {{"after", Form::moment, "", kAfter.semantics},
        {"notice", Form::duration, "0ns",
         "announced so long before, or until no observer is left; 0ns: not"}},
       of_card<FaultKind::reset>},
      {"unplug",
       "the card goes away without a word",
       {{"after", Form::moment, "", kAfter.semantics}},
       of_card<FaultKind::unplug>},
      {"no-window",
       "opening is refused because all windows are taken",
       {{"observers", Form::count, "0", "this many are let in before"},
        {"after", Form::duration, "0ns", "when it begins, from the start of the card on"},
        kFor},
       of_card<FaultKind::no_window>},
      {"clock-stop",
       "the clock stops, and so do the programs on the card",
       {{"after", Form::duration, "200ms", "the first time, from the start of the card on"},
        {"for", Form::duration, "20ms", "how long"},
        {"times", Form::count, "1", "how often, at most 7"},
        {"gap", Form::duration, "100ms", "between two stops"}},
       clock_stop},
      {"clock-wrap",
       "the 44-bit time of the markers begins again at 0",
       {{"after", Form::duration, "200ms", "from the start of the card on"}},
       [](const Row&, const Values& v, FaultPlan& plan) {
         plan.wrap_after_ns = v.at("after").number;
         plan.wrap_bits = 44;
       }},
      {"roll-over",
       "the low word of the clock rolls over between the two reads of a marker, and of an observer",
       {{"within", Form::count, "10000000", "a read that begins so many cycles before waits for it"},
        {"every", Form::count, "0",
         "virtual time: the clock jumps there for one of so many markers, where the lane shows it; 0: it "
         "does not"},
        {"after", Form::duration, "200ms", "the first roll-over; 0ns: as --clock-start has it"},
        kSeed},
       roll_over},
      {"overrun",
       "a RISC's buffer ends at word 514, its last zone damages the next RISC's first words",
       {{"every", Form::count, "10", "one of so many launches of a core"},
        {"damage", Form::yes, "no", "what the lane pushes afterwards, misaligned, arrives damaged"},
        kSeed},
       [](const Row&, const Values& v, FaultPlan& plan) {
         plan.work.overrun = {v.at("every").number, v.at("damage").number != 0, v.at("seed").number};
       },
       true},
      {"host-reset",
       "the host rewrites all control vectors at a firmware step, wherever that falls",
       {{"at", Form::count, "0", "the step, once; 0: not"},
        {"every", Form::count, "0", "again and again, after so many steps on average; 0: not"},
        {"words", Form::count, "0", "words rewritten a firmware step; 0: all at once"},
        {"apart", Form::duration, "0ns", "not sooner after any other reset, or the first step"},
        kSeed},
       [](const Row&, const Values& v, FaultPlan& plan) {
         plan.work.host_reset = {v.at("at").number, v.at("every").number, v.at("words").number,
                                 v.at("apart").number, v.at("seed").number};
       },
       true},
      {"stale-dram",
       "an earlier session has left frames in DRAM and buffers in L1, with the ids of this one",
       {{"programs", Form::count, "200", "it ran"},
        {"time", Form::time, "past", "whether its times lie before or behind this session's"}},
       [](const Row&, const Values& v, FaultPlan& plan) {
         plan.work.stale_dram = {v.at("programs").number, v.at("time").number != 0};
       },
       true},
      {"names",
       "the zone logs lack names, or have two with one hash",
       {{"missing", Form::percent, "0", "percent of the zones have no name"},
        {"collide", Form::count, "0", "this many zones get a second string with their hash"},
        kSeed},
       [](const Row&, const Values& v, FaultPlan& plan) {
         plan.work.names = {static_cast<unsigned>(v.at("missing").number),
                            static_cast<unsigned>(v.at("collide").number), v.at("seed").number};
       },
       true},
  };
  return kTable;
}

// --- parsing -----------------------------------------------------------------------------------------------

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr uint64_t kLongest = uint64_t{86'400} * 1'000'000'000;  // a day, in nanoseconds

std::optional<Value> value_in(Form form, std::string_view text) {
  Value v;
  const auto plain = number_in(text);
  switch (form) {
    case Form::moment:
      if (plain) {
        v.number = *plain;
        v.round_trips = *plain != 0;
        return v;
      }
      [[fallthrough]];
    case Form::duration:
      if (const auto ns = program::parse_duration(text).value; ns && *ns <= kLongest) {
        v.number = *ns;
        return v;
      }
      return std::nullopt;
    case Form::count:
    case Form::percent:
      if (!plain || (form == Form::percent && *plain > 100)) return std::nullopt;
      v.number = *plain;
      return v;
    case Form::tile: {
      if (text == "all") {
        v.all = true;
        return v;
      }
      const size_t dash = text.find('-');
      if (dash == std::string_view::npos) return std::nullopt;
      const auto x = number_in(text.substr(0, dash)), y = number_in(text.substr(dash + 1));
      if (!x || !y || *x > 255 || *y > 255) return std::nullopt;
      v.tile = {static_cast<uint8_t>(*x), static_cast<uint8_t>(*y)};
      return v;
    }
    case Form::yes:
      if (text != "yes" && text != "no") return std::nullopt;
      v.number = text == "yes";
      return v;
    case Form::time:
      if (text != "past" && text != "future") return std::nullopt;
      v.number = text == "future";
      return v;
  }
  return std::nullopt;
}

std::string list_of(const std::vector<Key>& keys) {
  std::string text;
  for (const Key& k : keys) text += (text.empty() ? "" : ", ") + std::string(k.name);
  return text;
}

}  // namespace

void add_fault(FaultPlan& plan, std::string_view spec) {
  const auto wrong = [&](const std::string& why) {
    return FaultError("--fault '" + std::string(spec) + "': " + why +
                      "; `ttemu --fault help` lists them all");
  };
  const size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  const auto row = std::find_if(table().begin(), table().end(), [&](const Row& r) { return r.name == name; });
  if (row == table().end()) throw wrong("there is no fault '" + std::string(name) + "'");
  Values values;
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : spec.substr(colon + 1);
  if (colon != std::string_view::npos && rest.empty()) throw wrong("nothing follows the colon");
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    if (comma != std::string_view::npos && rest.empty()) throw wrong("nothing follows the last comma");
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) throw wrong("'" + std::string(part) + "' is not key=value");
    const auto key = std::find_if(row->keys.begin(), row->keys.end(),
                                  [&](const Key& k) { return k.name == part.substr(0, equals); });
    if (key == row->keys.end())
      throw wrong("'" + std::string(part.substr(0, equals)) + "' is no key of " + row->name +
                  ", which takes " + list_of(row->keys));
    const auto value = value_in(key->form, part.substr(equals + 1));
    if (!value)
      throw wrong(std::string(key->name) + " must be " + to_string(key->form) + ", not '" +
                  std::string(part.substr(equals + 1)) + "'");
    if (!values.emplace(key->name, *value).second) throw wrong(std::string(key->name) + " is given twice");
  }
  for (const Key& key : row->keys) {
    if (values.count(key.name)) continue;
    if (!*key.standard) throw wrong(std::string(key.name) + " must be given: " + key.semantics);
    values.emplace(key.name, *value_in(key.form, key.standard));
  }
  row->add(*row, values, plan);
  if (row->of_workload) plan.needs_workload = row->name;
}

void FaultPlan::apply_to(card::EmulatedCardOptions& options) const {
  if (card.size() > card::kMaxFaults)
    throw FaultError("more than " + std::to_string(card::kMaxFaults) + " --fault of the card");
  for (const CardFault& f : card) {
    const card::Arch* arch = card::arch_by_name(options.arch);
    if (!arch || f.every_tile || arch->kind_at(f.tile) != card::TileKind::none) continue;
    throw FaultError("--fault: there is no tile " + std::to_string(f.tile.x) + "-" +
                     std::to_string(f.tile.y) + " on " + options.arch);
  }
  options.faults = card;
  if (options.virtual_time && !clock_steps.empty())
    throw FaultError("--fault clock-stop needs --time real: virtual time only moves with firmware steps");
  for (card::ClockStep step : clock_steps) {
    if (step.hz == kCardRate) step.hz = options.hz;
    options.clock_steps.push_back(step);
  }
  std::stable_sort(options.clock_steps.begin(), options.clock_steps.end(),
                   [](const auto& a, const auto& b) { return a.after_ns < b.after_ns; });
  if (wrap_bits == 0) return;
  const auto before =
      static_cast<uint64_t>(static_cast<unsigned __int128>(wrap_after_ns) * options.hz / 1'000'000'000u);
  const uint64_t period = uint64_t{1} << wrap_bits;
  // Three periods on, so that there is time before the start too; a wrap needs only one.
  options.start_cycles = (wrap_bits < 44 ? 3 * period : period) - before % period;
}

std::string fault_help() {
  std::string text =
      "--fault NAME[:key=value[,key=value...]], repeatable. A moment is a time, or a plain number of round "
      "trips of "
      "all\nobservers, which does not depend on how fast anything runs.\n";
  for (const Row& row : table()) {
    text += "\n" + std::string(row.name) + "  " + row.semantics + "\n";
    for (const Key& k : row.keys) {
      const std::string given =
          *k.standard ? std::string(k.name) + "=" + k.standard : std::string(k.name) + "=...";
      text += "    " + given + std::string(given.size() < 20 ? 20 - given.size() : 1, ' ') + k.semantics +
              "; " + to_string(k.form) + "\n";
    }
  }
  return text;
}

}  // namespace ttc::emulation
