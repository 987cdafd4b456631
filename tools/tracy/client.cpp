#include "tools/tracy/client.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace ttc::tracy {
namespace {

template <class T>
void add(std::string& to, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  to.append(raw, sizeof raw);
}
template <class T>
T read_at(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
void add_padded(std::string& to, std::string_view text, size_t bytes) {
  text = text.substr(0, bytes - 1);
  to += text;
  to.append(bytes - text.size(), '\0');
}

}  // namespace

Handshake::State Handshake::take(std::span<const char> bytes, size_t& taken) {
  taken = std::min(bytes.size(), kHandshakeBytes - got_.size());
  got_.append(bytes.data(), taken);
  if (std::string_view(got_).substr(0, kHandshake.size()) != kHandshake.substr(0, got_.size()))
    return State::foreign;
  return got_.size() == kHandshakeBytes ? State::complete : State::incomplete;
}

uint32_t Handshake::protocol() const {
  return read_at<uint32_t>(got_.data() + kHandshake.size());
}

std::string welcome_bytes(const Dialect& dialect, const Welcome& w) {
  constexpr uint8_t kOnDemand = 1, kX86_64 = 2;
  std::string out;
  add(out, 1.0);  // ns a tick
  add(out, w.init_begin_ns);
  add(out, w.init_begin_ns);  // end of the start: the first frame
  if (dialect.welcome_has_delay()) add(out, uint64_t{0});
  add(out, uint64_t{1});  // resolution
  add(out, w.unix_s);
  add(out, uint64_t{0});  // executable's time: without it servers request no source files
  add(out, static_cast<uint64_t>(getpid()));
  add(out, int64_t{0});  // no sampling
  add(out, kOnDemand);
  add(out, kX86_64);
  add_padded(out, "", 12);
  add(out, uint32_t{0});
  add_padded(out, w.program, kProgramNameBytes);
  add_padded(out, w.host, kHostInfoBytes);
  add(out, uint64_t{0});  // on demand: frames so far, and when they ended
  add(out, w.init_begin_ns);
  return out;
}

void Client::take(std::span<const char> bytes) {
  constexpr size_t kMostOpen = 4 * 8192 * kQueryBytes;
  if (finished_) return;
  if (inbox_.size() + bytes.size() > kMostOpen) {
    complaint_ = "sent more questions at once than any Tracy server does";
    finished_ = true;
    return;
  }
  inbox_.insert(inbox_.end(), bytes.begin(), bytes.end());
}

void Client::answer() {
  size_t at = 0;
  for (; !finished_ && inbox_.size() - at >= kQueryBytes; at += kQueryBytes) {
    const auto type = static_cast<uint8_t>(inbox_[at]);
    if (type >= static_cast<uint8_t>(Query::kCount)) {
      complaint_ = "sent a question of type " + std::to_string(type) + ", which no Tracy server does";
      finished_ = true;
      break;
    }
    answer(static_cast<Query>(type), read_at<uint64_t>(&inbox_[at + 1]), read_at<uint32_t>(&inbox_[at + 9]));
  }
  inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<ptrdiff_t>(at));
}

void Client::answer(Query query, uint64_t key, uint32_t extra) {
  switch (query) {
    case Query::terminate:
      finished_ = true;
      return;
    case Query::disconnect:
      wants_end_ = true;
      return;
    case Query::parameter:  // none was offered
      return;
    case Query::string:
      return stream_.text_answer(Item::string_data, key, names_.text(key));
    case Query::plot_name:
      return stream_.text_answer(Item::plot_name, key, names_.text(key));
    case Query::frame_name:
      return stream_.text_answer(Item::frame_name, key, names_.text(key));
    case Query::fiber_name:
      return stream_.text_answer(Item::fiber_name, key, names_.text(key));
    case Query::thread_string:
      return stream_.text_answer(Item::thread_name, key, names_.thread(static_cast<uint32_t>(key)));
    case Query::source_location:
      return answer_location(key);
    case Query::source_code:
      return stream_.no_source_code(extra);
    default:  // of things that are never sent: call stacks, symbols, context switches
      return stream_.nothing();
  }
}

void Client::answer_location(uint64_t key) {
  const SourceLocation at = names_.source_location(key);
  stream_.source_location(key_of(key, Part::name), key_of(key, Part::function), key_of(key, Part::file),
                          at.line, at.colour);
}

std::string announcement(const Dialect& dialect, uint16_t port, int32_t active_s, std::string_view program) {
  constexpr uint16_t kVersion = 3;
  std::string out;
  add(out, kVersion);
  add(out, port);
  add(out, dialect.protocol);
  add(out, static_cast<uint64_t>(getpid()));
  add(out, active_s);
  out += program.substr(0, kProgramNameBytes - 1);
  out += '\0';
  return out;
}

}  // namespace ttc::tracy
