#!/usr/bin/env python3
"""--cpu keeps the drain thread where it was put; emulated cards are left to the kernel otherwise."""
import os

import harness as h


def start_card():
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--cores", 2, "--programs", 0, "--rate", 200, "--linger", "0s", "--quiet")
    h.wait_for_card(name, card)
    return name, card


def thread_masks(pid):
    masks = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            masks.append(os.sched_getaffinity(int(tid)))
        except ProcessLookupError:
            pass
    return masks


def main():
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        h.skip("only one CPU: nothing can be compared")
    wanted = max(allowed)
    name, card = start_card()
    collector = h.start("ttcollect", "--device", "emu:" + name, "--cpu", wanted, "--json")
    while {wanted} not in thread_masks(collector.pid):
        h.check(collector.poll() is None, "the collector ended")
    h.check(allowed in thread_masks(collector.pid), "the supervisor was pinned, too")
    collector.terminate()
    code, out, err = h.finish(collector)
    h.check(code == 0, err)
    host = h.device(out)["host"]
    h.check(host["cpus"] == str(wanted) and host["why"] == "as given by --cpu", f"{host}")

    for options in ((), ("--no-pin",)):
        code, out, err = h.run("ttcollect", "--device", "emu:" + name, "--for", "100ms", "--json", *options)
        h.check(code == 0 and h.device(out)["host"] == {"cpus": None, "why": "", "memory_node": None}, out + err)
    code, _, err = h.run("ttcollect", "--device", "emu:" + name, "--for", "100ms", "--cpu", wanted, "--verbose")
    h.check(code == 0 and f"drain thread on CPUs {wanted}, as given by --cpu" in err, err)

    for words, options in ((["no list of CPUs", "2-3,10"], ("--cpu", "some")),
                           (["may not run", "60000"], ("--cpu", "60000")),
                           (["--no-pin"], ("--cpu", wanted, "--no-pin"))):
        code, out, err = h.run("ttcollect", "--device", "emu:" + name, *options)
        h.check(code == 2 and all(w in err + out for w in words), f"{options}: {code} {err}")
    card.terminate()
    h.check(h.finish(card)[0] == 0, "the card did not end in order")
    print("ok")


main()
