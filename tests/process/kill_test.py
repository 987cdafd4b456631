#!/usr/bin/env python3
"""kill -9 of reader, collector or card at random moments. Usage: kill_test.py COUNT [SEED]

After each kill the others continue or end with one clear sentence, a restart works at once, the card has counted no
violation, and nothing stale is in the way.
"""
import os
import random
import sys
import time

import harness as h

COUNT = int(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)


def start_card(name):
    return h.start("ttemu", "--name", name, "--programs", 0, "--rate", 2000, "--cores", 6, "--host-reads", "every:50",
                   "--json")


def start_collector(name):
    # A ring that no reader is late for: minutes of this card's markers. The messages of a lapped reader are tested elsewhere.
    return h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--quiet", "--json", "--ring", "64MiB")


def start_reader(name):
    remove(h.work("reader.csv"))
    return h.start("ttexport", "--from", "live:emu-" + name, "--follow", "--wait", "600s", "-o", h.work("reader.csv"))


def remove(path):
    if os.path.exists(path):
        os.remove(path)


def wait_for_reader(reader):
    """Until it has attached, behind which it opens its output: one that comes after the kill waits for the next collector."""
    h.wait_until(lambda: os.path.exists(h.work("reader.csv")), "the reader has attached", reader)


def one_sentence(who, err):
    lines = [line for line in err.strip().splitlines() if line]
    h.check(1 <= len(lines) <= 4 and all(": " in line for line in lines), f"{who} printed: {err!r}")


def wait_for_chunks(name):
    """Until the collector has published something; as ttmon shows it."""
    def published():
        shown = h.live("emu-" + name) or {}
        return shown.get("state") == "live" and shown["counters"]["chunks"] > 0
    h.wait_until(published, "chunks of the collector")


def main():
    dice = random.Random(SEED)
    print(f"{COUNT} kills, seed {SEED}")
    name = h.card_name()
    card, collector, reader = start_card(name), start_collector(name), start_reader(name)
    kills = {"reader": 0, "collector": 0, "card": 0}
    for _ in range(COUNT):
        wait_for_chunks(name)
        h.check(card.poll() is None, "the card is not there any more")
        h.check(collector.poll() is None, f"the collector ended: {collector.poll()}")
        time.sleep(dice.random() * 0.01)   # the random moment, not a synchronisation
        victim = dice.choice(["reader", "collector", "card"])
        kills[victim] += 1
        if victim == "reader":
            reader.kill()
            h.finish(reader)
            h.check(collector.poll() is None, "killing a reader ended the collector")
            reader = start_reader(name)
        elif victim == "collector":
            wait_for_reader(reader)
            collector.kill()
            code, out, err = h.finish(collector)
            h.check(code == -9, f"the collector had ended by itself with {code}: {err} {out[-2000:]}")
            code, _, err = h.finish(reader)
            h.check(code == 4, f"the reader ended with {code} after its collector was killed: {err}")
            one_sentence("reader", err)
            remains = h.start("ttexport", "--from", "live:emu-" + name, "-o", "/dev/null")
            code, _, err = h.finish(remains)
            h.check(code == 4, f"remains: exit {code}: {err}")
            collector, reader = start_collector(name), start_reader(name)
        else:
            wait_for_reader(reader)
            card.kill()
            h.finish(card)
            code, out, err = h.finish(collector)
            h.check(code == 7, f"the collector ended with {code} after the card was killed: {err}")
            one_sentence("collector", err)
            h.check(h.device(out)["card_vanished"], "the report lacks card_vanished")
            h.finish(reader)
            card, collector, reader = start_card(name), start_collector(name), start_reader(name)
    wait_for_chunks(name)
    card.terminate()
    code, out, err = h.finish(card)
    h.check(code == 0, f"the card counted violations or failed ({code}): {err}")
    for process in (collector, reader):
        code, _, err = h.finish(process)
        h.check(code == 0, f"{process.args[0]} ended with {code}: {err}")
    print("kills:", kills)


main()
