"""The pages tell the truth: their Python and their commands run, their output is real.

On each page the blocks run in order, in one empty folder and one name space:

- ``python`` is executed; when a ``text`` block follows, that is what it prints;
- in ``console``, commands stand after ``$ ``; every line shown below must be printed;
- numbers may differ by a little, as on other machines, and seconds by anything;
- a comment ``<!-- FILE [MARK] -->`` before a block says that it is that part of a file.
"""

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import partwise
from partwise.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
PACKAGE = Path(partwise.__file__).parent

_BLOCK = re.compile(
    r"(?:^<!-- (?P<file>\S+) \[(?P<mark>\w+)\] -->\n)?"
    r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?")
# commands that set a machine up; the pages' other commands are run
_SET_UP = ("git clone", "cd ", "python3 -m venv", ".venv/bin/", "scripts/", "rm -r ")


class Block(NamedTuple):
    kind: str
    text: str
    line: int
    file: str | None
    mark: str | None


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            m["kind"],
            m["text"],
            text[: m.start()].count("\n") + 1,
            m["file"],
            m["mark"],
        )
        for m in _BLOCK.finditer(text)
    ]


def marked_part(file: str, mark: str) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    return text.split(f"# [{mark}]\n", 1)[1].split("# [end]\n", 1)[0].strip()


def plain(line: str) -> str:
    """A line without its numbers and the width of its columns."""
    return " ".join(_NUMBER.sub("#", line).split())


def numbers(text: str) -> list[float]:
    """Those of a text; none in lines of seconds, nor of gaps, which have a limit."""
    if text.startswith(("seconds ", "relative gap ")):
        return []
    return [float(number[0].replace(",", "")) for number in _NUMBER.finditer(text)]


def is_alike(shown: str, printed: str, n_free: int = 0) -> bool:
    """Equal words; numbers within five percent, or what rounding makes of zero.

    The last `n_free` numbers may be any.
    """
    if plain(shown) != plain(printed):
        return False
    ours, theirs = numbers(shown), numbers(printed)
    n = len(ours) - n_free
    ours, theirs = ours[:n], theirs[:n]
    return ours == pytest.approx(theirs, rel=0.05, abs=1e-9)


def run_python(text: str, names: dict, where: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, where, "exec"), names)
    return printed.getvalue()


def run_command(command: str, where: str) -> str:
    """Standard output and error of one command, which must succeed."""
    words = shlex.split(command)
    if words[0] == "partwise":
        printed = io.BytesIO()  # commands may write bytes
        stream = io.TextIOWrapper(printed, encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            code = main(words[1:])
        text = printed.getvalue().decode()
        assert code == 0, f"{where}: {command} failed: {text}"
        return text
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, f"{where}: {command} failed: {done.stderr}"
    return done.stdout + done.stderr


def run_console(text: str, where: str) -> None:
    printed: list[str] = []
    n_free = 0  # columns at the end of a table that are gaps and seconds
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            command = line.removeprefix("$ ")
            is_set_up = command.startswith(_SET_UP)
            got = "" if is_set_up else run_command(command, where)
            printed = got.splitlines()
        elif line.strip() and line.strip() != "…":
            is_printed = any(is_alike(line, p, n_free) for p in printed)
            alike = [p for p in printed if plain(p) == plain(line)]
            assert is_printed, f"{where}: no longer printed: {line}, but {alike}"
        header = re.search(r"(  gap %)?  seconds$", line)
        if header or not line.strip():
            n_free = 1 + bool(header[1]) if header else 0


def test_numbers_count_and_seconds_do_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("printed").write_text(
        "accuracy 0.9911\nseconds read 5.0\n\ntask f1 seconds\na 0.5 1.0\n"
    )
    page = "$ cat printed\naccuracy 0.99\nseconds read 1.0\n\ntask f1  seconds\n"
    run_console(page + "a 0.5 3.0\n", "page")
    for shown in ("a 0.4 1.0", "a 0.5 1.0 2.0", "\na 0.5 3.0"):
        with pytest.raises(AssertionError, match="no longer printed"):
            run_console(page + shown, "page")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    module = ModuleType("page")  # a real one: classes of the page can be pickled
    monkeypatch.setitem(sys.modules, "page", module)
    names = vars(module)
    printed = ""
    for block in blocks_of(page):
        where = f"{page.name}:{block.line}"
        if block.file:
            assert block.text.strip() == marked_part(block.file, block.mark), where
        if block.kind == "python":
            printed = run_python(block.text, names, where)
        elif block.kind == "text" and printed:
            assert is_alike(block.text, printed), f"{where}: {printed}"
            printed = ""
        elif block.kind == "console":
            run_console(block.text, where)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("example", sorted(ROOT.glob("examples/*.py")), ids=str)
def test_examples_run(example, tmp_path):
    done = subprocess.run(
        [sys.executable, example], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "module",
    [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in sorted(PACKAGE.rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ],
)
def test_examples_in_docstrings_run(module):
    result = doctest.testmod(import_module(module.removesuffix(".__init__")))
    assert result.failed == 0
