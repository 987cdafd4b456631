#!/usr/bin/env python3
"""--link-share: polls take no more of the link than that, lose nothing of a card that waits, and keep their deadline.

What a share takes of a link that is memory is a unit test's (link_share_test.cpp); here it is the option, the probe that it is measured by,
and what --json and messages state.
"""
import sys

import harness as h
from run_of import RunOf

CARD = ["--cores", 16, "--programs", 200, "--pace", "--host-reads", "every:100", "--round-trip-ns", 1000]


def at_most():
    """Of some 500,000 lines a second: polls whose deadline is near take up to 100,000 more of 80 cores, and the clock's samples some thousand."""
    report = RunOf(CARD, ["--link-share", "10%"]).end().report
    cost = report["footprint"]
    limit = cost["lines_per_s_at_most"]
    line_ns = next(r["p50_ns"] for r in report["link"]["rows"] if (r["what"], r["memory"], r["bytes"]) == ("load", "UC", 64))
    h.check(abs(limit - 0.1e9 / line_ns) < 1, f"{limit} lines a second, at {line_ns} ns a line")
    h.check(cost["reads_per_s"] < limit + 110_000, f"{cost}")
    h.check(not h.certain(report), f"{report['lost'][:3]}")
    h.check(report["programs"] == 200, f"{report['programs']} programs of 200")


def without():
    report = RunOf(CARD).end().report
    cost = report["footprint"]
    h.check(cost["lines_per_s_at_most"] is None and cost["lines_beyond_share"] is None, f"{cost}")


def too_little():
    """Polls within their deadline take more than 1 % of a link: this is stated, and they come on top of it."""
    run = RunOf(["--cores", 4, "--programs", 40, "--pace", "--round-trip-ns", 1000], ["--link-share", "1%"], quiet=False).end()
    h.check("--link-share 1% is less than polls of" in run.err and "those come on top" in run.err, run.err)
    h.check(run.report["programs"] == 40, f"{run.report['programs']} programs of 40")
    h.check(run.report["footprint"]["lines_beyond_share"] > 0, f"{run.report['footprint']}")


def refused():
    for share in ("0%", "101%", "nan%", "much", "-5%"):
        code, _, err = h.run("ttcollect", "--device", "emu:none", f"--link-share={share}")
        h.check(code == 2 and "--link-share " + share in err and "1% to 100%" in err, f"{share}: {code}, {err}")


def main():
    case = {"at_most": at_most, "without": without, "too_little": too_little, "refused": refused}
    names = sys.argv[1:] or case
    for name in names:
        case[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
