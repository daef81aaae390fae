"""Write the stubs: what type checkers and editors are told of the functions and methods that are made at run time.

NOTE [Stubs]: the names of the package and most methods of Tensor are made from the table of operations when it is imported, where
no editor sees them. Editors read text. Of what is written in a module they find signature and docstring there, so the stubs send
them to it (``from .autograd.entry import grad as grad``). Of what is made, the stubs have a line: names and defaults of
``inspect.signature``; types by what the declaration says of an argument (an operand, a kind of ``ops/kinds.py``) and by what calls
of the samples return; and the first paragraph of the docstring, because editors look for one nowhere else.

A stub hides the module beside it from type checkers. So only modules without code of their own have one; what is hung on Tensor is
in ``tensors/members.pyi``, a class without a module that ``tensors/tensor.py`` inherits from where types are checked, and nowhere
else, and what ``nn/functional.py`` makes in ``nn/overwriting.pyi``.

    python -m tools.stubs            # write
    python -m tools.stubs --check    # fail if a file would change
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
import textwrap
import types
import warnings
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

import numpy as np

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.base.dtypes import DType
from nbgrad.base.results import TYPES as RESULT_TYPES
from nbgrad.dispatch.lowerings import lowering_of
from nbgrad.methods.namespaces import PLACES, Namespace
from nbgrad.ops.core import OPS, Elementwise, General, Op
from nbgrad.ops.expr import COMPARISONS, OPERATORS, UNARY_OPERATORS
from nbgrad.ops.kinds import KIND_OF, OPTIONAL
from nbgrad.ops.spellings import public_name
from nbgrad.ops.variants import VARIANTS
from tests.samples import SAMPLES
from tests.samples.checking import attributes_of, tensors

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nbgrad"
WIDTH = 132
HEAD = "# Written by `make docs` (tools/stubs.py) from the operations and the running package: change those, not this file.\n"

# Builtins by which the types of arguments are called: the package and Tensor have functions and dtypes of these names.
TYPES = ("bool", "complex", "float", "int", "type")

# Types by the words of ops/kinds.py.
KIND_TYPES = {
    "an int": "int",
    "an int or a tuple of ints": "Ints",
    "a number": "Number",
    "a bool": "bool",
    "a dtype": "DType",
    "a Tensor": "Tensor",
    "a number or a Tensor": "Tensor | Number | Sequence[float]",
}
# Types of arguments by name, where neither a declaration nor a kind says it.
NAMES = {
    "Tensor": "A B L LU LU_data LU_pivots angle append aweights b bias boundaries ext_tensor fweights indices input lengths "
    "offsets other out pivots prepend self sorter source std tau tensor tensors weights window x y",
    "Operand": "fill_value",
    "Device | str": "device",
    "MemoryFormat": "memory_format layout",
    "bool": "adjoint align_to_window as_tuple assume_unique center check_errors compute_uv full_matrices implicit "
    "increasing inplace invert log_target non_blocking normalized onesided pin_memory pivot requires_grad "
    "return_complex return_inverse size_average some sparse_grad transpose unitriangular unpack_data unpack_pivots "
    "unsafe with_replacement",
    "str": "UPLO approximate compute_mode driver indexing interpolation mode pad_mode reduce reduction rounding_mode side",
    "int": "N col decimals divisor_override groups high hop_length length low n_fft ndim output_size row win_length",
    "Number": "initial ord s",
    "Ints": "each sizes",
    "Sequence[float]": "range",
}
# The same of one operation, or of variants and functions of none.
OWN_TYPES = {
    ("einsum", "equation"): "str",
    ("", "condition"): "Tensor",
    ("", "threshold"): "Number",
    ("cross", "dim"): "int",
    ("histogramdd", "bins"): "int | Sequence[int] | Sequence[Tensor]",
    ("nonzero_static", "size"): "int",
    ("segment_reduce", "axis"): "int",
    **{
        (f"fake_quantize_per_{kind}_affine", name): annotation
        for kind in ("tensor", "channel")
        for name, annotation in (("quant_min", "int"), ("quant_max", "int"))
    },
    **{("fake_quantize_per_tensor_affine", name): "Tensor | Number" for name in ("scale", "zero_point")},
    **{("fake_quantize_per_channel_affine", name): "Tensor" for name in ("scale", "zero_point")},
    ("fake_quantize_per_channel_affine", "axis"): "int",
    ("gradient", "spacing"): "Number | Sequence[Tensor | Number]",
    ("linalg_diagonal", "dim"): "int",
    ("tril_indices", "row"): "int",
    ("triu_indices", "row"): "int",
    **{
        (f"adaptive_{kind}_pool{n}d", "output_size"): "int | None | Sequence[int | None]"
        for kind in ("avg", "max")
        for n in (1, 2, 3)
    },
    **{(f"conv{n}d", "padding"): "Ints | str" for n in (1, 2, 3)},
    ("convolution", "bias"): "Tensor | None",
    ("convolution", "transposed"): "bool",
}
NAME_TYPES = {name: annotation for annotation, names in NAMES.items() for name in names.split()}
# Operations whose results are of one type or another, by their arguments: a tensor, or several.
VARYING = {"nonzero", "unique", "unique_consecutive"}

# The operations of special methods.
OPERATIONS = {f"__{form}{symbol}__": name for form in ("", "r", "i") for symbol, name in OPERATORS.items()}
OPERATIONS |= {f"__{symbol}__": name for symbol, name in {**UNARY_OPERATORS, **COMPARISONS}.items()}
OPERATIONS |= {"__iter__": "iterate", "__getitem__": "getitem", "__setitem__": "setitem"}
# Special methods that users call, by operators and functions of Python's.
SPECIAL = {
    *OPERATIONS,
    "__array__",
    "__complex__",
    "__contains__",
    "__dlpack__",
    "__dlpack_device__",
    "__float__",
    "__index__",
    "__int__",
    "__reversed__",
}


# ---- what is written in a module -------------------------------------------------------------------------------------


@functools.cache
def statements(module: str) -> dict[str, ast.stmt]:
    """The statements that define a module's names, by name."""
    path = getattr(sys.modules.get(module), "__file__", None)
    found: dict[str, ast.stmt] = {}
    for statement in ast.parse(Path(path).read_text(encoding="utf-8")).body if path else ():
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            found[statement.name] = statement
        elif isinstance(statement, ast.AnnAssign):
            found[ast.unparse(statement.target)] = statement
        elif isinstance(statement, ast.Assign):
            found |= {
                ast.unparse(name): statement
                for target in statement.targets
                for name in (target.elts if isinstance(target, ast.Tuple) else [target])
            }
    return found


def home(value: Any) -> tuple[str, str] | None:
    """The module and the name under which a value is written; None of what is made."""
    if isinstance(value, (types.FunctionType, type)):
        places, names = [value.__module__], [value.__qualname__]
    else:
        places = [type(value).__module__] if type(value).__module__.startswith("nbgrad") else ["nbgrad.base.dtypes"]
        names = [name for name in vars(sys.modules[places[0]]) if not name.startswith("_")]
    for module in places:
        for name in names:
            statement = statements(module).get(name)
            made = isinstance(value, types.FunctionType) and not isinstance(statement, ast.FunctionDef)
            if statement is not None and not made and getattr(sys.modules[module], name, None) is value:
                return module, name
    return None


def written_in(path: Path, name: str) -> set[str]:
    """The names that the body of a class defines."""
    body = next(s for s in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(s, ast.ClassDef) and s.name == name).body
    found = {s.name for s in body if isinstance(s, ast.FunctionDef)}
    return found | {
        ast.unparse(t)
        for s in body
        if isinstance(s, (ast.Assign, ast.AnnAssign))
        for t in (s.targets if isinstance(s, ast.Assign) else [s.target])
    }


# ---- types -----------------------------------------------------------------------------------------------------------


class Stub:
    """The text of one stub: its lines, and the imports that its annotations need.

    Attributes:
        package: of the module that it is the stub of, for relative imports.
        imports: ``{module: {name, or name as other}}``.
    """

    def __init__(self, module: str, package: str):
        self.module, self.package = module, package
        self.imports: dict[str, set[str]] = {}
        self.lines: list[str] = []

    def use(self, module: str, name: str, public: str = "") -> None:
        """Import a name; under a public name for whoever imports the stub."""
        if module != self.module or public:
            self.imports.setdefault(self.relative(module), set()).add(f"{name} as {public}" if public else name)

    def relative(self, module: str) -> str:
        """A module of the package as seen from this one."""
        if module.partition(".")[0] != "nbgrad":
            return module
        own, other = self.package.split("."), module.split(".")
        same = next((k for k, (a, b) in enumerate(zip(own, other)) if a != b), min(len(own), len(other)))
        return "." * (len(own) - same + 1) + ".".join(other[same:])

    def annotation(self, text: str, names: dict[str, Any] | None = None) -> str:
        """An annotation with what it needs imported; ``names``: those of the module that it stands in."""
        stub = self

        class Names(ast.NodeTransformer):
            def visit_Constant(self, node: ast.Constant) -> ast.AST:
                return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node

            def visit_Name(self, node: ast.Name) -> ast.AST:
                return ast.Name(stub.named(node.id, {} if names is None else names))

        return ast.unparse(Names().visit(ast.parse(text, mode="eval").body))

    def named(self, name: str, names: dict[str, Any]) -> str:
        """The name of a type in this stub."""
        if name in TYPES and name not in names:
            self.use("builtins", name, f"_{name}")
            return f"_{name}"
        if hasattr(builtins, name) and name not in names:
            return name
        value = COMMON.get(name) or names.get(name)
        if value is None:
            raise NameError(f"{self.module}: no type {name!r} for an annotation. Hint: NAMES, COMMON of tools/stubs.py.")
        if isinstance(value, types.ModuleType):
            self.imports.setdefault("", set()).add(f"{value.__name__} as {name}")
            return name
        module, own = value if isinstance(value, tuple) else home(value) or (value.__module__, value.__qualname__)
        self.use("collections.abc" if own in ("Callable", "Iterable", "Iterator", "Sequence", "Mapping") else module, own)
        return own

    def text(self) -> str:
        """The whole."""
        lines = [HEAD]
        for module, names in sorted(self.imports.items(), key=lambda item: (item[0].startswith("."), item[0] != "", item[0])):
            if not module:
                lines += [f"import {name}" for name in sorted(names)]
                continue
            names = {name for name in names if f"{name} as {name}" not in names}
            line = f"from {module} import {', '.join(sorted(names))}"
            lines.append(line if len(line) <= WIDTH else f"from {module} import (\n{wrapped(sorted(names), '    ')},\n)")
        return "\n".join([*lines, "", *self.lines]) + "\n"


def wrapped(parts: list[str], indent: str, first: str = "", last: str = "") -> str:
    """Parts with commas between them, as many in a line as fit; none is broken.

    Args:
        indent: of all lines but the first, which begins with ``first`` if that is given.
        last: what follows the last one.
    """
    text = textwrap.fill(
        first + ", ".join(parts).replace(" ", "\N{NO-BREAK SPACE}").replace(",\N{NO-BREAK SPACE}", ", ") + last,
        WIDTH,
        initial_indent="" if first else indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return text.replace("\N{NO-BREAK SPACE}", " ")


# Names of types that the tables above mention.
COMMON: dict[str, Any] = {
    **{name: ("nbgrad.tensors.members", name) for name in ("Array", "Ints", "Number", "Operand")},
    **{name: ("typing", name) for name in ("Any", "Self", "TypeAlias")},
    **{name: ("collections.abc", name) for name in ("Callable", "Iterator", "Sequence")},
    "DTypeLike": ("nbgrad.base.dtypes", "DTypeLike"),
    "Tensor": nbgrad.Tensor,
    "DType": DType,
    "Device": nbgrad.device,
    "MemoryFormat": nbgrad.memory_format,
    "np": np,
}


def takes_dims(op: Op | None, p: inspect.Parameter) -> bool:
    """Whether a call may have several dimensions as ``dim``: where all or several are the default, or samples have it so."""
    calls = SAMPLES[op.name].calls if op is not None and op.name in SAMPLES else ()
    given = [p.default, *(call.attributes.get("dim", 0) for call in calls)]
    return p.default is None or any(isinstance(dim, (tuple, list)) for dim in given)


def type_of(op: Op | None, name: str, p: inspect.Parameter, first: bool, inplace: bool) -> str:
    """The type of an argument that has no annotation."""
    if p.kind is p.VAR_POSITIONAL and name in ("tensors", "operands"):
        return "Tensor | Sequence[Tensor]"
    found = (
        OWN_TYPES.get((op.name if op else "", name))
        or ("Tensor" if first and inplace else None)
        or type_by_operation(op, name, p, first)
        or type_by_name(name, p)
    )
    if isinstance(p.default, str) and found in ("Number", "Ints", "int"):
        found += " | str"
    optional = p.default is None or p.default is p.empty and name in OPTIONAL and name != "dim"
    return found + " | None" if optional and found != "Any" else found


def type_by_operation(op: Op | None, name: str, p: inspect.Parameter, first: bool) -> str | None:
    """The type of an argument as its operation has it, or a function of no single operation; None where it is that of the name."""
    if name == "dim" and not takes_dims(op, p):
        return "int"
    if op is None:
        return type_in_variant(name)
    if op.kind == "movement" and name == "index":
        return "int"
    if name == "source" and "destination" not in op.signature.parameters:
        return "Tensor"
    if name == "value" and op.name in ("setitem", "index_fill", "scatter", "index_put"):
        return "Operand"
    if name not in {*op.operands, *(public_name(op, own) for own in op.operands)}:
        return None
    if op.variadic and first:
        return "Sequence[Tensor]"
    if op.numbers or isinstance(op, Elementwise) and len(op.operands) > 1:
        return "Operand"
    return "Array" if first else "Tensor"


def type_in_variant(name: str) -> str | None:
    """The type of an argument of a function that chooses among operations, where it is not that of the name."""
    if name == "weight":
        return "Tensor"
    if name in ("start", "end", "step"):
        return "Number"
    return "Operand" if name in ("input", "other", "min", "max", "exponent", "value", "tensor1", "tensor2") else None


def type_by_name(name: str, p: inspect.Parameter) -> str:
    """The type of an argument by its name, else by its default."""
    kind = KIND_OF.get(name)
    if kind is not None:
        return KIND_TYPES[kind.words]
    if name == "tensors":
        return "Sequence[Tensor]"
    default = type(p.default).__name__
    return NAME_TYPES.get(name) or (default if default in ("bool", "int", "float", "str") else "Any")


# ---- results ---------------------------------------------------------------------------------------------------------


@functools.cache
def results() -> dict[str, dict[str, type]]:
    """What the calls of the samples return, by operation: types as text, with their classes."""
    found: dict[str, dict[str, type]] = {}
    for name, row in SAMPLES.items():
        for call in row.calls:
            for dtype in ("float64", "int64", "complex128"):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        out = CALLS[name](*tensors(row, call, dtype), **attributes_of(call))
                    except (nbgrad.NbgradError, TypeError):
                        continue
                found.setdefault(name, {})[result_type(out)] = written_class(out)
                break
    return found


def result_type(out: Any) -> str:
    """The type of a result as text."""
    if isinstance(out, nbgrad.Tensor):
        return "Tensor"
    if type(out) in (tuple, list):
        return f"{type(out).__name__}[Tensor, ...]"
    return "None" if out is None else "Iterator[Tensor]" if hasattr(out, "__next__") else written_class(out).__name__


def written_class(out: Any) -> type:
    """The class of a result as it is written in a module: without the name that ``return_types`` has for it."""
    kind = type(out)
    return kind.__bases__[0] if kind in RESULT_TYPES.values() else kind


def returned(op: Op | None, name: str) -> tuple[str, dict[str, Any]]:
    """The type that an operation returns, and its classes; where calls of few arguments return a tensor, that of the others."""
    found: dict[str, type] = {"Tensor": nbgrad.Tensor} if op is None else results().get(op.name) or {"Tensor": nbgrad.Tensor}
    if name in VARYING or len(found) > 2:
        return "Tensor | Any", {}
    classes = {text: kind for text, kind in found.items() if text.isidentifier() and not hasattr(builtins, text)}
    return min(found, key=lambda text: text == "Tensor"), classes


# ---- lines -----------------------------------------------------------------------------------------------------------


@functools.cache
def variant_names() -> set[str]:
    """The names of the functions that choose among operations."""
    return {name for variant in VARIANTS for name in variant.names}


@functools.cache
def operations() -> dict[str, Op]:
    """Operations by the names of their functions and methods; variants have none."""
    return {name: op for op in OPS.values() for name in (op.name, *op.aliases) if name not in variant_names()}


def operation(place: str, name: str) -> Op | None:
    """The operation whose function or method has a name."""
    if place == "special":
        from nbgrad.special import NAMES as own

        name = own.get(name, name)
    return (
        (OPS.get(f"linalg_{name}") if place == "linalg" else None)
        or operations().get(name)
        or operations().get(name.removesuffix("_"))
    )


def is_inplace(name: str) -> bool:
    """Whether a function or method writes into its first operand, and returns it."""
    return name.endswith("_") and not name.startswith("_") or name.startswith("__i") and name[3:-2] in OPERATORS


def paragraph(value: Any) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join(str(value.__doc__ or "").strip().split("\n\n")[0].split())


def parameters(stub: Stub, name: str, function: Callable, op: Op | None, method: bool) -> Iterator[str]:
    """The parameters of a function as they stand in its stub."""
    given = list(inspect.signature(function).parameters.values())
    names = getattr(inspect.unwrap(function), "__globals__", {})
    star = False
    for k, p in enumerate(given):
        if method and k == 0:
            yield "self"
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            yield "*"
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        own = p.annotation if isinstance(p.annotation, str) else None
        text = (
            stub.annotation(own, names)
            if own and own != "Any"
            else stub.annotation(type_of(op, p.name, p, k == 0, is_inplace(name)))
        )
        text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name + ": " + text
        yield text if p.default is p.empty else f"{text} = {default_of(p.default)}"
    further = numpys_names(op, {p.name: p.default for p in given}, method) if not is_inplace(name) else {}
    if not method and "out" not in {p.name for p in given} and into_out(function, op):
        further["out"] = "Tensor"
    yield from [] if star or not further else ["*"]
    for other, text in further.items():
        yield f"{other}: {stub.annotation(text + ' | None')} = None"


def numpys_names(op: Op | None, defaults: dict[str, Any], method: bool) -> dict[str, str]:
    """NumPy's names of dimensions that a reduction takes too, with their types: NOTE [Spellings] of ``ops/spellings.py``."""
    found = lowering_of(op) if isinstance(op, General) and op.function else None
    planned = found is not None and found[0] == "plan"
    if not planned and (method or op is None or "keepdim" not in defaults):
        return {}
    types = {"axis": ("dim", "Ints"), "keepdims": ("keepdim", "bool")}
    return {
        other: text
        for other, (own, text) in types.items()
        if other not in defaults and defaults.get(own, inspect.Parameter.empty) is not inspect.Parameter.empty
    }


def into_out(function: Callable, op: Op | None) -> bool:
    """Whether a function takes ``out=``, which signatures do not show."""
    variants = {name for variant in VARIANTS if variant.out for name in variant.names}
    name = function.__name__
    return name in variants if op is None else op.out and not name.endswith("_")


def default_of(value: Any) -> str:
    """A default as text."""
    return repr(value) if value is None or isinstance(value, (bool, int, float, str, tuple)) and "inf" not in repr(value) else "..."


def shorter_forms(op: Op | None, name: str, arguments: list[str]) -> Iterator[tuple[list[str], str]]:
    """Calls with fewer arguments whose result is of another type than that of the rest: ``x.max()`` beside ``x.max(0)``."""
    if name == "where" and arguments[0] != "self":
        yield arguments[:1], "tuple[Tensor, ...]"
    elif op is not None and len(results().get(op.name, ())) == 2:
        yield arguments[:1], "Tensor"
        if "other" in op.signature.parameters:
            yield [arguments[0], "dim: Tensor"], "Tensor"
            yield [arguments[0], "*", "other: Tensor"], "Tensor"


def function_lines(stub: Stub, name: str, function: Callable, op: Op | None, indent: str = "") -> list[str]:
    """The stub of a function or, indented, of a method."""
    method = bool(indent)
    inplace = is_inplace(name)
    own = inspect.signature(function).return_annotation
    if isinstance(own, str):
        result = stub.annotation(own, getattr(inspect.unwrap(function), "__globals__", {}))
    else:
        text, classes = returned(op, name)
        if op is None and not inplace and name not in variant_names() and name not in OPERATIONS:
            raise TypeError(f"{name}: {function.__module__}.{function.__qualname__} says not what it returns. Hint: annotate it.")
        result = stub.annotation(("Self" if method else "Tensor") if inplace else text, classes)
    if method and inplace and result == "Tensor":
        result = stub.annotation("Self")
    head = f"{indent}def {name}("
    doc = "" if name.startswith("__") else paragraph(function)
    arguments = list(parameters(stub, name, function, op, method))
    line = f"{head}{', '.join(arguments)}) -> {result}:"
    if len(line) > WIDTH:
        line = wrapped(
            arguments,
            " " * len(head),
            head.replace(" ", "\N{NO-BREAK SPACE}"),
            f") -> {result}:".replace(" ", "\N{NO-BREAK SPACE}"),
        )
    lines = []
    for few, other in shorter_forms(op, name, arguments):
        remark = "  # type: ignore[overload-overlap]" if "*" in few else ""  # the last one takes it too, as None
        lines += [f"{indent}@overload", f"{head}{', '.join(few)}) -> {other}: ...{remark}"]
    if lines:
        stub.use("typing", "overload")
        lines.append(f"{indent}@overload")
    return lines + documented(line, doc, indent, "  # type: ignore[override]" if name in ("__eq__", "__ne__") else "")


def documented(line: str, doc: str, indent: str = "", remark: str = "") -> list[str]:
    """A head with its docstring: in one line where there is room."""
    if not doc:
        return [f"{line} ...{remark}"]
    quoted = ("r" if "\\" in doc else "") + f'"""{doc}{" " * doc.endswith(chr(34))}"""'
    if "\n" not in line and len(line) + len(quoted) + 1 <= WIDTH:
        return [f"{line} {quoted}"]
    return [line, textwrap.fill(quoted, WIDTH, initial_indent=indent + "    ", subsequent_indent=indent + "    ")]


def is_public(op: Op) -> bool:
    """Whether users call an operation."""
    from tools.document import is_public

    return is_public(op)


# ---- files -----------------------------------------------------------------------------------------------------------


def public_names() -> list[str]:
    """The names of the package that its users have: what it imports under its own name, and what is made; of modules the public."""
    body = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body
    imported = {alias.name for s in body if isinstance(s, ast.ImportFrom) for alias in s.names if alias.asname is None} - {"*"}
    modules = {*nbgrad._lazy, *PLACES, "_C", "cache", "graph", "autograd"}
    hidden = {name for name, value in vars(nbgrad).items() if isinstance(value, types.ModuleType)} - modules
    made = {name for name in dir(nbgrad) if not name.startswith("_")}
    return sorted((imported | made) - hidden - {"annotations"})


def package_stub() -> Stub:
    """``nbgrad/__init__.pyi``."""
    stub = Stub("nbgrad", "nbgrad")
    for name in public_names():
        add_name(stub, "", name, getattr(nbgrad, name))
    return stub


def add_name(stub: Stub, place: str, name: str, value: Any) -> None:
    """Tell a stub of a public name."""
    found = None if isinstance(value, types.ModuleType) else home(value)
    if isinstance(value, types.ModuleType):
        source = vars(value).get("__source__") if isinstance(value, Namespace) else value.__name__.partition(".")[2]
        package, _, own = f"nbgrad.{source or name}".rpartition(".")
        stub.use(package, own, name)
    elif name == "__version__":
        stub.use("nbgrad._version", name, name)
    elif found is not None:
        stub.use(*found, name)
    elif isinstance(value, types.FunctionType) or hasattr(value, "__wrapped__"):
        stub.lines += function_lines(stub, name, value, operation(place, name))
    elif isinstance(value, type):
        kind = type(value)
        stub.use(kind.__module__, kind.__qualname__)
        stub.use("nbgrad.tensors.tensor", "Tensor")
        stub.lines += documented(f"class {name}(Tensor, metaclass={kind.__qualname__}):", paragraph(value))
    else:
        stub.lines.append(f"{name}: {stub.annotation(type(value).__name__) if value is not None else None}")


def namespace_stub(place: str) -> Stub:
    """``nbgrad/linalg.pyi`` and its like."""
    module = getattr(nbgrad, place)
    stub = Stub(f"nbgrad.{place}", "nbgrad")
    for name in sorted(module.__all__):
        add_name(stub, place, name, getattr(module, name))
    return stub


def path_stubs() -> Iterator[tuple[Path, str]]:
    """The stubs of torch's module paths: what is at the place of each. Below a module that is a file there can be none."""
    for path, place in PLACES.items():
        parent, _, _ = path.rpartition(".")
        if (PACKAGE / parent.replace(".", "/")).with_suffix(".py").exists():
            continue
        below = [name.rpartition(".")[2] for name in PLACES if name.rpartition(".")[0] == path]
        stub = Stub(f"nbgrad.{path}", f"nbgrad.{path}" if below else f"nbgrad.{parent}".rstrip("."))
        if place is None:
            stub.lines = [f"from . import {', '.join(f'{name} as {name}' for name in below)}"]
        else:
            stub.lines = [f"from {stub.relative(f'nbgrad.{place}')} import *"]
        file = PACKAGE / path.replace(".", "/")
        yield (file / "__init__.pyi" if below else file.with_suffix(".pyi")), HEAD + "\n" + "\n".join(stub.lines) + "\n"


def overwriting_stub() -> Stub:
    """``nbgrad/nn/overwriting.pyi``: the functions that ``nn/functional.py`` makes."""
    stub = Stub("nbgrad.nn.overwriting", "nbgrad.nn")
    for name, value in sorted(vars(nbgrad.nn.functional).items()):
        if isinstance(value, types.FunctionType) and value.__module__ == "nbgrad.nn.functional" and home(value) is None:
            add_name(stub, "nn.functional", name, value)
    return stub


def members_stub() -> Stub:
    """``nbgrad/tensors/members.pyi``."""
    stub = Stub("nbgrad.tensors.members", "nbgrad.tensors")
    written = written_in(PACKAGE / "tensors" / "tensor.py", "Tensor")
    stub.use("nbgrad.ops.expr", "Operators")
    stub.lines += [
        f"Number: {stub.annotation('TypeAlias')} = {stub.annotation('int | float | complex')}",
        f"Array: TypeAlias = {stub.annotation('Tensor | np.ndarray[Any, Any]')}",
        "Operand: TypeAlias = Array | Number",
        f"Ints: TypeAlias = {stub.annotation('int | Sequence[int]')}",
        "",
        "class Members(Operators):",
        '    """The methods and attributes of Tensor that are made at run time."""\n',
    ]
    for name, value in sorted(vars(nbgrad.Tensor).items()):
        if name in written or name in nbgrad.Tensor.__slots__ or name.startswith("__") and name not in SPECIAL:
            continue
        op = operation("", OPERATIONS.get(name, name))
        if op is not None and not is_public(op) and not name.startswith("_") and not hasattr(nbgrad, name):
            continue
        stub.lines += member_lines(stub, name, value, op)
    return stub


def member_lines(stub: Stub, name: str, value: Any, op: Op | None) -> list[str]:
    """The stub of one member of Tensor."""
    if isinstance(value, property):
        own = inspect.signature(value.fget).return_annotation if isinstance(value.fget, types.FunctionType) else None
        text = own if isinstance(own, str) else returned(op, name)[0] if op else type(value.fget(nbgrad.ones(1))).__name__
        text = stub.annotation(text, getattr(value.fget, "__globals__", {}))
        if value.fset is not None:
            return [f"    {name}: {text}", *([f'    """{paragraph(value)}"""'] if value.__doc__ else [])]
        return ["    @property", *documented(f"    def {name}(self) -> {text}:", paragraph(value), "    ")]
    if isinstance(value, staticmethod):
        lines = function_lines(stub, name, value.__func__, op) if isinstance(value.__func__, types.FunctionType) else []
        return ["    @staticmethod", *("    " + line for line in lines)] if lines else [f"    {name}: {stub.annotation('Any')}"]
    if isinstance(value, types.FunctionType):
        return function_lines(stub, name, value, op, "    ")
    if isinstance(value, (types.GetSetDescriptorType, types.MemberDescriptorType)):
        return []
    return [f"    {name}: {stub.annotation('Any')}"]


def files() -> Iterator[tuple[Path, str]]:
    """The files and what they should hold."""
    yield PACKAGE / "__init__.pyi", package_stub().text()
    yield PACKAGE / "tensors" / "members.pyi", members_stub().text()
    yield PACKAGE / "nn" / "overwriting.pyi", overwriting_stub().text()
    for place in ("linalg", "special"):
        yield PACKAGE / f"{place}.pyi", namespace_stub(place).text()
    yield from path_stubs()


def refresh(files: Iterable[tuple[Path, str]]) -> int:
    """Write those files that should hold something else, or with ``--check`` say which they are."""
    stale = [(path, text) for path, text in files if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv:
        print("\n".join(f"{path.relative_to(ROOT)} is stale. Hint: make docs." for path, _ in stale))
        return bool(stale)
    for path, text in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(refresh(files()))
