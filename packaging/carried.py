"""Shared libraries that files need, and the Python package with those of libttcollect."""
import os
import re
import shutil
import subprocess
import sys

# What a process that loads libttcollect has already.
OF_THE_PROCESS = re.compile(r"^(ld-linux.*|lib(c|m|stdc\+\+|gcc_s|pthread|dl|rt)\.so\..*)$")


def call(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(files):
    """{name: path} of the shared libraries, and of the loader."""
    found = {}
    for file in files:
        for line in call("ldd", file).splitlines():
            if "not found" in line:
                sys.exit(f"{file}: {line.strip()}")
            if match := re.search(r"(?:=> )?(/\S+) \(0x", line):
                found[os.path.basename(match[1])] = match[1]
    return found


def fill_package(package, library):
    """libttcollect and what it needs beside the Python package, for processes of any system with glibc 2.34 and libstdc++ of g++ 12."""
    os.makedirs(os.path.join(package, "libs"))
    for name, path in needed([library]).items():
        if not OF_THE_PROCESS.match(name):
            shutil.copy(path, os.path.join(package, "libs", name))
    shutil.copy(library, os.path.join(package, "libttcollect.so.0"))
