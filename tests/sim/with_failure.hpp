// A history during which the card does not answer one read, or goes.
#pragma once
#include "tests/sim/card_ports.hpp"
#include "tests/sim/exhausting.hpp"

namespace ttc::sim {

class WithFailure : public Exhausting {
 public:
  WithFailure(Shared& shared, const HistoryCase& c, const std::string& history,
              const FailingPort::Failure& failure)
      : Exhausting(shared, c, history), failure_(failure) {}
  uint64_t reads = 0;

 protected:
  std::unique_ptr<collect::CardPort> port(collect::LogReader& logs) override {
    return std::make_unique<FailingPort>(card_, logs, attachment_.clock, failure_, reads);
  }

 private:
  FailingPort::Failure failure_;
};

}  // namespace ttc::sim
