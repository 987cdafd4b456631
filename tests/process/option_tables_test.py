#!/usr/bin/env python3
"""Man pages and completions have the options that --help has, of every program and command: none less, none more."""
import gzip
import os
import pty
import re
import select
import shutil
import subprocess
import sys

from harness import BIN, check, finish, skip, start, work

PROGRAMS = ("ttcollect", "ttexport", "ttreport", "ttmon", "ttemu", "ttdelay", "ttfleet")
MADE = os.path.join(os.path.dirname(BIN), "packaging")
SOURCES = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../packaging/man"))


def help_of(*command):
    code, out, err = finish(start(*command, "--help"))
    check(code == 0, f"{command} --help: {code} {err}")
    return out


def options_in(text):
    """The options in --help: lines of two spaces and names."""
    found = set()
    for line in text.splitlines():
        if match := re.match(r"  (-\S+)", line):
            found.update(name.split("{")[0] for name in match[1].split(","))
    return found


def commands_in(text):
    lines = text.partition("\nSubcommands:\n")[2].splitlines()
    return [match[1] for line in lines[:lines.index("") if "" in lines else None] if (match := re.match(r"  ([a-z]+)(\s|$)", line))]


def tables():
    """(program, command or "", options) by --help."""
    for program in PROGRAMS:
        text = help_of(program)
        check(len(options_in(text)) >= 3, f"{program}: {text}")
        yield program, "", options_in(text)
        for command in commands_in(text):
            yield program, command, options_in(help_of(program, command))


def in_manual(program):
    """Options by command, of the page as it is installed."""
    with gzip.open(os.path.join(MADE, "man", program + ".1.gz"), "rt") as page:
        text = page.read().replace("\\-", "-")
    found, command = {}, None
    for line in text.splitlines():
        if match := re.match(r'\.S[HS] "?(.*?)"?$', line):
            title = match[1]
            command = "" if title == "OPTIONS" else title.split()[1] if title.startswith(program + " ") else None
        elif command is not None and line.startswith("\\fB-"):
            found.setdefault(command, set()).update(re.findall(r"\\fB(-.*?)\\fR", line))
    return found


def manual():
    if not shutil.which("scdoc"):
        skip("scdoc is not there")
    compared = 0
    pages = {program: in_manual(program) for program in PROGRAMS}
    for program, command, options in tables():
        of_page = pages[program].pop(command, set())
        check(of_page == options, f"{program} {command}: the page has {sorted(of_page - options)} more, lacks {sorted(options - of_page)}")
        compared += len(options)
    check(not any(pages.values()) and compared > 300, f"commands of pages that --help does not have: {pages}; {compared} options compared")
    formats = re.search(r"--format TEXT:\{(.*?)\}", help_of("ttexport"))[1].split(",")
    text = "".join(open(os.path.join(SOURCES, page)).read() for page in os.listdir(SOURCES) if page.endswith(".5.scd"))
    for name in formats:
        check(name + "\n" in re.findall(r"^## (.*\n)", text, re.M), f"no page of section 5 describes the format {name}")
    for page in os.listdir(SOURCES):
        check(os.path.getsize(os.path.join(MADE, "man", page[:-len(".scd")] + ".gz")) > 500, f"{page} was not made")


def pages():
    """A list of options on a page is what --help prints."""
    with open(os.path.join(SOURCES, "../../docs/run.md"), encoding="utf-8") as page:
        text = page.read()
    options = help_of("ttcollect", "run").split("\nOptions:\n")[1].split("\n\n")[0]
    check(f"```text\n{options}\n```\n" in text, f"docs/run.md has another list than `ttcollect run --help`:\n{options}")


BASH = r"""
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_$1; printf '%s\n' "${COMPREPLY[@]}"
"""


def by_bash(*words):
    file = os.path.join(MADE, "completions", words[0])
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", file, *words], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, f"{words}: {done}")
    return set(done.stdout.split())


def bash():
    for program, command, options in tables():
        offered = by_bash(program, *filter(None, [command]), "-")
        check(offered == options, f"{program} {command}: {sorted(offered ^ options)}")
    check(by_bash("ttexport", "--format", "s") == {"sync-info", "sqlite", "svg"}, "values of --format")
    check(by_bash("ttexport", "--format", "=", "p") == {"perfetto", "prometheus"}, "--format=p")
    check(by_bash("ttcollect", "-d", "list", "do") == {"doctor"}, "the value of an option is no command")
    file = work("capture.ttc")
    open(file, "w").close()
    check(by_bash("ttexport", "--from", file[:-3]) == {file}, "a file behind --from")


def fish():
    if not shutil.which("fish"):
        skip("fish is not there")

    def offered(program, line):
        file = os.path.join(MADE, "completions", program + ".fish")
        done = subprocess.run(["fish", "--no-config", "-c", f'source {file}; complete -C "{line}"'], capture_output=True, text=True,
                              env={**os.environ, "HOME": work(""), "XDG_CONFIG_HOME": work("")})
        check(done.returncode == 0 and not done.stderr, f"{line}: {done}")
        return {row.split("\t")[0] for row in done.stdout.splitlines()}
    for program, command, options in tables():
        words = f"{program} {command} --" if command else f"{program} --"
        expected = {option for option in options if option.startswith("--")}
        check(offered(program, words) == expected, f"{words}: {sorted(offered(program, words) ^ expected)}")
    check(offered("ttexport", "ttexport --format s") == {"sync-info", "sqlite", "svg"}, "values of --format")
    check("doctor" in offered("ttcollect", "ttcollect do"), "commands")


class Zsh:
    """A zsh at a terminal whose programs print what they are called with."""

    def __init__(self):
        functions = work("functions")
        os.makedirs(functions)
        for program in PROGRAMS:
            shutil.copy(os.path.join(MADE, "completions", "_" + program), functions)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", HOME=work(""))
            os.execlp("zsh", "zsh", "-f", "-i")
        self.seen = b""
        prints = "; ".join(f'{program}() {{ print -r -- "CALLED:$*" }}' for program in PROGRAMS)
        self.type(f"PS1='> '; fpath=({functions} $fpath); autoload -U compinit; compinit -u -D; {prints}; print READY\n")
        self.until(b"\nREADY")

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, text):
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], 120)
            check(ready, f"zsh printed only {self.seen}")
            self.seen += os.read(self.fd, 4096)
        before, _, self.seen = self.seen.partition(text)
        return before.decode()

    def completed(self, line):
        self.type(line + "\n")
        self.until(b"\nCALLED:")
        return self.until(b"\r\n")

    def end(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def zsh():
    if not shutil.which("zsh"):
        skip("zsh is not there")
    shell = Zsh()
    for line, expected in (("ttexport --format sq\t", "--format sqlite"), ("ttcollect doct\t--js\t", "doctor --json"),
                           ("ttexport --no-arg\t", "--no-args"), ("ttcollect --mode trace\t", "--mode trace-only"),
                           ("ttmon to\t--ro\t3", "top --rows=3"), ("ttreport ops --top-s\t1", "ops --top-slow=1"),
                           ("ttemu --wait-obs\t", "--wait-observer")):
        found = shell.completed(line).strip()
        check(found == expected, f"{line!r} became {found!r}")
    shell.end()
    for program, command, options in tables():    # each name is in the function, for its command
        with open(os.path.join(MADE, "completions", "_" + program)) as file:
            text = file.read()
        part = text if not command else re.search(rf"^      {command}\)\n(.*?);;", text, re.S | re.M)[1]
        if not command:
            part = text.partition("case $state in")[0]
        found = set(re.findall(r"^ *'\*(-[^=\[+]*)", part, re.M))
        check(found == options, f"{program} {command}: {sorted(found ^ options)}")


if __name__ == "__main__":
    os.makedirs(work("empty"))
    os.chdir(work("empty"))    # names of files are offered, too
    {"manual": manual, "pages": pages, "bash": bash, "fish": fish, "zsh": zsh}[sys.argv[1]]()
