/* Reading what ttcollect collected: a live run or a capture, as tables of plain records. C99 and C++; link libttcollect.

     ttcollect_reader* reader;
     char why[512];
     if (ttcollect_open("run.ttc", NULL, &reader, why, sizeof why) != TTCOLLECT_OK) { puts(why); return 1; }
     ttcollect_batch batch = {.struct_bytes = sizeof batch};
     int status;
     while ((status = ttcollect_next(reader, 1000, &batch)) >= TTCOLLECT_OK && status != TTCOLLECT_END)
       for (size_t i = 0; i < batch.zone_count; ++i) puts(batch.names[batch.zones[i].name].name);
     ttcollect_close(reader);

   Errors are values: every function returns a status, ttcollect_error() the reason. No function aborts, throws or writes to a
   stream. Input may hold any bytes. A reader reads only: it cannot disturb the collector or other readers.

   Ownership: what a batch points to belongs to the reader and is valid until its next ttcollect_next() or ttcollect_close();
   the texts of `names` (not the array of them) are valid until ttcollect_close().
   Threads: a reader is used by one thread at a time; different readers are independent. A capture is unpacked ahead by threads of
   the library (ttcollect_options::threads).

   Versions: records keep their size and meaning within a SONAME. Tables, options and counts are added behind the others;
   struct_bytes is the size of the caller's struct (at most 4096). Files and segments of other versions are read by the rules of
   docs/format-versions.md, or refused by a sentence. While the SONAME is 0, a release may raise it.

   Units: `_ns` is CLOCK_MONOTONIC_RAW of the collector's host in nanoseconds, `cycles` the 64-bit device cycles of a tile's wall
   clock (44 bits of it), x and y NOC0 physical. A host time of 0 is not known (no clock model). */
#ifndef TTCOLLECT_READER_H
#define TTCOLLECT_READER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

enum ttcollect_status {
  TTCOLLECT_OK = 0,
  TTCOLLECT_IDLE = 1, /* nothing came in time; more may come */
  TTCOLLECT_END =
      2, /* all that the source holds was delivered, and nothing is missing in it. Later calls give the same.
                         That it begins after its run or ends before it (a snapshot, a file of a row) is a remark */
  /* Values below 0 are errors. */
  TTCOLLECT_LAPPED = -1, /* the collector overwrote unread chunks. The batch holds what came; continue */
  TTCOLLECT_INCOMPLETE =
      -2, /* the end of a source that is cut or damaged, or whose collector was killed; ttcollect_error() */
  TTCOLLECT_NO_SOURCE = -3, /* it cannot be opened */
  TTCOLLECT_USAGE = -4,     /* a null pointer, a value that is not allowed */
  TTCOLLECT_NO_MEMORY = -5,
  TTCOLLECT_FAILED = -6 /* anything else; ttcollect_error() */
};

/* The tables to deliver. A table that is not requested costs nothing. */
enum ttcollect_tables {
  TTCOLLECT_MARKERS = 1,
  TTCOLLECT_ZONES = 2,
  TTCOLLECT_OPS = 4,
  TTCOLLECT_HOST = 8, /* host zones, host messages and names of ops */
  TTCOLLECT_ALL_TABLES = 15
};

typedef struct ttcollect_options {
  size_t struct_bytes;
  uint32_t tables;   /* ttcollect_tables; losses, clocks, telemetry and sessions always come */
  uint32_t follow;   /* live: not 0: until the collector ends; 0: what is there now */
  uint32_t from_now; /* live: not 0: begin with what is collected from now on */
  uint32_t wait_ms;  /* live: for the source to appear */
  uint32_t
      host_times; /* 0: device cycles only, without the 0.3 to 1.6 s in which the clock model of a live run is settled */
  uint32_t threads; /* of a capture: that unpack ahead; at most 64 */
  uint32_t
      batch_rows; /* a batch is handed over when a table has as many rows; 0 and more than 2^24 are not allowed */
} ttcollect_options;

enum ttcollect_marker_type {
  TTCOLLECT_ZONE_START = 0,
  TTCOLLECT_ZONE_END = 1,
  TTCOLLECT_ZONE_TOTAL = 2, /* a sum of cycles in `data`; its time is that of the launch */
  TTCOLLECT_DATA = 3,
  TTCOLLECT_EVENT = 4,
  TTCOLLECT_DATA_16B = 5
};

/* What a bound rests on (collector/clock/CLOCK.md). */
enum ttcollect_bound_kind { TTCOLLECT_NO_BOUND = 0, TTCOLLECT_HARD = 1, TTCOLLECT_CONDITIONAL = 2 };

enum ttcollect_marker_flags {
  TTCOLLECT_GUARANTEED = 1, /* of the firmware's or the kernel's own zone */
  TTCOLLECT_REPAIRED = 8,   /* 2^32 was added to the time */
  TTCOLLECT_QUICK_PUSH = 16,
  TTCOLLECT_FINAL_TIME = 32 /* the host time will never be converted otherwise */
};

#define TTCOLLECT_UNBOUNDED UINT32_MAX
#define TTCOLLECT_OPEN_END UINT64_MAX
#define TTCOLLECT_UNKNOWN_KIND 255

typedef struct ttcollect_name {
  const char* name; /* "zone 0x1a2b" where the names' log does not have it */
  const char* file; /* empty: not known */
  uint32_t line;
  uint16_t zone_id; /* hash of the zone string, or number of the event */
  uint16_t reserved;
} ttcollect_name;

/* Markers of a lane (chip, x, y, risc) come in order of time within a launch, launches in the order in which they were read. */
typedef struct ttcollect_marker {
  uint64_t cycles;
  int64_t host_ns;
  uint64_t data[2];  /* of totals and data markers, else 0 */
  uint32_t bound_ns; /* host_ns is off by at most so much; TTCOLLECT_UNBOUNDED */
  uint32_t name;     /* index into ttcollect_batch::names */
  uint32_t host_id;  /* of the program; 0: none */
  uint32_t chip;     /* as numbered by the collector */
  uint32_t epoch;    /* host resets of the core so far */
  uint16_t replay;   /* of a trace, from 1; 0: none, or not known */
  uint16_t zone_id;
  uint8_t x, y;
  uint8_t risc;      /* of its core; ttcollect_processor() */
  uint8_t core_kind; /* 0 Tensix, 1 active Ethernet, 2 idle Ethernet */
  uint8_t type;      /* ttcollect_marker_type */
  uint8_t bound_kind;
  uint8_t flags;
  uint8_t reserved;
} ttcollect_marker;

/* A start and its end. Starts and ends without a partner are in no row; ttcollect_account counts them. */
typedef struct ttcollect_zone {
  uint64_t begin_cycles, end_cycles;
  int64_t begin_ns, end_ns;
  uint32_t bound_ns; /* the greater one of both ends */
  uint32_t name, host_id, chip, epoch;
  uint16_t replay, zone_id;
  uint8_t x, y, risc, core_kind;
  uint8_t bound_kind; /* of the weaker end */
  uint8_t depth;      /* 0: in no other zone; 255: so many or more */
  uint8_t aside;      /* 1: it overlaps another zone of its lane without being in it */
  uint8_t reserved;
} ttcollect_zone;

/* A program on all its cores. Parts that come too late for it are a row of their own. */
typedef struct ttcollect_op {
  int64_t begin_ns, end_ns;               /* of the firmware zones */
  int64_t kernel_begin_ns, kernel_end_ns; /* of the kernel zones; both 0: none */
  uint64_t core_mean_ns, core_most_ns;    /* first kernel start to last kernel end, over cores */
  uint32_t host_id, chip;
  uint32_t cores;
  uint32_t open; /* processors whose end did not come */
  uint16_t replay;
  uint8_t most_x, most_y;  /* the core of core_most_ns */
  uint8_t of_device_clock; /* 1: no clock model; times are device cycles at the nominal clock */
  uint8_t reserved[3];
} ttcollect_op;

/* How far durations of a program can be from the true ones, in ns; TTCOLLECT_UNBOUNDED. What both ends of a duration share, such as the
   offset to host time, is no part of it. */
typedef struct ttcollect_op_bounds {
  uint32_t ns;        /* of end_ns - begin_ns */
  uint32_t kernel_ns; /* of kernel_end_ns - kernel_begin_ns */
  uint32_t core_mean_ns, core_most_ns;
} ttcollect_op_bounds;

/* Markers of the lane with from_cycles < cycles < to_cycles may be missing; no others. A later row of the same id replaces it. */
typedef struct ttcollect_loss {
  uint64_t id;
  uint64_t from_cycles, to_cycles; /* TTCOLLECT_OPEN_END */
  int64_t from_ns, to_ns;          /* by the chip's clock model; 0: not known, or open */
  uint64_t words, launches;        /* by precision 0 and 1 */
  uint32_t chip, epoch;
  uint8_t x, y, risc;
  uint8_t cause;     /* ttcollect_loss_cause() */
  uint8_t precision; /* 0 exactly `words`, 1 at most `launches`, 2 unknown */
  uint8_t core_kind; /* as in markers; TTCOLLECT_UNKNOWN_KIND if no chunk of the core came before */
  uint8_t reserved[2];
} ttcollect_loss;

/* A final piece of a chip's clock model: straight, and off by at most bound_ns. */
typedef struct ttcollect_clock {
  uint64_t from_cycles, to_cycles;
  int64_t from_ns, to_ns;
  int64_t realtime_minus_raw_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC_RAW, as compared last */
  double mhz;
  uint32_t bound_ns, hard_bound_ns;
  uint32_t chip, era; /* era: resets of the counter so far */
  uint8_t kind;
  uint8_t domain; /* tiles that share a counter */
  uint8_t reserved[6];
} ttcollect_clock;

typedef struct ttcollect_telemetry {
  int64_t host_ns;
  uint32_t chip;
  uint32_t known; /* bit 0 aiclk, 1 power, 2 temperature */
  uint32_t aiclk_mhz, power_mw;
  int32_t temperature_mc; /* thousandths of a degree Celsius */
  uint32_t reserved;
} ttcollect_telemetry;

typedef struct ttcollect_session {
  uint64_t id;
  const char *device, *arch, *board, *layout;
  const char* environment; /* lines NAME=VALUE: collector, host, driver, workload, its variables */
  uint32_t chip, aiclk_mhz, compute_cores;
  uint32_t clock_model; /* 0: its collector made none */
} ttcollect_session;

/* What the workload's own side reported (Tracy zones, marks of `ttcollect run`). */
typedef struct ttcollect_host_zone {
  int64_t begin_ns, end_ns;
  const char *name, *file, *text; /* text: what the program attached; empty: nothing */
  uint64_t pid;
  uint32_t thread, line, bound_ns, depth;
} ttcollect_host_zone;

typedef struct ttcollect_host_message {
  int64_t at_ns;
  const char* text;
  uint64_t pid;
  uint32_t thread, bound_ns;
} ttcollect_host_message;

/* What the workload's host side called a program (the messages of tt-metal that describe device ops). A later row of the same chip and
   host_id replaces it. `name` is valid as long as the batch. */
typedef struct ttcollect_op_name {
  const char* name;
  uint32_t chip, host_id;
} ttcollect_op_name;

/* Only what came since the batch before, but for `names`, of which all so far are there. Set struct_bytes before the call. */
typedef struct ttcollect_batch {
  size_t struct_bytes;
  const ttcollect_name* names;
  size_t name_count;
  const ttcollect_marker* markers;
  size_t marker_count;
  const ttcollect_zone* zones;
  size_t zone_count;
  const ttcollect_op* ops;
  size_t op_count;
  const ttcollect_loss* losses;
  size_t loss_count;
  const ttcollect_clock* clocks;
  size_t clock_count;
  const ttcollect_telemetry* telemetry;
  size_t telemetry_count;
  const ttcollect_session* sessions;
  size_t session_count;
  const ttcollect_host_zone* host_zones;
  size_t host_zone_count;
  const ttcollect_host_message* host_messages;
  size_t host_message_count;
  const ttcollect_op_name* op_names;
  size_t op_name_count;
  const uint32_t*
      zone_bounds; /* row by row of `zones`: end_ns - begin_ns is off by at most so many ns; TTCOLLECT_UNBOUNDED */
  const ttcollect_op_bounds* op_bounds; /* row by row of `ops` */
} ttcollect_batch;

typedef struct ttcollect_account {
  size_t struct_bytes;
  uint64_t markers;        /* delivered, whether that table is requested or not */
  uint64_t unpaired;       /* starts and ends of zones without a partner */
  uint64_t lost_intervals; /* reported so far; at the end with those that were found missing */
  uint64_t missed_bytes;   /* of the ring: this reader was lapped */
  uint64_t without_bound;  /* markers whose host time has no bound */
  uint64_t unparsable_words;
} ttcollect_account;

typedef struct ttcollect_reader ttcollect_reader;

/* "0.1.0" of the library. */
const char* ttcollect_version(void);
/* A few words for a status, a loss's cause, a processor ("BRISC"). Never null, also for unknown numbers. */
const char* ttcollect_status_text(int status);
const char* ttcollect_loss_cause(unsigned cause);
const char* ttcollect_processor(unsigned core_kind, unsigned risc);

/* struct_bytes must be set; the rest becomes: all tables, follow, host times, one thread, 8192 rows. */
void ttcollect_options_init(ttcollect_options* options);

/* `from`: live:NAME, FILE.ttc, or a comma list of several. `options`: null for the defaults. On error *reader is null and `why`, if
   not null, holds one sentence. */
int ttcollect_open(const char* from, const ttcollect_options* options, ttcollect_reader** reader, char* why,
                   size_t why_bytes);

/* The next rows. Waits at most timeout_ms for a live source, and not longer than until something came. At every status that is
   not _USAGE the batch is valid, and empty where nothing came; END and INCOMPLETE may come with the last rows. */
int ttcollect_next(ttcollect_reader* reader, uint32_t timeout_ms, ttcollect_batch* batch);

/* Why the last ttcollect_next() gave an error; empty after success. Valid until the next call. */
const char* ttcollect_error(const ttcollect_reader* reader);
/* Sentences for people, once the end has come: what was lost or cut, choices that were made. Null behind the last one. */
const char* ttcollect_remark(const ttcollect_reader* reader, size_t index);
int ttcollect_get_account(const ttcollect_reader* reader, ttcollect_account* account);

/* Null is allowed. */
void ttcollect_close(ttcollect_reader* reader);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
