#!/usr/bin/env python3
"""A card, a workload or a host that misbehaves: the collector reports the right thing, and counts it.

Usage: fault_test.py CASE [SEED]. Faults that must fall into the run are placed by round trips of the collector, not by
time; the seed is printed and repeats a run's dice.
"""
import random
import sys

import harness as h
from live_run import Run

SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 16)
TILE = "1-2"     # the second core of the workload
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


PACED = ("--pace", "--cores", 4, "--programs", 600, "--host-reads", "every:150")
ONE_EPOCH = ("--pace", "--cores", 4, "--programs", 200)    # no host reads: a gap in polling a core leaves nothing uncertain
RUNNING = ("--cores", 4, "--programs", 1000, "--rate", 1000, "--host-reads", "every:300")
LATER = 60000    # round trips: every core has delivered by then
# Until the fault, however slow the collector is to get there.
ENDLESS = ("--cores", 4, "--programs", 0, "--rate", 300, "--host-reads", "every:100")


# --- silence and slowness ---------------------------------------------------------------------------------------

@case
def all_ones_for_a_while():
    Run([f"all-ones:tile={TILE},after=6000,for=50ms"], ONE_EPOCH).all_delivered().count("all_ones_reads").count("suspicions")


@case
def all_ones_in_dram_for_a_while():
    Run(["all-ones:tile=0-0,after=6000,for=50ms"], ONE_EPOCH).all_delivered().count("all_ones_reads").count("suspicions")


@case
def all_ones_for_good():
    r = Run([f"all-ones:tile={TILE},after={LATER}"], ENDLESS, ends="suspect_tiles").losses_reported().count("suspicions")
    h.check(r.report["suspect_tiles"] == 1, f"suspect_tiles is {r.report['suspect_tiles']}")
    dark = {(record["x"], record["y"]) for record in r.lost if record["cause"] == "tile unreadable"}
    h.check(dark == {(1, 2)}, f"unreadable tiles: {dark}")
    h.check(r.hits["all-ones"] < 200, f"the silent tile was read {r.hits['all-ones']} times")


@case
def all_ones_everywhere():
    r = Run([f"all-ones:after={LATER}"], ENDLESS, collect_code=7, ends="card_gone_intervals").losses_reported()
    h.check(r.report["card_vanished"] and "card gone" in r.causes(), f"{r.report['ended']}: {r.causes()}")
    h.check(r.hits["all-ones"] < 40, f"the silent card was read {r.hits['all-ones']} times")


@case
def hung_read():
    # One load of so many: to the collector the same as a CPU that was taken away. No tile is left alone for it.
    r = Run([f"hung-read:every=4000,for=5ms,seed={SEED}"], ONE_EPOCH).all_delivered().count("slow_reads").count("delayed_reads")
    h.check(r.report["suspicions"] == 0, f"{r.report['suspicions']} times a tile was left alone: {r.err}")


@case
def hung_reads_of_a_tile():
    r = Run([f"hung-read:tile={TILE},after=6000,every=1,for=3ms"], ENDLESS, ends="suspect_tiles").losses_reported()
    h.check(r.report["suspect_tiles"] == 1, f"suspect_tiles is {r.report['suspect_tiles']}")
    dark = {(record["x"], record["y"]) for record in r.lost if record["cause"] == "tile unreadable"}
    h.check(dark <= {(1, 2)}, f"unreadable tiles: {dark}")


@case
def a_tile_left_alone_is_not_waited_for():
    # The card waits for its reader, which leaves the only tile alone: it must go on all the same.
    r = Run([f"hung-read:tile={TILE},after=3000,every=1,for=3ms"], ("--cores", 2, "--programs", 120, "--host-reads", "every:40", "--pace"))
    r.losses_reported(least=0)
    h.check(r.report["suspect_tiles"] == 1, f"suspect_tiles is {r.report['suspect_tiles']}")


@case
def hung_read_across_epochs():
    Run([f"hung-read:every=6000,for=10ms,seed={SEED}"], PACED).nothing_missing().count("slow_reads")


@case
def hung_read_half_a_second():
    Run([f"hung-read:every=4000,for=500ms,seed={SEED}"], ONE_EPOCH).all_delivered().count("slow_reads")


@case
def stolen_cpu():
    # A thread that loses its CPU after a load does not count the tile as slow, and loses no markers that it could have read.
    r = Run([f"stolen-cpu:every=600,for=8ms,seed={SEED}"], ONE_EPOCH).all_delivered().count("delayed_reads")
    h.check(r.report["suspicions"] == 0 and r.hits["stolen-cpu"] > 3, f"{r.report['suspicions']} suspicions, {r.hits}")


@case
def hung_read_of_nothing():
    Run([f"hung-read:every=4000,for=5ms,ones=yes,seed={SEED}"], ONE_EPOCH).all_delivered().count("all_ones_reads")


# --- the card goes ------------------------------------------------------------------------------------------------

def gone(faults, mode=()):
    r = Run(faults, (*ENDLESS, *mode), collect_code=7).losses_reported()
    h.check(r.report["card_vanished"] and r.causes() >= {"card gone"}, f"{r.report['ended']}: {r.causes()}")
    open_lanes = {(record["x"], record["y"], record["risc"]) for record in r.lost if record["cause"] == "card gone"}
    # Those that delivered, and those whose index was read and whose words were not read any more.
    h.check(len(open_lanes) >= r.report["lanes"], f"{len(open_lanes)} of {r.report['lanes']} lanes are closed by a loss")
    h.check(r.card["card_lost"], "the report lacks card_lost")
    h.check("went away unannounced" in r.err, r.err)


@case
def reset():
    gone([f"reset:after={LATER}"])


@case
def reset_strict():
    gone([f"reset:after={LATER}"], ("--strict",))


@case
def reset_announced():
    # The reset comes when the collector has left; that it was not forced to leave is what the test is for.
    r = Run([f"reset:after={LATER},notice=600s"], ENDLESS, collect_code=0).nothing_invented()
    h.check(not r.report["card_vanished"] and "announced" in r.report["ended"], r.report["ended"])


@case
def unplug():
    gone([f"unplug:after={LATER}"])


@case
def unplug_strict():
    gone([f"unplug:after={LATER}"], ("--strict",))


# --- windows ------------------------------------------------------------------------------------------------------

@case
def no_window_at_attach():
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--programs", 0, "--rate", 500, "--fault", "no-window", "--linger", "0s")
    h.wait_for_card(name, card)   # the time that is given is for a window
    code, _, err = h.run("ttcollect", "--device", "emu:" + name, "--wait", "1s", "--quiet")
    h.check(code == 3 and "no window is left" in err and "detach another observer" in err, f"{code}: {err}")
    card.terminate()
    h.check(h.finish(card)[0] == 0, "the card did not end in order")


@case
def no_window_for_a_while():
    Run(["no-window:for=300ms"], ONE_EPOCH).all_delivered()


@case
def no_window_for_the_second():
    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--programs", 0, "--rate", 500, "--fault", "no-window:observers=1")
    first = h.start("ttcollect", "--device", "emu:" + name, "--wait", "10min", "--quiet", "--json")
    h.wait_for_collector(name, first)
    code, _, err = h.run("ttcollect", "--device", "emu:" + name, "--quiet")
    h.check(code == 3 and "no window is left" in err, f"{code}: {err}")
    first.terminate()
    code, out, err = h.finish(first)
    h.check(code == 0 and h.device(out)["markers"] > 0, f"the first collector: {code} {err}")
    card.terminate()
    h.check(h.finish(card)[0] == 0, "the card did not end in order")


# --- clocks -------------------------------------------------------------------------------------------------------

SLOW = ("--pace", "--cores", 4, "--programs", 200, "--rate", 250)    # 0.8 s


@case
def clock_stops():
    Run(["clock-stop:after=200ms,for=20ms,times=6,gap=80ms"], SLOW).all_delivered()


@case
def clock_steps():
    Run([], (*SLOW, "--clock-step", "300:500", "--clock-step", "500:1300", "--drift-ppm", 300)).all_delivered()


@case
def clock_wraps():
    r = Run(["clock-wrap:after=600ms"], SLOW).all_delivered()
    times = [int(row.split(",")[5]) for row in r.truth]
    h.check(min(times) < 1 << 40 and max(times) > 15 << 40, "the clock did not wrap during the run")


@case
def clock_rolls_over_between_two_reads():
    r = Run(["roll-over:after=500ms"], SLOW).all_delivered()
    h.check(h.anomalies(r.export_err)["repaired_times"] > 0, f"no time was repaired: {r.export_err}")


@case
def clock_rolls_over_in_virtual_time():
    r = Run([f"roll-over:every=3000,after=0ns,seed={SEED}"],
            (*ONE_EPOCH, "--time", "virtual", "--clock-start", (1 << 44) - (8 << 32))).all_delivered()
    h.check(h.anomalies(r.export_err)["repaired_times"] > 4, f"times repaired: {r.export_err}")


# --- writes, vectors, hosts ---------------------------------------------------------------------------------------

@case
def late_landing():
    Run([f"late-landing:max=40us,seed={SEED}"],
        (*PACED, "--skip-riscs", 10, "--dispatch-cores", 1)).nothing_missing()


@case
def very_late_landing():
    Run([f"late-landing:min=20us,max=400us,seed={SEED}"], PACED).nothing_missing()


@case
def torn_vector():
    Run([f"torn-vector:every=25,wait=50us,seed={SEED}"], PACED).nothing_missing()


@case
def torn_vector_unpaced():
    Run([f"torn-vector:every=25,wait=50us,seed={SEED}"], RUNNING).losses_reported()


@case
def overrun():
    Run([f"overrun:every=10,seed={SEED}"], ("--pace", "--cores", 4, "--programs", 150, "--host-reads", "every:30")
        ).nothing_missing()


@case
def overrun_damages_what_follows():
    # Slow enough for the collector to be sure that these words will never become frames.
    r = Run([f"overrun:every=20,damage=yes,seed={SEED}"], ("--pace", "--cores", 4, "--programs", 100, "--rate", 80),
            export_codes=(0, 6)).losses_reported()
    h.check("unparsable" in r.causes(), f"causes: {r.causes()}")


def host_resets(faults, card=()):
    r = Run(faults, ("--pace", "--cores", 4, "--programs", 300, *card), export_codes=(0, 6))
    r.losses_reported(but=r.unseen)
    h.check(r.card["host_strikes"] > 0, "no reset struck")
    h.check(r.report["epochs"] > 0, "no reset was noticed")


@case
def host_reset_at_a_step():
    dice = random.Random(SEED)
    host_resets([f"host-reset:at={dice.randrange(20_000, 200_000)}"])


@case
def host_resets_at_random():
    host_resets([f"host-reset:every=20000,apart=6ms,seed={SEED}"])


@case
def host_resets_word_by_word():
    host_resets([f"host-reset:every=30000,words=3,apart=6ms,seed={SEED}"])


@case
def host_resets_of_g3():
    host_resets([f"host-reset:every=20000,apart=6ms,seed={SEED}"], ("--generation", "G3"))


@case
def host_resets_behind_launches_sat_out():
    """Frames of launches that a RISC sat out were in front of a long one in the piece of the log that was read again after a
    reset: the long one was cut at the end of the piece, and the markers behind the cut were in no interval."""
    r = Run(["host-reset:every=34653,apart=6ms,seed=19833"],
            ("--generation", "G1", "--programs", 254, "--cores", 4, "--zones-per-kernel", 40, "--skip-riscs", 50, "--pace",
             "--time", "virtual", "--strict", "--host-reads", "every:87"), export_codes=(0, 6))
    r.losses_reported(but=r.unseen)


@case
def stale_dram():
    Run(["stale-dram:programs=250"], (*PACED, "--landing-ns", 20000)).nothing_missing()


@case
def stale_dram_of_the_future():
    Run(["stale-dram:programs=250,time=future"], (*PACED, "--landing-ns", 20000)).nothing_missing()


@case
def stale_dram_unpaced():
    Run(["stale-dram:programs=250"], RUNNING).losses_reported()


# --- names --------------------------------------------------------------------------------------------------------

def without_names(rows):
    return sorted(",".join(c[:10] + c[11:12]) for c in (row.split(",") for row in rows))


@case
def names_missing():
    r = Run([f"names:missing=40,seed={SEED}"], ONE_EPOCH)
    h.check(without_names(r.truth) == without_names(r.got), "rows differ in more than names")
    nameless = {row.split(",")[4] for row in r.got if not row.split(",")[10] and row.split(",")[11] != "TS_EVENT"}
    wrong = [row for row in set(r.got) - set(r.truth) if row.split(",")[4] not in nameless]
    h.check(nameless and not wrong, f"{len(nameless)} without a name, {len(wrong)} with a wrong one")
    h.check(h.anomalies(r.export_err)["unnamed_ids"] == len(nameless), r.export_err)


@case
def names_collide():
    r = Run(["names:collide=5"], ONE_EPOCH)
    h.check(without_names(r.truth) == without_names(r.got), "rows differ in more than names")
    # Some of the first five to be compiled are of firmware modes that this workload does not use.
    h.check(0 < h.anomalies(r.export_err)["ambiguous_ids"] <= 5, r.export_err)
    h.check("belong to more than one zone" in r.export_err, r.export_err)


def main():
    name = sys.argv[1]
    print(f"{name}, seed {SEED}")
    CASES[name]()


if __name__ == "__main__":
    main()
