"""Figures 1 to 5 of the paper, which need formulas but no data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from deciban.evidence import Evidence
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis, closure, ilr, ilr_inv
from reproduction.drawing import COLORS, DASHES, MARKERS, REFERENCE, new_figure
from reproduction.experiment import Arrays, Experiment, Figure, Findings, Paragraph, Step, Table
from reproduction.intervals import exact

_PAIRS = {"12": (0, 1), "23": (1, 2), "13": (0, 2)}  # in the order of the paper's captions
_HYPOTHESES = ("H1", "H2", "H3")


class _ClosedForm(Experiment):
    """An experiment whose arrays follow from formulas."""

    settings: ClassVar[Mapping[str, Any]]

    @abstractmethod
    def _arrays(self) -> Arrays: ...

    @abstractmethod
    def _findings(self, found: Arrays) -> Findings: ...

    def steps(self, quick: bool) -> Sequence[Step]:
        """A single step."""
        return [Step("closed-form", self.settings, lambda path, earlier: self._arrays(), 0.1)]

    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """Text and figures from the arrays of the step."""
        return self._findings(results["closed-form"])


def _difference(a: Any, b: Any) -> np.ndarray:
    return np.abs(np.asarray(a) - np.asarray(b)).max()


def _format_error(value: Any) -> str:
    """A rounding error as text."""
    return f"{float(value):.0e}" if value else "exactly 0"


class Densities(_ClosedForm):
    """Gaussian densities of calibrated LLRs at three equal-error rates."""

    name = "densities"
    title = "Densities of calibrated LLRs"
    paper = "Figure 1"
    settings: ClassVar[Mapping[str, Any]] = {
        "edition": 1, "eers": [0.01, 0.1, 0.5], "reach": 25.0, "points": 501,
    }  # fmt: skip

    def _arrays(self) -> Arrays:
        eers = np.array(self.settings["eers"])
        l = np.linspace(-1, 1, self.settings["points"]) * self.settings["reach"]
        # At 0.5 the distribution is a point, which CalibratedGaussian does not represent.
        families = [CalibratedGaussian.from_eers([rate]) for rate in eers[:2]]
        d = np.array([family.divergences[0, 1] for family in families])
        under = [[family.llr_distribution(0, 1, given=k) for k in (0, 1)] for family in families]
        return {
            "eers": eers,
            "divergences": np.append(d, 2 * ndtri(eers[2]) ** 2),
            "means": np.array([pair[0].mean() for pair in under]),
            "llrs": l,
            "densities": np.array([[given.pdf(l) for given in pair] for pair in under]),
            "areas": np.sqrt(4 * np.pi * d) / (2 * d * np.sqrt(2 * np.pi)),
        }

    def _findings(self, found: Arrays) -> Findings:
        d, areas = found["divergences"], found["areas"]
        caption = (
            "Densities of calibrated Gaussian LLRs when H1 is true (solid) and when H2 is true "
            "(dashed). LLRs in the shaded tails are misleading; the area of each tail is the EER. "
            f"The divergence is {d[0]:.3g} nat at an EER of 0.01, {d[1]:.3g} nat at 0.1 and "
            f"{d[2]:.3g} at 0.5, where every LLR is 0: the arrow marks a point mass."
        )
        erratum = (
            "**Erratum.** The source of the paper's figure divides by `2d√(2π)`. The normalizing "
            "constant of `N(d, 2d)` is `√(4πd)`, which is used here. The paper's curves have the "
            f"right position and width, but the area below them is {areas[0]:.3f} at an EER of "
            f"0.01 and {areas[1]:.3f} at 0.1 instead of 1."
        )
        at = ("eer001", "eer01", "eer05")
        measured = [exact(f"densities.{at[k]}.divergence", d[k]) for k in range(3)]
        measured += [exact(f"densities.{at[k]}.mean", found["means"][k]) for k in range(2)]
        figure = Figure("densities", caption, partial(_draw_densities, found), self.paper)
        return Findings([Paragraph(_ABOUT_DENSITIES), figure, Paragraph(erratum)], measured)


_ABOUT_DENSITIES = (
    "A log-likelihood ratio (LLR) says how strongly an observation supports hypothesis H1 over H2; "
    "it is calibrated if the LLR of the LLR is the LLR. Calibrated Gaussian LLRs are `N(d, 2d)` "
    "under H1 and `N(−d, 2d)` under H2, with a divergence of `d = 2 Φ⁻¹(EER)²` nats: the "
    "equal-error rate (EER) determines both densities."
)


def _draw_densities(found: Arrays) -> Any:
    fig = new_figure(7.4, 6.4)
    axes = fig.subplots(3, 1, sharex=True)
    l, top = found["llrs"], 1.15 * found["densities"].max()
    for ax, pair in zip(axes, found["densities"], strict=False):
        for k, density in enumerate(pair):
            name, bad = f"under $H_{k + 1}$", l <= 0 if k == 0 else l >= 0
            ax.plot(l, density, color=COLORS[k], ls=DASHES[k], label=name)
            ax.fill_between(l[bad], density[bad], color=COLORS[k], alpha=0.35, lw=0)
        ax.set(ylim=(0, top), ylabel="density per nat")
    look = {"arrowstyle": "-|>", "color": "k", "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
    axes[2].annotate("", (0, 1), (0, 0), arrowprops=look)
    axes[2].plot([], [], color="k", label="under both: a point mass")
    axes[2].set(ylim=(0, 1.2), yticks=[0, 0.5, 1], ylabel="probability", xlabel="LLR (nat)")
    for ax, eer, d in zip(axes, found["eers"], found["divergences"], strict=True):
        ax.axvline(0, color="0.8", lw=0.8, zorder=0)
        shown = " (each shaded tail)" if d else ""
        ax.set_title(f"EER {eer:g}{shown}, divergence {d:.3g} nat", fontsize="medium")
        ax.legend(loc="upper left", fontsize="small")
    ax.set_xlim(l[0], l[-1])
    fig.align_ylabels(axes)
    return fig


class Simplex(_ClosedForm):
    """Proportional likelihood functions are the same evidence."""

    name = "simplex"
    title = "The simplex and likelihood lines"
    paper = "Figure 2"
    settings: ClassVar[Mapping[str, Any]] = {
        "edition": 1, "factors": [0.01, 0.5, 3.0, 1000.0],
        "likelihoods": [[0.4, 1.0, 0.6], [0.7, 0.2, 1.1], [1.1, 0.9, 0.1]],
    }  # fmt: skip

    def _arrays(self) -> Arrays:
        w = np.array(self.settings["likelihoods"])
        scaled = np.array(self.settings["factors"])[:, None, None] * w
        return {
            "likelihoods": w,
            "closed": np.asarray(closure(w)),
            "difference": _difference(closure(scaled), closure(w)),
        }

    def _findings(self, found: Arrays) -> Findings:
        (low, *_, high), moved = self.settings["factors"], _format_error(found["difference"])
        point = ", ".join(f"{part:.2f}" for part in found["closed"][0])
        text = (
            "A likelihood function is a vector `w` of positive numbers, one for each hypothesis. "
            "Bayes' rule uses only their ratios, so all vectors on a ray from the origin are the "
            "same evidence. The closure `C(w) = w / Σw` represents them: it is the point where the "
            "ray meets the simplex, the triangle of vectors that sum to one. Scaling the three "
            f"vectors below by factors from {low:g} to {high:g} moves their closures by at most "
            f"{moved}."
        )
        caption = (
            "Three rays of likelihood functions of three hypotheses (dashed), and the simplex S³ "
            "(gray, with corners at 1 on each axis). All points of a ray are the same evidence, "
            "represented by the marker on the triangle. For the point w it is "
            f"C(w) = ({point}). The axes are likelihoods, without unit."
        )
        figure = Figure("simplex", caption, partial(_draw_simplex, found), self.paper)
        return Findings([Paragraph(text), figure])


def _draw_simplex(found: Arrays) -> Any:
    fig = new_figure(7.4, 5.6)
    ax = fig.add_subplot(projection="3d", computed_zorder=False)
    corners = np.eye(3)
    ax.plot_trisurf(*corners.T, color=REFERENCE, alpha=0.25, shade=False, zorder=2)
    ax.plot(*corners[[0, 1, 2, 0]].T, color=REFERENCE, lw=1.2, zorder=2)
    ax.text(0, 0.12, 0.92, "$S^3$", color=REFERENCE, fontsize=12)
    for k, (x, y, z) in enumerate(corners):
        ax.quiver(0, 0, 0, 1.5 * x, 1.5 * y, 1.5 * z, color="k", arrow_length_ratio=0.05, zorder=1)
        ax.text(1.6 * x, 1.6 * y, 1.6 * z, f"$w_{k + 1}$", fontsize=12, ha="center", va="center")
        ax.text(x, y - 0.08 * (1 - y), z - 0.08 * y, "1", ha="center", va="center")
    for k, (w, p) in enumerate(zip(found["likelihoods"], found["closed"], strict=True)):
        ray = {"color": COLORS[k], "ls": "--"}
        ax.plot(*np.stack([0 * p, p]).T, lw=1.2, alpha=0.5, zorder=3, **ray)
        ax.plot(*np.stack([p, 1.2 * w]).T, lw=1.6, zorder=4, **ray)
        for name, at in {"$C(w)$": p, "$w$": w}.items() if k == 0 else [("", p)]:
            ax.plot(*at[:, None], MARKERS[k], color=COLORS[k], ms=6, zorder=5)
            ax.text(at[0], at[1] + 0.05, at[2] - 0.06, name, color=COLORS[k], fontsize=12)
    ax.set(xlim=(0, 1.3), ylim=(0, 1.3), zlim=(0.12, 1.42))  # centered
    ax.set_box_aspect((1, 1, 1), zoom=0.95)
    ax.view_init(elev=22, azim=28)
    ax.set_axis_off()
    return fig


class Tree(_ClosedForm):
    """The Gram-Schmidt basis as a bifurcation tree."""

    name = "tree"
    title = "The bifurcation tree of the ILR basis"
    paper = "Figure 3"
    settings: ClassVar[Mapping[str, Any]] = {
        "edition": 1, "example": [0.25, 0.4, 0.05, 0.2, 0.1], "draws": 1000, "seed": 0,
    }  # fmt: skip

    def _arrays(self) -> Arrays:
        example = np.array(self.settings["example"])
        rng = np.random.default_rng(self.settings["seed"])
        p = rng.dirichlet(np.ones(len(example)), self.settings["draws"])
        i = np.arange(1, len(example))  # the formula with products and powers, as it stands
        formula = np.log(p.cumprod(axis=1)[:, :-1] / p[:, 1:] ** i) / np.sqrt(i * (i + 1))
        return {"example": example, "difference": _difference(ilr(p), formula)}

    def _findings(self, found: Arrays) -> Findings:
        D = len(found["example"])
        text = (
            "The isometric log-ratio (ILR) turns D probabilities into D − 1 coordinates in which "
            "Bayes' rule is a sum. In the paper's basis, coordinate i compares the first i "
            "probabilities with the next one: `p̃_i = log(p_1 ⋯ p_i / p_(i+1)^i) / √(i(i+1))`. The "
            f"largest difference between this formula and `deciban.simplex.ilr` on "
            f"{self.settings['draws']} random vectors of {D} probabilities is "
            f"{_format_error(found['difference'])} nat."
        )
        caption = (
            f"The basis of {D} hypotheses as a tree. Each node is a coordinate (l here, p̃ in the "
            "paper), which compares the hypotheses on its + branch with the one on its − branch. "
            "Read it from the right: l₁ splits two hypotheses, and each further node adds the "
            "next. The nodes show the coordinates, in nats, of the probabilities at the leaves."
        )
        figure = Figure("tree", caption, partial(_draw_tree, found), self.paper)
        return Findings([Paragraph(text), figure])


def _draw_tree(found: Arrays) -> Any:
    from deciban.plots import BifurcationTreeDisplay

    labels = [f"$p_{k + 1}$ = {part:g}" for k, part in enumerate(found["example"])]
    display = BifurcationTreeDisplay(Basis.gram_schmidt(len(labels), labels))
    display.plot((fig := new_figure(7.4, 4.2)).subplots())
    values = {f"$l_{{{k + 1}}}$": value for k, value in enumerate(ilr(found["example"]))}
    for text in display.texts_:
        name = text.get_text().replace(r"\$", "$")  # these labels are formulas
        value = f" = {values[name]:.1f}".replace("-", "−") if name in values else ""
        text.set_text(name + value)
    display.ax_.set_xlabel("coordinates (nat), + over −")
    return fig


class Bayes(_ClosedForm):
    """Bayes' rule as a translation in the ILR plane."""

    name = "bayes"
    title = "Bayes' rule as a translation"
    paper = "Figure 4"
    settings: ClassVar[Mapping[str, Any]] = {
        "edition": 1, "prior": [0.25, 0.75], "evidence": [-0.5, -0.55], "draws": 1000, "seed": 0,
    }  # fmt: skip

    def _arrays(self) -> Arrays:
        prior, evidence = (np.array(self.settings[name]) for name in ("prior", "evidence"))
        rule, total = _both_ways(prior, evidence)
        rng = np.random.default_rng(self.settings["seed"])
        many = rng.normal(scale=3, size=(2, self.settings["draws"], 2))
        return {
            "ilrs": np.stack([prior, evidence, ilr(rule), prior + evidence]),
            "probabilities": np.stack([ilr_inv(prior), ilr_inv(evidence), rule, total]),
            "difference": _difference(rule, total),
            "of_many": _difference(*_both_ways(*many)),
        }

    def _findings(self, found: Arrays) -> Findings:
        names = ("prior", "likelihood, closed", "posterior, Bayes' rule", "posterior, vector sum")
        rows = [
            [name, *(f"{v:.4f}" for v in p), *(f"{v:.2f}".replace("-", "−") for v in l)]
            for name, p, l in zip(names, found["probabilities"], found["ilrs"], strict=True)
        ]
        header = ["", *_HYPOTHESES, "ILR 1 (nat)", "ILR 2 (nat)"]
        table = Table("Probabilities and ILR coordinates of the figure.", header, rows)
        text = (
            "Bayes' rule multiplies the prior by the likelihoods and divides by the sum. In ILR "
            "coordinates it adds the evidence to the prior. The posterior probabilities of the two "
            f"computations differ by {_format_error(found['difference'])} in the figure, and by at "
            f"most {_format_error(found['of_many'])} over {self.settings['draws']} random updates."
        )
        before, after = (_HYPOTHESES[int(found["probabilities"][k].argmax())] for k in (0, 2))
        caption = (
            "Bayes' rule in the ILR plane of three hypotheses, in nats. The arrow from the origin "
            "is the evidence; the same arrow leads from the prior to the posterior. Colored arrows "
            "point in favor of each hypothesis, and dashed rays separate the regions where each is "
            f"the most probable: {before} before the evidence, {after} after it."
        )
        figure = Figure("bayes", caption, partial(_draw_update, found), self.paper)
        return Findings([Paragraph(text), figure, table])


def _both_ways(prior: np.ndarray, evidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posterior probabilities by Bayes' rule on the simplex, and by the sum of ILRs."""
    joint = np.asarray(ilr_inv(prior)) * np.asarray(ilr_inv(evidence))
    return joint / joint.sum(axis=-1, keepdims=True), np.asarray(ilr_inv(prior + evidence))


def _draw_update(found: Arrays) -> Any:
    from deciban.plots import ILRDisplay

    fig = new_figure(6.6, 6.2)
    ax = fig.subplots()
    evidence = Evidence.from_ilr(found["ilrs"][1:2], classes=_HYPOTHESES)
    display = ILRDisplay(evidence)
    display.plot_update(found["probabilities"][0], {"evidence": evidence}, ax=ax)
    look = {"arrowstyle": "-|>", "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", found["ilrs"][1], (0, 0), arrowprops=look | {"color": "k"})
    ax.annotate("evidence", found["ilrs"][1], (-4, -4), textcoords="offset points",
                weight="bold", fontsize="small", ha="right", va="top")  # fmt: skip
    for text in filter(lambda text: text.get_text(), ax.texts):
        text.set_bbox({"fc": "w", "ec": "none", "pad": 0.5})  # drawn over the rays
    for line in display.boundaries_:
        line.remove()  # drawn twice each, so that dashes fill each other's gaps
    for k, v in enumerate(display.basis.contrast):
        u = v / np.linalg.norm(v)
        ax.plot(*np.stack([0 * u, -3 * u]).T, color=REFERENCE, ls="--", lw=1.2, zorder=0)
        ax.annotate("", 0.9 * u, 0.55 * u, arrowprops=look | {"color": COLORS[k], "lw": 2.4})
    return fig


class Families(_ClosedForm):
    """Calibrated Gaussian families of three hypotheses."""

    name = "families"
    title = "Calibrated Gaussian families of three hypotheses"
    paper = "Figure 5"
    settings: ClassVar[Mapping[str, Any]] = {
        "edition": 1, "divergences": {"a": [6, 6, 6], "b": [5, 7, 4], "c": [8, 2, 4]},
    }  # fmt: skip

    def _arrays(self) -> Arrays:
        families = [  # from_divergences takes the pairs row by row
            CalibratedGaussian.from_divergences([d12, d13, d23], classes=_HYPOTHESES)
            for d12, d23, d13 in self.settings["divergences"].values()
        ]
        return {
            "covariances": np.stack([family.covariance for family in families]),
            "divergences": np.stack([family.divergences for family in families]),
            "eers": np.stack([family.eers for family in families]),
        }

    def _findings(self, found: Arrays) -> Findings:
        eers, d = 100 * found["eers"], found["divergences"]
        at = {f"families.{r}.{p}": (k, *_PAIRS[p]) for k, r in enumerate("abc") for p in _PAIRS}
        measured = [exact(f"{key}.eer", eers[place]) for key, place in at.items()]
        measured += [exact(f"{key}.divergence", d[place]) for key, place in at.items()]
        text = (
            "Calibrated evidence that is Gaussian in ILR coordinates has the same covariance under "
            "every hypothesis. The divergences between all pairs of hypotheses determine it, and "
            "it determines the means. The families are constructed from the paper's divergences; "
            "the divergences and equal-error rates (EERs) above each row are computed from the "
            "covariance."
        )
        caption = (
            "Contours that contain 50 % and 90 % of the evidence under each hypothesis, in the ILR "
            "plane in nats (left) and as probabilities under a uniform prior (right). Gray lines: "
            "where the most likely hypothesis changes. With equal divergences the contours are "
            "circles in the plane (a). Hypotheses that are hard to tell apart, such as H2 and H3 "
            f"in (c) with a divergence of {d[2, 1, 2]:.3g} nat, crowd along the line between them."
        )
        figure = Figure("families", caption, partial(_draw_families, found), self.paper)
        return Findings([Paragraph(text), figure], measured)


def _describe_pairs(found: Arrays, k: int) -> str:
    return "; ".join(
        f"H{pair[0]}–H{pair[1]} {100 * found['eers'][k][at]:.2f} %, "
        f"{found['divergences'][k][at]:.3g} nat"
        for pair, at in _PAIRS.items()
    )


def _draw_families(found: Arrays) -> Any:
    import mpltern  # noqa: F401 (it registers ternary axes)

    from deciban.plots import ILRDisplay, TernaryDisplay

    fig = new_figure(7.4, 11.4)
    planes = []
    for k, (row, part) in enumerate(zip("abc", fig.subfigures(3, 1, hspace=0.06), strict=True)):
        part.suptitle(
            f"({row})  EER and divergence: {_describe_pairs(found, k)}", fontsize="medium"
        )
        family = CalibratedGaussian(found["covariances"][k], classes=_HYPOTHESES)
        planes.append(part.add_subplot(1, 2, 1))
        ILRDisplay.from_family(family, n_samples=0, ax=planes[-1])
        right = part.add_subplot(1, 2, 2, projection="ternary")
        TernaryDisplay.from_family(family, n_samples=0, ax=right)
    reach = max(ax.get_xlim()[1] for ax in planes)
    for ax in planes:
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach))  # one scale for all rows
    return fig
