"""What all displays share: they are made from an estimator or from what it predicted."""

from __future__ import annotations

from typing import Any, Self

from deciban.evidence import Evidence
from deciban.exceptions import InputError


class Display:
    """Computed data that can be drawn, in the manner of scikit-learn's displays.

    Attributes
    ----------
    ax_, figure_
        What :meth:`plot` drew into.
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]
    samples_: list[Any]
    edges_: list[Any]
    arrows_: Any

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:
        """Draw what a fitted estimator says of samples.

        Parameters
        ----------
        estimator : object with a method ``evidence(X)`` that returns :class:`Evidence`
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        **options
            Those of ``from_predictions``.
        """
        make: Any = cls  # each display has a from_predictions of its own signature
        return make.from_predictions(y, evidence_of(estimator, X), **options)

    def _drawn_into(self, ax: Any) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self


class NamedDisplay(Display):
    """A display of a system that stands beside others in the same axes, under its name."""

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:
        """Draw what a fitted estimator says of samples.

        Parameters
        ----------
        estimator : object with a method ``evidence(X)`` that returns :class:`Evidence`
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        **options
            Those of ``from_predictions``; ``name`` is by default that of the estimator's class.
        """
        return super().from_estimator(
            estimator, X, y, **{"name": type(estimator).__name__} | options
        )


def evidence_of(estimator: Any, X: Any) -> Evidence:
    """The evidence of an estimator that gives evidence."""
    # A pipeline has no method evidence of its own. (Its class would be slow to import.)
    if hasattr(estimator, "steps") and hasattr(estimator[-1], "evidence"):
        estimator, X = estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X
    method = getattr(estimator, "evidence", None)
    if not callable(method):
        raise InputError(
            f"estimator must have a method evidence(X); got {type(estimator).__name__}, which has "
            f"none. Wrap it in deciban.calibration.CalibratedEvidenceClassifier."
        )
    evidence = method(X)
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"estimator.evidence(X) must return Evidence; got {type(evidence).__name__}. "
            f"Return deciban.Evidence(log_likelihoods, classes)."
        )
    return evidence
