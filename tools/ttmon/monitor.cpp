#include "tools/ttmon/monitor.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "collector/program/json_text.hpp"
#include "tools/terminal/terminal.hpp"
#include "tools/ttmon/flight.hpp"
#include "tools/ttmon/profiler_panel.hpp"
#include "tools/ttmon/sample_json.hpp"
#include "tools/ttmon/screen_layout.hpp"
#include "tools/ttmon/segments.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::tools {
namespace {

using collect::monotonic_now_ns;

// Ring bytes that are decoded a second, of all cards together, so that the monitor stays below 2 % of a core (bench/LEARNT.md).
constexpr uint64_t kActivityBytesPerS = 768 << 10;
constexpr uint64_t kMessageNs = 6'000'000'000;
constexpr int kTextColumns = 100;                    // if COLUMNS is not set
constexpr std::chrono::milliseconds kForRates{300};  // between the two samples that a text is made of

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &parts);
  return text;
}

int text_columns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
    return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long value = columns ? std::strtol(columns, nullptr, 10) : 0;
  return value >= 20 && value <= 1000 ? static_cast<int>(value) : kTextColumns;
}

void print_json(const MonitorModel& model) {
  for (const auto& [name, card] : model.cards())
    std::printf("%s\n", program::json_text(to_json(card)).c_str());
  std::fflush(stdout);
}

// Panels of each card, if the options request them.
class ProfilerPanels {
 public:
  void look(const MonitorModel& model, ScreenState& state) {
    for (const auto& [name, card] : model.cards()) {
      ProfilerPanel& panel = panels_[name];
      if (!panel.is_open()) panel.open(name, card.sample.device);
      panel.look(monotonic_now_ns());
      state.profilers[name] = panel.lines();
    }
  }

 private:
  std::map<std::string, ProfilerPanel> panels_;
};

void print_text(const MonitorModel& model, ProfilerPanels* panels) {
  ScreenState state;
  if (panels) panels->look(model, state);
  state.unicode = shows_unicode();
  const Canvas page = text_page(model.cards(), state, text_columns(), isatty(STDOUT_FILENO));
  const Colours colours = colours_of_output();
  for (int y = 0; y < page.height(); ++y) std::printf("%s\n", page.row_text(y, colours).c_str());
  std::fflush(stdout);
}

uint64_t budget_of(uint64_t interval_ns) {
  const double seconds = std::clamp(static_cast<double>(interval_ns) / 1e9, 0.05, 4.0);
  return static_cast<uint64_t>(seconds * static_cast<double>(kActivityBytesPerS));
}

void print_until_the_end(const MonitorChoice& choice, Segments& segments,
                         const volatile std::sig_atomic_t& stop) {
  LookFor what;
  what.overwritten = true;
  if (!choice.json) what.activity_budget = choice.once ? kActivityBytesPerS : budget_of(choice.interval_ns);
  MonitorModel model;
  ProfilerPanels panels;
  if (choice.once && !choice.json && segments.any_alive()) {
    model.add(segments.look(what));
    std::this_thread::sleep_for(kForRates);
  }
  for (bool first = true;; first = false) {
    if (!first && !choice.json) std::printf("\n");
    model.add(segments.look(what));
    choice.json ? print_json(model) : print_text(model, choice.profilers ? &panels : nullptr);
    if (choice.once || !segments.any_alive() || stop) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(choice.interval_ns));
  }
}

// Display and keys between two samples.
class Screen {
 public:
  Screen(Segments& segments, const MonitorChoice& choice)
      : segments_(segments),
        interval_ns_(choice.interval_ns),
        shows_profilers_(choice.profilers),
        terminal_(colours_of_output()) {
    state_.unicode = shows_unicode();
  }

  void run(const volatile std::sig_atomic_t& stop) {
    uint64_t next_sample = 0;
    while (!stop && !closed_ && !quit_) {
      const uint64_t now = monotonic_now_ns();
      if (now >= next_sample) {
        if (!state_.paused) sample();
        next_sample = now + interval_ns_;
      }
      show(now);
      for (const Key key : terminal_.keys(next_sample > now ? next_sample - now : 0, closed_)) press(key);
    }
  }

 private:
  void sample() {
    LookFor what;
    what.activity_budget = budget_of(interval_ns_);
    model_.add(segments_.look(what));
    state_.time_of_day = time_of_day();
    if (!model_.cards().contains(state_.chosen)) state_.chosen = model_.cards().begin()->first;
    look_at_profilers();
  }

  // Examines the chosen card; another card is opened when it is chosen.
  void look_at_profilers() {
    state_.profilers.clear();
    if (!shows_profilers_) return panel_.close();
    if (!panel_.is_of(state_.chosen))
      panel_.open(state_.chosen, model_.cards().at(state_.chosen).sample.device);
    panel_.look(monotonic_now_ns());
    state_.profilers[state_.chosen] = panel_.lines();
  }

  void show(uint64_t now) {
    if (const std::string end = flight_.ended(); !end.empty()) say(end);
    if (now > message_until_ && !flight_.goes_on()) state_.message.clear();
    const auto [columns, rows] = terminal_.size();
    if (!terminal_.show(screen(model_.cards(), state_, columns, rows))) closed_ = true;
  }

  void say(const std::string& message) {
    state_.message = message;
    message_until_ = monotonic_now_ns() + kMessageNs;
  }

  void choose(int step) {
    auto at = model_.cards().find(state_.chosen);
    if (at == model_.cards().end()) return;
    if (step > 0 && ++at == model_.cards().end()) at = model_.cards().begin();
    if (step < 0) at = std::prev(at == model_.cards().begin() ? model_.cards().end() : at);
    state_.chosen = at->first;
  }

  void press(Key key) {
    switch (key) {
      case Key::quit:
        quit_ = true;
        break;
      case Key::pause:
        state_.paused = !state_.paused;
        break;
      case Key::sort:
        state_.sorting = next_of(state_.sorting);
        break;
      case Key::next_card:
        choose(1);
        break;
      case Key::card_before:
        choose(-1);
        break;
      case Key::flight:
        record();
        break;
      case Key::clear:
        segments_.clear_activity();
        break;
      case Key::profilers:
        shows_profilers_ = !shows_profilers_;
        look_at_profilers();
        break;
      case Key::help:
        state_.help = !state_.help;
        break;
    }
  }

  void record() {
    const CardView& card = model_.cards().at(state_.chosen);
    if (card.sample.writer == Writer::live) return say(flight_.start(card.sample.live_name));
    say("no flight recording: its collector runs no more; ttcollect recover makes a file of what is left");
  }

  Segments& segments_;
  const uint64_t interval_ns_;
  bool shows_profilers_;
  ProfilerPanel panel_;
  Terminal terminal_;
  MonitorModel model_;
  ScreenState state_;
  FlightRecording flight_;
  uint64_t message_until_ = 0;
  bool closed_ = false, quit_ = false;
};

}  // namespace

void monitor(const MonitorChoice& choice, const volatile std::sig_atomic_t& stop) {
  Segments segments(choice.names);
  if (choice.once || choice.json || !is_screen()) return print_until_the_end(choice, segments, stop);
  Screen(segments, choice).run(stop);
}

}  // namespace ttc::tools
