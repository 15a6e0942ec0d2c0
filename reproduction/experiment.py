"""An experiment of the paper: steps whose arrays are cached, and findings computed from them.

Computing and drawing are apart: a step computes arrays and may take an hour on another machine;
the findings are derived from the arrays of all steps in seconds, anew in each run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Step:
    """A computation whose arrays are cached.

    Attributes
    ----------
    name : str
        Name of the cache file: letters, digits and dashes.
    settings : mapping
        Everything that the arrays depend on, as JSON: seeds, sizes, options. The step is computed
        again when they change.
    compute : callable
        Takes the path where a fit may keep its checkpoint, and the arrays of earlier steps by
        name; returns arrays.
    seconds : float
        Approximate duration on two cores, used only to estimate the time left.
    after : tuple of str
        Names of the steps whose arrays it takes; it is computed again when one of them is.
    """

    name: str
    settings: Mapping[str, Any]
    compute: Callable[[Path, Mapping[str, Arrays]], Arrays]
    seconds: float = 1.0
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measurement:
    """One of our numbers, with its interval.

    Attributes
    ----------
    key : str
        Key of the printed number that it is compared with, or a new key if the paper has none.
    value, low, high : float
        The number and the ends of its interval, in the unit of the printed number.
    how : str
        How the interval was computed, such as "95 %, test images resampled".
    described : bool
        Whether the method is the one that the paper describes; otherwise it is ours.
    """

    key: str
    value: float
    low: float
    high: float
    how: str
    described: bool = False


@dataclass(frozen=True)
class Paragraph:
    """Text with a little markup: `code`, **strong**, *emphasis* and links to headings."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of text below a header."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    """A figure, drawn when it is needed.

    Attributes
    ----------
    name : str
        File name without its suffix.
    caption : str
        What the figure shows, with units.
    draw : callable
        Returns a matplotlib figure.
    paper : str
        The paper's figure that it reproduces, such as "Figure 5"; empty for one of our own.
    form : {"svg", "png"}
        File format; PNG for thousands of points.
    """

    name: str
    caption: str
    draw: Callable[[], Any]
    paper: str = ""
    form: Literal["svg", "png"] = "svg"


Block = Paragraph | Table | Figure


@dataclass
class Findings:
    """What an experiment shows, in the order of the page, and its numbers."""

    blocks: list[Block] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)


class Experiment(ABC):
    """A part of the paper that can be run on its own.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
    paper : str
        The figures and tables that it reproduces.
    data : "mnist" or None
        The data set that it needs.
    """

    name: str
    title: str
    paper: str
    data: Literal["mnist"] | None = None

    @abstractmethod
    def steps(self, quick: bool) -> Sequence[Step]:
        """The computations, in order."""

    @abstractmethod
    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """Numbers, tables and figures, from the arrays of each step by name."""
