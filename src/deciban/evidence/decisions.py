"""What evidence leads to under a prior: posteriors, decisions, sets of classes, the class mix."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.labels import encode_labels, label_array, read_labels
from deciban._validation.scalars import (
    Rng,
    as_generator,
    quote,
    require_bool,
    require_fraction,
    require_whole,
)
from deciban.evidence import class_mix
from deciban.evidence.batch import Batch
from deciban.evidence.bayes import Costs, Prior, choose_least_cost, log_prior
from deciban.evidence.prediction_sets import PredictionSets, conformal_sets, smallest_sets
from deciban.exceptions import InputError
from deciban.simplex import logparts


class Decisions(Batch):
    """A batch of likelihood functions that a prior and costs turn into decisions."""

    __slots__ = ()

    def posterior(self, prior: Prior = None) -> NDArray[np.float64]:
        r"""Posterior probabilities under a prior: Bayes' rule, :math:`p_k \propto \pi_k w_k`.

        Parameters
        ----------
        prior : array of shape (n_classes,) or (n_samples, n_classes), mapping or series
            Positive for every class; in a mapping, one class may be left out and gets the rest. It
            must sum to one within 0.002, which is taken for
            rounding. Named entries are matched by name. By default uniform.

        Returns
        -------
        array of shape (n_samples, n_classes)

        Examples
        --------
        >>> from deciban import Evidence
        >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
        >>> evidence.posterior()
        array([[0.6, 0.3, 0.1]])
        >>> evidence.posterior({"bird": 0.8, "cat": 0.1, "dog": 0.1}).round(2)
        array([[0.35, 0.18, 0.47]])
        """
        return np.asarray(logparts.to_parts(self._plus_prior(prior)))

    def log_posterior(self, prior: Prior = None) -> NDArray[np.float64]:
        """Natural logarithms of the posterior probabilities, which do not underflow.

        Parameters
        ----------
        prior : array or mapping, default uniform
            As for :meth:`posterior`.

        Returns
        -------
        array of shape (n_samples, n_classes)

        Examples
        --------
        >>> from deciban import Evidence
        >>> Evidence([[0.0, -2000.0]]).log_posterior()
        array([[    0., -2000.]])
        """
        return np.asarray(logparts.closure(self._plus_prior(prior)))

    def decide(
        self,
        costs: Costs = None,
        prior: Prior = None,
        *,
        reject_cost: float | None = None,
        reject_label: Hashable = None,
    ) -> NDArray[Any]:
        r"""The label of the class to decide for at minimum expected cost, for each sample.

        The class j with the smallest :math:`\sum_i C_{ij} P(i | x)`.

        Parameters
        ----------
        costs : array of shape (n_classes, n_classes), optional
            ``costs[i, j]`` is what it costs to decide for class j when class i is true. By
            default every error costs 1. Ties go to the first class. A pandas frame is matched
            by the names of its rows and columns; a mapping names classes and leaves other errors
            at 1: ``{("true", "decided"): 5}`` or ``{"true": {"decided": 5}}``.
        prior : array or mapping, default uniform
        reject_cost : float, optional
            What it costs not to decide. Without it every sample is decided; with it the labels
            are of dtype object.
        reject_label : object, default None
            What stands for a sample that is not decided.

        Returns
        -------
        array of shape (n_samples,)

        See Also
        --------
        deciban.metrics.expected_cost : What these decisions cost, where the truth is known.

        Examples
        --------
        >>> from deciban import Evidence
        >>> e = Evidence.from_likelihoods([[0.7, 0.3], [0.95, 0.05]], classes=["no", "yes"])
        >>> e.decide(costs=[[0, 1], [10, 0]])
        array(['yes', 'no'], dtype='<U3')
        >>> e.decide(costs={("yes", "no"): 10})
        array(['yes', 'no'], dtype='<U3')
        >>> e.decide(reject_cost=0.1)
        array([None, 'no'], dtype=object)
        """
        if reject_cost is None and reject_label is not None:
            raise InputError(
                "reject_label must come with a reject_cost; got none. Say what it costs not to "
                "decide."
            )
        choice = choose_least_cost(self.log_posterior(prior), self._classes, costs, reject_cost)
        if reject_cost is None:
            return label_array(self._classes)[choice]
        if reject_label in self._classes:
            raise InputError(
                f"reject_label must not be a class; got {quote(reject_label)}. Choose another, "
                f"such as None."
            )
        return label_array([*self._classes, reject_label]).astype(object)[choice]

    def prediction_set(
        self,
        alpha: float,
        prior: Prior = None,
        *,
        calibration: tuple[ArrayLike, Batch] | None = None,
        by_class: bool = False,
    ) -> PredictionSets:
        """Sets of classes, each of which holds the true class with probability 1 - alpha.

        Without ``calibration`` the smallest sets with a posterior mass of 1 - alpha: right where
        the evidence is calibrated and the prior is that of the samples. With labeled samples, which
        the model must not have learned from, split-conformal sets: right whatever the evidence is
        worth. These hold the classes whose posterior is at least a threshold, the score with the
        smallest sets on average, and the likeliest class in any case.

        Parameters
        ----------
        alpha : float
            Error rate, between 0 and 1.
        prior : array of shape (n_classes,) or mapping, optional
            Class mix for which the sets hold; by default that of the calibration samples, which
            gives plain split-conformal sets, and uniform without them.
        calibration : (y_true, Evidence), optional
            Labels and evidence of samples from the same population, in each class.
        by_class : bool, default False
            Whether the sets hold for the samples of each class, whatever their mix; else, on
            average. It takes 1 / alpha - 1 calibration samples of each class.

        Returns
        -------
        PredictionSets

        Warns
        -----
        FewSamplesWarning
            Where there are too few calibration samples, so that every set holds some classes.

        References
        ----------
        Sadinle, Lei and Wasserman (2019), Least ambiguous set-valued classifiers with bounded error
        levels; for a prior, Podkopaev and Ramdas (2021).

        Examples
        --------
        >>> from deciban import Evidence
        >>> likelihoods = [[0.7, 0.2, 0.1], [0.96, 0.03, 0.01]]
        >>> evidence = Evidence.from_likelihoods(likelihoods, classes=["a", "b", "c"])
        >>> evidence.prediction_set(0.15)
        PredictionSets of 2 samples: {a, b}, {a}
        """
        require_fraction(alpha, "alpha", remedy="Give 0.1 for sets that hold in 90 % of cases.")
        if calibration is None:
            if by_class:
                raise InputError("by_class must come with calibration; got none. Give both.")
            return PredictionSets(smallest_sets(self.log_posterior(prior), alpha), self._classes)
        pair = isinstance(calibration, tuple | list) and len(calibration) == 2
        if not pair or not isinstance(calibration[1], Batch):
            raise InputError(
                f"calibration must be a pair of labels and evidence; got {quote(calibration)}. "
                f"Write calibration=(y_true, evidence)."
            )
        labeled = calibration[1]._columns_for(self._classes)
        codes = encode_labels(read_labels(calibration[0], len(labeled)), self._classes)
        p = None if prior is None else np.exp(log_prior(prior, self._classes)[0])
        by_class = require_bool(by_class, "by_class")
        both = self._below_best(), labeled - labeled.max(axis=1, keepdims=True)
        members = conformal_sets(*both, codes, self._classes, p, alpha, by_class)
        return PredictionSets(members, self._classes)

    def confidence_set(self, alpha: float, prior: Prior = None) -> PredictionSets:
        r"""Sets of classes that hold the true one with probability 1 - alpha, whatever the mix is.

        Class j is in the set where :math:`\sum_i \pi_i w_i / w_j < 1 / \alpha`: where its posterior
        is more than alpha times its prior. If the evidence is calibrated, that sum has a mean of at
        most one under class j, and by Markov's inequality it reaches :math:`1 / \alpha` with
        probability alpha at most. So the sets hold for the samples of each class; the prior
        :math:`\pi` decides how large they are, not whether they hold. For the uniform prior they
        are part of :math:`\{j : \max_i w_i / w_j < D / \alpha\}`. A set is never empty.

        Evidence may be added up, sample by sample, until the sets are as small as one likes: by
        Ville's inequality they hold at every such stopping time.

        Parameters
        ----------
        alpha : float
            Error rate, between 0 and 1.
        prior : array of shape (n_classes,) or mapping, default uniform
            Class mix for which the sets should be small.

        Returns
        -------
        PredictionSets

        See Also
        --------
        prediction_set : Smaller sets, which hold on average over a class mix that is known.

        References
        ----------
        Ramdas, Grünwald, Vovk and Shafer (2023), Game-theoretic statistics and safe anytime-valid
        inference.

        Examples
        --------
        >>> from deciban import Evidence
        >>> likelihoods = [[0.9, 0.08, 0.02], [0.99, 0.008, 0.002]]
        >>> evidence = Evidence.from_likelihoods(likelihoods, classes=["a", "b", "c"])
        >>> evidence.confidence_set(0.1)
        PredictionSets of 2 samples: {a, b}, {a}
        """
        require_fraction(alpha, "alpha", remedy="Give 0.1 for sets that hold in 90 % of cases.")
        gain = self.log_posterior(prior) - log_prior(prior, self._classes, len(self))
        return PredictionSets(gain > np.log(alpha), self._classes)

    def estimate_prior(
        self,
        training_prior: Prior = None,
        *,
        confidence: float = 0.95,
        n_resamples: int = 999,
        rng: Rng = 0,
    ) -> class_mix.PriorEstimate:
        r"""The class mix of these samples, whose labels are unknown, by maximum likelihood.

        The shares s that maximize :math:`\sum_n \log \sum_k s_k w_{nk}`, with an interval of each.
        Samples are taken to be independent and the evidence to be right for each class: intervals
        do not allow for the errors of a model that learned from few samples.

        Parameters
        ----------
        training_prior : array of shape (n_classes,) or mapping, optional
            Class mix to test against; without it there is no p-value.
        confidence : float, default 0.95
        n_resamples : int, default 999
            Number of resamples for the test.
        rng : Generator, int or None

        Returns
        -------
        PriorEstimate
            ``shares``, ``low``, ``high`` of shape (n_classes,), and ``p_value``. It is a mapping
            from classes to probabilities above zero: pass it as ``prior``.

        References
        ----------
        Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a
        priori probabilities.

        Examples
        --------
        >>> from deciban import Evidence
        >>> evidence = Evidence.from_llr([4.0, 5.0, -3.0, 6.0, 3.0, 1.0, 4.0, 5.0])
        >>> evidence.estimate_prior(training_prior=[0.5, 0.5])
        Class mix of 8 samples, 95 % intervals; shift: p = 0.029
          0: 0.0880 (0.0000 to 0.4454)
          1: 0.9120 (0.5546 to 1.0000)
        >>> evidence.posterior(evidence.estimate_prior())[2].round(2)
        array([0.76, 0.24])
        """
        require_fraction(confidence, "confidence")
        require_whole(n_resamples, "n_resamples", 1)
        if len(self) == 0:
            raise InputError("evidence must hold samples to estimate a class mix; got none.")
        L, p_value = np.exp(self._below_best()), None
        shares = class_mix.estimate_shares(L)
        if training_prior is not None:
            p = np.exp(log_prior(training_prior, self._classes)[0])
            p_value = class_mix.shift_p_value(L, shares, p, n_resamples, as_generator(rng))
        low, high = class_mix.share_intervals(L, shares, confidence)
        return class_mix.PriorEstimate(
            self._classes, shares, low, high, confidence, len(self), p_value
        )

    def _plus_prior(self, prior: Prior) -> NDArray[np.float64]:
        return self._log_likelihoods + log_prior(prior, self._classes, len(self))
