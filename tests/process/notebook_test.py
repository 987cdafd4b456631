#!/usr/bin/env python3
"""The notebook of a training run, executed as its users execute it: of a run with steps and named ops, and of one that lost markers. Its
numbers are those of the database of the same capture, and its pictures show something."""
import base64
import json
import os
import shutil
import subprocess
import sys

from harness import BIN, LONG, card_name, check, finish, remove_at_end, run, skip, start, wait_for_card, work
from host_side_test import client_file

NOTEBOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/python/notebooks/training_run.ipynb")
CODES = ("Matmul", "Softmax", "LayerNorm")

# A workload: a card, and steps one after another as long as it runs.
STEPS = """
import itertools, subprocess, sys, time, ttcollect
card = subprocess.Popen(sys.argv[1:])
for number in itertools.count(1):
    with ttcollect.step(number):
        time.sleep(0.2)
    if card.poll() is not None:
        break
sys.exit(card.returncode)
"""

# What is in a picture, by the library that drew it: height, width, colours, and points of the red that losses are drawn in.
SEEN = """
import sys, matplotlib.image, numpy
picture = (matplotlib.image.imread(sys.argv[1])[:, :, :3] * 255).astype("u4")
points = picture[..., 0] << 16 | picture[..., 1] << 8 | picture[..., 2]
print(*points.shape, len(numpy.unique(points)), numpy.count_nonzero(points == 0xd62728))
"""


def python():
    if not shutil.which("jupyter-nbconvert"):
        skip("jupyter-nbconvert is not there: the notebook was not executed")
    for one in ("/usr/bin/python3", sys.executable):
        if subprocess.run([one, "-c", "import matplotlib, pandas, ipykernel"], capture_output=True).returncode == 0:
            return one
    return skip("no Python with pandas, matplotlib and a kernel of Jupyter")


def executed(source, name, interpreter):
    """(printed texts, tables as text, pictures as files, points of red in the first)"""
    home = work("home-" + name)
    os.makedirs(home)
    out = work(name + ".ipynb")
    environment = {**os.environ, "HOME": home, "TTCOLLECT_SOURCE": source, "PYTHONPATH": os.path.join(BIN, "python")}
    done = subprocess.run(["jupyter-nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=600", "--output", out, NOTEBOOK],
                          capture_output=True, text=True, env=environment)
    check(done.returncode == 0, f"{name}: exit {done.returncode}: {done.stderr[-3000:]}")
    with open(out) as file:
        outputs = [output for cell in json.load(file)["cells"] for output in cell.get("outputs", ())]
    texts = ["".join(output["text"]) for output in outputs if "text" in output]
    tables = ["".join(output["data"]["text/plain"]) for output in outputs if "text/html" in output.get("data", ())]
    pictures, reds = [], []
    for picture in (output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", ())):
        pictures.append(work(f"{name}-{len(pictures)}.png"))
        with open(pictures[-1], "wb") as file:
            file.write(base64.b64decode(picture))
        height, width, colours, red = map(int, subprocess.run([interpreter, "-c", SEEN, pictures[-1]], capture_output=True, text=True).stdout.split())
        reds.append(red)
        check(width > 400 and height > 100 and colours > 20, f"{pictures[-1]}: {width} x {height}, {colours} colours")
    if os.environ.get("TTC_SHOTS"):
        for picture in pictures:
            shutil.copy(picture, os.environ["TTC_SHOTS"])
    return texts, tables, pictures, reds[0]


def named(interpreter):
    """Ops have the names of the client's messages, and belong to the steps in which they begin."""
    name, root, script = card_name(), work("named"), work("steps.py")
    remove_at_end(f"emu-{name}")
    with open(script, "w") as file:
        file.write(STEPS)
    line = (f"{sys.executable} {client_file()} 83 ops:1:300 {' '.join(CODES)} & {sys.executable} -B {script} {BIN}/ttemu --name {name} --cores 6 "
            "--programs 300 --rate 300 --pace --wait-observer --linger 600s -q; code=$?; wait; exit $code")
    code, _, err = finish(start("ttcollect", "run", "-o", root, "-n", "one", "-d", f"emu:{name}", "--", "sh", "-c", line))
    check(code == 0, f"{code} {err}")
    capture = os.path.join(root, "reports/one", os.listdir(f"{root}/reports/one")[0], "run.ttc")
    texts, tables, pictures, _ = executed(capture, "named", interpreter)
    check(len(pictures) == 4 and any(text.startswith("whole ") for text in texts) and "steps by signposts\n" in texts, f"{len(pictures)} {texts}")
    database = work("named.db")
    check(run("ttexport", "--from", capture, "--format", "sqlite", "-o", database)[0] == 0, "no database")
    answer = run("ttreport", "sql", database, "SELECT o.name, count(*) ops, sum(o.ns) ns FROM op o JOIN steps s ON o.begin_ns >= s.begin_ns AND "
                 "o.begin_ns < s.begin_ns + s.ns GROUP BY o.name ORDER BY ns DESC", "--json")[1]
    expected = {row["name"]: (row["ops"], row["ns"]) for row in map(json.loads, answer.splitlines())}
    check(set(expected) == set(CODES), f"{expected}")
    of_ops = next(table for table in tables if table.lstrip().startswith("count") and CODES[0] in table)
    found = {words[0]: (int(words[1]), int(words[2])) for words in map(str.split, of_ops.splitlines()) if words[0] in CODES}
    check(found == expected, f"the notebook has {found}, the database {expected}")


def with_losses(interpreter):
    """A run whose card dropped launches: a picture more, and a step that is the whole run."""
    name, capture = card_name(), work("lost.ttc")
    card = start("ttemu", "--name", name, "--cores", 4, "--programs", 2600, "--host-reads", "every:1300", "--wait-observer", "-q")
    wait_for_card(name, card)
    collector = start("ttcollect", "-d", f"emu:{name}", "-o", capture, "-q")
    check(finish(card)[0] == 0, "the card")
    finish(collector)
    texts, tables, pictures, red = executed(capture, "lost", interpreter)
    intervals = int(run("ttreport", "sql", database_of(capture), "SELECT count(*) FROM losses", "--csv")[1].split()[-1])
    check(intervals > 0 and len(pictures) == 5 and red > 100, f"{intervals} intervals, {len(pictures)} pictures, {red} points of losses")
    check("steps by the whole run\n" in texts and any("dropped" in table for table in tables), f"{texts} {tables}")


def database_of(capture):
    database = capture + ".db"
    check(run("ttexport", "--from", capture, "--format", "sqlite", "-o", database)[0] == 0, "no database")
    return database


if __name__ == "__main__":
    if not LONG:
        skip("the notebook is executed by tools/check --long")
    with_pandas = python()
    named(with_pandas)
    with_losses(with_pandas)
