// Three ways to fetch the payload of one visit (five lanes) from the emulated card: copies through the
// window, reads of its descriptor submitted to io_uring in one batch, and plain pread. No latency is charged,
// so this is the cost of the calls. A BAR has no descriptor that could be read: on silicon only the first way
// exists.
#include "bench/emulated_rig.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

struct Way {
  const char* name;
  bool descriptor, plain;
};
constexpr Way kWays[] = {{"window", false, false}, {"io_uring", true, false}, {"pread", true, true}};

// Logs are filled first: reading words that never landed costs the card's own bookkeeping extra.
constexpr uint32_t kLongFrameZones = 100, kLongFrameWords = 12 + 4 * kLongFrameZones;

// Microseconds a visit, at best.
double fetch(const Way& way, uint32_t bytes_a_lane) {
  RigOptions o;
  o.descriptor_reads = way.descriptor;
  o.plain = way.plain;
  o.cores = 8;
  Rig rig(o);
  for (size_t words = 0; words < bytes_a_lane / 4; words += kLongFrameWords)
    rig.launch_all(kLongFrameZones, false);
  const auto visits =
      static_cast<int>(once() ? 10 : std::min<size_t>(20000, (size_t{64} << 20) / (5 * bytes_a_lane)));
  SharedMemory to(5 * bytes_a_lane);
  Best best;
  for (int repetition = 0; repetition < repetitions(5); ++repetition)
    best.time([&] {
      for (int v = 0; v < visits; ++v) {
        const collect::AttachedCore& core =
            rig.attachment.cores[static_cast<size_t>(v) % rig.attachment.cores.size()];
        std::array<collect::LogRead, device::kMaxRiscs> reads;
        for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
          reads[r] = {core.bank,
                      markers::log_place(core.flat_id, r, rig.attachment.core_count_per_dram,
                                         rig.attachment.dram_base, o.bytes_per_risc)
                          .address,
                      {to.words() + r * bytes_a_lane / 8, bytes_a_lane / 8}};
        if (rig.logs->read(reads) != card::Access::ok) std::puts("WRONG: read refused"), std::exit(1);
      }
    });
  return best.ns() / visits / 1000;
}

// Microseconds a busy sweep of 72 cores, median.
double sweep(const Way& way) {
  RigOptions o;
  o.descriptor_reads = way.descriptor;
  o.plain = way.plain;
  Rig rig(o);
  rig.warm_up(4, false);
  Samples times;
  for (int i = 0; i < (once() ? 3 : 300); ++i) {
    rig.launch_all(4, false);
    const uint64_t begin = now_ns();
    rig.sweep_all();
    times.add(now_ns() - begin);
  }
  return times.us(50);
}

void compare(const std::string& what, const std::array<double, 3>& us) {
  result("%s: window %.2f us, io_uring %.2f us (ratio to window %.2f), pread %.2f us (ratio %.2f)",
         what.c_str(), us[0], us[1], us[1] / us[0], us[2], us[2] / us[0]);
}

}  // namespace

int main() {
  print_machine("descriptor_bench");
  for (const uint32_t bytes : {128u, 2048u, 16384u, 47104u})
    compare("one visit, 5 lanes of " + std::to_string(bytes) + " B",
            {fetch(kWays[0], bytes), fetch(kWays[1], bytes), fetch(kWays[2], bytes)});
  compare("busy sweep of 72 cores, 4 zones", {sweep(kWays[0]), sweep(kWays[1]), sweep(kWays[2])});
}
