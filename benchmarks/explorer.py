"""Milliseconds that the browser takes for what a page computes anew while a control is moved.

One Chromium on one thread; the modules of the front end as they are, without figures. Then the
explorer as it is, with a page that holds all samples: the frames of a drag of the prior in Bayes'
walk, and how long the controls of "Your scores" take until its figures answer.
"""

import argparse
import os
import platform
import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import deciban.report
from deciban import CalibratedGaussian
from deciban.report.explorer import explorer

WEB = Path(deciban.report.__file__).with_name("web")
HOME = "http://deciban.test/"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

MEASURE = """async ({ n, frames }) => {
  const geometry = await import("/geometry.js");
  const statistics = await import("/statistics.js");
  const multiclass = await import("/multiclass.js");
  let seed = 1;
  const uniform = () => ((seed = (seed * 1664525 + 1013904223) % 4294967296) + 0.5) / 4294967296;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  const logLikelihoods = Float64Array.from({ length: 3 * n }, () => 3 * normal());
  const d = 3.28475; // calibrated LLRs with an equal-error rate of 10 %
  const half = (sign) => Float64Array.from({ length: n / 2 }, () => sign * d + Math.sqrt(2 * d) * normal());
  const [target, nonTarget] = [half(1), half(-1)];
  const costs = [[0, 1, 4], [2, 0, 1], [5, 1, 0]];
  const truth = Uint16Array.from({ length: n }, (_, i) => i % 3);
  const posteriors = new Float64Array(3 * n);
  const prior = (k) => [0.2 + (0.6 * k) / frames, 0.1, 0.7 - (0.6 * k) / frames];
  const tasks = {
    "posteriors": (k) => geometry.posterior(logLikelihoods, n, 3, prior(k), posteriors),
    "decisions": (k) => geometry.decide(logLikelihoods, n, 3, prior(k)),
    "posteriors and decisions": (k) => {
      geometry.posterior(logLikelihoods, n, 3, prior(k), posteriors);
      geometry.decide(logLikelihoods, n, 3, prior(k));
    },
    "decisions under costs": (k) => geometry.decide(logLikelihoods, n, 3, prior(k), costs),
    "Cllr": () => statistics.cllr(target, nonTarget),
    "PAV": () => statistics.pav(target, nonTarget),
    "histogram": () => statistics.histogramBins(target, nonTarget),
    "cross-entropy curve": () => statistics.crossEntropyCurve(target, nonTarget),
    "affine calibration": () => multiclass.fitAffine(logLikelihoods, truth, n, 3),
  };
  const found = {};
  for (const [name, task] of Object.entries(tasks)) {
    const times = [];
    for (let k = 0; k < frames; k++) {
      const start = performance.now();
      task(k);
      times.push(performance.now() - start);
    }
    const first = times[0];
    times.sort((a, b) => a - b);
    found[name] = { first, median: times[frames >> 1], least: times[0] };
  }
  return found;
}"""  # noqa: E501

# A frame counts where the handle has moved in it; others wait for the next movement of the mouse.
WATCH = """() => {
  const handle = document.querySelector("[data-box=plane] .handle.is-prior");
  window.frameTimes = [];
  let last = null, place = "";
  const watch = (now) => {
    const next = handle.getAttribute("transform");
    if (last !== null && next !== place) window.frameTimes.push(now - last);
    [last, place] = [now, next];
    requestAnimationFrame(watch);
  };
  requestAnimationFrame(watch);
}"""
# From the change of a control to a figure that answers it, and the longest frame on the way.
ANSWER = """async ([name, value, figure]) => {
  const control = document.querySelector(`.controls ${name}`);
  const shown = () => document.querySelector(`[data-figure=${figure}] svg`);
  const before = shown(), start = performance.now();
  control.value = value;
  control.dispatchEvent(new Event(control.type === "range" ? "input" : "change"));
  let last = start, longest = 0;
  do {
    const now = await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
      .then(() => performance.now());
    [longest, last] = [Math.max(longest, now - last), now];
  } while (shown() === before);
  return { answer: last - start, frame: longest };
}"""
PRIOR, PAIR = "input[type=range]", "label:nth-child(2) select"
MOVES = {  # by what a reader does: control, values, figure in view, and the pair
    "prior, at the top": (PRIOR, [5, -5, 8, -8, 3], "histogram", "1"),
    "prior, at reliability": (PRIOR, [5, -5, 8, -8, 3], "reliability", "1"),
    "pair": (PAIR, [2, 1, 2, 1, 2], "histogram", "1"),
    "prior, one against the rest": (PRIOR, [5, -5, 8, -8, 3], "histogram", "rest"),
}
COSTS = "[[0,1,4],[2,0,1],[5,1,0]]"
DRAGS = {"equal costs": "", "other costs": f"#costs={COSTS}", "no decision": "#reject=0.3"}


def serve(route):
    name = route.request.url.removeprefix(HOME)
    if not name:
        route.fulfill(body="<!doctype html>", content_type="text/html")
    elif (WEB / name).is_file():
        route.fulfill(path=WEB / name, content_type="text/javascript")
    else:
        route.fulfill(status=404, body="")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10**6)
    parser.add_argument("--frames", type=int, default=21)
    args = parser.parse_args()
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise SystemExit(f"None of {', '.join(BROWSERS)} is on PATH. Install Chromium.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        page.route(HOME + "**", serve)
        page.goto(HOME)
        print(f"Chromium {browser.version}, {platform.machine()}, {os.cpu_count()} cores, "
              f"load {os.getloadavg()[0]:.1f}")  # fmt: skip
        print(f"{args.samples:,} samples of three classes; {args.samples:,} LLRs of two classes, "
              f"half each, for the others; {args.frames} frames")  # fmt: skip
        print(f"{'milliseconds':30}{'median':>10}{'least':>10}{'first':>10}")
        sizes = {"n": args.samples, "frames": args.frames}
        for name, taken in page.evaluate(MEASURE, sizes).items():
            print(f"{name:30}" + "".join(f"{taken[k]:10.1f}" for k in ("median", "least", "first")))
        measure_pages(browser, args.samples)
        browser.close()


def measure_pages(browser, n):
    """Print the times of a page of three classes: frames of a drag, and answers to controls."""
    family = CalibratedGaussian.from_divergences([5, 4, 7])
    ilrls, y_true = family.sample([n - 2 * (n // 3), n // 3, n // 3], rng=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explorer.html"
        page = explorer(family.evidence(ilrls), y_true, max_samples=n)
        path.write_text(page, encoding="utf-8")
        print(f"{'frames of a drag':30}{'median':>10}{'95 %':>10}{'frames':>10}")
        for name, address in DRAGS.items():
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(path.as_uri() + address)
            times = drag_prior(page)
            middle, most = np.median(times), np.quantile(times, 0.95)
            print(f"{name:30}{middle:10.1f}{most:10.1f}{len(times):10}")
            page.close()
        print(f"{'answers of Your scores':30}{'median':>10}{'most':>10}{'frame':>10}")
        for name, move in MOVES.items():
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(120_000)
            page.goto(path.as_uri() + '#part="scores"')
            found = move_control(page, *move)
            times, frames = ([one[key] for one in found] for key in ("answer", "frame"))
            print(f"{name:30}{np.median(times):10.1f}{max(times):10.1f}{np.median(frames):10.1f}")
            page.close()


def move_control(page, control, values, figure, other):
    """Milliseconds until the figure answers each value of the control, and of the longest frame."""
    page.wait_for_selector(".tile")
    page.select_option(f".controls {PAIR}", other)
    page.locator(f"[data-figure={figure}]").scroll_into_view_if_needed()
    page.wait_for_selector(f"[data-figure={figure}] svg")
    page.wait_for_timeout(3000)
    found = []
    for value in values:
        found.append(page.evaluate(ANSWER, [control, value, figure]))
        page.wait_for_timeout(300)
    return found


def drag_prior(page, moves=150):
    """Milliseconds of each frame in which the prior moved."""
    knob = page.locator("[data-box=plane] .handle.is-prior .knob")
    knob.wait_for()
    box = knob.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 5, y)
    page.wait_for_timeout(500)
    page.evaluate(WATCH)
    for k in range(moves):
        page.mouse.move(x + 90 * np.sin(k / 12), y - 70 * np.sin(k / 17))
    times = page.evaluate("window.frameTimes")
    page.mouse.up()
    return times


if __name__ == "__main__":
    main()
