#!/usr/bin/env python3
"""Values that do not fit were taken for others, and options of another format or program part were taken for nothing."""
import json

import harness as h


def refused(words, *command):
    code, out, err = h.run(*command)
    h.check(code == 2 and words in err and not out, f"{command}: exit {code}: {err}{out}")


def refusals_as_json():
    """With --json an exit 4 printed nothing on stdout."""
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--profiler", "off", "-q")
    h.wait_for_card(name, card)
    code, out, err = h.run("ttcollect", "-d", "emu:" + name, "--json")
    told = json.loads(out)
    h.check(code == 4 and told["exit_code"] == 4 and told["devices"] == [] and told["error"] in err, f"{code} {out} {err}")
    card.terminate()
    h.finish(card)


def probe_of_a_slow_tile():
    """A row of the table was left out without a word when one load took over 2 ms."""
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--profiler", "off", "-q", "--fault", "hung-read:tile=1-1,after=3000,every=1,for=5ms")
    h.wait_for_card(name, card)
    code, out, err = h.run("ttcollect", "probe", "-d", "emu:" + name, "--samples", 500, "--json")
    gaps = json.loads(out)["left_out"] if code == 0 else []
    h.check(gaps and all("longer than a tile may take" in gap["why"] for gap in gaps), f"{code} {out} {err}")
    code, out, err = h.run("ttcollect", "probe", "-d", "emu:" + name, "--samples", 500)
    h.check(code == 0 and "longer than a tile may take" in out, f"{code} {out} {err}")
    card.terminate()
    h.finish(card)


def main():
    refusals_as_json()
    probe_of_a_slow_tile()
    for port in ("99999", "65536", "foo", "1.2.3.4:", ":8600", "-1"):
        refused("ports are 0 to 65535", "ttcollect", "-d", "emu:x", f"--tracy={port}")
        refused("ports are 0 to 65535", "ttexport", "--from", "x", "--format", "tracy", f"--listen={port}")
    for option in ("--programs", "--cores", "--dispatch-cores", "--landing-ns", "--seed", "--pace", "--ethernet"):
        refused("-1", "ttemu", "--name", "x", f"{option}=-1")
    refused("--harvest", "ttemu", "--name", "x", "--harvest", 99)
    name = h.card_name()
    code, _, err = h.run("ttemu", "--name", name, "--harvest", 0)
    h.check(code == 3 and "no Tensix tile" in err, f"--harvest 0: {code} {err}")
    for option in ("--cores", "--dispatch-cores"):
        refused("this card has", "ttemu", "--name", name, option, 9999)
    for words, *arguments in (("of --format device-csv, not of chrome", "--format", "chrome", "--columns", 6),
                              ("of --format svg, not of device-csv", "--window", "1us,1us"),
                              ("of --format tracy and prometheus, not of device-csv", "--listen", 77),
                              ("of --format tracy, not of device-csv", "--once"),
                              ("of --format perfetto and chrome, not of device-csv", "--no-args"),
                              ("not of tracy, which is served", "--format", "tracy", "-o", "x"),
                              ("not of tracy, which is served", "--format", "tracy", "--follow")):
        refused(words, "ttexport", "--from", "x", *arguments)
    refused("is no duration", "ttcollect", "-d", "emu:x", "--idle", "nan")
    print("ok")


main()
