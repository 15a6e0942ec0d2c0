"""Every experiment, in the order of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from deciban.exceptions import InputError
from reproduction.experiment import Experiment
from reproduction.mnist40 import Mnist40
from reproduction.mnist784 import Mnist784
from reproduction.theory import Bayes, Densities, Families, Simplex, Tree
from reproduction.three_gaussians import ThreeGaussians
from reproduction.two_classes import TwoClasses

EXPERIMENTS: tuple[Experiment, ...] = (
    Densities(),
    Simplex(),
    Tree(),
    Bayes(),
    Families(),
    TwoClasses("gaussians"),
    TwoClasses("moons"),
    TwoClasses("circles"),
    ThreeGaussians(),
    Mnist40(),
    Mnist784(),
)


def select_experiments(names: Sequence[str]) -> list[Experiment]:
    """The experiments with these names, in the order of the paper; all if none is named."""
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    for name in names:
        if name not in known:
            raise InputError(
                f"an experiment must be one of {', '.join(known)}; got {name!r}. See "
                f"python -m reproduction --list."
            )
    return [e for e in EXPERIMENTS if not names or e.name in names]
