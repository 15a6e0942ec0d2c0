"""Small tables to try every command on: the same bytes each time and everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

_LANGUAGES = ("Czech", "Polish", "Slovak")


class Example(NamedTuple):
    """A file: what it holds, a command that takes it, and how it is made."""

    about: str
    command: str
    make: Callable[[], str]


def _table(header: Sequence[str], rows: Iterable[Sequence[object]], separator: str = ",") -> str:
    lines = [separator.join(map(str, row)) for row in (header, *rows)]
    return "\n".join(lines) + "\n"


def _iris_rows() -> list[list[str]]:
    from sklearn.datasets import load_iris

    bunch = load_iris()
    names = bunch.target_names.tolist()
    pairs = zip(bunch.data.tolist(), bunch.target.tolist(), strict=True)
    return [[*(f"{value:.1f}" for value in values), names[k]] for values, k in pairs]


_FLOWER = ("sepal_length", "sepal_width", "petal_length", "petal_width")


def _is_new(place: int) -> bool:
    return place % 25 == 24  # two flowers of each species


def _iris() -> str:
    rows = [row for place, row in enumerate(_iris_rows()) if not _is_new(place)]
    return _table([*_FLOWER, "species"], rows)


def _iris_new() -> str:
    return _table(_FLOWER, [row[:-1] for place, row in enumerate(_iris_rows()) if _is_new(place)])


def _llrs(counts: tuple[int, int], divergence: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated LLRs in favour of class 1, and the classes, in a random order."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], counts))
    llr = rng.normal((2 * y - 1) * divergence, np.sqrt(2 * divergence))
    return y, llr


def _scores() -> str:
    y, llr = _llrs((700, 300), 4.0, 1)
    return _table(("class", "llr"), _rounded(y, 2.2 * llr - 1.5))


def _scores_new() -> str:
    _, llr = _llrs((10, 10), 4.0, 2)
    scores = 2.2 * llr - 1.5
    return _table(("sample", "llr"), _rounded([f"new-{k:02d}" for k in range(1, 21)], scores))


def _system(noise: float, scale: float) -> str:
    """One of two systems on the same samples."""
    import numpy as np

    y, llr = _llrs((250, 250), 5.0, 3)
    llr = scale * (llr + noise * np.random.default_rng(4).normal(size=len(y)))
    samples = [f"s{k:03d}" for k in range(1, len(y) + 1)]
    return _table(("sample", "class", "llr"), _rounded(zip(samples, y, strict=True), llr))


def _languages() -> str:
    """Log-likelihoods that are twice as sure as they may be, and lean towards Czech."""
    import numpy as np

    from deciban import CalibratedGaussian

    family = CalibratedGaussian.from_divergences([5.0, 4.0, 7.0], classes=_LANGUAGES)
    l, y = family.sample([200] * 3, rng=5)
    rng = np.random.default_rng(6)
    order = rng.permutation(len(y))
    values = 2 * l @ family.basis.contrast.T + [1.0, 0.0, 0.0]
    values += rng.normal(-60, 5, size=(len(y), 1))  # how likely a sound is in any language
    return _table(("truth", *_LANGUAGES), _rounded(y[order].tolist(), values[order]))


def _trial_columns() -> tuple[list[tuple[str, str]], np.ndarray, np.ndarray]:
    y, llr = _llrs((900, 100), 6.0, 7)
    names = [(f"model-{k // 50 + 1:02d}", f"segment-{k:04d}") for k in range(1, len(y) + 1)]
    return names, y, 1.6 * llr + 2.0


def _trials() -> str:
    names, _, scores = _trial_columns()
    return _table(("model", "segment", "score"), _rounded(names, scores), " ")


def _key() -> str:
    names, y, _ = _trial_columns()
    rows = [(*name, ("nontarget", "target")[label]) for name, label in zip(names, y, strict=True)]
    return _table(("model", "segment", "label"), rows, " ")


def _rounded(first: Iterable[object], scores: np.ndarray) -> Iterable[Sequence[object]]:
    """Rows that end in scores with few digits: the last bits of a float differ by machine."""
    for cells, values in zip(first, scores.reshape(len(scores), -1), strict=True):
        start = cells if isinstance(cells, tuple) else (cells,)
        yield [*start, *(f"{value:.3f}" for value in values)]


EXAMPLES = {
    "iris.csv": Example(
        "144 iris flowers: four measures and the species",
        "deciban fit iris.csv --label species -o iris.deciban", _iris,
    ),
    "iris-new.csv": Example(
        "6 more, without the species",
        "deciban predict iris.deciban iris-new.csv -o out.csv", _iris_new,
    ),
    "scores.csv": Example(
        "1,000 LLRs that claim too much, with the class",
        "deciban evaluate scores.csv --truth class", _scores,
    ),
    "scores-new.csv": Example(
        "20 LLRs of the same system, without the class",
        "deciban apply calibrator.deciban scores-new.csv -o calibrated.csv", _scores_new,
    ),
    "a.csv": Example(
        "500 LLRs of a system A, with samples and classes",
        "deciban compare a.csv b.csv --truth class --id sample", lambda: _system(0.5, 1.0),
    ),
    "b.csv": Example(
        "those of a system B on the same samples",
        "deciban compare a.csv b.csv --truth class --id sample", lambda: _system(2.0, 1.1),
    ),
    "languages.csv": Example(
        "600 recordings: log-likelihoods of three languages",
        "deciban calibrate languages.csv --truth truth -o languages.deciban", _languages,
    ),
    "trials.txt": Example(
        "1,000 trials of a speaker recogniser: model, segment, score",
        "deciban evaluate trials.txt --key key.txt", _trials,
    ),
    "key.txt": Example(
        "their labels: target or nontarget", "deciban evaluate trials.txt --key key.txt", _key
    ),
}  # fmt: skip
