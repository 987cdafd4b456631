#include "collector/io/log_reader.hpp"

#include <algorithm>
#include <vector>

namespace ttc::collect {
namespace {

using card::Access;
using card::Window;

class WindowLogReader : public LogReader {
 public:
  explicit WindowLogReader(card::Card& card) : card_(card), views_(card.identity().dram_views) {}

  Access read(std::span<const LogRead> reads) override {
    for (const LogRead& r : reads) {
      const card::DramView& view = views_[r.bank];
      uint64_t address = view.offset + r.address;
      std::span<uint64_t> out = r.out;
      while (!out.empty()) {  // a window ends every 2 MiB
        const uint64_t in_window = address & (card::kWindowBytes - 1);
        const size_t words = std::min<uint64_t>(out.size(), (card::kWindowBytes - in_window) / 8);
        if (const Access a = card_.aim(Window::payload, view.endpoint, address); a != Access::ok) return a;
        if (const Access a = card_.copy(Window::payload, static_cast<uint32_t>(in_window), out.first(words));
            a != Access::ok)
          return a;
        address += words * 8;
        out = out.subspan(words);
      }
    }
    return Access::ok;
  }

 private:
  card::Card& card_;
  std::span<const card::DramView> views_;
};

class DescriptorLogReader : public LogReader {
 public:
  DescriptorLogReader(card::Card& card, EventLoop& loop)
      : card_(card), loop_(loop), views_(card.identity().dram_views) {}

  Access read(std::span<const LogRead> reads) override {
    ranges_.clear();
    files_.clear();
    for (const LogRead& r : reads) {
      const card::DramView& view = views_[r.bank];
      uint64_t address = view.offset + r.address;
      std::span<uint64_t> out = r.out;
      while (!out.empty()) {
        const uint64_t in_window = address & (card::kWindowBytes - 1);
        const size_t words = std::min<uint64_t>(out.size(), (card::kWindowBytes - in_window) / 8);
        const auto range = card_.descriptor_range(view.endpoint, address, static_cast<uint32_t>(words * 8));
        if (!range) return Access::refused;
        ranges_.push_back(*range);
        files_.push_back({range->fd, range->file_offset, out.first(words)});
        address += words * 8;
        out = out.subspan(words);
      }
    }
    Access result = loop_.read_all(files_) ? Access::ok : Access::gone;
    for (size_t i = 0; i < ranges_.size(); ++i)
      if (const Access a = card_.release(ranges_[i], files_[i].out); result == Access::ok) result = a;
    return result;
  }

 private:
  card::Card& card_;
  EventLoop& loop_;
  std::span<const card::DramView> views_;
  std::vector<card::DescriptorRange> ranges_;
  std::vector<FileRead> files_;
};

}  // namespace

std::unique_ptr<LogReader> window_log_reader(card::Card& card) {
  return std::make_unique<WindowLogReader>(card);
}
std::unique_ptr<LogReader> descriptor_log_reader(card::Card& card, EventLoop& loop) {
  return std::make_unique<DescriptorLogReader>(card, loop);
}

}  // namespace ttc::collect
