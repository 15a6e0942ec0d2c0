"""Orthonormal bases of the simplex, as contrast matrices and as bifurcation trees."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.arrays import Floats, column_names, freeze, require_finite, to_numpy
from deciban._validation.labels import as_labels, index_pair
from deciban._validation.scalars import is_whole, quote_each, require_whole
from deciban.exceptions import InputError
from deciban.simplex import _trees

_ORTHONORMAL = 1e-8  # what rounding may add up to in a contrast matrix handed in


class Basis:
    r"""An Aitchison-orthonormal basis: which groups of parts each coordinate compares.

    The coordinates of a composition are :math:`V^T \log x`; V is the ``contrast``, of shape (D, D -
    1), with orthonormal columns that sum to zero. ``classes`` name the D parts, so that the basis
    is matched with named evidence by name. Build one with :meth:`gram_schmidt`,
    :meth:`from_partition`, :meth:`from_tree`, :meth:`comparing` or :meth:`from_linkage`, or from
    any contrast matrix. It is immutable.

    See Also
    --------
    deciban.simplex.ilr : Coordinates of compositions.
    deciban.plots.BifurcationTreeDisplay : Draws the tree of a basis.

    References
    ----------
    Egozcue and Pawlowsky-Glahn (2005), Groups of parts and their balances.

    Examples
    --------
    >>> print(Basis.from_tree((("cat", "dog"), "bird")).draw())
    l2
    ├─(+) l1
    │     ├─(+) cat
    │     └─(−) dog
    └─(−) bird
    """

    contrast: Floats
    classes: tuple[Hashable, ...] | None

    def __init__(self, contrast: ArrayLike, classes: Sequence[Hashable] | None = None) -> None:
        V = np.array(to_numpy(contrast, "contrast"))
        if V.ndim != 2 or V.shape[0] < 2 or V.shape[1] != V.shape[0] - 1:
            raise InputError(
                f"contrast must have shape (D, D - 1) with D >= 2; got {V.shape}. "
                f"Put one part on each row and one coordinate in each column."
            )
        require_finite(np, V, "contrast")
        off = float(np.abs(V.T @ V - np.eye(V.shape[1])).max())
        drift = float(np.abs(V.sum(axis=0)).max())
        if off > _ORTHONORMAL or drift > _ORTHONORMAL:
            raise InputError(
                f"contrast must have orthonormal columns that sum to zero; they are off by "
                f"{max(off, drift):.2g}. Build it with Basis.from_partition or Basis.from_tree."
            )
        labels = None if classes is None else as_labels(classes, V.shape[0])
        _set(self, V + 0.0, labels)  # no -0.0: equal bases hash alike

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Basis is immutable; build a new one.")

    @classmethod
    def gram_schmidt(cls, D: int, classes: Sequence[Hashable] | None = None) -> Basis:
        """The default basis, and the paper's: coordinate i compares parts 1..i with part i + 1.

        >>> Basis.gram_schmidt(3).contrast.round(4)
        array([[ 0.7071,  0.4082],
               [-0.7071,  0.4082],
               [ 0.    , -0.8165]])
        """
        basis = _gram_schmidt(require_whole(D, "D", 2))
        return basis if classes is None else basis.align_to(as_labels(classes, D))

    @classmethod
    def from_partition(cls, signs: ArrayLike, classes: Sequence[Hashable] | None = None) -> Basis:
        r"""Balances of a sequential binary partition, named by the columns of a frame.

        One split is on each row of ``signs``, (D - 1, D): +1 for one group, -1 for the other, 0 for
        the parts outside it. One row splits all parts; every other row splits a group that some row
        left. A coordinate that compares r parts with s is :math:`\sqrt{rs / (r + s)}` times the
        difference of their mean log-parts.

        >>> Basis.from_partition([[1, 1, -1], [1, -1, 0]]).tree
        ((0, 1), 2)
        """
        if classes is None:
            classes = column_names(signs)
        S = to_numpy(signs, "signs")
        _trees.require_partition(S)
        return cls(_trees.balances(S), classes)

    @classmethod
    def from_tree(cls, tree: Any, classes: Sequence[Hashable] | None = None) -> Basis:
        """Balances of a bifurcation tree, children before parents, left before right.

        The tree is made of nested pairs of labels, the positive group on the left. ``classes`` set
        the order of the parts, by default the leaves from left to right, or 0 to D - 1 if these are
        the leaves.

        >>> Basis.from_tree((("a", "b"), "c"), classes=["c", "b", "a"]).contrast.round(4)
        array([[ 0.    , -0.8165],
               [-0.7071,  0.4082],
               [ 0.7071,  0.4082]])
        """
        leaves, splits = _trees.split_tree(tree)
        if classes is None:
            classes = leaves if set(leaves) != set(range(len(leaves))) else range(len(leaves))
        labels = as_labels(classes, len(leaves))
        order = {label: position for position, label in enumerate(labels)}
        missing = [leaf for leaf in leaves if leaf not in order]
        if missing or len(set(leaves)) != len(leaves):
            raise InputError(
                f"tree must hold each class once; got leaves {quote_each(leaves)} for classes "
                f"{quote_each(labels)}. Name every class exactly once."
            )
        signs = np.zeros((len(splits), len(leaves)))
        for row, (plus, minus) in zip(signs, splits, strict=True):
            row[[order[leaf] for leaf in plus]] = 1
            row[[order[leaf] for leaf in minus]] = -1
        return cls(_trees.balances(signs), labels)

    @classmethod
    def comparing(cls, a: Hashable, b: Hashable, classes: int | Sequence[Hashable]) -> Basis:
        """A basis whose first coordinate compares class ``a`` (positive) with class ``b``.

        The other classes follow one by one, as in the Gram-Schmidt basis. If ``classes`` is the
        number of parts, ``a`` and ``b`` are positions counted from 0.

        >>> Basis.comparing("c", "a", classes=["a", "b", "c"]).tree
        (('c', 'a'), 'b')
        """
        labels = tuple(range(classes)) if is_whole(classes) else as_labels(classes)  # type: ignore[arg-type]
        D = require_whole(len(labels), "the number of classes", 2)
        first, second = index_pair(a, b, labels)
        order = [first, second, *(i for i in range(D) if i not in (first, second))]
        V = np.empty((D, D - 1))
        V[order] = _gram_schmidt(D).contrast
        return cls(V, None if is_whole(classes) else labels)

    @classmethod
    def from_linkage(cls, linkage: ArrayLike, classes: Sequence[Hashable] | None = None) -> Basis:
        """Balances of a hierarchical clustering of the parts; coordinate i is merger i.

        ``linkage`` has shape (D - 1, 4), as :func:`scipy.cluster.hierarchy.linkage` returns it, for
        instance for the distances in :func:`deciban.simplex.variation_matrix`.

        >>> from scipy.cluster.hierarchy import linkage
        >>> Basis.from_linkage(linkage([1.0, 9.0, 8.0]), classes=["a", "b", "c"]).tree
        ('c', ('a', 'b'))
        """
        return cls(_trees.balances(_trees.signs_of_linkage(to_numpy(linkage, "linkage"))), classes)

    @property
    def n_parts(self) -> int:
        """Number of parts, D."""
        return int(self.contrast.shape[0])

    @cached_property
    def signs(self) -> Floats | None:
        """The sequential binary partition, (D - 1, D); None if the basis is not one."""
        signs = np.sign(np.where(np.abs(self.contrast) > _ORTHONORMAL, self.contrast, 0)).T
        try:
            _trees.require_partition(signs)
        except InputError:
            return None
        if not np.allclose(_trees.balances(signs), self.contrast, rtol=0, atol=_ORTHONORMAL):
            return None
        signs.flags.writeable = False
        return signs

    @property
    def tree(self) -> Any:
        """The bifurcation tree as nested pairs of class labels (positions if unnamed)."""
        return _trees.nest_groups(*self._signs_and_names())

    def draw(self) -> str:
        """The bifurcation tree as text; node ``l1`` is the first coordinate."""
        return _trees.draw_tree(*self._signs_and_names())

    def rotation_to(self, other: Basis) -> Floats:
        """The orthogonal matrix :math:`V^T V'` that takes coordinates in this basis to the other.

        For coordinates on rows: ``ilr(x, other) == ilr(x, basis) @ basis.rotation_to(other)``.
        Classes are matched by name if both bases have names.

        >>> here, there = Basis.gram_schmidt(3), Basis.comparing(2, 0, classes=3)
        >>> z = np.array([[1.0, 2.0]])
        >>> (z @ here.rotation_to(there) @ there.rotation_to(here)).round(12)
        array([[1., 2.]])
        """
        other = basis_for(other, self.n_parts)
        if self.classes is not None:
            other = other.align_to(self.classes)
        return self.contrast.T @ other.contrast

    def align_to(self, classes: Sequence[Hashable]) -> Basis:
        """The same coordinates for parts in another order; an unnamed basis takes the names.

        >>> Basis.from_tree((("a", "b"), "c")).align_to(["c", "b", "a"]).classes
        ('c', 'b', 'a')
        """
        labels = as_labels(classes)
        if self.classes == labels:
            return self
        basis_for(self, len(labels))
        if self.classes is None:
            return _set(object.__new__(Basis), self.contrast, labels)
        if set(self.classes) != set(labels):
            raise InputError(
                f"basis must be over the classes {quote_each(labels)}; got one over "
                f"{quote_each(self.classes)}. Build it with these class names."
            )
        order = [self.classes.index(label) for label in labels]
        return _set(object.__new__(Basis), self.contrast[order], labels)

    def _signs_and_names(self) -> tuple[Floats, tuple[Hashable, ...]]:
        if self.signs is None:
            raise InputError(
                "basis must be a sequential binary partition to have a tree; this one is rotated. "
                "Use Basis.from_tree or Basis.from_partition."
            )
        return self.signs, as_labels(self.classes, self.n_parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Basis):
            return NotImplemented
        return self.classes == other.classes and np.array_equal(self.contrast, other.contrast)

    def __hash__(self) -> int:
        return hash((self.classes, self.contrast.tobytes()))

    def __reduce__(self) -> tuple[type[Basis], tuple[Any, ...]]:
        return Basis, (np.asarray(self.contrast), self.classes)

    def __repr__(self) -> str:
        over = f"{self.n_parts} parts" if self.classes is None else quote_each(self.classes)
        kind = "rotated coordinate" if self.signs is None else "balance"
        return f"<Basis of {over}: {self.n_parts - 1} {kind}{'s' * (self.n_parts > 2)}>"


def _set(basis: Basis, contrast: Floats, classes: tuple[Hashable, ...] | None) -> Basis:
    object.__setattr__(basis, "contrast", freeze(contrast))
    object.__setattr__(basis, "classes", classes)
    return basis


@lru_cache(maxsize=64)
def _gram_schmidt(D: int) -> Basis:
    signs = np.tril(np.ones((D - 1, D))) - np.eye(D - 1, D, k=1)
    return Basis(_trees.balances(signs))


def basis_for(basis: Basis | None, n_parts: int) -> Basis:
    """The basis asked for, or the default one, checked against the number of parts."""
    if basis is None:
        return _gram_schmidt(n_parts)
    if not isinstance(basis, Basis):
        raise InputError(
            f"basis must be a Basis; got {type(basis).__name__}. Build one from a tree with "
            f"Basis.from_tree, or from a contrast matrix with Basis(contrast)."
        )
    if basis.n_parts != n_parts:
        raise InputError(
            f"basis must be of {n_parts} parts; got one of {basis.n_parts}. "
            f"Build it with Basis.gram_schmidt({n_parts}) or another constructor."
        )
    return basis
