#!/usr/bin/env python3
"""The parts of a release (tools/release), tested as users have them: packages, the service, the tarball, the wheel.

`lintian`, `bare`, `tarball`, `jammy`, `noble` and `release` run in `tools/check --long`. TTC_BARE names a directory with bare systems that
exist (bookworm, bullseye, jammy, noble: as debootstrap makes them) and are copied; without it debootstrap fetches them, Ubuntu's only where
the keyring of its archive is there."""
import base64
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile

from harness import BIN, LONG, card_name, check, finish, run, skip, start, wait_for_card, wait_until, work

BUILD = os.path.dirname(BIN)
SOURCES = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
UNIT = os.path.join(SOURCES, "packaging/systemd/ttcollect@.service")
PROGRAMS = ("ttcollect", "ttdelay", "ttemu", "ttexport", "ttfleet", "ttmon", "ttreport")
MOST_EXPOSURE = 2.5
UBUNTU = "http://archive.ubuntu.com/ubuntu"
UBUNTU_KEYRING = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"


def call(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    check(done.returncode == 0, f"{command}: exit {done.returncode}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            skip(f"{program} is not there")


def only_long():
    if not LONG:
        skip("bare systems, lintian and signed artefacts are of tools/check --long")


def packages(compression):
    """{name: file}"""
    need("dpkg-deb", "dpkg-shlibdeps", "cpack", "file")
    out = work("packages")
    call("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", out, "-D", f"CPACK_DEBIAN_COMPRESSION_TYPE={compression}")
    files = {os.path.basename(file).split("_")[0]: file for file in glob.glob(os.path.join(out, "*.deb"))}
    check(sorted(files) == ["libttcollect-dev", "libttcollect0", "python3-ttcollect", "ttcollect"], f"{files}")
    return files


def unpacked(name, file):
    """Paths of a package that are no directories, below `root`."""
    root = work("of-" + name)
    call("dpkg-deb", "-x", file, root)
    return root, {os.path.relpath(os.path.join(folder, entry), root) for folder, folders, entries in os.walk(root)
                  for entry in entries + [name for name in folders if os.path.islink(os.path.join(folder, name))]}


def dynamic(file):
    return re.findall(r"\((NEEDED|SONAME|RPATH|RUNPATH)\).*\[(.*)\]", call("readelf", "-dW", file))


def files():
    made = {name: unpacked(name, file) for name, file in packages("gzip").items()}
    expected = {f"usr/bin/{program}" for program in PROGRAMS} | {"lib/systemd/system/ttcollect@.service"}
    for program in PROGRAMS:
        expected |= {f"usr/share/bash-completion/completions/{program}", f"usr/share/zsh/vendor-completions/_{program}",
                     f"usr/share/fish/vendor_completions.d/{program}.fish"}
    for page in os.listdir(os.path.join(SOURCES, "packaging/man")):
        section = page.split(".")[1]
        if section != "3" and shutil.which("scdoc"):
            expected.add(f"usr/share/man/man{section}/{page[:-len('.scd')]}.gz")
    root, content = made["ttcollect"]
    check(not expected - content, f"ttcollect lacks {sorted(expected - content)}")
    rest = {path for path in content - expected if not path.startswith("usr/share/doc/ttcollect/")}
    check(not rest, f"ttcollect has more: {rest}")
    library = next(os.path.join(made["libttcollect0"][0], path) for path in made["libttcollect0"][1] if path.endswith(".so.0"))
    for file in [library] + [os.path.join(root, "usr/bin", program) for program in PROGRAMS]:
        entries = dynamic(file)
        check(entries and not [entry for entry in entries if entry[0] in ("RPATH", "RUNPATH")], f"{file}: {entries}")
        check(("SONAME", "libttcollect.so.0") in entries or file != library, f"{file}: {entries}")
        versions = [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", call("objdump", "-T", file))]
        check(max(versions) <= (2, 35), f"{file} needs a C library newer than that of Ubuntu 22.04: {max(versions)}")
    for name, (root, content) in made.items():
        check({f"usr/share/doc/{name}/changelog.gz", f"usr/share/doc/{name}/copyright"} <= content, f"{name}: {content}")
        for path in content:
            if not os.path.islink(os.path.join(root, path)):
                with open(os.path.join(root, path), "rb") as file:
                    check(SOURCES.encode() not in file.read(), f"{name}: {path} names a directory of the build")
    development = {path.split("/")[-1] for path in made["libttcollect-dev"][1]}
    check({"reader.h", "marker_stream.hpp", "ttcollect_mark.h", "libttcollect.so", "ttcollect.pc", "ttcollectConfig.cmake"} <= development,
          f"{development}")
    link = os.path.join(made["python3-ttcollect"][0], "usr/lib/ttcollect/python/ttcollect")
    check(os.path.exists(os.path.join(link, "__init__.py")), "the directory for PYTHONPATH")
    version = run("ttcollect", "--version")[1]
    check(re.fullmatch(r"ttcollect \d+\.\d+\.\d+( \(commit [0-9a-f]{12}(, \d+ after v[^,]*)?(, changed)?\))?\n", version), version)


def unit():
    """The service, with an emulated card in place of the card: what it wrote before it was killed stays."""
    with open(UNIT) as file:
        text = file.read()
    command = re.search(r"^ExecStart=/usr/bin/ttcollect (.*)$", text, re.M)[1]
    name = card_name()
    recordings = work("recordings")
    os.makedirs(recordings)
    words = command.replace("--device %i", f"--device emu:{name}").replace("%S/ttcollect", recordings).replace("%i", "0").split()
    check("%" not in " ".join(words), f"{words}")
    words[words.index("--flight") + 1] = "1MiB"
    card = start("ttemu", "--name", name, "--cores", 2, "--programs", 100000000, "--host-reads", "every:100", "--pace", "-q")
    wait_for_card(name, card)

    def written():
        return {file: hashlib.sha256(open(os.path.join(recordings, file), "rb").read()).hexdigest()
                for file in os.listdir(recordings) if file.endswith(".ttc")}
    seen = {}
    for end in (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM):
        service = start("ttcollect", *words)
        wait_until(lambda: f'"pid":{service.pid}' in run("ttcollect", "list", "--json")[1].replace(" ", ""), "it collects", service)
        service.send_signal(signal.SIGUSR1)    # systemctl reload
        wait_until(lambda: len(written()) > len(seen), "a recording", service)
        service.send_signal(end)
        code, _, err = finish(service)
        check(code == (0 if end == signal.SIGTERM else -end), f"{code} {err}")
        now = written()
        check(all(now.get(file) == digest for file, digest in seen.items()), f"a recording was replaced: {seen} {now}")
        seen = now
    check(len(seen) >= 3, f"{seen}")
    for file in seen:
        code, _, err = run("ttcollect", "info", os.path.join(recordings, file))
        check(code == 0, f"{file}: {code} {err}")
    card.kill()
    finish(card)
    if not shutil.which("systemd-analyze"):
        skip("systemd-analyze is not there: the exposure of the service was not rated")
    instance = work("ttcollect@0.service")
    shutil.copy(UNIT, instance)
    rated = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", instance], capture_output=True, text=True)
    exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", rated.stdout)
    check(exposure and float(exposure[1]) <= MOST_EXPOSURE, rated.stdout + rated.stderr)


def lintian():
    only_long()
    need("lintian")
    report = subprocess.run(["lintian", "--allow-root", *packages("xz").values()], capture_output=True, text=True).stdout
    found = [line for line in report.splitlines() if re.match("[EW]:", line)]
    check(not found, "\n".join(found))


def bare_system(suite):
    """A system of its own, without anything of ours."""
    only_long()
    need("debootstrap", "unshare", "chroot")
    if os.getuid() != 0:
        skip("debootstrap and chroot need root")
    root = work(suite)
    at_hand = os.path.join(os.environ.get("TTC_BARE", "/nonexistent"), suite)
    if os.path.isdir(at_hand):
        call("cp", "-a", "--reflink=auto", at_hand, root)
    else:
        how = ("--variant=minbase", suite, root)
        if suite in ("jammy", "noble"):
            if not os.path.exists(UBUNTU_KEYRING):
                skip(f"there is no {UBUNTU_KEYRING}, and TTC_BARE has no {suite}")
            how = ("--keyring", UBUNTU_KEYRING, *how, UBUNTU, "gutsy")    # the script of all later ones
        made = subprocess.run(["debootstrap", *how], capture_output=True, text=True)
        if made.returncode != 0:
            skip(f"debootstrap could not fetch {suite}")
    for file in ("/etc/resolv.conf", "/etc/hosts"):
        shutil.copy(file, root + file)
    return root


# Mounts end with the processes. Shared memory is the system's own; processes are, too.
INSIDE = """
cd "$1"; mount -t proc proc proc; mount -t tmpfs shm dev/shm; exec chroot . bash -euo pipefail /job
"""


def inside(root, script):
    with open(os.path.join(root, "job"), "w") as file:
        file.write(script)
    return call("unshare", "--mount", "--pid", "--fork", "--propagation", "private", "bash", "-euc", INSIDE, "bash", root,
                env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})


# The steps of tools/quickstart, with installed programs.
JOB = """
mkdir /tmp/job; cd /tmp/job
ttemu --name job --workload matmul --cores 24 --programs 40 --host-reads every:15 --pace --wait-observer --truth truth.csv -q & card=$!
ttexport --from live:emu-job --wait 5min --follow -o log.csv & exporter=$!
ttcollect --device emu:job --wait 5min --quiet -o run.ttc
wait $exporter; wait $card
cmp <(sort truth.csv) <(sort log.csv)
[ $(wc -l <log.csv) -gt 100000 ]
ttexport --from run.ttc --format sqlite -o run.db
ttreport sql run.db "SELECT sum(cycles) FROM zones" --csv
ttreport heatmap run.ttc -o cores.png; [ $(stat -c %s cores.png) -gt 5000 ]
mkdir root; ttcollect run -o root -n demo -d emu:run -- ttemu --name run --cores 2 --programs 200 --wait-observer -q >/dev/null 2>&1
ls root/reports/demo/*/ | grep -q ops_perf_results
"""
PYTHON = """
python3 -c 'import ttcollect
tables = ttcollect.open("run.ttc").read()
print("cycles", int((tables.zones["end_cycles"] - tables.zones["begin_cycles"]).sum()))'
"""
# Everything but what dpkg, apt, ldconfig and fontconfig keep for themselves.
LISTED = """
listed() {
  find / -xdev \\( -path /proc -o -path /debs -o -path /tmp -o -path /job -o -path /before \\) -prune -o -printf '%p %y %m %U %l\\n' | grep -v -E \\
    '^(/var/log/|/var/lib/dpkg/|/var/cache/(ldconfig|apt|fontconfig)[/ ]|/var/lib/apt/|/etc/ld.so.cache |/etc/(passwd|group|shadow|gshadow)-? )' | sort
}
"""


def cycles_in(out):
    """Of the database, and of numpy."""
    return [re.search(r"^sum\(cycles\)\n(\d+)$", out, re.M)[1], *re.findall(r"^cycles (\d+)$", out, re.M)]


def bare():
    root = bare_system("bookworm")
    os.makedirs(root + "/debs")
    for file in packages("gzip").values():
        shutil.copy(file, root + "/debs")
    # First once, so that what remains of the packages it depends on is no difference.
    out = inside(root, LISTED + f"""
apt-get update -qq
apt-get install -y -qq --no-install-recommends /debs/*.deb g++ cmake make pkg-config >/dev/null
dpkg --purge ttcollect libttcollect0 libttcollect-dev python3-ttcollect >/dev/null
listed >/before
dpkg -i /debs/*.deb >/dev/null
{JOB}{PYTHON}
cp -r /usr/share/doc/ttcollect/examples examples
cmake -S examples -B built >/dev/null; cmake --build built >/dev/null
cc -std=c99 -Wall -Werror examples/top_zones.c $(pkg-config --cflags --libs ttcollect) -o top_zones
diff <(./top_zones run.ttc) <(built/top_zones run.ttc)
id -u ttcollect >/dev/null
mkdir -p /etc/systemd/system/multi-user.target.wants /var/lib/ttcollect
ln -s /lib/systemd/system/ttcollect@.service /etc/systemd/system/multi-user.target.wants/ttcollect@0.service    # as `systemctl enable`
touch /var/lib/ttcollect/card-0.0001.ttc
cd /; rm -rf /tmp/*
dpkg --purge ttcollect libttcollect0 libttcollect-dev python3-ttcollect >/dev/null
rmdir --ignore-fail-on-non-empty /etc/systemd/system/multi-user.target.wants
diff /before <(listed) && echo "nothing is left"
ls /dev/shm
! grep -s ttcollect /etc/passwd /etc/group /etc/shadow /etc/gshadow && echo "no user is left"
""")
    check(out.rstrip().endswith("nothing is left\nno user is left"), out)
    cycles = cycles_in(out)
    check(len(cycles) == 2 and cycles[0] == cycles[1], f"{cycles}: {out}")


def of_ubuntu(suite):
    """The tarball where tt-metal's users are, and its Python package in their Python, with their numpy."""
    tarball(suite, f"""
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3-numpy >/dev/null
export PYTHONPATH="/opt/some where/ttcollect-x/lib/ttcollect/python"
{PYTHON}""")


def tarball(suite="bullseye", more=""):
    """On a system with an older C library than ours, and without anything that programs need."""
    root = bare_system(suite)
    os.makedirs(root + "/debs")
    call(sys.executable, "-B", os.path.join(SOURCES, "packaging/tarball"), BUILD, root + "/debs/ttcollect-x.tar.gz")
    out = inside(root, f"""
mkdir "/opt/some where"; tar -xzf /debs/ttcollect-x.tar.gz -C "/opt/some where"; export PATH="/opt/some where/ttcollect-x/bin:$PATH"
{JOB}{more}
""")
    cycles = cycles_in(out)
    check(int(cycles[0]) > 0 and len(cycles) == (2 if more else 1) and cycles[0] == cycles[-1], out)


def release():
    """The artefacts of this build, signed."""
    only_long()
    need("gpg", "dpkg-deb", "dpkg-shlibdeps", "cpack", "file", "git")
    home = work("gnupg")
    os.makedirs(home, mode=0o700)
    environment = {**os.environ, "GNUPGHOME": home}
    try:
        call("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@example.org", "ed25519", "sign", env=environment)
        out = work("release")
        call(os.path.join(SOURCES, "tools/release"), out, "--unreleased", "--build", BUILD, "--key", "test@example.org", env=environment)
        call("gpg", "--verify", "SHA256SUMS.asc", "SHA256SUMS", cwd=out, env=environment)
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=environment, capture_output=True)
    call("sha256sum", "-c", "SHA256SUMS", cwd=out)
    with open(os.path.join(out, "SHA256SUMS")) as sums:
        summed = {line.split()[1].removeprefix("./") for line in sums}
    check(summed == set(os.listdir(out)) - {"SHA256SUMS", "SHA256SUMS.asc"} and len(summed) == 7, f"{summed}")
    for words, sentence in (([work("refused")], "no tag"), ([out, "--unreleased"], "is not empty"), (["--x"], "is not known")):
        done = subprocess.run([os.path.join(SOURCES, "tools/release"), *words], capture_output=True, text=True)
        check(done.returncode == 2 and done.stderr.count("\n") == 1 and (sentence in done.stderr or "files are changed" in done.stderr),
              f"{words}: {done}")
    check(not os.path.exists(work("refused")), "a refused release left a directory")


def wheel():
    """Its record is true, and libttcollect and what it needs are loaded from it, where nothing else of ours is."""
    call(sys.executable, "-B", os.path.join(SOURCES, "packaging/wheel"), BUILD, work(""))
    file, alone = next(glob.iglob(work("*.whl"))), work("alone")
    with zipfile.ZipFile(file) as content:
        names = content.namelist()
        rows = [line.split(",") for line in content.read(names[-1]).decode().splitlines()]
        check(names[-1].endswith("/RECORD") and [row[0] for row in rows] == names, f"{names} {rows}")
        for name, digest, size in rows[:-1]:
            data = content.read(name)
            expected = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            check((digest, int(size)) == (expected, len(data)), f"{name}: {digest}")
        content.extractall(alone)
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
            break
    else:
        skip("no Python with numpy")
    found = subprocess.run([python, "-B", "-c", """
import ttcollect
from ttcollect import _library
print(_library.loaded()._name)
try:
    ttcollect.open("nowhere.ttc")
except ttcollect.Error as error:
    print(error.status)
with open("/proc/self/maps") as maps:
    print(*{line.split()[-1] for line in maps if "libzstd" in line})
"""], capture_output=True, text=True, cwd=alone)
    check(found.stdout.split() == [f"{alone}/ttcollect/libttcollect.so.0", "-3", f"{alone}/ttcollect/libs/libzstd.so.1"], f"{found}")


if __name__ == "__main__":
    {"files": files, "unit": unit, "lintian": lintian, "bare": bare, "tarball": tarball,
     "jammy": lambda: of_ubuntu("jammy"), "noble": lambda: of_ubuntu("noble"), "release": release, "wheel": wheel}[sys.argv[1]]()
