#!/usr/bin/env python3
"""Takes each condition out of the rules of collector/continuity/continuity.cpp, one at a time, and prints the tests that fail then.

  tests/sim/rules_off.py BUILD [WORD]     a release build with its unit tests, as tools/check makes it; WORD: a pattern, only functions with it

A condition without which nothing fails is a fault: exit 1. The exhaustion tests show which conditions a silent loss hangs on, within
their bounds; every condition has a test of its own in continuity_test.cpp. Where no other test fails, those that put stores between
the loads of a poll and those of recycling run too.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "collector/continuity/continuity.cpp"
TESTS = ["continuity/continuity", "drain/exhaustion", "drain/interleaving", "recycle/recycling"]
QUICK = "Continuity.*:*Exhaustion.every*:*Exhaustion.long*"
SLOW = "Interleaving.between_looks:Interleaving.at_random:Recycling.at_random*:Recycling.finds*:Recycling.with*"
LIBRARIES = "-lgtest -lgtest_main -lpthread -lzstd -llz4 -luring -lnuma -lpci -lz -lxxhash -lcairo -lrt".split()


def flags(build):
    """Include directories and definitions of the unit tests."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if "unit_tests" in entry["command"]:
            words = entry["command"].split()
            return [w.replace("\\", "") for w in words if re.match(r"-[ID]|-std", w)]
    sys.exit(f"{build} has no unit tests: configure with TTC_DEVELOPER")


def compile_to(source, target, options):
    subprocess.run(["g++", "-O1", *options, "-I", str(ROOT), "-c", str(source), "-o", str(target)], check=True)


def failures(program, tests=QUICK):
    environment = dict(os.environ, TTC_LENGTH="5", TTC_HISTORIES="200", TTC_SEED="1")
    run = subprocess.run([program, "--gtest_filter=" + tests], capture_output=True, text=True, env=environment)
    names = list(dict.fromkeys(re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", run.stdout, re.M)))
    if tests == QUICK and all(name.startswith("Continuity.") for name in names):
        names += failures(program, SLOW)
    return names


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    options = flags(build)
    text = SOURCE.read_text()
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    rules = [(function, m) for m in re.finditer(r"\be\.(\w+)", text)
             if re.search(word, function := re.findall(r"^\S.* (\w+)\(const", text[:m.start()], re.M)[-1])]
    unguarded = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        objects = []
        for test in TESTS:
            objects.append(folder / f"{pathlib.Path(test).name}.o")
            compile_to(ROOT / f"tests/unit/collector/{test}_test.cpp", objects[-1], options)
        archives = [str(a) for a in build.rglob("libttc_*.a")]

        def tried(source):
            compile_to(source, folder / "rules.o", options)
            subprocess.run(["g++", folder / "rules.o", *objects, "-Wl,--start-group", *archives, "-Wl,--end-group",
                            *LIBRARIES, "-o", folder / "tests"], check=True)
            return failures(folder / "tests")

        if failed := tried(SOURCE):
            sys.exit(f"the rules as they are fail: {', '.join(failed)}")
        for function, rule in rules:
            changed = folder / "changed.cpp"
            changed.write_text(text[:rule.start()] + "true" + text[rule.end():])
            failed = tried(changed)
            print(f"{function}: without {rule.group(1)} fail {', '.join(failed) or 'NONE'}", flush=True)
            unguarded += not failed
    print(f"{len(rules)} conditions, {unguarded} that no test guards")
    return 1 if unguarded else 0


if __name__ == "__main__":
    sys.exit(main())
