"""Three hundred malformed inputs and more: each is used as it stands, or refused in a sentence."""

import gzip
import io

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from deciban.cli.app import app
from deciban.exceptions import InputError

run = CliRunner().invoke
N = 30


def table(rng):
    y = rng.integers(0, 3, N)
    y[:6] = [0, 1, 2] * 2
    X = rng.normal(size=(N, 2)) + y[:, None]
    ll = rng.normal(size=(N, 3)) + 2 * np.eye(3)[y]
    names = np.array(["ant", "bee", "cat"])
    return pl.DataFrame(
        {"class": names[y], "x": X[:, 0], "y": X[:, 1], "colour": ["red", "blue"] * (N // 2)}
        | {name: ll[:, k] for k, name in enumerate(names)}
    )


def as_csv(frame):
    return frame.write_csv().encode()


def lines(change):
    def spoil(frame, rng):
        some = as_csv(frame).split(b"\n")[:-1]
        return b"\n".join(change(some, rng)) + b"\n"

    return spoil


def cell(value):
    """A cell of some column replaced."""

    def change(some, rng):
        row, column = rng.integers(1, len(some)), rng.integers(0, 7)
        parts = some[row].split(b",")
        parts[column] = value
        some[row] = b",".join(parts)
        return some

    return lines(change)


def in_line(change):
    def changed(some, rng):
        row = rng.integers(0, len(some))
        some[row] = change(some[row])
        return some

    return lines(changed)


def bytes_changed(frame, rng):
    data = bytearray(as_csv(frame))
    for _ in range(rng.integers(1, 20)):
        data[rng.integers(len(data))] = rng.integers(256)
    return bytes(data)


def cut(frame, rng):
    data = as_csv(frame)
    return data[: rng.integers(len(data))]


CELLS = [
    b"", b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"n/a", b"=1+1", b"@SUM(A1)", b"+cmd|' /C'!A0",
    b"0x1F", b"1,5", b'"', b'""', b'"a\nb"', b"\x00", b"\xff\xfe", b"\xc3\x28", b"\xe9", b"True",
    b"../../etc/passwd", b"<script>", b" " * 1000, b"9" * 400, b"zebra", b"2020-01-01", b"-",
]  # fmt: skip
SPOILED = {
    **{f"cell {value[:12]!r}": cell(value) for value in CELLS},
    "a byte or some": bytes_changed,
    "cut off": cut,
    "one field more": in_line(lambda line: line + b",1"),
    "one field less": in_line(lambda line: line.rpartition(b",")[0]),
    "an open quote": in_line(lambda line: b'"' + line),
    "a line of ten megabytes": in_line(lambda line: line + b"9" * 10_000_000),
    "another separator": lambda frame, rng: as_csv(frame).replace(b",", b";"),
    "no header": lines(lambda some, rng: some[1:]),
    "header alone": lines(lambda some, rng: some[:1]),
    "two headers": lines(lambda some, rng: [some[0], *some]),
    "a column twice": lines(lambda some, rng: [some[0].replace(b"y", b"x"), *some[1:]]),
    "a column without a name": lines(lambda some, rng: [some[0].replace(b"x", b""), *some[1:]]),
    "one class alone": lines(lambda some, rng: [s.replace(b"bee", b"ant").replace(b"cat", b"ant")
                                                for s in some]),
    "one row": lines(lambda some, rng: some[:2]),
    "UTF-16": lambda frame, rng: frame.write_csv().encode("utf-16"),
    "UTF-8 with a mark": lambda frame, rng: b"\xef\xbb\xbf" + as_csv(frame),
    "returns for ends": lambda frame, rng: as_csv(frame).replace(b"\n", b"\r"),
    "nothing": lambda frame, rng: b"",
    "an end of line": lambda frame, rng: b"\n" * int(rng.integers(1, 5)),
    "noise": lambda frame, rng: rng.bytes(int(rng.integers(1, 3000))),
    "gzip": lambda frame, rng: gzip.compress(as_csv(frame)),
    "gzip, cut": lambda frame, rng: gzip.compress(as_csv(frame))[:-10],
    "a bomb": lambda frame, rng: gzip.compress(as_csv(frame) + b"0" * 80_000_000),
    "a zip archive": lambda frame, rng: b"PK\x03\x04" + rng.bytes(100),
    "JSON": lambda frame, rng: frame.write_ndjson().encode(),
    "Parquet": lambda frame, rng: parquet(frame),
}  # fmt: skip


SAME = ("a line of ten megabytes", "a bomb", "nothing")  # large, or the same whatever the seed


def parquet(frame):
    with io.BytesIO() as out:
        frame.write_parquet(out)
        return out.getvalue()


COMMANDS = {
    "evaluate": ["evaluate", "spoiled.csv", "--truth", "class", "--resamples", "0"],
    "monitor": ["monitor", "spoiled.csv", "--truth", "class"],
    "fit": ["fit", "spoiled.csv", "--label", "class", "-o", "new.deciban", "--model", "lda",
            "--validation", "0", "--force"],
    "predict": ["predict", "model.deciban", "spoiled.csv", "-o", "out.csv", "--force"],
    "explain": ["explain", "model.deciban", "spoiled.csv", "--row", "2"],
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    table(np.random.default_rng(0)).write_csv(folder / "good.csv")
    words = ["fit", folder / "good.csv", "--label", "class", "-o", folder / "model.deciban",
             "--model", "lda", "--validation", "0"]  # fmt: skip
    assert run(app, list(map(str, words)), catch_exceptions=False).exit_code == 0
    return (folder / "model.deciban").read_bytes()


@pytest.mark.filterwarnings("ignore")  # what fits warn of is not the question here
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "seeds"),
    [(name, [0]) for name in SPOILED]
    + [pytest.param(name, [1, 2], marks=pytest.mark.slow) for name in SPOILED if name not in SAME],
)
def test_a_malformed_table_is_used_or_refused_in_one_sentence(
    name, seeds, command, model, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.deciban").write_bytes(model)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        (tmp_path / "spoiled.csv").write_bytes(SPOILED[name](table(rng), rng))
        try:
            done = run(app, COMMANDS[command], catch_exceptions=False)
        except InputError as error:
            said = str(error)
            assert 20 < len(said) < 1000
            assert "\n" not in said
            assert not (tmp_path / "out.csv").exists() or seed != seeds[0]
        else:
            assert done.exit_code in (0, 3), done.output  # 3: a monitor raises an alarm
    assert (tmp_path / "model.deciban").read_bytes() == model
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]
