"""Docstrings that are derived from declarations: complete, current, and what Python's readers of docstrings show."""

from __future__ import annotations

import copy
import doctest
import functools
import inspect
import os
import pickle
import pydoc
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import nbgrad
from nbgrad.methods.functions import FUNCTIONS
from nbgrad.ops.core import OPS
from nbgrad.ops.describe import derivatives, describe, docstring_of, example_of, formula_text, infix, subject_of, subject_of_variant
from nbgrad.ops.docstring import Docstring
from nbgrad.ops.expr import constant, scalar, symbol
from nbgrad.ops.variants import VARIANTS

ROOT = Path(__file__).parents[2]
X, Y, G = symbol("x"), symbol("y"), symbol("g")
PLACES = {"": FUNCTIONS, "linalg.": vars(nbgrad.linalg), "special.": vars(nbgrad.special)}
VARIANT_FUNCTIONS = {variant.names[0] for variant in VARIANTS if variant.function}
DERIVED = {
    place + name: member.__doc__
    for place, members in PLACES.items()
    for name, member in members.items()
    if isinstance(member.__doc__, Docstring)
}


def environment() -> dict[str, str]:
    """That of a process of its own."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}


@pytest.mark.early
def test_written_documentation_is_current():
    """``make docs`` would change nothing: examples and the page of operations are those of declarations and samples.

    Of the stubs tests/test_stubs.py says so.
    """
    script = "from tools import document, stubs; raise SystemExit(stubs.refresh(document.files()))"
    done = subprocess.run(
        [sys.executable, "-c", script, "--check"], cwd=ROOT, capture_output=True, text=True, timeout=300, env=environment()
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_examples_travel_with_the_package():
    """What is no Python in the package is among the files that an installation copies."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["nbgrad"]
    copied = {path for pattern in patterns for path in (ROOT / "nbgrad").glob(pattern)}
    assert ROOT / "nbgrad" / "ops" / "examples.txt" in copied


@pytest.mark.parametrize("name", sorted(name for name, op in OPS.items() if op.function))
def test_function_has_the_derived_docstring(name):
    """What ``help`` shows of a function is what is derived from its declaration."""
    taken = [op.name for op in OPS.values() if op.function and name in op.aliases]  # where is that of a condition alone, too
    subject = subject_of_variant(name) if name in VARIANT_FUNCTIONS else subject_of(taken[0] if taken else name)
    assert inspect.getdoc(FUNCTIONS[name]) == describe(subject, example_of(taken[0] if taken else name))


@pytest.mark.parametrize("name", sorted(DERIVED))
def test_docstring_has_all_sections(name):
    """Sentence, signature, operands, errors and derivative are there."""
    text = DERIVED[name]
    assert text.split("\n", 1)[0].strip()
    for part in ("\nSignature: ", "\nOperands:\n", "\nRaises:\n", "\nDerivative"):
        assert part in text, part


def test_errors_stand_in_one_section():
    """What a function says of its errors and what its declaration implies are one list, of which no error is there twice."""
    texts = {name: str(doc).split("\n\n") for name, doc in DERIVED.items()}
    sections = {name: [part for part in parts if part.startswith("Raises:")] for name, parts in texts.items()}
    assert {name for name, found in sections.items() if len(found) > 1} == set()
    assert "    LinAlgError: A is singular.\n    ShapeError: they do not go together.\n" in sections["linalg.solve"][0]


def test_most_operations_have_an_example():
    """An operation without example is an exception."""
    without = sorted(name for name, text in DERIVED.items() if ">>>" not in text)
    assert len(DERIVED) > 400
    assert len(without) < len(DERIVED) // 10, without


@pytest.mark.parametrize("name", ["tanh", "add", "clamp", "sum", "transpose", "cumsum", "multiply"])
def test_method_says_what_the_function_says(name):
    """A method of each kind has its function's docstring."""
    assert getattr(nbgrad.Tensor, name).__doc__ == getattr(nbgrad, name).__doc__


@pytest.mark.parametrize(
    "name",
    sorted(
        variant.names[0]
        for variant in VARIANTS
        if not (variant.function and variant.method) and variant.names[0] in vars(nbgrad.Tensor) and variant.names[0] in FUNCTIONS
    ),
)
def test_form_that_is_no_variant_says_what_it_is(name):
    """Where the function alone takes ``inplace``, the method does not promise it."""
    for form in (getattr(nbgrad, name), getattr(nbgrad.Tensor, name)):
        promised = form.__doc__.split("\nSignature: ", 1)[1].split("\n")[0]
        assert ("inplace" in promised) == ("inplace" in inspect.signature(form).parameters)


@pytest.mark.parametrize("name", ["relu", "elu", "hardtanh", "positive", "conj_physical"])
def test_variant_says_what_its_operation_says(name):
    """A variant that adds to an operation begins with that one's sentence."""
    assert getattr(nbgrad, name).__doc__.startswith(OPS[name].doc[:20])


@pytest.mark.parametrize("name, operator", [("add", "__add__"), ("sub", "__sub__"), ("div", "__truediv__")])
def test_operator_says_what_the_operation_is(name, operator):
    """Operators take no options, which variants have."""
    assert getattr(nbgrad.Tensor, operator).__doc__ == docstring_of(name)


def test_property_says_what_its_operation_is():
    """``x.T`` is no function: the property has the docstring."""
    assert inspect.getdoc(vars(nbgrad.Tensor)["T"]) == docstring_of("T")


@pytest.mark.parametrize("name, public", [("linalg_det", "linalg.det"), ("erfcx", "special.erfcx")])
def test_function_of_a_namespace_is_named_by_it(name, public):
    """The signature and NumPy's name are those below the package."""
    function = functools.reduce(getattr, public.split("."), nbgrad)
    assert f"\nSignature: {public}(" in function.__doc__
    assert function.__doc__ == docstring_of(name, public)
    assert "NumPy: np.linalg.det" in nbgrad.linalg.det.__doc__


# ---- texts that are derived when they are read: see NOTE [Docstrings] --------------------------------------------------


def test_nothing_is_derived_by_an_import():
    """What derives and what reads the examples is imported when somebody asks."""
    script = (
        "import sys, nbgrad; assert 'nbgrad.ops.describe' not in sys.modules; "
        "assert 'x: g * (1 - out * out)' in nbgrad.tanh.__doc__; assert 'nbgrad.ops.describe' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 0, done.stderr


READERS = {
    "inspect": lambda doc: inspect.getdoc(documented(doc)),
    "pydoc": lambda doc: pydoc.getdoc(documented(doc)),
    "doctest": lambda doc: doctest.DocTestParser().get_examples(doc),
    "cleandoc": inspect.cleandoc,
    "str": str,
    "repr": repr,
    "length": len,
    "hash": hash,
    "letters": list,
    "lines": lambda doc: doc.splitlines(),
    "format": lambda doc: f"{doc}",
    "conversion": lambda doc: f"{doc!s}{doc!r}{doc:>900}",
    "encode": lambda doc: doc.encode(),
    "contains": lambda doc: "Derivative" in doc,
    "slice": lambda doc: doc[5:40],
    "order": lambda doc: (doc < "a", doc > "a"),
    "behind": lambda doc: doc + "a",
    "before": lambda doc: "a" + doc,
    "twice": lambda doc: 2 * doc,
    "pickle": lambda doc: pickle.loads(pickle.dumps(doc)),
    "copy": copy.deepcopy,
}


def documented(doc):
    """A function with that docstring."""

    def function():
        pass

    function.__doc__ = doc
    return function


@pytest.mark.parametrize("reader", READERS)
def test_reader_gets_the_whole_text(reader):
    """Whatever reads a docstring gets from the derived one what it gets from an ordinary str of its characters."""
    doc = nbgrad.tanh.__doc__
    plain = docstring_of("tanh")
    assert type(plain) is str and type(doc) is Docstring
    assert READERS[reader](doc) == READERS[reader](plain)


def test_docstrings_of_one_text_are_equal():
    """To a str and to another derived one, on either side."""
    doc, plain = nbgrad.tanh.__doc__, docstring_of("tanh")
    assert doc == plain and plain == doc and doc == Docstring("tanh", "Another sentence.")
    assert doc != nbgrad.sinh.__doc__ and not doc != plain


def test_every_method_of_str_is_asked_of_the_text():
    """None is left to the characters that a Docstring has of its own, but for what is said of the object."""
    own = {"__getattribute__", "__getnewargs__", "__sizeof__", "maketrans"}
    assert vars(str).keys() - vars(Docstring).keys() <= own


def test_docstring_survives_wraps():
    """``functools.wraps`` hands it on."""

    @functools.wraps(nbgrad.tanh)
    def mine(x):
        return nbgrad.tanh(x)

    assert inspect.getdoc(mine) == docstring_of("tanh")


# ---- formulas as text --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expr",
    [
        G * (1 - X * X),
        (X - Y) - (Y - X),
        X / (Y / X),
        X / Y / X,
        -(X * Y),
        (-X) * Y,
        scalar.exp(-X) ** 2.0,
        X * (Y + 1),
        (X + Y) * G,
        constant(-2.0) * X,
        X - constant(-2.0),
        X ** (Y**2.0),
        (X**Y) ** 2.0,
    ],
    ids=infix,
)
def test_infix_means_the_expression(expr):
    """The text of an expression, evaluated by Python on numbers, is its value."""
    import math

    from nbgrad.ops.expr import evaluate

    values = {"x": 1.25, "y": 0.75, "g": 3.0}
    functions = {
        "add": float.__add__,
        "sub": float.__sub__,
        "mul": float.__mul__,
        "div": float.__truediv__,
        "neg": float.__neg__,
        "pow": float.__pow__,
        "exp": math.exp,
    }
    (want,) = evaluate((expr,), values, lambda name, operands: functions[name](*map(float, operands)))
    assert eval(infix(expr), {"exp": math.exp}, values) == pytest.approx(want, rel=1e-15)


def test_infix_of_bounds():
    """A choice between a number and its bound reads as the greater or lesser one; any other choice as it is."""
    assert infix(scalar.where(X < 2, 2, X)) == "maximum(x, 2)"
    assert infix(-scalar.where(X > Y, Y, X)) == "-minimum(x, y)"
    assert infix(scalar.where(X < 2, X, 2)) == "where(x < 2, x, 2)"
    assert infix(scalar.where(X < 2, 2, Y)) == "where(x < 2, 2, y)"


def test_infix_of_comparisons_and_masks():
    """``&`` binds closer than ``<``, so that comparisons under it are in parentheses."""
    assert infix(scalar.where((X >= 0.0) & (X < Y), 1, 0)) == "where((x >= 0) & (x < y), 1, 0)"


def test_derivative_by_formula_of_tensors_is_shown():
    """A rule that is a lambda shows as its body, one that is a function by what it says."""
    assert derivatives(OPS["transpose"]) == {"x": "g.transpose(dim0, dim1)"}
    assert "shared evenly" in derivatives(OPS["amax"])["x"]


def test_rule_without_source_names_what_it_takes():
    """Where no file has the text of a lambda, as in a string that was executed, its parameters are shown."""
    assert formula_text(eval("lambda g, out: g * out")) == "a function of g, out"


def test_declared_operation_is_described(same_table):
    """``nbgrad.declare`` gives a docstring of the same form, but for the example."""
    made = nbgrad.declare("eighth_power", lambda x: x**8, {"x": lambda x: 8 * x**7}, doc="x**8.")
    assert inspect.getdoc(made) == docstring_of("eighth_power")
    assert "x: g * 8 * x ** 7" in made.__doc__
