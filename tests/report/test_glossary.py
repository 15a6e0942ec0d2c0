"""One glossary explains the words of reports and of the documentation, to readers new to them."""

import re

import numpy as np
import pytest

from deciban import CalibratedGaussian
from deciban.assessment import assess
from deciban.report.page import GLOSSARY, pick_terms, report

# LLR, ENFSI; C_avg, Cllr_min: what a newcomer cannot guess.
ABBREVIATION = re.compile(r"\b([A-Z]{2,}|[A-Z]\w*_\w+|Cllr)s?\b")


def words_of(n_classes, **options):
    """Terms and definitions that a report on some evidence shows."""
    family = CalibratedGaussian(2 * np.eye(n_classes - 1))
    l, y = family.sample([40] * n_classes, rng=0)
    evidence = family.evidence(l)
    points = options.pop("operating_points", ())
    found = assess(y, evidence, n_resamples=30, operating_points=points)
    page = report(y, evidence, title="A report", assessment=found, **options)
    sheet = re.search(r"<h3>What the words mean</h3>\s*<dl[^>]*>(.*?)</dl>", page, re.DOTALL)[1]
    pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", sheet)
    return {term.replace("&#39;", "'"): text.replace("&#39;", "'") for term, text in pairs}


def test_terms_are_in_alphabetical_order():
    assert list(GLOSSARY) == sorted(GLOSSARY, key=str.casefold)


@pytest.mark.parametrize("term", GLOSSARY)
def test_a_definition_is_one_or_two_short_sentences(term):
    text = GLOSSARY[term]
    assert text.endswith(".")
    assert 1 <= len(re.findall(r"[.!?](?= |$)", text)) <= 2
    assert len(text) < 220


@pytest.mark.parametrize("term", GLOSSARY)
def test_a_definition_uses_no_abbreviation_that_the_glossary_lacks(term):
    known = set(ABBREVIATION.findall(" ".join(GLOSSARY)))
    assert set(ABBREVIATION.findall(GLOSSARY[term])) <= known


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_words_of_a_report_are_those_of_the_glossary(n_classes):
    words = words_of(n_classes)
    assert words.items() <= GLOSSARY.items()
    assert {"Evidence", "Likelihood ratio (LR)", "Deciban", "Calibration"} <= set(words)


def test_a_report_explains_what_it_holds_and_nothing_else():
    two, three = words_of(2), words_of(3, training=[])
    assert "Equal-error rate (EER)" in two
    assert "Equal-error rate (EER)" not in three
    assert "Simplex" in three
    assert "Simplex" not in two
    assert "Compositional discriminant analysis (CDA)" not in three
    assert "Provenance" not in two


def test_a_signed_report_explains_what_provenance_is():
    record = {"command": "deciban evaluate scores.csv", "date": "2025-01-01", "versions": {}}
    record |= {"scores": [], "settings": {}, "inputs": []}
    assert "Provenance" in words_of(2, provenance=record)


def test_operating_points_bring_their_words_along():
    words = words_of(2, operating_points=[(10, 1, 0.01), (1, 1, 0.05)])
    assert {"Detection cost", "Operating point", "C_primary"} <= set(words)


def test_what_needs_no_word_brings_none_along():
    assert pick_terms(["no such quantity"]) == pick_terms([])
