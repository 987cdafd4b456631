"""What tests of `ttcollect doctor` share: processes with a known environment, and findings by their ids."""
import json
import os
import subprocess
import sys

import harness as h


def environment(**variables):
    plain = {k: v for k, v in os.environ.items() if not k.upper().startswith(("TT_METAL", "TTMETAL", "TRACY"))}
    return {**plain, **variables}


def python(program, *arguments, **variables):
    """A process of ours that ends with its input, and at the end of the test in any case."""
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment(**variables))
    h._running.append(process)
    return process


def ids_of(inside, code=None):
    """The findings of the machine itself, as the doctor inside of a command reports them."""
    got, out, err = h.finish(h.start("ttcollect", "doctor", "--json", inside=inside))
    h.check(got in (0, 1) and not err, f"{inside}: exit {got}: {err}")
    return {f["id"] for f in json.loads(out)["findings"] if not f["pid"]}


def only_there(found, inside, beside, what):
    """`found` is a finding inside, and none beside it."""
    h.check(found in ids_of(inside), f"{what}: {found} is not among {ids_of(inside)}")
    h.check(found not in beside, f"{found} is a finding without {what}")
