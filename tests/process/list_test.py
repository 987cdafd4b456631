#!/usr/bin/env python3
"""`ttcollect list` on a machine made of files: for people, for scripts, and beside emulated cards."""
import json
import os

import harness as h


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def machine(root):
    pci = root + "/sys/bus/pci/devices/"
    for bdf, device in (("0000:81:00.0", "0x401e"), ("0000:01:00.0", "0xb140"), ("0000:02:00.0", "0xb140")):
        put(f"{pci}{bdf}/vendor", "0x1e52\n")
        put(f"{pci}{bdf}/device", device + "\n")
        put(f"{pci}{bdf}/numa_node", "-1\n")
    for n, bdf in ((0, "0000:81:00.0"), (1, "0000:01:00.0")):
        os.symlink("../drivers/tenstorrent", f"{pci}{bdf}/driver")
        own = f"{root}/sys/class/tenstorrent/tenstorrent!{n}"
        put(own + "/tt_card_type", "n150\n" if n == 0 else "p150a\n")
        put(own + "/tt_aiclk", "1000\n")
        os.symlink(f"../../../{bdf}", own + "/device")
    put(root + "/proc/driver/tenstorrent/0/pids", "77\n")
    put(root + "/proc/77/comm", "python3\n")
    os.makedirs(root + "/dev", exist_ok=True)


def main():
    root = h.work("machine")
    machine(root)
    code, out, err = h.run("ttcollect", "list", "--root", root, "--json")
    h.check(code == 0 and not err, f"{code} {err}")
    listed = json.loads(out)
    functions = {f["node"]: f for f in listed["pci"]}
    h.check([f["bdf"] for f in listed["pci"]] == ["0000:01:00.0", "0000:02:00.0", "0000:81:00.0"], out)
    h.check(functions["/dev/tenstorrent/1"]["chip"] == 0 and functions["/dev/tenstorrent/0"]["chip"] == 1, out)
    h.check(functions[None]["driver"] is None and functions[None]["chip"] is None, out)
    h.check(functions["/dev/tenstorrent/0"]["numa_node"] is None, out)
    h.check(functions["/dev/tenstorrent/0"]["open_by"][0]["name"] == "python3", out)

    code, out, _ = h.run("ttcollect", "list", "--root", root)
    for words in ("0000:81:00.0  wormhole_b0  n150  /dev/tenstorrent/0  chip 1 of tt-metal", "pid 77 python3",
                  "no driver is bound", "AICLK 1000 MHz", "no process"):
        h.check(code == 0 and words in out, f"'{words}' is not in: {out}")

    name = h.card_name()
    card = h.start("ttemu", "--name", name, "--programs", 0, "--rate", 10, "--linger", "0s", "--quiet")
    while True:  # the tree of this machine, and the emulated card
        code, out, err = h.run("ttcollect", "list", "--json")
        h.check(code == 0 and card.poll() is None, f"{code} {err}")
        if any(c["spec"] == "emu:" + name for c in json.loads(out)["cards"]):
            break
    card.terminate()
    h.check(h.finish(card)[0] == 0, "the card did not end in order")

    put(h.work("bad") + "/sys/bus/pci/devices/nonsense/vendor", "0x1e52\n")
    code, out, err = h.run("ttcollect", "list", "--root", h.work("bad"))
    h.check(code == 3 and "cannot be searched" in err and not out, f"{code} {out} {err}")
    code, _, err = h.run("ttcollect", "list", "--root", "/nonexistent")
    h.check(code == 2 and "/nonexistent" in err, f"{code} {err}")
    print("ok")


main()
