"""The figures of the demonstration."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban.evidence import Evidence
from deciban.plots import ILRDisplay, PairwiseDisplay, TernaryDisplay
from deciban.plots._axes import import_pyplot, register_ternary
from deciban.reference import CalibratedGaussian


def require_drawing() -> None:
    """Say before the work what its last step would say."""
    import_pyplot()
    register_ternary()


def figure(
    pieces: dict[str, Evidence], prior: tuple[float, ...], family: CalibratedGaussian, seed: int
) -> Any:
    """The walk from prior to posterior, and the family in its plane and on the simplex."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(13.5, 4.8), layout="constrained")
    left, middle = fig.add_subplot(1, 3, 1), fig.add_subplot(1, 3, 2)
    right = fig.add_subplot(1, 3, 3, projection="ternary")
    walk = {name: pieces[name] for name in ("sounds", "words")}
    ILRDisplay(pieces["both"]).plot_update(prior, walk, left)
    ILRDisplay.from_family(family, n_samples=150, seed=seed, ax=middle)
    TernaryDisplay.from_family(family, n_samples=150, seed=seed, ax=right)
    left.set_title("Bayes' rule is a vector sum")
    middle.set_title("Calibrated family: 50 % and 90 % of each class")
    right.set_title("The same on the simplex", pad=30)
    return fig


def learnt_figure(
    moons: Any, moons_data: tuple[np.ndarray, np.ndarray], digits: Evidence, truth: np.ndarray
) -> Any:
    """What a CDA has learnt of two moons, as a map, and of each two digits."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(13.5, 5.2), layout="constrained")
    left, right = fig.subplots(1, 2)
    _draw_moons(fig, left, moons, *moons_data)
    PairwiseDisplay.from_predictions(truth, digits, ax=right)
    right.set_title("Cost of telling two digits apart (bit)")
    return fig


def _draw_moons(fig: Any, ax: Any, model: Any, X: np.ndarray, truth: np.ndarray) -> None:
    x, y = np.linspace(-1.8, 2.8, 160), np.linspace(-1.4, 1.9, 120)
    grid = np.column_stack([a.ravel() for a in np.meshgrid(x, y)])
    llr = model.evidence(grid).llr(1, 0, unit="deciban").reshape(len(y), len(x))
    shades = ax.contourf(x, y, llr, np.linspace(-50, 50, 11), cmap="PuOr", extend="both")
    ax.contour(x, y, llr, [0.0], colors="k", linewidths=1.5)
    for label, marker, color in ((0, "o", "#7f3b08"), (1, "^", "#2d004b")):
        some = X[truth == label][:150]
        ax.scatter(
            *some.T, s=18, marker=marker, c=color, ec="w", linewidths=0.4, label=f"moon {label}"
        )
    fig.colorbar(shades, ax=ax, label="evidence for moon 1 against moon 0 (deciban)")
    ax.set(title="Learnt from 10,000 points (300 drawn)", xlabel="x", ylabel="y", aspect=1)
    ax.legend(loc="upper right")
