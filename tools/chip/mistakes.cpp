#include "tools/chip/mistakes.hpp"

namespace ttc::chip {
namespace {

constexpr uint8_t kPostGroup = kGroups - 2, kWakeGroup = kGroups - 1;
constexpr uint8_t kWakeUp = kSemaphores - 1;
constexpr uint32_t kParameterBytes = 32;
constexpr auto kExchange = static_cast<uint8_t>(ZoneOf::exchange);

// A core's own copy of its BRISC's code, with `before` in front.
void put_in_front(ChipProgram& program, CoreProgram& core, const Code& before) {
  Code code{{Do::zone_begin, kExchange, 0, 0}, {Do::read, 0, 0, kParameterBytes}, {Do::barrier, 0, 0, 0}};
  code.insert(code.end(), before.begin(), before.end());
  code.push_back({Do::zone_end, kExchange, 0, 0});
  const Code& kernel = program.codes[static_cast<size_t>(core.code[brisc])];
  code.insert(code.end(), kernel.begin(), kernel.end());
  program.codes.push_back(std::move(code));
  core.code[brisc] = static_cast<int16_t>(program.codes.size() - 1);
}

struct Pair {
  CoreProgram &from, &to;
};
Pair pair_of(ChipProgram& program, const ChipOp& op, const Mistake& mistake, const char* what) {
  const size_t cores = program.cores.size();
  if (mistake.from >= cores || mistake.to >= cores)
    throw WorkloadError(std::string(what) + " of op " + op.code + " is between its cores " +
                        std::to_string(mistake.from) + " and " + std::to_string(mistake.to) +
                        "; it runs on " + std::to_string(cores) + ", which count from 0");
  return {program.cores[mistake.from], program.cores[mistake.to]};
}

}  // namespace

void add_mistakes(ChipProgram& program, const ChipOp& op) {
  if (op.race.slack != 0) {
    const auto [from, to] = pair_of(program, op, op.race, "the race");
    from.group[kPostGroup] = {to.core};
    put_in_front(program, from, {{Do::post, kPostGroup, 0, kParameterBytes}});
    put_in_front(program, to, {{Do::spin, 1, 0, static_cast<uint32_t>(op.race.slack)}, {Do::look, 0, 0, 0}});
  }
  if (op.hang.slack != 0) {
    const auto [from, to] = pair_of(program, op, op.hang, "the hang");
    from.group[kWakeGroup] = {to.core};
    put_in_front(
        program, from,
        {{Do::spin, 1, 0, static_cast<uint32_t>(op.hang.slack)}, {Do::signal, kWakeGroup, kWakeUp, 1}});
    put_in_front(program, to, {{Do::clear, kWakeUp, 0, 0}, {Do::await, kWakeUp, 0, 1}});
  }
}

}  // namespace ttc::chip
