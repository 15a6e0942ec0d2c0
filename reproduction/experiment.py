"""What an experiment of the paper is: steps whose arrays are kept, and findings from them.

Computing and drawing are apart: a step makes arrays and may take an hour on another machine, the
findings are made from the arrays of all steps in seconds, anew each time.
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
    """A piece of work that is done once.

    Attributes
    ----------
    name : str
        Letters, digits and dashes: the name of a file.
    settings : mapping
        All that the arrays depend on, as JSON: seeds, sizes, options. Other settings, other arrays.
    compute : callable
        From a path where a fit may keep its checkpoint, and the arrays of the steps before it by
        their names, to arrays.
    seconds : float
        About how long it takes on two cores; only the time left is told from it.
    after : tuple of str
        The steps whose arrays it takes: it is done again where one of them is.
    """

    name: str
    settings: Mapping[str, Any]
    compute: Callable[[Path, Mapping[str, Arrays]], Arrays]
    seconds: float = 1.0
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """One of our numbers, beside one that the paper prints.

    Attributes
    ----------
    key : str
        Of the printed number, or a new one for what the paper does not have.
    value, low, high : float
        With the ends of its interval, in the unit of the printed number.
    how : str
        What the interval is of, such as "95 %, test images drawn again".
    described : bool
        Whether it is of the method as the paper describes it; else it is of ours.
    """

    key: str
    value: float
    low: float
    high: float
    how: str
    described: bool = False


@dataclass(frozen=True)
class Paragraph:
    """Text; `code` between backquotes and **strong** between stars are all the markup."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of text below a header."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    """A picture, drawn when it is needed.

    Attributes
    ----------
    name : str
        Of its file, without the ending.
    caption : str
        What to see, with units; computed where it says a number.
    draw : callable
        Makes a matplotlib figure.
    paper : str
        Which figure of the paper it stands beside, such as "Figure 5"; empty for one of our own.
    form : {"svg", "png"}
        PNG for thousands of points.
    """

    name: str
    caption: str
    draw: Callable[[], Any]
    paper: str = ""
    form: Literal["svg", "png"] = "svg"


Block = Paragraph | Table | Figure


@dataclass
class Findings:
    """What an experiment shows, in the order of the page."""

    blocks: list[Block] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)


class Experiment(ABC):
    """A part of the paper that can be run by its name.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
    paper : str
        The figures and tables that it reproduces.
    data : "mnist" or None
        What it cannot run without.
    """

    name: str
    title: str
    paper: str
    data: Literal["mnist"] | None = None

    @abstractmethod
    def steps(self, quick: bool) -> Sequence[Step]:
        """What is to be computed."""

    @abstractmethod
    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """Numbers, tables and figures, from the arrays of each step by its name."""
