"""Small tables to try every command on: the same bytes each time and everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FLOWER = ("sepal_length", "sepal_width", "petal_length", "petal_width")
_LANGUAGES = ("Czech", "Polish", "Slovak")


class Example(NamedTuple):
    """A file: what it holds, a command that takes it, and a function that makes it."""

    about: str
    command: str
    make: Callable[[], str]


def _write(header: Sequence[str], rows: Iterable[Sequence[object]], separator: str = ",") -> str:
    """Rows with few digits in floats, whose last bits differ by machine."""
    cells = [[f"{x:.3f}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    return "\n".join(separator.join(row) for row in (header, *cells)) + "\n"


def _iris(new: bool) -> str:
    """Fisher's flowers; two of each species are new."""
    from sklearn.datasets import load_iris

    bunch = load_iris()
    rows = [[*(f"{x:.1f}" for x in values), bunch.target_names[k]]
            for values, k in zip(bunch.data, bunch.target, strict=True)]  # fmt: skip
    if new:
        return _write(_FLOWER, [row[:-1] for k, row in enumerate(rows) if k % 25 == 24])
    return _write([*_FLOWER, "species"], [row for k, row in enumerate(rows) if k % 25 != 24])


def _draw_llrs(
    counts: tuple[int, int], divergence: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The classes in random order, and calibrated LLRs in favor of class 1."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], counts))
    return y, rng.normal((2 * y - 1) * divergence, np.sqrt(2 * divergence))


def _scores() -> str:
    y, llr = _draw_llrs((700, 300), 4.0, 1)
    return _write(("class", "llr"), zip(y, (2.2 * llr - 1.5).tolist(), strict=True))


def _new_scores() -> str:
    llr = 2.2 * _draw_llrs((10, 10), 4.0, 2)[1] - 1.5
    return _write(("sample", "llr"), [(f"new-{k:02d}", x) for k, x in enumerate(llr.tolist(), 1)])


def _system(noise: float, scale: float) -> str:
    """One of two systems on the same samples."""
    import numpy as np

    y, llr = _draw_llrs((250, 250), 5.0, 3)
    llr = scale * (llr + noise * np.random.default_rng(4).normal(size=len(y)))
    pairs = enumerate(zip(y, llr.tolist(), strict=True), 1)
    return _write(("sample", "class", "llr"), [(f"s{k:03d}", *pair) for k, pair in pairs])


def _languages() -> str:
    """Log-likelihoods that are twice as large as they should be, and biased towards Czech."""
    import numpy as np

    from deciban import CalibratedGaussian

    family = CalibratedGaussian.from_divergences([5.0, 4.0, 7.0], classes=_LANGUAGES)
    l, y = family.sample([200] * 3, rng=5)
    rng = np.random.default_rng(6)
    order = rng.permutation(len(y))
    values = 2 * l @ family.basis.contrast.T + [1.0, 0.0, 0.0]
    values += rng.normal(-60, 5, size=(len(y), 1))  # how likely a sound is in any language
    rows = [(y[k], *values[k].tolist()) for k in order]
    return _write(("truth", *_LANGUAGES), rows)


def _trials(value: str) -> str:
    y, llr = _draw_llrs((900, 100), 6.0, 7)
    values: dict[str, list[object]] = {
        "score": (1.6 * llr + 2.0).tolist(),
        "label": [("nontarget", "target")[label] for label in y],
    }
    rows = [(f"model-{k // 50 + 1:02d}", f"segment-{k:04d}", x)
            for k, x in enumerate(values[value], 1)]  # fmt: skip
    return _write(("model", "segment", value), rows, " ")


_COMPARE = "deciban compare a.csv b.csv --truth class --id sample"
_TRIALS = "deciban evaluate trials.txt --key key.txt"
EXAMPLES = {
    "iris.csv": Example(
        "144 iris flowers: four measurements and the species",
        "deciban fit iris.csv --label species -o iris.deciban", lambda: _iris(new=False),
    ),
    "iris-new.csv": Example(
        "6 more, without the species",
        "deciban predict iris.deciban iris-new.csv -o out.csv", lambda: _iris(new=True),
    ),
    "scores.csv": Example(
        "1,000 LLRs that claim too much, with the class",
        "deciban evaluate scores.csv --truth class", _scores,
    ),
    "scores-new.csv": Example(
        "20 LLRs of the same system, without the class",
        "deciban apply calibrator.deciban scores-new.csv -o calibrated.csv", _new_scores,
    ),
    "a.csv": Example("500 LLRs of a system A, with samples and classes", _COMPARE,
                     lambda: _system(0.5, 1.0)),
    "b.csv": Example("those of a system B on the same samples", _COMPARE,
                     lambda: _system(2.0, 1.1)),
    "languages.csv": Example(
        "600 recordings: log-likelihoods of three languages",
        "deciban calibrate languages.csv --truth truth -o languages.deciban", _languages,
    ),
    "trials.txt": Example("1,000 trials of a speaker recognizer: model, segment, score", _TRIALS,
                          lambda: _trials("score")),
    "key.txt": Example("their labels: target or nontarget", _TRIALS, lambda: _trials("label")),
}  # fmt: skip
