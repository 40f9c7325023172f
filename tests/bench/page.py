#!/usr/bin/env python3
"""The report's page in a headless Chromium: it loads without an error and without asking any network, its
filters filter, the failing case's records are there, it can be used from the keyboard, it fits a narrow
screen, and it is dark where that is asked for.

usage: page.py --testbench FILE --fake FILE --root DIR --parts DIR [--keep DIR]
  --fake   the stand-in for the hosted kernel (tests/bench/fake_run.cpp)
  --parts  folder in which tools/testbench/page/install puts the page's packages
  --keep   folder for the page and pictures of it
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SHARES = """
[[budget]]
name = "light"
account = 1
weight = 100
[[budget]]
name = "equal"
account = 2
weight = 100
[[budget]]
name = "heavy"
account = 3
weight = 300
[[share]]
budget = "light"
[[share]]
budget = "heavy"
[[figure]]
name = "picks"
op = "at_least"
target = 100
"""


class Browser:
    """Chromium over its debugging pipe: one page, its errors and its requests."""

    def __init__(self, folder):
        to_browser, self.send_end = os.pipe()
        self.receive_end, from_browser = os.pipe()

        def hand_over():
            # The browser reads from 3 and writes to 4.
            ends = (os.dup(to_browser), os.dup(from_browser))
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
             "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=hand_over, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.received = b""
        self.number = 0
        self.session = None
        self.errors = []
        self.requests = []
        self.loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.received:
            part = os.read(self.receive_end, 1 << 16)
            if not part:
                raise RuntimeError("the browser ended")
            self.received += part
        text, self.received = self.received.split(b"\0", 1)
        return json.loads(text)

    def event(self, message):
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(given["exceptionDetails"].get("exception", {}).get("description", "?"))
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            self.errors.append(str(given["args"]))
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.errors.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **given):
        self.number += 1
        message = {"id": self.number, "method": method, "params": given}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.send_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.event(answer)

    def open(self, url):
        self.loaded = False
        self.call("Page.navigate", url=url)
        while not self.loaded:
            self.event(self.message())

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=code, text="\r" if key == "Enter" and kind == "keyDown" else "")

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def picture(self, file):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(file).write_bytes(base64.b64decode(data))

    def close(self):
        self.process.kill()
        self.process.wait()


def make_report(arguments, folder):
    """A tree with the stand-in kernel and cases of every verdict, benched. Returns the page."""
    tree = folder / "tree"
    kernel = tree / "build" / "hosted-checked" / "port-hosted"
    kernel.mkdir(parents=True)
    (kernel / "ravelin-hosted-run").symlink_to(arguments.fake.resolve())
    (tree / "tools").symlink_to(arguments.root.resolve() / "tools")
    cases = tree / "tests" / "cases"
    cases.mkdir(parents=True)
    for name, fields in (("good", "harts = [1, 2]\nseeds = [1, 2]\n" + SHARES), ("broken", SHARES),
                         ("noted", "program = 'good'\nrecord = true\n" + SHARES),
                         ("elsewhere", "ports = ['rv32']\n"),
                         ("unfair", "program = 'good'\n" + SHARES + "[[share]]\nbudget = 'light'\nwant = 500\n")):
        (cases / f"{name}.toml").write_text(f"description = 'the case {name} <b>&amp;'\n{fields}")
    subprocess.run([arguments.root / "tools/testbench/page/install", arguments.parts], check=True)
    for _ in range(2):  # the second has a history
        subprocess.run([arguments.testbench, "bench", "--root", tree, "--jobs", "1",
                        "--report", folder / "report", "--page-parts", arguments.parts / "node_modules",
                        "--journal", tree / "build/bench/journal.jsonl"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return folder / "report" / "index.html"


def rows(browser):
    return browser.value("[...document.querySelectorAll('#grid tbody th')].map((cell) => cell.textContent)")


def check(browser, page, keep):
    """What is wrong with the page, a line each."""
    wrong = []

    def expect(holds, text):
        if not holds:
            wrong.append(text)

    browser.size(1280, 900)
    browser.open(page.resolve().as_uri())
    names = ["broken", "elsewhere", "good", "noted", "unfair"]
    expect(rows(browser) == names, f"the grid has {rows(browser)}")
    expect(browser.value("document.querySelectorAll('.uplot').length") >= 3, "there are few plots")
    expect(browser.value("document.querySelector('#run h2').textContent") == "broken",
           "the first failure is not what is shown first")
    records = browser.value("[...document.querySelectorAll('#failures .records')].map((e) => e.textContent).join('')")
    expect("pass b" in (records or ""), f"the failing case's records are not there: {records}")
    expect(browser.value("document.querySelectorAll('svg.timeline rect.stay').length") > 10,
           "the timeline is empty")
    expect(browser.value("document.querySelectorAll('svg.timeline .event').length") == 1,
           "the event has no line")
    expect("the case broken <b>&amp;" == browser.value("document.querySelector('#run .about').textContent"),
           "a description is taken for markup")
    if keep:
        browser.picture(keep / "wide.png")

    # Filters.
    browser.value("document.querySelector('[data-verdict=pass]').click()")
    expect(rows(browser) == ["broken", "elsewhere", "noted", "unfair"], f"without passes: {rows(browser)}")
    browser.value("document.querySelector('[data-verdict=notrun]').click()")
    browser.value("document.querySelector('[data-verdict=recorded]').click()")
    expect(rows(browser) == ["broken", "unfair"], f"failures alone: {rows(browser)}")
    browser.value("(() => { const box = document.getElementById('search'); box.value = 'UNF';"
                  " box.dispatchEvent(new Event('input')); })()")
    expect(rows(browser) == ["unfair"], f"searched for: {rows(browser)}")
    expect("1 of 8 runs" in browser.value("document.getElementById('count').textContent"), "the count is wrong")
    browser.value("(() => { const box = document.getElementById('search'); box.value = 'zzz';"
                  " box.dispatchEvent(new Event('input')); })()")
    expect(rows(browser) == [] and browser.value("!!document.querySelector('#grid .empty')"),
           "an empty grid does not say so")
    browser.value("(() => { const box = document.getElementById('search'); box.value = '';"
                  " box.dispatchEvent(new Event('input'));"
                  " document.querySelector('[data-verdict=pass]').click(); })()")

    # The keyboard: to the first cell, down, and in.
    browser.value("document.querySelector('#grid .cell').focus()")
    browser.key("ArrowDown", 40)
    browser.key("Enter", 13)
    expect(browser.value("document.querySelector('#run h2').textContent") == "good",
           "the keyboard does not choose a run")
    browser.value("document.querySelector('#port').focus()")
    browser.key("Tab", 9)
    expect(browser.value("document.activeElement.closest('#grid') !== null"), "Tab does not reach the grid")
    expect(browser.value("document.querySelectorAll('#shares .bar').length") == 3, "there are no share bars")
    expect(browser.value("!!document.querySelector('#history .uplot')"), "there is no history")
    browser.value("(() => { const box = document.getElementById('seed'); box.selectedIndex = 1;"
                  " box.dispatchEvent(new Event('change')); })()")
    expect("s2" in browser.value("decodeURIComponent(location.hash)"), "another seed is not chosen")
    before = browser.value("document.querySelectorAll('svg.timeline rect.stay').length")
    browser.value("document.querySelector('[aria-label=closer]').click()")
    expect(browser.value("document.querySelectorAll('svg.timeline rect.stay').length") < before,
           "coming closer shows as much")

    # Light and dark; wide and narrow.
    light = browser.value("getComputedStyle(document.body).backgroundColor")
    browser.value("document.getElementById('theme').click()")
    expect(browser.value("getComputedStyle(document.body).backgroundColor") != light, "dark is as light")
    if keep:
        browser.picture(keep / "dark.png")
    browser.value("document.getElementById('theme').click()")
    for width in (360, 768, 1280):
        browser.size(width, 800)
        browser.open(page.resolve().as_uri())
        inside = browser.value("document.documentElement.scrollWidth")
        expect(inside <= width, f"{inside} pixels are wider than a screen of {width}")
        if keep and width == 360:
            browser.picture(keep / "narrow.png")
    wrong += [f"an error in the page: {error}" for error in browser.errors]
    wrong += [f"the page asks for {url}" for url in browser.requests
              if not url.startswith(("file:", "data:", "about:"))]
    return wrong


def main():
    parser = argparse.ArgumentParser()
    for name in ("testbench", "fake", "root", "parts"):
        parser.add_argument("--" + name, required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        page = make_report(arguments, folder)
        if not page.exists():
            print("there is no page")
            return 1
        if arguments.keep:
            shutil.copy(page, arguments.keep)
        browser = Browser(folder / "profile")
        try:
            wrong = check(browser, page, arguments.keep)
        finally:
            browser.close()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
