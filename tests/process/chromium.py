"""Headless Chromium through its debugging protocol, over a pipe: a page as a person has it, with wheel, mouse, fingers and keys."""
import atexit
import json
import os
import select
import shutil
import signal
import subprocess
import time

import harness as h


class Browser:
    """One page. What it writes to its console, and what it throws, is in `complaints`."""

    def __init__(self):
        to_browser, ours_out = os.pipe()
        ours_in, from_browser = os.pipe()
        # The browser reads its descriptor 3 and writes its descriptor 4.
        line = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@" 2>/dev/null'
        self.process = subprocess.Popen(
            ["bash", "-c", line, "bash", shutil.which("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", "--user-data-dir=" + h.work("chromium"), "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        atexit.register(self.end)
        self.to, self.from_, self.buffer, self.next_id = ours_out, ours_in, b"", 1
        self.session, self.complaints, self.loaded = None, [], False
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def message(self):
        until = time.monotonic() + h.LIMIT_S
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.from_], [], [], max(0, until - time.monotonic()))
            h.check(ready, "the browser does not answer")
            more = os.read(self.from_, 1 << 20)
            h.check(more, "the browser ended")
            self.buffer += more
        one, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(one)

    def take(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.complaints.append(f"{parameters['type']}: {[a.get('value', a.get('description')) for a in parameters['args']]}")
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"])[:500])
        elif method == "Log.entryAdded":
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **parameters):
        number, self.next_id = self.next_id, self.next_id + 1
        request = {"id": number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.message()
            if answer.get("id") == number:
                h.check("error" not in answer, f"{method}: {answer.get('error')}")
                return answer["result"]
            self.take(answer)

    def open(self, url):
        self.loaded = False
        self.call("Page.navigate", url=url)
        while not self.loaded:
            self.take(self.message())

    def size(self, width, height, touch=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch, maxTouchPoints=2 if touch else 1)

    def theme(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def value(self, expression):
        """Of JavaScript, which may be a promise."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        h.check("exceptionDetails" not in found, f"{expression}: {found.get('exceptionDetails')}")
        return found["result"].get("value")

    def settle(self):
        """Two frames have been drawn since."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type="mouse" + kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        for kind in ("Pressed", "Released"):
            self.mouse(kind, x, y, button="left", clickCount=count)

    def drag(self, x0, y0, x1, y1):
        self.mouse("Pressed", x0, y0, button="left", buttons=1, clickCount=1)
        for step in range(1, 6):
            self.mouse("Moved", x0 + (x1 - x0) * step / 5, y0 + (y1 - y0) * step / 5, button="left", buttons=1)
        self.mouse("Released", x1, y1, button="left", clickCount=1)
        self.settle()

    def wheel(self, x, y, across, down, modifiers=0):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=across, deltaY=down, modifiers=modifiers)
        self.settle()

    def touch(self, kind, *points):
        self.call("Input.dispatchTouchEvent", type="touch" + kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])

    def fingers(self, *paths):
        """Each path is (from, to); all move at once."""
        self.touch("Start", *(begin for begin, _ in paths))
        for step in range(1, 6):
            self.touch("Move", *((b[0] + (e[0] - b[0]) * step / 5, b[1] + (e[1] - b[1]) * step / 5) for b, e in paths))
        self.touch("End")
        self.settle()

    def key(self, key, text="", modifiers=0):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, modifiers=modifiers)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)
        self.settle()

    def end(self):
        """Of a test that failed: processes of the browser that still write its profile would leave parts of it behind."""
        until = time.monotonic() + h.LIMIT_S
        try:
            while time.monotonic() < until:
                os.killpg(self.process.pid, signal.SIGKILL)    # start_new_session: all of the browser's are in its group
                self.process.poll()
                time.sleep(0.005)
        except ProcessLookupError:    # none is left
            return

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(h.LIMIT_S)
        os.close(self.to)
        os.close(self.from_)
