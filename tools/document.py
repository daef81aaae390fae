"""Write what runs show of the table of operations: ``nbgrad/ops/examples.txt``, which docstrings quote, and ``docs/operations.md``;
the table of ``docs/differences.md`` that ``tools/left_out.py`` makes; and the stubs of ``tools/stubs.py``.

Inputs of the examples are those of the samples, written in round numbers; what an example shows is computed here, and once more by
the tests. Everything else that docstrings say is derived from the declarations when they are read (``nbgrad/ops/describe.py``).

    python -m tools.document            # write
    python -m tools.document --check    # fail if a file would change
"""

from __future__ import annotations

import functools
import math
import sys
import warnings
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import numpy as np

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.methods.functions import FUNCTIONS
from nbgrad.ops.core import OPS, Composite, Elementwise, General, Movement, Op
from nbgrad.ops.describe import Shown, Subject, derivatives, dtype_rule, subject_of, subject_of_variant
from nbgrad.ops.variants import VARIANTS
from tests.samples import SAMPLES, Case, Row
from tests.samples.checking import attributes_of, to_tensor
from tools import left_out, stubs

ROOT = Path(__file__).parents[1]
EXAMPLES, PAGE = ROOT / "nbgrad" / "ops" / "examples.txt", ROOT / "docs" / "operations.md"

NUMBERS = (1.0, -2.0, 3.0, 0.5, 2.0, -1.0, 1.5, -0.5, 2.5, -3.0, -1.5, -2.5, 0.25, -0.25, 0.75, -0.75, 0.125, 0.625, -0.125, 0.875)
DTYPES = ("bool", "int64", "float16", "float32", "float64", "complex64")
LARGEST = 12  # elements of an operand that an example spells out

# The tensors of examples of variants, whose operations have no public samples of their own.
X = "x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)"
Y = "y = nbgrad.tensor([2.0, 0.5, -1.0])"


class Entry(NamedTuple):
    """What is said of one public name: what the declaration knows, and what runs show."""

    subject: Subject
    shown: Shown


# ---- inputs as source ------------------------------------------------------------------------------------------------


def source_of(x: Any, domain: tuple, phase: int = 0, requires_grad: bool = False, kind: type = float) -> str:
    """An operand of a case as Python: shapes as tensors of round numbers of the domain, arrays as tensors."""
    if isinstance(x, tuple):
        count = math.prod(x)
        usable = [v for v in NUMBERS if any(a <= v <= b for a, b in domain)] or [domain[0][0]]
        values = np.array([usable[(k + phase) % len(usable)] for k in range(count)]).reshape(x)
        values = values if kind is float else values > 0 if kind is bool else np.abs(values * 4).astype(int)
        return f"nbgrad.tensor({values.tolist()}{', requires_grad=True' if requires_grad else ''})"
    if isinstance(x, list):
        return "[" + ", ".join(source_of(each, domain, phase + 3 * k, requires_grad, kind) for k, each in enumerate(x)) + "]"
    return literal(x)


def literal(x: Any) -> str:
    """An attribute as Python; arrays as tensors."""
    if isinstance(x, np.ndarray):
        return f"nbgrad.tensor({x.tolist()})"
    if isinstance(x, (tuple, list)):
        parts = ", ".join(map(literal, x))
        return f"[{parts}]" if isinstance(x, list) else f"({parts}{',' * (len(x) == 1)})"
    return "..." if x is Ellipsis else repr(x)


def kind_of(op: Op, operand: str) -> type:
    """Of which numbers an operand is in an example."""
    return bool if operand in getattr(op, "boolean", ()) else int if getattr(op, "policy", "") == "integer" else float


def size_of(call: Case) -> int:
    """Elements of the largest operand."""
    return max(
        (
            math.prod(x)
            if isinstance(x, tuple)
            else size_of(Case(tuple(x), {}))
            if isinstance(x, list)
            else x.size
            if isinstance(x, np.ndarray)
            else 1
            for x in call.operands
        ),
        default=0,
    )


def chosen_case(row: Row) -> Case | None:
    """The first case that is small enough to be spelled out; of an elementwise operation, of one dimension."""
    if isinstance(row.op, Elementwise) and not row.cases:
        return Case(((3,),) * len(row.op.operands), {})
    usable = [call for call in row.calls if 0 < size_of(call) <= 2 * LARGEST and "dtype" not in call.attributes]
    return next((call for call in usable if size_of(call) <= LARGEST), min(usable, key=size_of, default=None))


# ---- examples --------------------------------------------------------------------------------------------------------


def example_of(op: Op, row: Row | None) -> str:
    """The first sample of an operation as a session; empty where there is none that can be shown."""
    call = None if row is None else chosen_case(row)
    if call is None:
        return ""
    names = ["x", "y", "z", "u", "v"]
    grad = bool(derivatives(op)) and (isinstance(op, Elementwise) or len(op.operands) <= 2)
    lines, passed = [], []
    operands = [*op.operands, *(f"operand{k}" for k in range(len(op.operands), len(call.operands)))]
    for k, (x, operand) in enumerate(zip(call.operands, operands)):
        if isinstance(x, (tuple, list, np.ndarray)) and not (isinstance(x, tuple) and x == ()):
            domain = row.domains.get(operand, row.domain)
            wanted, kind = grad and operand in derivatives(op), kind_of(op, operand)
            lines.append(f"{names[len(lines)]} = {source_of(x, domain, 4 * k, wanted, kind)}")
            passed.append(names[len(lines) - 1])
        else:
            passed.append(source_of(x, row.domains.get(operand, row.domain)))
    passed += [f"{name}={literal(value)}" for name, value in call.attributes.items()]
    return session([*lines, call_text(op, passed)])


def call_text(op: Op, passed: list[str]) -> str:
    """The call as users write it: the function, else the method or property."""
    if op.function or op.name in namespaced():
        return f"nbgrad.{public_name(op)}({', '.join(passed)})"
    if getattr(op, "is_property", False):
        return f"{passed[0]}.{op.name}"
    return f"{passed[0]}.{op.name}({', '.join(passed[1:])})"


def session(lines: list[str]) -> str:
    """A session in which the last line is shown with its result, and the gradient where there is one; empty if it fails."""
    scope: dict[str, Any] = {"nbgrad": nbgrad}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            for line in lines[:-1]:
                exec(line, scope)
            shown = [(line, None) for line in lines[:-1]]
            result = eval(lines[-1], scope)
            shown.append((lines[-1], None if result is None else repr(result)))
            gradient = gradient_line(lines, scope, result)
            if gradient:
                shown.append((gradient, repr(eval(gradient, scope))))
            if any(" object at 0x" in (output or "") for _, output in shown):
                return ""
        except Exception as error:
            print(f"no example of {lines[-1]}: {type(error).__name__}: {error}", file=sys.stderr)
            return ""
    return "\n".join(part for line, output in shown for part in (f">>> {line}", output and blank_lines_marked(output)) if part)


def blank_lines_marked(output: str) -> str:
    """Output as doctest expects it."""
    return "\n".join(line or "<BLANKLINE>" for line in output.split("\n"))


def gradient_line(lines: list[str], scope: dict, result: Any) -> str:
    """A call that shows the gradients of the sum of a result by the operands that require grad."""
    leaves = [name for name in ("x", "y", "z") if getattr(scope.get(name), "requires_grad", False)]
    if not leaves or not isinstance(result, nbgrad.Tensor) or not result.requires_grad or result.is_complex():
        return ""
    whole = lines[-1] if result.ndim == 0 else f"{lines[-1]}.sum()"
    return f"nbgrad.grad({whole}, {leaves[0] if len(leaves) == 1 else '[' + ', '.join(leaves) + ']'})"


# ---- what is found by trying -----------------------------------------------------------------------------------------


def tried_dtypes(op: Op, row: Row | None) -> str:
    """In which dtypes an operation without a policy computes: what its first sample gives in each."""
    if row is None or dtype_rule(op) or not row.calls:
        return ""
    found: dict[str, list[str]] = {}
    for dtype in DTYPES:
        found.setdefault(result_dtype(row, dtype), []).append(dtype)
    groups = merged(found)
    if list(groups) == ["kept"]:
        return "any; the result has the operand's"
    return "; ".join(f"{', '.join(dtypes)}: {result}" for result, dtypes in groups.items())


def merged(found: dict[str, list[str]]) -> dict[str, list[str]]:
    """Dtypes that give themselves in one group."""
    same = [dtype for result, dtypes in found.items() for dtype in dtypes if result == dtype]
    rest = {result: [d for d in dtypes if d != result] for result, dtypes in found.items()}
    return {**({"kept": same} if same else {}), **{result: dtypes for result, dtypes in rest.items() if dtypes}}


def result_dtype(row: Row, dtype: str) -> str:
    """The dtype of the first result for operands of a dtype, or ``refused``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call = row.calls[0]
            operands = [to_tensor(x.astype(dtype) if spelled_out(x) else x) for x in row.arrays(call, dtype)]
            out = CALLS[row.name](*operands, **attributes_of(call))
        except (nbgrad.NbgradError, TypeError):
            return "refused"
    out = out[0] if isinstance(out, (tuple, list)) else out
    return out.dtype.name if isinstance(out, nbgrad.Tensor) else type(out).__name__


def spelled_out(x: Any) -> bool:
    """Whether an operand is an array of the samples' own, which they leave in float64."""
    return isinstance(x, np.ndarray) and x.dtype == np.float64


def tried_errors(row: Row | None) -> dict[str, str]:
    """``{error: example}`` from the samples that must fail."""
    errors: dict[str, str] = {}
    for failure in () if row is None else row.errors:
        operands = ", ".join(
            str(list(x)) if isinstance(x, tuple) else f"{list(x.shape)}" if isinstance(x, np.ndarray) else repr(x)
            for x in failure.case.operands
        )
        named = "".join(f", {name}={value!r}" for name, value in failure.case.attributes.items())
        kind = f" of {failure.dtype}" if failure.dtype != "float64" else ""
        kinds = failure.error if isinstance(failure.error, tuple) else (failure.error,)
        errors.setdefault(" or ".join(each.__name__ for each in kinds), f"such as for ({operands}{named}){kind}")
    return errors


# ---- entries ---------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def namespaced() -> dict[str, str]:
    """``{operation: public name}`` of the functions that only ``nbgrad.linalg`` and ``nbgrad.special`` have."""
    found = {f"linalg_{name}": f"linalg.{name}" for name in nbgrad.linalg.__all__}
    found |= {name: f"special.{name}" for name in nbgrad.special.__all__ if name not in FUNCTIONS}
    return {name: public for name, public in found.items() if name in OPS}


def public_name(op: Op) -> str:
    """The name of an operation below the package."""
    return namespaced().get(op.name, op.name)


def shown_of(name: str) -> Shown:
    """What the samples show of an operation, or a call of a variant."""
    if name in public_variants():
        calls = next(each.example for each in VARIANTS if each.names[0] == name and (each.function or each.method))
        lines = [X, Y] if "y" in calls else [X]
        return Shown("", {}, session([*lines, f"nbgrad.{name}({calls})"]) if calls else "")
    op, row = OPS[name], SAMPLES.get(name)
    return Shown(tried_dtypes(op, row), tried_errors(row), example_of(op, row))


def public_variants() -> set[str]:
    """Variants that are more than a form in place."""
    return {each.names[0] for each in VARIANTS if each.function or each.method}


def is_public(op: Op) -> bool:
    """Whether users call it; the methods of other operations with loops are parts of what users call."""
    method = op.method and (isinstance(op, (Elementwise, Composite)) or getattr(op, "is_property", False))
    return op.function or method or op.name in namespaced()


@functools.lru_cache(maxsize=1)
def entries() -> dict[str, Entry]:
    """What is said of every public operation and variant, by name; of one name, the variant."""
    names, variants = {op.name for op in OPS.values() if is_public(op)}, public_variants()
    subjects = {
        name: subject_of_variant(name) if name in variants else subject_of(name, namespaced().get(name, ""))
        for name in sorted(names | variants)
    }
    return {name: Entry(subject, shown_of(name)) for name, subject in subjects.items()}


# ---- files -----------------------------------------------------------------------------------------------------------


def examples_text() -> str:
    """The file of examples: of every name what ``nbgrad.ops.describe.Shown`` holds."""
    parts = [
        "What the samples of the tests show of operations: dtypes and errors that no declaration states, and sessions.\n"
        "Written by `make docs`, read when somebody asks for a docstring: change declarations and samples, not this file."
    ]
    for name, (_, shown) in entries().items():
        facts = {"Dtype": shown.dtypes} if shown.dtypes else {}
        lines = [*(f"{title}: {text}" for title, text in (facts | shown.errors).items()), *filter(None, [shown.example])]
        if lines:
            parts.append("\n".join([f"# {name}", *lines]))
    return "\n\n".join(parts) + "\n"


KINDS = (
    ("Elementwise", Elementwise, "Applied to every element, with broadcasting and promotion."),
    ("Views", Movement, "The same memory under another shape and strides; the derivative is the inverse movement."),
    ("With a loop of their own", General, "Reductions, products, indexing, joining."),
    ("Written in others", Composite, "Their derivatives are those of what they are written in."),
)


def page_text() -> str:
    """The table of operations by kind."""
    lines = [
        "# Operations",
        "",
        "Written by `make docs` from the declarations. In derivatives `x` and `y` are the operands, `g` the",
        "cotangent of the result and `out` the result. Formulas consist of operations, hence derivatives of every order.",
        "`help(nbgrad.tanh)` says all of one, with an example; they are in [examples.txt](../nbgrad/ops/examples.txt).",
        "",
    ]
    for title, kind, sentence in KINDS:
        lines += [f"## {title}", "", sentence, "", "| operation | what | dtype | derivative |", "|---|---|---|---|"]
        lines += [page_row(entry) for entry in entries().values() if isinstance(entry.subject.op, kind)]
        lines.append("")
    return "\n".join(lines)


def page_row(entry: Entry) -> str:
    """One line of the table."""
    name, op, doc, signature, _ = entry.subject
    what = " ".join(doc.strip().split("\n\n")[0].split())
    dtype = dtype_rule(op) or tried_dtypes(op, SAMPLES.get(op.name))
    rules = "; ".join(f"{name}: `{text}`" for name, text in derivatives(op).items())
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (f"`{name}{signature}`", what, dtype, rules)) + " |"


def files() -> Iterator[tuple[Path, str]]:
    """The files and what they should hold, but for the stubs."""
    yield EXAMPLES, examples_text()
    yield PAGE, page_text()
    yield left_out.PAGE, left_out.page_text()


if __name__ == "__main__":
    raise SystemExit(stubs.refresh([*files(), *stubs.files()]))
