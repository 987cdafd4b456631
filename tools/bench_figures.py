"""Puts the output of benchmarks into documents as figures: bench/FIGURES.md as a whole, and single figures in other pages.

A figure in a page is between two comments and is named by the program and by a pattern that one line of its output has:

    <!-- bench latency_bench: busy core.*median ([\\d.]+) us -->62<!-- end -->

Of several runs the median of each number counts, place by place; where runs of a ratio differ, the least and the greatest are printed after it.
"""
import os
import re
import statistics

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w]*\.\d)")
RATIO = re.compile(r"\bratio\b[^\d;,()]*?(-?\d+(?:\.\d+)?)|(-?\d+(?:\.\d+)?) times as long")
VERDICT = re.compile(r": (?:met|MISSED|not judged)(?=\))")    # of one run; the target stays
FIGURE = re.compile(r"<!-- bench (\w+(?:\.py)?): (.*?) -->(.*?)<!-- end -->")
PAGES = ("README.md", "bench/README.md")


class FigureError(Exception):
    pass


def shape(line):
    return NUMBER.sub("#", line)


def merged(outputs):
    """Lines of several runs of a program as one run's. Lines that not all runs have are those of the first."""
    by_line, places = [], []
    for lines in outputs:
        seen, of_run = {}, {}
        for line in lines:
            line = VERDICT.sub("", line)
            key = (shape(line), seen.setdefault(shape(line), 0))
            seen[shape(line)] += 1
            of_run[key] = NUMBER.findall(line)
            if not by_line:
                places.append((key, line))
        by_line.append(of_run)
    result = []
    for key, line in places:
        runs = [of_run[key] for of_run in by_line if key in of_run]
        result.append(with_numbers(line, runs))
    return result


def with_numbers(line, runs):
    columns = list(zip(*runs))
    ratios = {match.start(1) if match[1] else match.start(2) for match in RATIO.finditer(line)}
    text, last = "", 0
    for match, column in zip(NUMBER.finditer(line), columns):
        digits = max(len(value.partition(".")[2]) for value in column)
        values = [float(value) for value in column]
        text += line[last:match.start()] + (f"{statistics.median(values):.{digits}f}" if len(set(values)) > 1 else match[0])
        if match.start() in ratios and len(set(values)) > 1:
            text += f" ({min(values):.{digits}f} to {max(values):.{digits}f})"
        last = match.end()
    return text + line[last:]


def of_several(runs):
    """One run with the programs of all: of a program that is in several, what the last one has. Programs of other runs than the last have `of`."""
    last = runs[-1]
    programs = {name: dict(program, of=run) for run in runs for name, program in run["programs"].items()}
    for program in programs.values():
        if program["of"] is last:
            del program["of"]
    return dict(last, programs=programs, once=any(run.get("once") for run in runs))


def made_by(run):
    return (f"commit {run['commit'][:12] or 'unknown'}{' with changes' if run['commit'].endswith('+changes') else ''}; runs of each program, in turns: "
            f"{run['runs']}; load when they began: {run.get('load', 'not known')}.")


def page_of_figures(run):
    machine = run["machine"]
    text = ["# Figures", "",
            "Made by `tools/bench --figures`: what each program printed, the median of each number; after a ratio the least and the greatest of its runs.",
            "[README](README.md) describes the programs and their targets.", "",
            f"{machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}, {made_by(run)}",
            "At a load above the number of CPUs what goes by the clock is too slow, and so are its ratios."]
    if run.get("once"):
        text += ["", "**TTC_BENCH_ONCE was set: inputs were tiny, and times mean nothing.**"]
    for name, program in sorted(run["programs"].items()):
        text += ["", f"## {name}", ""]
        if "of" in program:
            text += [f"Of another run: {made_by(program['of'])}", ""]
        if program["output"]:
            text += ["    " + line for line in merged(program["output"])]
        if program["exit"]:
            text += ["", f"It ended with {program['exit']} in one run at least."]
    return "\n".join(text) + "\n"


def figures_in(page):
    """(program, pattern, text) of each figure of a page."""
    return [match.groups() for match in FIGURE.finditer(page)]


def with_figures(page, run, where):
    """The page with its figures as this run has them. What the run has no output of stays as it is."""
    def figure(match):
        name, pattern, text = match.groups()
        program = run["programs"].get(name)
        if not program or not program["output"]:
            return match[0]
        found = [hit for hit in (re.search(pattern, line) for line in merged(program["output"])) if hit]
        if len(found) != 1 or not found[0].groups():
            raise FigureError(f"{where}: the figure '{name}: {pattern}' fits {len(found)} lines of the output; it must fit one, with the number in parentheses")
        return f"<!-- bench {name}: {pattern} -->{found[0][1]}<!-- end -->"
    return FIGURE.sub(figure, page)


def write_figures(run, root):
    """Changes the pages below `root`; the names of those that changed."""
    changed = {}
    if not run.get("once"):
        changed["bench/FIGURES.md"] = page_of_figures(run)
    for name in PAGES:
        path = os.path.join(root, name)
        if not os.path.exists(path):
            continue
        with open(path) as file:
            page = file.read()
        if (new := with_figures(page, run, name)) != page:
            changed[name] = new
    for name, text in changed.items():    # only when all of them are sound
        with open(os.path.join(root, name), "w") as file:
            file.write(text)
    return sorted(changed)
