"""One HTML file of modules, styles and data: it opens from disk and loads nothing."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

import deciban
from deciban._markup import clean_text
from deciban.exceptions import MissingExtraError

_LIBRARIES = ("d3", "plot")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|async function|function\*|class) (\w+))", re.M)


def read_web(name: str) -> str:
    """A file of the front end."""
    return files("deciban.report").joinpath("web", *name.split("/")).read_text("utf-8")


def bundle(entry: str) -> str:
    """The module of this name and all that it imports, as one script.

    Each module becomes a function that runs once, so that its other names stay its own.

    >>> bundle("colors").startswith("const $colors = (() => {")
    True
    """
    found: dict[str, str] = {}

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ImportError(f"Modules must not import one another; got {' > '.join(above)}.")
        if name in found:
            return
        source = read_web(f"{name}.js")
        for _, other in _IMPORT.findall(source):
            add(other, (*above, name))
        body = _IMPORT.sub(lambda m: f"const {{{m[1].replace(' as ', ': ')}}} = ${m[2]};\n", source)
        names = _EXPORT.findall(body)
        body = _EXPORT.sub("", body)
        found[name] = f"const ${name} = (() => {{\n{body}return {{ {', '.join(names)} }};\n}})();\n"

    add(entry, ())
    return "".join(found.values())


def pack(array: NDArray[Any]) -> dict[str, str]:
    """An array as text that unpack of samples.js reads: compressed little-endian numbers.

    The first bytes of all numbers come first, then the second ones, and so on: those of the
    exponents are much alike and compress well.
    """
    flat = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(-1)
    planes = flat.view(np.uint8).reshape(len(flat), array.itemsize).T
    data = zlib.compress(planes.tobytes(), 6)
    return {"type": array.dtype.name, "data": b64encode(data).decode("ascii")}


def write_page(entry: str, data: Mapping[str, Any], *, title: str, **context: Any) -> str:
    """A page of the template of this name, with a script that finds the data in it.

    Parameters
    ----------
    entry : str
        Name of the module that runs, and of its template.
    data : dict
        Plain values and packed arrays; numbers that JSON lacks become {"$number": "Infinity"}.
    title : str
    **context
        What else the template asks for.

    Returns
    -------
    str
        HTML.
    """
    scripts = [*(read_web(f"vendor/{name}.js") for name in _LIBRARIES), bundle(entry)]
    return render(f"{entry}.html", scripts, title=title, data=_as_json(data), **context)


def render(template: str, scripts: Sequence[str] = (), **context: Any) -> str:
    """A page from a template, which allows these scripts alone to run."""
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: blob:; "
        "base-uri 'none'; form-action 'none'; "
        f"script-src {' '.join(map(_hash, scripts)) or repr('none')}"
    )
    page = load_templates().get_template(template)
    shared = {"scripts": scripts, "policy": policy, "version": deciban.__version__}
    return str(page.render(style=read_web("style.css"), **shared, **context))


@cache
def load_templates() -> Any:
    """The environment of jinja2 that renders pages; raises where jinja2 is missing."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtraError(
            "jinja2 must be installed to write pages. Run: pip install 'deciban[report]'",
            extra="report",
        ) from error
    from markupsafe import Markup

    from deciban._markup import number, percent, shorten

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
