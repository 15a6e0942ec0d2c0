"""Settings of a CDA: what "auto" means for a table of a given size, and the paper's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Literal

from deciban._persistence.encoding import register_value
from deciban._validation.scalars import (
    is_number,
    quote,
    require_one_of,
    require_positive_number,
    require_whole,
)
from deciban.exceptions import InputError

_MANY = 20_000  # samples that can teach wide conditioners
_MOST_HELD_OUT = 2_000  # samples are enough to tell one epoch from another
_FEW = 2_000  # samples that a flow overfits easily


def _require_share(value: Any, name: str) -> float:
    """Raise unless the value is a number from 0 to below 1."""
    if is_number(value) and 0 <= value < 1:
        return float(value)
    raise InputError(f"{name} must be a number from 0 to below 1; got {quote(value)}. Give 0.1.")


def _setting(check: Callable[..., Any], **options: Any) -> Any:
    """A field of :class:`Settings` with the check of its value."""
    return field(metadata={"check": partial(check, **options)})


@dataclass(frozen=True)
class Settings:
    """Everything that a flow and its training need, as plain values that have been checked."""

    kind: Literal["affine", "spline"] = _setting(require_one_of, options=("affine", "spline"))
    n_couplings: int = _setting(require_whole, least=0)
    width: int = _setting(require_whole, least=1)
    depth: int = _setting(require_whole, least=1)
    augment: int = _setting(require_whole, least=0)
    discriminative_weight: float = _setting(require_positive_number, or_zero=True)
    epochs: int = _setting(require_whole, least=0)
    batch_size: int = _setting(require_whole, least=1)
    learning_rate: float = _setting(require_positive_number, or_zero=True)
    weight_decay: float = _setting(require_positive_number, or_zero=True)
    input_noise: float = _setting(require_positive_number, or_zero=True)
    validation_fraction: float = _setting(_require_share)
    n_estimators: int = _setting(require_whole, least=1)
    dtype: Literal["float32", "float64"] = _setting(require_one_of, options=("float32", "float64"))
    init: Literal["lda", "paper"] = _setting(require_one_of, options=("lda", "paper"))

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = setting.metadata["check"](getattr(self, setting.name), setting.name)
            object.__setattr__(self, setting.name, value)


register_value(Settings, **{setting.name: object for setting in fields(Settings)})


def resolve_settings(estimator: Any, n: int, d: int) -> Settings:
    """Settings of an estimator for n samples of d features, with "auto" replaced."""
    if estimator.preset not in (None, "paper"):
        raise InputError(
            f"preset must be 'paper' or None; got {quote(estimator.preset)}. Choose one of them."
        )
    values = _automatic(n, d)
    if estimator.preset == "paper":
        values |= _PAPER
    for setting in fields(Settings):
        given = getattr(estimator, setting.name, "auto")
        if not (isinstance(given, str) and given == "auto"):
            values[setting.name] = given
    return Settings(**values)


def _automatic(n: int, d: int) -> dict[str, Any]:
    """Settings that gave the best held-out evidence on data of this size."""
    wide, few = n >= _MANY and d >= 16, n < _FEW
    return {
        "n_couplings": 12 if wide else 6 if few else 8,
        "width": 512 if wide else 64,
        # Added dimensions give room to classes that enclose one another in a few dimensions.
        "augment": 2 if d < 16 else 0,
        "discriminative_weight": 10 + min(d, 160) / 4,
        "epochs": 100 if n >= _MANY else 80 if few else 60,
        "batch_size": 256 if not few else max(16, n // 8),
        "learning_rate": 1e-3 if wide or few else 3e-3,
        "weight_decay": 0.6 if wide else 0.3,
        "input_noise": min(0.5, min(0.4, 0.01 * d) + (3 / n**0.5 if few else 0.0)),
        "validation_fraction": min(0.1, _MOST_HELD_OUT / n),
        "init": "lda",
    }


# The paper's: maximum likelihood alone, from its appendix's start.
_PAPER = {
    "n_couplings": 8,
    "width": 64,
    "augment": 0,
    "discriminative_weight": 0.0,
    "learning_rate": 1e-3,
    "weight_decay": 0.0,
    "input_noise": 0.0,
    "init": "paper",
}
