// Clearing words behind the kernel driver, on a descriptor of its own: the only one that is opened for
// writing, and the only mapping that could be stored to. Neither exists unless a collector was started
// with --recycle.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "driver_iface/index_writer.hpp"
#include "driver_iface/kmd/kmd_system.hpp"

namespace ttc::card::kmd {

// Takes the driver's lock kWriterLock of the card and a window. Throws OpenError.
std::unique_ptr<IndexWriter> open_writer(System& system, const std::string& spec,
                                         std::vector<ClearableWords> places);

}  // namespace ttc::card::kmd
