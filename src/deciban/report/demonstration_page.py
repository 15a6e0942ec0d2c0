"""The page of the demonstration: tables of text and of HTML, and what stands between them."""

from __future__ import annotations

import html
import io
from typing import Any

Rows = list[dict[str, str]]


def text_table(rows: Rows) -> str:
    """Rows as text, in columns."""
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
    lines = ["  ".join(key.ljust(width) for key, width in widths.items())]
    lines += ["  ".join(row[key].ljust(width) for key, width in widths.items()) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def html_table(rows: Rows) -> str:
    """Rows as a table that scrolls within itself."""
    head = "".join(f"<th scope='col'>{html.escape(key)}</th>" for key in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(value)}</td>" for value in row.values()) + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div class='wide'>{table}</div>"


def as_svg(fig: Any) -> str:
    """A figure to stand in a page."""
    svg = io.StringIO()
    fig.savefig(svg, format="svg")
    return svg.getvalue()[svg.getvalue().index("<svg") :]


def as_png(fig: Any) -> bytes:
    """A figure as a file of its own."""
    png = io.BytesIO()
    fig.savefig(png, format="png", dpi=110)
    return png.getvalue()


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>deciban: a demonstration</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; background: #fff }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }}
td {{ min-width: 4rem }}
th, td {{ text-align: left; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid #ccc }}
svg {{ width: 100%; height: auto; min-width: 52rem; background: #fff }}
</style></head><body>
<h1>deciban: a demonstration</h1>
<p>A recording is in Czech, Polish or Slovak. The prior probabilities are {prior}. To confuse Czech
with Slovak costs 1, to confuse either with Polish costs 4.</p>
<h2>Evidence adds up</h2>
{update}
<h2>What perfectly calibrated recognisers look like</h2>
<p>The divergences between the languages fix everything else: the covariance, the means, the error
rates. The expected cross-entropy over all three is {entropy}, which is what the prior alone leaves
when each language is as likely.</p>
{family}
<div class="wide" role="img" aria-label="Three panels: the walk from prior to posterior in the plane
of isometric log-ratios; samples and contours of the calibrated family in that plane; the same on
the ternary simplex.">{figure}</div>
<h2>Evidence learnt from data</h2>
<p>Compositional discriminant analysis learns an invertible map whose first dimensions are
calibrated evidence. Two moons of 10,000 points, judged on 20,000 others:</p>
{moons}
<p>Handwritten digits, images of 8 x 8 pixels, learnt from one half (898 images), judged on the
other; the linear and the quadratic analysis with a shrinkage of 0.1:</p>
{digits}
<div class="wide" role="img" aria-label="Left: the evidence that the discriminant analysis gives for
one moon against the other, as a map with the points. Right: for each pair of digits the cost of the
evidence that tells them apart, of images that were held out.">{learnt}</div>
<p>All there is to say of the compositional analysis of digits is in its <a href="report.html">full
report</a>: what <code>deciban evaluate --report</code> writes of any scores.</p>
<p>Made by <code>deciban demo</code> with seed {seed}.</p>
</body></html>
"""
