"""Settings of a CDA: what "auto" means for a table of a given size, and the paper's own."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from deciban._validation import is_number
from deciban.exceptions import InputError

Preset = Literal["paper"]
_MANY = 20_000  # samples that can teach wide conditioners
_MOST_HELD_OUT = 2_000  # samples are enough to tell one epoch from another
_FEW = 2_000  # samples that must be kept from teaching too much


@dataclass(frozen=True)
class Settings:
    """Everything that training needs, resolved."""

    n_couplings: int
    width: int
    augment: int
    discriminative_weight: float
    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    input_noise: float
    patience: int | None
    validation_fraction: float
    init: str


def automatic(n: int, d: int) -> Settings:
    """Settings that gave the best held-out evidence on data of this size."""
    wide, few = n >= _MANY and d >= 16, n < _FEW
    return Settings(
        n_couplings=12 if wide else 6 if few else 8,
        width=512 if wide else 64,
        # Added dimensions give room to classes that enclose one another in a few dimensions.
        augment=2 if d < 16 else 0,
        discriminative_weight=10 + min(d, 160) / 4,
        epochs=100 if n >= _MANY else 80 if few else 60,
        batch_size=256 if not few else max(16, n // 8),
        learning_rate=1e-3 if wide or few else 3e-3,
        weight_decay=0.6 if wide else 0.3,
        input_noise=min(0.5, min(0.4, 0.01 * d) + (3 / n**0.5 if few else 0.0)),
        patience=None,  # what the last, small steps of a one-cycle gain is worth waiting for
        validation_fraction=min(0.1, _MOST_HELD_OUT / n),
        init="lda",
    )


def paper(n: int, d: int) -> Settings:
    """The paper's: maximum likelihood alone, from its appendix's start."""
    common = automatic(n, d)
    return Settings(
        n_couplings=8, width=64, augment=0, discriminative_weight=0.0, epochs=common.epochs,
        batch_size=common.batch_size, learning_rate=1e-3, weight_decay=0.0, input_noise=0.0,
        patience=None, validation_fraction=common.validation_fraction, init="paper",
    )  # fmt: skip


def resolved(estimator: Any, n: int, d: int) -> Settings:
    """The settings of an estimator, with "auto" replaced."""
    if estimator.preset not in (None, "paper"):
        raise InputError(
            f"preset must be 'paper' or None; got {estimator.preset!r}. Choose one of them."
        )
    default = paper(n, d) if estimator.preset == "paper" else automatic(n, d)
    values = {}
    for field in fields(Settings):
        given = getattr(estimator, field.name)
        automatic_ = isinstance(given, str) and given == "auto"
        values[field.name] = getattr(default, field.name) if automatic_ else given
    return checked(values)


def checked(values: dict[str, Any]) -> Settings:
    """Settings of plain numbers, or a sentence on which is wrong."""
    settings = Settings(**values)
    _require(settings)
    plain = {
        name: value.item() if hasattr(value, "item") else value for name, value in values.items()
    }
    return Settings(**plain)


def require_whole(name: str, value: Any, least: int, auto: str = "") -> None:
    """A whole number, NumPy's too."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(
            f"{name} must be a whole number of at least {least}{auto}; got {value!r}. Give one."
        )


def require_shrinkage(shrinkage: Any) -> None:
    """A share."""
    if not is_number(shrinkage) or not 0 <= shrinkage <= 1:
        raise InputError(f"shrinkage must lie between 0 and 1; got {shrinkage!r}. Give 0 for none.")


def _require(settings: Settings) -> None:
    for name, least in (("n_couplings", 0), ("width", 1), ("augment", 0), ("epochs", 0),
                        ("batch_size", 1)):  # fmt: skip
        require_whole(name, getattr(settings, name), least, ", or 'auto'")
    if settings.patience is not None:
        require_whole("patience", settings.patience, 1, ", None or 'auto'")
    for name in ("discriminative_weight", "learning_rate", "weight_decay", "input_noise"):
        value = getattr(settings, name)
        if not is_number(value) or not 0 <= value < float("inf"):
            raise InputError(f"{name} must be 0 or more, or 'auto'; got {value!r}. Give a number.")
    fraction = settings.validation_fraction
    if not is_number(fraction) or not 0 <= fraction < 1:
        raise InputError(
            f"validation_fraction must be from 0 to below 1, or 'auto'; got {fraction!r}. Give 0.1."
        )
    if settings.init not in ("lda", "paper"):
        raise InputError(f"init must be 'lda' or 'paper'; got {settings.init!r}. Choose one.")
