"""Runs and captures as numpy arrays and pandas frames."""
from __future__ import annotations

import ctypes
import mmap
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from . import _library as lib

if TYPE_CHECKING:
    import pandas

DTYPES = {table: np.dtype(fields) for table, fields in lib.ROWS.items()}
for _table, _bytes in lib.SIZES.items():
    if DTYPES[_table].itemsize != _bytes:
        raise ImportError(f"ttcollect: a row of {_table} has {DTYPES[_table].itemsize} bytes here and {_bytes} in reader.h")

_BOUND_DTYPES = {bounds: np.dtype(fields) for bounds, (_, fields) in lib.BOUNDS.items()}
UNBOUNDED = 0xFFFFFFFF
OPEN_END = 0xFFFFFFFFFFFFFFFF
UNKNOWN_KIND = 255
# Fields in which 0 is "not known".
_TIMES = {"markers": ("host_ns",), "zones": ("begin_ns", "end_ns"), "losses": ("from_ns", "to_ns"), "telemetry": ("host_ns",),
          "ops": ("begin_ns", "end_ns", "kernel_begin_ns", "kernel_end_ns", "core_mean_ns", "core_most_ns")}
_BOUND_KINDS = np.array(["", "hard", "conditional"], dtype=object)
_MARKER_TYPES = np.array(["ZONE_START", "ZONE_END", "ZONE_TOTAL", "TS_DATA", "TS_EVENT", "TS_DATA_16B"], dtype=object)
_PRECISIONS = np.array(["exact words", "bounded launches", "unknown"], dtype=object)
_BITS = {"markers": lib.MARKERS, "zones": lib.ZONES, "ops": lib.OPS, "host": lib.HOST}


class Error(RuntimeError):
    """A source that cannot be opened or read; one sentence. `status` is that of ttcollect/reader.h."""

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = status


class Tables:
    """Rows of a run, or of a part of it.

    markers, zones, ops, losses, clocks, telemetry: numpy structured arrays with the fields of ttcollect/reader.h. Times `_ns` are
    nanoseconds of the host's CLOCK_MONOTONIC_RAW (0: not known), `cycles` those of the device, bounds nanoseconds (UNBOUNDED: none).
    zone_bounds: row by row of `zones`, how far end_ns - begin_ns can be from the true duration, in nanoseconds (UNBOUNDED: not known). op_bounds: row
    by row of `ops` the same: ns of end_ns - begin_ns, kernel_ns of kernel_end_ns - kernel_begin_ns, core_mean_ns, core_most_ns. What both ends
    of a duration share, such as the offset to host time, is no part of them.
    names: texts by the number in the field `name`. op_names: what the workload's host side called programs, by (chip, host_id), all so
    far. sessions, host_zones, host_messages: lists of dicts.
    """

    def __init__(self) -> None:
        for table in DTYPES:
            setattr(self, table, np.empty(0, DTYPES[table]))
        for bounds, dtype in _BOUND_DTYPES.items():
            setattr(self, bounds, np.empty(0, dtype))
        self.names: List[str] = []
        self.op_names: Dict[Tuple[int, int], str] = {}
        self.sessions: List[Dict[str, Any]] = []
        self.host_zones: List[Dict[str, Any]] = []
        self.host_messages: List[Dict[str, Any]] = []

    markers: np.ndarray
    zones: np.ndarray
    ops: np.ndarray
    losses: np.ndarray
    clocks: np.ndarray
    telemetry: np.ndarray
    zone_bounds: np.ndarray
    op_bounds: np.ndarray

    def frame(self, table: str) -> "pandas.DataFrame":
        """A pandas frame of a table. Names, processors and kinds are words; what is not known is NaN or pd.NA; bounds and losses are columns.

        In `zones`, `cycles` (device) and `ns` (host) are durations; `duration_bound_ns` is how far `ns` can be from the true one, in nanoseconds (NaN: not
        known), in `ops` also `kernel_bound_ns`, `core_mean_bound_ns` and `core_most_bound_ns`. In `ops`, `ns` is the duration of the firmware zones, and `name` the program's
        name from the workload's host side (None: no name). Losses are the parts of a lane that may lack markers: (from_ns,
        to_ns) in nanoseconds, from_cycles and to_cycles in device cycles.
        """
        import pandas as pd
        if table in ("sessions", "host_zones", "host_messages"):
            return pd.DataFrame(getattr(self, table))
        rows = getattr(self, table)
        frame = pd.DataFrame({field: rows[field] for field in rows.dtype.names if field not in ("reserved", "data")})
        for field in _TIMES.get(table, ()):
            frame[field] = pd.arrays.IntegerArray(rows[field].copy(), rows[field] == 0)
        if table == "telemetry":
            for bit, field in enumerate(("aiclk_mhz", "power_mw", "temperature_mc")):
                frame[field] = pd.arrays.IntegerArray(rows[field].copy(), rows["known"] >> bit & 1 == 0)
        if table == "markers":
            frame["data"], frame["data2"] = rows["data"][:, 0], rows["data"][:, 1]
            frame["type"] = _MARKER_TYPES[np.minimum(rows["type"], 5)]
        if table in ("markers", "zones"):
            frame["name"] = pd.Categorical.from_codes(*self._codes(rows["name"]))
        if table == "zones":
            frame["cycles"] = rows["end_cycles"] - rows["begin_cycles"]
            known = (rows["begin_ns"] != 0) & (rows["end_ns"] != 0)
            frame["ns"] = np.where(known, rows["end_ns"] - rows["begin_ns"], np.nan)
            frame["duration_bound_ns"] = _bounds(self.zone_bounds)
        if table == "ops":
            frame["ns"] = rows["end_ns"] - rows["begin_ns"]
            for field in self.op_bounds.dtype.names:
                frame["duration_bound_ns" if field == "ns" else field[:-2] + "bound_ns"] = _bounds(self.op_bounds[field])
            frame["name"] = _words(rows["chip"].astype("u8") << 32 | rows["host_id"],
                                   lambda key: self.op_names.get((key >> 32, key & 0xFFFFFFFF)))
        if "risc" in rows.dtype.names:
            frame["processor"] = _words(rows["core_kind"].astype("u4") << 8 | rows["risc"], lambda key: None if key >> 8 == UNKNOWN_KIND
                                        else _text(lib.loaded().ttcollect_processor(key >> 8, key & 255)))
        for bound in ("bound_ns", "hard_bound_ns"):
            if bound in frame:
                frame[bound] = _bounds(rows[bound])
        for kind in ("bound_kind", "kind"):
            if kind in frame:
                frame[kind] = _BOUND_KINDS[np.minimum(rows[kind], 2)]
        if table == "losses":
            frame["cause"] = _words(rows["cause"], lambda key: _text(lib.loaded().ttcollect_loss_cause(key)))
            frame["precision"] = _PRECISIONS[np.minimum(rows["precision"], 2)]
            frame["to_cycles"] = np.where(rows["to_cycles"] == OPEN_END, np.nan, rows["to_cycles"].astype("f8"))
        return frame

    def _codes(self, numbers: np.ndarray):
        words, code_of = [], np.empty(len(self.names), "i4")
        known: Dict[str, int] = {}
        for number, name in enumerate(self.names):
            code_of[number] = known.setdefault(name, len(known))
            if code_of[number] == len(words):
                words.append(name)
        return code_of[numbers] if len(numbers) else np.empty(0, "i4"), words


def _words(keys: np.ndarray, word) -> np.ndarray:
    unique, place = np.unique(keys, return_inverse=True)
    return np.array([word(int(key)) for key in unique], dtype=object)[place] if len(unique) else np.empty(0, object)


def _bounds(ns: np.ndarray) -> np.ndarray:
    return np.where(ns == UNBOUNDED, np.nan, ns)


def _milliseconds(seconds: float) -> int:
    return int(min(max(seconds, 0) * 1000, 0xFFFFFFFF))


def _text(raw: Optional[bytes]) -> str:
    return (raw or b"").decode("utf-8", "replace")


def _structs(pointer, count) -> List[Dict[str, Any]]:
    return [{field: _text(value) if isinstance(value, bytes) or value is None else value
             for field, value in ((f[0], getattr(pointer[i], f[0])) for f in pointer[i]._fields_)} for i in range(count)]


class Run:
    """A live run or a capture. Iterating gives Tables as they come; read() all that is left at once.

    After the end: `whole` (nothing was missed, cut or damaged), `remarks` (sentences with the reasons), `account` (counts).
    """

    def __init__(self, source: str, tables, follow: bool, from_now: bool, wait_s: float, host_times: bool, threads: int,
                 batch_rows: int):
        self._lib, self._reader = lib.loaded(), ctypes.c_void_p()
        self._last: Tuple[List[str], Dict[str, int]] = ([], {})    # remarks and account of a closed run
        options = lib.Options(struct_bytes=ctypes.sizeof(lib.Options))
        self._lib.ttcollect_options_init(options)
        options.tables = sum(_BITS[table] for table in tables)
        options.follow, options.from_now, options.host_times = follow, from_now, host_times
        options.wait_ms, options.threads, options.batch_rows = _milliseconds(wait_s), threads, batch_rows
        why = ctypes.create_string_buffer(1024)
        status = self._lib.ttcollect_open(os.fsencode(source), options, self._reader, why, len(why))
        if status != lib.OK:
            raise Error(status, _text(why.value))
        self._names: List[str] = []
        self._op_names: Dict[Tuple[int, int], str] = {}
        self.whole, self.over = True, False

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_reader", None):
            self._lib.ttcollect_close(self._reader)

    def close(self) -> None:
        """Arrays, remarks and the account stay as they are."""
        if not self._reader:
            return
        self._last = self.remarks, self.account
        self._lib.ttcollect_close(self._reader)
        self._reader = ctypes.c_void_p()

    def _next(self, timeout_s: float) -> "lib.Batch":
        if not self._reader:
            raise Error(lib.USAGE, "the run is closed")
        batch = lib.Batch(struct_bytes=ctypes.sizeof(lib.Batch))
        status = self._lib.ttcollect_next(self._reader, _milliseconds(timeout_s), batch)
        self.over = status in (lib.END, lib.INCOMPLETE)
        self.whole = self.whole and status >= lib.OK
        if status < lib.OK and status not in (lib.LAPPED, lib.INCOMPLETE):
            raise Error(status, _text(self._lib.ttcollect_error(self._reader)))
        for number in range(len(self._names), batch.name_count):
            self._names.append(_text(batch.names[number].name))
        for number in range(batch.op_names_count):
            op = batch.op_names[number]
            self._op_names[op.chip, op.host_id] = _text(op.name)
        return batch

    @staticmethod
    def _view(batch: "lib.Batch", table: str) -> Optional[np.ndarray]:
        """The rows where the library has them; valid until the next batch."""
        count = getattr(batch, table + "_count")
        if not count:
            return None
        raw = (ctypes.c_char * (count * DTYPES[table].itemsize)).from_address(getattr(batch, table))
        return np.frombuffer(raw, DTYPES[table])

    @staticmethod
    def _bounds_view(batch: "lib.Batch", bounds: str) -> Optional[np.ndarray]:
        """The same of bounds, row by row of their table; UNBOUNDED from a library that has none."""
        count, dtype = getattr(batch, lib.BOUNDS[bounds][0] + "_count"), _BOUND_DTYPES[bounds]
        if not count:
            return None
        place = getattr(batch, bounds)
        if not place:
            return np.full(count * dtype.itemsize // 4, UNBOUNDED, "u4").view(dtype)
        return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(place), dtype)

    def _small(self, batch: "lib.Batch", tables: Tables) -> None:
        for table in ("sessions", "host_zones", "host_messages"):
            getattr(tables, table).extend(_structs(getattr(batch, table), getattr(batch, table + "_count")))

    def next(self, timeout_s: float = 1.0) -> Optional[Tables]:
        """The rows since the last call, at most `timeout_s` seconds later; None at the end. Empty tables: nothing came in time."""
        if self.over:
            return None
        batch, tables = self._next(timeout_s), Tables()
        for table in DTYPES:
            rows = self._view(batch, table)
            if rows is not None:
                setattr(tables, table, rows.copy())
        for bounds in _BOUND_DTYPES:
            rows = self._bounds_view(batch, bounds)
            if rows is not None:
                setattr(tables, bounds, rows.copy())
        self._small(batch, tables)
        tables.names, tables.op_names = list(self._names), self._op_names
        return tables

    def __iter__(self) -> Iterator[Tables]:
        while (tables := self.next()) is not None:
            yield tables

    def read(self) -> Tables:
        """Everything up to the end of the source. Later versions of a loss interval replace earlier ones."""
        all_rows, tables = {table: _Rows(dtype) for table, dtype in {**DTYPES, **_BOUND_DTYPES}.items()}, Tables()
        while not self.over:
            batch = self._next(1.0)
            for table, rows in all_rows.items():
                view = self._view(batch, table) if table in DTYPES else self._bounds_view(batch, table)
                if view is not None:
                    rows.add(view)
            self._small(batch, tables)
        for table, rows in all_rows.items():
            setattr(tables, table, rows.array())
        if len(tables.losses):
            _, last = np.unique(tables.losses[["chip", "id"]][::-1], return_index=True)
            tables.losses = tables.losses[np.sort(len(tables.losses) - 1 - last)]
        tables.names, tables.op_names = list(self._names), self._op_names
        return tables

    @property
    def remarks(self) -> List[str]:
        """Sentences for people, once the end has come."""
        if not self._reader:
            return list(self._last[0])
        texts: List[str] = []
        while (text := self._lib.ttcollect_remark(self._reader, len(texts))) is not None:
            texts.append(_text(text))
        return texts

    @property
    def account(self) -> Dict[str, int]:
        """Counts: markers, unpaired, lost_intervals, missed_bytes, without_bound, unparsable_words."""
        if not self._reader:
            return dict(self._last[1])
        account = lib.Account(struct_bytes=ctypes.sizeof(lib.Account))
        status = self._lib.ttcollect_get_account(self._reader, account)
        if status != lib.OK:
            raise Error(status, _text(self._lib.ttcollect_status_text(status)))
        return {field: getattr(account, field) for field, _ in account._fields_[1:]}


class _Rows:
    """Rows that come in pieces, as one array. Pages of 4 KiB cost more than what is written to them, so large ones are requested;
    the memory grows by moving pages, without a copy."""

    _STEP = 2 << 20    # a large page

    def __init__(self, dtype: np.dtype):
        self._dtype, self._used = dtype, 0
        self._memory: Optional[mmap.mmap] = None

    def add(self, more: np.ndarray) -> None:
        need = self._used + more.nbytes
        if self._memory is None or need > len(self._memory):
            self._grow(need)
        self._memory[self._used:need] = more.view("u1")
        self._used = need

    def _grow(self, need: int) -> None:
        held = 0 if self._memory is None else len(self._memory)
        size = -(-max(need, held * 2) // self._STEP) * self._STEP    # what is not written to is not there
        if self._memory is None:
            self._memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        else:
            self._memory.resize(size)
        try:
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:    # a kernel without large pages: slower, and the same
            pass

    def array(self) -> np.ndarray:
        if self._memory is None:
            return np.empty(0, self._dtype)
        return np.frombuffer(self._memory, self._dtype, self._used // self._dtype.itemsize)


def open(source: str, tables=("markers", "zones", "ops", "host"), *, follow: bool = True, from_now: bool = False, wait_s: float = 0.0,
         host_times: bool = True, threads: int = 1, batch_rows: int = 1 << 13) -> Run:
    """Opens "live:NAME", "FILE.ttc" or a comma list of several.

    tables: the requested ones; losses, clocks, telemetry and sessions always come. Live: `follow` to the end of the run or only what is
    there, `from_now` without what the ring holds, `wait_s` seconds for it to appear. host_times=False: device cycles only, without
    the delay of the clock model (0.3 to 1.6 s). threads: that unpack a capture ahead. Raises Error.
    """
    return Run(source, tables, follow, from_now, wait_s, host_times, threads, batch_rows)
