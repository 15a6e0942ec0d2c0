"""Compositional discriminant analysis: a flow whose first base dimensions are the evidence."""

from __future__ import annotations

import json
import warnings
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from deciban._estimation.samples import Samples, read_more_samples, read_samples
from deciban._validation import is_number
from deciban.discriminant import checkpoints, files, programs
from deciban.discriminant.base_space import BaseSpaceMixin
from deciban.discriminant.checkpoints import Keeper, digest
from deciban.discriminant.initialization import (
    Start,
    linear_start,
    moments_of,
    paper_start,
    require_spread,
    shrunk,
    whitening,
)
from deciban.discriminant.objective import LossOptions, Model
from deciban.discriminant.settings import Settings, require_shrinkage, require_whole, resolved
from deciban.evidence import Evidence
from deciban.exceptions import InputError, InterruptedFitWarning
from deciban.flows import Flow, double_precision
from deciban.flows.conditioner import Activation
from deciban.flows.flow import Kind, Mixing
from deciban.flows.training import Schedule, State, Training
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis

_FLOOR = 1e-6  # of the eigenvalues within the classes, relative
_LEAST_SINGULAR = 1.5  # of the discriminant block at the start
_BEYOND_CHANCE = 1.5  # times what chance makes of the difference of means
_LEAST_LOG_MIX = -30.0  # of a class that a partial fit is without
_ENOUGH_HELD_OUT = 50  # samples to rank the density of others by
_DENSITY_DRAWS = 16  # of added dimensions, where no number is given
_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


class CompositionalDiscriminantAnalysis(BaseSpaceMixin):
    """A classifier that learns an invertible map from features to (ILRL, residual).

    The first n_classes - 1 dimensions of its base space are the evidence, distributed as a
    calibrated Gaussian family; the others are standard normal whatever the class. It is trained by
    maximum likelihood and, unless told otherwise, by the cross-entropy of the posteriors beside it,
    from the exact solution of linear discriminant analysis.

    Parameters
    ----------
    preset : "paper", optional
        What "auto" means below: the paper's model, or by default what gives the best evidence.
    kind : {"affine", "spline"}, default "affine"
        Of the couplings.
    n_couplings, width, depth : int, default "auto", "auto" and 2
        Number of couplings; hidden units and hidden layers of the network in each.
    activation : {"silu", "relu", "gelu", "tanh"}, default "silu"
    mixing : {"linear", "random", "none"}, default "linear"
    init : {"lda", "paper"} or "auto"
        Where to start: LDA's solution, or the identity with LDA's divergences.
    shrinkage : float or "auto", default "auto"
        Of the covariance within the classes at the start; "auto" is Ledoit and Wolf's.
    discriminative_weight : float or "auto"
        Of the cross-entropy beside the negative log-likelihood, both in nats a sample; 0 is the
        paper.
    augment : int or "auto"
        Independent normal dimensions to add to the features, drawn anew in training: room for
        classes that enclose one another.
    augment_draws : int, default 0
        Draws of them over which the evidence is averaged; 0 takes their centre, so that the
        evidence is that of the base space. Densities are always averaged, over 16 draws if this
        is 0.
    class_weight : "balanced", dict or None
        Factors of the sample weights. The evidence needs no balance: the mix of the classes is not
        part of it.
    prior : "uniform", "empirical", array of shape (n_classes,) or mapping, default "uniform"
        Of ``predict`` and ``predict_proba``. It never touches the evidence.
    basis : Basis, default Gram-Schmidt
        Of the ILRL.
    epochs, batch_size : int or "auto"
    learning_rate : float or "auto"
        At its highest.
    schedule : {"one-cycle", "cosine", "constant"}, default "one-cycle"
    weight_decay, input_noise : float or "auto"
        Decoupled decay of the conditioners' weights; standard deviation of the noise that is added
        to the whitened features in training.
    clip : float, default 1.0
        Largest norm of a gradient.
    validation_fraction : float or "auto"
        Share of the samples that are set aside to watch the training; 0 for none, "auto" for a
        tenth, but no more than 2,000. The weights of the last epoch are kept unless these samples
        tell others from them to be better, beyond doubt.
    patience : int, None or "auto"
        Epochs without a better cross-entropy of these after which to stop.
    n_estimators : int, default 1
        Flows trained at once; the evidence is the mean of their ILRLs, densities are mixed. An
        ensemble has no base space, and so nothing that is done there.
    warm_start : bool, default False
        Whether another ``fit`` goes on from the fitted parameters.
    dtype : {"float32", "float64"}, default "float32"
    device : str, optional
        Such as "cpu" or "gpu"; by default JAX's own choice.
    checkpoint : path, optional
        Where the state is kept, every two seconds or after each epoch if that takes longer. A
        ``fit`` with the same data and settings goes on from there and ends with the same model.
    random_state : int, RandomState instance or None
    verbose : int, default 0
        1 shows a progress bar.

    Attributes
    ----------
    reference_ : CalibratedGaussian
    covariance_, divergences_ : arrays
    history_ : list of dict
        Loss, cross-entropy of the samples set aside (score) and seconds of each epoch.
    classes_ : array of shape (n_classes,)
    prior_ : array of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> cda = CompositionalDiscriminantAnalysis(epochs=5, random_state=0).fit(X, y)
    >>> cda.evidence(X[:1]).decide()
    array([0])
    """

    history_: list[dict[str, float]]

    def __init__(
        self,
        *,
        preset: str | None = None,
        kind: Kind = "affine",
        n_couplings: Any = "auto",
        width: Any = "auto",
        depth: int = 2,
        activation: Activation = "silu",
        mixing: Mixing = "linear",
        init: str = "auto",
        shrinkage: Any = "auto",
        discriminative_weight: Any = "auto",
        augment: Any = "auto",
        augment_draws: int = 0,
        class_weight: Any = None,
        prior: Any = "uniform",
        basis: Basis | None = None,
        epochs: Any = "auto",
        batch_size: Any = "auto",
        learning_rate: Any = "auto",
        schedule: Schedule = "one-cycle",
        weight_decay: Any = "auto",
        input_noise: Any = "auto",
        clip: float = 1.0,
        validation_fraction: Any = "auto",
        patience: Any = "auto",
        n_estimators: int = 1,
        warm_start: bool = False,
        dtype: str = "float32",
        device: str | None = None,
        checkpoint: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.preset = preset
        self.kind = kind
        self.n_couplings = n_couplings
        self.width = width
        self.depth = depth
        self.activation = activation
        self.mixing = mixing
        self.init = init
        self.shrinkage = shrinkage
        self.discriminative_weight = discriminative_weight
        self.augment = augment
        self.augment_draws = augment_draws
        self.class_weight = class_weight
        self.prior = prior
        self.basis = basis
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.input_noise = input_noise
        self.clip = clip
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.n_estimators = n_estimators
        self.warm_start = warm_start
        self.dtype = dtype
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    # --- learning ---------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to features and classes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        self._require_options()
        fitted = self.__dict__.get("_params")
        known = self.classes_ if fitted is not None else None
        data = read_samples(self, X, y, sample_weight, self.class_weight)
        settings = resolved(self, *data.X.shape)
        self._require_room(data.X.shape[1], settings.augment)
        goes_on = self.warm_start and fitted is not None and self._continues(settings, known)
        keeper = self._keeper(data, settings, fitted if goes_on else None)
        kept, held_out = self._split(data, settings.validation_fraction, keeper.seed)
        if not goes_on:
            self._prepare(kept, settings)
        self._settings = settings
        with self._computing():
            self._train(kept, held_out, settings, keeper, fitted if goes_on else None)
        few = held_out is None or len(held_out.codes) < _ENOUGH_HELD_OUT
        self._remember_densities((data if held_out is None or few else held_out).X)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One more pass over some samples; the first call starts the model from them.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`. Every class must be among the samples of the first call, which also
            are those of :meth:`outlier_score`; later ones may be without some.
        classes : ignored
            They are those of the first call.
        """
        if "_params" not in self.__dict__:
            return self.fit(X, y, sample_weight)
        data = read_more_samples(self, X, y, sample_weight, self.class_weight)
        one = asdict(self._settings) | {"epochs": 1, "patience": None}
        passes = len(self.history_)
        seed = int(check_random_state(self.random_state).randint(2**31)) + passes
        history = self.history_
        keeper = Keeper(None, {}, seed)
        with self._computing():
            self._train(data, None, Settings(**one), keeper, self._params, "constant")
        new = [record | {"epoch": passes + k} for k, record in enumerate(self.history_)]
        self.history_ = [*history, *new]
        return self

    def _require_options(self) -> None:
        """What is not part of the settings, which see to themselves."""
        if self.dtype not in ("float32", "float64"):
            raise InputError(f"dtype must be 'float32' or 'float64'; got {self.dtype!r}. Choose.")
        for name, least in (("n_estimators", 1), ("depth", 1), ("augment_draws", 0)):
            require_whole(name, getattr(self, name), least)
        if not is_number(self.clip) or not self.clip > 0:
            raise InputError(
                f"clip must be a positive number, or infinity for none; got {self.clip!r}. Give 1."
            )
        if not isinstance(self.shrinkage, str) or self.shrinkage != "auto":
            require_shrinkage(self.shrinkage)
        if self.basis is not None and not isinstance(self.basis, Basis):
            raise InputError(
                f"basis must be a deciban.Basis or None; got {type(self.basis).__name__}. Make one "
                f"with Basis.gram_schmidt."
            )

    def _require_room(self, d: int, added: int) -> None:
        D = len(self.classes_)
        if d + added < D - 1:
            raise InputError(
                f"X must have at least {D - 1} features for {D} classes, so that the evidence has "
                f"room; got {d}. Pass augment={D - 1 - d} to add independent normal dimensions."
            )

    def _continues(self, settings: Settings, known: Any) -> bool:
        """Whether the fitted parameters suit the data and the settings."""
        if not np.array_equal(self.classes_, known) or self._members != self.n_estimators:
            return False
        d = self.n_features_in_
        basis = self._chosen_basis()
        same = self._whitening.mean.shape == (d,) and self._fitted_dtype() == self.dtype
        return same and self._model == self._model_of(settings, basis, d)

    def _fitted_dtype(self) -> str:
        return str(self._params["covariance"].dtype)

    def _split(self, data: Samples, fraction: float, seed: int) -> tuple[Samples, Samples | None]:
        """Samples to learn from, and some of every class set aside."""
        n, D = len(data.codes), len(self.classes_)
        count = round(fraction * n)
        if count < D or n - count < D or np.bincount(data.codes).min() < 2:
            return data, None
        rows = np.arange(n)
        a, b = train_test_split(rows, test_size=count, stratify=data.codes, random_state=seed)
        if np.bincount(data.codes[a], minlength=D).min() == 0:
            return data, None  # every class must be learnt from
        return tuple(Samples(*(values[part] for values in data)) for part in (a, b))  # type: ignore[return-value]

    def _prepare(self, data: Samples, settings: Settings) -> None:
        """Whitening, start and model."""
        D, d = len(self.classes_), data.X.shape[1]
        self.basis_ = self._chosen_basis()
        V = self.basis_.contrast
        moments = moments_of(data.X, data.codes, data.weight, D)
        require_spread(moments)
        strength = self.shrinkage
        if isinstance(strength, str):
            away = (data.X - moments.center) / moments.scale - moments.means[data.codes]
            strength = float(ledoit_wolf_shrinkage(away, assume_centered=True)) if d > 1 else 0.0
        self._whitening = whitening(moments, shrunk(moments.within, float(strength), _FLOOR))
        means = np.pad(moments.means @ self._whitening.matrix.T, ((0, 0), (0, settings.augment)))
        if settings.init == "paper":
            self._start = paper_start(means, V, d + settings.augment)
        else:
            # The largest singular value of means that differ by chance alone is about this.
            chance = np.sqrt(D / len(data.codes)) * (np.sqrt(D - 1) + np.sqrt(d))
            self._start = linear_start(
                means, V, _LEAST_SINGULAR, settings.augment, _BEYOND_CHANCE * chance
            )
        self._members = self.n_estimators
        self._model = self._model_of(settings, self.basis_, d)

    def _model_of(self, settings: Settings, basis: Basis, d: int) -> Model:
        flow = Flow(
            d + settings.augment,
            n_couplings=settings.n_couplings,
            kind=self.kind,
            width=settings.width,
            depth=int(self.depth),
            activation=self.activation,
            mixing=self.mixing,
        )
        contrast = tuple(map(tuple, basis.contrast.tolist()))
        return Model(flow, contrast, settings.augment)

    def _train(
        self,
        data: Samples,
        held_out: Samples | None,
        settings: Settings,
        keeper: Keeper,
        before: Any,
        schedule: Schedule | None = None,
    ) -> None:
        model, E = self._model, self._members
        training = Training(
            settings.epochs, settings.batch_size, settings.learning_rate,
            self.schedule if schedule is None else schedule,
            settings.weight_decay, float(self.clip), settings.patience, E,
        )  # fmt: skip
        options = LossOptions(settings.discriminative_weight, settings.input_noise)
        trainer = programs.trainer(model, options, training, len(data.codes), held_out is not None)
        key = jax.random.key(keeper.seed)
        params = self._first(key) if before is None else jax.tree.map(jnp.asarray, before)
        mix = np.bincount(data.codes, weights=data.weight, minlength=len(self.classes_))
        with np.errstate(divide="ignore"):
            log_mix = np.maximum(np.log(mix / mix.sum()), _LEAST_LOG_MIX)
        params["log_mix"] = jnp.broadcast_to(
            jnp.asarray(log_mix, self.dtype), params["log_mix"].shape
        )
        batch, aside = self._batch(data), None if held_out is None else self._batch(held_out)
        state = trainer.start(params, aside)
        state = keeper.resumed(state)
        passed = [state]  # the last one, should it be interrupted
        with checkpoints.progress(settings.epochs, state.epoch, bool(self.verbose)) as show:

            def after_epoch(state: State) -> None:
                passed[0] = state
                keeper.keep(state)
                show(state)

            try:
                passed[0] = trainer.run(
                    state, batch, aside, jax.random.fold_in(key, 1), after_epoch
                )
            except KeyboardInterrupt:
                warnings.warn(
                    f"fit was interrupted after {passed[0].epoch} of {settings.epochs} epochs; the "
                    f"best model so far is kept.",
                    InterruptedFitWarning,
                    stacklevel=3,
                )
        self._params = jax.tree.map(np.asarray, trainer.outcome(passed[0], aside))
        self.history_ = list(passed[0].history)
        keeper.keep(passed[0], force=True)

    def _first(self, key: jax.Array) -> Any:
        start: Start = self._start
        keys = jax.random.split(key, self._members)
        first = [
            self._model.init(k, start.matrix, start.offset, start.covariance, self.dtype)
            for k in keys
        ]
        return first[0] if len(first) == 1 else jax.tree.map(lambda *a: jnp.stack(a), *first)

    def _batch(self, data: Samples) -> tuple[jax.Array, jax.Array, jax.Array]:
        weight = data.weight / data.weight.mean()
        return (
            jnp.asarray(self._whitening(data.X), self.dtype),
            jnp.asarray(data.codes, jnp.int32),
            jnp.asarray(weight, self.dtype),
        )

    def _keeper(self, data: Samples, settings: Settings, before: Any) -> Keeper:
        """The checkpoint of this fit, and the seed: that of the checkpoint where none is given."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        if self.checkpoint is None:
            return Keeper(None, {}, seed)
        options = [asdict(settings), self.kind, int(self.depth), self.activation, self.mixing,
                   str(self.schedule), float(self.clip), int(self.n_estimators), self.dtype,
                   self.shrinkage if isinstance(self.shrinkage, str) else float(self.shrinkage),
                   None if self.basis is None else self.basis.contrast.tolist(),
                   [str(name) for name in self._names()]]  # fmt: skip
        marks = {
            "data": digest(*data, *jax.tree.leaves(before)),
            "settings": digest(json.dumps(options)),
        }
        return Keeper(self.checkpoint, marks, seed, free=self.random_state is None)

    def _computing(self) -> ExitStack:
        """Precision and device of what is computed."""
        device = None if self.device is None else _device(self.device)
        stack = ExitStack()
        if self.dtype == "float64":
            stack.enter_context(double_precision())
        if device is not None:
            stack.enter_context(jax.default_device(device))
        return stack

    # --- what it gives ----------------------------------------------------------------

    @property
    def reference_(self) -> CalibratedGaussian:  # type: ignore[override]
        """The calibrated Gaussian family of the ILRL; an ensemble has none."""
        check_is_fitted(self, "_params")
        free = np.asarray(self._one_member()["covariance"], dtype=np.float64)
        L = np.tril(free, -1) + np.diag(np.exp(np.diag(free)))
        return CalibratedGaussian(L @ L.T, self.basis_)

    def evidence(self, X: Any) -> Evidence:
        """The evidence that each sample holds about the classes: the ILRL, named.

        At the centre of added dimensions, or averaged over ``augment_draws`` of them. Of an
        ensemble, the mean of the ILRLs.
        """
        X = self._read(X)
        total = np.zeros((len(X), len(self.classes_)))
        for params in self._each_member():
            scores, common = self._parts(params, X, self.augment_draws)
            log_f = scores if self.augment_draws == 0 else scores + common[:, None]
            total += log_f - log_f.mean(axis=1, keepdims=True)
        return Evidence(total / self._members, self._names())

    def _log_densities(self, X: np.ndarray) -> np.ndarray:
        """Averaged over draws of added dimensions, and over the members of an ensemble."""
        pooled = np.full((len(X), len(self.classes_)), -np.inf)
        for params in self._each_member():
            scores, common = self._parts(params, X, self.augment_draws or _DENSITY_DRAWS)
            pooled = np.logaddexp(pooled, scores + common[:, None])
        return pooled - np.log(self._members) + self._whitening.log_det

    def _parts(self, params: Any, X: np.ndarray, draws: int) -> tuple[np.ndarray, np.ndarray]:
        """Evidence (n, D) and the rest (n,) of the log-densities of whitened features.

        With added dimensions at their centre, or (``draws`` > 0) averaged over draws of them.
        """
        W, k, D = self._whitening(X), self._settings.augment, len(self.classes_)
        added = np.zeros((1, k))
        if k and draws:
            added = np.random.default_rng(0).standard_normal((draws, k))
        scores, common = np.zeros((len(W), D)), np.full(len(W), -np.inf)
        for a in added:
            rows = np.hstack([W, np.tile(a, (len(W), 1))])
            out = self._computed(programs.parts, params, rows)
            self._require_finite(out)
            more = out[:, D] + np.sum(0.5 * a**2 + _HALF_LOG_2PI)
            if len(added) == 1:
                return out[:, :D], more
            # A running sum of exp(scores + common), with the larger common part taken out.
            top = np.maximum(common, more)
            with np.errstate(divide="ignore"):
                scores = np.logaddexp(
                    scores + (common - top)[:, None], out[:, :D] + (more - top)[:, None]
                )
            common = top
        return scores, common - np.log(len(added))

    def _require_finite(self, out: np.ndarray) -> None:
        if not np.isfinite(out).all():
            row = int(np.flatnonzero(~np.isfinite(out).all(axis=1))[0])
            raise InputError(
                f"X must lie within reach of the training samples; row {row} is too far from them "
                f"for {self.dtype}. Check its features, or fit with dtype='float64'."
            )

    def _each_member(self) -> list[Any]:
        check_is_fitted(self, "_params")
        if self._members == 1:
            return [self._params]
        return [jax.tree.map(lambda a, e=e: a[e], self._params) for e in range(self._members)]

    def _one_member(self) -> Any:
        if self._members > 1:
            raise InputError(
                f"the base space must be that of one flow; this is an ensemble of "
                f"{self._members}. Fit with n_estimators=1."
            )
        return self._each_member()[0]

    def _to_base(self, X: np.ndarray, added: np.ndarray | None = None) -> np.ndarray:
        if added is None:
            added = np.zeros((len(X), self._settings.augment))
        W = np.hstack([self._whitening(X), added])
        Z = self._computed(programs.forward, self._one_member(), W)
        self._require_finite(Z)
        return Z

    def _from_base(self, Z: np.ndarray) -> np.ndarray:
        W = self._computed(programs.inverse, self._one_member(), Z)
        return self._whitening.undo(W[:, : self.n_features_in_])

    def _features_at(self, Z: np.ndarray) -> np.ndarray:
        if self._settings.augment == 0:
            return self._from_base(Z)
        return self._whitening.undo(self._computed(programs.at_ilr, self._one_member(), Z))

    def _n_base(self) -> int:
        return self.n_features_in_ + self._settings.augment

    def _computed(self, program: Any, params: Any, values: np.ndarray) -> np.ndarray:
        with self._computing():
            return programs.in_batches(program, self._model, params, values, self.dtype)

    # --- files ------------------------------------------------------------------------

    def save(self, path: Any, extra: dict[str, Any] | None = None) -> None:
        """Write the fitted model to a file of arrays and plain data (safetensors, JSON).

        Parameters
        ----------
        path : path
        extra : dict, optional
            Plain data to go along, as JSON has it: ``load`` does not look at it.
        """
        check_is_fitted(self, "_params")
        files.write_model(self, path, extra)

    @classmethod
    def load(cls, path: Any) -> Self:
        """A model from a file that :meth:`save` wrote. It never runs code from the file."""
        return files.read_model(cls, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_params" in self.__dict__


def _device(name: Any) -> Any:
    try:
        return jax.devices(name)[0]
    except (RuntimeError, TypeError, AttributeError, ValueError):
        found = sorted({device.platform for device in jax.devices()})
        raise InputError(
            f"device must be one that JAX has, such as {', '.join(found)}; got {name!r}. Choose "
            f"one, or None."
        ) from None
