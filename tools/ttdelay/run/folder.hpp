// The folder of an experiment: experiment.json (what it is), journal.jsonl (what was done), runs/NNNN (a run's capture and output).
#pragma once
#include <string>

#include "tools/ttdelay/plan/experiment.hpp"

namespace ttc::delay {

struct FolderError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ExperimentFolder {
 public:
  // Makes the folder, or continues one of the same experiment; its seed is drawn when it is made. One process at a time holds it.
  // Throws FolderError.
  ExperimentFolder(const std::string& path, Experiment& experiment);
  ~ExperimentFolder();
  ExperimentFolder(const ExperimentFolder&) = delete;
  ExperimentFolder& operator=(const ExperimentFolder&) = delete;

  const std::string& path() const { return path_; }  // absolute
  const std::string& mark() const { return mark_; }  // of this experiment's processes, and of no other's
  std::string journal() const { return path_ + "/journal.jsonl"; }
  std::string run_path(unsigned number) const;  // 0: trials

 private:
  std::string path_, mark_;
  int lock_ = -1;
};

// Reads an experiment for a report: without taking it. Throws FolderError.
Experiment experiment_in(const std::string& path);
uint64_t drawn_seed();

}  // namespace ttc::delay
