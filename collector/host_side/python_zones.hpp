// Zones of Python functions as the module ttcollect.functions sends them: lines of text, of one thread, in its order.
//
//   S NUMBER LINE NAME<tab>FILE     defines a number, in its process
//   B NANOSECONDS NUMBER            a zone begins
//   E NANOSECONDS                   the innermost open one ends
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

#include "ttcollect/host_events.hpp"

namespace ttc::collect {

// False where a line is none of these; the others are taken.
bool take_python_zones(std::string_view lines, uint32_t thread,
                       const std::function<void(const HostEvent&)>& take);

}  // namespace ttc::collect
