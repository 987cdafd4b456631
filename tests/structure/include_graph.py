#!/usr/bin/env python3
"""The include graph by folder: prints it, and fails where it breaks the rules of DESIGN.md ("Folders").

- No folder includes one that is below it in the add_subdirectory() lists, so there is no circle.
- The folders of the top level include only what the table allows.
- A folder holds at most 25 files.
- A public header includes public headers only; the collector has at most ten.

usage: include_graph.py [ROOT]"""
import collections
import os
import re
import sys

ROOT = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "../.."))
TOP = ["firmware_markers", "driver_iface", "shm", "collector", "tools"]
ALLOWED = {"firmware_markers": [], "driver_iface": [], "shm": [], "collector": ["firmware_markers", "driver_iface", "shm"],
           "tools": ["firmware_markers", "shm", "collector", "driver_iface"]}
# What tools may include of the collector: public headers, and the two folders for programs.
COLLECTOR_FOR_TOOLS = {"collector/include/ttcollect", "collector/program", "collector/draw"}
DRIVER_FOR_TOOLS = {"driver_iface/include/driver_iface"}
PUBLIC_ROOTS = ["firmware_markers/include", "driver_iface/include", "shm/include", "collector/include", "tools/reader/include"]
MOST_FILES = 25
MOST_PUBLIC_HEADERS = 10


def sources():
    for top in TOP:
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in sorted(files):
                if name.endswith((".cpp", ".hpp")):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def resolve(name, source):
    beside = os.path.join(os.path.dirname(source), name)
    for path in [beside, name, *(os.path.join(root, name) for root in PUBLIC_ROOTS)]:
        if os.path.exists(os.path.join(ROOT, path)):
            return os.path.normpath(path)
    return None


def order(folder="", found=None):
    """Folders as CMake reads them: one may link what came before."""
    found = [] if found is None else found
    listed = os.path.join(ROOT, folder, "CMakeLists.txt")
    for child in re.findall(r"^\s*add_subdirectory\((\S+)\)", open(listed).read(), re.M):
        path = os.path.join(folder, child)
        if path.split("/")[0] in TOP:
            order(path, found)
    found.append(folder)
    return found


def main():
    wrong = []
    files = list(sources())
    counts = collections.Counter(os.path.dirname(f) for f in files)
    edges = collections.defaultdict(dict)
    for source in files:
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', open(os.path.join(ROOT, source), errors="replace").read(), re.M):
            header = resolve(name, source)
            if header is None:
                wrong.append(f"{source} includes {name}, which is nowhere")
                continue
            edges[os.path.dirname(source)].setdefault(os.path.dirname(header), (source, header))
            if any(source.startswith(root + "/") for root in PUBLIC_ROOTS) and \
                    not any(header.startswith(root + "/") for root in PUBLIC_ROOTS):
                wrong.append(f"{source} is a public header and includes {header}, which is none")

    rank = {folder: i for i, folder in enumerate(order())}
    for folder in sorted(counts):
        to = sorted(f for f in edges[folder] if f != folder)
        print(f"{counts[folder]:3} {folder}" + (" -> " + " ".join(to) if to else ""))
        if counts[folder] > MOST_FILES:
            wrong.append(f"{folder} holds {counts[folder]} files, more than {MOST_FILES}")
        top = folder.split("/")[0]
        for other in to:
            source, header = edges[folder][other]
            other_top = other.split("/")[0]
            if other_top != top and other_top not in ALLOWED[top]:
                wrong.append(f"{source} includes {header}: {top} may not include {other_top}")
            if top == "tools" and other_top == "collector" and other not in COLLECTOR_FOR_TOOLS:
                wrong.append(f"{source} includes {header}: tools may include the collector's public headers only")
            if top == "tools" and other_top == "driver_iface" and other not in DRIVER_FOR_TOOLS:
                wrong.append(f"{source} includes {header}: tools may include the driver's public headers only")
            if folder in rank and other in rank and rank[other] > rank[folder]:
                wrong.append(f"{source} includes {header}: {other} is below {folder} in the lists of CMake")
    public = counts["collector/include/ttcollect"]
    if public > MOST_PUBLIC_HEADERS:
        wrong.append(f"the collector has {public} public headers, more than {MOST_PUBLIC_HEADERS}")
    print(f"{len(files)} files in {len(counts)} folders, {public} public headers of the collector")
    for line in wrong:
        print("wrong: " + line)
    return 1 if wrong else 0


sys.exit(main())
