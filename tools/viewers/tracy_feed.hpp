// Serves Tracy servers one after another, each from the beginning of the source: every connection reads the
// source itself, so that a live ring absorbs what a slow server does not take, and what it cannot absorb is
// sent as a message.
#pragma once
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/pipeline/pipeline.hpp"
#include "tools/viewers/host/op_names.hpp"

namespace ttc::tools {

struct TracyFeed {
  std::vector<std::string> from;
  std::string listen = "8600";
  bool fork_66 = false;            // servers that send 66 are Tenstorrent's, not stock 0.11.0
  bool device_contexts = false;    // stock servers, too, are shown device zones
  uint32_t announce_protocol = 0;  // 0: do not announce
  bool once = false;               // end after the first server
  bool from_now = false;           // of live sources only what comes after a server has connected
  bool growing = false;            // captures may still be written, and may not be there yet
  Filter filter;
  std::optional<markers::MetalDate> metal_date;
  // Adds names of programs that `from` itself lacks, and sentences on what could not be read; may be null.
  void (*add_names)(const std::vector<std::string>& from, OpNames& to,
                    std::vector<std::string>& remarks) = nullptr;
};

// The outcome for the one server, if `once` is set; otherwise `whole`.
enum class FeedEnd : uint8_t {
  whole,
  cut,           // the server did not get everything, or none came before `stop`
  source_lacks,  // it did, but the source is damaged or lacks chunks
};

// Serves sources that are there, or with `growing` may come. Returns once `stop` is set, or after one server with `once`. A server
// that is connected then gets the rest of what there is. Sentences go to `say`. Throws SourceError, tracy::ListenError.
FeedEnd feed_tracy(const TracyFeed& options, const volatile std::sig_atomic_t& stop,
                   void (*say)(const std::string& sentence));

}  // namespace ttc::tools
