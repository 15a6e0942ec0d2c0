"""One HTML file with modules, styles, samples and provenance, which loads nothing."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import deciban
from deciban._markup import clean_text, number, percent, shorten
from deciban.exceptions import InputError, MissingExtraError
from deciban.metrics.labelled import Labelled

_LIBRARIES = ("d3", "plot")
_MAX_NUMBERS = 120_000  # of evidence in a page; more samples are thinned
_MAX_EVIDENCE = 1e30  # nats that single precision holds and a browser draws
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|async function|function\*|class) (\w+))", re.M)


def read_web(name: str) -> str:
    """A file of the front end."""
    return files("deciban.report").joinpath("web", *name.split("/")).read_text("utf-8")


def bundle(entry: str) -> str:
    """A module and all that it imports as one script; each becomes a function that runs once."""
    found: dict[str, str] = {}

    def add(name: str) -> None:
        if name in found:
            return
        source = read_web(f"{name}.js")
        for _, other in _IMPORT.findall(source):
            add(other)
        body = _IMPORT.sub(lambda m: f"const {{{m[1].replace(' as ', ': ')}}} = ${m[2]};\n", source)
        names = _EXPORT.findall(body)
        body = _EXPORT.sub("", body)
        found[name] = f"const ${name} = (() => {{\n{body}return {{ {', '.join(names)} }};\n}})();\n"

    add(entry)
    return "".join(found.values())


def pack(array: NDArray[Any]) -> dict[str, str]:
    """An array as text for samples.js; the first bytes of all numbers come first, and so on.

    Bytes of exponents are much alike and compress well.
    """
    flat = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(-1)
    planes = flat.view(np.uint8).reshape(len(flat), array.itemsize).T
    data = zlib.compress(planes.tobytes(), 6)
    return {"type": array.dtype.name, "data": b64encode(data).decode("ascii")}


def write_page(entry: str, data: Mapping[str, Any], *, title: str, **context: Any) -> str:
    """A page from the template and the module with this name, which reads ``data``.

    Numbers that JSON lacks become {"$number": "Infinity"}. No other script may run in the page.
    """
    scripts = [*(read_web(f"vendor/{name}.js") for name in _LIBRARIES), bundle(entry)]
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: blob:; "
        "base-uri 'none'; form-action 'none'; "
        f"script-src {' '.join(map(_hash, scripts))}"
    )
    page = load_templates().get_template(f"{entry}.html")
    return str(
        page.render(
            scripts=scripts, policy=policy, version=deciban.__version__, title=title,
            style=read_web("style.css"), data=_as_json(data), **context,
        )
    )  # fmt: skip


@cache
def load_templates() -> Any:
    """The environment that renders pages."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtraError(
            "jinja2 must be installed to write pages. Run: pip install 'deciban[report]'",
            extra="report",
        ) from error
    from markupsafe import Markup

    def finalize(value: object) -> object:  # no text of users may change the page around it
        return value if isinstance(value, Markup) else clean_text(value)

    env = Environment(
        loader=FunctionLoader(read_web), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=finalize,
    )  # fmt: skip
    env.filters |= {"number": number, "percent": percent, "shorten": shorten}
    return env


def _hash(script: str) -> str:
    digest = hashlib.sha256(f"\n{script}".encode()).digest()
    return f"'sha256-{b64encode(digest).decode('ascii')}'"


def _as_json(data: Mapping[str, Any]) -> Any:
    """JSON that may stand in a script element, with names for numbers that JSON lacks."""
    from markupsafe import Markup

    text = json.dumps(_plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {clean_text(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"$number": str(value).replace("inf", "Infinity").replace("nan", "NaN")}
    return value if value is None or isinstance(value, bool | int | float) else clean_text(value)


# --- samples and provenance ---------------------------------------------------------------


def thin_samples(data: Labelled, n_systems: int = 1) -> NDArray[np.intp]:
    """Samples that the figures show: all, or so many of each class that the page stays small."""
    n, D = len(data.codes), data.evidence.n_classes
    most = max(200, _MAX_NUMBERS // (n_systems * (1 if D == 2 else D)))
    if n <= most:
        return np.arange(n)
    # Rare classes are kept whole; the others share what is left.
    quota = np.zeros(D, dtype=int)
    left = most
    order = np.argsort(data.counts, kind="stable")
    for place, k in enumerate(order):
        quota[k] = min(int(data.counts[k]), left // (D - place))
        left -= quota[k]
    rng = np.random.default_rng(0)
    chosen = [rng.permutation(np.flatnonzero(data.codes == k))[: quota[k]] for k in range(D)]
    return np.sort(np.concatenate(chosen))


def pack_samples(
    data: Labelled, shown: NDArray[np.intp], rows: ArrayLike | None = None
) -> dict[str, Any]:
    """Packed columns of the samples shown: true class, evidence, and row numbers.

    Row numbers count from 1; they are None where the samples are all rows of a table.
    """
    n, D = len(data.codes), data.evidence.n_classes
    if rows is not None and np.shape(rows) != (n,):
        raise InputError(
            f"rows must hold one number for each of {n} samples; got shape {np.shape(rows)}. "
            f"Leave them out to count from 1."
        )
    if rows is None and len(shown) < n:
        rows = np.arange(1, n + 1)
    if rows is not None:
        rows = np.asarray(rows)[shown]
        rows = rows.astype(np.int32 if rows.max(initial=0) < 2**31 else np.float64)
    return {
        "truth": pack(data.codes[shown].astype(np.uint16 if D > 255 else np.uint8)),
        "evidence": pack_evidence(data, shown),
        "rows": None if rows is None else pack(rows),
        "total": n,
    }


def pack_evidence(data: Labelled, rows: NDArray[np.intp]) -> dict[str, str]:
    """The LLRs of two classes, or log-likelihoods whose largest in each row is zero."""
    values = data.evidence.log_likelihoods[rows]
    with np.errstate(invalid="ignore", over="ignore"):
        two = data.evidence.n_classes == 2
        evidence = values[:, 1] - values[:, 0] if two else values - values.max(axis=1)[:, None]
    # What is finite stays so: an infinite LLR on the wrong side would cost without limit.
    limited = np.clip(evidence, -_MAX_EVIDENCE, _MAX_EVIDENCE)
    return pack(np.where(np.isinf(evidence), evidence, limited).astype(np.float32))


def first_state(
    data: Labelled,
    difficulty: NDArray[np.float64],
    prior: ArrayLike,
    costs: ArrayLike | None = None,
) -> dict[str, Any]:
    """What a page shows as it opens: the pair of classes that is hardest to tell apart."""
    D = data.evidence.n_classes
    present = np.flatnonzero(data.counts > 0).tolist()
    if len(present) < 2:
        raise InputError("y_true must hold two classes; it holds fewer. Add samples of another.")
    a, b = max(combinations(present, 2), key=lambda pair: difficulty[pair])
    others = [k for k in range(D) if k not in (a, b)]
    third = sorted(others, key=lambda k: -difficulty[k, [a, b]].sum())[:1]
    p = np.clip(prior, 1e-9, 1 - 1e-9)
    if costs is not None:  # what an error costs beyond the right decision; 1 each where None
        C = np.asarray(costs, dtype=float)
        costs = (C - np.diag(C)[:, None]).tolist()
    return {
        "pair": [b, a],
        "prior": (p / p.sum()).tolist(),
        "costs": costs,
        "unit": "deciban",
        "range": None,
        "three": [a, b, *third] if third else None,
    }


def describe_provenance(record: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A sheet of names and values, and a table of the files that were read; None without record."""
    if record is None:
        return None
    sheet = {"command": record["command"], "date": record["date"]}
    sheet["versions"] = _join_pairs(record["versions"])
    for one in record["scores"]:
        sheet[one["file"]] = " ".join([f"{one['rows_used']:,} rows used.", *one["notes"]])
    sheet["settings"] = _join_pairs(record["settings"])
    files = [(one["file"], one["sha256"], f"{one['bytes']:,}") for one in record["inputs"]]
    return {"sheet": sheet, "files": files}


def _join_pairs(values: Mapping[str, Any]) -> str:
    """Settings that were given; zero is one, such as a seed."""
    given = {
        name: " and ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None and value is not False and value not in ("", [])
    }
    return ", ".join(f"{name} {value}" for name, value in given.items())
