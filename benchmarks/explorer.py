"""Milliseconds that the browser takes for what a page computes anew while a control is moved.

One Chromium on one thread; the modules of the front end as they are, without figures.
"""

import argparse
import os
import platform
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

import deciban.report

WEB = Path(deciban.report.__file__).with_name("web")
HOME = "http://deciban.test/"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

MEASURE = """async ({ n, frames }) => {
  const geometry = await import("/geometry.js");
  const statistics = await import("/statistics.js");
  let seed = 1;
  const uniform = () => ((seed = (seed * 1664525 + 1013904223) % 4294967296) + 0.5) / 4294967296;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  const logLikelihoods = Float64Array.from({ length: 3 * n }, () => 3 * normal());
  const d = 3.28475; // calibrated LLRs with an equal-error rate of 10 %
  const half = (sign) => Float64Array.from({ length: n / 2 }, () => sign * d + Math.sqrt(2 * d) * normal());
  const [target, nonTarget] = [half(1), half(-1)];
  const costs = [[0, 1, 4], [2, 0, 1], [5, 1, 0]];
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
    "affine calibration": () => statistics.affineCalibration(target, nonTarget),
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
        browser.close()


if __name__ == "__main__":
    main()
