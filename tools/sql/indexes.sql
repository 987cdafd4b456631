CREATE INDEX IF NOT EXISTS zones_by_name ON zones(name);
CREATE INDEX IF NOT EXISTS ops_by_begin ON ops(session, begin_ns);
CREATE INDEX IF NOT EXISTS markers_by_name ON markers(name);
CREATE INDEX IF NOT EXISTS host_zones_by_begin ON host_zones(begin_ns);
