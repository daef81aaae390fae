"""What the documentation shows is true: examples in docstrings, in the README and in docs run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.dispatch.elementwise_plans import PLANS
from nbgrad.methods.functions import FUNCTIONS
from nbgrad.ops.core import OPS

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
# Pages of a few quick examples share a process, in which each has names of its own: most of the time is a process's start.
SHORT = [page for page in PAGES if page.parent.name in ("howto", "porting") or page.name == "tutorial.md"]
# They open libraries that a test machine may not have, or read other processes' folders.
SKIPPED = ("nbgrad.kernels.cuda",)


def modules() -> Iterator[str]:
    """All modules of the package."""
    for info in pkgutil.walk_packages(nbgrad.__path__, "nbgrad."):
        if not info.name.startswith(SKIPPED):
            yield info.name
    yield "nbgrad"


def examples() -> dict[str, doctest.DocTest]:
    """Every docstring with examples, once: of modules, and of functions and methods that are made from the table."""
    finder, found = doctest.DocTestFinder(exclude_empty=True), {}
    for name in modules():
        module = importlib.import_module(name)
        for test in finder.find(module, name, globs={**vars(module), "nbgrad": nbgrad}):
            found.setdefault(test.docstring, test)
    places = [("nbgrad", {**FUNCTIONS, **vars(nbgrad)}), ("nbgrad.Tensor", vars(nbgrad.Tensor))]
    for prefix, members in [*places, *((f"nbgrad.{name}", vars(getattr(nbgrad, name))) for name in ("linalg", "special"))]:
        for name, member in members.items():
            doc = getattr(member, "__doc__", None)
            if not name.startswith("_") and isinstance(doc, str) and ">>>" in doc:
                test = doctest.DocTestParser().get_doctest(doc, {"nbgrad": nbgrad}, f"{prefix}.{name}", None, None)
                found.setdefault(test.docstring, test)
    return {test.name: test for test in found.values() if test.examples}


EXAMPLES = examples()
# Modules whose examples need libraries that are no requirement, some of which take seconds to import.
NEEDED = {"nbgrad.interop.torch": "torch", "nbgrad.interop.jax": "jax", "nbgrad.utilities.tensorboard": "tensorboard"}


def needed(name: str) -> str | None:
    """The library that an example needs."""
    return next((library for module, library in NEEDED.items() if name.startswith(module)), None)


@pytest.fixture
def same_declarations() -> Iterator[None]:
    """Take back what an example declares; what calls have made on the way, as movements behind a batch, stays."""
    tables = [OPS, CALLS, PLANS, FUNCTIONS]
    before, members = [dict(table) for table in tables], set(vars(nbgrad.Tensor))
    yield
    declared = {name for new in set(OPS) - set(before[0]) for name in (new, *OPS[new].aliases)}
    for table, kept in zip(tables, before):
        for name in set(table) - set(kept):
            if name.removesuffix("_") in declared:
                del table[name]
        table.update(kept)
    for name in set(vars(nbgrad.Tensor)) - members:
        delattr(nbgrad.Tensor, name)


@pytest.mark.usefixtures("same_declarations")
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if needed(n) else ()) for n in sorted(EXAMPLES)])
def test_docstring(name):
    """The examples of a docstring give what it shows; those that need another library where that is installed."""
    if library := needed(name):
        pytest.importorskip(library)
    test, report = EXAMPLES[name], []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)


def test_there_are_examples():
    """The finder finds: a dozen docstrings have examples, in modules and on functions made from the table."""
    assert len(EXAMPLES) >= 12


def code_of(page: Path) -> str:
    """The blocks ``python`` of a page, in the lines in which they stand there; ``python fragment`` ones are not run."""
    text, code = page.read_text(encoding="utf-8"), []
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.S | re.M):
        code.append("\n" * (text.count("\n", 0, block.start(1)) - "".join(code).count("\n")) + block[1])
    return "".join(code)


def run_code(*pages: Path) -> None:
    """Run the blocks of pages in a process of their own, each page's in a namespace of its own."""
    programs = [(str(page), code_of(page)) for page in pages]
    program = f"for page, code in {programs!r}:\n    exec(compile(code, page, 'exec'), {{'__name__': '__main__'}})"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-"],
        input=program,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if page not in SHORT], ids=lambda page: page.name)
def test_python_blocks_of_a_page(page):
    """The blocks ``python`` of a page run in order, in a process of their own; ``python fragment`` ones do not."""
    if not code_of(page):
        pytest.skip("no code to run")
    run_code(page)


def test_python_blocks_of_short_pages():
    """Tutorial, how-to pages and those on porting run, and each has code."""
    assert len(SHORT) >= 10 and all(map(code_of, SHORT))
    run_code(*SHORT)


# Modules of which every function has an example: what users come for.
SHOWN = (
    "accelerator",
    "autograd.forward_ad",
    "autograd.functional",
    "compiler",
    "cuda",
    "fft",
    "func",
    "jit",
    "linalg",
    "special",
    "testing",
)


@pytest.mark.parametrize("name", SHOWN)
def test_public_functions_have_examples(name):
    """Every public function of the module shows how it is called."""
    module = importlib.import_module(f"nbgrad.{name}")
    functions = {each: getattr(module, each) for each in module.__all__ if inspect.isfunction(getattr(module, each))}
    assert functions
    assert not [each for each, function in functions.items() if ">>>" not in (function.__doc__ or "")]


def test_public_names_have_docstrings():
    """Whatever of the package can be called says what it does."""
    public = {name: getattr(nbgrad, name) for name in dir(nbgrad) if not name.startswith("_")}
    assert len(public) > 500
    assert not [name for name, value in public.items() if callable(value) and not getattr(value, "__doc__", None)]


def test_files_that_the_architecture_names_exist():
    """Modules move; the page moves with them."""
    named = set(re.findall(r"`([\w/]+\.py|[\w/]+/)`", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")))
    places = [ROOT, ROOT / "benchmarks", ROOT / "nbgrad", *(path.parent for path in (ROOT / "nbgrad").rglob("__init__.py"))]
    assert len(named) > 50
    assert not [name for name in sorted(named) if not any((place / name).exists() for place in places)]


LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page):
    """Relative links name files of the project."""
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_the_page_of_performance_is_what_the_report_writes(tmp_path):
    """``docs/performance.md`` says what the committed records say: numbers are typed by nobody."""
    from benchmarks.report import PAGE, update_operations

    update_operations(tmp_path / "performance.md")
    assert (tmp_path / "performance.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8"), "Hint: make bench"


def test_the_tables_of_benchmarks_are_what_the_report_writes():
    """The README's table, and the whole one that it leads to, say what the newest committed record says."""
    from benchmarks.records import newest, replace_between
    from benchmarks.report import END, START, headline, page

    source, readme = newest(), (ROOT / "README.md").read_text(encoding="utf-8")
    record, whole = json.loads(source.read_text(encoding="utf-8")), source.with_suffix(".md")
    assert whole.read_text(encoding="utf-8") == page(record, source.with_suffix(".png").name), "Hint: make bench"
    table = headline(record, whole.relative_to(ROOT).as_posix())
    assert readme == replace_between(readme, START, END, table), "Hint: make bench"


def test_benchmarks_and_modules_that_are_named_exist():
    """Whoever refers to a benchmark, or says where a decision was taken, names a file that there is."""
    sources = [*(ROOT / "nbgrad").rglob("*.py"), *PAGES, ROOT / "benchmarks" / "decisions.md"]
    named = {
        name for path in sources for name in re.findall(r"benchmarks/(\w+\.py)|`(test_\w+\.py)`", path.read_text(encoding="utf-8"))
    }
    missing = {name for pair in named for name in pair if name and not (ROOT / "benchmarks" / name).exists()}
    decisions = (ROOT / "benchmarks" / "decisions.md").read_text(encoding="utf-8")
    missing |= {name for name in re.findall(r"^\| `([\w/.]+)` \|", decisions, re.M) if not (ROOT / "nbgrad" / name).exists()}
    assert not missing


def test_costs_are_in_the_page_of_performance():
    """Docstrings, comments and the other pages say what and why; figures, which rot, are told once, beside their benchmark."""
    from benchmarks.cuda import report as gpu
    from benchmarks.records import replace_between
    from benchmarks.report import END, START

    figures = re.compile(r"\d ?(?:us|µs|ms|ns)\b|\d → \d|\d of torch's time|\d times (?:as (?:long|fast)|the speed)")
    allowed = {"nbgrad/profiling/events.py": "0.000us", "nbgrad/dispatch/plans.py": "in ns"}  # a result, and the unit of a model
    pages = [path for path in PAGES if path.name != "performance.md"]
    texts = {path: path.read_text(encoding="utf-8") for path in [*(ROOT / "nbgrad").rglob("*.py"), *pages]}
    readme = ROOT / "README.md"  # but for the tables that runs of the benchmarks write
    texts[readme] = replace_between(replace_between(texts[readme], START, END, ""), gpu.START, gpu.END, "")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path, text in texts.items()
        for line in text.splitlines()
        if figures.search(line) and allowed.get(str(path.relative_to(ROOT)), "\n") not in line
    ]
    assert not found
