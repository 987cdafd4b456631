// The items of one connection into events. Bytes in, events and queries out; no socket, no clock, no thread.
//
// The client codes times as differences, by four running values that begin at 0 with a connection (TracyProfiler.cpp, Dequeue);
// this decoder keeps three of them: that of the thread whose items follow, that of the serial queue, and that of context switches
// and samples. Callstacks, memory, GPU items and samples are passed over by their sizes. A name is queried when an event first needs it.
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collector/tracy_server/wire.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::tracy_server {

using collect::EventKind;
using collect::HostEvent;

enum class QueryKind : uint8_t {
  terminate = 0,
  string = 1,
  thread_string = 2,
  source_location = 3,
  plot_name = 4,
  frame_name = 5,
};
struct Query {
  QueryKind kind{};
  uint64_t key = 0;
};

class EventDecoder {
 public:
  using Take = std::function<void(const HostEvent&)>;
  // Whether a thread of this machine is one of the client's process.
  using OwnThread = std::function<bool(uint32_t)>;
  // `own_thread`: context switches, which a client has of all threads of the machine, are taken of these; none: they are passed over.
  EventDecoder(const Dialect& dialect, Take take, OwnThread own_thread = {})
      : dialect_(&dialect), take_(std::move(take)), own_thread_(std::move(own_thread)) {}

  // Whole items, as one frame of the stream brings them. False: the bytes are no stream of this dialect, why() has the reason
  // and the place; every later call is refused, too.
  bool decode(std::span<const std::byte> frame);
  const std::string& why() const { return why_; }

  // The queries to send, in this order. Source locations are answered in the order of the queries, so all have to be sent.
  std::deque<Query>& queries() { return queries_; }
  // Answers that came, since the last call.
  uint64_t take_answers();
  bool terminated() const { return terminated_; }
  // The stream is over: sources whose strings never came are delivered with what is known.
  void finish();

  const Dialect& dialect() const { return *dialect_; }
  uint64_t events() const { return events_; }
  uint64_t callstacks_refused() const { return callstacks_; }
  // Uses of names, locations and strings beyond the number that is kept: what they name stays without a name.
  uint64_t names_refused() const { return names_refused_; }
  uint64_t context_switches() const { return context_switches_; }  // that came, of whatever process

 private:
  struct KeyedSource {
    uint32_t number = 0;
    bool located = false, reported = false;
    uint64_t name = 0, function = 0, file = 0;
    uint32_t line = 0;
  };
  bool item(Item item, std::span<const std::byte> body, std::string_view tail);
  bool zone_item(Item item, std::span<const std::byte> body);
  bool serial_item(Item item, std::span<const std::byte> body);
  bool named_item(Item item, std::span<const std::byte> body, std::string_view tail);
  bool message_item(Item item, std::span<const std::byte> body);
  void other_item(Item item, std::span<const std::byte> body);
  bool context_item(Item item, std::span<const std::byte> body);
  void about_thread(EventKind kind, uint32_t thread, int64_t time, uint64_t value);
  void choose_variant(std::span<const std::byte> rest);
  void emit(EventKind kind, uint32_t subject, int64_t time, uint64_t value = 0, std::string_view text = {});
  void emit_here(EventKind kind, int64_t time, uint64_t value = 0, std::string_view text = {}) {
    emit(kind, thread_, time, value, text);
  }
  int64_t thread_time(int64_t difference, uint64_t offset);
  int64_t serial_time(int64_t difference);
  int64_t context_time(int64_t difference, uint64_t offset);
  uint32_t keyed_source(uint64_t key);
  uint32_t allocated_source();
  void begin_zone(int64_t time, uint32_t source);
  void need_string(uint64_t key);
  void need_thread(uint32_t thread);
  void need_once(QueryKind kind, uint64_t key);
  void ask(QueryKind kind, uint64_t key) { queries_.push_back({kind, key}); }
  void located(std::span<const std::byte> body);
  void string_came(uint64_t key, std::string_view text);
  void report_source(KeyedSource& source);
  std::string_view known(uint64_t key) const;
  bool refuse(std::string why);

  const Dialect* dialect_;
  bool variant_open_ = true;  // of a number that two dialects share
  Take take_;
  OwnThread own_thread_;
  std::string why_;
  uint32_t thread_ = 0;
  int64_t thread_ref_ = 0, serial_ref_ = 0, context_ref_ = 0;
  std::string single_, payload_;
  std::deque<Query> queries_;
  uint64_t answers_ = 0, events_ = 0, callstacks_ = 0, names_refused_ = 0, context_switches_ = 0;
  bool terminated_ = false;
  uint32_t next_source_ = 1;
  std::unordered_map<uint64_t, KeyedSource> keyed_;
  std::unordered_map<std::string, uint32_t> allocated_;
  std::deque<uint64_t> located_in_order_;                        // source locations that were queried
  std::unordered_map<uint64_t, std::vector<uint64_t>> waiting_;  // string -> sources
  std::unordered_map<uint64_t, std::string> strings_;
  std::unordered_set<uint64_t> asked_strings_;
  std::unordered_set<uint32_t> threads_;
};

}  // namespace ttc::tracy_server
