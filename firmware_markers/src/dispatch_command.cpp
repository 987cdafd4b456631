#include "firmware_markers/dispatch_command.hpp"

#include <span>
#include <string_view>

namespace ttc::markers {
namespace {

struct Command {
  std::string_view name;
  MetalDate since = {};
};
constexpr Command kCommands[] = {{"CQ_DISPATCH_CMD_ILLEGAL"},
                                 {"CQ_DISPATCH_CMD_WRITE_LINEAR"},
                                 {"CQ_DISPATCH_CMD_WRITE_LINEAR_H"},
                                 {"CQ_DISPATCH_CMD_WRITE_LINEAR_H_HOST"},
                                 {"CQ_DISPATCH_CMD_WRITE_PAGED"},
                                 {"CQ_DISPATCH_CMD_WRITE_PACKED"},
                                 {"CQ_DISPATCH_CMD_WRITE_PACKED_LARGE"},
                                 {"CQ_DISPATCH_CMD_WAIT"},
                                 {"CQ_DISPATCH_CMD_SINK"},
                                 {"CQ_DISPATCH_CMD_DEBUG"},
                                 {"CQ_DISPATCH_CMD_DELAY"},
                                 {"CQ_DISPATCH_CMD_EXEC_BUF_END"},
                                 {"CQ_DISPATCH_CMD_SET_WRITE_OFFSET"},
                                 {"CQ_DISPATCH_CMD_TERMINATE"},
                                 {"CQ_DISPATCH_CMD_SEND_GO_SIGNAL"},
                                 {"CQ_DISPATCH_NOTIFY_SUBORDINATE_GO_SIGNAL"},
                                 {"CQ_DISPATCH_SET_NUM_WORKER_SEMS"},
                                 {"CQ_DISPATCH_SET_GO_SIGNAL_NOC_DATA"},
                                 {"CQ_DISPATCH_CMD_WRITE_PACKED_LARGE_UNICAST", {2026, 2}},
                                 {"CQ_DISPATCH_SET_SUB_DEVICE_WORKER_COUNTS", {2026, 9}},
                                 {"CQ_DISPATCH_CMD_RT_PROFILER_FLUSH", {2026, 9}}};

constexpr std::string_view kPacked[] = {"",
                                        "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_RTA",
                                        "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_LAUNCH",
                                        "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_SEMS",
                                        "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_EVENT",
                                        "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_GO_MSG_INDEX"};
constexpr std::string_view kPackedLarge[] = {"CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_UNKNOWN",
                                             "CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_CBS_SEMS_CRTAS",
                                             "CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_PROGRAM_BINARIES"};

std::string name_or_number(uint64_t number, std::span<const std::string_view> names) {
  if (number < names.size() && !names[number].empty()) return std::string(names[number]);
  return std::to_string(number);
}

}  // namespace

std::string dispatch_command_name(uint64_t data, MetalDate date) {
  const auto number = static_cast<uint8_t>(data);  // an 8-bit field of the command
  if (number < std::size(kCommands) && kCommands[number].since <= date)
    return std::string(kCommands[number].name);
  return std::to_string(number);
}

std::string packed_write_name(uint64_t data) {
  return (data & 1 ? "MCAST;" : "") + name_or_number(data >> 1, kPacked);
}

std::string packed_large_write_name(uint64_t data) {
  return name_or_number(data, kPackedLarge);
}

}  // namespace ttc::markers
