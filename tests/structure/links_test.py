#!/usr/bin/env python3
"""No link is dead and no citation dangles: every relative link of a page leads to a file and, with #, to a heading of it; every path of this
repository that a comment, a message or a page names is there; a heading cited as `PAGE.md, "Heading"` exists. Each rule is also broken once,
in a text of its own, and must be reported."""
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TEXT = (".md", ".cpp", ".hpp", ".h", ".c", ".py", ".txt", ".cmake", ".scd", ".pml", ".toml", ".in", ".sql")
FOLDERS = "bench|collector|docs|driver_iface|firmware_markers|packaging|shm|tests|tools|ttcollect"
CITATION = re.compile(rf"(?<![\w/.-])((?:\.\./)*(?:{FOLDERS})/[\w/.-]*\w\.(?:md|hpp|cpp|h|py|c|svg|png|toml|txt|sql|scd))\b")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"([\w/.-]+\.md)\)?[,:]? \(?\"([^\"]+)\"")
# Sources of others that are named by their own paths, and lines that make up a tree.
FOREIGN = re.compile(r"tt-?metal|npe_analyze|tt_metal|tt-kmd|\bUMD\b|tt-umd|TTsim|ttsim|[Tt]racy|tt-npe|tt-perf-report|model\.py|test_model")
MADE_UP = {"tests/structure/include_graph_test.py", "tests/structure/links_test.py"}


def anchors(text):
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}, {head.strip("`") for head in heads}


class Tree:
    def __init__(self, files, read):
        self.files, self.read = set(files), read
        self.folders = {folder for file in self.files for folder in self.parents(file)}
        self.included = {re.sub(r"^.*?/include/", "", file) for file in self.files if "/include/" in file}

    @staticmethod
    def parents(file):
        while "/" in file:
            file = file.rsplit("/", 1)[0]
            yield file

    def has(self, path, beside):
        here = os.path.normpath(os.path.join(os.path.dirname(beside), path))
        return not {path, here}.isdisjoint(self.files | self.folders) or path in self.included

    def page(self, path, beside):
        for candidate in (os.path.normpath(os.path.join(os.path.dirname(beside), path)), path):
            if candidate in self.files:
                return candidate
        return None

    def wrong(self, file):
        text = self.read(file)
        before = ""
        for number, line in enumerate(text.split("\n"), 1):
            where = f"{file}:{number}"
            for path in CITATION.findall(line):
                if not self.has(path, file) and not FOREIGN.search(before + line):
                    yield f"{where}: {path} is cited and is not there"
            for page, heading in HEADING.findall(line):
                cited = self.page(page, file)
                if cited and heading not in anchors(self.read(cited))[1]:
                    yield f'{where}: {page} has no heading "{heading}"'
            if re.search(r"\bsheet \d", line):
                yield f"{where}: a sheet that is not in the repository is cited"
            before = line
        if not file.endswith(".md"):
            return
        for link in LINK.findall(re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)):
            path, _, anchor = link.partition("#")
            if re.match(r"https?:|mailto:", link):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file
            if target not in self.files and target not in self.folders:
                yield f"{file}: the link {link} leads nowhere"
            elif anchor and anchor not in anchors(self.read(target))[0]:
                yield f"{file}: the link {link} leads to no heading"


def read(file):
    with open(os.path.join(ROOT, file), encoding="utf-8") as text:
        return text.read()


def own_rules():
    pages = {"docs/a.md": "# One\n[x](b.md#two) [y](../tools/t.cpp)\n", "docs/b.md": "# Two\n", "tools/t.cpp": "// docs/b.md, \"Two\"\n"}
    broken = {
        "leads nowhere": ("docs/a.md", "[x](gone.md)"),
        "leads to no heading": ("docs/a.md", "[x](b.md#three)"),
        "is cited and is not there": ("tools/t.cpp", "// see docs/gone.md"),
        "has no heading": ("tools/t.cpp", '// see docs/b.md ("Three")'),
        "a sheet": ("tools/t.cpp", "// format sheet 5.7"),
    }
    sound = [wrong for file in pages for wrong in Tree(pages, pages.get).wrong(file)]
    failed = [f"a sound tree: {wrong}" for wrong in sound]
    for rule, (file, text) in broken.items():
        tree = {**pages, file: text}
        if not any(rule in wrong for wrong in Tree(tree, tree.get).wrong(file)):
            failed.append(f"not reported: {rule}")
    return failed


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        print("skipped: not a git work tree")
        return 77
    files = [file for file in listed.stdout.split("\n") if file and os.path.exists(os.path.join(ROOT, file))]
    tree = Tree(files, read)
    wrong = own_rules()
    looked = [file for file in files if file.endswith(TEXT) and file not in MADE_UP]
    wrong += [one for file in looked for one in tree.wrong(file)]
    print("\n".join(wrong) or f"{len(looked)} files")
    return bool(wrong)


sys.exit(main())
