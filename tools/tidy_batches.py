#!/usr/bin/env python3
"""The batches a build directory would compile that hold any of the listed sources; complains about a source in none.

usage: tidy_batches.py BUILD_DIRECTORY FILE_WITH_SOURCES"""
import json
import os
import re
import sys

build, listed = sys.argv[1:]
wanted = {os.path.abspath(line) for line in open(listed).read().split("\n") if line}
held = set()
for entry in json.load(open(os.path.join(build, "compile_commands.json"))):
    batch = entry["file"]
    holds = {batch}
    if batch.endswith(".cxx"):
        holds = set(re.findall(r'#include "([^"]+)"', open(batch).read()))
    if holds & wanted and not holds & wanted <= held:
        print(batch)
    held |= holds
missing = wanted - held
if missing:
    sys.exit("tidy_batches.py: compiled by no target: " + ", ".join(sorted(missing)))
