"""Editors and type checkers are told the truth: stubs name what the running package has, with its signatures."""

from __future__ import annotations

import ast
import inspect
import tomllib
import warnings
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Iterator

import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.ops.core import OPS
from nbgrad.ops.variants import VARIANTS
from tests.samples import SAMPLES
from tests.samples.checking import attributes_of, tensors
from tools import stubs

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nbgrad"
FILES = {
    "": "__init__.pyi",
    "linalg": "linalg.pyi",
    "special": "special.pyi",
    "nn.functional": "nn/overwriting.pyi",
    "Tensor": "tensors/members.pyi",
}
WRITTEN = ast.parse((PACKAGE / "tensors" / "tensor.py").read_text(encoding="utf-8"))

# Arguments that may be anything, and why.
ANYTHING = {
    "key": "whatever NumPy takes for an index",
    "data": "numbers, nested at will",
    "stream": "another library's object",
    "args kwargs bounds": "forms that are told apart by kind",
    "inputs": "one leaf or several, in any sequence",
}


# What functions take and their signatures do not show.
FURTHER = [(name, inspect.Parameter.KEYWORD_ONLY, "None") for name in ("axis", "keepdims", "out")]


class Told(ast.NodeVisitor):
    """What a stub says: ``{name: definition}``, imported names with None."""

    def __init__(self, body: list[ast.stmt]):
        self.names: dict[str, Any] = {}
        self.results: dict[str, set[str]] = {}
        for statement in body:
            if isinstance(statement, ast.ImportFrom):
                self.names |= {
                    alias.asname: None
                    for alias in statement.names
                    if alias.asname and alias.asname[0] != "_" or alias.asname == alias.name
                }
            elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                self.names[statement.name] = statement
                if isinstance(statement, ast.FunctionDef) and statement.returns is not None:
                    kind = ast.unparse(statement.returns).removeprefix("_").partition("[")[0]
                    self.results.setdefault(statement.name, set()).add(kind)
            elif isinstance(statement, ast.AnnAssign):
                self.names[ast.unparse(statement.target)] = statement


@cache
def stub(place: str) -> Told:
    """What the stub of a place says."""
    body = ast.parse((PACKAGE / FILES[place]).read_text(encoding="utf-8")).body
    if place == "Tensor":
        body = next(s for s in body if isinstance(s, ast.ClassDef)).body
    return Told(body)


def told(place: str) -> dict[str, Any]:
    """The definitions of a stub, by name; of several of one name the last."""
    return stub(place).names


def owner(place: str) -> Any:
    """The module, or the class."""
    found: Any = nbgrad
    for name in filter(None, place.split(".")):
        found = getattr(found, name)
    return found


def functions(place: str) -> Iterator[tuple[str, ast.FunctionDef, Any]]:
    """The functions of a stub, each with what runs."""
    for name, definition in told(place).items():
        if isinstance(definition, ast.FunctionDef):
            found = inspect.getattr_static(owner(place), name, None) if place == "Tensor" else getattr(owner(place), name, None)
            yield name, definition, getattr(found, "fget", None) or getattr(found, "__func__", found)


def test_stubs_are_current():
    """``make docs`` would change nothing, and there is no stub that it does not write."""
    files = dict(stubs.files())
    stale = [str(path) for path, text in files.items() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"{', '.join(stale)}: stale. Hint: make docs."
    assert set(PACKAGE.rglob("*.pyi")) == set(files)


def test_the_package_tells_what_it_has():
    """Every public name of the package is in its stub, and nothing else is; of modules those that have a public path."""
    running = {
        name
        for name in dir(nbgrad)
        if not name.startswith("_") and (not isinstance(getattr(nbgrad, name), ModuleType) or name in stubs.public_names())
    }
    assert {name for name in told("") if not name.startswith("_")} == running - {"annotations"}, "Hint: make docs."
    assert {name for name in told("") if not hasattr(nbgrad, name)} == set(), "Hint: make docs."


@pytest.mark.parametrize("place", ["linalg", "special"])
def test_namespaces_tell_what_they_have(place):
    """Every name of ``__all__`` is in the stub, and nothing else is."""
    assert set(told(place)) == set(owner(place).__all__)


def test_tensor_tells_what_it_has():
    """Every method and attribute that is hung on Tensor is in the stub of Members, but parts of operations that nobody calls."""
    body = next(s for s in WRITTEN.body if isinstance(s, ast.ClassDef) and s.name == "Tensor")
    written = {s.name for s in body.body if isinstance(s, ast.FunctionDef)}
    lines = (ROOT / "tests" / "signatures.txt").read_text().splitlines()
    torchs = {line.partition("(")[0].removeprefix("Tensor.") for line in lines if line.startswith("Tensor.")}
    stated = set(told("Tensor"))
    assert {name for name in stated if not hasattr(nbgrad.Tensor, name)} == set()
    public = {name for name in vars(nbgrad.Tensor) if not name.startswith("_")} - written
    assert (public & torchs) - stated <= {"layout", "ndimension", "nelement", "index"}
    parts = {op.name for op in OPS.values() if not op.function} | {name for v in VARIANTS for name in v.names}
    assert {
        name for name in public - stated - {"layout", "ndimension", "nelement"} if name.removesuffix("_") not in parts
    } == set(), "Hint: make docs."


@pytest.mark.parametrize("place", FILES)
def test_signatures_are_those_that_run(place):
    """Names, kinds and defaults of all parameters are those of ``inspect.signature``; what is taken beyond those comes last."""
    count = 0
    for name, definition, running in functions(place):
        if not isinstance(running, FunctionType) and not hasattr(running, "__wrapped__"):
            assert callable(running), name
            continue
        stated = parameters(definition)
        wanted = [(p.name, p.kind, shown(p.default)) for p in inspect.signature(running).parameters.values()]
        if place == "Tensor" and stated[:1] and stated[0][0] == "self":
            stated, wanted = stated[1:], wanted[1:]
        while stated != wanted and stated[-1:] and stated[-1] in FURTHER:
            stated = stated[:-1]
        assert stated == wanted, name
        count += 1
    assert count > 5


def parameters(definition: ast.FunctionDef) -> list[tuple[str, Any, Any]]:
    """Names, kinds and defaults in a stub."""
    given, kinds = definition.args, inspect.Parameter
    defaults = [None] * (len(given.args) - len(given.defaults)) + list(given.defaults)
    found = [(a.arg, kinds.POSITIONAL_OR_KEYWORD, d) for a, d in zip(given.args, defaults)]
    found += [(given.vararg.arg, kinds.VAR_POSITIONAL, None)] if given.vararg else []
    found += [(a.arg, kinds.KEYWORD_ONLY, d) for a, d in zip(given.kwonlyargs, given.kw_defaults)]
    found += [(given.kwarg.arg, kinds.VAR_KEYWORD, None)] if given.kwarg else []
    return [(name, kind, None if default is None else ast.unparse(default)) for name, kind, default in found]


def shown(default: Any) -> str | None:
    """A default as the stub has it."""
    return None if default is inspect.Parameter.empty else stubs.default_of(default)


@pytest.mark.parametrize("place", ["", "linalg", "special"])
def test_what_takes_out_says_so(place):
    """``out=`` is in the stub of a function exactly where the operation writes into given memory."""
    for name, definition, running in functions(place):
        op = stubs.operation(place, name)
        if op is not None and not name.endswith("_") and "out" not in inspect.signature(running).parameters:
            assert ("out" in {a.arg for a in definition.args.kwonlyargs}) == op.out, name


@pytest.mark.parametrize("place", ["", "Tensor"])
def test_numpys_names_of_dimensions_are_taken(place):
    """Where a stub tells of ``axis=`` and ``keepdims=``, calls take them: as dim and keepdim."""
    x = nbgrad.arange(6.0).reshape(2, 3)
    count = 0
    for name, definition, running in functions(place):
        told_names = {a.arg for a in definition.args.kwonlyargs} & {"axis", "keepdims"}
        if "axis" in told_names and len(definition.args.args) - len(definition.args.defaults) == 1:
            keeps, dim = "keepdims" in told_names, (0, 1) if name == "nuclear_norm" else 1
            out = running(x, axis=dim, keepdims=True) if keeps else running(x, axis=dim)
            same = running(x, dim=dim, keepdim=True) if keeps else running(x, dim=dim)
            first, other = (out, same) if isinstance(out, nbgrad.Tensor) else (out[0], same[0])
            assert first.equal(other), name
            count += 1
    assert count > 8 and "axis" in {a.arg for a in told(place)["sum"].args.kwonlyargs}


@pytest.mark.parametrize("place", FILES)
def test_types_say_something(place):
    """Every parameter and every result has a type; only those that may be anything are Any."""
    named = {name for names in ANYTHING for name in names.split()}
    for name, definition, _ in functions(place):
        given = definition.args
        for a in [*given.args, *given.kwonlyargs, *filter(None, [given.vararg, given.kwarg])]:
            vague = a.annotation is None or ast.unparse(a.annotation) == "Any"
            assert not vague or a.arg in named | {"self"}, f"{name}: {a.arg}"
        assert definition.returns is not None, name


def test_functions_that_stubs_lead_to_say_their_types():
    """Where a stub sends editors to a function of a module, all parameters and the result are annotated there."""
    silent = []
    for name in (name for name, definition in told("").items() if definition is None):
        running = getattr(nbgrad, name)
        if isinstance(running, FunctionType):
            signature = inspect.signature(running)
            kinds = [signature.return_annotation, *(p.annotation for p in signature.parameters.values())]
            silent += [name] if inspect.Parameter.empty in kinds else []
    assert silent == ["grad"]  # whose overloads say it


@pytest.mark.parametrize("place", FILES)
def test_hovering_shows_a_sentence(place):
    """What is made at run time has its first paragraph in the stub, where alone editors find it."""
    for name, definition, running in functions(place):
        if not name.startswith("__") and running is not None and running.__doc__:
            first = " ".join(str(running.__doc__).strip().split("\n\n")[0].split())
            assert " ".join((ast.get_docstring(definition) or "").split()) == first, name


@pytest.mark.parametrize("name", sorted(set(SAMPLES) & set(told("")) & set(OPS)))
def test_results_are_of_the_stated_type(name):
    """What calls of the samples return is what the stub says: a tensor, several, or a tuple with names."""
    stated, row = told("")[name], SAMPLES[name]
    if not isinstance(stated, ast.FunctionDef):
        return
    expected = stub("").results[name]
    for call in row.calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                out = CALLS[name](*tensors(row, call), **attributes_of(call))
            except (nbgrad.NbgradError, TypeError):
                continue
        assert (
            "Tensor | Any" in expected
            or ("Tensor" if isinstance(out, nbgrad.Tensor) else stubs.written_class(out).__name__) in expected
        ), call


def test_stubs_travel_with_the_package():
    """py.typed and every stub are among the files that an installation copies."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["nbgrad"]
    copied = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    assert {PACKAGE / "py.typed", *PACKAGE.rglob("*.pyi")} <= copied


def test_mypy_looks_at_a_users_program():
    """What ``assert_type`` and ``ignore`` say in tests/typed_program.py is looked at with the package, and counts."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert "tests/typed_program.py" in options["files"] and options["warn_unused_ignores"]
