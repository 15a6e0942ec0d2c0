"""The representation of evidence in notebooks."""

import numpy as np
import pytest

from deciban import Evidence


def test_each_sample_is_told_in_words_decibans_and_posteriors():
    evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
    shown = evidence._repr_html_()
    assert "<strong>Evidence</strong> of 1 sample about 3 classes" in shown
    assert "<td>cat</td><td>3</td>" in shown  # 10 log10(2) = 3.01 deciban
    assert "weak support for cat over dog" in shown
    assert [part in shown for part in ("60%", "30%", "10%")] == [True] * 3
    assert "LLR (deciban)" in shown
    assert "equal priors" in shown


def test_many_samples_and_classes_are_cut_and_counted(rng):
    shown = Evidence(rng.normal(size=(10_000, 50)))._repr_html_()
    assert shown.count("<tr>") == 11
    assert "… and 9,990 more samples" in shown
    assert "posterior of favored" in shown
    assert len(shown) < 10_000


def test_impossible_classes_ties_and_tiny_posteriors_are_shown():
    shown = Evidence.from_llr([np.inf, 0.0, -30.0], "same", "other")._repr_html_()
    assert "<td>same</td><td>∞</td>" in shown
    assert "<td>none</td><td>0</td>" in shown
    assert "under 0.01 %" in shown


@pytest.mark.parametrize("label", ["<script>x</script>", '"', "x" * 1000, "", 7, ("a", 1)])
def test_any_label_is_shown_as_text(label):
    shown = Evidence([[0.0, 1.0]], classes=["other", label])._repr_html_()
    assert "<script" not in shown
    assert len(shown) < 4000


def test_no_samples_are_no_table():
    shown = Evidence(np.empty((0, 2)))._repr_html_()
    assert "of 0 samples about 2 classes" in shown
    assert "<table" not in shown
