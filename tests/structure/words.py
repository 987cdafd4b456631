#!/usr/bin/env python3
"""Words that do not come back into comments, messages, --help and pages: they make a component a person, or hide what it does. Code itself is
not searched, only comments and strings of sources, and pages without their code. Prints file, line and word of each; fails where there is one.
`words.py --count` prints how often each word occurs."""
import collections
import io
import os
import re
import subprocess
import sys
import tokenize

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
INSTEAD = {    # as a pattern: what to write
    r"told|tells|telling": "is reported, prints, returns, distinguishes",
    r"vouch\w*": "proves",
    r"witness\w*": "canary, proof",
    r"anew": "again",
    r"who(?:so)?ever": "a process that, a reader that",
    r"nobody": "no process, no reader, or the passive",
    r"somebody": "a process, a user",
    r"lest": "so that ... not",
    r"says|(?:is|are|was|were) (?:said|asked)": "reports, has, returns, prints, is requested",
    r"speaks|spoken|spoke": "uses a protocol",
    r"remembers|forgets|believes": "keeps, drops, takes as",
    r"gives up|goes on|for ever": "stops after, continues, until it is ended",
    r"look(?:s|ed|ing)? at|(?:two|first|latest|late|quiet|second|every|between|since) looks?": "poll, read, sample, examine",
}
WORDS = re.compile(r"\b(" + "|".join(INSTEAD) + r")\b", re.I)
OF_C = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\((?:.*?)\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.S)
OWN = {"tests/structure/words.py"}


def of_c(text):
    """(offset, text) of comments and strings."""
    return [(found.start(), found[0]) for found in OF_C.finditer(text) if not found[0].startswith("'")]


def of_python(text):
    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    # Without the values in f-strings, and without the name of the user nobody.
    return [(lines[token.start[0] - 1] + token.start[1], re.sub(r"\{[^{}]*\}|^\"nobody\"$", lambda value: " " * len(value[0]), token.string))
            for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type in kinds]


def of_page(text):
    """Without blocks and spans of code, whose places stay."""
    return [(0, re.sub(r"^```.*?^```$|^ {4,}[^\n]*|`[^`\n]*`", lambda code: re.sub(r"[^\n]", " ", code[0]), text, flags=re.M | re.S))]


def prose_of(file, text):
    if file.endswith((".cpp", ".hpp", ".h", ".c", ".js", ".css")):
        return of_c(text)
    if file.endswith(".py"):
        return of_python(text)
    return of_page(text) if file.endswith((".md", ".scd")) else [(0, text)]


def found_in(file, text):
    for offset, prose in prose_of(file, text):
        for word in WORDS.finditer(prose):
            yield text.count("\n", 0, offset + word.start()) + 1, word[0]


def own_rules():
    for file, text, expected in (("a.cpp", 'int told;  // is told\nconst char* s = "anew";\n', [(1, "told"), (2, "anew")]),
                                 ("a.py", 'told = 1    # nobody\nx = """lest\nwhoever"""\n', [(1, "nobody"), (2, "lest"), (3, "whoever")]),
                                 ("a.md", "`told` a\n```\ntold\n```\nvouches\n", [(5, "vouches")])):
        if list(found_in(file, text)) != expected:
            return [f"of {text!r} it finds {list(found_in(file, text))}"]
    return []


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        print("skipped: not a git work tree")
        return 77
    ends = (".cpp", ".hpp", ".h", ".c", ".py", ".md", ".scd", ".txt", ".cmake", ".pml", ".toml", ".sql", ".js", ".css", ".html")
    scripts = {"tools/check", "tools/quickstart", "tools/release", "tools/fake_metal", "tools/tracy_file", "tools/tidy_sources", "tools/setup.sh"}
    wrong, counts = own_rules(), collections.Counter()
    for file in listed.stdout.split("\n"):
        path = os.path.join(ROOT, file)
        if file in OWN or not (file.endswith(ends) or file in scripts) or not os.path.isfile(path) or file.startswith(("tests/data/", "tests/fuzz/corpus/")):
            continue
        with open(path, encoding="utf-8") as text:
            for line, word in found_in(file, text.read()):
                counts[word.lower()] += 1
                wrong.append(f"{file}:{line}: '{word}'")
    if "--count" in sys.argv[1:]:
        print("\n".join(f"{count:5} {word}" for word, count in counts.most_common()))
        return 0
    print("\n".join(wrong) or "none")
    if wrong:
        print("write instead: " + "; ".join(f"{pattern.replace(chr(92) + 'w*', '')}: {instead}" for pattern, instead in INSTEAD.items()))
    return bool(wrong)


sys.exit(main())
