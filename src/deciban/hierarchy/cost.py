"""Cross-entropy over a tree of classes, split among nodes by the chain rule."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.arrays import Floats
from deciban._validation.scalars import quote
from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.bayes import Prior, log_prior
from deciban.exceptions import InputError
from deciban.hierarchy.tree import Hierarchy
from deciban.metrics.labelled import EvidenceLike, Labelled, Weights, read_labelled


class HierarchicalCost(NamedTuple):
    """A cross-entropy and each inner node's part in it.

    Attributes
    ----------
    total : float
        Cross-entropy over the classes, the sum of ``parts``.
    nodes : tuple of labels
        The inner nodes, the root first.
    parts : array of shape (n_inner_nodes,)
        Part of each node: ``probabilities * costs``.
    probabilities : array of shape (n_inner_nodes,)
        Prior probability of each node.
    costs : array of shape (n_inner_nodes,)
        Cross-entropy over the children of each node, on its samples.
    entropies : array of shape (n_inner_nodes,)
        The same without evidence: prior entropy over the children, given the node.

    See Also
    --------
    hierarchical_cross_entropy : Returns it.

    Examples
    --------
    >>> tree = Hierarchy([["cat", "dog"], "wren"])
    >>> evidence = [[0.0, 0.0, -np.inf], [0.0, 0.0, -np.inf], [-np.inf, -np.inf, 0.0]]
    >>> cost = hierarchical_cross_entropy(["cat", "dog", "wren"], evidence, tree, unit="bit")
    >>> cost.nodes, cost.costs, round(cost.total, 4)  # cats and dogs look alike, wrens do not
    (('all', 'cat or dog'), array([0., 1.]), 0.6667)
    """

    total: float
    nodes: tuple[Hashable, ...]
    parts: Floats
    probabilities: Floats
    costs: Floats
    entropies: Floats


def hierarchical_cross_entropy(
    y_true: ArrayLike,
    log_likelihoods: EvidenceLike,
    hierarchy: Hierarchy,
    *,
    prior: Prior = None,
    unit: Unit = "nat",
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
) -> HierarchicalCost:
    r"""Cross-entropy as a sum over the inner nodes of a tree: which distinctions cost how much.

    Along the path to the true class, :math:`-\log P(k | x) = -\sum \log P(\text{child} |
    \text{parent}, x)`. The mean is :math:`\sum_A P(A) H_A`, with the cross-entropy :math:`H_A` over
    the children of node A, on the samples in A. If a sample rules out its true class, the cost is
    infinite at the node where that happens, and nothing is added below it.

    Parameters
    ----------
    y_true, log_likelihoods, prior, unit, classes, sample_weight
        As for :func:`deciban.metrics.cross_entropy`.
    hierarchy : Hierarchy
        Tree over the classes.

    See Also
    --------
    deciban.metrics.cross_entropy, deciban.metrics.decompose, deciban.Hierarchy.evidence

    Examples
    --------
    >>> tree = Hierarchy({"mammal": ["cat", "dog"], "bird": ["owl", "wren"]})
    >>> y = ["cat", "dog", "owl", "wren"]
    >>> cost = hierarchical_cross_entropy(y, np.zeros((4, 4)), tree, classes=y, unit="bit")
    >>> dict(zip(cost.nodes, cost.parts.round(12).tolist()))
    {'all': 1.0, 'mammal': 0.5, 'bird': 0.5}
    """
    if not isinstance(hierarchy, Hierarchy):
        raise InputError(
            f"hierarchy must be a Hierarchy; got {quote(hierarchy)}. Write deciban.Hierarchy(tree)."
        )
    data = read_labelled(y_true, log_likelihoods, classes, sample_weight)
    data.evidence.columns_for(hierarchy.classes)  # the same classes, or an error
    p = np.exp(log_prior(prior, data.classes)[0])
    nothing = Evidence(np.zeros((1, len(p))), data.classes)
    mass = dict(zip(hierarchy.nodes, hierarchy.posterior(nothing, p)[0], strict=True))
    nodes = hierarchy.inner_nodes
    probabilities = np.array([mass[node] for node in nodes])
    shares = [np.array([mass[k] for k in hierarchy.children(node)]) / mass[node] for node in nodes]
    entropies = np.array([-share @ np.log(share) for share in shares])
    parts = np.array([p @ data.mean_by_class(loss) for loss in _losses(hierarchy, data, p)])
    parts, entropies = (np.asarray(from_nats(nats, unit)) for nats in (parts, entropies))
    costs = parts / probabilities
    return HierarchicalCost(float(parts.sum()), nodes, parts, probabilities, costs, entropies)


def _losses(hierarchy: Hierarchy, data: Labelled, prior: Floats) -> Iterator[Floats]:
    """Minus the log-posterior of the true child, given the node, for each inner node."""
    logs = dict(zip(hierarchy.nodes, hierarchy.log_posterior(data.evidence, prior).T, strict=True))
    rows_of = dict(zip(data.evidence.classes, data.rows_by_class, strict=True))
    for node in hierarchy.inner_nodes:
        loss = np.zeros(len(data.codes))
        for child in hierarchy.children(node):
            rows = np.concatenate([rows_of[label] for label in hierarchy.leaves(child)])
            rows = rows[logs[node][rows] > -np.inf]  # otherwise a node above has the cost
            loss[rows] = logs[node][rows] - logs[child][rows]
        yield loss
