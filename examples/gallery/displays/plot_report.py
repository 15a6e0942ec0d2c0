"""
A report from Python
====================

The same figures, numbers and verdicts as one HTML page that opens from disk and loads nothing.

No picture here: the page is interactive, so it is best opened. A summary in words comes first,
then every figure with the numbers behind it.

:func:`~deciban.report.report` and
:func:`~deciban.report.explorer` list all options.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from deciban import assess
from deciban.calibration import CalibratedEvidenceClassifier
from deciban.report import explorer, report

data = load_breast_cancer()
y = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data, y, test_size=0.5, random_state=0, stratify=y)
evidence = CalibratedEvidenceClassifier(GaussianNB()).fit(X, y).evidence(X_new)
assessment = assess(y_new, evidence)

folder = Path(tempfile.mkdtemp())
page = report(y_new, evidence, title="Naive Bayes, calibrated", assessment=assessment)
(folder / "report.html").write_text(page, encoding="utf-8")
(folder / "explorer.html").write_text(explorer(evidence, y_new), encoding="utf-8")

# %%
# Open a page in the browser with ``webbrowser.open((folder / "report.html").as_uri())``, or mail
# it: it is a single file. The report says what the evidence is worth; in the explorer a reader
# moves priors, costs and evidence. The assessment behind the report is an object of its own, which
# notebooks show as a table. Read its verdict first: it says what to do.

assessment
