"""The words of evidence, each explained in one or two sentences for readers who are new to it."""

from __future__ import annotations

from collections.abc import Iterable

from deciban.assessment.quantities import REGISTRY, base_key

#: Terms and what they mean, in alphabetical order; an abbreviation stands in brackets.
GLOSSARY: dict[str, str] = {
    "Accuracy": "How often the decision is the true class. It depends on the prior, and it does "
    "not say whether the probabilities behind the decisions are right.",
    "Balance": "A coordinate that sets one group of classes, or of parts of a composition, against "
    "another.",
    "Ban": "A unit of evidence: 1 ban is a factor of 10, so a log-likelihood ratio in bans is a "
    "logarithm to the base 10.",
    "Basis": "A choice of coordinates for compositions, for example by a tree of the classes. "
    "Costs, posteriors and decisions do not depend on it.",
    "Bayes' rule": "Posterior odds are prior odds times the likelihood ratio. With logarithms, the "
    "product becomes a sum.",
    "Bit": "A unit of evidence and of cost: 1 bit is a factor of 2, and the uncertainty about a "
    "fair coin.",
    "Bootstrap": "Computing a quantity again on many random resamples of the same samples, to see "
    "how far it could be from its true value.",
    "Brier score": "The mean squared distance of the posteriors from the truth, summed over the "
    "classes: 0 is perfect, 2 is the worst. No single sample can dominate it.",
    "C_avg": "The mean cost of detecting each class among all others, used for languages. 0 is "
    "perfect; at even odds, 0.5 is the cost of guessing.",
    "C_mc": "The cross-entropy of several classes at equal priors, in nats. 0 is perfect; the "
    "logarithm of the number of classes is the cost of no evidence.",
    "C_primary": "The mean of the detection costs at several operating points.",
    "Calibrated Gaussian family": "Gaussian distributions of calibrated evidence, one for each "
    "class. The one covariance that they share determines their means, the divergences and the "
    "error rates.",
    "Calibration": "Whether evidence means what it says. Recalibration, learned from a few "
    "samples, removes the cost of poor calibration.",
    "Calibrator": "A map from scores to evidence that means what it says, learned from samples "
    "whose classes are known.",
    "Cllr": "What log-likelihood ratios cost those who trust them, on average over decisions. 0 "
    "bit is perfect, 1 bit is the cost of no evidence, and more is worse than no evidence.",
    "Cllr_cal": "The part of Cllr that is due to poor calibration: Cllr less Cllr_min.",
    "Cllr_min": "Cllr after the best recalibration that keeps the order of the scores: the cost of "
    "poor discrimination. On few samples it comes out too low.",
    "Closure": "Dividing positive numbers by their sum, so that they sum to one.",
    "Composition": "Positive numbers of which only the ratios matter, such as probabilities, "
    "likelihoods or the shares of a whole.",
    "Compositional discriminant analysis (CDA)": "A model that learns to turn features into "
    "evidence and a residual, and can go back from both to the features.",
    "Confidence interval": "The range of values of a quantity that the samples leave plausible. "
    "Intervals at 95 % contain the true value in 95 % of such studies.",
    "Cross-entropy": "How surprised those are, on average, who trust the posteriors when they "
    "learn the true class. 0 is perfect; lower is better.",
    "Deciban": "A unit of evidence: 10 decibans are a factor of 10, 20 a factor of 100; 1 is about "
    "the smallest change that a person notices.",
    "Decision loss": "What decisions cost more than they would after the best recalibration, as a "
    "part of what deciding without evidence costs.",
    "Detection cost": "What misses and false alarms cost on average when decisions follow the "
    "evidence, relative to the best decision without evidence, which costs 1.",
    "Detection error trade-off (DET)": "A plot of misses against false alarms for all thresholds. "
    "The closer to the lower left corner, the better the classes are told apart.",
    "devPAV": "The mean distance of log-likelihood ratios from their recalibrated values, over the "
    "range of the ratios, in bans.",
    "Discrimination": "Whether evidence differs between classes. Only better evidence lowers the "
    "cost of poor discrimination; recalibration that keeps the order of the evidence cannot.",
    "Divergence": "How far apart two classes are: the mean log-likelihood ratio in favor of the "
    "class that is true, also known as the Kullback-Leibler divergence.",
    "Empirical cross-entropy": "The cost of the evidence at each prior, as a curve, beside that of "
    "recalibrated evidence and of no evidence at all.",
    "Equal-error rate (EER)": "The error rate at the threshold where misses are as frequent as "
    "false alarms. It measures discrimination only.",
    "Evidence": "What the data say about the classes, apart from any prior: a likelihood function. "
    "Independent pieces of evidence add up.",
    "Fusion": "Making one piece of evidence from the scores of several systems, by weights that "
    "are learned, so that what the systems share is not counted twice.",
    "Idempotence": "What defines calibrated evidence: taken as data, it is its own likelihood "
    "function. For two classes, the LLR of the LLR is the LLR.",
    "Isometric log-ratio transform (ILR)": "Coordinates for compositions that keep distances and "
    "angles, and in which Bayes' rule is a sum. D classes or parts have D − 1 of them.",
    "Isometric log-ratio transformed likelihood function (ILRL)": "Evidence as a vector: the ILR "
    "coordinates of a likelihood function. It is to several classes what the LLR is to two.",
    "Likelihood function": "How probable the data are under each class. Only the ratios of these "
    "numbers matter.",
    "Likelihood ratio (LR)": "How many times as probable the evidence is under one class as under "
    "another. It does not include a prior: that belongs to whoever decides.",
    "Log-likelihood ratio (LLR)": "The logarithm of the likelihood ratio, so that evidence adds "
    "up. Zero says nothing.",
    "Misleading evidence": "Evidence that points to a class that is not the true one. Some "
    "of it is normal; the stronger calibrated evidence is, the more rarely it misleads.",
    "Nat": "A unit of evidence and of cost: 1 nat is a factor of 2.718, as natural logarithms have "
    "it, and about 4.3 decibans.",
    "Neutralize": "To change the features of a sample so that they say nothing about the class, "
    "while the residual stays as it is.",
    "Operating point": "The prior and the costs of errors for which decisions are judged.",
    "Perturbation": "Multiplying two compositions part by part, then closing the result. Bayes' "
    "rule is the perturbation of the prior by the likelihood function.",
    "Pool adjacent violators (PAV)": "The best map of scores to LLRs that keeps their order, and "
    "the algorithm that finds it.",
    "Posterior": "The probability of each class given the data. It holds both the evidence and a "
    "prior.",
    "Prediction set": "Classes that hold the true one with a chosen probability, such as 90 %. "
    "The clearer the evidence, the smaller the set.",
    "Prior": "The probability of each class before the data are seen, such as how common it is in "
    "the place of use.",
    "Provenance": "What a result rests on: the command, the date, the versions, the seed, and the "
    "files that were read with their hashes.",
    "Quality measure": "A property of a sample that tells how far its score can be trusted, such "
    "as the duration of a recording.",
    "Residual": "What the features hold besides the evidence about the classes: its distribution "
    "is the same for every class.",
    "Simplex": "The set of all probability distributions over some classes, and of all "
    "compositions of some parts: a line for two of them, a triangle for three.",
    "Tippett plot": "For each value of the LLR, the share of samples of each class that have at "
    "least this value. It shows how often evidence misleads, and how strongly.",
    "Weight of evidence": "Another name for the log-likelihood ratio, used by Turing and Good.",
}

_ALWAYS = (  # in the order in which they build on one another
    "Evidence", "Likelihood ratio (LR)", "Log-likelihood ratio (LLR)", "Deciban", "Cross-entropy",
    "Calibration", "Discrimination", "Pool adjacent violators (PAV)",
)  # fmt: skip
_SECTIONS = {  # of a report, and the terms that they bring along
    "calibration": ("Idempotence",),
    "ratios": ("Detection error trade-off (DET)", "Empirical cross-entropy", "Tippett plot"),
    "classes": ("Isometric log-ratio transform (ILR)", "Simplex"),
    "training": ("Compositional discriminant analysis (CDA)", "Residual"),
    "provenance": ("Bootstrap", "Provenance"),
    "quality": ("Confidence interval",),
}


def pick_terms(used: Iterable[str]) -> dict[str, str]:
    """The terms that every report needs, then those of what this one holds.

    Parameters
    ----------
    used : iterable of str
        Keys of quantities, such as "eer" or "detection_cost@10:1:0.01", and of sections. Those
        that need no explanation are passed over.

    Returns
    -------
    dict of str by term

    Examples
    --------
    >>> list(pick_terms(["eer", "value"]))[-2:]
    ['Pool adjacent violators (PAV)', 'Equal-error rate (EER)']
    """
    by_quantity = {key: one.glossary for key, one in REGISTRY.items()}
    keys = {base_key(key) for key in used}
    more = {term for key in keys for term in (by_quantity | _SECTIONS).get(key, ())}
    chosen = (*_ALWAYS, *(term for term in GLOSSARY if term in more))
    return {term: GLOSSARY[term] for term in chosen}
