"""Results that a refactoring must not change, computed through public names alone.

``python tests/golden/cases.py`` writes them to ``values.json`` and ``models/``; ``test_golden.py``
compares what the present code gives. Renew a value only for a change that the CHANGELOG explains.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
VALUES = HERE / "values.json"
MODELS = HERE / "models"


def plain(value):
    """Numbers, texts, lists and dicts as JSON has them; infinities as texts."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(v) for v in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else str(float(value))
    return value


def draw(n_classes, n_per_class=(60, 40, 50, 30, 45, 35, 25, 55, 20, 65), seed=0, spread=1.3):
    """Truth and overconfident log-likelihoods of several classes with ties."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_per_class[:n_classes])
    log_likelihoods = spread * (rng.normal(size=(len(y), n_classes)) + 1.5 * np.eye(n_classes)[y])
    return y, np.round(log_likelihoods, 2), rng


def quantities(result):
    """Each quantity of an assessment with its interval."""
    return {key: [result[key].value, result[key].low, result[key].high] for key in result}


def assessments():
    import deciban as db

    found = {}
    for n_classes in (2, 3, 10):
        y, log_likelihoods, rng = draw(n_classes)
        evidence = db.Evidence(log_likelihoods, range(n_classes))
        groups = rng.integers(0, 40, len(y))
        left, right = rng.integers(0, 25, (2, len(y)))
        designs = {"samples": {}, "groups": {"groups": groups}, "items": {"items": (left, right)}}
        for name, design in designs.items():
            result = db.assess(y, evidence, rng=0, n_resamples=200, **design)
            found[f"{n_classes} classes, {name}"] = quantities(result)
    return found


def comparisons():
    import deciban as db

    found = {}
    for n_classes in (2, 3, 10):
        y, a, rng = draw(n_classes)
        b = a + rng.normal(size=a.shape)
        systems = {"a": db.Evidence(a, range(n_classes)), "b": db.Evidence(b, range(n_classes))}
        result = db.compare(y, systems, rng=0, n_resamples=200)
        found[f"{n_classes} classes"] = result.to_dict()
    return found


def beyond_memory():
    import dask.array as da

    import deciban as db

    found = {}
    for n_classes in (2, 3):
        y, log_likelihoods, _ = draw(n_classes)
        parts = da.from_array(y, 40), da.from_array(log_likelihoods, (40, n_classes))
        found[f"{n_classes} classes"] = quantities(db.assess(*parts))
    return found


def metrics():
    import deciban as db

    y, log_likelihoods, rng = draw(2)
    llr = log_likelihoods[:, 1] - log_likelihoods[:, 0]
    w = rng.integers(1, 4, len(y)).astype(float)
    m = db.metrics
    point = {"cost_miss": 10, "prior": 0.01}
    found = {
        name: [getattr(m, name)(y, llr), getattr(m, name)(y, llr, sample_weight=w)]
        for name in ("cllr", "cllr_min", "cllr_cal", "eer", "dev_pav")
    }
    found["pav"] = m.pav(y, llr).llr
    found["extreme"] = m.cllr([0, 1, 1], [-np.inf, 800.0, -800.0])
    found["detection"] = [f(y, llr, **point) for f in (m.detection_cost, m.min_detection_cost)]
    found["curves"] = m.empirical_cross_entropy_curve(y, llr).actual
    y3, scores3, _ = draw(3)
    for name in ("cross_entropy", "brier", "accuracy"):
        found[name] = [
            getattr(m, name)(y3, scores3),
            getattr(m, name)(y3, scores3, prior=[0.5, 0.3, 0.2]),
        ]
    found["pairwise"] = m.pairwise_cllr(y3, scores3)
    found["c_avg"] = m.c_avg(y3, scores3)
    parts = m.decompose(y3, scores3)
    found["decompose"] = [parts.total, parts.calibration, parts.discrimination]
    found["bootstrap"] = list(m.bootstrap(m.cllr, y, llr, n_resamples=100)[:2])
    return found


def calibrators():
    from deciban import calibration as c

    found = {}
    for n_classes in (2, 3):
        y, scores, _ = draw(n_classes)
        several = {
            "affine": c.AffineCalibrator(),
            "diagonal": c.AffineCalibrator(scale="diagonal"),
            "full": c.AffineCalibrator(scale="full"),
            "gaussian": c.GaussianCalibrator(),
            "curved": c.CurvedCalibrator(),
            "monotone": c.MonotoneCalibrator(),
            "bootstrap": c.BootstrapCalibrator(n_resamples=20, random_state=0),
        }
        two = {
            "isotonic": c.IsotonicCalibrator(),
            "kernel": c.KernelDensityCalibrator(),
            "bounded": c.BoundedCalibrator(),
        }
        if n_classes > 2:
            del several["monotone"]  # the exact map of three classes or more was removed
        for name, calibrator in (several | (two if n_classes == 2 else {})).items():
            evidence = calibrator.fit(scores, y).evidence(scores[::7])
            found[f"{name}, {n_classes} classes"] = evidence.log_likelihoods
    y, a, rng = draw(3)
    both = c.FusionCalibrator().fit({"a": a, "b": a + rng.normal(size=a.shape)}, y)
    found["fusion"] = both.coefficients_
    return found


def iris():
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


def linear_models():
    import deciban as db

    X, y = iris()
    found = {}
    for cls in (db.LinearDiscriminant, db.QuadraticDiscriminant):
        model = cls().fit(X, y)
        found[cls.__name__] = {
            "evidence": model.evidence(X[::15]).log_likelihoods,
            "score_samples": model.score_samples(X[::15]),
        }
    found["LinearDiscriminant"]["base"] = db.LinearDiscriminant().fit(X, y).transform(X[::30])
    return found


def flow_model():
    import deciban as db

    X, y = iris()
    return db.CompositionalDiscriminantAnalysis(epochs=30, random_state=0).fit(X, y)


def flows():
    X, _ = iris()
    return {"evidence": flow_model().evidence(X[::15]).posterior()}


def geometry():
    from deciban import simplex as s

    x = np.array([[0.6, 0.3, 0.1], [1e-300, 1.0, 1e300]])
    basis = s.Basis.from_tree((("a", "b"), "c"))
    return {
        "clr": s.clr(x),
        "ilr": s.ilr(x),
        "tree": s.ilr(x, basis),
        "norm": s.norm(x),
        "contrast": s.Basis.gram_schmidt(6).contrast,
        "logparts": s.logparts.ilr([[-800.0, -803.0, -1600.0]]),
    }


def family():
    import deciban as db

    found = db.CalibratedGaussian.from_divergences([[0, 5, 4], [5, 0, 7], [4, 7, 0]])
    return {
        "covariance": found.covariance,
        "means": found.means,
        "eers": found.eers,
        "log_density": found.log_density([[0.3, -1.0]]),
        "expected_cllr": found.expected_cllr(0, 1),
    }


def models():
    """A fitted estimator of each class that can be stored."""
    import deciban as db
    from deciban import calibration as c

    X, y = iris()
    y2, scores2, _ = draw(2)
    for cls in (db.LinearDiscriminant, db.QuadraticDiscriminant):
        yield cls().fit(X, y), X
    yield flow_model(), X
    yield db.SameSourceModel().fit(X, y), None
    for cls in (
        c.AffineCalibrator, c.BoundedCalibrator, c.CurvedCalibrator, c.GaussianCalibrator,
        c.IdentityCalibrator, c.IsotonicCalibrator, c.KernelDensityCalibrator, c.MonotoneCalibrator,
    ):  # fmt: skip
        yield cls().fit(scores2, y2), scores2
    yield c.BootstrapCalibrator(n_resamples=20, random_state=0).fit(scores2, y2), scores2


def stored():
    """Evidence from files that the version of ``values.json`` wrote."""
    import deciban as db

    X, _ = iris()
    _, scores2, _ = draw(2)
    found = {}
    for path in sorted(MODELS.iterdir()):
        model = db.load(path)
        if path.stem == "SameSourceModel":
            found[path.stem] = model.evidence(X[:3], X[3:6]).log_likelihoods
        else:
            data = X if model.n_features_in_ == 4 else scores2
            found[path.stem] = model.evidence(data[::15]).log_likelihoods
    return found


# Each series runs in a folder with the example tables.
COMMANDS = {
    "two classes": [
        "evaluate scores.csv --truth class --json --resamples 100",
        "evaluate scores.csv --truth class --require cllr<0.1 --resamples 0",
        "calibrate scores.csv --truth class -o c.deciban --json",
        "apply c.deciban scores-new.csv -o new.csv --json",
        "apply c.deciban scores.csv -o calibrated.csv --json",
        "evaluate calibrated.csv --truth class --json --resamples 100",
        "evaluate missing.csv --truth class",
        "evaluate scores.csv --truth absent",
    ],
    "trials": [
        "evaluate trials.txt --key key.txt --dcf 10:1:0.01 --json --resamples 100",
        "evaluate trials.txt --key key.txt --by model --json --resamples 0",
        "evaluate glass.csv --truth same --items left,right --json --resamples 100",
    ],
    "languages": [
        "evaluate languages.csv --truth truth --json --resamples 100 --dcf c-avg",
        "calibrate languages.csv --truth truth -o l.deciban --json",
        "apply l.deciban languages.csv -o l.csv --prior uniform --json",
        "monitor l.csv --truth truth --state m.json --json",
    ],
    "systems": [
        "fuse a.csv b.csv --truth class --id sample -o f.deciban --json",
        "apply f.deciban a.csv b.csv --id sample -o fused.csv --json",
        "compare a.csv b.csv --truth class --id sample --json --resamples 100",
    ],
    "features": [
        "fit iris.csv --label species --model lda -o iris.deciban --json",
        "predict iris.deciban iris-new.csv -o predicted.csv --prior uniform --json",
        "explain iris.deciban iris-new.csv --row 1 --json",
        "fit iris.csv --label species --model lda -o iris.deciban",
    ],
}


def read_table(path):
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    return {name: [number(row[i]) for row in rows[:40]] for i, name in enumerate(head)}


def number(text):
    try:
        return plain(float(text))
    except ValueError:
        return text


def without_versions(found):
    if isinstance(found, dict):
        skip = {"provenance", "version", "versions", "time", "written", "seconds"}
        return {k: without_versions(v) for k, v in found.items() if k not in skip}
    return found


def commands():
    from typer.testing import CliRunner

    from deciban.cli.app import app

    runner, found = CliRunner(), {}
    home = Path.cwd()
    for series, lines in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                runner.invoke(app, ["example", "--all", "-o", "."])
                given = set(os.listdir())
                for line in lines:
                    done = runner.invoke(app, line.split())
                    shown = json.loads(done.stdout) if done.stdout.startswith("{") else None
                    found[line] = {"exit": done.exit_code, "json": without_versions(shown)}
                files = sorted(set(os.listdir()) - given)
                tables = {f: read_table(Path(f)) for f in files if f.endswith(".csv")}
                found[f"files: {series}"] = {"files": files, "tables": tables}
            finally:
                os.chdir(home)
    return found


CASES = [
    assessments, comparisons, beyond_memory, metrics, calibrators, linear_models, flows, geometry,
    family, stored, commands,
]  # fmt: skip

if __name__ == "__main__":
    MODELS.mkdir(exist_ok=True)
    if "--models" in sys.argv:
        for model, _ in models():
            model.save(MODELS / f"{type(model).__name__}.deciban")
    rounded = {case.__name__: plain(case()) for case in CASES}
    VALUES.write_text(json.dumps(rounded, separators=(",", ":")) + "\n")
