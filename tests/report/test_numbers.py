"""The numbers that pages compute in the browser are those of the library."""

import base64
from pathlib import Path

import numpy as np
import pytest

import deciban.report
from browser import quiet_page
from deciban import Evidence
from deciban.evidence.units import NATS_PER_UNIT
from deciban.simplex import Basis

WEB = Path(deciban.report.__file__).with_name("web")
HOME = "http://deciban.test/"
CALL = """async ([module, name, values]) => {
  const decode = (value) => {
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return value.map(decode);
    if (!("bytes" in value)) return value;
    const bytes = Uint8Array.from(atob(value.bytes), (c) => c.charCodeAt(0));
    return new globalThis[value.type](bytes.buffer);
  };
  const encode = (value) => {
    if (ArrayBuffer.isView(value)) {
      const text = Array.from(new Uint8Array(value.buffer, value.byteOffset, value.byteLength),
        (byte) => String.fromCharCode(byte));
      return { bytes: btoa(text.join("")), type: value.constructor.name };
    }
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, encode(one)]));
  };
  const found = (await import(`/${module}.js`))[name];
  return encode(typeof found === "function" ? found(...values.map(decode)) : found);
}"""
TYPES = {"Float64Array": np.float64, "Uint16Array": np.uint16}


def encode(value):
    if isinstance(value, np.ndarray):
        name = "Float64Array" if value.dtype.kind == "f" else "Uint16Array"
        data = np.ascontiguousarray(value, dtype=TYPES[name]).tobytes()
        return {"bytes": base64.b64encode(data).decode(), "type": name}
    return value


def decode(value):
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return np.frombuffer(base64.b64decode(value["bytes"]), TYPES[value["type"]])
    return {key: decode(one) for key, one in value.items()}


def serve(route):
    name = route.request.url.removeprefix(HOME)
    if not name:
        blank = "<!doctype html><link rel=icon href=data:,>"
        route.fulfill(body=blank, content_type="text/html")
    elif (WEB / name).is_file():
        route.fulfill(path=WEB / name, content_type="text/javascript")
    else:  # or the page would wait for ever
        route.fulfill(status=404, body="")


@pytest.fixture(scope="module")
def js(browser):
    """Call a function of the front end: js("statistics.cllr", target, other)."""
    with quiet_page(browser) as page:
        page.route(HOME + "**", serve)
        page.goto(HOME)

        def call(function, *values):
            return decode(page.evaluate(CALL, [*function.split("."), [encode(v) for v in values]]))

        yield call


def same(found, expected, rtol=1e-9, atol=1e-290):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


# --- evidence over D classes --------------------------------------------------------------


def log_likelihoods(kind, rng):
    """Log-likelihoods that are ordinary, tied, extreme, ruled out, alone or of many classes."""
    if kind == "many classes":
        return rng.normal(scale=3, size=(40, 50))
    l = rng.normal(scale=3, size=(300, 3))
    match kind:
        case "tied":
            l = rng.integers(-2, 3, size=l.shape).astype(float)
        case "extreme":
            l *= rng.choice([1.0, 50.0, 300.0, 1e5], size=(len(l), 1))
            l[:3] = [[0, -800, -801], [-800, 0, -800], [0, 0, -800]]
            l[3:5] = [[-1e6, -1e6, -1e6 - 1], [0, -745, 3]]
        case "ruled out":
            l[rng.random(l.shape) < 0.3] = -np.inf
            l[:, 1][np.isneginf(l).all(axis=1)] = 0.0
        case "one sample":
            l = l[:1]
        case "two classes":
            l = l[:, :2]
    return l


KINDS = ["random", "tied", "extreme", "ruled out", "one sample", "two classes", "many classes"]


@pytest.fixture(params=KINDS)
def table(request, rng):
    return log_likelihoods(request.param, rng)


def priors(D, rng):
    nearly = np.full(D, 1e-300)
    nearly[-1] = 1.0
    return {"uniform": np.full(D, 1 / D), "skewed": rng.dirichlet(np.ones(D)), "certain": nearly}


def test_units_are_those_of_evidence(js):
    units = js("geometry.UNITS")
    names = {"nat": "nat", "bit": "bit", "log10": "ban", "deciban": "deciban"}
    assert list(units) == list(names)
    for ours, theirs in names.items():
        same(1 / units[ours]["factor"], NATS_PER_UNIT[theirs], rtol=1e-15)


@pytest.mark.parametrize("D", [2, 3, 50])
def test_ilr_basis_is_that_of_gram_schmidt(js, D):
    same(js("geometry.ilrBasis", D).reshape(D, D - 1), Basis.gram_schmidt(D).contrast, atol=1e-15)


def test_posteriors(js, table, rng):
    n, D = table.shape
    for prior in priors(D, rng).values():
        found = js("geometry.posterior", table.ravel(), n, D, prior.tolist()).reshape(n, D)
        expected = Evidence(table).posterior(prior)
        same(found, expected)


def test_decisions_under_costs(js, table, rng):
    n, D = table.shape
    evidence = Evidence(table)
    tables = [None, 1 - np.eye(D), rng.integers(0, 4, size=(D, D)), rng.normal(size=(D, D))]
    for prior in priors(D, rng).values():
        for costs in tables:
            rows = None if costs is None else costs.tolist()
            found = js("geometry.decide", table.ravel(), n, D, prior.tolist(), rows)
            assert found.tolist() == evidence.decide(costs, prior).tolist()
            expected = evidence.decide(costs, prior, reject_cost=0.3, reject_label=D).tolist()
            found = js("geometry.decide", table.ravel(), n, D, prior.tolist(), rows, 0.3)
            assert found.tolist() == expected
