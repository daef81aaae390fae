"""Public functions, methods and modules take the arguments of torch's: names, order, defaults.

The list beside this file was made from torch by ``tools/signatures.py``; torch itself is not needed. What is not in nbgrad is
passed over, and compared from the day it is there.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import numpy as np
import pytest

import nbgrad
from nbgrad.ops.core import OPS, Op
from nbgrad.ops.spellings import target_of
from nbgrad.ops.variants import VARIANTS
from nbgrad.special import NAMES as SPECIAL
from tests.samples import SAMPLES
from tests.samples.checking import as_tuple, tensors
from tests.samples.row import Case, Row

LINES = [line for line in (Path(__file__).parent / "signatures.txt").read_text().splitlines() if not line.startswith("#")]
PLACES = sorted({line.partition("(")[0].removesuffix(".forward").rpartition(".")[0] for line in LINES})
REQUIRED = inspect.Parameter.empty
VARIANTS_WITH_OUT = {name for variant in VARIANTS if variant.out for name in variant.names}

# What differs, and why.
ACCEPTED = {
    "addmm baddbmm bmm mm Tensor.addmm Tensor.baddbmm Tensor.bmm Tensor.mm": "out_dtype: torch has it on CUDA alone",
    "arange": "one function serves counts and ranges: a single position is the end",
    "randint randint_like": "one function serves both: without low, the first position is the limit",
    "bernoulli": "without p the input has the probabilities",
    "max min Tensor.max Tensor.min": "the second position is a dimension or a tensor",
    "scatter Tensor.scatter Tensor.scatter_": "the fourth position is a tensor or a number",
    "std var std_mean var_mean Tensor.std Tensor.var": "one function serves all forms: a bool in the place of dim is unbiased",
    "nuclear_norm": "one function serves both forms: keepdim alone is given by name",
    "norm": "out and dtype are given by name: as a method it has dtype at another place in torch, too",
    "normal": "the form of one tensor is bernoulli's relative normal_: torch documents it nowhere",
    "binary_cross_entropy_with_logits kl_div": "torch documents those of nn.functional; reduction is a word there, a number here",
    "repeat_interleave": "repeats alone are given by position",
    "result_type": "torch documents tensor1 and tensor2",
    "view_copy": "one function serves sizes and dtypes",
    "Tensor.is_pinned Tensor.is_set_to Tensor.record_stream": "there is nothing to choose",
    "Tensor.expand": "implicit is the compiler's",
    "Tensor.index": "functorch's dimensions",
    "Tensor.random_ Tensor.uniform_": "from is a word of Python: it is taken by that name in a dict",
    "Tensor.to_sparse Tensor.to_sparse_bsc Tensor.to_sparse_bsr Tensor.to_sparse_csc Tensor.to_sparse_csr": (
        "they hand what they are given to nbgrad.sparse, which has torch's arguments"
    ),
    "hspmm sspaddmm": "out: how much a sparse result stores is not known before",
    "Tensor.to": "forms that are told apart by the kinds of their arguments",
    "nn.functional.elu_": "scale and input_scale are what selu and celu have",
    "nn.functional.rrelu_ rrelu rrelu_": "generator: that of nn.functional takes none",
    "lstm gru rnn_tanh rnn_relu": "one function serves sequences side by side and packed ones",
    "nn.Hardtanh": "min_value and max_value were the names before min_val and max_val",
    "while_loop": "what is carried is one tree, as JAX has it; torch spreads a tuple of tensors over arguments",
    "save": "a pickle of protocol 2 spells bytes as text",
    "compile": "what chooses among compilers, and their options; there is one",
    "func.jacrev": "_preallocate_and_copy is a way to save memory in torch",
}
REASONS = {name: reason for names, reason in ACCEPTED.items() for name in names.split()}


class Argument(NamedTuple):
    """A parameter of torch's: its place (None: by name alone), and its default."""

    name: str
    place: int | None
    default: Any


def forms(text: str) -> Iterator[list[Argument]]:
    """The signatures of a line."""
    for form in text.split(" | "):
        given = ast.parse(f"def f{form}: 0").body[0].args  # type: ignore[attr-defined]
        defaults = [REQUIRED] * (len(given.args) - len(given.defaults)) + [literal(d) for d in given.defaults]
        yield [
            *(Argument(a.arg, k, d) for k, (a, d) in enumerate(zip(given.args, defaults))),
            *(Argument(a.arg, None, REQUIRED if d is None else literal(d)) for a, d in zip(given.kwonlyargs, given.kw_defaults)),
        ]


def literal(node: ast.expr) -> Any:
    """A default; what is no literal is like any."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...


def found(path: str) -> Any:
    """What nbgrad has under a path; None where it has nothing."""
    owner: Any = nbgrad
    for name in path.split("."):
        owner = getattr(owner, name, None)
    return owner


def operation(path: str) -> Op | None:
    """The declaration of a function, which knows further names of its arguments."""
    place, _, name = path.rpartition(".")
    name = SPECIAL.get(name) or name if place == "special" else name
    direct = OPS.get(f"linalg_{name}") if place == "linalg" else None
    return direct or OPS.get(name) or next((op for op in OPS.values() if {name, name.removesuffix("_")} & {*op.aliases}), None)


def differences(path: str, function: Any, wanted: list[Argument]) -> Iterator[str]:
    """What a signature has otherwise than torch."""
    parameters = list(inspect.signature(function).parameters.values())
    parameters = parameters[1:] if path.startswith("Tensor.") or path.endswith(".forward") else parameters
    kinds = {p.name: p.kind for p in parameters}
    spread = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} & set(kinds.values())
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
    defaults, op = {p.name: p.default for p in parameters}, operation(path)
    for name, place, default in wanted:
        own = name if name in kinds else None if op is None else target_of(op, name)
        if name == "out" and own not in kinds and (op is not None and op.out or path.rpartition(".")[2] in VARIANTS_WITH_OUT):
            continue
        if own not in kinds:
            yield f"{name} is missing"
        elif inspect.Parameter.VAR_POSITIONAL in spread:
            continue
        elif place is not None and (own not in places or places.index(own) != place):
            yield f"{name} is not at place {place}"
        elif place is not None and default is not REQUIRED and default is not ... and not is_default(defaults[own], default):
            yield f"{name} is {default!r} by default, not {defaults[own]!r}"


def is_default(own: Any, theirs: Any) -> bool:
    """Whether a default is torch's: of one number for each dimension, the number; () is none of them, "valid" no padding."""
    each = theirs[0] if isinstance(theirs, tuple) and len(set(theirs)) == 1 else {(): None, "valid": 0}.get(theirs, theirs)
    return own in (theirs, each)


def all_differences(place: str) -> Iterator[tuple[str, str]]:
    """Those of all that users find at a place, each with its path."""
    for line in LINES:
        path, bracket, rest = line.partition("(")
        function = found(path)
        if path.removesuffix(".forward").rpartition(".")[0] == place and callable(function):
            for wanted in forms(bracket + rest):
                for difference in differences(path, function, wanted):
                    yield path, f"{path}: {difference}; torch has {line}, nbgrad {inspect.signature(function)}"


@pytest.mark.parametrize("place", PLACES)
def test_signatures_are_torchs(place):
    """Every name of torch's is taken, at torch's place, with torch's default; what differs is accepted above, with the reason."""
    assert not [text for path, text in all_differences(place) if path not in REASONS]


# ---- names in calls --------------------------------------------------------------------------------------------------


def calls(path: str, forms_of_line: str) -> Iterator[tuple[list[str], Row, Case]]:
    """Calls of the samples that fit a form of torch's, with its names for the operands."""
    place, _, name = path.rpartition(".")
    row = SAMPLES.get(f"linalg_{name}" if place == "linalg" else name) or SAMPLES.get(name.removesuffix("_"))
    if row is None or row.reference is None:
        return
    for form in forms(forms_of_line):
        names = [*(["self"] if place == "Tensor" else []), *(a.name for a in form if a.place is not None)]
        for call in row.calls:
            if len(call.operands) <= len(names) and "*" not in forms_of_line.partition(",")[0]:
                yield names[: len(call.operands)], row, call


def result(function: Any, args: list[Any], named: dict[str, Any]) -> Any:
    """What a function returns of copies of its arguments, as arrays."""

    def copied(x: Any) -> Any:
        return x.clone() if isinstance(x, nbgrad.Tensor) else x

    out = function(*map(copied, args), **{name: copied(x) for name, x in named.items()})
    return [x.resolve_conj().resolve_neg().numpy() if isinstance(x, nbgrad.Tensor) else x for x in as_tuple(out)]


@pytest.mark.parametrize("place", ["", "Tensor", "linalg", "nn.functional", "special"])
def test_operands_are_taken_by_torchs_names(place):
    """The calls of the samples give the same with all operands by name."""
    count = 0
    for line in LINES:
        path, bracket, rest = line.partition("(")
        function = found(path)
        if path.rpartition(".")[0] != place or not callable(function) or path in ("max", "min", "Tensor.max", "Tensor.min"):
            continue
        for names, row, call in calls(path, bracket + rest):
            args = tensors(row, call, "int64" if getattr(row.op, "policy", "") == "integer" else "float64", False)
            try:
                expected = result(function, args, call.attributes)
            except (RuntimeError, TypeError, AttributeError):
                continue  # another form's
            at = 1 if place == "Tensor" else 0
            got = result(function, args[:at], {**dict(zip(names[at:], args[at:])), **call.attributes})
            assert len(got) == len(expected), line
            for a, b in zip(got, expected):
                np.testing.assert_array_equal(a, b, err_msg=line)
            count += 1
    assert count > 10, count


def test_accepted_differences_are_there():
    """A reason that nothing needs any more is taken away."""
    assert not set(REASONS) - {path for place in PLACES for path, _ in all_differences(place)}


def test_the_list_is_read():
    """Forms with defaults, keywords, and several overloads."""
    (form,), several = list(forms("(input, dim=None, *, dtype=None)")), list(forms("(a) | (b, *, out)"))
    assert form == [("input", 0, REQUIRED), ("dim", 1, None), ("dtype", None, None)] and len(several) == 2
    assert len(LINES) > 1500 and sum(callable(found(line.partition("(")[0])) for line in LINES) > 900
