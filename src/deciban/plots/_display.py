"""What all displays share: reading predictions, computing what is drawn, and drawing it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from deciban._estimation import evidence_of
from deciban.evidence import Evidence, Unit, from_nats
from deciban.metrics.labelled import read_labelled, read_trials
from deciban.plots._axes import Axes, get_axes
from deciban.plots._style import literal


class Display:
    """Computed data that can be drawn, in the manner of scikit-learn's displays.

    A subclass computes its data in ``_from_data(data, ...)``, names the options of ``compute`` in
    ``_settings``, so that :meth:`from_predictions` passes all others on to ``plot``, and draws in
    ``plot(ax, ...)``.

    Attributes
    ----------
    ax_, figure_
        What :meth:`plot` drew into.
    """

    ax_: Any
    figure_: Any
    plot: Callable[..., Any]
    _from_data: ClassVar[Callable[..., Any]]
    _settings: ClassVar[tuple[str, ...]] = ("classes", "sample_weight")

    @classmethod
    def compute(
        cls,
        y_true: ArrayLike,
        evidence: ArrayLike | Evidence,
        *,
        classes: Sequence[Hashable] | None = None,
        sample_weight: ArrayLike | None = None,
        **settings: Any,
    ) -> Self:
        """Compute what is drawn, without drawing it.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
            True classes.
        evidence : Evidence, or array of shape (n_samples, n_classes)
            Log-likelihoods in nats.
        classes : sequence of labels, default those of the evidence, else the sorted labels
        sample_weight : array of shape (n_samples,), optional
        **settings
            Further parameters that the class describes.

        Returns
        -------
        display
            Not drawn yet.

        Examples
        --------
        >>> from deciban.plots import PairwiseDisplay
        >>> evidence = Evidence.from_likelihoods([[0.7, 0.3], [0.1, 0.9], [0.2, 0.8]])
        >>> PairwiseDisplay.compute([0, 1, 1], evidence).cllr_min
        array([[nan,  0.],
               [ 0., nan]])
        """
        return cls._from_data(read_labelled(y_true, evidence, classes, sample_weight), **settings)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        evidence: ArrayLike | Evidence,
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the evidence about samples whose true classes are known.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
            True classes.
        evidence : Evidence, or array of shape (n_samples, n_classes) or (n_samples,)
            Log-likelihoods in nats. An array of shape (n_samples,) holds LLRs in favor of
            ``pos_label``; only displays with a ``pos_label`` take it.
        ax : matplotlib Axes, default those of a new figure
        **options
            Options of :meth:`compute` and of :meth:`plot`.

        Returns
        -------
        display
            Drawn: ``ax_`` and ``figure_`` are what it was drawn into.

        See Also
        --------
        deciban.Evidence.from_log_posteriors : Evidence from what any classifier predicts.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from deciban.plots import TippettDisplay
        >>> fig, ax = plt.subplots()
        >>> display = TippettDisplay.from_predictions([0, 0, 1, 1], [-3.0, 1.0, 0.5, 2.0], ax=ax)
        >>> display.ax_ is ax
        True
        >>> plt.close(fig)
        """
        settings = {name: options.pop(name) for name in cls._settings if name in options}
        compute: Any = cls.compute  # where there is no truth, it may be None
        return compute(y_true, evidence, **settings).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, **options: Any
    ) -> Self:
        """Draw the evidence of a fitted estimator about samples.

        Parameters
        ----------
        estimator : estimator with a method ``evidence``, or Pipeline or search of such
            As for :func:`deciban.evidence_of`.
        X : array of shape (n_samples, n_features)
            Samples that the estimator was not fitted to.
        y : array of shape (n_samples,)
            True classes.
        **options
            Options of :meth:`from_predictions`. Where a display has a ``name``, it is by default
            that of the estimator's class.

        Returns
        -------
        display
            Drawn: ``ax_`` and ``figure_`` are what it was drawn into.

        See Also
        --------
        deciban.calibration.CalibratedEvidenceClassifier : Evidence of any scikit-learn classifier.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from sklearn.datasets import load_breast_cancer
        >>> from deciban import LinearDiscriminant
        >>> from deciban.plots import DETDisplay
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = LinearDiscriminant().fit(X[::2], y[::2])
        >>> display = DETDisplay.from_estimator(model, X[1::2], y[1::2])
        >>> display.name
        'LinearDiscriminant'
        >>> plt.close(display.figure_)
        """
        if "name" in cls._settings:
            options = {"name": type(estimator).__name__} | options
        return cls.from_predictions(y, evidence_of(estimator, X), **options)

    def _label(self, text: str) -> str:
        """Label in the legend, after the name of the system where it has one."""
        name = getattr(self, "name", None)
        return text if name is None else f"{literal(name)}: {text}"

    def _finish(self, ax: Axes) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass(eq=False, repr=False)
class PairDisplay(Display):
    """LLRs of one class against another; several systems can be drawn into the same axes.

    A subclass computes its data in ``_from_data(trials, ...)`` and draws in ``_draw(ax, unit,
    line_options)``. All take ``pos_label``, ``other_label`` and ``name`` as :meth:`compute` does.
    """

    pos_label: Hashable = field(default=1, kw_only=True)
    other_label: Hashable = field(default=0, kw_only=True)
    name: str | None = field(default=None, kw_only=True)

    _draw: ClassVar[Callable[..., None]]
    _settings: ClassVar[tuple[str, ...]] = ("sample_weight", "pos_label", "other_label", "name")

    @classmethod
    def compute(
        cls,
        y_true: ArrayLike,
        evidence: ArrayLike | Evidence,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Hashable = 1,
        other_label: Hashable | None = None,
        name: str | None = None,
        **settings: Any,
    ) -> Self:
        """Compute what is drawn, without drawing it.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
            True classes.
        evidence : Evidence, or array of shape (n_samples,) or (n_samples, n_classes)
            LLRs in favor of ``pos_label``, or log-likelihoods of the sorted labels, in nats.
        sample_weight : array of shape (n_samples,), optional
        pos_label : label, default 1
            The class that a positive LLR supports.
        other_label : label, optional
            The class that it is compared with, where there are more than two; samples of all
            further classes are left out.
        name : str, optional
            Name of the system in the legend.
        **settings
            ``kind`` or ``log_odds``, where the class has it.

        Returns
        -------
        display
            Not drawn yet.

        Examples
        --------
        >>> from deciban.plots import DETDisplay
        >>> y_true, llr = ["b", "b", "a", "a"], [-3.0, 1.0, 0.5, 2.0]
        >>> display = DETDisplay.compute(y_true, llr, pos_label="a", name="system 1")
        >>> display.other_label, display.name, round(display.eer, 3)
        ('b', 'system 1', 0.25)
        """
        shape = () if isinstance(evidence, Evidence) else np.shape(evidence)
        if len(shape) == 2 and shape[1] > 1:  # log-likelihoods, not LLRs
            evidence = read_labelled(y_true, evidence).evidence
        trials = read_trials(y_true, evidence, sample_weight, pos_label, other_label)
        display: Self = cls._from_data(trials, **settings)
        display.pos_label, display.other_label = pos_label, trials.other_label
        display.name = name
        return display

    def plot(self, ax: Axes | None = None, *, unit: Unit = "ban", **line_options: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        unit : {"nat", "bit", "ban", "deciban"}, default "ban"
            Unit of the LLRs, or of the prior log-odds.
        **line_options
            Options of matplotlib's ``plot``, such as ``color``, ``ls`` and ``marker``.

        Returns
        -------
        display
            Itself, drawn.

        Examples
        --------
        Two systems in the same axes:

        >>> import matplotlib.pyplot as plt
        >>> from deciban.plots import TippettDisplay
        >>> fig, ax = plt.subplots()
        >>> for name, llr in {"A": [-3.0, 1.0, 0.5, 2.0], "B": [-2.0, 0.2, 0.1, 3.0]}.items():
        ...     display = TippettDisplay.compute([0, 0, 1, 1], llr, name=name).plot(ax, unit="nat")
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['A: 1, ≥ x', 'A: 0, ≥ x', 'B: 1, ≥ x', 'B: 0, ≥ x']
        >>> plt.close(fig)
        """
        from_nats(1.0, unit)  # refuses a unit that does not exist before anything is drawn
        ax = get_axes(ax)
        self._draw(ax, unit, line_options)
        return self._finish(ax)
