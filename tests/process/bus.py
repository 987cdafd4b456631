"""A real nats-server of a test's own, with JetStream in a directory of its own. Skips where there is none."""
import shutil
import signal
import socket
import subprocess

import harness as h

SERVER = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/bin")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Bus:
    def __init__(self, configuration="", storage=None, jetstream="", address="127.0.0.1", inside=()):
        """`jetstream`: further settings of it. `inside`: a command that runs the server."""
        if not SERVER:
            h.skip("nats-server absent (Debian: nats-server)")
        self.address, self.port, self.inside = address, free_port(), inside
        self.storage = storage or h.work(f"js-{self.port}")
        self.configuration = h.work(f"nats-{self.port}.conf")
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(f'listen: "{address}:{self.port}"\njetstream {{ store_dir: "{self.storage}"\n{jetstream} }}\n{configuration}\n')
        self.process = None
        self.start()

    def start(self):
        self.log = open(h.work(f"nats-{self.port}.log"), "a", encoding="utf-8")
        self.process = subprocess.Popen([*self.inside, SERVER, "-c", self.configuration], stdout=self.log, stderr=self.log)
        h._running.append(self.process)
        h.wait_until(self.answers, "the bus answers", )

    def answers(self):
        h.check(self.process.poll() is None, "nats-server ended: " + open(self.log.name, encoding="utf-8").read()[-800:])
        try:
            socket.create_connection((self.address, self.port), timeout=5).close()
            return True
        except OSError:
            return False

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def url(self, user="", scheme="nats"):
        return f"{scheme}://{user + '@' if user else ''}{self.address}:{self.port}"

    def connection(self):
        """A client of bytes, for messages that none of ours would send."""
        peer = socket.create_connection((self.address, self.port), timeout=h.LIMIT_S)
        peer.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\n')
        return peer
