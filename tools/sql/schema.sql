-- Version 3 of the schema (PRAGMA user_version); docs/sqlite.md explains it. `_ns` is CLOCK_MONOTONIC_RAW of the host in
-- nanoseconds, null where it is not known; `cycles` the device's.
CREATE TABLE captures(
  id INTEGER PRIMARY KEY, source TEXT NOT NULL, host TEXT, rank INTEGER, whole INTEGER NOT NULL, markers INTEGER,
  unpaired INTEGER, without_bound INTEGER, remarks TEXT);
CREATE TABLE sessions(
  id INTEGER PRIMARY KEY, capture INTEGER NOT NULL REFERENCES captures, session TEXT NOT NULL, chip INTEGER NOT NULL,
  device TEXT, arch TEXT, board TEXT, layout TEXT, aiclk_mhz INTEGER, compute_cores INTEGER, clock_model INTEGER,
  environment TEXT);
CREATE TABLE names(id INTEGER PRIMARY KEY, name TEXT NOT NULL, file TEXT, line INTEGER, zone_id INTEGER NOT NULL);
CREATE TABLE lanes(
  id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions, x INTEGER NOT NULL, y INTEGER NOT NULL,
  risc INTEGER NOT NULL, processor TEXT NOT NULL, core_kind INTEGER NOT NULL);
CREATE TABLE zones(
  lane INTEGER NOT NULL, name INTEGER NOT NULL, host_id INTEGER, replay INTEGER, depth INTEGER,
  begin_cycles INTEGER NOT NULL, cycles INTEGER NOT NULL, begin_ns INTEGER, ns INTEGER, bound_ns INTEGER, kind INTEGER,
  duration_bound_ns INTEGER);
CREATE TABLE markers(
  lane INTEGER NOT NULL, name INTEGER NOT NULL, type INTEGER NOT NULL, host_id INTEGER, replay INTEGER,
  cycles INTEGER NOT NULL, at_ns INTEGER, bound_ns INTEGER, kind INTEGER, data INTEGER, data2 INTEGER);
CREATE TABLE ops(
  id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions, host_id INTEGER NOT NULL, replay INTEGER,
  begin_ns INTEGER NOT NULL, ns INTEGER NOT NULL, kernel_begin_ns INTEGER, kernel_ns INTEGER, cores INTEGER NOT NULL,
  core_mean_ns INTEGER, core_most_ns INTEGER, most_x INTEGER, most_y INTEGER, open INTEGER NOT NULL,
  of_device_clock INTEGER NOT NULL, duration_bound_ns INTEGER, kernel_bound_ns INTEGER, core_mean_bound_ns INTEGER,
  core_most_bound_ns INTEGER, gap_from_ns INTEGER, gap_bound_ns INTEGER);
CREATE TABLE losses(
  session INTEGER NOT NULL, id INTEGER NOT NULL, x INTEGER, y INTEGER, processor TEXT, cause TEXT NOT NULL,
  precision TEXT NOT NULL, from_cycles INTEGER, to_cycles INTEGER, from_ns INTEGER, to_ns INTEGER, words INTEGER,
  launches INTEGER, PRIMARY KEY(session, id)) WITHOUT ROWID;
CREATE TABLE clock(
  session INTEGER NOT NULL, domain INTEGER, era INTEGER, from_cycles INTEGER, to_cycles INTEGER, from_ns INTEGER,
  to_ns INTEGER, mhz REAL, bound_ns INTEGER, hard_bound_ns INTEGER, kind INTEGER, realtime_minus_raw_ns INTEGER);
CREATE TABLE telemetry(
  session INTEGER NOT NULL, at_ns INTEGER NOT NULL, aiclk_mhz INTEGER, power_mw INTEGER, temperature_mc INTEGER);
CREATE TABLE host_zones(
  capture INTEGER NOT NULL, pid INTEGER, thread INTEGER, depth INTEGER, name TEXT, file TEXT, line INTEGER, text TEXT,
  begin_ns INTEGER NOT NULL, ns INTEGER NOT NULL, bound_ns INTEGER);
CREATE TABLE host_messages(
  capture INTEGER NOT NULL, pid INTEGER, thread INTEGER, at_ns INTEGER NOT NULL, bound_ns INTEGER, text TEXT);

CREATE VIEW zone AS
  SELECT c.host, c.rank, s.chip, l.x, l.y, l.processor, n.name, n.file, n.line, z.host_id, z.replay, z.depth,
         z.begin_cycles, z.cycles, z.begin_ns, z.ns, z.bound_ns, z.duration_bound_ns,
         CASE z.kind WHEN 1 THEN 'hard' WHEN 2 THEN 'conditional' END AS bound_kind
  FROM zones z JOIN lanes l ON l.id = z.lane JOIN sessions s ON s.id = l.session JOIN captures c ON c.id = s.capture
  JOIN names n ON n.id = z.name;
CREATE VIEW op AS
  SELECT c.host, c.rank, s.chip, n.name, o.* FROM ops o JOIN sessions s ON s.id = o.session JOIN captures c ON c.id = s.capture
  LEFT JOIN op_names n ON n.capture = s.capture AND n.chip = s.chip AND n.host_id = o.host_id;
CREATE VIEW top_zones AS
  SELECT n.name, l.processor, count(*) AS zones, sum(z.cycles) AS cycles, avg(z.cycles) AS mean_cycles,
         max(z.cycles) AS most_cycles, sum(z.ns) AS ns,
         CASE count(*) WHEN count(z.duration_bound_ns) THEN sum(z.duration_bound_ns) END AS bound_ns, n.file, n.line
  FROM zones z JOIN lanes l ON l.id = z.lane JOIN names n ON n.id = z.name
  GROUP BY n.name, n.file, n.line, l.processor ORDER BY cycles DESC;
CREATE VIEW top_kernels AS SELECT * FROM top_zones WHERE name LIKE '%-KERNEL';
CREATE VIEW top_ops AS
  WITH sums AS (
    SELECT host, rank, chip, name, count(*) AS ops, sum(ns) AS ns, avg(ns) AS mean_ns, max(ns) AS most_ns,
           CASE count(*) WHEN count(duration_bound_ns) THEN sum(duration_bound_ns) END AS bound_ns
    FROM op GROUP BY host, rank, chip, name)
  SELECT *, ns + bound_ns >= lag(ns - bound_ns) OVER (ORDER BY ns DESC) AS shares_rank FROM sums ORDER BY ns DESC;
CREATE VIEW slowest_ops AS
  SELECT *, ns + duration_bound_ns >= lag(ns - duration_bound_ns) OVER (ORDER BY ns DESC) AS shares_rank
  FROM op ORDER BY ns DESC;
-- Rows are written as programs become complete: where one that was written later ended last before a program, its bound is of another gap and is left out.
CREATE VIEW gaps AS
  WITH ends AS (
    SELECT *, max(begin_ns + ns) OVER (PARTITION BY session ORDER BY begin_ns, id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
    FROM op),
  gap AS (
    SELECT host, rank, chip, host_id, begin_ns, begin_ns - before_ns AS gap_ns,
           CASE gap_from_ns WHEN before_ns THEN gap_bound_ns END AS bound_ns
    FROM ends)
  SELECT *, gap_ns + bound_ns >= lag(gap_ns - bound_ns) OVER (ORDER BY gap_ns DESC) AS shares_rank FROM gap ORDER BY gap_ns DESC;
CREATE VIEW imbalance AS
  SELECT host, rank, chip, host_id, begin_ns, cores, core_mean_ns, core_most_ns, most_x, most_y,
         round(100.0 * core_most_ns / core_mean_ns - 100, 1) AS percent,
         core_most_bound_ns + core_mean_bound_ns AS difference_bound_ns,
         core_most_ns - core_mean_ns <= core_most_bound_ns + core_mean_bound_ns AS within_bound
  FROM op WHERE core_mean_ns > 0 ORDER BY percent DESC;
CREATE VIEW steps AS
  WITH mark AS (SELECT capture, pid, at_ns, substr(text, instr(text, 'step_') + 5) AS rest FROM host_messages
                WHERE text LIKE '%TT\_SIGNPOST: step\_%' ESCAPE '\'),
  edge AS (SELECT capture, pid, at_ns, CAST(rest AS INTEGER) AS step, rest LIKE '%\_start%' ESCAPE '\' AS begins FROM mark),
  step AS (SELECT b.capture, b.pid, b.step, b.at_ns AS begin_ns,
             (SELECT min(e.at_ns) FROM edge e WHERE e.capture = b.capture AND e.pid = b.pid AND e.step = b.step AND NOT e.begins
              AND e.at_ns >= b.at_ns) AS end_ns FROM edge b WHERE b.begins)
  SELECT c.host, c.rank, t.pid, t.step, t.begin_ns, t.end_ns - t.begin_ns AS ns,
         (SELECT count(*) FROM ops o JOIN sessions s ON s.id = o.session
          WHERE s.capture = t.capture AND NOT o.of_device_clock AND o.begin_ns >= t.begin_ns AND o.begin_ns < t.end_ns) AS ops,
         (SELECT sum(o.ns) FROM ops o JOIN sessions s ON s.id = o.session
          WHERE s.capture = t.capture AND NOT o.of_device_clock AND o.begin_ns >= t.begin_ns AND o.begin_ns < t.end_ns) AS op_ns
  FROM step t JOIN captures c ON c.id = t.capture ORDER BY t.begin_ns;
