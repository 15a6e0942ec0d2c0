"""A CDA's settings: the automatic ones for tables of any size, and the paper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from deciban._persistence.registry import register_value
from deciban._validation.scalars import (
    is_number,
    quote,
    require_one_of,
    require_positive_number,
    require_whole,
)
from deciban.exceptions import InputError

LEDOIT_WOLF = "ledoit-wolf"
OPTIONS = (  # rare settings, which are no parameters of their own
    "batch_size", "calibrate", "depth", "discriminative_weight", "input_noise", "learning_rate",
    "shrinkage", "validation_fraction", "weight_decay",
)  # fmt: skip
MANY = 20_000  # samples that can teach wide conditioners, and that one held-out part is enough for
_MAX_HELD_OUT = 5_000  # samples are enough to tell one epoch from another
_FEW = 2_000  # samples that a flow overfits easily
_MAX_NOISE = 0.7  # of features of unit spread
_MANY_STEPS = 24_000  # about 100 epochs of 60,000 samples in batches of 256
_FEW_STEPS = {500: 1_500, 2_000: 2_500, MANY: 6_000}  # the most on folds of fewer samples
_VERY_FEW = 500  # samples that do not tell many settings apart
_LARGE = 250_000  # numbers in a table that is not trained on several times over
_SMALL = 50_000  # numbers in a table that is quickly trained on several times over
_FOLDS = ((1_000, 5), (4_000, 3))  # below so many samples, so many folds; above, one part of four


def _read_share(value: Any, name: str) -> float:
    if is_number(value) and 0 <= value < 1:
        return float(value)
    raise InputError(f"{name} must be a number from 0 to below 1; got {quote(value)}. Give 0.1.")


def _read_shrinkage(value: Any, name: str) -> float | str:
    if value == LEDOIT_WOLF or (is_number(value) and 0 <= value <= 1):
        return value if isinstance(value, str) else float(value)
    raise InputError(
        f"{name} must be a number from 0 to 1, or {LEDOIT_WOLF!r}; got {quote(value)}. Give 1 to "
        f"leave the correlations of the features as they are."
    )


def _read_bool(value: Any, name: str) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InputError(f"{name} must be True or False; got {quote(value)}.")


def _setting(check: Callable[..., Any], **options: Any) -> Any:
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
    shrinkage: float | str = _setting(_read_shrinkage)
    validation_fraction: float = _setting(_read_share)
    calibrate: bool = _setting(_read_bool)
    draw_in_tails: bool = _setting(_read_bool)
    residual_couplings: int = _setting(require_whole, least=0)
    n_estimators: int = _setting(require_whole, least=1)
    dtype: Literal["float32", "float64"] = _setting(require_one_of, options=("float32", "float64"))
    init: Literal["lda", "paper"] = _setting(require_one_of, options=("lda", "paper"))
    folds: int = _setting(require_whole, least=0)  # 0: one held-out part and a fixed schedule

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = setting.metadata["check"](getattr(self, setting.name), setting.name)
            object.__setattr__(self, setting.name, value)


register_value(Settings, **{setting.name: object for setting in fields(Settings)})


def resolve_settings(estimator: Any, n: int, d: int, D: int) -> list[Settings]:
    """Settings for n samples with d features and D classes, with "auto" replaced.

    There are several if the best are chosen on folds.
    """
    if estimator.preset not in (None, "paper"):
        raise InputError(
            f"preset must be 'paper' or None; got {quote(estimator.preset)}. Choose one of them."
        )
    values = _automatic(n, d, D)
    if estimator.preset == "paper":
        values |= _PAPER | {"epochs": 100 if n >= MANY else 60}
    options = estimator.options or {}
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise InputError(
            f"options must hold rare settings; got {quote(unknown[0])}. Choose among "
            f"{', '.join(OPTIONS)}."
        )
    given = estimator.get_params(deep=False) | dict(options)
    given = {
        setting.name: value
        for setting in fields(Settings)
        if not isinstance(value := given.get(setting.name, "auto"), str) or value != "auto"
    }
    if given.get("epochs") == 0:  # LDA itself
        values["shrinkage"] = LEDOIT_WOLF
    choose = estimator.preset is None and n < MANY and "epochs" not in given
    first = Settings(**(values | given), folds=_n_folds(n, d) if choose else 0)
    if not choose:
        return [first]
    noise, decay = first.input_noise, first.weight_decay
    others: list[dict[str, Any]] = [
        {"input_noise": min(3 * noise, _MAX_NOISE)},
        {"shrinkage": LEDOIT_WOLF},
        {"input_noise": 0.3 * noise},
        {"weight_decay": 10 * decay},
    ]
    others = others[:2] if n < _VERY_FEW else others
    return [first, *(replace(first, **one) for one in others if given.keys().isdisjoint(one))]


def _n_folds(n: int, d: int) -> int:
    """Number of folds for choosing settings; 1 is one held-out part in four."""
    if n >= _FEW and n * d > _LARGE:
        return 1
    return next((folds for least, folds in _FOLDS if n < least), 3 if n * d <= _SMALL else 1)


def _automatic(n: int, d: int, D: int) -> dict[str, Any]:
    """Settings that gave the best held-out evidence on tables with this size."""
    many, few = n >= MANY, n < _FEW
    wide = many and d >= 16
    batch_size = 256 if not few else max(16, n // 10)
    max_steps = next((steps for most, steps in _FEW_STEPS.items() if n < most), _MANY_STEPS)
    epochs = max_steps * batch_size // n
    return {
        "n_couplings": 12 if wide else 8 if many else 6,
        "width": 512 if wide else 64,
        "depth": 2,
        # Added dimensions give room to classes that enclose one another in a few dimensions, and to
        # the evidence of many classes.
        "augment": max(2 if d < 16 else 0, D - 1 - d),
        "discriminative_weight": 10 + min(d, 160) / 4 if many else 50,
        "epochs": max(1, min(100, epochs)) if many else epochs,
        "batch_size": batch_size,
        "learning_rate": 1e-3 if wide or few else 2e-3,
        "weight_decay": 0.6 if wide else 0.3,
        "input_noise": min(0.5, min(0.4, 0.01 * d) + (3 / n**0.5 if few else 0.0)),
        "shrinkage": 1.0,
        "validation_fraction": min(0.1, _MAX_HELD_OUT / n),
        # Little beside such a fit; fewer samples are often learned by heart instead.
        "residual_couplings": 12 if wide else 0,
        "calibrate": True,
        "draw_in_tails": True,
        "init": "lda",
    }


# The paper's: maximum likelihood alone, from its appendix's start, and no calibration afterwards.
_PAPER = {
    "n_couplings": 8,
    "width": 64,
    "augment": 0,
    "discriminative_weight": 0.0,
    "learning_rate": 1e-3,
    "weight_decay": 0.0,
    "input_noise": 0.0,
    "residual_couplings": 0,
    "shrinkage": LEDOIT_WOLF,
    "calibrate": False,
    "draw_in_tails": False,
    "init": "paper",
}
