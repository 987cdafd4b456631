-- Also run on databases that are appended to and were made before this table was.
CREATE TABLE IF NOT EXISTS op_names(
  capture INTEGER NOT NULL, chip INTEGER NOT NULL, host_id INTEGER NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(capture, chip, host_id)) WITHOUT ROWID;
