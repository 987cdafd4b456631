// Exit codes of the programs. A number that two programs share means the same in both only if it is in
// Exit.
#pragma once

namespace ttc::program {

struct Exit {
  static constexpr int kOk = 0;
  static constexpr int kUsage = 2;   // wrong options, or an output that is an input
  static constexpr int kFailed = 8;  // any other failure: memory, an error of the system
};

struct CollectExit : Exit {
  static constexpr int kInTheWay = 1;  // doctor: something stands in the way
  static constexpr int kNoDevice =
      3;  // no such device or it cannot be opened; list, doctor: the PCI bus; doctor: no such process
  static constexpr int kNoSource = 3;  // info, recover, snapshot, play: the source cannot be read
  static constexpr int kNoProfiler = 4;
  static constexpr int kDamaged = 4;  // info, play: the file is cut or damaged; recover: something is missing
  static constexpr int kSegment = 5;  // it cannot be made or is taken
  static constexpr int kOutput = 6;
  static constexpr int kCardVanished = 7;
  static constexpr int kContradicted = 9;  // selftest: an assumption does not hold on this card
};

struct ExportExit : Exit {
  static constexpr int kNoSource = 3;
  static constexpr int kSourceDamaged = 4;  // the output holds what was readable
  static constexpr int kOutput = 5;
  static constexpr int kReaderLost = 6;  // this reader was too slow and lost chunks
};

struct ReportExit : Exit {
  static constexpr int kConditionHolds = 1;  // diff --fail-if
  static constexpr int kNoSource = 3;
  static constexpr int kSourceDamaged = 4;
  static constexpr int kOutput = 5;
};

struct MonitorExit : Exit {
  static constexpr int kNoSource = 3;
  static constexpr int kOutput = 5;
};

struct EmulatorExit : Exit {
  static constexpr int kViolation = 1;  // an observer did something that could hurt silicon
  static constexpr int kCard = 3;       // the card cannot be made
  static constexpr int kLoad = 4;       // --load or --replay cannot be understood
  static constexpr int kFile = 5;       // a file cannot be written
  static constexpr int kRowsLeftOut = 6;
  static constexpr int kWorkload = 7;  // the workload ends at its start, or its kernels cannot be built
  static constexpr int kHung = 9;      // a program of the workload never ended
};

struct DelayExit : Exit {
  static constexpr int kInvalid = 1;  // run: all runs were made, and some are in no average
  static constexpr int kNoSource =
      3;  // report: no folder of an experiment; run: the workload cannot be started or built
  static constexpr int kCard = 4;  // run: stopped, because the card hung or is not well
  static constexpr int kOutput = 5;
  static constexpr int kStopped = 6;  // run: interrupted; the same command continues
};

struct FleetExit : Exit {
  static constexpr int kIncomplete =
      1;  // a rank did not answer or could not do it; report: something is missing
  static constexpr int kNoSource = 3;  // agent: no such ring or capture, or its spool cannot be used
  static constexpr int kBus = 4;       // the bus cannot be reached, or refuses
  static constexpr int kOutput = 5;
  static constexpr int kSpooled = 6;  // agent: rows remain in the spool; the next agent sends them
};

}  // namespace ttc::program
