"""The site of the documentation: its pages, and the reference that is made of the objects. ``make docs-site`` builds it."""

from __future__ import annotations

import json
import re
import types
from importlib import import_module
from pathlib import Path

import nbgrad
from benchmarks.records import replace_between
from tools import gallery, reference, stubs

ROOT = Path(__file__).parents[1]
MADE = {"index.md", "changelog.md"}  # of files outside of docs


def test_every_page_is_in_the_navigation():
    """And the navigation names no other."""
    named = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M))
    assert named - MADE == {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}


def test_the_reference_has_every_public_name():
    """Of the package, and of its public modules and those within as their ``__all__`` says."""
    pages = {page.path: page for page in reference.pages()}
    modules = {name for name in stubs.public_names() if isinstance(getattr(nbgrad, name), types.ModuleType)}
    of_package = {name for page in pages.values() if page.prefix == "nbgrad" for name in page.members}
    assert of_package == {name for name in stubs.public_names() if name[0] != "_"} - modules
    for path in reference.modules():
        assert set(pages[path].members) == set(import_module(f"nbgrad.{path}").__all__), path
    assert {"nn.functional", "array_api.linalg", "interop.torch"} < set(pages)
    assert {"backward", "register_hook", "is_leaf", "to"} <= set(pages["tensor"].members)


def test_docstrings_become_markdown():
    """Paragraphs, sections with items, formulas and sessions; signs mean themselves."""
    doc = """x_1 * y.

    Args:
        x_1: a
            factor, as ``y``.

    Derivative (g: the cotangent of the result, out: the result):
        x: g * y

    >>> f(1)
    1
    """
    expected = [
        "x\\_1 \\* y.",
        "**Args**",
        "- **x\\_1**: a factor, as ``y``.",
        "**Derivative** (g: the cotangent of the result, out: the result)",
        "- x: `g * y`",
        "```pycon\n>>> f(1)\n1\n```",
    ]
    assert reference.docstring(doc) == "\n\n".join(expected)


def test_signatures_are_what_programs_write():
    """Texts are in quotes, annotations are not; functions have their names, and nothing says where in memory it is."""
    assert reference.signature("meshgrid", nbgrad.meshgrid) == "meshgrid(*tensors, indexing='ij')"
    layer = reference.signature("Layer", nbgrad.nn.TransformerDecoderLayer)
    assert layer.startswith("Layer(d_model: int, ") and "= relu, layer_norm_eps: float = 1e-05" in layer
    assert reference.constant({"relu": nbgrad.relu}) == "{'relu': relu}"


def test_a_name_is_told_of_once():
    """``nn.functional.relu`` is the package's: its entry leads there."""
    page = next(page for page in reference.pages() if page.path == "nn.functional")
    told = reference.entry(page, "relu", page.members["relu"])
    assert told.endswith("The same as [`nbgrad.relu`](elementwise.md#nbgrad.relu).")


def test_the_gallery_is_what_its_tool_writes():
    """The page and the README's table say what record and docstrings say; no example is missing, and pictures are small."""
    records = json.loads(gallery.RECORD.read_text(encoding="utf-8"))
    assert gallery.PAGE.read_text(encoding="utf-8") == gallery.page(records), "Hint: make examples"
    readme = gallery.README.read_text(encoding="utf-8")
    assert readme == replace_between(readme, gallery.START, gallery.END, gallery.table(records)), "Hint: make examples"
    programs = {path.stem for path in gallery.EXAMPLES.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")}
    assert programs - {"on_torch"} == set(gallery.NAMES) == set(records["examples"])
    assert sum(path.stat().st_size for path in gallery.PICTURES.iterdir()) < 500_000
