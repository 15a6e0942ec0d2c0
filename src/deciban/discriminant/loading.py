"""Whatever a file holds: a discriminant analysis or a calibrator, and what went along."""

from __future__ import annotations

from typing import Any

import deciban.calibration  # noqa: F401  # calibrators can be found once they are imported
from deciban import discriminant
from deciban._persistence import registry, tensors


def load_any(path: Any) -> tuple[Any, dict[str, Any] | None]:
    """The estimator in a file, of any kind, and the plain data that ``save`` was given with it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from deciban import LinearDiscriminant
    >>> lda = LinearDiscriminant().fit(*load_iris(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lda.save(Path(folder) / "iris.deciban", extra={"columns": ["a", "b", "c", "d"]})
    ...     load_any(Path(folder) / "iris.deciban")
    (LinearDiscriminant(), {'columns': ['a', 'b', 'c', 'd']})
    """
    kinds = ("CDA", *registry.kept_kinds())
    arrays, plain = tensors.read(path, kinds, "a model or a calibrator")
    if plain["kind"] != "CDA":
        return registry.restored(arrays, plain, path), plain.get("extra")
    cls = discriminant.CompositionalDiscriminantAnalysis  # or a sentence, where JAX is missing
    from deciban.discriminant import files

    return files.restored(cls, arrays, plain, path), plain.get("extra")
