#include "driver_iface/emu/emu_polls.hpp"

#include <algorithm>

namespace ttc::card::emu {
namespace {

uint64_t first_deadline(const Page& page) {
  uint64_t first = kNotAwaited;
  for (const auto& deadline : page.poll_by) first = std::min(first, deadline.load(std::memory_order_acquire));
  return first;
}

}  // namespace

// The deadlines are loaded before `stood_ns`: who sees a deadline that was moved sees that the card had stood.
uint64_t peek_card_now_ns(const Page& page) {
  if (!page.await_polls) return host_now_ns();
  const uint64_t deadline = first_deadline(page);
  const uint64_t stood_ns = page.stood_ns.load(std::memory_order_acquire);
  const uint64_t now = std::min(host_now_ns() - stood_ns, deadline);
  return std::max(now, page.reached_ns.load(std::memory_order_acquire));
}

uint64_t card_now_ns(const Page& page) {
  const uint64_t now = peek_card_now_ns(page);
  if (!page.await_polls) return now;
  uint64_t reached = page.reached_ns.load(std::memory_order_relaxed);
  while (reached < now && !page.reached_ns.compare_exchange_weak(reached, now, std::memory_order_acq_rel)) {
  }
  return std::max(now, reached);
}

bool stands(const Page& page) {
  if (!page.await_polls) return false;
  const uint64_t deadline = first_deadline(page);
  return deadline != kNotAwaited && host_now_ns() - page.stood_ns.load(std::memory_order_acquire) >= deadline;
}

void set_poll_deadline(Page& page, uint32_t observer, uint64_t card_ns) {
  if (!page.await_polls) return;
  for (uint64_t stood_ns = page.stood_ns.load(std::memory_order_acquire);;) {
    const uint64_t stands_at =
        std::max(first_deadline(page), page.reached_ns.load(std::memory_order_acquire));
    const uint64_t host_ns = host_now_ns();
    if (stands_at == kNotAwaited || host_ns - stood_ns <= stands_at) break;
    if (page.stood_ns.compare_exchange_strong(stood_ns, host_ns - stands_at, std::memory_order_acq_rel))
      break;
  }
  page.poll_by[observer].store(card_ns, std::memory_order_release);
}

void PollWatch::announce() {
  if (!awaited()) return;
  begun_ = false;
  set_poll_deadline(page_, observer_, card_now_ns(page_));
}

void PollWatch::begin() {
  uint64_t never = 0;
  if (page_.polled_since.load(std::memory_order_acquire) == 0) {
    page_.round_trips_before_polls.compare_exchange_strong(never, page_.round_trips);
    never = 0;
    page_.polled_since.compare_exchange_strong(never, time_axis_ns(page_));
  }
  if (!awaited()) return;
  begun_ = true;
  count_ = tiles_ = 0;
  polls_.fill({});
  set_poll_deadline(page_, observer_, card_now_ns(page_) + kPollWithinNs);
  set_poll_deadline(page_, kMaxObservers, kNotAwaited);
}

void PollWatch::polled(uint32_t tile) {
  if (!begun_) return;
  tiles_ += polls_[tile].count == 0;
  polls_[tile] = {card_now_ns(page_), ++count_};
  uint64_t oldest = polls_[tile].card_ns;
  for (const Poll& poll : polls_)
    if (poll.count != 0 && count_ - poll.count <= kRoundsPassedOver * tiles_)
      oldest = std::min(oldest, poll.card_ns);
  set_poll_deadline(page_, observer_, oldest + kPollWithinNs);
}

}  // namespace ttc::card::emu
