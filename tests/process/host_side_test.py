"""The host side of ttcollect run against Tracy clients in Python, written from the wire's description alone: no table and no code is shared
with the server's side. LZ4 blocks are literal-only."""
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap

from harness import BIN, card_name, check, finish, next_line, remove_at_end, run, start, work

# Runs as the workload: listens like a Tracy client, and streams what its arguments select.
CLIENT = textwrap.dedent('''
    import os, socket, struct, sys, time
    PROTOCOL, HOW = int(sys.argv[1]), sys.argv[2]
    CODES = [code.encode() for code in sys.argv[3:]] or [b"Add"]    # of ops, in turn
    # number of: SingleString, SourceLocationPayload, ThreadContext, ZoneBeginAllocSrcLoc, ZoneEnd, ZoneText, Message, Terminate,
    # ThreadName, and bytes behind a message's time
    ITEMS = {64: (95, 101, 59, 7, 17, 0, 2, 57, 99, 0), 76: (99, 107, 62, 7, 17, 0, 2, 60, 105, 0),
             79: (112, 120, 74, 7, 25, 0, 2, 72, 118, 1), 83: (115, 125, 77, 7, 25, 0, 2, 75, 123, 1)}
    single, payload, context, begin, end, text, message, terminate, thread_name, metadata = ITEMS.get(PROTOCOL, ITEMS[76])

    def string(number, body):
        if PROTOCOL >= 80 and number == single:
            if len(body) < 256:
                return struct.pack("<BB", 117, len(body)) + body
            return struct.pack("<BH", single, len(body) - 256) + body
        return struct.pack("<BH", number, len(body)) + body

    def block(items):
        n, head = len(items), b""
        if n < 15:
            head = bytes([n << 4])
        else:
            rest = n - 15
            head = b"\\xf0" + b"\\xff" * (rest // 255) + bytes([rest % 255])
        return struct.pack("<I", len(head) + n) + head + items

    def location(name):
        body = struct.pack("<II", 0, 12) + b"function\\0file.cpp\\0" + name
        return struct.pack("<BQH", payload, 0, len(body)) + body

    # As Tracy: connections of clients that ended before keep no port, and of two that bind one port the first listens.
    for port in range(8086, 8106):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen()
            break
        except OSError:
            listener.close()
    else:
        sys.exit("all of Tracy's ports are taken")
    print("listening", flush=True)
    if HOW == "mute":    # a server of another kind, which does not answer half a line
        peer, _ = listener.accept()
        while peer.recv(1 << 16): pass
        sys.exit(0)
    offers = []
    while True:
        if HOW == "silent":
            time.sleep(0.01)
            if os.read(0, 1) == b"": sys.exit(0)
        peer, _ = listener.accept()
        offer = peer.recv(12, socket.MSG_WAITALL)
        offers.append(struct.unpack("<I", offer[8:])[0])
        if offers[-1] == PROTOCOL:
            break
        peer.sendall(b"\\x02")
        peer.close()
        if PROTOCOL == 9999 and len(offers) == 8:
            print("offered", sorted(offers), flush=True)
            if HOW == "hold": sys.stdin.read()
            sys.exit(3)
    peer.sendall(b"\\x01")
    raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    welcome = struct.pack("<dqq", 1.0, raw, raw) + (struct.pack("<Q", 0) if PROTOCOL < 75 else b"")
    welcome += struct.pack("<QQQQqBB12sI64s1024s", 1, 0, 0, os.getpid(), 0, 0, 2, b"", 0, b"fake client", b"here")
    peer.sendall(welcome)
    tail = b"\\x20" * metadata
    items = struct.pack("<BI", context, 42)
    items += location(b"TT_DNN_DEVICE_OP") + struct.pack("<Bq", begin, raw + 1000)
    items += string(single, b"id:1024") + bytes([text])
    items += string(single, b'`TT_DNN_DEVICE_OP: "Add", 5, 0, false, 1024 ->\\n{"global_call_count": 1024}`') + struct.pack("<Bq", message, raw + 1500) + tail
    items += struct.pack("<BH", end + 2, 2000) if PROTOCOL >= 78 else struct.pack("<Bq", end, 2000)
    peer.sendall(block(items))
    if HOW.startswith("ops"):    # ops or ops:FIRST:LAST
        first, last = map(int, HOW.split(":")[1:]) if ":" in HOW else (1, 60)
        tensor = (b'{"shape": {"W": "1[1]", "Z": "1[1]", "Y": "64[60]", "X": "128[128]"}, "layout": "TILE", "dtype": "BFLOAT16", '
                  b'"storage_type": {"device_id": 0, "memory_config": {"buffer_type": "dram", "memory_layout": "interleaved"}}}')
        described = (b'"op_type": "tt_dnn_device", "attributes": {"alpha": "2"}, '
                     b'"input_tensors": [' + tensor + b'], "output_tensors": [' + tensor + b'], '
                     b'"kernel_info": {"compute_kernels": [{"math_fidelity": "HiFi4", "source": "add.cpp", "name": "add/77/"}], '
                     b'"datamovement_kernels": [{"source": "reader.cpp", "name": "reader/78/"}], '
                     b'"kernel_sizes": {"tensix_dm_0_max_kernel_size": 1234}}, "op_hash": 4711, "program_cache_hit": false, '
                     b'"performance_model": {"compute_ns": 100, "ideal_ns": 200, "bandwidth_ns": 200, '
                     b'"input_bws": [1.5], "output_bws": [2.5]}')
        for op in range(first, last + 1):
            items = location(b"TT_DNN_DEVICE_OP") + struct.pack("<Bq", begin, 10) + string(single, b"id:%d" % op) + bytes([text])
            code = CODES[op % len(CODES)]
            items += string(single, b'`TT_DNN_DEVICE_OP: "%s", 5, 0, false, %d ->\\n{"global_call_count": %d, "op_code": "%s", "device_id": 0, ' % (code, op, op, code) + described + b'}`')
            items += struct.pack("<Bq", message, raw + 2000 + op * 30) + tail
            items += struct.pack("<BH", end + 2, 10) if PROTOCOL >= 78 else struct.pack("<Bq", end, 10)
            peer.sendall(block(items))
    if HOW == "switches":    # of protocol 76: this thread sleeps 2 us, is woken, waits 1 us and runs 1 us; and another program's thread
        me, other = os.getpid(), 1
        items, at = b"", 0
        for n in range(10):
            for time, old, new, state in ((raw + 4000 * n + 3000, other, me, 103), (raw + 4000 * n + 4000, me, other, 104)):
                items += struct.pack("<BqIIBBBBbb", 48, time - at, old, new, 1, 100, state, 0, 0, 0)
                at = time
            if n < 9:
                items += struct.pack("<BqIBbb", 49, raw + 4000 * n + 6000 - at, me, 1, -1, 0)
                at = raw + 4000 * n + 6000
        peer.sendall(block(items))
    if HOW == "garbage":
        peer.sendall(b"\\x05\\0\\0\\0" + b"\\xff" * 5)
        print("closed" if peer.recv(1 << 16) is not None else "", flush=True)
        sys.exit(0)
    if HOW == "killed":
        peer.sendall(b"\\x00\\x01")
        os.kill(os.getpid(), 9)
    if HOW == "flood":
        one = string(single, b"x" * 200) + struct.pack("<Bq", message, raw + 2000) + tail
        frame = block(one * 1000)
        for _ in range(400):
            peer.sendall(frame)
    if HOW == "packed":    # 30 blocks of 20,000 messages each, of some 1,000 bytes: a message, and the same again
        one = string(single, b"x") + struct.pack("<Bq", message, raw + 2000) + tail
        first, more, last = len(one) - 15, 19_998 * len(one) - 19, len(one) - 15
        assert 0 <= first < 255 or len(one) < 15
        head = bytes([min(len(one), 15) << 4 | 15]) + (bytes([first]) if len(one) >= 15 else b"")
        body = one + struct.pack("<H", len(one)) + b"\\xff" * (more // 255) + bytes([more % 255])
        body += bytes([min(len(one), 15) << 4]) + (bytes([last]) if len(one) >= 15 else b"") + one
        peer.sendall(30 * (struct.pack("<I", len(head + body)) + head + body))
    peer.sendall(block(bytes([terminate])))
    if HOW == "owing":
        while (peer.recv(13, socket.MSG_WAITALL) or b"\\0")[0]: pass
        sys.exit(6)
    got = b""
    while True:
        part = peer.recv(13 - len(got))
        if not part: sys.exit(7)
        got += part
        if len(got) < 13: continue
        kind, key, _ = struct.unpack("<BQI", got)
        got = b""
        if kind == 0: break
        if kind == 2: peer.sendall(block(struct.pack("<BQH", thread_name, key, 4) + b"main"))
    sys.exit(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
''')


def client_file():
    path = work("client.py")
    with open(path, "w") as file:
        file.write(CLIENT)
    return path


def run_client(root, protocol, how="plain", *more, **options):
    return start("ttcollect", "run", "-v", "--no-device", "-o", root, "--", sys.executable, client_file(), str(protocol), how, *more,
                 **options)


def dialects():
    """A fork's and stock dialects: the messages and zones are in the files of tt-metal's scripts, and the client ends by the protocol."""
    for protocol in (64, 76, 79, 83):
        root = work(f"dialect{protocol}")
        code, _, err = finish(run_client(root, protocol, "plain", "5"))
        check(code == 5, f"{protocol}: exit code {code}: {err}")
        check(f"protocol {protocol}, " in err, f"{protocol}: {err}")
        with open(f"{root}/.logs/tracy_ops_data.csv") as file:
            check(file.read() == 'MessageName;total_ns\n`TT_DNN_DEVICE_OP: "Add", 5, 0, false, 1024 ->\n{"global_call_count": 1024}`;1500\n',
                  f"{protocol}: messages")
        with open(f"{root}/.logs/tracy_ops_times.csv") as file:
            rows = file.read().splitlines()
        check(rows[1:] == ['TT_DNN_DEVICE_OP,file.cpp,12,,"id:1024",1000,2000,1,'], f"{protocol}: {rows}")


def ops():
    """An emulated card and a Tracy client in one workload: ops have the names of the client's messages, from run.ttc alone."""
    name, root = card_name(), work("ops")
    remove_at_end(f"emu-{name}")
    line = (f"{BIN}/ttemu --name {name} --cores 2 --programs 60 --pace 20 --linger 60s -q & {sys.executable} {client_file()} 83 ops; "
            "code=$?; wait; exit $code")
    code, out, err = finish(start("ttcollect", "run", "-v", "-o", root, "-d", f"emu:{name}", "--", "sh", "-c", line))
    check(code == 0 and "Add" in out, f"{code} {out} {err}")
    folder = os.path.join(root, "reports", os.listdir(f"{root}/reports")[0])
    alone = work("alone.ttc")
    shutil.copy(f"{folder}/run.ttc", alone)
    code, out, err = run("ttreport", "ops", alone, "--json", "-", "--no-summary")
    check(code == 0, err)
    rows = [r for r in json.loads(out)["rows"] if r["device_us"]]
    named = [r["op_code"] for r in rows if r["op_code"].startswith("Add")]
    check(len(rows) == 60 and len(named) == 60, f"{len(named)} of {len(rows)} ops are named")
    database = work("ops.db")
    check(run("ttexport", "--from", alone, "--format", "sqlite", "-o", database)[0] == 0, "no database")
    code, out, err = run("ttreport", "sql", database, "SELECT name, ops FROM top_ops", "--csv")
    check(out.splitlines() == ["name,ops", "Add,60"], f"{code} {out} {err}")
    code, out, err = run("ttexport", "--from", alone, "--format", "ops-json")
    check([json.loads(line).get("name") for line in out.splitlines()] == ["Add"] * 60, f"{code} {out} {err}")


def leaves_nothing():
    """The segment of the host's side goes when the capture has all of it."""
    process = run_client(work("nothing"), 76)
    code, _, err = finish(process)
    check(code == 0, err)
    left = [file for file in os.listdir("/dev/shm") if file.startswith(f"ttcollect-run-{process.pid}.")]
    check(not left, f"{left} is left")


def unknown():
    """A protocol that does not exist: every number is offered once, and the workload ends as it would."""
    code, out, err = finish(run_client(work("unknown"), 9999))
    check(code == 3 and "offered [64, 66, 69, 74, 76, 79, 82, 83]" in out, f"{code} {out} {err}")
    check("has a protocol of Tracy that this build does not support" in err, err)


def garbage():
    """A stream that makes no sense is closed, so that the client does not wait; what came before is kept."""
    root = work("garbage")
    code, out, err = finish(run_client(root, 76, "garbage"))
    check(code == 0 and "closed" in out, f"{code} {out} {err}")
    check("a frame is no LZ4 block" in err, err)
    check(os.path.getsize(f"{root}/.logs/tracy_ops_data.csv") > 60, "the message before it is missing")


def killed():
    """The workload is killed in the middle of a frame."""
    root = work("killed")
    code, _, err = finish(run_client(root, 83, "killed"))
    check(code == 137 and "ended in the middle of its stream" in err, f"{code} {err}")
    with open(f"{root}/.logs/tracy_ops_data.csv") as file:
        check("TT_DNN_DEVICE_OP" in file.read(), "the message before it is missing")


def flood():
    """400,000 messages as fast as they can be sent: the client gets rid of all of them, and each is recorded or counted."""
    root = work("flood")
    code, _, err = finish(run_client(root, 76, "flood"))
    check(code == 0, f"{code} {err}")
    with open(f"{root}/.logs/tracy_ops_data.csv") as file:
        rows = sum(line.startswith("x") for line in file)
    missing = re.search(r"(\d+) events came faster than they were recorded", err)
    check(rows + int(missing[1] if missing else 0) == 400_000, f"{rows} messages: {err}")


def packed():
    """Half a million messages in 30,000 bytes: what one reading brings is more than a chunk of the ring takes."""
    root = work("packed")
    code, _, err = finish(run_client(root, 76, "packed"))
    check(code == 0, f"{code} {err}")
    with open(f"{root}/.logs/tracy_ops_data.csv") as file:
        rows = sum(line.startswith("x") for line in file)
    check(rows == 30 * 20_000, f"{rows} messages: {err}")


def silent():
    """A server of another kind on one of Tracy's ports, and a client that answers no question: neither has to wait for our end."""
    path, root = client_file(), work("silent")
    line = f"{sys.executable} {path} 76 mute & {sys.executable} {path} 76 owing; code=$?; wait; exit $code"
    code, _, err = finish(start("ttcollect", "run", "--no-device", "-o", root, "--", "sh", "-c", line))
    check(code == 6, f"{code} {err}")
    check("did not answer as a Tracy client" in err and "did not answer 1 questions for names" in err, err)
    with open(f"{root}/.logs/tracy_ops_data.csv") as file:
        check(file.read().count("TT_DNN_DEVICE_OP") == 1, "the message is missing")


def many():
    """Eight processes of four dialects at once, with the same ports to choose from; none is given a port."""
    root, path = work("many"), client_file()
    line = " & ".join(f"{sys.executable} {path} {protocol} plain" for protocol in (64, 76, 79, 83) * 2) + " & wait"
    code, out, err = finish(start("ttcollect", "run", "-v", "--no-device", "-o", root, "--", "sh", "-c", line,
                                  env={**os.environ, "TRACY_PORT": "8086"}))
    check(code == 0 and out.count("listening") == 8, f"{code} {out} {err}")
    check(err.count("events") == 8, err)
    check("8 processes had a host side" in err, err)
    with open(f"{root}/.logs/tracy_ops_data.csv") as file:
        check(file.read().count("TT_DNN_DEVICE_OP") == 8, "messages of eight processes")


def foreign():
    """A Tracy client that is not of the workload is left alone."""
    other = subprocess.Popen([sys.executable, client_file(), "76", "silent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    next_line(other.stdout)
    code, _, err = finish(start("ttcollect", "run", "-v", "--no-device", "-o", work("foreign"), "--", sys.executable, client_file(),
                                "76", "plain"))
    check(code == 0 and err.count("host side: process") == 1, err)
    other.stdin.close()
    check(other.wait(60) == 0, "something was sent to the other client")
    other.stdout.close()


if __name__ == "__main__":
    {f.__name__: f for f in (dialects, ops, leaves_nothing, unknown, garbage, killed, flood, packed, silent, many, foreign)}[sys.argv[1]]()
