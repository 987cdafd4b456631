// Programs as newline JSON, an object a line, for whatever reads that: chip, host id, times in nanoseconds of
// CLOCK_MONOTONIC_RAW, cores, and the name that the workload's host side gave it. Keys whose value is not known are left out.
#pragma once
#include "tools/tables/device_tables.hpp"
#include "tools/tables/host_tables.hpp"
#include "tools/viewers/host/op_names.hpp"

namespace ttc::tools {

class OpsJson : public Format {
 public:
  OpsJson(Output& out, const FormatOptions&)
      : out_(out), devices_(tables_, TTCOLLECT_OPS), host_(of_the_host_) {}

  void begin(const Session& session) override { devices_.begin(session); }
  void frame(const FrameEvents& frame) override {
    devices_.frame(frame);
    if (!tables_.ops.empty()) write();
  }
  std::unique_ptr<FrameWork> frame_work() const override { return devices_.frame_work(); }
  bool frame_alone(const FrameEvents& frame) override {
    if (!devices_.frame_alone(frame)) return false;
    if (!tables_.ops.empty()) write();
    return true;
  }
  void loss(const shm::LossRecord&) override {}
  void names_changed() override { devices_.names_changed(); }
  void host(std::span<const uint64_t> chunk) override;
  void end() override {
    devices_.end();
    write();
  }

 private:
  void write();

  Output& out_;
  Tables tables_, of_the_host_;
  DeviceTables devices_;
  HostTables host_;
  OpNames names_;
};

}  // namespace ttc::tools
