// A value that was read from a card, or the Access with the reason why there is none. The error is never Access::ok.
#pragma once
#include <tl/expected.hpp>

#include "driver_iface/card.hpp"

namespace ttc::card {

template <class T>
using Expected = tl::expected<T, Access>;

inline tl::unexpected<Access> failed(Access why) {
  return tl::unexpected<Access>(why);
}

}  // namespace ttc::card
