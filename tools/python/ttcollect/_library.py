"""libttcollect by ctypes: the structs of ttcollect/reader.h, and the library itself when it is first needed."""
import ctypes
import ctypes.util
import os
import sysconfig
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p

OK, IDLE, END = 0, 1, 2
LAPPED, INCOMPLETE, NO_SOURCE, USAGE, NO_MEMORY, FAILED = -1, -2, -3, -4, -5, -6
MARKERS, ZONES, OPS, HOST = 1, 2, 4, 8

# Rows as numpy has them: field, type. Each is as long as the C struct, which is checked when the library is loaded.
ROWS = {
    "markers": [("cycles", "u8"), ("host_ns", "i8"), ("data", "u8", 2), ("bound_ns", "u4"), ("name", "u4"), ("host_id", "u4"),
                ("chip", "u4"), ("epoch", "u4"), ("replay", "u2"), ("zone_id", "u2"), ("x", "u1"), ("y", "u1"), ("risc", "u1"),
                ("core_kind", "u1"), ("type", "u1"), ("bound_kind", "u1"), ("flags", "u1"), ("reserved", "u1")],
    "zones": [("begin_cycles", "u8"), ("end_cycles", "u8"), ("begin_ns", "i8"), ("end_ns", "i8"), ("bound_ns", "u4"),
              ("name", "u4"), ("host_id", "u4"), ("chip", "u4"), ("epoch", "u4"), ("replay", "u2"), ("zone_id", "u2"), ("x", "u1"),
              ("y", "u1"), ("risc", "u1"), ("core_kind", "u1"), ("bound_kind", "u1"), ("depth", "u1"), ("aside", "u1"),
              ("reserved", "u1")],
    "ops": [("begin_ns", "i8"), ("end_ns", "i8"), ("kernel_begin_ns", "i8"), ("kernel_end_ns", "i8"), ("core_mean_ns", "u8"),
            ("core_most_ns", "u8"), ("host_id", "u4"), ("chip", "u4"), ("cores", "u4"), ("open", "u4"), ("replay", "u2"),
            ("most_x", "u1"), ("most_y", "u1"), ("of_device_clock", "u1"), ("reserved", "u1", 3)],
    "losses": [("id", "u8"), ("from_cycles", "u8"), ("to_cycles", "u8"), ("from_ns", "i8"), ("to_ns", "i8"), ("words", "u8"),
               ("launches", "u8"), ("chip", "u4"), ("epoch", "u4"), ("x", "u1"), ("y", "u1"), ("risc", "u1"), ("cause", "u1"),
               ("precision", "u1"), ("core_kind", "u1"), ("reserved", "u1", 2)],
    "clocks": [("from_cycles", "u8"), ("to_cycles", "u8"), ("from_ns", "i8"), ("to_ns", "i8"), ("realtime_minus_raw_ns", "i8"),
               ("mhz", "f8"), ("bound_ns", "u4"), ("hard_bound_ns", "u4"), ("chip", "u4"), ("era", "u4"), ("kind", "u1"),
               ("domain", "u1"), ("reserved", "u1", 6)],
    "telemetry": [("host_ns", "i8"), ("chip", "u4"), ("known", "u4"), ("aiclk_mhz", "u4"), ("power_mw", "u4"),
                  ("temperature_mc", "i4"), ("reserved", "u4")],
}
# Row by row of another table: that table, and the fields; one field without a name is a plain array.
BOUNDS = {
    "zone_bounds": ("zones", "u4"),
    "op_bounds": ("ops", [("ns", "u4"), ("kernel_ns", "u4"), ("core_mean_ns", "u4"), ("core_most_ns", "u4")]),
}
SIZES = {"markers": 64, "zones": 64, "ops": 72, "losses": 72, "clocks": 72, "telemetry": 32}


class Options(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t)] + [(name, c_uint32) for name in (
        "tables", "follow", "from_now", "wait_ms", "host_times", "threads", "batch_rows")]


class Name(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("file", c_char_p), ("line", c_uint32), ("zone_id", ctypes.c_uint16), ("reserved", ctypes.c_uint16)]


class Session(ctypes.Structure):
    _fields_ = [("id", c_uint64)] + [(name, c_char_p) for name in ("device", "arch", "board", "layout", "environment")] + [
        (name, c_uint32) for name in ("chip", "aiclk_mhz", "compute_cores", "clock_model")]


class HostZone(ctypes.Structure):
    _fields_ = [("begin_ns", ctypes.c_int64), ("end_ns", ctypes.c_int64), ("name", c_char_p), ("file", c_char_p), ("text", c_char_p),
                ("pid", c_uint64)] + [(name, c_uint32) for name in ("thread", "line", "bound_ns", "depth")]


class HostMessage(ctypes.Structure):
    _fields_ = [("at_ns", ctypes.c_int64), ("text", c_char_p), ("pid", c_uint64), ("thread", c_uint32), ("bound_ns", c_uint32)]


class OpName(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("chip", c_uint32), ("host_id", c_uint32)]


class Batch(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("names", POINTER(Name)), ("name_count", c_size_t)] + [
        field for table, kind in (("markers", c_void_p), ("zones", c_void_p), ("ops", c_void_p), ("losses", c_void_p),
                                  ("clocks", c_void_p), ("telemetry", c_void_p), ("sessions", POINTER(Session)),
                                  ("host_zones", POINTER(HostZone)), ("host_messages", POINTER(HostMessage)), ("op_names", POINTER(OpName)))
        for field in ((table, kind), (table + "_count", c_size_t))] + [(bounds, c_void_p) for bounds in BOUNDS]


class Account(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t)] + [(name, c_uint64) for name in (
        "markers", "unpaired", "lost_intervals", "missed_bytes", "without_bound", "unparsable_words")]


for _struct, _bytes in ((Name, 24), (Session, 64), (HostZone, 64), (HostMessage, 32), (OpName, 16)):
    if ctypes.sizeof(_struct) != _bytes:
        raise ImportError(f"ttcollect: {_struct.__name__} has {ctypes.sizeof(_struct)} bytes here and {_bytes} in reader.h")


def _candidates():
    """TTCOLLECT_LIBRARY; beside this package in a wheel, an installation or a build; what the system's linker finds."""
    if os.environ.get("TTCOLLECT_LIBRARY"):
        yield os.environ["TTCOLLECT_LIBRARY"]
        return
    package = os.path.dirname(os.path.realpath(__file__))
    yield os.path.join(package, "libttcollect.so.0")
    prefix = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(package))))    # PREFIX/lib/ttcollect/python/ttcollect
    for folder in ("lib", "lib64", os.path.join("lib", sysconfig.get_config_var("MULTIARCH") or "")):
        yield os.path.join(prefix, folder, "libttcollect.so.0")
    build = os.path.dirname(os.path.dirname(os.path.abspath(os.path.dirname(__file__))))    # BUILD/bin/python/ttcollect
    yield os.path.join(os.path.dirname(build), "lib", "libttcollect.so.0")
    yield "libttcollect.so.0"


_loaded = None


def loaded():
    """The library. ImportError, one sentence, where there is none."""
    global _loaded
    if _loaded is None:
        _loaded = _load()
    return _loaded


def _load_carried() -> None:
    """Loads what libttcollect needs if the package has it (a wheel, the tarball): a library is found by its name once it is loaded."""
    folder = os.path.join(os.path.dirname(os.path.realpath(__file__)), "libs")
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        ctypes.CDLL(os.path.join(folder, file))


def _load():
    why = None
    for path in _candidates():
        if os.path.isabs(path) and not os.path.exists(path):
            continue
        try:
            _load_carried()
            lib = ctypes.CDLL(path)
            break
        except OSError as e:
            why = e
    else:
        raise ImportError("ttcollect reads captures by libttcollect.so.0, which was not found; install libttcollect0, or set "
                          f"TTCOLLECT_LIBRARY to its path ({why or 'no such file'})") from None
    lib.ttcollect_open.argtypes = [c_char_p, POINTER(Options), POINTER(c_void_p), ctypes.c_char_p, c_size_t]
    lib.ttcollect_next.argtypes = [c_void_p, c_uint32, POINTER(Batch)]
    lib.ttcollect_options_init.argtypes = [POINTER(Options)]
    lib.ttcollect_options_init.restype = None
    lib.ttcollect_get_account.argtypes = [c_void_p, POINTER(Account)]
    lib.ttcollect_close.argtypes = [c_void_p]
    lib.ttcollect_close.restype = None
    for name, arguments in (("error", [c_void_p]), ("remark", [c_void_p, c_size_t]), ("status_text", [c_int]),
                            ("loss_cause", [ctypes.c_uint]), ("processor", [ctypes.c_uint, ctypes.c_uint]), ("version", [])):
        function = getattr(lib, "ttcollect_" + name)
        function.argtypes, function.restype = arguments, c_char_p
    return lib
