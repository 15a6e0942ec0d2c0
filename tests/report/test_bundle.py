"""Pages that hold all that they need."""

import json
import re

import numpy as np
import pytest

from deciban.report import bundle as bundling
from deciban.report.bundle import bundle, pack, read_web, write_page


def modules(monkeypatch, **sources):
    monkeypatch.setattr(bundling, "read_web", lambda name: sources[name.removesuffix(".js")])


def test_a_bundle_has_each_module_once_below_what_it_imports(monkeypatch):
    modules(
        monkeypatch,
        low="export const one = 1;\n",
        mid='import { one } from "./low.js";\nexport function two() { return 2 * one; }\n',
        top='import { two as pair } from "./mid.js";\npair();\n',
    )
    found = bundle("top")
    assert re.findall(r"const \$(\w+) =", found) == ["low", "mid", "top"]
    assert "const { two: pair } = $mid;" in found
    assert "return { one };" in found
    assert "import" not in found
    assert "export" not in found


def test_no_script_can_end_its_element_or_hide_a_part():
    for name in ("vendor/d3.js", "vendor/plot.js", "state.js", "samples.js", "colors.js"):
        text = read_web(name)
        assert "</script" not in text.lower()
        assert "<!--" not in text


def test_packed_arrays_are_small_and_say_their_type():
    packed = pack(np.zeros(100_000, dtype=np.float32))
    assert packed["type"] == "float32"
    assert len(packed["data"]) < 1000


@pytest.mark.parametrize("kind", ["float32", "int32", "uint16", "uint8"])
def test_the_browser_unpacks_what_was_packed(page, kind):
    array = np.arange(-600, 600).astype(kind).reshape(-1, 3)
    found = page.evaluate(
        f"(packed) => {{ {bundle('samples')}\nreturn $samples.unpack(packed).then(Array.from); }}",
        pack(array),
    )
    assert found == array.ravel().tolist()


def test_data_cannot_end_their_element_and_have_names_for_what_json_lacks(monkeypatch):
    monkeypatch.setattr(
        bundling,
        "read_web",
        lambda name: "{{ data }}" if name.endswith(".html") else "",
    )
    bundling.load_templates.cache_clear()
    data = {
        "name": "</script><b>",
        "inf": -np.inf,
        "nan": np.nan,
        "n": np.int64(3),
        "one": (1, True),
    }
    page = write_page("any", data, title="t")
    bundling.load_templates.cache_clear()
    assert "</script" not in page
    assert json.loads(page) == {
        "name": "</script><b>", "n": 3, "one": [1, True],
        "inf": {"$number": "-Infinity"}, "nan": {"$number": "NaN"},
    }  # fmt: skip
