-- Version 2 of the schema (PRAGMA user_version); docs/fleet.md explains it. `_ns` is CLOCK_MONOTONIC_RAW of the rank's host; `common_` is
-- that of rank 0's host, null where the relation is not known; `common_bound_ns` is the device's bound and the clock's together. The true
-- lateness is within `late_bound_ns` of `late_ns`, and within `mean_late_bound_ns` of `mean_late_ns`; null: not known.
CREATE TABLE ranks(
  id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, job TEXT NOT NULL, host TEXT NOT NULL, rank INTEGER NOT NULL, name TEXT NOT NULL,
  rows INTEGER NOT NULL, missing INTEGER NOT NULL, declared_lost INTEGER NOT NULL);
CREATE TABLE ops(
  rank INTEGER NOT NULL, chip INTEGER NOT NULL, host_id INTEGER NOT NULL, op INTEGER NOT NULL, replay INTEGER, step INTEGER, begin_ns INTEGER NOT NULL, ns INTEGER NOT NULL,
  common_begin_ns INTEGER, common_bound_ns INTEGER, cores INTEGER, core_mean_ns INTEGER, core_most_ns INTEGER, most_x INTEGER,
  most_y INTEGER, open INTEGER, of_device_clock INTEGER NOT NULL);
CREATE TABLE losses(
  rank INTEGER NOT NULL, chip INTEGER, x INTEGER, y INTEGER, risc INTEGER, cause TEXT NOT NULL, rows_kind TEXT, from_ns INTEGER,
  to_ns INTEGER, count INTEGER, position INTEGER);
CREATE TABLE clocks(
  rank INTEGER NOT NULL, at_ns INTEGER NOT NULL, offset_ns INTEGER, bound_ns INTEGER, reference TEXT, how TEXT, chip INTEGER,
  device_bound_ns INTEGER, mhz INTEGER);
CREATE TABLE telemetry(
  rank INTEGER NOT NULL, chip INTEGER NOT NULL, at_ns INTEGER NOT NULL, aiclk_mhz INTEGER, power_mw INTEGER, temperature_mc INTEGER);
CREATE TABLE op_names(op INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE held_steps(
  number INTEGER NOT NULL, replay INTEGER, ns INTEGER NOT NULL, common_end_ns INTEGER, rank INTEGER NOT NULL, chip INTEGER NOT NULL,
  late_ns INTEGER NOT NULL, late_bound_ns INTEGER, op INTEGER NOT NULL, in_gap INTEGER NOT NULL, x INTEGER, y INTEGER, p_value REAL);
CREATE TABLE stragglers(
  rank INTEGER NOT NULL, chip INTEGER, steps INTEGER NOT NULL, late_steps INTEGER, mean_late_ns REAL NOT NULL, mean_late_bound_ns INTEGER,
  op TEXT NOT NULL, in_gaps INTEGER NOT NULL, x INTEGER, y INTEGER, p_value REAL NOT NULL);
CREATE VIEW op AS
  SELECT r.name AS rank_name, r.host, coalesce(n.name, 'op ' || o.host_id) AS op_name, o.*
  FROM ops o JOIN ranks r ON r.id = o.rank LEFT JOIN op_names n ON n.op = o.op;
CREATE VIEW held_step AS
  SELECT r.name AS rank_name, coalesce(n.name, 'op ' || h.op) AS op_name, h.*
  FROM held_steps h JOIN ranks r ON r.id = h.rank LEFT JOIN op_names n ON n.op = h.op;
CREATE VIEW slowest_ops AS SELECT * FROM op ORDER BY ns DESC;
CREATE VIEW rank_times AS
  SELECT rank_name, chip, count(*) AS ops, sum(ns) AS ns, avg(ns) AS mean_ns, max(ns) AS most_ns FROM op GROUP BY rank_name, chip;
