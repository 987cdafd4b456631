/* Marks and steps on the timeline of `ttcollect run`, without Tracy. C99 and C++, nothing to link.

     #include "ttcollect_mark.h"
     ttcollect_mark("warm-up is over");
     ttcollect_step_begin(5);  train();  ttcollect_step_end(5);

   Without a collector (TTCOLLECT_MARKS is not set when the first call is made) a call is a load and a branch. A mark never waits:
   what could not be sent is counted in memory of `ttcollect run`, which prints it at its end. Callable from any thread. */
#ifndef TTCOLLECT_MARK_H
#define TTCOLLECT_MARK_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* 0: not set up yet, -1: no collector, else a descriptor and one. Two threads that set it up at once make a socket each. */
static int ttcollect_mark_state;

static inline int ttcollect_mark_socket(struct sockaddr_un* to, socklen_t* length) {
  const char* name = getenv("TTCOLLECT_MARKS");
  size_t bytes = name ? strlen(name) : 0;
  if (bytes == 0 || bytes >= sizeof to->sun_path) {
    __atomic_store_n(&ttcollect_mark_state, -1, __ATOMIC_RELAXED);
    return -1;
  }
  memset(to, 0, sizeof *to);
  to->sun_family = AF_UNIX;
  memcpy(to->sun_path + 1, name, bytes);
  *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
  int state = __atomic_load_n(&ttcollect_mark_state, __ATOMIC_RELAXED);
  if (state == 0) {
    state = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) + 1;
    if (state <= 0) state = -1;
    __atomic_store_n(&ttcollect_mark_state, state, __ATOMIC_RELAXED);
  }
  return state < 0 ? -1 : state - 1;
}

/* In the slot of this process (collector/host_side/mark_losses.hpp): count, time of the first one, of the last one. In another PID namespace
   the path may be another file, which the magic number shows. */
static inline void ttcollect_mark_count_lost(uint64_t now) {
  const char* path = getenv("TTCOLLECT_MARKS_LOST");
  const off_t slot = (off_t)getpid() * 32, page = (off_t)sysconf(_SC_PAGESIZE);
  const int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
  char magic[8];
  struct stat of;
  if (fd < 0) return;
  if (fstat(fd, &of) == 0 && of.st_size >= slot + 32 && pread(fd, magic, 8, 0) == 8 &&
      memcmp(magic, "ttc mark", 8) == 0) {
    void* memory = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, slot / page * page);
    if (memory != MAP_FAILED) {
      uint64_t* words = (uint64_t*)((char*)memory + slot % page);
      uint64_t none = 0;
      (void)__atomic_compare_exchange_n(&words[1], &none, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
      __atomic_store_n(&words[2], now, __ATOMIC_RELAXED);
      (void)__atomic_fetch_add(&words[0], 1, __ATOMIC_RELAXED);
      (void)munmap(memory, (size_t)page);
    }
  }
  (void)close(fd);
}

static inline void ttcollect_mark_send(char kind, const char* text) {
  char datagram[4096];
  struct sockaddr_un to;
  struct timespec now;
  socklen_t length;
  int fd, bytes;
  if (__atomic_load_n(&ttcollect_mark_state, __ATOMIC_RELAXED) < 0) return;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  fd = ttcollect_mark_socket(&to, &length);
  if (fd < 0) return;
  bytes = snprintf(datagram, sizeof datagram, "%lld %ld %ld %c\n%s",
                   (long long)now.tv_sec * 1000000000LL + now.tv_nsec, (long)getpid(),
                   (long)syscall(SYS_gettid), kind, text);
  if (bytes < 0) return;
  if ((size_t)bytes >= sizeof datagram) bytes = (int)sizeof datagram - 1;
  if (sendto(fd, datagram, (size_t)bytes, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr*)&to, length) <
      0)
    ttcollect_mark_count_lost((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

static inline void ttcollect_mark(const char* text) {
  if (__atomic_load_n(&ttcollect_mark_state, __ATOMIC_RELAXED) >= 0) ttcollect_mark_send('m', text);
}
/* Of a run with --paused: collecting from the device starts; it stops, for good, while the program continues. */
static inline void ttcollect_start(void) {
  if (__atomic_load_n(&ttcollect_mark_state, __ATOMIC_RELAXED) >= 0) ttcollect_mark_send('r', "");
}
static inline void ttcollect_stop(void) {
  if (__atomic_load_n(&ttcollect_mark_state, __ATOMIC_RELAXED) >= 0) ttcollect_mark_send('s', "");
}
static inline void ttcollect_step_begin(unsigned long number) {
  char text[64];
  if (__atomic_load_n(&ttcollect_mark_state, __ATOMIC_RELAXED) < 0) return;
  snprintf(text, sizeof text, "step_%lu_start", number);
  ttcollect_mark_send('b', text);
}
static inline void ttcollect_step_end(unsigned long number) {
  char text[64];
  if (__atomic_load_n(&ttcollect_mark_state, __ATOMIC_RELAXED) < 0) return;
  snprintf(text, sizeof text, "step_%lu_end", number);
  ttcollect_mark_send('e', text);
}

#endif
