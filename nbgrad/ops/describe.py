"""A declaration in words: what its kind and its formulas imply, as sections of a docstring.

Examples with their results, and dtypes and errors of operations with a loop of their own, cannot be derived. They are read from
``examples.txt``, which `make docs` writes from the samples of the tests.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import textwrap
from functools import lru_cache
from importlib.resources import files
from typing import Any, Callable, NamedTuple

import numpy as np

from ..base.calls import CALLS
from .core import OPS, Composite, Elementwise, General, Movement, Op
from .expr import COMPARISONS, OPERATORS, UNARY_OPERATORS, Expr
from .spellings import public_name, public_signature, shown_signature
from .variants import VARIANTS

__all__ = [
    "Shown",
    "Subject",
    "derivatives",
    "describe",
    "docstring_of",
    "docstring_of_variant",
    "dtype_rule",
    "infix",
    "subject_of",
    "subject_of_variant",
]

WIDTH = 110

# How operations print, by operation: the operator and how tightly it binds.
_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "pow": "**",
    "matmul": "@",
}
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_LEVELS = {"|": 1, "^": 2, "&": 3, "<<": 5, ">>": 5, "+": 6, "-": 6, "*": 7, "/": 7, "//": 7, "%": 7, "@": 7, "**": 9}
BINARY = {name: (_SIGNS[symbol], _LEVELS[_SIGNS[symbol]]) for symbol, name in OPERATORS.items()}
BINARY |= {name: (_COMPARED[symbol], 0) for symbol, name in COMPARISONS.items()}
UNARY = {name: {"neg": "-", "invert": "~", "pos": "+", "abs": ""}[symbol] for symbol, name in UNARY_OPERATORS.items()}
ATOM, PREFIX = 10, 8


def infix(expr: Expr) -> str:
    """An expression as Python would write it.

    >>> from nbgrad.ops.expr import scalar, symbol
    >>> x, g = symbol("x"), symbol("g")
    >>> infix(g * (1 - x * x) / scalar.exp(-x))
    'g * (1 - x * x) / exp(-x)'
    """
    return _infix(expr)[0]


def _infix(expr: Expr) -> tuple[str, int]:
    """The text, and how tightly its outermost operator binds."""
    if expr.op == "symbol":
        return expr.args[0], ATOM
    if expr.op == "constant":
        return _constant(expr.args[0])
    if expr.op == "where" and (bound := _bound(expr)):
        return bound, ATOM
    parts = [_infix(arg) for arg in expr.args]
    if expr.op in BINARY and len(parts) == 2:
        sign, level = BINARY[expr.op]
        right_level = level if sign in ("+", "*", "&", "|", "^", "**") else level + 1
        return f"{_within(parts[0], level + (sign == '**'))} {sign} {_within(parts[1], right_level)}", level
    if UNARY.get(expr.op):
        return UNARY[expr.op] + _within(parts[0], PREFIX), PREFIX
    return f"{expr.op}({', '.join(text for text, _ in parts)})", ATOM


def _bound(expr: Expr) -> str:
    """``where(x < c, c, x)``, which kernels take for the greater of two, by the name of that; the empty text of another choice."""
    condition, yes, no = expr.args
    name = {"lt": "maximum", "gt": "minimum"}.get(condition.op)
    is_bound = name and condition.args[0] is no and condition.args[1] is yes
    return f"{name}({infix(no)}, {infix(yes)})" if is_bound else ""


def _constant(value: Any) -> tuple[str, int]:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text, PREFIX if text.startswith("-") else ATOM


def _within(part: tuple[str, int], level: int) -> str:
    """A part of an expression, in parentheses if it binds less than its surroundings."""
    text, own = part
    return text if own >= level else f"({text})"


# ---- derivatives -----------------------------------------------------------------------------------------------------


def derivatives(op: Op) -> dict[str, str]:
    """The cotangent of each differentiable operand as text: ``g`` is the cotangent of the result."""
    if isinstance(op, Elementwise):
        return {} if op.refuses_gradient else {name: cotangent_text(op, name) for name in op.partial_formulas}
    if isinstance(op, Movement):
        return {"x": formula_text(op.inverse)}
    if isinstance(op, General):
        return {name: formula_text(formula) for name, formula in op.vjps.items()}
    return {}


LONGEST = 400  # characters of a formula that anybody reads


def cotangent_text(op: Elementwise, operand: str) -> str:
    """The cotangent as a formula; of a series what its function says of itself."""
    text, formula = infix(op.vjp(operand, False)), op.partial_formulas[operand]
    return text if len(text) < LONGEST or formula.__name__ == "<lambda>" else f"g * ({formula_text(formula)})"


def formula_text(formula: Callable) -> str:
    """A rule as text: the body of a lambda, what a function says of itself."""
    if formula.__name__ != "<lambda>":
        return (inspect.getdoc(formula) or formula.__name__).split("\n\n")[0].rstrip(".").replace("\n", " ")
    code = formula.__code__
    for node in _lambdas(code.co_filename):
        if node.lineno == code.co_firstlineno and [a.arg for a in node.args.args] == list(code.co_varnames[: code.co_argcount]):
            return ast.unparse(node.body).replace("scalar.", "")
    return "a function of " + ", ".join(code.co_varnames[: code.co_argcount])


@lru_cache(maxsize=64)
def _lambdas(path: str) -> tuple[ast.Lambda, ...]:
    """The lambdas of a file; none where its source is not at hand."""
    tree = ast.parse("".join(linecache.getlines(path)))
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Lambda))


# ---- rules of kinds ----------------------------------------------------------------------------------------------------

_POLICIES = {
    "promote": "computed in the operands' common dtype",
    "number": "computed in the operands' common dtype; bools count as int64",
    "float": "computed in the operands' common dtype, which becomes the default float if it is an integer or bool",
    "floating": "computed in the operands' common dtype; integers and bools are refused",
    "integer": "of integers and bools only, in their common dtype",
    "first": "of the first operand's dtype",
}


def dtype_rule(op: Op) -> str:
    """In which dtype an operation computes, and what it refuses; empty where the kind does not say."""
    if isinstance(op, Movement):
        return "any; the result has the operand's" if op.retype is None else "the same memory, read as another dtype"
    if not isinstance(op, Elementwise):
        return ""
    words = ["bool, from operands of any dtype" if op.predicate else _POLICIES[op.policy]]
    if op.refuses_bool and op.policy not in ("floating",):
        words.append("bool is refused")
    if not (op.complex or op.complex_form or op.policy == "integer"):
        words.append("complex numbers are refused")
    return "; ".join(words)


def shape_rule(op: Op) -> str:
    """The shape of the result; empty where the kind does not say."""
    if isinstance(op, Movement):
        return "views of x: they share its memory" if op.multiple else "a view of x: it shares the memory"
    if isinstance(op, Elementwise):
        return "of x's shape" if len(op.operands) == 1 else "of the shape that the operands broadcast to"
    names = op.signature.parameters
    if "keepdim" in names:
        return "x's shape without the reduced dimensions, which keepdim=True leaves with size 1"
    return ""


def operand_line(op: Op) -> str:
    """The operands by their public names, and by those that formulas give them."""
    public = [public_name(op, name) for name in op.operands]
    own = [name for name, seen in zip(op.operands, public) if name != seen]
    formulas = f" ({' and '.join(own)} in formulas)" if own else ""
    return f"{', '.join(public) or 'input'}: {operand_rule(op)}{formulas}."


def operand_rule(op: Op) -> str:
    """The sentence on the operands."""
    if isinstance(op, Elementwise) and len(op.operands) > 1:
        return "tensors, NumPy arrays or numbers, at least one of them no number"
    if op.variadic:
        return "a sequence of tensors"
    return "a tensor or a NumPy array" if len(op.operands) == 1 else "tensors"


def implied_errors(op: Op) -> dict[str, str]:
    """``{error: when}``, as far as kind and policy imply them."""
    errors = {"ArgumentError": "an operand is none of these; arguments that do not fit the signature"}
    if isinstance(op, Elementwise):
        if op.policy in ("floating", "integer") or op.refuses_bool or not (op.complex or op.complex_form):
            errors["DTypeError"] = "a dtype that is refused"
        if len(op.operands) > 1:
            errors["ShapeError"] = "shapes that do not broadcast"
        if op.integer_divisor:
            errors["DivisionError"] = f"integers, and {op.integer_divisor} is 0 somewhere"
        if op.refuses_gradient:
            errors["NotSupportedError"] = "a gradient through it is asked for"
    elif {"dim", "dims", "dim0", "dimension"} & set(op.signature.parameters):
        errors["DimError"] = "a dimension out of range"
    return errors


# ---- what is described -------------------------------------------------------------------------------------------------


class Subject(NamedTuple):
    """A public name and what stands behind it.

    Attributes:
        name: of the function below the package, or of the method.
        op: the operation.
        doc, signature: what the name does, and how it is called.
        like: the operations whose derivatives are its own: ``op``, or those that a variant chooses among.
    """

    name: str
    op: Op
    doc: str
    signature: str
    like: tuple[Op, ...]


def subject_of(name: str, public: str = "") -> Subject:
    """An operation; ``public``: the name of its function below the package, where it is another (``linalg.det``)."""
    op = OPS[name]
    return Subject(public or name, op, op.doc, str(public_signature(op)), (op,))


def subject_of_variant(name: str) -> Subject:
    """A function over several operations, which it tells when it is built."""
    variant, names = next(each for each in VARIANTS if each.names[0] == name), []

    def noted(operation: str) -> Callable:
        names.append(operation)
        return CALLS[operation]

    function = variant.build(noted)
    like = tuple(OPS[each] for each in names if each in OPS)
    if "args" in inspect.signature(function).parameters:  # the operation's own call
        return Subject(name, like[0], OPS[name].doc, str(public_signature(like[0])), like)
    return Subject(name, like[0], str(function.__doc__), str(shown_signature(function)), like)


class Shown(NamedTuple):
    """What runs have shown of a name: dtypes, ``{error: when}``, and a session."""

    dtypes: str
    errors: dict[str, str]
    example: str


@lru_cache(maxsize=1)
def examples() -> dict[str, str]:
    """The sections of ``examples.txt``, by name."""
    text = files(__package__).joinpath("examples.txt").read_text(encoding="utf-8")
    sections = text.split("\n# ")[1:]
    return {name: rest for name, _, rest in (each.partition("\n") for each in sections)}


def example_of(name: str) -> Shown:
    """What ``examples.txt`` says of an operation or variant; nothing of one that was declared since."""
    facts, start, session = examples().get(name, "").partition(">>>")
    said = dict(line.split(": ", 1) for line in facts.splitlines() if line)
    return Shown(said.pop("Dtype", ""), said, (start + session).rstrip("\n"))


def numpy_name(name: str) -> str:
    """NumPy's function of the same name."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return f"np.{name}" if callable(found) and not isinstance(found, type) else ""


# ---- the docstring -----------------------------------------------------------------------------------------------------


def docstring_of(name: str, public: str = "") -> str:
    """The docstring of an operation: see ``subject_of``."""
    return describe(subject_of(name, public), example_of(name))


def docstring_of_variant(name: str) -> str:
    """The docstring of a variant, by its first name."""
    return describe(subject_of_variant(name), example_of(name))


def describe(subject: Subject, shown: Shown) -> str:
    """The docstring of an operation's public forms.

    Args:
        subject: the name, and what the declaration knows.
        shown: what it does not know.
    """
    name, op, doc, signature, like = subject
    head, *rest = map(textwrap.dedent, doc.strip().split("\n\n"))
    stated = next((each.removeprefix(RAISES) for each in rest if each.startswith(RAISES)), "")
    parts = [fill(head), *(each for each in rest if not each.startswith(RAISES))]
    parts.append(f"Signature: {name}{signature}")
    parts.append(section("Operands", [operand_line(op)]))
    shape, dtype = shape_rule(op), shown.dtypes or dtype_rule(op)
    parts.append(section("Returns", [*([f"Shape: {shape}."] if shape else []), *([f"Dtype: {dtype}."] if dtype else [])]))
    parts.append(section("Raises", raised(stated, {**implied_errors(op), **shown.errors})))
    parts.append(derivative_section(like))
    parts.append(forms_section(op, name, numpy_name(name)))
    parts.append(shown.example)
    return "\n\n".join(part for part in parts if part)


RAISES = "Raises:\n"
NEXT_ERROR = re.compile(r"(?<=\.) (?=[A-Z]\w*(?:, [A-Z]\w*)*: )")  # between "RangeError: n < 0." and the next one


def raised(stated: str, others: dict[str, str]) -> list[str]:
    """A line for each error: those that the declaration states in its own words, then others."""
    own = NEXT_ERROR.split(" ".join(stated.split())) if stated else []
    return [*own, *(f"{error}: {when}." for error, when in others.items() if error not in stated)]


def derivative_section(ops: tuple[Op, ...]) -> str:
    """The cotangents of one or several operations."""
    lines = [f"{f'{op.name}, ' if len(ops) > 1 else ''}{name}: {text}" for op in ops for name, text in derivatives(op).items()]
    if lines:
        return section("Derivative (g: the cotangent of the result, out: the result)", lines)
    op = ops[0]
    if isinstance(op, Composite):
        return "Derivative: that of the operations it is written in."
    return "Derivative: refused." if op.refuses_gradient else "Derivative: none; the result requires no grad."


def forms_section(op: Op, name: str, numpy: str) -> str:
    """The public forms beside the function."""
    forms = [f"x.{name}" if op.is_property else f"x.{name}(...)"] if op.method else []
    forms += [f"x.{name}_(...)"] if op.inplace else []
    forms += ["out="] if op.function and op.out else []
    others = [f"also called {', '.join(op.aliases)}"] if op.aliases else []
    others += [f"NumPy: {numpy}"] if numpy else []
    text = "; ".join([*([", ".join(forms)] if forms else []), *others])
    return f"Forms: {text}." if text else ""


def section(title: str, lines: list[str]) -> str:
    """A title, and its lines indented."""
    return f"{title}:\n" + "\n".join(fill(line, "    ") for line in lines) if lines else ""


def fill(text: str, indent: str = "") -> str:
    """A paragraph in lines."""
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )
