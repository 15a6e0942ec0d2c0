"""Compositional discriminant analysis: a flow whose first base dimensions are the evidence."""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from deciban._estimation.columns import Columns
from deciban._estimation.samples import Samples, read_table_samples
from deciban._persistence.registry import PersistentMixin, register
from deciban._validation.arrays import Floats
from deciban._validation.scalars import quote, require_one_of
from deciban.discriminant.base_space import BaseSpaceMixin, check_sound
from deciban.discriminant.batches import Batches, join_pieces
from deciban.discriminant.fitting import Task, fit_flows
from deciban.discriminant.initialization import Preparation
from deciban.discriminant.model import Model, covariance_of, train_residual
from deciban.discriminant.programs import FittedFlows, use_precision
from deciban.discriminant.runs import Checkpoint
from deciban.discriminant.selection import describe_choice
from deciban.discriminant.settings import MANY, OPTIONS, Settings, resolve_settings
from deciban.discriminant.survey import Survey
from deciban.exceptions import InputError
from deciban.flows import Flow
from deciban.flows.processes import is_first
from deciban.reference import CalibratedGaussian, CalibratedMixture
from deciban.simplex import Basis

_ENOUGH_HELD_OUT = 50  # samples to rank the density of others by


@register(
    columns_=Columns, _settings=Settings, _params=dict, _preparation=Preparation, basis_=Basis,
    history_=list, selection_=list, _density_quantiles="n",
)  # fmt: skip
class CompositionalDiscriminantAnalysis(PersistentMixin, BaseSpaceMixin):
    r"""A classifier that learns an invertible map from features to (ILRL, residual).

    Its map takes features x to z = (l, r), with the density :math:`\log p(x | k) = \log N(l; \mu_k,
    \Sigma) + \log N(r; 0, I) + \log |\det \partial z / \partial x|` for class k. The first
    n_classes - 1 dimensions, l, are the evidence, distributed as a calibrated Gaussian family; the
    others are standard normal in every class. Training starts from the exact solution for linear
    discriminant analysis and maximizes likelihood and, by default, minimizes the posteriors'
    cross-entropy.

    Below 20,000 samples, the fit by default chooses noise, decay, whitening and epochs on folds,
    and keeps a flow trained on all samples. An affine map at the end of the flow calibrates the
    evidence, learned from samples that the flow has not seen. If the folds favor linear
    discriminant analysis, the fit is its closed form, and ``selection_`` says so.

    Parameters
    ----------
    preset : "paper", optional
        The paper's settings and start. By default, settings that give the best evidence on tables
        with this size replace "auto".
    kind : {"affine", "spline"}, default "affine"
        Coupling layers.
    n_couplings, width : int or "auto"
        Coupling layers, and hidden units per layer in their networks.
    augment : int or "auto"
        Independent normal dimensions added to the features and drawn anew in training:
        room for classes that enclose one another. The evidence is taken at their center, densities
        are averaged over 16 draws.
    prior : "empirical", "uniform", array of shape (n_classes,) or mapping, default "empirical"
        Prior for ``predict`` and ``predict_proba``, by default the class mix in ``fit``. It does
        not affect the evidence and may be set after ``fit``.
    basis : Basis, default Gram-Schmidt
        Basis for the ILRL.
    base : {"gaussian", "mixture"}, default "gaussian"
        ILRL density: the calibrated Gaussian family that is trained, or a
        :class:`deciban.CalibratedMixture` fitted to the ILRLs afterwards. A mixture changes
        densities, outlier scores and samples, but not the evidence. It needs ``n_estimators=1``.
    epochs : int or "auto"
        Passes over the samples. With a number, nothing is chosen on folds.
    residual_couplings : int or "auto"
        Couplings that map the residual given the evidence, so that it does not tell the
        class. They are trained last, by likelihood alone, and leave the evidence unchanged. An
        ensemble has none.
    n_estimators : int, default 1
        Flows trained at once. The evidence is the mean of their ILRLs, and densities are
        averaged. An ensemble has no base space.
    dtype : {"float32", "float64"}, default "float32"
        Precision for training and all results.
    options : mapping, optional
        Rare settings by name; each is "auto" by default:

        - depth: hidden layers in each coupling's network, 2 by default.
        - batch_size: samples per step.
        - learning_rate: largest step size. On folds it is constant; otherwise it rises over the
          first tenth of the steps and then falls to zero.
        - discriminative_weight: weight of the cross-entropy beside the negative log-likelihood,
          both in nats per sample; 0 is the paper's loss.
        - weight_decay: decoupled weight decay in the networks.
        - input_noise: standard deviation for noise on the prepared features in training.
        - shrinkage: from 0, features whitened by their covariance within the classes, to 1, only
          scaled; or "ledoit-wolf". Networks learn first from the directions that vary most.
        - calibrate: whether the flow ends in an affine map that calibrates the evidence.
        - validation_fraction: fraction held out where nothing is chosen on folds, by default a
          tenth but at most 5,000 samples. They choose the epoch and calibrate the evidence.
    checkpoint : path, optional
        File for the training state, written every two seconds or after each longer epoch. A
        ``fit`` with the same data and settings continues from there and gives the same model.
    random_state : int, RandomState instance or None
        Seed for the networks' first weights, the held-out samples and the order of the others.
    verbose : int, default 0
        1 shows a progress bar, and reports the choice made on folds.

    Attributes
    ----------
    reference_ : CalibratedGaussian, or CalibratedMixture
    covariance_, divergences_ : arrays
        A mixture has no single covariance.
    history_ : list of dict
        Loss, cross-entropy on unseen samples (score) and seconds per epoch.
    selection_ : list of dict
        Settings tried on folds, their cross-entropy in nats, and the choice.
    classes_, class_counts_, prior_, n_features_in_, columns_
        As for :class:`deciban.LinearDiscriminant`.

    See Also
    --------
    deciban.LinearDiscriminant : The closed form that it starts from.
    deciban.discriminant.Batches : Samples that do not fit into memory.
    deciban.flows.Flow : The invertible map.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> cda = CompositionalDiscriminantAnalysis(epochs=5, random_state=0).fit(X, y)
    >>> cda.evidence(X[:1]).decide()
    array([0])
    """

    history_: list[dict[str, float]]
    selection_: list[dict[str, Any]]
    _transient: ClassVar[tuple[str, ...]] = ("checkpoint", "verbose")

    def __init__(
        self,
        *,
        preset: Literal["paper"] | None = None,
        kind: Literal["affine", "spline"] = "affine",
        n_couplings: int | str = "auto",
        width: int | str = "auto",
        augment: int | str = "auto",
        prior: ArrayLike | Mapping[Hashable, float] = "empirical",
        basis: Basis | None = None,
        base: Literal["gaussian", "mixture"] = "gaussian",
        epochs: int | str = "auto",
        residual_couplings: int | str = "auto",
        n_estimators: int = 1,
        dtype: Literal["float32", "float64"] = "float32",
        options: Mapping[str, Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.preset = preset
        self.kind = kind
        self.n_couplings = n_couplings
        self.width = width
        self.augment = augment
        self.prior = prior
        self.basis = basis
        self.base = base
        self.epochs = epochs
        self.residual_couplings = residual_couplings
        self.n_estimators = n_estimators
        self.dtype = dtype
        self.options = options
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike | Batches,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to features and classes.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features), or Batches
            Missing values are allowed; in frames also categories, text, booleans and dates.
            :class:`Batches` contain classes and weights; below 20,000 samples they are read into
            memory.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        require_one_of(self.base, "base", ("gaussian", "mixture"))
        if self.base == "mixture" and self.n_estimators != 1:
            raise InputError(
                f"base must be 'gaussian' for an ensemble; got 'mixture' with n_estimators="
                f"{quote(self.n_estimators)}. Fit one flow, or keep the Gaussian base."
            )
        survey = None
        if isinstance(X, Batches):
            if y is not None or sample_weight is not None:
                raise InputError("Pass y and sample_weight inside the batches.")
            # Without a seed, a checkpoint must be found again: the sample needs a seed of its own.
            survey = Survey(self, X, seed=0)
            if survey.n < MANY:
                _, X, y, sample_weight = join_pieces(list(X.read()))
                survey = None
        if survey is None:
            samples = read_table_samples(self, X, y, sample_weight)
            data, n = list(samples), len(samples.codes)
        else:
            samples, data, n = survey.sample, survey.digests, survey.n
        d = samples.X.shape[1]
        options, basis = self._resolve(n, d), self._choose_basis()
        checkpoint = self._open_checkpoint(data, options)
        make_model, verbose = partial(_model, basis=basis, d=d), bool(self.verbose)
        task = Task(samples, basis.contrast, options, make_model, checkpoint, verbose, survey)
        fitted = fit_flows(task)
        self._settings, self._preparation, self._params = fitted[:3]
        self.history_, self.selection_, self.basis_ = fitted.history, fitted.selection, basis
        if self.verbose and fitted.selection and is_first():
            sys.stderr.write(describe_choice(fitted.selection) + "\n")
        self._map_residual(samples, checkpoint.seed)
        held_out = fitted.held_out
        if held_out is not None and len(held_out.codes) >= _ENOUGH_HELD_OUT:
            samples = held_out
        if self.base == "mixture":
            self._mix_base(samples, checkpoint.seed)
        self._remember_densities(samples.X)
        return self

    def _resolve(self, n: int, d: int) -> list[Settings]:
        """Settings to choose from for n samples with d features."""
        options, D = resolve_settings(self, n, d, len(self.classes_)), len(self.classes_)
        if d + options[0].augment < D - 1:
            raise InputError(
                f"Evidence about {D} classes needs at least {D - 1} features; X has {d}. Leave "
                f"augment at 'auto', or pass augment={D - 1 - d}, to add independent dimensions."
            )
        return options

    def _map_residual(self, samples: Samples, seed: int) -> None:
        """Train the couplings for the residual, if requested and there is one."""
        settings, k = self._settings, len(self.classes_) - 1
        if settings.residual_couplings == 0 or settings.n_estimators > 1 or self._n_base() == k:
            return
        Z = self._to_base(samples.X, self._draw_added(samples, seed))
        n, dtype, verbose = settings.residual_couplings, settings.dtype, bool(self.verbose)
        with use_precision(dtype):
            residual = train_residual(Z, samples.weight, k, n, dtype, seed, verbose)
        self._params = self._params | {"residual": residual}

    def _mix_base(self, samples: Samples, seed: int) -> None:
        """Fit a mixture of families to the ILRLs."""
        l = self._to_base(samples.X, self._draw_added(samples, seed))[:, : len(self.classes_) - 1]
        mixture = CalibratedMixture.fit(
            l, self.classes_[samples.codes], basis=self.basis_, classes=self._names(),
            sample_weight=samples.weight,
        )  # fmt: skip
        self._params = self._flows.model.mix(self._params, mixture)

    def _draw_added(self, samples: Samples, seed: int) -> Floats:
        shape = len(samples.X), self._settings.augment
        return np.random.default_rng(seed).standard_normal(shape)

    def _open_checkpoint(self, data: Iterable[np.ndarray], choices: list[Settings]) -> Checkpoint:
        """The checkpoint for this fit; without a seed, the one in the file is taken."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        contrast = None if self.basis is None else self.basis.contrast.tolist()
        names = [str(name) for name in self._names()]
        options = [[asdict(one) for one in choices], contrast, names]
        return Checkpoint(self.checkpoint, data, options, seed, self.random_state is None)

    @property
    def _flows(self) -> FittedFlows:
        check_is_fitted(self)
        model = _model(self._settings, self.basis_, self.columns_.n_features)
        return FittedFlows(model, self._settings, self._params)

    @property
    def reference_(self) -> CalibratedGaussian | CalibratedMixture:  # type: ignore[override]
        """The calibrated family for the ILRL; an ensemble has none."""
        params = self._flows.only_member()
        if "mixture" in params:
            parts = [covariance_of(free) for free in params["mixture"]["covariances"]]
            weights = np.exp(params["mixture"]["log_weights"].astype(np.float64))
            return CalibratedMixture(np.stack(parts), weights, self.basis_)
        return CalibratedGaussian(covariance_of(params["covariance"]), self.basis_)

    def _log_likelihoods(self, X: Floats) -> Floats:
        return self._flows.log_likelihoods(self._preparation(X))

    def _log_densities(self, X: Floats) -> Floats:
        densities = self._flows.log_densities(self._preparation(X))
        return densities + self._preparation.log_slopes(X)[:, None]

    def _to_base(self, X: Floats, added: Floats | None = None) -> Floats:
        if added is None:
            added = np.zeros((len(X), self._settings.augment))
        return self._flows.to_base(np.hstack([self._preparation(X), added]))

    def _from_base(self, Z: Floats) -> Floats:
        return self._preparation.invert(self._flows.from_base(Z)[:, : self.columns_.n_features])

    def _features_at(self, Z: Floats) -> Floats:
        if self._settings.augment == 0:
            return self._from_base(Z)
        return self._preparation.invert(self._flows.features_at(Z))

    def _n_base(self) -> int:
        return self.columns_.n_features + self._settings.augment

    @classmethod
    def _upgrade(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        given = {name: parameters.pop(name) for name in OPTIONS if name in parameters}
        rare = {k: v for k, v in given.items() if v != (2 if k == "depth" else "auto")}
        return parameters | ({"options": rare} if rare else {})

    def _finish_loading(self) -> None:
        tails, white = self._preparation
        check_sound(white.scale, self._density_quantiles, tails.center, *white)
        if not (tails.bend > 0).all():
            raise ValueError("bends that are not positive")
        if not np.allclose(white.matrix @ white.inverse, np.eye(len(white.mean)), atol=1e-4):
            raise ValueError("a matrix and an inverse that is not its own")
        self._flows.check_consistent()

    def __sklearn_is_fitted__(self) -> bool:
        return "_params" in self.__dict__


def _model(settings: Settings, basis: Basis, d: int) -> Model:
    names = ("n_couplings", "kind", "width", "depth")
    options: Any = {name: getattr(settings, name) for name in names}
    flow = Flow(d + settings.augment, mixing="linear", **options)
    return Model(flow, tuple(map(tuple, basis.contrast.tolist())), settings.augment)
