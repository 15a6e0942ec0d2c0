"""Figure of a calibrated Gaussian family: LLRs of two classes, a plane of three, a map of more."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from deciban._persistence.files import write_atomically
from deciban.evidence.units import from_nats
from deciban.plots import ILRDisplay, PairwiseDisplay, TernaryDisplay
from deciban.plots._axes import import_library
from deciban.plots._style import color_of, dashes_of, literal, llr_label
from deciban.reference import CalibratedGaussian


def draw(family: CalibratedGaussian, path: Path, unit: Any, *, replace: bool = False) -> None:
    """Write the figure of a family; the same bytes each time."""
    import_library("matplotlib.pyplot")  # or a sentence, where matplotlib is missing
    import matplotlib as mpl

    kind = path.suffix.lower().lstrip(".")
    content = io.BytesIO()
    date = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with mpl.rc_context({"svg.hashsalt": "deciban"}):
        _figure(family, unit).savefig(content, format=kind, dpi=150, metadata=date)
    write_atomically(path, content.getvalue(), replace=replace)


def _figure(family: CalibratedGaussian, unit: Any) -> Any:
    from matplotlib.figure import Figure

    D = family.n_classes
    if D == 3:
        import_library("mpltern")  # it registers ternary axes
        fig = Figure(figsize=(10.5, 4.8), layout="constrained")
        left, right = fig.add_subplot(1, 2, 1), fig.add_subplot(1, 2, 2, projection="ternary")
        ILRDisplay.from_family(family, n_samples=150, ax=left, unit=unit)
        TernaryDisplay.from_family(family, n_samples=150, ax=right)
        fig.suptitle("Calibrated evidence: isometric log-ratios, and the same on the simplex")
        return fig
    fig = Figure(figsize=(6.4, 4.8 if D == 2 else 5.2), layout="constrained")
    # The title of axes is as narrow as these, and long class names leave little room for them.
    fig.suptitle((_llrs if D == 2 else _map)(family, fig.add_subplot(), unit))
    return fig


def _llrs(family: CalibratedGaussian, ax: Any, unit: Any) -> str:
    """Draw the densities of the LLR under each class; returns the title."""
    a, b = family.classes
    one = from_nats(1.0, unit)
    d = float(family.divergences[0, 1])
    reach = d + 4 * np.sqrt(2 * d)
    x = np.linspace(-reach, reach, 801)
    for k, label in enumerate((a, b)):
        density = family.llr_distribution(a, b, given=label).pdf(x) / one
        style = {"color": color_of(k), "ls": dashes_of(k), "label": f"{literal(label)} is true"}
        ax.plot(x * one, density, **style)
        ax.fill_between(x * one, density, color=color_of(k), alpha=0.15, lw=0)
    ax.axvline(0, color="0.6", lw=0.8)
    ax.set_xlabel(llr_label(a, b, unit))
    ax.set_ylabel(f"density (1/{unit})")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return f"Calibrated LLRs, EER {100 * family.eers[0, 1]:.2f} %"


def _map(family: CalibratedGaussian, ax: Any, unit: Any) -> str:
    """Draw what it costs to tell each pair of classes apart; returns the title."""
    D, names = family.n_classes, family.classes
    cost = np.full((D, D), np.nan)
    for i in range(D):
        for j in range(i):
            cost[i, j] = cost[j, i] = family.expected_cllr(names[i], names[j])
    PairwiseDisplay(cost, cost, names).plot(ax)
    ax.set(xlabel="class", ylabel="class")
    return "Expected cost of telling two classes apart"
