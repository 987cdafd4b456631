#!/usr/bin/env python3
"""Each rule of include_graph.py is broken once in a small tree; the rule must be reported."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOUND = {
    "CMakeLists.txt": "add_subdirectory(shm)\nadd_subdirectory(collector)\nadd_subdirectory(tools)\n",
    "shm/CMakeLists.txt": "",
    "shm/include/shm/ring.hpp": "",
    "collector/CMakeLists.txt": "add_subdirectory(io)\nadd_subdirectory(drain)\n",
    "collector/io/CMakeLists.txt": "",
    "collector/io/loop.hpp": "",
    "collector/include/ttcollect/reader.hpp": '#include "shm/ring.hpp"\n',
    "collector/drain/CMakeLists.txt": "",
    "collector/drain/drain.cpp": '#include "collector/io/loop.hpp"\n#include "shm/ring.hpp"\n',
    "tools/CMakeLists.txt": "add_subdirectory(ttmon)\n",
    "tools/ttmon/CMakeLists.txt": "",
    "tools/ttmon/main.cpp": '#include "ttcollect/reader.hpp"\n',
}
BROKEN = {
    "is below": {"collector/drain/drain.hpp": "", "collector/io/loop.cpp": '#include "collector/drain/drain.hpp"\n'},
    "may not include collector": {"shm/src/ring.cpp": '#include "ttcollect/reader.hpp"\n'},
    "is a public header": {"collector/include/ttcollect/reader.hpp": '#include "collector/io/loop.hpp"\n'},
    "tools may include": {"tools/ttmon/main.cpp": '#include "collector/io/loop.hpp"\n'},
    "more than 25": {f"collector/io/f{i}.hpp": "" for i in range(25)},
    "11 public headers": {f"collector/include/ttcollect/h{i}.hpp": "" for i in range(10)},
    "which is nowhere": {"tools/ttmon/main.cpp": '#include "ttcollect/gone.hpp"\n'},
}


def run(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as out:
                out.write(text)
        return subprocess.run([sys.executable, "-B", os.path.join(HERE, "include_graph.py"), root], capture_output=True, text=True)


sound = run(SOUND)
assert sound.returncode == 0, sound.stdout + sound.stderr
for reason, change in BROKEN.items():
    got = run({**SOUND, **change})
    assert got.returncode == 1 and reason in got.stdout, (reason, got.returncode, got.stdout, got.stderr)
print(f"{len(BROKEN)} broken rules, each reported")
