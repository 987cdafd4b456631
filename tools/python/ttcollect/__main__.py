"""python3 -m ttcollect [-p] [-l] [-m MODULE | SCRIPT] ARGS...: runs a Python program with its functions as zones.

-p leaves the choice to the program, which enables a Profiler itself; -l makes a zone of each line, too. `ttcollect run` starts scripts and
modules so where tt-metal's package tracy cannot be imported; then `from tracy import Profiler, signpost` is answered by this package.
"""
import importlib.util
import os
import runpy
import sys
import types

import ttcollect
from ttcollect import functions


class NoProfiler:
    """The program's own choice counts with -p only; without, all is traced."""

    def enable(self):
        pass

    def disable(self):
        pass


def stand_in(partial):
    """In the place of tt-metal's package tracy, for programs that import it to mark or to choose what is traced."""
    tracy = types.ModuleType("tracy", "Replaces tt-metal's package tracy (ttcollect).")
    tracy.Profiler = functions.Profiler if partial else NoProfiler
    tracy.signpost = lambda header, message=None: ttcollect.mark(header if message is None else f"{header}\n{message}")
    sys.modules["tracy"] = tracy


def main():
    words = sys.argv[1:]
    partial = module = False
    while words and words[0] in ("-p", "-l", "-m"):
        word = words.pop(0)
        partial = partial or word == "-p"
        if word == "-l":
            functions.with_lines()
        if word == "-m":
            module = True
            break
    if not words:
        sys.exit("python3 -m ttcollect: what should run is missing: [-p] [-l] [-m MODULE | SCRIPT] ARGS...")
    if not module and not os.path.isfile(words[0]):
        print(f"python3 -m ttcollect: there is no script {words[0]}", file=sys.stderr)
        sys.exit(2)    # as python3 has it
    if importlib.util.find_spec("tracy") is None:
        stand_in(partial)
    sys.argv = words
    sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.abspath(words[0]))
    profiler = functions.Profiler()
    if not partial:
        profiler.enable()
    try:
        if module:
            runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(words[0], run_name="__main__")
    finally:
        profiler.disable()


main()
