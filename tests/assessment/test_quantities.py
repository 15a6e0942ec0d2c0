"""One registry declares every quantity: tables, verdicts, criteria and the report read it."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from deciban import Evidence, metrics
from deciban.assessment import assess, assess_by, compare, quantities
from deciban.cli.provenance import parse_criteria
from deciban.exceptions import InputError
from deciban.report import report
from deciban.report.page import GLOSSARY

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def brier(monkeypatch):
    """The mean squared distance of the posteriors from the truth, declared in one entry."""

    def of_llrs(setting):
        return lambda llr, t: 2 * setting.prior[t] * (t - expit(llr + setting.log_odds)) ** 2

    def of_posteriors(given):
        p = np.exp(given.log_p)
        distance = ((np.eye(p.shape[1])[given.truth] - p) ** 2).sum(axis=1)
        return given.weight * distance, None

    entry = quantities.Definition(
        key="brier", label="Brier score", meaning="Mean squared distance from the truth.",
        limits=(0.0, 2.0), glossary=("Brier score",), of_llrs=of_llrs, of_posteriors=of_posteriors,
    )  # fmt: skip
    monkeypatch.setitem(quantities.REGISTRY, "brier", entry)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_new_quantity_is_one_entry(brier, two, three, n_classes):
    y, evidence = (two[0], Evidence.from_llr(two[1])) if n_classes == 2 else three
    labels = np.array(evidence.classes)[y]
    prior = [0.7, 0.3] if n_classes == 2 else [0.5, 0.3, 0.2]
    found = assess(labels, evidence, prior=prior, n_resamples=50)
    q = found["brier"]
    assert q.value == pytest.approx(metrics.brier(labels, evidence, prior=prior), rel=1e-9)
    assert q.low < q.value < q.high
    assert "Brier score" in str(found._repr_html_())
    page = report(labels, evidence, title="t", assessment=found)
    assert "<dt>Brier score</dt>" in page
    (criterion,) = parse_criteria(["brier.high<2"])
    assert criterion.judge(found)["passed"]
    pair = compare(labels, {"a": evidence, "b": 4.0 * evidence}, n_resamples=50)["brier"]
    assert pair.verdict == "a better"


@pytest.mark.parametrize("key", quantities.REGISTRY)
def test_each_quantity_is_explained(key):
    one = quantities.REGISTRY[key]
    assert one.key == key
    assert one.meaning.endswith(".")
    assert one.better in ("lower", "higher")
    assert set(one.glossary) <= set(GLOSSARY)
    assert f"`{key}`" in (DOCS / "reference/file-formats.md").read_text("utf-8")


def test_two_classes_at_an_even_prior_have_costs_in_bits_alone(two):
    y, llr = two
    evidence = Evidence.from_llr(llr)
    found = assess(y, evidence, n_resamples=0)
    pairs = {"cross_entropy": "cllr", "discrimination": "cllr_min", "calibration": "cllr_cal"}
    for key, bits in pairs.items():
        assert bits in found
        with pytest.raises(KeyError, match=f"use {bits}: the same cost in bits"):
            found[key]
        with pytest.raises(InputError, match=f"use {bits}: the same cost in bits"):
            parse_criteria([f"{key}<1"])[0].judge(found)
        with pytest.raises(KeyError, match=f"use {bits}"):
            compare(y, {"a": evidence, "b": evidence}, n_resamples=0)[key]
    assert set(pairs) < set(assess(y, evidence, prior=[0.9, 0.1], n_resamples=0))
    unknown = assess_by(y, evidence, np.arange(len(y)) % 2, n_resamples=0).pooled
    with pytest.raises(KeyError, match=r"got 'clr'\."):
        unknown["clr"]
