"""Take the pictures of README.md: a report and the explorer, as a reader's browser shows them.

Needs Chromium. `make docs-pictures` calls it; look at the pictures before you commit them.
"""

import json
import sys
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from deciban.calibration import CalibratedEvidenceClassifier
from deciban.report import explorer, report

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import find_chromium, launch_chromium, settle

SIZE = {"width": 1180, "height": 1000}  # pixels of the page; the file has twice as many
COLORS = 256  # a third of the size of the file, without a visible difference
WALK = {
    "names": ["Czech", "Polish", "Slovak"],
    "prior": [0.5, 0.3, 0.2],
    "pieces": [[0.50, -0.82, 0.32], [-0.10, -1.19, 1.29]],
}


def make_report():
    data = load_breast_cancer()
    names = data.target_names[data.target]
    X, X_new, y, y_new = train_test_split(
        data.data, names, stratify=names, random_state=0, test_size=0.5
    )
    model = CalibratedEvidenceClassifier(GaussianNB()).fit(X, y)
    return report(y_new, model.evidence(X_new), title="Breast cancer: naive Bayes, calibrated")


def take_picture(browser, html, path, state=None):
    page_file = path.with_suffix(".html")
    page_file.write_text(html, encoding="utf-8")
    values = {key: quote(json.dumps(value)) for key, value in (state or {}).items()}
    address = "&".join(f"{key}={value}" for key, value in values.items())
    page = browser.new_page(viewport=SIZE, device_scale_factor=2, color_scheme="light")
    page.goto(f"{page_file.resolve().as_uri()}#{address}")
    page.locator("[data-ready=true]").wait_for()
    settle(page)
    page.screenshot(path=path)
    page.close()
    page_file.unlink()
    with Image.open(path) as image:
        image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)


def main():
    folder = Path(sys.argv[1])
    with launch_chromium(find_chromium()) as browser:
        take_picture(browser, make_report(), folder / "report.png")
        take_picture(browser, explorer(), folder / "explorer.png", WALK)


if __name__ == "__main__":
    main()
