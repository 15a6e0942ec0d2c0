"""``deciban calibrate``: what scores are worth, learnt from samples whose truth is known."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deciban.cli.columns import Layout, Scored, read_scores, read_trial_scores
from deciban.cli.commands.evaluate import in_unit, with_unit
from deciban.cli.io.formats import nearest
from deciban.cli.io.tables import require_new
from deciban.cli.kept_columns import KeptColumns, require_finite
from deciban.cli.score_options import (
    Base,
    Floor,
    Force,
    Format,
    Json,
    Key,
    Llr,
    LogLikelihoods,
    Positive,
    Posteriors,
    Prefix,
    Prior,
    Truth,
)
from deciban.exceptions import DecibanError, InputError

if TYPE_CHECKING:
    from deciban.assessment import Assessment

EXAMPLE = "Example: deciban calibrate scores.csv --truth class -o calibrator.deciban"

_AFFINE = {"affine": "scalar", "diagonal": "diagonal", "full": "full", "bounded": "scalar"}
_METHODS = (*_AFFINE, "gaussian", "isotonic", "kernel")
_TWO_CLASSES = ("isotonic", "kernel")
_FOLDS = 5
_SHOWN = ("cllr", "cllr_cal", "cllr_min", "cross_entropy", "calibration", "discrimination")


def calibrate(
    table: Annotated[str, typer.Argument(help="Table of scores, or - for standard input.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File of the calibrator.", metavar="FILE")
    ],
    truth: Truth = None,
    method: Annotated[
        str,
        typer.Option(
            help="affine: one factor and an offset (for two classes logistic regression). "
            "diagonal, full: a factor for each ILR coordinate, a whole matrix. gaussian: densities "
            "with one covariance. bounded: affine, and no stronger than the data support. Two "
            "classes only: isotonic (PAV), kernel (densities).",
            metavar="METHOD",
        ),
    ] = "affine",
    ridge: Annotated[
        float | None,
        typer.Option(
            help="Holds an affine map near the identity; 0.001 to 0.1 for few samples.",
            metavar="NUMBER",
        ),
    ] = None,
    llr: Llr = None,
    positive: Positive = None,
    log_likelihoods: LogLikelihoods = None,
    posteriors: Posteriors = None,
    prefix: Prefix = "",
    prior: Prior = None,
    floor: Floor = None,
    base: Base = "e",
    key: Key = None,
    table_format: Format = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Learn from scores whose truth is known what they are worth, for scores to come.

    Scores are those that evaluate takes. The file holds the names of their columns, so that
    `deciban apply` needs no options. The table says what calibration takes away; each sample is
    judged by a calibrator that was fitted without it.
    """
    fresh = _calibrator(method, ridge)
    require_new(output, force)
    layout = Layout(truth, llr, positive, log_likelihoods, posteriors, prefix, prior, base, None,
                    table_format, floor)  # fmt: skip
    scored = read_scores(table, layout) if key is None else read_trial_scores(table, key, layout)
    fitted, notes = _fitted(fresh, method, scored, table)
    classes = tuple(fitted.classes_.tolist())
    kept = KeptColumns.of(table, layout, scored, classes, key is not None)
    before = _assessed(scored, scored.evidence)
    notes = [*before.warnings, *notes]
    result = _Result(table, output, method, scored, before, _formula(fitted, kept), notes)
    result.judge(fresh)
    fitted.save(output, extra=kept.to_plain())
    if as_json:
        typer.echo(json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False, indent=2))
    else:
        result.show()


def _calibrator(method: str, ridge: float | None) -> Any:
    from deciban import calibration

    if method not in _METHODS:
        raise InputError(
            f"--method must be one of {', '.join(_METHODS)}; got {method!r}."
            f"{nearest(method, _METHODS) or ' Choose one of them.'}"
        )
    if ridge is not None and method not in _AFFINE:
        raise InputError(
            f"--ridge must come with --method {', '.join(_AFFINE)}; got {method}. Leave it out."
        )
    if ridge is not None and not 0 <= ridge < float("inf"):
        raise InputError(f"--ridge must be 0 or more; got {ridge}. Give 0.01, say.")
    if method in _AFFINE:
        affine = calibration.AffineCalibrator(_AFFINE[method], ridge=ridge or 0.0)  # type: ignore[arg-type]
        return calibration.BoundedCalibrator(affine) if method == "bounded" else affine
    return {
        "gaussian": calibration.GaussianCalibrator,
        "isotonic": calibration.IsotonicCalibrator,
        "kernel": calibration.KernelDensityCalibrator,
    }[method]()


def _fitted(fresh: Any, method: str, scored: Scored, source: str) -> tuple[Any, list[str]]:
    """The calibrator of all samples, and what is to be said of them."""
    from sklearn.base import clone

    from deciban.calibration import ReversedScoresWarning, SeparableWarning

    D = scored.evidence.n_classes
    if method in _TWO_CLASSES and D > 2:
        others = [name for name in _METHODS if name not in _TWO_CLASSES]
        raise InputError(
            f"--method must be one of {', '.join(others)} for {D} classes; got {method}, which is "
            f"for two."
        )
    require_finite(scored.evidence, fresh, source)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fitted = clone(fresh).fit(scored.evidence, scored.truth)
    kinds = {warning.category for warning in said}
    notes = []
    if SeparableWarning in kinds:
        notes.append(
            "The classes do not overlap in these scores, so that nothing limits the calibrated "
            "evidence. Give --ridge 0.01, or --method bounded."
        )
    if ReversedScoresWarning in kinds:
        other, target = scored.evidence.classes
        notes.append(
            f"The scores do not rise with class {target}, so that nothing is left of them. Where "
            f"they rise with {other}, give --positive {other}."
        )
    if method == "isotonic":
        notes.append(
            "Beyond the last samples, isotonic LLRs are inf and -inf: one on the wrong side costs "
            "infinitely much. --method bounded has no such LLRs."
        )
    return fitted, notes


def _formula(fitted: Any, kept: KeptColumns) -> str | None:
    """What is done to an LLR, where it is an affine map."""
    from deciban.calibration import AffineCalibrator, GaussianCalibrator

    if not kept.of_two or not isinstance(fitted, AffineCalibrator | GaussianCalibrator):
        return None
    from deciban.evidence import Evidence

    classes = fitted.classes_.tolist()
    pair = classes[kept.positive], classes[1 - kept.positive]
    offset, at_one = kept.calibrated(fitted, Evidence.from_llr([0.0, kept.nats], *pair))[:, 0]
    sign = "+" if offset >= 0 else "-"
    column = kept.columns[0]
    return f"calibrated_{column} = {at_one - offset:.4g} × {column} {sign} {abs(offset):.4g}"


@dataclass
class _Result:
    """What there is to say of a calibrator."""

    source: str
    output: Path
    method: str
    scored: Scored
    before: Assessment
    formula: str | None
    notes: list[str]
    folds: int = 0
    after: Assessment | None = None

    def judge(self, fresh: Any) -> None:
        """Scores as they are after calibrators that were fitted without them."""
        import numpy as np

        folds = min(_FOLDS, int(np.bincount(self.scored.codes).min()))
        if folds < 2:
            self.notes.append("After is not known: that takes two samples of each class.")
            return
        try:
            self.after = _assessed(self.scored, _held_out(fresh, self.scored, folds))
            self.folds = folds
            self._say_if_worse()
        except DecibanError as error:
            self.notes.append(f"After is not known, for a fold cannot be fitted: {error}")

    def _say_if_worse(self) -> None:
        key = "cllr" if self.scored.evidence.n_classes == 2 else "cross_entropy"
        if self.after is not None and self.after[key].value > self.before[key].value:
            self.notes.append(
                "Calibrated scores cost more than they did before, on samples that the calibrator "
                "was not fitted to: these are too few for it, or were calibrated already."
            )

    def rows(self) -> Iterator[tuple[Any, float, float]]:
        """Each quantity, before and after."""
        after = {} if self.after is None else {q.key: q.value for q in self.after.quantities}
        two = self.scored.evidence.n_classes == 2
        found = {q.key: q for q in self.before.quantities}
        for key in _SHOWN[:3] if two else _SHOWN[3:]:
            if key in found:
                yield found[key], found[key].value, after.get(key, float("nan"))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        from deciban.assessment.results import to_plain as plain

        quantities = [
            {"key": q.key, "label": q.label, "unit": q.unit, "before": plain(before),
             "after": plain(after), "meaning": q.meaning}
            for q, before, after in self.rows()
        ]  # fmt: skip
        return {
            "calibrator": str(self.output), "method": self.method,
            "classes": [plain(label) for label in self.before.classes],
            "counts": list(self.before.counts), "formula": self.formula, "folds": self.folds,
            "quantities": quantities, "notes": self.notes,
        }  # fmt: skip

    def show(self) -> None:
        """A table, and what to do next."""
        console = Console()
        pairs = list(zip(self.before.classes, self.before.counts, strict=True))
        samples = ", ".join(f"{count:,} of {label}" for label, count in pairs[:10])
        samples += f", … ({len(pairs)} classes)" if len(pairs) > 10 else ""
        console.print(f"{self.source}: {samples}", markup=False, highlight=False)
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("", no_wrap=True)
        table.add_column("before", justify="right", no_wrap=True)
        table.add_column("after", justify="right", no_wrap=True)
        table.add_column("what it means", style="dim", min_width=20)
        for q, before, after in self.rows():
            label = "Cross-entropy (C_mc)" if q.key == "cross_entropy" else q.label
            cells = (with_unit(label, q.unit), in_unit(before, q.unit), in_unit(after, q.unit))
            table.add_row(*map(escape, (*cells, q.meaning)))
        console.print(table)
        if self.folds:
            console.print(
                f"After: cross-validated in {self.folds} folds, each sample by a calibrator that "
                f"was fitted without it. The one in the file is fitted to all.", highlight=False,
            )  # fmt: skip
        for line in (self.formula, f"Calibrator ({self.method}): {self.output}"):
            if line:
                console.print(line, markup=False, highlight=False)
        for note in self.notes:
            console.print(f"Note: {note}", style="yellow", markup=False)


def _assessed(scored: Scored, evidence: Any) -> Assessment:
    from deciban.assessment.assess import assess_encoded

    return assess_encoded(scored.codes, evidence, n_resamples=0)


def _held_out(fresh: Any, scored: Scored, folds: int) -> Any:
    """The evidence of each sample after a calibrator that was fitted without it."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    from deciban.evidence import Evidence

    given, codes = scored.evidence, scored.codes
    evidence = given.rename(range(given.n_classes))
    values = np.empty((len(codes), given.n_classes))
    splits = StratifiedKFold(folds, shuffle=True, random_state=0).split(codes, codes)
    with warnings.catch_warnings():  # said of all samples, once
        warnings.simplefilter("ignore")
        for rest, held_out in splits:
            fitted = clone(fresh).fit(evidence[rest], codes[rest])
            values[held_out] = fitted.evidence(evidence[held_out]).log_likelihoods
        return Evidence(values, given.classes)
