"""A headless Chromium, for tests that look at a page as a reader's browser shows it."""

import json
import os
import re
import shutil
import zlib
from base64 import b64decode
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# A graphics card that the processor would have to play costs more than drawing without one.
OPTIONS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-gpu-compositing",
    "--disable-software-rasterizer",
]


def find_chromium():
    """Path of an installed Chromium, or None; a failure where the environment requires one."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None and os.environ.get("DECIBAN_REQUIRE_BROWSER") == "1":
        pytest.fail(f"DECIBAN_REQUIRE_BROWSER is 1, but none of {', '.join(NAMES)} is on PATH.")
    return path


@contextmanager
def launch_chromium(path):
    """A running browser, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        yield browser
        browser.close()


@contextmanager
def quiet_page(browser, **options):
    """A page in a context of its own; errors on its console, or in its scripts, fail the test.

    The options are those of Playwright's ``browser.new_context``, such as ``color_scheme``.
    """
    with browser.new_context(**options) as context:
        page = context.new_page()
        complaints = []
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page
        assert complaints == []


SETTLED = """() => new Promise((done) => {
  let frames = 3;  // widths are observed, figures marked, and drawn
  const next = () => (--frames ? requestAnimationFrame(next) : setTimeout(done, 200));
  requestAnimationFrame(next);
})"""


def settle(page):
    """Wait until a page has drawn what follows from the last input, and written its address.

    The address follows after a pause of at most 200 ms. The browser runs frames and timers in their
    order, so that a busy machine makes this longer, not wrong.
    """
    page.evaluate(SETTLED)


FAULTS_OF_TEXT = """(box) => {
  const all = [...document.querySelectorAll(`${box} svg text`)];
  const texts = all.filter((t) => t.textContent.trim());
  const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect()]);
  const found = texts.filter((t, i) => {
    const [, p] = boxes[i], q = t.ownerSVGElement.getBoundingClientRect();
    const past = [q.left - p.left, p.right - q.right, q.top - p.top, p.bottom - q.bottom];
    return Math.max(...past) > 2;
  }).map((t) => `${t.textContent} is cut off`);
  boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
    const width = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const height = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (width > 2 && height > 4) found.push(`${a} | ${b}`);
  }));
  return found;
}"""


def find_faults_of_text(page, box):
    """Texts in the drawings of a box (a selector) that are cut off or lie over one another."""
    return page.evaluate(FAULTS_OF_TEXT, box)


def unpack(packed):
    """The numbers of a packed array, as samples.js reads them."""
    kind = np.dtype(packed["type"])
    planes = np.frombuffer(zlib.decompress(b64decode(packed["data"])), np.uint8)
    return np.ascontiguousarray(planes.reshape(kind.itemsize, -1).T).view(kind).ravel()


HOME = "http://deciban.test/"  # an address of no server, where modules of the front end are found


def serve_web(page, blank):
    """Let a page load the modules of the front end, one by one, into this document."""
    web = Path(find_spec("deciban.report").origin).with_name("web")
    kinds = {".js": "text/javascript; charset=utf-8", ".css": "text/css"}

    def serve(route):
        name = route.request.url.removeprefix(HOME)
        if not name:
            route.fulfill(body=blank, content_type="text/html")
        elif (web / name).is_file():
            route.fulfill(path=web / name, content_type=kinds[Path(name).suffix])
        else:  # or the page would wait for ever
            route.fulfill(status=404, body="")

    page.route(HOME + "**", serve)
    page.goto(HOME)


def open_drawn(page, address):
    """Open a page, and wait until every figure is drawn."""
    page.goto(address)
    page.wait_for_selector("html[data-ready=true]")
    for box in page.query_selector_all("[data-figure]"):
        box.scroll_into_view_if_needed()
        page.wait_for_function("box => box.childElementCount > 0", arg=box)
    assert page.query_selector_all(".missing") == []


def data_in(text):
    """The values of a page, as its script reads them."""
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1]
    )


def barriers(page):
    """Serious faults that axe finds: what keeps readers out."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in serious]
