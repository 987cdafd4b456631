#include "collector/tracy_server/exchange.hpp"

#include <lz4.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace ttc::tracy_server {
namespace {

constexpr std::string_view kMagic = "TracyPrf";
enum Answer : uint8_t { kWelcome = 1, kMismatch = 2, kNotAvailable = 3, kDropped = 4 };
constexpr size_t kOnDemandBytes = 16;
constexpr uint8_t kOnDemand = 1;
constexpr size_t kTakenBytes = 1u << 20;  // that may precede what was not taken yet

template <class T>
T read_at(std::span<const std::byte> bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string zero_padded(std::span<const std::byte> bytes, size_t at, size_t length) {
  const auto* text = reinterpret_cast<const char*>(bytes.data() + at);
  return {text, strnlen(text, length)};
}

const Dialect& first_of(uint32_t protocol) {
  const Dialect* fork = dialect_of(protocol, true);
  return fork ? *fork : *dialect_of(protocol, false);
}

}  // namespace

FrameUnpacker::FrameUnpacker() : buffer_(kHistory + kMostUnpacked) {}

// The block before moves in front of the next one only then, so that its bytes can be used meanwhile.
std::optional<std::span<const std::byte>> FrameUnpacker::unpack(std::span<const std::byte> packed) {
  const size_t known = history_ + last_, kept = std::min(kHistory, known);
  std::byte* const block = buffer_.data() + kHistory;
  std::memmove(block - kept, block + last_ - kept, kept);
  history_ = kept;
  last_ = 0;
  auto* into = reinterpret_cast<char*>(block);
  const int bytes = LZ4_decompress_safe_usingDict(reinterpret_cast<const char*>(packed.data()), into,
                                                  static_cast<int>(packed.size()), kMostUnpacked,
                                                  into - history_, static_cast<int>(history_));
  if (bytes < 0) return std::nullopt;
  last_ = static_cast<size_t>(bytes);
  return std::span<const std::byte>(block, last_);
}

Exchange::Exchange(uint32_t protocol, EventDecoder::Take take, EventDecoder::OwnThread own_thread)
    : decoder_(first_of(protocol), std::move(take), std::move(own_thread)) {
  process_.protocol = protocol;
  out_ = kMagic;
  out_.append(reinterpret_cast<const char*>(&protocol), sizeof protocol);
}

std::string Exchange::to_send() {
  return std::exchange(out_, {});
}

void Exchange::broke(std::string why) {
  why_ = std::move(why);
  state_ = ExchangeState::broken;
}

ExchangeState Exchange::receive(std::span<const std::byte> bytes) {
  if (at_ == in_.size())
    in_.clear(), at_ = 0;
  else if (at_ > kTakenBytes)
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(at_)), at_ = 0;
  in_.insert(in_.end(), bytes.begin(), bytes.end());
  for (bool more = true; more;) switch (state_) {
      case ExchangeState::offered:
        more = take_answer();
        break;
      case ExchangeState::welcome:
        more = take_welcome();
        break;
      case ExchangeState::frames:
        more = take_frame();
        break;
      default:
        at_ = in_.size();
        more = false;
    }
  return state_;
}

bool Exchange::take_answer() {
  if (at_ == in_.size()) return false;
  const auto answer = static_cast<uint8_t>(in_[at_++]);
  if (answer == kWelcome)
    state_ = ExchangeState::welcome;
  else if (answer == kMismatch)
    state_ = ExchangeState::mismatch;
  else if (answer == kNotAvailable || answer == kDropped)
    state_ = ExchangeState::refused;
  else
    broke("the answer to the protocol's number is " + std::to_string(answer) + ", which Tracy does not have");
  return true;
}

// Packed: timerMul f64, initBegin, initEnd i64, delay u64 (before 75), resolution, epoch, exectime, pid u64, samplingPeriod i64,
// flags u8, cpuArch u8, cpuManufacturer 12, cpuId u32, programName 64, hostInfo 1024.
bool Exchange::take_welcome() {
  const size_t bytes = decoder_.dialect().welcome_bytes;
  if (in_.size() - at_ < bytes) return false;
  const std::span<const std::byte> welcome = std::span(in_).subspan(at_, bytes);
  constexpr size_t kNameBytes = 64, kInfoBytes = 1024, kFlagsBeforeName = 1 + 1 + 12 + 4;
  const size_t info = bytes - kInfoBytes, name = info - kNameBytes, flags = name - kFlagsBeforeName;
  constexpr size_t kPidBeforeFlags = 16;
  const bool on_demand = static_cast<uint8_t>(welcome[flags]) & kOnDemand;
  if (in_.size() - at_ < bytes + (on_demand ? kOnDemandBytes : 0)) return false;
  process_.timer_mul = read_at<double>(welcome, 0);
  process_.init_begin = read_at<int64_t>(welcome, 8);
  process_.pid = read_at<uint64_t>(welcome, flags - kPidBeforeFlags);
  process_.program = zero_padded(welcome, name, kNameBytes);
  process_.host_info = zero_padded(welcome, info, kInfoBytes);
  at_ += bytes + (on_demand ? kOnDemandBytes : 0);
  state_ = ExchangeState::frames;
  return true;
}

bool Exchange::take_frame() {
  if (in_.size() - at_ < sizeof(uint32_t)) return false;
  const auto packed = read_at<uint32_t>(in_, at_);
  if (packed > FrameUnpacker::kMostPacked) {
    broke("a frame of " + std::to_string(packed) + " bytes is longer than Tracy's are");
    return false;
  }
  if (in_.size() - at_ - sizeof packed < packed) return false;
  const auto frame = unpacker_.unpack(std::span(in_).subspan(at_ + sizeof packed, packed));
  at_ += sizeof packed + packed;
  if (!frame) {
    broke("a frame is no LZ4 block");
    return false;
  }
  if (!decoder_.decode(*frame)) {
    broke(decoder_.why());
    return false;
  }
  send_queries();
  return true;
}

void Exchange::put_query(const Query& query) {
  const uint32_t extra = 0;
  out_ += static_cast<char>(query.kind);
  out_.append(reinterpret_cast<const char*>(&query.key), sizeof query.key);
  out_.append(reinterpret_cast<const char*>(&extra), sizeof extra);
}

void Exchange::send_queries() {
  const uint64_t answers = decoder_.take_answers();
  answered_ += answers;
  open_ -= std::min(open_, answers);
  for (auto& queries = decoder_.queries(); !queries.empty() && open_ < kMostOpen;
       queries.pop_front(), ++open_)
    put_query(queries.front());
  if (decoder_.terminated() && open_ == 0) end_without_answers();
}

void Exchange::end_without_answers() {
  put_query({QueryKind::terminate, 0});
  state_ = ExchangeState::ended;
}

}  // namespace ttc::tracy_server
