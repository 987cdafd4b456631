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
    def __init__(self, configuration="", storage=None):
        if not SERVER:
            h.skip("nats-server absent (Debian: nats-server)")
        self.port = free_port()
        self.storage = storage or h.work(f"js-{self.port}")
        self.configuration = h.work(f"nats-{self.port}.conf")
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{self.storage}" }}\n{configuration}\n')
        self.process = None
        self.start()

    def start(self):
        self.log = open(h.work(f"nats-{self.port}.log"), "a", encoding="utf-8")
        self.process = subprocess.Popen([SERVER, "-c", self.configuration], stdout=self.log, stderr=self.log)
        h._running.append(self.process)
        h.wait_until(self.answers, "the bus answers", )

    def answers(self):
        h.check(self.process.poll() is None, "nats-server ended: " + open(self.log.name, encoding="utf-8").read()[-800:])
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
            return True
        except OSError:
            return False

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def url(self, user=""):
        return f"nats://{user + '@' if user else ''}127.0.0.1:{self.port}"
