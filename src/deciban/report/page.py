"""The report: what it says, in order, on one page that needs nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

import deciban
from deciban.assessment.results import Assessment, Quantity
from deciban.assessment.verdicts import Verdict, cost_of, verdicts
from deciban.assessment.wording import number, percent, plain, short
from deciban.evidence import Evidence
from deciban.exceptions import DecibanError, InputError
from deciban.report.figures import calibration, classes, ratios
from deciban.report.figures import training as learning
from deciban.report.figures.drawing import Figure
from deciban.report.figures.samples import Samples, hardest, samples_of
from deciban.report.markup import download, download_json, table, text

_MOST_PAIRS = 100  # classes whose pairs are all in the file to download
_CORRECTED = (
    " What PAV makes of the samples that it was fitted to is shown as it is, and corrected for "
    "that as in the summary."
)
_MOST_COUNTS = 12  # classes whose counts stand open in the data card
_WORDS = (
    ("Likelihood ratio (LR)", "How many times as probable the evidence is under one class as under "
     "another. It holds no prior: that is for whoever decides."),
    ("Log-likelihood ratio (LLR)", "Its logarithm, so that evidence adds up. Zero says nothing."),
    ("Deciban", "A unit of LLR: 10 decibans are a factor of 10, 20 a factor of 100; 1 is about the "
     "smallest change that a person feels."),
    ("Cllr, cross-entropy", "What the evidence costs those who trust it, on average over "
     "decisions. Two classes: 0 bit is perfect, 1 bit is what saying nothing costs."),
    ("Calibration", "Whether evidence means what it says. What is lost for lack of it can be won "
     "back by a map that is learnt from a few samples."),
    ("Discrimination", "Whether evidence differs between classes. What is lost for lack of it "
     "needs better evidence."),
    ("PAV", "Pool adjacent violators: the best map of scores to LLRs that keeps their order."),
)  # fmt: skip


def report(
    truth: Any,
    evidence: Evidence,
    *,
    title: str,
    assessment: Assessment,
    training: Sequence[Mapping[str, float]] | None = None,
    model_card: Mapping[str, str] | None = None,
    data_card: Mapping[str, str] | None = None,
) -> str:
    """One page on a set of evidence, as HTML that opens anywhere and loads nothing.

    A summary in words comes first, then every figure with the numbers behind it. What cannot be
    drawn says why in its place. Figures hold bins and a few hundred points, however many samples
    there are.

    Parameters
    ----------
    truth : array of shape (n_samples,)
    evidence : Evidence
        Of two classes, the second is the one that LLRs are in favour of.
    title : str
    assessment : Assessment
        Of the same samples, from :func:`assess`.
    training : list of dict, optional
        The ``history_`` of a CDA: epoch, loss, score and seconds.
    model_card, data_card : dict of str, optional
        What there is to know of the model and of the data.

    Returns
    -------
    str
    """
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"evidence must be Evidence; got {type(evidence).__name__}. Wrap it: "
            f"Evidence(log_likelihoods), or Evidence.from_llr(llr)."
        )
    if tuple(assessment.classes) != tuple(evidence.classes):
        raise InputError(
            "assessment must be of the same classes as the evidence; it is not. "
            "Pass assess(truth, evidence)."
        )
    page = _Page(samples_of(truth, evidence), assessment)
    sections = [
        _summary(assessment),
        _quality(assessment),
        page.calibration(),
        *page.several(),
        page.ratios(),
        *_training(training),
        _cards(assessment, model_card, data_card),
    ]
    return _whole(title, assessment, sections)


Section = tuple[str, str, str]  # of an address, a heading, and what stands under it


class _Page:
    """The sections with figures of the samples."""

    def __init__(self, samples: Samples, assessment: Assessment) -> None:
        self.samples, self.assessment = samples, assessment
        D = samples.evidence.n_classes
        self.hardest = [0, 1] if D == 2 else hardest(samples, assessment.difficulty())
        b, a = sorted(self.hardest[:2])
        self.hardest[:2] = [a, b]
        self.pair = samples.pair(a, b)
        self.of = ""
        if D > 2:
            names = " and ".join(short(samples.evidence.classes[k], 40) for k in (a, b))
            self.of = f" Of the {D} classes, {names} are shown, the pair hardest to tell apart."

    def calibration(self) -> Section:
        """What it costs and why, reliability, and evidence of the evidence."""
        cost = cost_of(self.assessment)
        total, saved = cost.total.value, cost.calibration.corrected
        parts = (total, saved, total - saved)
        made = [
            ("What the evidence costs, and why",
             lambda: calibration.decomposition(parts, cost.nothing, cost.unit)),
            ("Reliability",
             lambda: calibration.reliability(self.samples, self.assessment.confidence)),
            ("Evidence of the evidence", lambda: calibration.idempotence(self.pair)),
        ]  # fmt: skip
        said = "Does the evidence mean what it says? Cost, posteriors and ratios are asked in turn."
        said += self.of.replace("are shown", "are shown last")
        return "calibration", "Calibration", _paragraph(said) + _figures(made)

    def several(self) -> list[Section]:
        """Each two classes, and three of them in a plane and in a triangle."""
        D = self.samples.evidence.n_classes
        if D == 2:
            return []
        three = self.samples.of_classes(self.hardest)  # in the colours of the pair
        made = [
            ("Each two classes", lambda: classes.pairwise(self.assessment)),
            ("Evidence in the plane of its log-ratios", lambda: classes.plane(three, D == 3)),
            ("Posteriors in the triangle", lambda: classes.ternary(three, D == 3)),
        ]
        said = "Which classes are told apart, and which are taken for one another?"
        return [("classes", "Class by class", _paragraph(said) + _figures(made))]

    def ratios(self) -> Section:
        """Histograms, DET, Tippett and empirical cross-entropy of two classes."""
        made = [
            ("Histogram of the log-likelihood ratios", lambda: ratios.histogram(self.pair)),
            ("Tippett plot", lambda: ratios.tippett(self.pair)),
            ("Detection error trade-off", lambda: ratios.det(self.pair)),
            ("Empirical cross-entropy", lambda: ratios.cross_entropy(self.pair)),
        ]
        said = f"How the ratios are spread, what errors they lead to, and what they cost.{self.of}"
        return "ratios", "Likelihood ratios", _paragraph(said) + _figures(made)


# --- sections without figures of the samples --------------------------------------------


def _summary(assessment: Assessment) -> Section:
    found = verdicts(assessment)
    tiles = "".join(f"<li>{_tile(verdict)}</li>" for verdict in found)
    said = "".join(f"<li>{text(verdict.sentence)}</li>" for verdict in found)
    care = "".join(f"<li>{text(warning)}</li>" for warning in assessment.warnings)
    if care:
        care = f'<div class="caution"><strong>Before quoting a number</strong><ul>{care}</ul></div>'
    body = f'<ul class="tiles">{tiles}</ul><ul class="verdicts">{said}</ul>{care}'
    return "summary", "Summary", body


def _tile(verdict: Verdict) -> str:
    span = f'<span class="range">{text(verdict.range)}</span>' if verdict.range else ""
    return (
        f'<div class="tile {verdict.tone}"><span class="what">{text(verdict.what)}</span>'
        f'<span class="big">{text(verdict.big)}</span><span class="word">{text(verdict.word)}'
        f"</span>{span}</div>"
    )


def _quality(assessment: Assessment) -> Section:
    rows = "".join(_quantity(q) for q in assessment.quantities)
    sure = f"{100 * assessment.confidence:g} %"
    head = "".join(
        f'<th scope="col">{h}</th>'
        for h in ("quantity", "value", f"{sure} interval", "what it says")
    )
    columns = ("key", "quantity", "value", "low", "high", "corrected", "unit", "better")
    plain_rows = [
        (q.key, q.label, q.value, q.low, q.high, q.corrected, q.unit, q.better)
        for q in assessment.quantities
    ]
    corrected = any(q.corrected != q.value for q in assessment.quantities)
    body = (
        f'<div class="card quantities"><div class="scroll whole" role="region" tabindex="0" '
        f'aria-label="Quantities"><table><caption>Each quantity with its {sure} '
        f"interval.{_CORRECTED if corrected else ''}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f"{download('quantities', columns, plain_rows)}</div>"
    )
    return "quality", "Quality of the evidence", body


def _quantity(q: Quantity) -> str:
    better = f" {q.better.capitalize()} is better." if q.better else ""
    low, high = _in_unit(q.low, ""), _in_unit(q.high, q.unit)
    if q.unit == "fraction":
        low = _in_unit(q.low, q.unit).removesuffix(" %")
    span = "no interval" if np.isnan(q.low) or np.isnan(q.high) else f"{low} to {high}"
    corrected = _in_unit(q.corrected, q.unit)
    if corrected != _in_unit(q.value, q.unit):
        span += f"; corrected {corrected}"
    return (
        f'<tr><th scope="row">{text(short(q.label, 90))}</th>'
        f'<td class="value">{text(_in_unit(q.value, q.unit))}</td>'
        f'<td class="range">{text(span)}</td>'
        f'<td class="meaning">{text(short(q.meaning, 300) + better)}</td></tr>'
    )


def _in_unit(value: float, unit: str) -> str:
    if np.isnan(value):
        return "not defined"
    return percent(value, 3) if unit == "fraction" else f"{number(value)} {unit}".strip()


def _training(history: Sequence[Mapping[str, float]] | None) -> list[Section]:
    if not history:
        return []
    there = [what for what in ("loss", "score") if any(what in record for record in history)]
    made = [(learning.TITLES[what][0], _later(learning.curve, history, what)) for what in there]
    said = "How the model learnt, epoch by epoch."
    return [("training", "Training", _paragraph(said) + _figures(made))]


def _later(draw: Callable[..., Figure], *arguments: Any) -> Callable[[], Figure]:
    return lambda: draw(*arguments)


def _cards(
    assessment: Assessment,
    model_card: Mapping[str, str] | None,
    data_card: Mapping[str, str] | None,
) -> Section:
    counts = _counts(assessment)
    if len(assessment.classes) > _MOST_COUNTS:
        counts = f"<details><summary>Samples of each class</summary>{counts}</details>"
    data = {**(data_card or {}), "prior of costs and decisions": _prior(assessment)}
    if assessment.costs is not None:
        data["costs of errors"] = _costs(assessment)
    body = f'<div class="figures"><div class="figure"><h3>Data</h3>{_sheet(data)}{counts}</div>'
    if model_card:
        body += f'<div class="figure"><h3>Model</h3>{_sheet(model_card)}</div>'
    words = "".join(f"<dt>{text(word)}</dt><dd>{text(said)}</dd>" for word, said in _WORDS)
    body += (
        f'<div class="figure wide"><h3>What the words mean</h3><dl class="sheet">{words}</dl></div>'
    )
    return "cards", "Data, model and words", body + "</div>"


def _prior(assessment: Assessment) -> str:
    prior = assessment.prior
    if prior is None or max(prior) - min(prior) < 1e-9:
        return "the same for each class"
    pairs = list(zip(assessment.classes, prior, strict=True))
    said = ", ".join(f"{short(label, 30)} {p:.3g}" for label, p in pairs[:_MOST_COUNTS])
    return said + (", …" if len(pairs) > _MOST_COUNTS else "")


def _costs(assessment: Assessment) -> str:
    """What each error costs, beside the right decision where that costs something."""
    C, names = np.asarray(assessment.costs), [short(label, 30) for label in assessment.classes]
    said = [
        f"{names[j]} for {names[i]} {number(float(C[i, j]))}"
        for i in range(len(C))
        for j in range(len(C))
        if i != j or C[i, j] != 0
    ]
    return ", ".join(said[:_MOST_COUNTS]) + (", …" if len(said) > _MOST_COUNTS else "")


def _sheet(card: Mapping[str, str] | None) -> str:
    if not card:
        return ""
    rows = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in card.items())
    return f'<dl class="sheet">{rows}</dl>'


def _counts(assessment: Assessment) -> str:
    total = max(1, sum(assessment.counts))
    rows = [
        (str(name), int(count), 100 * count / total)
        for name, count in zip(assessment.classes, assessment.counts, strict=True)
    ]
    columns = ("class", "samples", "share (%)")
    link = download("classes", columns, rows) if len(rows) > _MOST_COUNTS else ""
    return link + table(f"{sum(assessment.counts):,} samples.", columns, rows)


# --- parts of the page ------------------------------------------------------------------


def _figures(made: Sequence[tuple[str, Callable[[], Figure]]]) -> str:
    return f'<div class="figures">{"".join(_attempt(title, make) for title, make in made)}</div>'


def _attempt(title: str, make: Callable[[], Figure]) -> str:
    """A figure, or a sentence on why it cannot be drawn: the rest of the page stands without it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return make().html()
    except (DecibanError, ArithmeticError, np.linalg.LinAlgError, ValueError) as error:
        return (
            f'<div class="figure missing"><h3>{text(title)}</h3>'
            f"<p>Not drawn. {text(str(error) or type(error).__name__)}</p></div>"
        )


def _paragraph(said: str) -> str:
    return f"<p>{text(said)}</p>"


def _whole(title: str, assessment: Assessment, sections: Sequence[Section]) -> str:
    contents = "".join(f'<li><a href="#{key}">{heading}</a></li>' for key, heading, _ in sections)
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-heading"><h2 id="{key}-heading">{heading}</h2>'
        f"{content}</section>"
        for key, heading, content in sections
    )
    names = ", ".join(short(name, 24) for name in assessment.classes[:6])
    more = f" and {len(assessment.classes) - 6} more" if len(assessment.classes) > 6 else ""
    here = files("deciban.report")
    style, script = (here.joinpath(name).read_text("utf-8") for name in ("style.css", "script.js"))
    numbers = assessment.to_dict()
    if len(assessment.classes) > _MOST_PAIRS:  # millions of numbers; the hardest pairs are a table
        numbers = {key: value for key, value in numbers.items() if "pairwise" not in key}
    link = download_json("assessment", numbers, "Download all numbers as JSON")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<meta name="generator" content="deciban {deciban.__version__}">
<link rel="icon" href="data:,">
<title>{text(plain(title))}</title>
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<div class="layout">
<header><p class="kind">Report on evidence</p><h1>{text(title)}</h1>
<p class="lead">{sum(assessment.counts):,} samples of {len(assessment.classes)} classes: \
{text(names + more)}.</p></header>
<nav aria-label="Contents"><ol>{contents}</ol></nav>
<main id="main" tabindex="-1">{body}</main>
<footer>Made with deciban {deciban.__version__}. This file holds all it needs and loads nothing. \
{link}</footer>
</div>
<script>
{script}</script>
</body>
</html>
"""
