// A file that appears under its name only when it is complete. Until it is put in place it has no name if the file
// system allows that (O_TMPFILE), so that no part of it remains however the process ends, kill -9 and exhausted
// memory included. Elsewhere (NFS, a machine without /proc) it is PATH.part-PID until then, and a process that is
// killed leaves that.
#pragma once
#include <string>

namespace ttc::program {

class PendingFile {
 public:
  enum class Until { unnamed_if_possible, part };
  // Creates an empty file in the directory of `path`, readable by all as the umask allows. error() is the result.
  explicit PendingFile(const std::string& path, Until until = Until::unnamed_if_possible);
  ~PendingFile();  // what was not put in place is removed
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  int error() const { return error_; }  // errno of creating it, or 0
  int fd() const { return fd_; }        // for reading and writing; closed by the destructor
  // Opens the same file again, in this process, until it is put in place.
  const std::string& name() const { return name_; }
  // Errors that a file system reports when a descriptor is closed (NFS, quotas). Errno or 0.
  int written() const;
  // Replaces what is at `path`. Returns errno or 0.
  int put_in_place();
  // Returns EEXIST if `path` exists, which stays as it is.
  int put_where_nothing_is();

 private:
  std::string path_, temporary_, name_;
  int fd_ = -1, error_ = 0;
  bool named_ = false;  // the temporary name is there
};

}  // namespace ttc::program
