#!/usr/bin/env python3
"""Two users and one card: what one leaves is not in the way of the other, and each case has its sentence."""
import os
import subprocess
import sys

import harness as h

NOBODY, OTHER = 65534, "nobody"    # a user of every system
# `ttcollect clean` takes all that is dead, also what another test uses: these tests have a /dev/shm of their own.
OWN_SHM = ("unshare", "-m", "sh", "-c", "mount --make-rprivate / && mount -t tmpfs tmpfs /dev/shm && exec \"$@\"", "sh")


def as_nobody(tool, *arguments):
    done = subprocess.run([os.path.join(h.BIN, tool), *map(str, arguments)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          user=NOBODY, group=NOBODY, extra_groups=[], timeout=h.LIMIT_S, cwd="/")
    return done.returncode, done.stdout, done.stderr


def started_as_nobody(tool, *arguments):
    return h.start(tool, *arguments, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")


def card():
    name = h.card_name()
    return name, h.start("ttemu", "--name", name, "--cores", 2, "--programs", 0, "--rate", 300, "--host-reads", "every:100", "-q")


def files(name):
    return sorted(f for f in os.listdir("/dev/shm") if f.startswith(f"ttcollect-emu-{name}"))


def remains_of_root():
    """After root's run ended in order any other user got "cannot be taken over: Permission denied" until root ran clean."""
    name, emulator = card()
    collector = h.start("ttcollect", "-d", "emu:" + name, "--wait", "10min", "-q")
    h.wait_for_collector(name, collector)
    collector.terminate()
    h.check(h.finish(collector)[0] == 0, "root's collector did not end in order")
    h.check(files(name) == [f"ttcollect-emu-{name}.0"], f"{files(name)}")

    code, _, err = as_nobody("ttexport", "--from", "live:emu-" + name)
    h.check(code == 3 and "belongs to root" in err and "--group" in err, f"reading what root left: {code} {err}")
    code, out, err = as_nobody("ttcollect", "clean")
    h.check(code == 0 and f"live:emu-{name}.0 belongs to root and is not removed" in out, f"clean of another user: {code} {out} {err}")
    code, out, _ = as_nobody("ttcollect", "list")
    h.check(code == 0 and f"live:emu-{name}.0" in out, f"list of another user: {code} {out}")

    second = started_as_nobody("ttcollect", "-d", "emu:" + name, "--wait", "10min", "-q")
    h.wait_until(lambda: as_nobody("ttmon", "emu-" + name, "--once")[0] == 0, "another user collects", second)
    # The living one, from everybody's side; each user's by its number.
    code, out, _ = h.run("ttmon", "emu-" + name, "--once")
    h.check(code == 0 and " live\n" in out and f"pid {second.pid}" in out, f"live:NAME is not the living one: {out}")
    code, out, _ = h.run("ttmon", f"emu-{name}.0", "--once")
    h.check(code == 0 and " ended\n" in out, f"live:NAME.0 is not root's: {out}")
    code, _, err = h.run("ttcollect", "-d", "emu:" + name)
    h.check(code == 5 and f"pid {second.pid} of {OTHER}" in err, f"root beside another user's collector: {code} {err}")
    second.terminate()
    h.check(h.finish(second)[0] == 0, "the other user's collector did not end in order")
    h.check(len(files(name)) == 2, f"{files(name)}")
    code, out, _ = h.run("ttcollect", "clean")
    h.check(code == 0 and not files(name), f"clean of root: {out} {files(name)}")
    emulator.terminate()
    h.finish(emulator)


def links():
    """A dangling link blocked a card's name, and clean left it; -o wrote through another user's link."""
    name, emulator = card()
    os.symlink("/nonexistent/target", f"/dev/shm/ttcollect-emu-{name}.0")
    code, out, err = h.run("ttcollect", "clean")
    h.check(code == 0 and not files(name), f"clean left a dangling link: {out} {err}")
    os.symlink("/nonexistent/target", f"/dev/shm/ttcollect-emu-{name}.0")
    code, _, err = h.run("ttexport", "--from", "live:emu-" + name)
    h.check(code == 3 and "symbolic link" in err, f"reading a link: {code} {err}")
    code, out, err = h.run("ttcollect", "-d", "emu:" + name, "--wait", "10min", "--for", "200ms", "-q")
    h.check(code == 0, f"collecting where a link stood: {code} {err}")
    h.check(not os.path.islink(f"/dev/shm/ttcollect-emu-{name}.0"), "the link is still there")

    target, link = h.work("target"), h.work("link.csv")
    with open(target, "w") as file:
        file.write("precious\n")
    os.symlink(target, link)
    os.lchown(link, NOBODY, NOBODY)
    for command in (("ttexport", "--from", "live:emu-" + name, "-o"), ("ttexport", "--from", "live:emu-" + name, "--follow", "-o"),
                    ("ttcollect", "-d", "emu:" + name, "-o"), ("ttcollect", "snapshot", "emu-" + name, "-o"),
                    ("ttcollect", "recover", "live:emu-" + name, "-o"), ("ttreport", "loss", "--from", "live:emu-" + name, "-o")):
        code, _, err = h.run(*command, link)
        h.check(code == 2 and "link of another user" in err, f"{command}: {code} {err}")
    with open(target) as file:
        h.check(os.path.islink(link) and file.read() == "precious\n", "a link of another user was written through")
    emulator.terminate()
    h.finish(emulator)


def main():
    if os.geteuid() != 0:
        h.skip("only root can be another user")
    if "TTC_OWN_SHM" not in os.environ:
        if subprocess.run([*OWN_SHM, "true"], capture_output=True).returncode != 0:
            h.skip("mounting is not allowed here")
        sys.exit(subprocess.run([*OWN_SHM, sys.executable, "-B", __file__, *sys.argv[1:]], env={**os.environ, "TTC_OWN_SHM": "1"}).returncode)
    os.chmod(h.work(""), 0o755)
    {"remains": remains_of_root, "links": links}[sys.argv[1]]()
    print("ok")


main()
