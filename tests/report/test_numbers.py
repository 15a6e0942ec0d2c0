"""The numbers that pages compute in the browser are those of the library."""

import base64
from functools import partial

import numpy as np
import pytest
from playwright.sync_api import Error

from browser import quiet_page, serve_web
from deciban import CalibratedGaussian, Evidence, metrics
from deciban.calibration import AffineCalibrator
from deciban.evidence.units import NATS_PER_UNIT
from deciban.exceptions import NotPositiveDefiniteError
from deciban.metrics.labelled import read_labelled
from deciban.metrics.reliability import reliability_curves
from deciban.simplex import Basis

CALL = """async ([module, name, values]) => {
  const decode = (value) => {
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return value.map(decode);
    if (!("bytes" in value))
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, decode(one)]));
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
    if isinstance(value, dict):
        return {key: encode(one) for key, one in value.items()}
    return value


def decode(value):
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return np.frombuffer(base64.b64decode(value["bytes"]), TYPES[value["type"]])
    return {key: decode(one) for key, one in value.items()}


@pytest.fixture(scope="module")
def js(browser):
    """Call a function of the front end: js("statistics.cllr", target, other)."""
    with quiet_page(browser) as page:
        serve_web(page, "<!doctype html><link rel=icon href=data:,>")

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


def test_ilr_coordinates_and_back(js, rng):
    for kind in ("random", "tied", "two classes", "many classes"):
        l = log_likelihoods(kind, rng)
        n, D = l.shape
        found = js("geometry.toIlr", (l - 1e4).ravel(), n, D)
        same(found.reshape(n, D - 1), Evidence(l - 1e4).ilr(), atol=1e-12)
        back = js("geometry.fromIlr", found, n, D).reshape(n, D)
        same(back, l - l.max(axis=1, keepdims=True), atol=1e-10)
    found = js("geometry.toIlr", np.array([0.0, 1.0, -np.inf, 0.0, 1.0, 2.0]), 2, 3)
    assert np.isnan(found).tolist() == [True, True, False, False]


def test_llrs_of_pairs_and_groups(js, table, rng):
    n, D = table.shape
    evidence = Evidence(table)
    for prior in priors(D, rng).values():
        first, second = [0, *range(2, D)], [1]
        with np.errstate(invalid="ignore"):
            both = (table[:, first] == -np.inf).all(axis=1) & (table[:, 1] == -np.inf)
        found = js("geometry.groupsLlr", table.ravel(), n, D, first, second, prior.tolist())
        same(found[~both], evidence[~both].llr(first, second, prior=prior), atol=1e-9)
        assert np.isnan(found[both]).all()
        found = js("geometry.oneAgainstRestLlr", table.ravel(), n, D, 1, prior.tolist())
        same(found[~both], evidence[~both].llr(1, first, prior=prior), atol=1e-9)
    neither = (table[:, 0] == -np.inf) & (table[:, 1] == -np.inf)
    found = js("geometry.pairLlr", table.ravel(), n, D, 0, 1)
    same(found[~neither], evidence[~neither].llr(0, 1))


def test_pairs_are_split_by_their_true_class_as_metrics_split_them(js, rng):
    l = log_likelihoods("ruled out", rng)
    y = rng.integers(0, 3, len(l))
    found = js("geometry.pairLlr", l.ravel(), len(l), 3, 2, 0)
    split = js("geometry.splitByTruth", found, y, [2], [0])
    trials = read_labelled(y, Evidence(l)).pair(2, 0)
    assert split["target"].tolist() == trials.target.llr.tolist()
    assert split["nonTarget"].tolist() == trials.other.llr.tolist()


def test_costs_of_each_pair_of_classes(js, table):
    n, D = table.shape
    rows = np.arange(max(n, D)) % n
    table, y = table[rows], np.arange(len(rows)) % D
    found = js("statistics.pairMatrix", table.ravel(), y, len(rows), D).reshape(D, D)
    same(found, metrics.pairwise_cllr(y, Evidence(table)).cllr)


def test_a_prior_of_zero_is_refused(js):
    with pytest.raises(Error, match="prior must be positive for every class"):
        js("geometry.posterior", np.zeros(2), 1, 2, [0, 1])


@pytest.mark.parametrize("kind", ["random", "extreme", "two classes", "many classes"])
def test_the_flip_prior_divides_two_decisions(js, rng, kind):
    n_flips = 0
    for row in log_likelihoods(kind, rng)[:12]:
        D = len(row)
        costs = (rng.integers(1, 6, size=(D, D)) * (1 - np.eye(D))).tolist()
        for table in (None, costs):
            found = js("geometry.flipPrior", row, rng.dirichlet(np.ones(D)).tolist(), table)
            if found["prior"] is None:
                continue
            n_flips += 1
            best, next_, to, odds = (found[key] for key in ("best", "next", "to", "logOdds"))
            prior = found["prior"]
            C = np.array(costs) if table else 1 - np.eye(D)
            others = np.delete(prior, [best, next_]).sum()
            joint = row + np.log(np.maximum(prior, 1e-300))
            joint[best] = row[best] + np.log1p(-others) - np.logaddexp(0, -odds)
            joint[next_] = row[next_] + np.log1p(-others) - np.logaddexp(0, odds)
            weight = np.exp(joint - joint.max())
            terms = weight * (C[:, best] - C[:, to])
            assert abs(terms.sum()) <= 1e-9 * np.abs(terms).sum()
            same(prior.sum(), 1)
    assert n_flips > 5


def test_the_flip_prior_is_the_first_at_which_any_other_decision_is_better(js, rng):
    tos = set()
    for k in range(120):
        D = int(rng.integers(2, 5))
        l, p, C = rng.normal(size=D) * 2, rng.dirichlet(np.ones(D)), rng.gamma(1, size=(D, D))
        np.fill_diagonal(C, 0)
        reject = None if k % 2 else 0.3
        none = {} if reject is None else {"reject_cost": reject, "reject_label": D}
        decide = partial(Evidence([l]).decide, C, **none)
        if (now := decide(p)[0]) == D:
            continue
        found = js("geometry.flipPrior", l, p.tolist(), C.tolist(), reject)
        best, next_ = found["best"], found["next"]
        assert best == now
        share = found["prior"][best] if found["prior"] is not None else 0.0
        for s in np.linspace(share, p[best], 30)[1:-1]:
            prior = p.copy()
            prior[[best, next_]] = s, p[best] + p[next_] - s
            assert decide(prior)[0] == best
        if found["prior"] is None:
            continue
        prior = found["prior"].copy()
        prior[best] *= 1 - 1e-6
        prior[next_] += found["prior"][best] - prior[best]
        assert decide(prior)[0] == found["to"]
        tos.add("none" if found["to"] == D else "next" if found["to"] == next_ else "third")
    assert tos == {"none", "next", "third"}


# --- LLRs of two classes ------------------------------------------------------------------


def two_classes(kind, rng):
    """LLRs of targets and of others."""
    target, other = rng.normal(2, 2, 400), rng.normal(-2, 2, 900)
    match kind:
        case "tied":
            return target.round(), other.round()
        case "all tied":
            return np.zeros(5), np.zeros(7)
        case "one each":
            return np.array([0.5]), np.array([1.5])
        case "separated":
            return target + 20, other - 20
        case "reversed":
            return -target, -other
        case "extreme":
            return np.append(50 * target, [800, -800, 1e5]), np.append(50 * other, [-1e300, -801])
        case "infinite, right":
            return np.append(target, [np.inf] * 3), np.append(other, [-np.inf] * 4)
        case "infinite, wrong":
            return np.append(target, [np.inf, -np.inf]), np.append(other, [-np.inf, np.inf, np.inf])
        case "only infinite":
            return np.array([np.inf, np.inf]), np.array([-np.inf])
        case "few":
            return target[:6], other[:4]
    return target, other


PAIRS = ["random", "tied", "all tied", "one each", "separated", "reversed", "extreme",
         "infinite, right", "infinite, wrong", "only infinite", "few"]  # fmt: skip


@pytest.fixture(params=PAIRS)
def pair(request, rng):
    target, other = two_classes(request.param, rng)
    y = np.repeat([1, 0], [len(target), len(other)])
    return target, other, y, np.concatenate([target, other])


def test_cllr_and_its_parts_and_eer(js, pair):
    target, other, y, llr = pair
    same(js("statistics.cllr", target, other), metrics.cllr(y, llr))
    same(js("statistics.cllrMin", target, other), metrics.cllr_min(y, llr), atol=1e-15)
    same(js("statistics.eer", target, other), metrics.eer(y, llr), atol=1e-15)


def test_recalibrated_llrs(js, pair):
    target, other, y, llr = pair
    blocks = js("statistics.pav", target, other)
    expected = metrics.pav(y, llr)
    same(blocks["target"].sum(), 1)
    same(blocks["nonTarget"].sum(), 1)
    assert (np.diff(blocks["llr"]) > 0).all()
    if len(expected.llr) == len(blocks["llr"]):  # rounding may leave equal blocks apart in Python
        same(blocks["low"], expected.low)
        same(blocks["high"], expected.high)
        same(blocks["llr"], expected.llr, atol=1e-12)


def test_curves_over_thresholds_and_priors(js, pair):
    target, other, y, llr = pair
    det, expected = js("statistics.detCurve", target, other), metrics.det_curve(y, llr)
    same(det["pMiss"], expected.p_miss)
    same(det["pFalseAlarm"], expected.p_false_alarm, atol=1e-15)
    same(det["threshold"], expected.threshold)
    tippett, expected = js("statistics.tippettCurve", target, other), metrics.tippett_curve(y, llr)
    for name, values in zip(("llr", "target", "nonTarget"), expected, strict=True):
        same(tippett[name], values, atol=1e-15)
    for odds in (None, np.array([-700.0, -30.0, 0.1, 30.0, 700.0])):
        found = js("statistics.crossEntropyCurve", target, other, *([] if odds is None else [odds]))
        expected = metrics.empirical_cross_entropy_curve(y, llr, log_odds=odds)
        same(found["logOdds"], expected.log_odds, atol=1e-14)
        same(found["actual"], expected.actual)
        same(found["minimum"], expected.minimum, atol=1e-14)
        same(found["neutral"], expected.neutral)


@pytest.mark.parametrize("kind", ["random", "tied", "extreme", "infinite, wrong"])
def test_groups_are_mixed_by_the_prior_and_so_are_their_samples(js, rng, kind):
    target, other = two_classes(kind, rng)
    llr = np.concatenate([target, other])
    truth = np.repeat([0, 1, 2, 3], [300, len(target) - 300, 700, len(other) - 700])
    prior = np.array([0.1, 0.2, 0.1, 0.6])
    parts = [encode(np.sort(llr[truth == k])) for k in range(4)]
    sides = [
        js("sides.makeSide", [parts[k] for k in group], group, prior.tolist())
        for group in ([0, 1], [2, 3])
    ]
    values, weights = zip(*((side["llr"], side["weights"]) for side in sides), strict=True)
    for found, expected, weight in zip(values, (target, other), weights, strict=True):
        same(found, np.sort(expected))
        same(weight.mean(), 1)
    weights = dict(zip(("target", "nonTarget"), weights, strict=True))
    y, weight = (truth < 2).astype(int), (prior / np.bincount(truth))[truth]
    blocks = js("statistics.pav", *values, weights)
    as_json = {key: one.tolist() for key, one in blocks.items()}
    same(js("statistics.cllr", *values, weights), metrics.cllr(y, llr, sample_weight=weight))
    same(js("statistics.cllrMin", *values, as_json), metrics.cllr_min(y, llr, sample_weight=weight))
    same(js("statistics.eer", *values, as_json), metrics.eer(y, llr, sample_weight=weight))
    det = js("statistics.detCurve", *values, weights)
    expected = metrics.det_curve(y, llr, sample_weight=weight)
    same(det["pMiss"], expected.p_miss, atol=1e-12)
    same(det["pFalseAlarm"], expected.p_false_alarm, atol=1e-12)
    tippett = js("statistics.tippettCurve", *values, weights)
    same(tippett["target"], metrics.tippett_curve(y, llr, sample_weight=weight)[1], atol=1e-12)
    odds = np.array([-3.0, 0.1, 5.0])
    curve = js("statistics.crossEntropyCurve", *values, odds, as_json, weights)
    expected = metrics.empirical_cross_entropy_curve(y, llr, log_odds=odds, sample_weight=weight)
    same(curve["actual"], expected.actual)
    same(curve["minimum"], expected.minimum)
    bins = js("statistics.histogramBins", *values, 20, weights)
    inside = np.histogram(other, bins["edges"], weights=weight[truth >= 2])[0]
    same(bins["nonTarget"] / len(other), inside / 0.7, atol=1e-12)


def test_samples_that_are_mixed_as_the_prior_is_count_alike(js, rng):
    llr = np.sort(rng.normal(size=(2, 20)), axis=1)
    found = js("sides.makeSide", [encode(part) for part in llr], [1, 2], [0.2, 0.4, 0.4])
    assert found["weights"] is None
    same(found["llr"], np.sort(llr.ravel()))


def test_affine_calibration_of_two_classes(js, rng):
    for kind in ("random", "tied", "one each", "separated", "reversed", "few", "all tied"):
        target, other = two_classes(kind, rng)
        y = np.repeat([1, 0], [len(target), len(other)])
        evidence = Evidence.from_llr(np.concatenate([target, other]))
        python = AffineCalibrator().fit(evidence, y)
        found = js("multiclass.fitAffine", evidence.log_likelihoods.ravel(), y, len(y), 2)
        same(found["scale"], python.matrix_[0, 0], rtol=1e-5, atol=1e-6)
        offset = found["offsets"]["1"] - found["offsets"]["0"]
        same(offset, -np.sqrt(2) * python.offset_[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [3, 12, 300])
def test_affine_calibration_of_several_classes(js, rng, n):
    for D in (3, 5):
        y = np.arange(max(n, D)) % D
        plain = 2 * np.eye(D)[y] + rng.normal(size=(len(y), D))
        apart = 30 * np.eye(D)[y] + rng.normal(size=(len(y), D))
        rare = np.where(np.arange(len(y)) < D, y, 0)
        bold = 40 * plain + 5 * np.arange(D)
        for l, truth in ((plain, y), (apart, y), (plain, rare), (bold, y), (0 * plain, y)):
            python = AffineCalibrator().fit(Evidence(l), truth)
            found = js("multiclass.fitAffine", l.ravel(), truth, len(truth), D)
            same(found["scale"], python.matrix_[0, 0], rtol=1e-3, atol=1e-6)
            offsets = Basis.gram_schmidt(D).contrast @ python.offset_
            same(list(found["offsets"].values()), offsets, rtol=1e-3, atol=2e-3)


def test_affine_calibration_of_many_samples_misses_no_class_that_comes_in_turns(js, rng):
    y = np.arange(15_000) % 50
    l = 2 * np.eye(50)[y] + rng.normal(size=(15_000, 50))
    assert js("multiclass.fitAffine", l.ravel(), y, 15_000, 50)["scale"] == pytest.approx(
        2, abs=0.1
    )


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "one sample"])
def test_reliability(js, rng, kind):
    l = log_likelihoods("random" if kind in ("tied", "extreme") else kind, rng)
    # Rounding must not decide which bin a posterior is in: whole rows are tied, or next to certain.
    if kind == "tied":
        l = l[rng.integers(0, 12, len(l))]
    elif kind == "extreme":
        l[::2] *= 1e5
    l = np.resize(l, (max(100, len(l)), l.shape[1]))
    n, D = l.shape
    y = np.where(np.arange(n) < D, np.arange(n) % D, l.argmax(axis=1))
    for prior in list(priors(D, rng).values())[:2]:
        found = js("statistics.reliability", l.ravel(), y, n, D, prior.tolist())
        (curve,) = reliability_curves(read_labelled(y, Evidence(l)), prior=prior)
        for name in ("predicted", "observed", "low", "high", "count", "events", "histogram"):
            same(found[name], getattr(curve, name), atol=1e-15)


def test_a_long_tail_does_not_squeeze_the_histogram(js, rng):
    target = rng.normal(4, 3, 320)
    other = -rng.gamma(1.5, 25.0, 102_080)
    bins = js("statistics.histogramBins", target, other)
    edges = bins["edges"]
    assert 0 in edges.tolist()
    assert (bins["target"] > 0).sum() >= 12
    for name, llr in (("target", target), ("nonTarget", other)):
        assert bins[name].tolist() == np.histogram(llr, edges)[0].tolist()
        assert bins["below"][name] == (llr < edges[0]).sum()
        assert bins["above"][name] == (llr > edges[-1]).sum()
        assert bins[name].sum() >= 0.74 * len(llr)


def test_histograms_hold_every_sample(js, pair):
    target, other, _, llr = pair
    bins = js("statistics.histogramBins", target, other, 20)
    edges = bins["edges"]
    assert len(edges) <= 22
    assert (np.diff(edges) > 0).all()
    assert 0 in edges.tolist() or edges[0] > 0 or edges[-1] < 0
    inside = bins["target"].sum() + bins["nonTarget"].sum()
    assert inside + sum(bins["below"].values()) + sum(bins["above"].values()) == len(llr)


# --- the calibrated family ----------------------------------------------------------------


def divergence_matrix(kind, rng):
    match kind:
        case "two classes":
            return np.array([[0, 3.3], [3.3, 0]])
        case "fifty classes":
            points = 3 * rng.normal(size=(50, 49))
        case "impossible":
            return np.array([[0, 1, 9.0], [1, 0, 1], [9, 1, 0]])
        case "impossible, many":
            d = rng.uniform(0, 10, size=(8, 8))
            return np.triu(d, 1) + np.triu(d, 1).T
        case "very different":
            points = rng.normal(size=(5, 4)) * np.array([1e-2, 1.0, 10.0, 30.0])
        case _:
            points = 2 * rng.normal(size=(4, 3))
    d = ((points[:, None] - points) ** 2).sum(axis=2)
    return (d + d.T) / 2


@pytest.mark.parametrize("kind", ["two classes", "four classes", "fifty classes", "very different"])
def test_a_family_from_divergences(js, rng, kind):
    d = divergence_matrix(kind, rng)
    D = len(d)
    found, python = (
        js("family.calibratedFamily", d.ravel(), D),
        CalibratedGaussian.from_divergences(d),
    )
    assert found["possible"]
    family = found["family"]
    size = np.abs(d).max()
    same(family["covariance"], python.covariance.ravel(), atol=1e-12 * size)
    same(family["means"], python.means.ravel(), atol=1e-12 * size)
    same(family["divergences"], d.ravel())
    same(family["eers"], python.eers.ravel())
    same(js("family.divergencesOf", python.covariance.ravel(), D), d.ravel(), atol=1e-13 * size)


@pytest.mark.parametrize("kind", ["impossible", "impossible, many"])
def test_the_nearest_family_where_none_has_the_divergences(js, rng, kind):
    d = divergence_matrix(kind, rng)
    D = len(d)
    with pytest.raises(NotPositiveDefiniteError):
        CalibratedGaussian.from_divergences(d)
    python = CalibratedGaussian.from_divergences(d, nearest=True)
    found = js("family.calibratedFamily", d.ravel(), D)
    assert not found["possible"]
    same(found["family"]["covariance"], python.covariance.ravel(), rtol=1e-6, atol=1e-9)
    same(found["family"]["divergences"], python.divergences.ravel(), rtol=1e-6, atol=1e-9)
    same(found["family"]["means"], python.means.ravel(), rtol=1e-6, atol=1e-9)
    assert js("family.calibratedFamily", np.zeros(9), 3)["family"] is None


def test_divergences_eers_and_expected_costs_belong_together(js):
    eers = np.array([0.5, 0.4999, 0.3, 0.1, 0.01, 1e-6, 1e-30, 1e-300])
    d = js("family.divergencesFromEers", eers)
    for eer, one in zip(eers[1:], d[1:], strict=True):
        family = CalibratedGaussian.from_eers([eer])
        same(one, family.divergences[0, 1])
        same(js("family.expectedCllr", float(one)), family.expected_cllr(0, 1))
    same(js("family.eersOf", d), eers, rtol=1e-9)
    assert js("family.expectedCllr", 0) == 1
    assert js("family.fromUpperTriangle", [1, 2, 3], 3).tolist() == [0, 1, 2, 1, 0, 3, 2, 3, 0]
