"""Pages whose code runs: blocks of Python and shell commands, in the order of the page.

Names live from block to block, and so do files: a page runs in one empty folder.

- ```python with ``>>>`` is a doctest; without, it is run as it is.
- ```sh is run by bash, which stops at the first error; a ```text block right after it is its
  output, ``...`` stands for anything.
- ``<!-- not run: reason -->`` before a block leaves it out, ``<!-- exit status: 3 -->`` expects
  that status.
"""

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = {"python", "sh"}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
_BLOCK = re.compile(
    r"(?:^ *<!-- (?P<remark>[^\n]*?) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
_FENCE = re.compile(r"^ *((?:```|~~~|````).*)$", re.MULTILINE)
_KNOWN = re.compile(r"```(?:python|sh|text)?|`{3,4}\{[a-z-]+\}.*|````")  # and directives
_OUTPUT = re.compile(r"\n+ *```text\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, its text and the line on which the text starts."""

    language: str
    text: str
    line: int
    remark: str
    output: str | None

    @property
    def is_run(self):
        return self.language in LANGUAGES and not self.remark.startswith("not run: ")


def read_blocks(page):
    """The fenced blocks of a page, in their order; a block that would never be run is an error."""
    text = page.read_text(encoding="utf-8")
    odd = [line for line in _FENCE.findall(text) if not _KNOWN.fullmatch(line.strip())]
    assert not odd, f"{page.name}: blocks must be ```python, ```sh or ```text; got {odd}"
    assert "doctest: +SKIP" not in text, f"{page.name}: say why a block is <!-- not run: ... -->"
    found = []
    for match in _BLOCK.finditer(text):
        output = _OUTPUT.match(text, match.end()) if match["language"] == "sh" else None
        indent = len(match["indent"])
        found.append(
            Block(
                match["language"],
                "".join(line[indent:] or "\n" for line in match["text"].splitlines(keepends=True)),
                text.count("\n", 0, match.start("text")) + 1,
                match["remark"] or "",
                output and output[1],
            )
        )
    return found


def run_page(page, folder, languages=LANGUAGES):
    """Run the blocks of a page in a folder; the first failure is an AssertionError."""
    names = {"__name__": "__main__"}
    for block in read_blocks(page):
        if not block.is_run or block.language not in languages:
            continue
        where = f"{page.name}:{block.line}"
        if block.language == "sh":
            _run_shell(block, folder, where)
        elif ">>> " in block.text:
            begins = block.text.lstrip().startswith(">>> ")
            assert begins, f"{where}: lines before the first prompt would not be run"
            _run_doctest(block, names, page, where)
        else:
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)


def _run_doctest(block, names, page, where):
    test = doctest.DocTestParser().get_doctest(block.text, names, where, str(page), block.line - 1)
    printed = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=printed.append, clear_globs=False)
    names.update(test.globs)
    assert not printed, "".join(printed)


def _run_shell(block, folder, where):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env=os.environ | {"PATH": path, "COLUMNS": "100"},
    )  # fmt: skip
    expected = int(block.remark.removeprefix("exit status: ") or 0)
    assert done.returncode == expected, f"{where}\n{block.text}\n{done.stdout}"
    if block.output is not None:
        matches = doctest.OutputChecker().check_output(block.output, done.stdout, FLAGS)
        assert matches, f"{where}: the page shows\n{block.output}\nbut it printed\n{done.stdout}"
