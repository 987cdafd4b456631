/* The zones of a capture that took longest in all, in C: top_zones FILE.ttc */
#include <stdio.h>
#include <stdlib.h>
#include <ttcollect/reader.h>

struct sum {
  unsigned long long cycles, count;
  const char* name;
};

static int by_cycles(const void* a, const void* b) {
  const struct sum *x = a, *y = b;
  return x->cycles < y->cycles ? 1 : x->cycles > y->cycles ? -1 : 0;
}

int main(int argc, char** argv) {
  ttcollect_reader* reader;
  ttcollect_options options = {.struct_bytes = sizeof options};
  ttcollect_batch batch = {.struct_bytes = sizeof batch};
  struct sum* sums = NULL;
  size_t known = 0, i;
  char why[512];
  int status;

  if (argc != 2) return fprintf(stderr, "usage: %s FILE.ttc\n", argv[0]), 2;
  ttcollect_options_init(&options);
  options.tables = TTCOLLECT_ZONES;
  status = ttcollect_open(argv[1], &options, &reader, why, sizeof why);
  if (status != TTCOLLECT_OK) return fprintf(stderr, "%s\n", why), 1;

  do {
    status = ttcollect_next(reader, 1000, &batch);
    if (batch.name_count > known) {
      sums = realloc(sums, batch.name_count * sizeof *sums);
      if (!sums) return 1;
      for (; known < batch.name_count; ++known) sums[known] = (struct sum){0, 0, batch.names[known].name};
    }
    for (i = 0; i < batch.zone_count; ++i) {
      struct sum* s = &sums[batch.zones[i].name];
      s->cycles += batch.zones[i].end_cycles - batch.zones[i].begin_cycles;
      ++s->count;
    }
  } while (status == TTCOLLECT_OK || status == TTCOLLECT_IDLE);

  if (known) qsort(sums, known, sizeof *sums, by_cycles);
  printf("%16s %12s  zone\n", "cycles", "count");
  for (i = 0; i < known && i < 20; ++i)
    if (sums[i].count) printf("%16llu %12llu  %s\n", sums[i].cycles, sums[i].count, sums[i].name);
  if (status != TTCOLLECT_END)
    fprintf(stderr, "%s: %s\n", ttcollect_status_text(status), ttcollect_error(reader));
  ttcollect_close(reader);
  free(sums);
  return status == TTCOLLECT_END ? 0 : 1;
}
