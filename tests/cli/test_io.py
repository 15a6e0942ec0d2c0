"""Tables: every format there and back, and every malformed one ends in a sentence."""

import csv
import gzip
import io
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban.cli import text
from deciban.cli.outputs import require_outputs, table_writer
from deciban.cli.tables import empty_to_null, open_table, read_table
from deciban.exceptions import InputError, TableError

pl = pytest.importorskip("polars")
from polars.testing import assert_frame_equal  # noqa: E402

FRAME = pl.DataFrame(
    {
        "whole": [1, -2, None, 9_000_000_000],
        "real": [0.1, None, -1e300, 5e-324],
        "text": ['a "quoted", cell', "two\nlines", None, "=1+1"],
        "truth": [True, None, False, True],
        "späße": ["é", "日本", " kept ", "x"],
    }
)
ENDINGS = [
    "csv", "tsv", "txt", "CSV", "csv.gz", "tsv.gz", "jsonl", "ndjson", "jsonl.gz", "parquet", "pq",
    "arrow", "feather", "ipc",
]  # fmt: skip


def written(path: Path, frame: pl.DataFrame, **options: bool) -> Path:
    with table_writer(str(path), **options) as write:
        write(frame)
    return path


def as_read(frame: pl.DataFrame, ending: str) -> pl.DataFrame:
    """What a format makes of a frame: CSV and TSV hold text."""
    if ending.lower().partition(".")[0] not in ("csv", "tsv", "txt"):
        return frame
    text = pl.read_csv(frame.write_csv().encode(), infer_schema=False)
    return text.with_columns(pl.when(pl.all() != "").then(pl.all()).name.keep())


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_comes_back_as_it_was_written(tmp_path, ending):
    path = written(tmp_path / f"t.{ending}", FRAME)
    assert_frame_equal(read_table(path), as_read(FRAME, ending))
    assert open_table(path).columns == FRAME.columns
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_written_in_pieces_is_the_same_table(tmp_path, ending, monkeypatch):
    monkeypatch.setattr("deciban.cli.outputs._HELD", 2)
    path = tmp_path / f"t.{ending}"
    with table_writer(str(path)) as write:
        for i in range(FRAME.height):
            write(FRAME.slice(i, 1))
    assert_frame_equal(read_table(path), as_read(FRAME, ending))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 1000])
def test_batches_of_any_size_are_the_same_rows(tmp_path, ending, rows, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 64)
    path = written(tmp_path / f"t.{ending}", FRAME)
    frames = list(open_table(path).batches(rows))
    assert_frame_equal(pl.concat(frames), as_read(FRAME, ending))
    assert {frame.height for frame in frames[:-1]} <= {rows}
    assert 0 < frames[-1].height <= rows


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1", "-7", "2.5", "n/a", "", " 3 ", "true", "1e5", "9" * 20, "inf"]),
            st.sampled_from(['"x,y"', '"a""b"', '"l\nm"', "é", "", "'", "0"]),
        ),
        max_size=30,
    ),
    st.integers(1, 9),
    st.integers(16, 80),
)
@settings(max_examples=60, deadline=None)
def test_neither_batches_nor_blocks_change_what_is_read(tmp_path_factory, cells, rows, block):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in cells), encoding="utf-8")
    whole = read_table(path)
    assert whole.height == len(cells)
    assert [value is None for value in whole["b"]] == [b == "" for _, b in cells]
    assert [value is None for value in whole["a"]] == [a == "" for a, _ in cells]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", block)
        assert_frame_equal(pl.concat(map(empty_to_null, open_table(path).batches(rows))), whole)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "jsonl"])
def test_columns_are_chosen_by_name_and_order(tmp_path, ending):
    path = written(tmp_path / f"t.{ending}", FRAME)
    chosen = ["truth", "whole"]
    assert_frame_equal(open_table(path).read(chosen), as_read(FRAME, ending).select(chosen))
    with pytest.raises(InputError, match=r"no column 'wole', .* columns are .* mean 'whole'\?"):
        open_table(path).batches(columns=["wole"])


def table(tmp_path: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_cells_of_text_are_what_is_written_byte_for_byte(tmp_path):
    cells = ["0001", "+49 30", "12e4", "1.50", " 1 ", "True", "9" * 30, "NULL", "=1+1", "-0", "1_0"]
    path = table(tmp_path, "a,b\n" + "".join(f"{cell},z\n" for cell in cells))
    assert read_table(path)["a"].to_list() == cells
    copy = written(tmp_path / "copy.csv", pl.concat(open_table(path).batches()))
    assert copy.read_bytes() == path.read_bytes()


def test_empty_cells_and_quoted_empty_cells_stay_apart(tmp_path):
    path = table(tmp_path, 'a,b\n"",1\n,2\n"x\ry","z, z"\n')
    copy = written(tmp_path / "copy.csv", pl.concat(open_table(path).batches()))
    assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("a,b\n", []),
        ("a,b", []),
        ("a,b\n1,2", [("1", "2")]),
        ("a,b\r\n1,2\r\n\r\n3,4\r\n", [("1", "2"), ("3", "4")]),
        ("\n\na,b\n\n1,2\n\n", [("1", "2")]),
        ("\ufeffa,b\n1,2\n", [("1", "2")]),
        ('"a", b\n1,2\n', [("1", "2")]),
        ('"a\nb",b\n1,2\n', [("1", "2")]),
        ('"a",b\n\n"1\n\n2",3\n\n', [("1\n\n2", "3")]),
        ('"a",b\n5" and 6",2\n', [('5" and 6"', "2")]),
    ],
)
def test_harmless_oddities_of_csv_are_read(tmp_path, content, rows):
    frame = read_table(table(tmp_path, content))
    assert frame.rows() == rows
    assert frame.columns[1] == "b"


@given(
    st.lists(
        st.lists(
            st.sampled_from(["1", "", " x ", '""', '"a,b"', '"a""b"', '"l\n\nm"', '5"', "é"]),
            min_size=1, max_size=3,
        ).map(",".join),
        max_size=12,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(8, 60),
)  # fmt: skip
def test_a_table_reads_as_by_the_csv_module_or_its_first_bad_line_is_named(
    tmp_path_factory, lines, ending, block
):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    content = ending.join(["a,b", *lines]) + ending
    path.write_bytes(content.encode())
    reader = csv.reader(f"{line}\n" for line in content.removesuffix("\n").split("\n"))
    rows, bad, start = [], 0, 0
    for row in reader:
        if row:
            bad = bad or (len(row) != 2 and start + 1)
            rows.append(tuple(cell or None for cell in row))
        start = reader.line_num
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", block)
        try:
            found, said = read_table(path), ""
        except TableError as error:
            found, said = None, str(error)
    if found is not None:
        assert not bad
        assert found.rows() == rows[1:]
    elif '5"' not in content:
        assert f"on line {bad}, not 2" in said


def test_an_empty_line_is_a_cell_where_there_is_one_column(tmp_path):
    assert read_table(table(tmp_path, "a\n1\n\n3\n"))["a"].to_list() == ["1", None, "3"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_table_without_rows_still_tells_its_columns(tmp_path, ending):
    path = written(tmp_path / f"t.{ending}", FRAME.clear())
    assert [frame.shape for frame in open_table(path).batches()] == [(0, 5)]


@pytest.mark.parametrize("block", [24, 1 << 22])
def test_json_lines_are_one_type_a_column_over_the_whole_file(tmp_path, monkeypatch, block):
    monkeypatch.setattr(text, "BLOCK", block)
    lines = '{"a": 1, "b": 1, "c": null}\n{"a": 2.5, "d": true}\n\n{"b": "x", "a": null}\n'
    frame = read_table(table(tmp_path, lines, "t.jsonl"))
    assert frame.schema == {"a": pl.Float64, "b": pl.String, "c": pl.String, "d": pl.Boolean}
    assert frame.rows() == [
        (1.0, "1", None, None),
        (2.5, None, None, True),
        (None, "x", None, None),
    ]


def parquet(frame: pl.DataFrame) -> bytes:
    frame.write_parquet(content := io.BytesIO())
    return content.getvalue()


def arrow(frame: pl.DataFrame) -> bytes:
    frame.write_ipc(content := io.BytesIO())
    return content.getvalue()


_LINES = "a,b\n" + "1,2\n" * 5000
_ZIPPED = gzip.compress(np.random.default_rng(0).bytes(4000).hex().encode())
_LISTS = pl.DataFrame({"good": [1], "bad": [[1, 2]]})
_STRUCTS = pl.DataFrame({"good": [1], "bad": [{"x": 1}]})
_JUNK = np.random.default_rng(1).bytes(5000)

MALFORMED = {
    "an empty file": ("t.csv", "", "is empty"),
    "a short row": ("t.csv", "a,b\n1,2\n3\n", "has 1 cell on line 3, not 2"),
    "a long row": ("t.csv", "a,b\n1,2\n\n3,4,5\n", "3 cells on line 4"),
    "a short row after a cell of two lines": ("t.csv", 'a,b\n"1\n2",2\n3\n', "1 cell on line 4"),
    "a short row far down": ("t.csv", _LINES + "3\n", "1 cell on line 5002"),
    "a duplicate column": ("t.csv", "a,b,a\n1,2,3\n", "several columns named 'a'"),
    "a column without name": ("t.csv", ",a\n0,1\n", "no name for column 1"),
    "nothing but commas": ("t.csv", ",,,\n", "no name for column 1, 2, 3, 4"),
    "too many columns": ("t.csv", ",".join(map(str, range(100_001))), "at most 100,000"),
    "latin-1": ("t.csv", "a,b\n1,caf\xe9\n".encode("latin-1"), "byte 0xe9 on line 2"),
    "UTF-16": ("t.csv", "a,b\n1,2\n".encode("utf-16"), "is UTF-16 text"),
    "UTF-16 without mark": ("t.csv", "a,b\n1,2\n".encode("utf-16-le"), "a NUL byte on line [12]"),
    "UTF-32": ("t.csv", "a,b\n1,2\n".encode("utf-32"), "is UTF-32 text"),
    "a NUL": ("t.csv", "a,b\n1,2\n3,\0\n", "a NUL byte on line 3"),
    "a 10 MB line": ("t.csv", "a,b\n1," + "x" * 10_000_000 + "\n", "line of more than 8 MB"),
    "junk": ("t.csv", _JUNK, "NUL byte|UTF-8|quote"),
    "junk as Parquet": ("t.parquet", _JUNK, "is not Parquet"),
    "junk as gzip": ("t.csv.gz", _JUNK, "is not gzip"),
    "an open quote": ("t.csv", 'a,b\n1,"2\n3,4\n', "closed, on line 2"),
    "an open quote and 10 MB": (
        "t.csv",
        'a,b\n1,"2\n' + "3,4\n" * 2_500_000,
        "never closed, on line 2",
    ),
    "text after a quote": ("t.csv", 'a,b\n1,"5" and\n', "malformed row on line 2"),
    "carriage returns alone": ("t.csv", "a,b\r1,2\r", "carriage returns alone"),
    "rows that end in returns": ("t.csv", "id\n001\r002\r003\n", "carriage return within line 2"),
    "a return in a cell": ("t.csv", "a,b\r\n1,2\r\n3\r,4\r\n", "carriage return within line 3"),
    "tabs in CSV": ("t.csv", "a\tb\n1\t2\n", "has tabs between.* Rename it to .tsv"),
    "commas in TSV": ("t.tsv", "a,b\n1,2\n", "has commas between.* Rename it to .csv"),
    "semicolons": ("t.csv", "a;b\n1;2\n", "has semicolons.*decimal points"),
    "JSON as CSV": ("t.csv", '{"a": 1, "b": 2}\n', "Rename it to .jsonl"),
    "CSV as JSON lines": ("t.jsonl", "a,b\n1,2\n", "no JSON object on line 1"),
    "Parquet as CSV": ("t.csv", parquet(FRAME), "is Parquet, not UTF-8"),
    "Arrow as CSV": ("t.csv", arrow(FRAME), "is Arrow IPC, not"),
    "an archive as CSV": ("t.csv", b"PK\x03\x04" + _JUNK, "Excel"),
    "CSV as Parquet": ("t.parquet", "a,b\n1,2\n", "is not Parquet"),
    "CSV as gzip": ("t.csv.gz", "a,b\n1,2\n", "is not gzip, though"),
    "truncated gzip": ("t.csv.gz", _ZIPPED[:2000], "truncated or damaged"),
    "gzip with a tail": (
        "t.csv.gz",
        gzip.compress(b"a,b\n1,2\n") + b"tail",
        "truncated or damaged",
    ),
    "gzip of gzip": ("t.csv.gz", gzip.compress(gzip.compress(b"a,b\n")), "gzip inside gzip"),
    "truncated Parquet": ("t.parquet", parquet(FRAME)[:-20], "is not a complete Parquet"),
    "four bytes of Parquet": ("t.parquet", b"PAR1", "is not a complete Parquet"),
    "truncated Arrow": ("t.arrow", arrow(FRAME)[:-20], "is not a complete Arrow"),
    "an empty Parquet": ("t.parquet", "", "is empty"),
    "lists in Parquet": ("t.parquet", parquet(_LISTS), "bad in .* is of type List"),
    "bytes in Parquet": (
        "t.parquet",
        parquet(pl.DataFrame({"bad": [b"x"]})),
        "bad in .* is of type B",
    ),
    "no columns in Parquet": ("t.parquet", parquet(pl.DataFrame()), "has no columns|complete"),
    "a nameless column in Parquet": (
        "t.parquet",
        parquet(pl.DataFrame({"": [1]})),
        "no name for column 1",
    ),
    "an empty JSON lines": ("t.jsonl", "\n\n", "is empty"),
    "lists in JSON lines": ("t.jsonl", '{"a": 1, "bad": [1]}\n', "bad in .* is of type"),
    "objects in JSON lines": ("t.jsonl", '{"bad": {"x": 1}}\n', "bad in .* is of type"),
    "lists and objects": ("t.jsonl", '{"bad": [1]}\n{"bad": {"x": 1}}\n', "bad in "),
    "a JSON array": ("t.jsonl", "[1, 2]\n", "line 1 \\(got \\[1, 2\\]\\)"),
    "cut JSON": ("t.jsonl", '{"a": 1}\n{"a": \n', "no JSON object on line 2"),
    "pretty JSON": ("t.jsonl", '{\n  "a": 1\n}\n', "no JSON object on line 1"),
    "NaN in JSON": ("t.jsonl", '{"a": NaN}\n', "JSON has no NaN"),
    "deep JSON": (
        "t.jsonl",
        '{"a": ' + "[" * 99_999 + "]" * 99_999 + "}\n",
        "no JSON object on line 1",
    ),
    "truths and numbers": ("t.jsonl", '{"a": true}\n{"a": 2}\n', "values of several types"),
    "objects without keys": ("t.jsonl", "{}\n{}\n", "has no columns"),
    "an unknown extension": ("t.xlsx", "x", r"t\.xlsx must end in \.csv, \.tsv.*\.parquet"),
    "gzip of Parquet": ("t.parquet.gz", "x", "must end in .csv"),
}


@pytest.mark.parametrize(("name", "content", "message"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_table_ends_in_a_sentence_that_names_it(tmp_path, name, content, message):
    path = table(tmp_path, content, name)
    with pytest.raises(InputError, match=message) as caught:
        read_table(path)
    assert isinstance(caught.value, TableError)
    assert caught.value.file == str(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv.gz", "jsonl.gz"])
def test_a_file_cut_anywhere_ends_in_a_sentence(tmp_path, ending):
    content = written(tmp_path / f"whole.{ending}", FRAME).read_bytes()
    for size in range(0, len(content) - 1, max(1, len(content) // 40)):
        with pytest.raises(InputError, match=r"cut\."):
            read_table(table(tmp_path, content[:size], f"cut.{ending}"))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_damaged_file_is_read_or_refused_and_never_panics(tmp_path, ending):
    content = bytearray(written(tmp_path / f"whole.{ending}", FRAME).read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] = rng.integers(256)
        path = table(tmp_path, bytes(damaged), f"damaged.{ending}")
        try:
            read_table(path)
        except InputError as error:
            assert "damaged" in str(error)  # noqa: PT017


def test_a_missing_file_is_named_with_the_one_that_was_meant(tmp_path):
    table(tmp_path, "a,b\n", "data.csv")
    with pytest.raises(InputError, match=r"dta\.csv not found\. Did you mean 'data\.csv'\?"):
        read_table(tmp_path / "dta.csv")
    with pytest.raises(InputError, match=r"not found\. Check"):
        read_table(tmp_path / "none" / "x.csv")
    with pytest.raises(InputError, match="null byte"):
        read_table("a\0.csv")
    with pytest.raises(InputError, match="name too long"):
        read_table("a" * 5000 + ".csv")


def test_folders_and_devices_are_not_tables(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        open_table(tmp_path / "folder.csv")
    with pytest.raises(InputError, match="is a device"):
        open_table("/dev/zero")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_what_the_system_refuses_is_a_sentence(tmp_path, monkeypatch, name):
    path = table(tmp_path, "a,b\n", name)

    class Broken(io.FileIO):
        def read(self, *_):
            raise OSError(5, "Input/output error")

    for opened in (PermissionError(13, "Permission denied"), OSError(5, "Input/output error")):

        def refuse(*_, error=opened, **__):
            if error.errno == 13:
                raise error
            return Broken(path)

        with monkeypatch.context() as patch:
            patch.setattr("builtins.open", refuse)
            with pytest.raises(InputError, match=rf"{name} cannot be read: {opened.strerror}"):
                read_table(path)


def test_a_panic_of_polars_is_a_sentence_and_an_interrupt_is_not(tmp_path, monkeypatch):
    path = table(tmp_path, "a,b\n1,2\n")
    for error, expected in [
        (pl.exceptions.PanicException("index out of bounds"), InputError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ]:

        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr(pl, "read_csv", fail)
        with pytest.raises(expected):
            read_table(path)


@pytest.mark.parametrize("closed", [False, True])
def test_what_rust_prints_of_a_panic_stays_unseen(tmp_path, closed):
    path = table(tmp_path, arrow(FRAME), "t.arrow")
    code = (
        "import os, sys, polars as pl\nfrom deciban.cli.tables import read_table\n"
        "if {closed}: os.close(2)\n"
        "def collect(self):\n"
        "    os.write(2, b'thread panicked') if not {closed} else None\n"
        "    raise pl.exceptions.PanicException('index out of bounds')\n"
        "pl.LazyFrame.collect = collect\n"
        "try: read_table(sys.argv[1])\n"
        "except ValueError as error: print(error)\n"
    ).replace("{closed}", str(closed))
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True)
    assert b"t.arrow is not a complete Arrow IPC file: polars gave up (index" in done.stdout
    assert done.stderr == b""


def test_truths_and_numbers_far_apart_are_refused_too(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 12)
    path = table(tmp_path, '{"a": true}\n{"a":false}\n{"a": 1}\n', "t.jsonl")
    with pytest.raises(InputError, match=r"several types"):
        read_table(path)


def test_a_header_far_down_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 8)
    assert read_table(table(tmp_path, "\n" * 20 + "a,b\n1,2\n")).rows() == [("1", "2")]


@pytest.mark.slow
def test_a_gzip_bomb_is_refused_before_it_fills_memory(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(b"a,b\n")
        for _ in range(100):
            file.write(b"0,0\n" * 250_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=r"bomb.csv.gz unpacks to more than 500 times"):
        list(map(len, open_table(path).batches()))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_gzip_that_shrinks_well_but_is_small_is_read(tmp_path):
    path = table(tmp_path, gzip.compress(b"a,b\n" + b"0,0\n" * 100_000), "t.csv.gz")
    assert read_table(path).height == 100_000


class Standard:
    """A standard stream of bytes."""

    def __init__(self, content: bytes = b"") -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n",
        gzip.compress(b"a,b\n1,2\n", mtime=0),
        b"a\tb\n1\t2\n",
        b'{"a": 1, "b": 2}\n',
        parquet(pl.DataFrame({"a": [1], "b": [2]})),
        arrow(pl.DataFrame({"a": [1], "b": [2]})),
    ],
    ids=["csv", "gzip", "tsv", "ndjson", "parquet", "arrow"],  # bytes may hold the time
)
def test_standard_input_is_read_in_any_format_and_more_than_once(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", Standard(content))
    assert open_table("-").columns == ["a", "b"]
    assert [tuple(map(str, row)) for row in read_table("-").rows()] == [("1", "2")]


def test_what_is_wrong_with_standard_input_is_said(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Standard())
    with pytest.raises(InputError, match="standard input is empty"):
        read_table("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        read_table("-")


def test_a_pipe_is_read_like_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"a,b\n1,2\n",))
    writer.start()
    assert open_table(pipe).columns == ["a", "b"]
    writer.join()
    assert read_table(pipe).rows() == [("1", "2")]


def test_a_name_with_stars_is_a_name(tmp_path):
    (tmp_path / "k=1").mkdir()
    path = written(tmp_path / "k=1" / "[a]*.parquet", FRAME)
    assert_frame_equal(read_table(path), FRAME)


def test_special_types_of_parquet_become_plain(tmp_path):
    frame = pl.DataFrame({"a": ["x"], "b": ["1.5"], "c": [None]}).with_columns(
        pl.col("a").cast(pl.Categorical), pl.col("b").cast(pl.Decimal(10, 2))
    )
    path = table(tmp_path, parquet(frame), "t.parquet")
    assert read_table(path).schema == {"a": pl.String, "b": pl.Float64, "c": pl.String}


# writing


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_overwritten_without_force(tmp_path, ending):
    path = table(tmp_path, "old", f"t.{ending}")
    with pytest.raises(InputError, match=r"--output .* exists\. .* --force to overwrite"):
        written(path, FRAME)
    assert path.read_text() == "old"
    assert_frame_equal(read_table(written(path, FRAME, force=True)), as_read(FRAME, ending))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_failure_leaves_nothing_behind_and_stays_what_it_was(tmp_path, ending):
    with pytest.raises(ZeroDivisionError), table_writer(str(tmp_path / f"t.{ending}")) as write:  # noqa: PT012
        write(FRAME)
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_appears_meanwhile_is_kept(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    with pytest.raises(InputError, match="must be a new file"), table_writer(str(path)) as write:  # noqa: PT012
        write(FRAME)
        path.write_text("other")
    assert path.read_text() == "other"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_writer_without_frames_writes_a_file(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    with table_writer(str(path)):
        assert not path.exists()
    assert path.exists()


def test_json_lines_refuse_infinite_numbers_that_would_become_null(tmp_path):
    with pytest.raises(InputError, match="infinite numbers, and column 'llr' has one"):
        written(tmp_path / "t.jsonl", pl.DataFrame({"llr": [1.0, np.inf]}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("none/t.csv", r"none/t\.csv is in a folder that does not exist"),
        ("folder.csv", "--output folder.csv is a folder"),
        ("/dev/null.csv", "is a device"),
        ("t.xls", r"t\.xls must end in"),
        ("a\0.csv", "NUL"),
        ("a" * 5000 + ".csv", "name too long"),
    ],
)
def test_targets_that_are_not_files_are_refused(tmp_path, monkeypatch, target, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    if target.startswith("/dev"):
        (tmp_path / "null.csv").symlink_to("/dev/null")
        target = "null.csv"
    with pytest.raises(InputError, match=words):
        written(Path(target), FRAME, force=True)


def test_two_outputs_or_an_output_and_an_input_are_never_one_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("a,b\n")
    (tmp_path / "link.csv").symlink_to("in.csv")
    os.link("in.csv", "hard.csv")
    for name in ("in.csv", "./in.csv", "link.csv", "hard.csv", str(tmp_path / "in.csv")):
        with pytest.raises(InputError, match=r"--output .* is an input too"):
            require_outputs({"--output": name}, ("in.csv",), force=True)
    with pytest.raises(InputError, match="--report m is --output too"):
        require_outputs({"--output": "m", "--report": "./m"})
    require_outputs(
        {"--output": "m", "--report": "n", "--other": None, "--table": "-"}, ("-", None)
    )


def test_a_full_disk_is_a_sentence(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_csv", full)
    with pytest.raises(InputError, match=r"cannot be written: No space left"):
        written(tmp_path / "t.csv", FRAME)
    assert list(tmp_path.iterdir()) == []


def test_formulas_are_left_as_they_are(tmp_path):
    cells = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1+1", "-x"]
    path = written(tmp_path / "t.csv", pl.DataFrame({"a": cells, "b": cells}))
    assert read_table(path)["a"].to_list() == cells


def test_compressed_tables_are_the_same_bytes_each_time(tmp_path):
    one, other = (written(tmp_path / f"{i}.csv.gz", FRAME).read_bytes() for i in range(2))
    assert one == other


def test_standard_output_has_the_header_once(monkeypatch):
    monkeypatch.setattr(sys, "stdout", out := Standard())
    with table_writer("-") as write:
        write(pl.DataFrame({"a": [1], "b": [2]}))
        write(pl.DataFrame({"a": [3], "b": [4]}))
    assert out.buffer.getvalue() == b"a,b\n1,2\n3,4\n"


_PEAK = """
import resource, sys
from deciban.cli.tables import open_table
rows = sum(frame.height for frame in open_table(sys.argv[1]).batches())
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def peak(path: Path) -> tuple[int, int]:
    """Rows read, and the most memory held, in MiB."""
    command = [sys.executable, "-c", _PEAK, str(path)]
    rows, memory = subprocess.run(command, check=True, capture_output=True).stdout.split()
    return int(rows), int(memory)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_memory_stays_flat_however_long_the_table_is(tmp_path, ending):
    frame = pl.DataFrame(np.random.default_rng(0).normal(size=(100_000, 4)))
    memory = []
    for times in (1, 8):
        path = tmp_path / f"{times}.{ending}"
        with table_writer(str(path)) as write:
            for _ in range(times):
                write(frame)
        rows, most = peak(path)
        assert rows == times * 100_000
        memory.append(most)
    assert memory[1] < memory[0] + 60  # the longer file is 50 MB longer
