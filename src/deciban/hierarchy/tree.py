"""Trees of classes: posteriors for all groups, and decisions at the supported level."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.arrays import Floats
from deciban._validation.labels import encode_labels, index_of, label_array, read_labels
from deciban._validation.scalars import (
    quote,
    quote_each,
    require_fraction,
    require_number,
    require_whole,
)
from deciban.evidence import Evidence, PredictionSets, Unit, from_nats
from deciban.evidence.bayes import Prior, log_prior
from deciban.exceptions import InputError, UnknownClassError
from deciban.hierarchy.reading import name_nodes, read_pairs, read_tree

_ROUNDING = 1e-12  # relative error of sums of probabilities
_LONG = 100  # characters


@dataclass(frozen=True, init=False, repr=False)
class Hierarchy:
    r"""A tree of classes: a node is the hypothesis that one of its classes is true.

    Immutable. A node has two children or more, each a class or another node. Its posterior is the
    sum over its classes. Along the path to a class probabilities multiply:
    :math:`P(k | x) = \prod P(\text{child} | \text{parent}, x)`.

    Parameters
    ----------
    tree : mapping, or nested lists or tuples
        ``{"mammal": ["cat", "dog"], "bird": {"raptor": ["owl", "hawk"], "wren": "wren"}}``. Nodes
        without a name are named after their classes, "cat or dog". A mapping with a single entry
        names the root.
    root : label, default "all"
        Name of the root, unless the tree names it.

    Attributes
    ----------
    nodes : tuple of labels
        All nodes and classes, the root first, parents before children.
    inner_nodes : tuple of labels
        The nodes that are not classes, in the same order.
    classes : tuple of labels
        The classes, from the first branch to the last.

    See Also
    --------
    deciban.Evidence.group, deciban.hierarchy.hierarchical_cross_entropy, deciban.Basis.from_tree

    Examples
    --------
    >>> hierarchy = Hierarchy({"mammal": ["cat", "dog"], "bird": ["owl", "wren"]})
    >>> hierarchy
    all
    ├─ mammal
    │  ├─ cat
    │  └─ dog
    └─ bird
       ├─ owl
       └─ wren
    >>> evidence = Evidence.from_likelihoods([[0.5, 0.47, 0.02, 0.01]], classes=hierarchy.classes)
    >>> hierarchy.decide(evidence)
    array(['mammal'], dtype='<U6')
    """

    nodes: tuple[Hashable, ...]
    _parents: tuple[int, ...]

    def __init__(self, tree: Any, root: Hashable = "all") -> None:
        names, parents = read_tree(tree, root)
        object.__setattr__(self, "_parents", parents)
        object.__setattr__(self, "nodes", name_nodes(names, self._positions))

    @classmethod
    def from_pairs(cls, pairs: Any) -> Self:
        """From pairs of a child and its parent, in any order.

        Parameters
        ----------
        pairs : list of (child, parent), array of shape (n, 2), or frame with two columns
            The root may be listed as a child whose parent is None, NaN or empty text.

        Examples
        --------
        >>> pairs = [("cat", "mammal"), ("dog", "mammal"), ("mammal", "animal"), ("owl", "animal")]
        >>> Hierarchy.from_pairs(pairs).leaves("mammal")
        ('cat', 'dog')
        """
        tree, n_nodes = read_pairs(pairs)
        found = cls(tree)
        if len(found.nodes) != n_nodes:
            raise InputError(
                "pairs must lead from every child to the root; got a circle. Correct a parent."
            )
        return found

    def __repr__(self) -> str:
        lines, stems = [], [("", "")]  # for the line itself, and for the lines below it
        for name, below in zip(self.nodes, self._children, strict=True):
            branch, stem = stems.pop()
            lines.append(f"{branch}{name}")
            last = (f"{stem}└─ ", f"{stem}   "), (f"{stem}├─ ", f"{stem}│  ")
            stems += [last[0], *[last[1]] * (len(below) - 1)] if below else []
        return "\n".join(lines)

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The classes, from the first branch to the last."""
        return tuple(self.nodes[k] for k in self._positions[0])

    @property
    def inner_nodes(self) -> tuple[Hashable, ...]:
        """The nodes that are not classes, parents before children."""
        return tuple(k for k, below in zip(self.nodes, self._children, strict=True) if below)

    def leaves(self, node: Hashable) -> tuple[Hashable, ...]:
        """The classes below a node, or a class itself."""
        return tuple(self.nodes[k] for k in self._positions[self._find(node)])

    def children(self, node: Hashable) -> tuple[Hashable, ...]:
        """The nodes and classes directly below a node."""
        return tuple(self.nodes[k] for k in self._children[self._find(node)])

    def parent(self, node: Hashable) -> Hashable | None:
        """The node directly above; None for the root."""
        above = self._parents[self._find(node)]
        return None if above < 0 else self.nodes[above]

    def depth(self, node: Hashable) -> int:
        """Number of steps from the root."""
        return int(self._depths[self._find(node)])

    def level(self, depth: int) -> dict[Hashable, list[Hashable]]:
        """A partition of all classes at a depth, for ``Evidence.group``.

        Depths start at 1. A class higher in the tree is a group by itself.

        Examples
        --------
        >>> Hierarchy({"mammal": ["cat", "dog"], "wren": "wren"}).level(1)
        {'mammal': ['cat', 'dog'], 'wren': ['wren']}
        """
        require_whole(depth, "depth", 1)
        return {
            node: list(self.leaves(node))
            for node, at, below in zip(self.nodes, self._depths, self._children, strict=True)
            if at == depth or (not below and at < depth)
        }

    def evidence(self, evidence: Evidence, node: Hashable = None, prior: Prior = None) -> Evidence:
        """Evidence about the children of a node, which are composite hypotheses.

        Parameters
        ----------
        evidence, prior
            As for :meth:`log_posterior`; the prior is used within each child only.
        node : label, default the root

        Examples
        --------
        >>> hierarchy = Hierarchy({"mammal": ["cat", "dog"], "wren": "wren"})
        >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "wren"])
        >>> hierarchy.evidence(evidence).llr("mammal", "wren").round(4)
        array([1.5041])
        """
        _require_evidence(evidence)
        evidence.columns_for(self.classes)  # the same classes, or an error
        node = self.nodes[0] if node is None else node
        if not self.children(node):
            raise InputError(
                f"node must have children; got {quote(node)}, a class. Choose one of "
                f"{quote_each(self.inner_nodes)}."
            )
        return evidence.group(
            {child: list(self.leaves(child)) for child in self.children(node)}, prior
        )

    def log_posterior(self, evidence: Evidence, prior: Prior = None) -> Floats:
        """Log-posteriors of all nodes, in nats, (n_samples, n_nodes), in the order of ``nodes``.

        Parameters
        ----------
        evidence : Evidence
            Over the same classes, in any order.
        prior : array or mapping, default uniform
            Prior for the classes; an array follows the order in the evidence.
        """
        _require_evidence(evidence)
        ordered = evidence.columns_for(self.classes)
        p = log_prior(prior, evidence.classes, len(evidence))
        p = p[:, [index_of(label, evidence.classes) for label in self.classes]]
        logs = self._add_up(ordered - ordered.max(axis=1, keepdims=True) + p)
        return logs - logs[:, :1]

    def posterior(self, evidence: Evidence, prior: Prior = None) -> Floats:
        """Posterior probabilities of all nodes, as :meth:`log_posterior`.

        Examples
        --------
        >>> hierarchy = Hierarchy({"mammal": ["cat", "dog"], "wren": "wren"})
        >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "wren"])
        >>> dict(zip(hierarchy.nodes, hierarchy.posterior(evidence)[0].round(2).tolist()))
        {'all': 1.0, 'mammal': 0.9, 'cat': 0.6, 'dog': 0.3, 'wren': 0.1}
        """
        return np.asarray(np.exp(self.log_posterior(evidence, prior)))

    def decide(
        self,
        evidence: Evidence,
        prior: Prior = None,
        *,
        confidence: float | None = None,
        vague_costs: float | Mapping[Hashable, float] | None = None,
    ) -> NDArray[Any]:
        r"""The most specific answer that the evidence supports: a class, or a node above it.

        The deepest node with a posterior of at least ``confidence``. If the evidence is calibrated
        and the prior is the class mix, at least this share of the answers is correct, on average
        and among the samples with the same answer.

        With ``vague_costs``, instead, the answer with the lowest expected cost: a wrong answer
        costs 1, and a correct one :math:`v_A`, since the node A says less than a class. This is the
        node with the largest :math:`P(A | x) (1 - v_A)`. Ties go to the deepest node, then to the
        first.

        See Deng, Krause, Berg and Fei-Fei (2012), Hedging your bets: optimizing
        accuracy-specificity trade-offs in large scale visual recognition.

        Parameters
        ----------
        evidence, prior
            As for :meth:`log_posterior`.
        confidence : float, default 0.95
            Above one half, so that there is one answer. Not together with ``vague_costs``.
        vague_costs : float or mapping, optional
            From 0 to 1. A number c is the cost of the root; a node with m out of D classes then
            costs :math:`c \log m / \log D`. A mapping gives the cost of each inner node.

        Examples
        --------
        >>> hierarchy = Hierarchy({"mammal": ["cat", "dog"], "wren": "wren"})
        >>> likelihoods = [[0.97, 0.02, 0.01], [0.6, 0.38, 0.02], [0.5, 0.2, 0.3]]
        >>> evidence = Evidence.from_likelihoods(likelihoods, classes=["cat", "dog", "wren"])
        >>> hierarchy.decide(evidence).tolist()
        ['cat', 'mammal', 'all']
        >>> hierarchy.decide(evidence, vague_costs={"mammal": 0.1, "all": 0.4}).tolist()
        ['cat', 'mammal', 'mammal']
        """
        if confidence is not None and vague_costs is not None:
            raise InputError(
                "confidence and vague_costs must not come together; got both. Leave one out."
            )
        p = self.posterior(evidence, prior)
        if vague_costs is None:
            least = require_fraction(0.95 if confidence is None else confidence, "confidence")
            if least <= 0.5:
                raise InputError(
                    f"confidence must be above 0.5, since two classes may have half the "
                    f"probability each; got {least:g}. Give 0.95, for instance."
                )
            accepted = p >= least * (1 - _ROUNDING)
        else:
            gain = p * (1 - self._read_vague_costs(vague_costs))
            accepted = gain >= gain.max(axis=1, keepdims=True) * (1 - _ROUNDING)
        best = np.argmax(np.where(accepted, self._depths, -1), axis=1)
        return self._node_array[best]

    def enclose(self, sets: PredictionSets) -> NDArray[Any]:
        """The lowest node that holds each prediction set; it is correct whenever the set is.

        Examples
        --------
        >>> hierarchy = Hierarchy({"mammal": ["cat", "dog"], "wren": "wren"})
        >>> evidence = Evidence.from_likelihoods([[6, 3, 0.1]], classes=["cat", "dog", "wren"])
        >>> hierarchy.enclose(evidence.prediction_set(0.1))
        array(['mammal'], dtype='<U6')
        """
        if not isinstance(sets, PredictionSets):
            raise InputError(
                f"sets must be from Evidence.prediction_set or Evidence.confidence_set; got "
                f"{type(sets).__name__}. Call one of them first."
            )
        if set(sets.classes) != set(self.classes):
            raise InputError(
                f"sets must be over the classes {quote_each(self.classes)}; got "
                f"{quote_each(sets.classes)}. Use a tree over the classes of the evidence."
            )
        members = sets.members[:, [sets.classes.index(label) for label in self.classes]]
        outside = members.astype(float) @ ~self._members.T
        best = np.argmax(np.where(outside == 0, self._depths, -1), axis=1)
        return self._node_array[best]

    def contains(self, answers: ArrayLike, y_true: ArrayLike) -> NDArray[np.bool_]:
        """Whether each answer, a node or a class, includes the true class.

        Examples
        --------
        >>> hierarchy = Hierarchy({"mammal": ["cat", "dog"], "wren": "wren"})
        >>> hierarchy.contains(["cat", "mammal", "mammal"], ["cat", "cat", "wren"])
        array([ True,  True, False])
        """
        at = encode_labels(read_labels(answers, name="answers"), self.nodes, "answers")
        codes = encode_labels(read_labels(y_true, len(at)), self.classes)
        return self._members[at, codes]

    def information(self, answers: ArrayLike, prior: Prior = None, unit: Unit = "bit") -> Floats:
        r"""Information in each answer if it is correct: :math:`-\log P(A)` under the prior.

        Zero for the root, :math:`\log D` for a class under the uniform prior.

        Parameters
        ----------
        answers
            As for :meth:`contains`.
        prior : array of shape (n_classes,) or mapping, default uniform
            An array follows the order in ``classes``.
        unit : {"nat", "bit", "ban", "deciban"}, default "bit"

        Examples
        --------
        >>> hierarchy = Hierarchy({"mammal": ["cat", "dog"], "bird": ["owl", "wren"]})
        >>> hierarchy.information(["owl", "bird", "all"])
        array([2., 1., 0.])
        """
        at = encode_labels(read_labels(answers, name="answers"), self.nodes, "answers")
        logs = self._add_up(log_prior(prior, self.classes))[0]
        return np.asarray(from_nats(logs[0] - logs, unit))[at]

    def _find(self, node: Hashable) -> int:
        if isinstance(node, Hashable) and node in self._place:
            return self._place[node]
        raise UnknownClassError(
            f"node must be one of {quote_each(self.nodes)}; got {quote(node)}. Check its spelling.",
            label=node,
            classes=self.nodes,
        )

    def _add_up(self, logs: Floats) -> Floats:
        """Sum over the classes of each node, on logarithms."""
        found = np.empty((len(logs), len(self._parents)))
        found[:, list(self._positions[0])] = logs
        for k, below in reversed(list(enumerate(self._children))):
            if below:
                found[:, k] = np.logaddexp.reduce(found[:, list(below)], axis=1)
        return found

    def _read_vague_costs(self, costs: Any) -> Floats:
        """The cost of each node if it is correct."""
        if isinstance(costs, Mapping):
            unknown = [node for node in costs if node not in self.inner_nodes]
            missing = [node for node in self.inner_nodes if node not in costs]
            if unknown or missing:
                what = f"lacks {quote_each(missing)}" if missing else f"has {quote_each(unknown)}"
                raise InputError(
                    f"vague_costs must name every inner node and no other; it {what}. Give each of "
                    f"{quote_each(self.inner_nodes)} a cost."
                )
            values = [require_number(costs.get(node, 0.0), "vague_costs") for node in self.nodes]
        else:
            factor, D = require_number(costs, "vague_costs"), len(self.classes)
            values = [factor * np.log(len(at)) / np.log(D) for at in self._positions]
        found = np.array(values)
        if found.min() < 0 or found.max() > 1:
            raise InputError(
                f"vague_costs must lie between 0, a correct class, and 1, a wrong answer; got "
                f"{found[(found < 0) | (found > 1)][0]:g}. Divide by the cost of a wrong answer."
            )
        return found

    @cached_property
    def _node_array(self) -> NDArray[Any]:
        """Names of the nodes; as objects if long, or each answer would take the longest's room."""
        names = label_array(self.nodes)
        long = names.dtype.kind == "U" and names.dtype.itemsize > np.dtype(f"U{_LONG}").itemsize
        return names.astype(object) if long else names

    @cached_property
    def _place(self) -> dict[Hashable, int]:
        return {name: k for k, name in enumerate(self.nodes)}

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        below: list[list[int]] = [[] for _ in self._parents]
        for k, above in enumerate(self._parents[1:], 1):
            below[above].append(k)
        return tuple(map(tuple, below))

    @cached_property
    def _positions(self) -> tuple[tuple[int, ...], ...]:
        """Positions of each node's classes among all nodes."""
        found: list[tuple[int, ...]] = [()] * len(self._parents)
        for k in reversed(range(len(found))):
            found[k] = tuple(leaf for child in self._children[k] for leaf in found[child]) or (k,)
        return tuple(found)

    @cached_property
    def _depths(self) -> NDArray[np.intp]:
        depths = np.zeros(len(self._parents), dtype=np.intp)
        for k, above in enumerate(self._parents[1:], 1):
            depths[k] = depths[above] + 1
        return depths

    @cached_property
    def _members(self) -> NDArray[np.bool_]:
        """Whether each class is below each node."""
        return np.array([np.isin(self._positions[0], at) for at in self._positions])


def _require_evidence(evidence: Any) -> None:
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"evidence must be Evidence, which names its classes; got {type(evidence).__name__}. "
            f"Write Evidence(log_likelihoods, classes)."
        )
