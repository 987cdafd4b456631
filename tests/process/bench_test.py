#!/usr/bin/env python3
"""tools/bench: what it reads from programs, which results it reports as moved, and what it refuses."""
import json
import os
import stat
import subprocess
import sys

import harness as h

TOOL = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../tools/bench"))
FOLDER = h.work("bin")


def program(name, lines, code=0):
    """That prints the next of `lines` at each run."""
    path, counter = os.path.join(FOLDER, name), h.work(name + ".runs")
    if os.path.exists(counter):
        os.unlink(counter)
    with open(path, "w") as file:
        file.write(f"""#!{sys.executable}
import os
runs = os.path.getsize({counter!r}) if os.path.exists({counter!r}) else 0
open({counter!r}, "a").write("x")
print({lines!r}[runs % {len(lines)}])
raise SystemExit({code})
""")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def bench(*words):
    if "--root" not in words:    # the runs that are stored for this machine are not the test's
        words += ("--root", FOLDER)
    done = subprocess.run([sys.executable, "-B", TOOL, "--bin", FOLDER, "-o", h.work("bench.json"), *words], capture_output=True, text=True,
                          timeout=h.LIMIT_S)
    return done.returncode, done.stdout, done.stderr


def line(bytes_, *values):
    """A result with its ratio, as programs print it, once for each run."""
    return [f"chunk of {bytes_} B: publish {7.5 + v} ns\n  ratio to memcpy {v} (target >= 0.3: met)" for v in values]


def main():
    os.mkdir(FOLDER)
    program("still_bench", line(64, 0.30, 0.34, 0.31))
    program("moved_bench", line(64, 1.0, 1.02, 1.04))
    program("wide_bench", line(64, 1.0, 2.0, 3.0))
    of = ("still", "moved", "wide")
    code, out, err = bench(*of)
    h.check(code == 0 and "no stored run" in out, (code, out, err))
    stored = h.work("stored.json")
    os.rename(h.work("bench.json"), stored)
    with open(stored) as file:
        run = json.load(file)
    h.check(len(run["commit"]) >= 40 and run["machine"]["cpus"] >= 1, run)
    ratios = run["programs"]["moved_bench"]["ratios"]
    h.check(ratios == {"chunk of 64 B: publish # ns / ratio to memcpy # [0]": [1.0, 1.02, 1.04]}, ratios)

    program("still_bench", line(64, 0.33, 0.35, 0.32))    # overlaps
    program("moved_bench", line(64, 1.5, 1.51, 1.52))
    program("wide_bench", line(64, 3.2, 3.3, 4.0))        # apart, by less than its spread
    code, out, err = bench(*of, "--against", stored)
    h.check(code == 0 and "3 ratios compared" in out and "; 1 moved" in out, (code, out, err))
    h.check("moved_bench: chunk of 64 B" in out and "1.02 (1 to 1.04) -> 1.51 (1.5 to 1.52)" in out, out)
    program("moved_bench", line(4096, 1.5))               # of another size: another ratio
    code, out, err = bench("moved", "--against", stored)
    h.check(code == 0 and "0 ratios compared" in out, (code, out, err))

    program("sick_bench", ["  ratio 1"], 7)
    code, out, err = bench("sick", "still", "--against", stored)
    h.check(code == 1 and "sick_bench ended with 7" in err and "1 ratios compared" in out, (code, out, err))
    code, _, err = bench("absent")
    h.check(code == 2 and "no benchmark 'absent'" in err, (code, err))
    run["machine"]["cpu"] = "another"
    for text, what in ((json.dumps(run), "another machine"), ("{}", "no stored run"), ("[", "no stored run"), ("[1]", "no stored run")):
        with open(h.work("wrong.json"), "w") as file:
            file.write(text)
        code, _, err = bench("still", "--against", h.work("wrong.json"))
        h.check(code == 3 and what in err and err.count("\n") == 1, (text, code, err))
    code, _, err = bench("still", "--against", stored, "-o", os.path.join(stored, "x.json"))
    h.check(code == 5 and "cannot be written" in err, (code, err))
    figures()
    print("ok")


def figures():
    """The pages' figures are the medians of what programs print; one that no line has is refused, and nothing is written then."""
    root = h.work("pages")
    os.makedirs(os.path.join(root, "bench"))
    page = os.path.join(root, "README.md")

    def write(text):
        with open(page, "w") as file:
            file.write(text)

    def text_of(name):
        with open(os.path.join(root, name)) as file:
            return file.read()

    program("still_bench", line(64, 0.30, 0.34, 0.31))
    write("a chunk takes <!-- bench still_bench: publish ([\\d.]+) ns -->99<!-- end --> ns, of <!-- bench other_bench: x (.) -->5<!-- end -->\n")
    code, out, err = bench("still", "--figures", "--root", root)
    h.check(code == 0 and "figures: README.md, bench/FIGURES.md" in out, (code, out, err))
    h.check("-->7.81<!-- end --> ns" in text_of("README.md") and "-->5<!-- end -->" in text_of("README.md"), text_of("README.md"))
    h.check("ratio to memcpy 0.31 (0.30 to 0.34) (target >= 0.3)" in text_of("bench/FIGURES.md"), text_of("bench/FIGURES.md"))
    os.unlink(os.path.join(root, "bench/FIGURES.md"))
    code, out, err = bench("--figures-of", h.work("bench.json"), "--root", root)
    h.check(code == 0 and "figures: bench/FIGURES.md" in out, (code, out, err))
    # Of several runs each program counts once, as the latest has it, and a page has which are of another.
    os.rename(h.work("bench.json"), h.work("first.json"))
    program("moved_bench", line(64, 0.6))
    program("still_bench", line(64, 0.8))
    code, out, err = bench("moved")
    os.rename(h.work("bench.json"), h.work("second.json"))
    h.check(code == 0 and bench("still")[0] == 0, (code, out, err))
    code, out, err = bench("--figures-of", h.work("first.json"), h.work("second.json"), h.work("bench.json"), "--root", root)
    page_of = text_of("bench/FIGURES.md")
    h.check(code == 0 and "memcpy 0.8 " in page_of and "memcpy 0.31" not in page_of and "memcpy 0.6 " in page_of, (err, page_of))
    h.check(page_of.count("Of another run: commit ") == 1 and page_of.index("## moved") < page_of.index("Of another") < page_of.index("## still"), page_of)
    before = page_of
    write("<!-- bench still_bench: no such line ([\\d.]+) -->1<!-- end -->\n")
    program("still_bench", line(64, 0.9))
    code, out, err = bench("still", "--figures", "--root", root)
    h.check(code == 4 and "fits 0 lines" in err and text_of("bench/FIGURES.md") == before, (code, out, err))


main()
