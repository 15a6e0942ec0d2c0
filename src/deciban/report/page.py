"""The report: what it says, in order, on one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import deciban
from deciban.assessment import Assessment, Conditions, Quantity, assess
from deciban.assessment.actions import cost_of
from deciban.assessment.results import Verdict
from deciban.assessment.verdicts import verdicts
from deciban.assessment.wording import CRITERIA, criteria_rows, number, percent, shorten
from deciban.evidence import Evidence
from deciban.exceptions import DecibanError, InputError
from deciban.metrics.labelled import Labelled, read_labelled
from deciban.report.drawing import Figure
from deciban.report.figures import classes, overall, ratios
from deciban.report.markup import download, download_json, scrolling_table, table, text

_MOST_PAIRS = 100  # classes whose pairs are all in the file to download
_MOST_LISTED = 12  # classes, or costs, that are listed in the open
_CORRECTED = (
    " PAV is judged on the samples that it was fitted to; quantities that this makes too good are "
    "shown as they are, and corrected as in the summary."
)
_WORDS = {
    "Likelihood ratio (LR)": "How many times as probable the evidence is under one class as under "
    "another. It does not include a prior: that belongs to whoever decides.",
    "Log-likelihood ratio (LLR)": "The logarithm of the ratio, so that evidence adds up. Zero says "
    "nothing.",
    "Deciban": "A unit of LLR: 10 decibans are a factor of 10, 20 a factor of 100; 1 is about the "
    "smallest change that a person notices.",
    "Cllr, cross-entropy": "What the evidence costs those who trust it, on average over "
    "decisions. Two classes: 0 bit is perfect, 1 bit is the cost of no evidence.",
    "Calibration": "Whether evidence means what it says. Recalibration, learned from a few "
    "samples, removes the cost of poor calibration.",
    "Discrimination": "Whether evidence differs between classes. Only better evidence lowers the "
    "cost of poor discrimination; recalibration cannot.",
    "PAV": "Pool adjacent violators: the best map of scores to LLRs that keeps their order.",
}

Section = tuple[str, str, str]  # an address, a heading, and what stands under it
Drawer = Callable[[], Figure]


def report(
    y_true: ArrayLike,
    evidence: Evidence,
    *,
    title: str,
    assessment: Assessment | None = None,
    conditions: Conditions | None = None,
    training: Sequence[Mapping[str, float]] | None = None,
    model_card: Mapping[str, str] | None = None,
    data_card: Mapping[str, str] | None = None,
    criteria: Sequence[Mapping[str, Any]] = (),
    provenance: Mapping[str, Any] | None = None,
) -> str:
    """One page on a set of evidence, as HTML that opens anywhere and loads nothing.

    A summary in words comes first, then every figure with the numbers behind it, or the reason why
    it cannot be drawn. However many samples there are, figures hold bins and at most a few hundred
    points.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes.
    evidence : Evidence
        With two classes, LLRs are in favor of the second.
    title : str
    assessment : Assessment, default assess(y_true, evidence)
        Assessment of the same samples.
    conditions : Conditions, optional
        Assessments of the same samples by condition.
    training : list of dict, optional
        The ``history_`` of a CDA: epoch, loss, score and seconds.
    model_card, data_card : dict of str, optional
        What a reader should know about the model and the data, by name.
    criteria : list of dict, optional
        Criteria that the evidence had to meet: criterion, judged_on, found and passed.
    provenance : dict, optional
        How the numbers came about, as plain data: command, date, versions, inputs and the like.

    Returns
    -------
    str
    """
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"evidence must be Evidence; got {type(evidence).__name__}. Wrap it: "
            f"Evidence(log_likelihoods), or Evidence.from_llr(llr)."
        )
    assessment = assess(y_true, evidence) if assessment is None else assessment
    if tuple(assessment.classes) != tuple(evidence.classes):
        raise InputError(
            "assessment must be of the same classes as the evidence; it is not. "
            "Pass assess(y_true, evidence)."
        )
    data = read_labelled(y_true, evidence, every_class=False)
    sections = [
        _summary(assessment),
        *_criteria(criteria),
        _quality(assessment),
        *_conditions(conditions),
        *_figure_sections(data, assessment),
        *_training(training),
        _cards(assessment, model_card, data_card),
        *_provenance(provenance),
    ]
    record = {"criteria": list(criteria), "provenance": provenance} if provenance else {}
    return _page(title, assessment, sections, record)


def _figure_sections(data: Labelled, assessment: Assessment) -> list[Section]:
    """Calibration, each pair and three of several classes, and the ratios of two."""
    names, D = data.evidence.classes, data.evidence.n_classes
    hardest = classes.hardest_classes(data, assessment.difficulty())
    b, a = hardest[:2]
    pair, note = data.pair(a, b), ""
    if D > 2:
        both = " and ".join(shorten(names[k], 40) for k in (a, b))
        note = f" Of the {D} classes, ratios are those of {both}, the pair hardest to tell apart."
    sections = [
        _section(
            "Calibration",
            f"Does the evidence mean what it says? Three views: cost, posteriors and ratios.{note}",
            {
                "What the evidence costs, and why": partial(
                    overall.decomposition, cost_of(assessment)
                ),
                "Reliability": partial(overall.reliability, data, assessment.confidence),
                "Evidence of the evidence": partial(ratios.evidence_of_evidence, pair),
            },
        ),
        _section(
            "Likelihood ratios",
            f"How the ratios are spread, which errors they lead to, and what they cost.{note}",
            {
                "Histogram of the log-likelihood ratios": partial(ratios.histogram, pair),
                "Tippett plot": partial(ratios.tippett, pair),
                "Detection error trade-off": partial(ratios.det, pair),
                "Empirical cross-entropy": partial(ratios.cross_entropy, pair),
            },
        ),
    ]
    if D > 2:
        three = classes.restrict_samples(data, [a, b, *hardest[2:]])  # in the colors of the pair
        figures: dict[str, Drawer] = {
            "Each pair of classes": partial(classes.pairwise, assessment),
            "Evidence in the plane of its log-ratios": partial(classes.plane, three, D == 3),
            "Posteriors in the triangle": partial(classes.ternary, three, D == 3),
        }
        question = "Which classes are told apart, and which are confused with one another?"
        sections.insert(1, _section("Class by class", question, figures))
    return sections


def _training(history: Sequence[Mapping[str, float]] | None) -> list[Section]:
    if not history:
        return []
    figures: dict[str, Drawer] = {
        title: partial(overall.training_curve, history, what)
        for what, (title, *_) in overall.TRAINING.items()
        if any(what in record for record in history)
    }
    return [_section("Training", "How the model learned, epoch by epoch.", figures)]


def _section(heading: str, question: str, figures: Mapping[str, Drawer]) -> Section:
    drawn = "".join(_attempt(title, draw) for title, draw in figures.items())
    content = f'<p>{text(question)}</p><div class="figures">{drawn}</div>'
    return heading.split()[0].lower(), heading, content


def _attempt(title: str, draw: Drawer) -> str:
    """A figure, or a sentence that says why it cannot be drawn, so that the page stands."""
    try:
        with np.errstate(all="ignore"):
            return draw().html(title)
    except (DecibanError, ArithmeticError, np.linalg.LinAlgError, ValueError) as error:
        return (
            f'<div class="figure missing"><h3>{text(title)}</h3>'
            f"<p>Not drawn. {text(str(error) or type(error).__name__)}</p></div>"
        )


# --- sections without figures -------------------------------------------------------------


def _summary(assessment: Assessment) -> Section:
    action, *found = verdicts(assessment)
    tiles = "".join(f"<li>{_tile(verdict)}</li>" for verdict in found)
    sentences = "".join(f"<li>{text(verdict.sentence)}</li>" for verdict in found)
    care = "".join(f"<li>{text(warning)}</li>" for warning in assessment.warnings)
    if care:
        care = f'<div class="caution"><strong>Before quoting a number</strong><ul>{care}</ul></div>'
    banner = _tile(action._replace(range=action.sentence))
    body = f'{banner}<ul class="tiles">{tiles}</ul><ul class="verdicts">{sentences}</ul>{care}'
    return "summary", "Summary", body


def _tile(verdict: Verdict) -> str:
    interval = f'<span class="range">{text(verdict.range)}</span>' if verdict.range else ""
    return (
        f'<div class="tile {verdict.tone}"><span class="what">{text(verdict.what)}</span>'
        f'<span class="big">{text(verdict.big)}</span><span class="word">{text(verdict.word)}'
        f"</span>{interval}</div>"
    )


def _quality(assessment: Assessment) -> Section:
    quantities, level = assessment.quantities, f"{100 * assessment.confidence:g} %"
    titles = ("quantity", "value", f"{level} interval", "what it says")
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    rows = "".join(_quantity(q) for q in quantities)
    caption = f"Each quantity with its {level} interval."
    if assessment.design:
        caption += f" Intervals: {assessment.design}."
    if any(q.corrected != q.value for q in quantities):
        caption += _CORRECTED
    columns = ("key", "label", "value", "low", "high", "corrected", "unit", "better")
    file = download("quantities", columns, [[getattr(q, c) for c in columns] for q in quantities])
    content = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    whole = scrolling_table(caption, content, "scroll whole")
    body = f'<div class="card quantities">{whole}{file}</div>'
    return "quality", "Quality of the evidence", body


def _conditions(conditions: Conditions | None) -> list[Section]:
    if conditions is None:
        return []
    header, rows = conditions.table()
    level = f"{100 * conditions.pooled.confidence:g} %"
    shown = table(f"Each {conditions.column}, with {level} intervals.", header, rows)
    notes = "".join(f"<li>{text(sentence)}</li>" for sentence in conditions.notes)
    file = download("conditions", header, rows)
    body = f'<ul class="verdicts">{notes}</ul><div class="card">{shown}{file}</div>'
    return [("conditions", "Results by condition", body)]


def _quantity(q: Quantity) -> str:
    better = f" {q.better.capitalize()} is better." if q.better else ""
    value, low, high, corrected = (
        _in_unit(x, q.unit) for x in (q.value, q.low, q.high, q.corrected)
    )
    suffix = " %" if q.unit == "fraction" else f" {q.unit}"
    interval = "no interval" if np.isnan(q.low) else f"{low.removesuffix(suffix)} to {high}"
    if corrected != value:
        interval += f"; corrected {corrected}"
    return (
        f'<tr><th scope="row">{text(shorten(q.label, 90))}</th>'
        f'<td class="value">{text(value)}</td><td class="range">{text(interval)}</td>'
        f'<td class="meaning">{text(shorten(q.meaning, 300) + better)}</td></tr>'
    )


def _in_unit(value: float, unit: str) -> str:
    if np.isnan(value):
        return "not defined"
    return percent(value, 3) if unit == "fraction" else f"{number(value)} {unit}".strip()


def _cards(
    assessment: Assessment,
    model_card: Mapping[str, str] | None,
    data_card: Mapping[str, str] | None,
) -> Section:
    counts = _counts(assessment)
    if len(assessment.classes) > _MOST_LISTED:
        counts = f"<details><summary>Samples of each class</summary>{counts}</details>"
    data = {**(data_card or {}), "prior for costs and decisions": _prior(assessment)}
    if assessment.costs is not None:
        data["costs of errors"] = _costs(assessment)
    body = f'<div class="figure"><h3>Data</h3>{_sheet(data)}{counts}</div>'
    if model_card:
        body += f'<div class="figure"><h3>Model</h3>{_sheet(model_card)}</div>'
    body += f'<div class="figure wide"><h3>What the words mean</h3>{_sheet(_WORDS)}</div>'
    return "cards", "Data, model and words", f'<div class="figures">{body}</div>'


def _criteria(criteria: Sequence[Mapping[str, Any]]) -> list[Section]:
    if not criteria:
        return []
    failed = sum(not one["passed"] for one in criteria)
    caption = f"{failed} of {len(criteria)} criteria failed." if failed else "All criteria are met."
    found = table(caption, CRITERIA, criteria_rows(criteria))
    return [("criteria", "Acceptance criteria", f'<div class="card">{found}</div>')]


def _provenance(record: Mapping[str, Any] | None) -> list[Section]:
    if record is None:
        return []
    sheet = {"command": record["command"], "date": record["date"]}
    sheet["versions"] = _pairs(record["versions"])
    for one in record["scores"]:
        sheet[one["file"]] = " ".join([f"{one['rows_used']:,} rows used.", *one["notes"]])
    sheet["settings"] = _pairs(record["settings"])
    inputs = [[one["file"], one["sha256"], one["bytes"]] for one in record["inputs"]]
    files = table("Files that were read.", ("file", "SHA-256", "bytes"), inputs)
    body = f'<div class="figures"><div class="figure wide">{_sheet(sheet)}{files}</div></div>'
    return [("provenance", "Provenance", body)]


def _pairs(values: Mapping[str, Any]) -> str:
    """Settings that were given; zero is one, such as a seed."""
    given = {
        name: " and ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None and value is not False and value not in ("", [])
    }
    return ", ".join(f"{name} {value}" for name, value in given.items())


def _prior(assessment: Assessment) -> str:
    prior = assessment.prior
    if max(prior) - min(prior) < 1e-9:
        return "the same for each class"
    pairs = zip(assessment.classes, prior, strict=True)
    return _list([f"{shorten(label, 30)} {p:.3g}" for label, p in pairs])


def _costs(assessment: Assessment) -> str:
    """What each error costs, and the right decision where that costs something."""
    C, names = np.asarray(assessment.costs), [shorten(label, 30) for label in assessment.classes]
    costly = np.argwhere((C != 0) | ~np.eye(len(C), dtype=bool))
    return _list([f"{names[j]} for {names[i]} {number(float(C[i, j]))}" for i, j in costly])


def _list(items: Sequence[str]) -> str:
    return ", ".join([*items[:_MOST_LISTED], *(["…"] if len(items) > _MOST_LISTED else [])])


def _sheet(card: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in card.items())
    return f'<dl class="sheet">{rows}</dl>'


def _counts(assessment: Assessment) -> str:
    total = max(1, sum(assessment.counts))
    pairs = zip(assessment.classes, assessment.counts, strict=True)
    rows = [(str(name), int(count), 100 * count / total) for name, count in pairs]
    columns = ("class", "samples", "share (%)")
    link = download("classes", columns, rows) if len(rows) > _MOST_LISTED else ""
    return link + table(f"{sum(assessment.counts):,} samples.", columns, rows)


def _page(
    title: str, assessment: Assessment, sections: Sequence[Section], record: Mapping[str, Any]
) -> str:
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-heading"><h2 id="{key}-heading">{heading}</h2>'
        f"{content}</section>"
        for key, heading, content in sections
    )
    names = ", ".join(shorten(name, 24) for name in assessment.classes[:6])
    more = f" and {len(assessment.classes) - 6} more" if len(assessment.classes) > 6 else ""
    samples = f"{sum(assessment.counts):,} samples of {len(assessment.classes)} classes"
    numbers = assessment.to_dict() | dict(record)
    if len(assessment.classes) > _MOST_PAIRS:  # millions of numbers; the hardest pairs are a table
        numbers = {key: value for key, value in numbers.items() if "pairwise" not in key}
    style, script, template = (
        files("deciban.report").joinpath(name).read_text("utf-8")
        for name in ("style.css", "script.js", "page.html")
    )
    return Template(template).substitute(
        title=text(title), lead=text(f"{samples}: {names}{more}."), body=body, style=style,
        script=script, version=deciban.__version__,
        contents="".join(f'<li><a href="#{key}">{name}</a></li>' for key, name, _ in sections),
        link=download_json("assessment", numbers, "Download all numbers as JSON"),
    )  # fmt: skip
