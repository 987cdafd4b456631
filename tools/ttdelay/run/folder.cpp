#include "tools/ttdelay/run/folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "collector/program/json_text.hpp"
#include "collector/program/pending_file.hpp"
#include "tools/ttdelay/plan/plan_json.hpp"

namespace ttc::delay {
namespace {

namespace fs = std::filesystem;

nlohmann::json read_description(const std::string& path) {
  std::ifstream file(path + "/experiment.json", std::ios::binary);
  if (!file) throw FolderError(path + " is no folder of an experiment: it has no experiment.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  nlohmann::json json = program::json_value(text);
  if (!json.is_object() || !json.contains("experiment") || !json.contains("mark") ||
      !json["mark"].is_string())
    throw FolderError(path + "/experiment.json is none of ttdelay");
  return json;
}

Experiment described(const nlohmann::json& json, const std::string& path) {
  try {
    return experiment_of(json["experiment"]);
  } catch (const PlanError& e) {
    throw FolderError(path + "/experiment.json is damaged: " + e.what());
  }
}

void write_description(const std::string& path, const Experiment& experiment, const std::string& mark) {
  const nlohmann::ordered_json json{{"format", 1}, {"mark", mark}, {"experiment", to_json(experiment)}};
  const std::string text = program::json_text(json, 1) + "\n";
  program::PendingFile file(path + "/experiment.json");
  int error = file.error();
  if (!error && write(file.fd(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    error = errno ? errno : EIO;
  if (!error) error = fsync(file.fd()) ? errno : file.put_in_place();
  if (error) throw FolderError(path + "/experiment.json cannot be written: " + std::strerror(error));
}

// The part that may not change between two calls: all but the supervision of runs.
nlohmann::ordered_json identity_of(const Experiment& experiment) {
  nlohmann::ordered_json json = to_json(experiment);
  json["run"].erase("limit_ns");
  json["run"].erase("silent_ns");
  json["run"].erase("reset_cmd");
  return json;
}

// A lock of the process: a child that it has forked does not hold it, so that it ends with a process that is killed between fork and exec.
bool lock_whole(int file) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(file, F_SETLK, &whole) == 0;
}

std::string drawn_mark() {
  std::random_device device;
  char text[40];
  std::snprintf(text, sizeof text, "%08x%08x%08x%08x", device(), device(), device(), device());
  return text;
}

}  // namespace

uint64_t drawn_seed() {
  return std::random_device{}() % 1'000'000'000 + 1;
}

ExperimentFolder::ExperimentFolder(const std::string& path, Experiment& experiment) {
  std::error_code error;
  fs::create_directories(path, error);
  path_ = fs::canonical(path, error);
  if (error) throw FolderError(path + " cannot be made: " + error.message());
  lock_ = open((path_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw FolderError(path_ + " cannot be written to: " + std::strerror(errno));
  if (!lock_whole(lock_)) {
    const int error_number = errno;
    close(lock_);
    if (error_number != EAGAIN && error_number != EACCES)
      throw FolderError(path_ + "/lock cannot be locked: " + std::strerror(error_number));
    throw FolderError("another ttdelay is at work in " + path_ + "; wait for it, or take another folder");
  }
  if (!fs::exists(path_ + "/experiment.json")) {
    if (experiment.seed == 0) experiment.seed = drawn_seed();
    mark_ = drawn_mark();
    write_description(path_, experiment, mark_);
  } else {
    const nlohmann::json json = read_description(path_);
    const Experiment before = described(json, path_);
    if (experiment.seed == 0) experiment.seed = before.seed;
    if (identity_of(before) != identity_of(experiment)) {
      close(lock_);
      throw FolderError(path_ + " holds another experiment ('" + before.name +
                        "', or this one before its plan was changed); take another folder");
    }
    mark_ = json["mark"].get<std::string>();
  }
  fs::create_directories(path_ + "/runs", error);
}

ExperimentFolder::~ExperimentFolder() {
  close(lock_);
}

std::string ExperimentFolder::run_path(unsigned number) const {
  char name[32];
  std::snprintf(name, sizeof name, "/runs/%04u", number);
  return path_ + (number ? std::string(name) : "/runs/trial");
}

Experiment experiment_in(const std::string& path) {
  return described(read_description(path), path);
}

}  // namespace ttc::delay
