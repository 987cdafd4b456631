/* The recycle protocol (collector/recycle/RECYCLE.md) as a model for spin: two lanes, three runs that cross.
 *
 *   core       finish, lane by lane: H1, H3 (through a cache line that may be stale), index stored, frame posted;
 *              RUN_COUNTER and DONE as the firmware has them; with QUICK a push of lane 0 in the middle of run 2
 *   landing    every posted frame reaches the log at a time of its own
 *   collector  snapshot, two stores that land one by one, settle, grace, resolve, and reading on at the end; where nothing fits, the
 *              place of each lane is looked for, and reading continues from there
 *   host       with RESET: rewrites the vector, word by word, at any one moment between two runs
 *
 * A frame is one word long and holds the number of its k; runs 1 to OLD were read before. Checked: no frame is taken
 * twice, none is missing unless something was reported, nothing is written outside of a lane; and where the place was found again,
 * none is missing of the runs that began later.
 *
 * -DRESET, -DQUICK, -DSTALE: as above. -DLAPPED: one run was read before, so that the new lap runs over the old place.
 * -DNO_RESOLVER, -DNO_GRACE, -DNO_FRONT (a lost write although the front shows the new lap): a rule taken away; spin must find the
 * error.
 */
#define CAP 9
#ifdef LAPPED
#define OLD 1
#else
#define OLD 4                 /* frames in each lane, all read, when it begins */
#endif
#ifndef CROSSING
#define CROSSING 3
#endif
#define LAST (OLD + CROSSING)                /* number of the last run */
#define AT(r, i) log[(r) * CAP + (i)]
#define PUSHED 8              /* in place of a run's number: a frame without its end, which a quick push leaves */
#define NEW(r, i, last) (AT(r, i) > last && AT(r, i) != PUSHED)

byte log[18];                 /* as it is in DRAM */
byte index[2] = OLD;
byte runs = OLD;              /* RUN_COUNTER */
bool done_word = 1;           /* PROFILER_DONE */
byte cache[2];                /* what the core may act on */
bool cached;
byte posted_at[16];           /* by lane and run: place + 1 of a frame under way; 0: none */
byte under_way;
bool core_over, in_run, host_wrote, reported;
byte taken[16];               /* by lane and run: how often it was delivered */
byte found_at = LAST;         /* the place was found again behind this run */

#ifdef LAPPED                 /* words are taken as they were read, whatever lands on them later */
#define AT_ONCE_BEGIN atomic {
#define AT_ONCE_END };
#else
#define AT_ONCE_BEGIN
#define AT_ONCE_END
#endif
#ifdef NO_FRONT
#define LAP_IS_NOT_HERE(r) best != 2
#else
#define LAP_IS_NOT_HERE(r) !NEW(r, 0, newest[r])
#endif
#define LANDED(s) (posted_at[s] == 0 || waiting[s] != posted_at[s])
#define SLOT(r, k) ((r) * 8 + (k))
#ifdef LAPPED
#define ALL_LANDED LANDED(0) && LANDED(2) && LANDED(3) && LANDED(4) && LANDED(10) && LANDED(11) && LANDED(12)
#else
#define ALL_LANDED LANDED(0) && LANDED(5) && LANDED(6) && LANDED(7) && LANDED(13) && LANDED(14) && LANDED(15)
#endif

inline load_index(r, to) {
#ifdef STALE
  atomic {
    if
    :: !cached -> cache[0] = index[0]; cache[1] = index[1]; cached = 1
    :: else -> skip
    fi;
    to = cache[r]
  }
#else
  to = index[r]
#endif
}
inline store_index(r, value) { atomic { index[r] = value; cache[r] = value } }
inline post(r, k, place) {
  atomic { assert(place < CAP); posted_at[SLOT(r, k)] = place + 1; under_way++ }
}

inline finish(r) {
  load_index(r, all);                     /* H1 */
  load_index(r, at);                      /* H3 */
#ifdef LAPPED                             /* a frame is under way within the grace time of its index: as landing, it is assumed */
  atomic { index[r] = all + 1; cache[r] = all + 1; assert(at < CAP); posted_at[SLOT(r, k)] = at + 1; under_way++ }
#else
  store_index(r, all + 1);                /* S: before the data */
  post(r, k, at)
#endif
}

proctype core() {
  byte k = OLD + 1, all, at;
  do
  :: k <= LAST ->
     atomic {
       in_run = 1; done_word = 0;
#ifdef STALE
       if :: cached = 0 :: skip fi        /* mostly the core's cache line is reloaded, sometimes not */
#endif
     }
#ifdef QUICK
     if
     :: k == OLD + 2 ->                   /* offset, then room and value, data before the index */
        load_index(0, at); load_index(0, all);
        if
        :: all + 1 <= CAP -> post(0, 0, at); store_index(0, all + 1)
        :: else -> skip
        fi
     :: else -> skip
     fi;
#endif
     finish(0);
     finish(1);
     runs = runs + 1;
     atomic { done_word = 1; in_run = 0; k++ }
  :: else -> break
  od;
  core_over = 1
}

#define LAND(s) atomic { posted_at[s] != 0 -> AT(s / 8, posted_at[s] - 1) = (s -> s % 8 : PUSHED); posted_at[s] = 0; under_way-- }
active proctype landing() {
end:
  do
  :: LAND(0)
#ifdef LAPPED
  :: LAND(2)
  :: LAND(3)
  :: LAND(4)
  :: LAND(10)
  :: LAND(11)
  :: LAND(12)
#else
  :: LAND(5)
  :: LAND(6)
  :: LAND(7)
  :: LAND(13)
  :: LAND(14)
  :: LAND(15)
#endif
  od
}

#ifdef RESET
proctype host() {
  if
  :: atomic { !in_run && !host_wrote -> host_wrote = 1 };
     index[1] = 0; runs = 0; index[0] = 0; cached = 0
  :: skip
  fi
}
#endif

proctype collector() {
  byte s_least, s_most, t_before, t_after, first, r, i, n, old, fits, best, h, last, place, tries, again_tries, old_end;
  byte s_index[2], t_index[2], pos[2] = OLD, newest[2] = OLD;
  bool settled, due, torn, ok, pushed, prov[2];
  byte waiting[16];

  /* ARM: settled, or any moment */
  s_least = runs; s_index[0] = index[0]; s_index[1] = index[1]; settled = done_word; s_most = runs;
  if
  :: s_most == s_least && settled -> skip
  :: else -> s_most = s_most + 1
  fi;
  /* CLEAR: the words land one by one */
  index[0] = 0;
  index[1] = 0;

again:
  /* SETTLE */
  first = runs;
  do
  :: t_before = runs; t_index[0] = index[0]; t_index[1] = index[1]; settled = done_word; t_after = runs;
     if
     :: t_after < t_before || t_before < s_least -> goto rewound
     :: else -> skip
     fi;
     if
     :: t_before == t_after && settled -> break
     :: t_before > first -> t_after = t_after + 1; break
     :: else -> skip
     fi
  od;
  /* GRACE: what was posted by then has landed */
  skip;
#ifndef NO_GRACE
  d_step {
    i = 0;
    do :: i < 16 -> waiting[i] = posted_at[i]; i++ :: else -> break od;
    i = 0
  }
  ALL_LANDED;
  d_step {
    do :: i < 16 -> waiting[i] = 0; i++ :: else -> break od;
    i = 0
  }
#endif

resolve:
  /* RESOLVE, lane by lane; `fits` counts readings that hold */
  r = 0;
  do
  :: r < 2 ->
     h = t_index[r]; fits = 0;
     if :: runs < t_before -> goto rewound :: else -> skip fi;
     if :: index[r] < h -> goto rewound :: else -> skip fi;
#ifdef STALE
     /* back at the old place since: the core acted on a cached index */
     if :: h < pos[r] && index[r] > s_index[r] -> again_tries++; if :: again_tries > 3 -> goto surprise :: else -> goto again fi
        :: else -> skip fi;
#endif
     /* new frames at the old place: old = how many */
     AT_ONCE_BEGIN
     d_step {
       old = 0; last = newest[r];
       do
       :: pos[r] + old < CAP && NEW(r, pos[r] + old, last) -> last = AT(r, pos[r] + old); old++
       :: else -> break
       od;
       pushed = (pos[r] + old < CAP && AT(r, pos[r] + old) == PUSHED);
       n = 0;
       if
       :: h == 0 -> n = old; best = 1
       :: h > 0 ->
          /* front: exactly to h, later than the old place's */
          i = 0; place = last;
          do
          :: i < h && i < CAP && NEW(r, i, place) -> place = AT(r, i); i++
          :: else -> break
          od;
          ok = (i == h);
          best = 0;
          if :: ok -> n = old + h; best = 2 :: else -> skip fi;
          /* the lap begins at the old place itself: then with a frame for every run that may have ended */
          if
          :: !ok && h > pos[r] ->
             i = 0; place = newest[r];
             do
             :: i < h && i < CAP && NEW(r, i, place) -> place = AT(r, i); i++
             :: else -> break
             od;
             if :: i == h && OLD + h == t_after -> old = 0; n = h; best = 2 :: else -> skip fi
          :: else -> skip
          fi;
          /* lost write: exactly from pos to h */
          i = pos[r]; place = newest[r];
          do
          :: i < h && i < CAP && NEW(r, i, place) -> place = AT(r, i); i++
          :: else -> break
          od;
          if
          :: i == h && h > s_index[r] && LAP_IS_NOT_HERE(r) -> n = h - pos[r]; best = 3
          :: else -> skip          /* or the lap's own frames are there */
          fi;
          /* torn: one at the front, a hole of its length */
          torn = (best == 0 && h > pos[r] + old && NEW(r, 0, last) && (pos[r] == 1 || !NEW(r, 1, AT(r, 0))));
          if
          :: torn ->
             i = pos[r] + old + 1; place = AT(r, 0);
             do
             :: i < h && i < CAP && NEW(r, i, place) -> place = AT(r, i); i++
             :: else -> break
             od;
             if :: i == h -> n = h - pos[r]; best = 4 :: else -> skip fi
          :: else -> skip
          fi
       fi;
#ifdef NO_RESOLVER
       best = 1; n = 0; old = 0; ok = 1;
#else
       ok = (!pushed && best >= 1 && best <= 4 && OLD + n >= t_before && OLD + n <= t_after);
#endif
       i = 0; place = 0; last = 0; torn = 0; fits = 0; pushed = 0
     }
     /* the new lap has reached what was still to be read */
     if :: h < pos[r] && index[r] > pos[r] -> goto surprise :: else -> skip fi;
     if
     :: !ok && tries == 0 ->
        tries = 1;                          /* late: once more when all has landed */
        under_way == 0 && !in_run;
        goto resolve_wait
     :: !ok -> goto surprise
     :: ok -> skip
     fi;
     /* taken; the place where reading continues */
     d_step {
       i = 0;
       if
       :: best == 3 || best == 4 ->
          do
          :: pos[r] + i < h ->
             place = AT(r, pos[r] + i);
             if :: best == 4 && i == old -> place = AT(r, 0) :: else -> skip fi;
             taken[SLOT(r, place)]++; newest[r] = place; i++
          :: else -> break
          od;
          pos[r] = h
       :: else ->
          do
          :: i < old -> taken[SLOT(r, AT(r, pos[r] + i))]++; newest[r] = AT(r, pos[r] + i); i++
          :: else -> break
          od;
          i = 0;
          do
          :: best == 2 && i < h -> taken[SLOT(r, AT(r, i))]++; newest[r] = AT(r, i); i++
          :: else -> break
          od;
          old_end = pos[r] + old;
          pos[r] = (best == 2 -> h : 0);
#ifdef STALE
          if :: best == 1 -> pos[r] = old_end; prov[r] = 1 :: else -> skip fi
#endif
       fi;
       i = 0; place = 0; n = 0; old = 0; best = 0; old_end = 0
     }
     AT_ONCE_END
     r++
  :: else -> break
  od;

  /* OBSERVE until the end; a provisional lane is read in both places */
  core_over && under_way == 0;
#ifdef RESET
  if :: host_wrote -> reported = 1; goto over :: else -> skip fi;
#endif
  d_step {
    r = 0;
    do
    :: r < 2 ->
       h = index[r]; last = newest[r]; i = pos[r];
#ifdef STALE
       /* provisional: both places, by the same table; all has landed and nothing runs any more */
       if
       :: prov[r] ->
          do
          :: i < CAP && NEW(r, i, last) && (h == 0 || h <= pos[r] || i < h) ->
             last = AT(r, i); taken[SLOT(r, last)]++; i++
          :: else -> break
          od;
          if
          :: h <= pos[r] -> i = 0                                /* front, or after and front */
          :: h > pos[r] && i < h && NEW(r, 0, last) ->           /* torn: the hole is as long as the frame */
             last = AT(r, 0); taken[SLOT(r, last)]++; i++
          :: else -> skip
          fi
       :: else -> skip
       fi;
#endif
       do
       :: i < h && i < CAP ->
          if
          :: NEW(r, i, last) -> last = AT(r, i); taken[SLOT(r, last)]++
          :: else -> skip
          fi;
          i++
       :: else -> break
       od;
       if :: last < LAST -> reported = 1 :: else -> skip fi;    /* frames minus runs is no constant */
       r++
    :: else -> break
    od;
    r = 0; i = 0
  }
  goto over;

resolve_wait:
  r = 0;
  goto restart;
restart:
  /* nothing may have been taken of this resolve: lanes are taken together */
  if
  :: taken[SLOT(0, OLD + 1)] + taken[SLOT(0, OLD + 2)] + taken[SLOT(0, OLD + 3)] + taken[SLOT(1, OLD + 1)] +
     taken[SLOT(1, OLD + 2)] + taken[SLOT(1, OLD + 3)] == 0 -> goto resolve
  :: else -> goto surprise
  fi;

rewound:
  reported = 1;
  goto over;
surprise:
  reported = 1;
#ifndef RESET
  /* FIND: no run is at its end, and what the indices announce has landed */
  do
  :: t_before = runs; t_index[0] = index[0]; t_index[1] = index[1]; settled = done_word; t_after = runs;
     if
     :: t_before == t_after && settled -> break
     :: else -> skip
     fi
  od;
  skip;
  d_step {
    i = 0;
    do :: i < 16 -> waiting[i] = posted_at[i]; i++ :: else -> break od;
    i = 0
  }
  ALL_LANDED;
  d_step {
    r = 0; ok = 1;
    do
    :: r < 2 ->
       h = t_index[r];
       /* from word s on, frames each newer than the one before end at the index */
       place = 0; fits = 0;
       do
       :: place < h && !fits ->
          i = place; last = 0; torn = 0;
          do
          :: i < h && AT(r, i) > last && AT(r, i) != PUSHED -> last = AT(r, i); i++
          :: else -> break
          od;
          /* the newest of the lap is the last */
          n = 0;
          do
          :: n < place -> if :: AT(r, n) > last || AT(r, n) == PUSHED -> torn = 1 :: else -> skip fi; n++
          :: else -> break
          od;
          if
          :: i == h && !torn && last >= newest[r] -> fits = 1
          :: else -> place++
          fi
       :: else -> break
       od;
       if :: h > 0 && !fits -> ok = 0 :: else -> skip fi;
       if
       :: ok ->
          i = place;
          do
          :: i < h -> if :: AT(r, i) > newest[r] -> taken[SLOT(r, AT(r, i))]++; newest[r] = AT(r, i) :: else -> skip fi; i++
          :: else -> break
          od;
          pos[r] = h
       :: else -> skip
       fi;
       r++
    :: else -> break
    od;
    if :: ok -> found_at = t_before :: else -> skip fi;
    i = 0; r = 0; n = 0; place = 0; last = 0; torn = 0; fits = 0
  }
  /* OBSERVE until the end */
  if :: !ok -> goto over :: else -> skip fi;
  core_over && under_way == 0;
  d_step {
    do
    :: r < 2 ->
       i = pos[r];
       do
       :: i < index[r] && i < CAP ->
          if :: NEW(r, i, newest[r]) -> newest[r] = AT(r, i); taken[SLOT(r, newest[r])]++ :: else -> skip fi;
          i++
       :: else -> break
       od;
       r++
    :: else -> break
    od;
    r = 0; i = 0
  }
#endif
over:
  skip
}

init {
  byte r, i;
  d_step { do :: r < OLD -> AT(0, r) = r + 1; AT(1, r) = r + 1; r++ :: else -> break od; r = 0 }
  run core();
#ifdef RESET
  run host();
#endif
  run collector();
  (_nr_pr == 2);                            /* init and landing are left */
  r = 0;
  do
  :: r < 2 ->
     i = OLD + 1;
     do
     :: i <= LAST ->
        assert(taken[SLOT(r, i)] <= 1);
        assert(taken[SLOT(r, i)] == 1 || reported);
        assert(taken[SLOT(r, i)] == 1 || i <= found_at);
        i++
     :: else -> break
     od;
     r++
  :: else -> break
  od
}
