"""Directives for pages: a picture of the gallery, and a view of the explorer."""

from __future__ import annotations

from html import escape
from pathlib import Path
from urllib.parse import quote

import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sphinx.util.docutils import SphinxDirective

from deciban import Evidence
from deciban.report import explorer


class Picture(SphinxDirective):
    """``{picture} ideas/plot_ilrl``: the first picture of an example, with a link to its code."""

    required_arguments = 1
    has_content = True

    def run(self):
        section, name = self.arguments[0].split("/")
        stem = f"/gallery/{section}/images/sphx_glr_{name}_001"
        caption = " ".join(self.content)
        text = (
            f"```{{image-sg}} {stem}.png\n:alt: {caption}\n"
            f":srcset: {stem}.png, {stem}_2_00x.png 2.00x\n:class: sphx-glr-single-img\n```\n\n"
            f":::{{div}} caption\n{caption} [Code](/gallery/{section}/{name}.rst)\n:::\n"
        )
        return self.parse_text_to_nodes(text)


class ExplorerView(SphinxDirective):
    """``{explorer-view} walk``: one part of the explorer in a frame, in the state that is given."""

    required_arguments = 1
    has_content = True
    option_spec = {  # noqa: RUF012  as docutils has it
        "data": lambda text: directives.choice(text, tuple(EXPLORERS)),
        "state": directives.unchanged,
        "height": directives.positive_int,
    }

    def run(self):
        data = self.options.get("data", "none")
        state = [part.partition("=") for part in self.options.get("state", "").split("&") if part]
        values = {"part": f'"{self.arguments[0]}"', **{k: v for k, _, v in state}}
        address = "&".join(f"{key}={quote(value)}" for key, value in values.items())
        page = f"{self._root()}_static/explorer-{data}.html"
        caption = " ".join(self.content)
        frame = (
            f'<iframe class="explorer-view" title="The explorer. {escape(caption)}" loading="lazy" '
            f'style="height: {self.options.get("height", 700)}px" '
            f'src="{page}#alone=true&amp;{escape(address)}"></iframe>'
            f'<p class="caption">{escape(caption)} '
            f'<a href="{page}#{escape(address)}">The whole explorer</a></p>'
        )
        return [nodes.raw("", frame, format="html")]

    def _root(self):
        return "../" * self.env.docname.count("/")


def _naive_bayes():
    X, y = load_breast_cancer(return_X_y=True)
    log_p = cross_val_predict(GaussianNB(), X, y, cv=5, method="predict_log_proba")
    classes = np.array(["malignant", "benign"])
    floored = np.maximum(log_p, -60)  # it goes down to e^-600, where axes would show nothing else
    return Evidence.from_log_posteriors(floored, np.bincount(y) / len(y), classes), classes[y]


def _digits():
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, [1, 8, 9])
    X, y = X[chosen], y[chosen]
    log_p = cross_val_predict(GaussianNB(var_smoothing=0.1), X, y, cv=5, method="predict_log_proba")
    return Evidence.from_log_posteriors(log_p, None, ["1", "8", "9"]), y.astype(str)


EXPLORERS = {"none": lambda: (), "naive-bayes": _naive_bayes, "digits": _digits}


def write_explorers(app):
    """Write the pages of the frames beside the static files."""
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    for name, load in EXPLORERS.items():
        (folder / f"explorer-{name}.html").write_text(explorer(*load()), encoding="utf-8")


def setup(app):
    app.add_directive("picture", Picture)
    app.add_directive("explorer-view", ExplorerView)
    app.connect("builder-inited", write_explorers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
