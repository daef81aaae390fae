"""The layers of the package, as data; imports point down. Heavy and optional libraries stay where they belong."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache, lru_cache
from pathlib import Path
from typing import Iterator, NamedTuple

import pytest

import nbgrad
from nbgrad.methods.namespaces import PLACES
from nbgrad.ops.core import OPS

PACKAGE = Path(nbgrad.__file__).parent

# From the bottom up: a module imports from its own layer and those before it in this list. A layer is a folder, or flat files.
LAYERS = (
    ("_version", "the version's number"),
    ("base", "what everything may use"),
    ("ops", "what operations are: formulas, declarations; no array, no kernel, no graph"),
    ("kernels", "machine code from formulas; no Tensor, no graph"),
    ("native", "the fast path in machine code, on the interpreter's own objects"),
    ("tensors", "storage and layout under one roof"),
    ("graph", "nodes, edges, hooks; what nodes keep; a pass's task"),
    ("views", "views and their bases"),
    ("modes", "who is asked about a call in a special mode"),
    ("dispatch", "one call of one operation; writes"),
    ("accumulate", "what happens when a gradient reaches a leaf"),
    ("creation", "how tensors are made and converted"),
    ("lowering", "from general operations on tensors to kernels"),
    ("composites", "public functions that are written in operations"),
    ("batch", "what operations mean on a batch that is hidden"),
    ("engine", "the backward pass"),
    ("forward", "directions of differentiation, and what tensors know of them"),
    ("autograd", "backward and grad, Functions, forward mode, checks of derivatives"),
    ("methods", "what hangs on Tensor and on the package"),
    ("_C __config__ anomaly backends cache cpu cuda debug version", "what users look at, and switch on"),
    ("profiling", "what ran, and how long"),
    ("recomputing", "saved tensors that are computed again"),
    ("func", "functions of functions: maps, derivatives"),
    ("jit", "graphs of programs: the public names, imported where somebody first uses them"),
    ("jit.ir", "graphs of programs: what they are, checked, compared, run by calls"),
    ("jit.text", "graphs written, read, drawn"),
    ("jit.nodes", "nodes that are no operation of the table"),
    ("jit.guards", "what a program depends on beside its arguments"),
    ("jit.arguments", "what goes into a program and comes out"),
    ("jit.state", "what a program finds, and leaves behind"),
    ("jit.capture", "how a run becomes a graph"),
    ("jit.execution", "how a graph becomes one native call"),
    ("jit.passes", "graphs that compute the same with less"),
    ("jit.differentiation", "gradients of graphs"),
    ("jit.differentiate", "gradients of graphs, for users"),
    ("jit.loops", "bodies of loops and branches"),
    ("jit.control_flow jit.associative", "loops and branches, for users"),
    ("jit.compiled", "variants of a compiled function"),
    ("jit.compile", "compiled functions, for users"),
    ("jit.compiler", "torch.compiler"),
    ("jit.files", "what files of compiled functions hold"),
    ("jit.loading", "compiled functions from files, for users"),
    ("jit.saving", "compiled functions as files, for users"),
    ("jit.live_graphs", "nodes of an eager graph, as parts of a program"),
    ("jit.live", "eager graphs as programs, for users"),
    ("testing", "comparisons"),
    ("__init__", "the public names"),
    (
        "nn fx optim amp linalg special fft signal data distributions multiprocessing sparse integrate quasirandom safetensors "
        "interop array_api utilities",
        "written in the public names",
    ),
    ("cubins", "every CUDA kernel of the table, compiled and inspected"),
    ("cuda.check", "what a GPU does, looked at"),
)

# Imports inside functions that point up, each with the reason why it cannot point down.
UPWARD = {
    ("jit.ir.graph", "jit.text.text"): "a graph prints itself",
    ("jit.ir.graph", "jit.text.show"): "a graph draws itself",
    ("jit.ir.tracebacks", "jit.text.text"): "a traceback shows a graph's text, where an error comes",
    ("jit.files.objects", "jit.loading"): "another process loads the file, to see which machine code that asks for",
}

# Names that a module sets in another one, each with the reason why the other cannot import what it is.
ASSIGNED = {
    ("tensors.tensor", "tensors.layout.new_template"): "a layout carries the blank tensor that native calls copy",
    ("methods.operation_namespaces", "ops.*"): "operations that programs make are found beside the table's own",
    ("native.handle", "base.bounded.conceal"): "tables of plans lie below native code, which hides their keys from the collector",
    ("accumulate", "graph.node.leaf_backward"): "a leaf's sink that is called by hand accumulates as a pass does",
}

# Modules that import a library of their own at the top of the file.
CONFINED = {
    "numba": ("kernels.cpu", "kernels.instantiate", "kernels.prims"),
    "cuda": ("kernels.cuda",),
    "llvmlite": ("kernels", "native"),
    "ml_dtypes": ("base.dtypes",),
    "rich": ("cubins.command",),
    "scipy": ("optim.constraints", "optim.minimize", "quasirandom"),
}
NOWHERE = ("numba.cuda", "torch", "jax", "matplotlib", "pytest")


class Import(NamedTuple):
    """One import statement's target."""

    source: str
    target: str
    lazy: bool
    line: int


def name_of(path: Path) -> str:
    """A file as a module name inside the package: ``kernels.cpu.pool``; a package by its folder's name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1]) or "__init__" if parts[-1] == "__init__" else ".".join(parts)


@lru_cache(maxsize=1)
def modules() -> dict[str, Path]:
    """All modules by name."""
    return {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def tree_of(path: Path) -> ast.Module:
    """A module's source, parsed."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All of that tree."""
    return tuple(ast.walk(tree_of(path)))


BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # where statements have statements


@cache
def statements(path: Path) -> tuple[tuple[ast.stmt, bool], ...]:
    """Import statements, and whether each is inside a function; those for type checkers alone are left out."""

    def walk(node, lazy):
        for child in (each for block in BLOCKS for each in getattr(node, block, ())):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                yield child, lazy
            elif not (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")):
                yield from walk(child, lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))

    return tuple(walk(tree_of(path), False))


def targets(name: str, path: Path, statement: ast.stmt) -> Iterator[str]:
    """What a statement imports: full names of other packages, names of modules of this one with a leading dot."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            yield dotted(alias.name)
        return
    base = statement.module or ""
    if statement.level:
        package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        package = [] if name == "__init__" else package
        base = ".".join([*package[: len(package) - statement.level + 1], *([base] if base else [])])
        base = "." + base
    else:
        base = dotted(base)
    for alias in statement.names:
        longer = base + alias.name if base == "." else f"{base}.{alias.name}"
        yield longer if not base.startswith(".") or longer[1:] in modules() else base


def dotted(name: str) -> str:
    """``nbgrad.x`` as ``.x``."""
    return "." + name[len("nbgrad.") :] if name.startswith("nbgrad.") else "." if name == "nbgrad" else name


@lru_cache(maxsize=1)
def imports() -> tuple[Import, ...]:
    """Every import of every module."""
    return tuple(
        Import(name, target, lazy, statement.lineno)
        for name, path in modules().items()
        for statement, lazy in statements(path)
        for target in targets(name, path, statement)
    )


@cache
def layer_of(name: str) -> int:
    """The position of a module's layer: of its own name, else of the nearest folder around it."""
    places = {entry: k for k, (entries, _) in enumerate(LAYERS) for entry in entries.split()}
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if (found := places.get(".".join(parts[:length]))) is not None:
            return found
    raise AssertionError(f"{name} has no layer: add it to LAYERS.")


def inner() -> Iterator[tuple[Import, str]]:
    """Imports of modules of this package, with the target's name."""
    for each in imports():
        if each.target.startswith("."):
            yield each, each.target[1:] or "__init__"


def test_every_module_has_a_layer():
    """A new module gets its place in LAYERS, or lies in a folder that has one."""
    for name in modules():
        assert LAYERS[layer_of(name)]


def test_the_layers_are_what_a_listing_shows():
    """Every folder of the package is one layer, and few files lie flat."""
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    flat = {path.stem for path in PACKAGE.glob("*.py")}
    assert {name for entries, _ in LAYERS for name in entries.split() if "." not in name} == folders | flat
    assert len(flat) <= 16


def first_cells(begin: str, end: str) -> list[str]:
    """Names of files and folders in the first column of a table of docs/architecture.md, from above."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = page[page.index(begin) : page.index(end)].splitlines()
    return [name for row in rows if row.startswith("|") for name in re.findall(r"`(\w+(?:\.py|/))`", row.split("|")[1])]


def test_the_page_has_the_layers_in_their_order():
    """docs/architecture.md shows every folder and flat file, from the lowest layer to the highest."""
    names = [name.removesuffix("/").removesuffix(".py") for name in first_cells("| folder, from below", "In `dispatch/`")]
    places = [layer_of(name) for name in names]
    assert places == sorted(places), names
    assert set(names) == {name for entries, _ in LAYERS for name in entries.split() if "." not in name} - {"__init__"}


def test_the_page_has_the_folders_of_jit_in_their_order():
    """docs/architecture.md shows them from the lowest layer to the highest, each with the sentence that it begins with itself."""
    folders = [entry for entries, _ in LAYERS for entry in entries.split() if (PACKAGE / entry.replace(".", "/")).is_dir()]
    inside = [PACKAGE / name.replace(".", "/") for name in folders if name.startswith("jit.")]
    sentences = {path.name: ast.get_docstring(tree_of(path / "__init__.py")).partition("\n\n")[0] for path in inside}
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `jit/(\w+)/` \| (.*?) \|", page, re.M)
    assert rows == [(name, sentence.replace("``", "`").replace("\n", " ")) for name, sentence in sentences.items()]


def test_the_page_has_all_of_dispatch():
    """docs/architecture.md says of every module in ``dispatch/`` what it does."""
    names = first_cells("In `dispatch/`", "Imports never go in a circle")
    assert sorted(names) == sorted(path.name for path in (PACKAGE / "dispatch").glob("*.py") if path.stem != "__init__")


def test_imports_at_the_top_of_files_point_down():
    """A layer knows those beneath it only."""
    wrong = [
        f"nbgrad/{each.source.replace('.', '/')}.py:{each.line} ({LAYERS[layer_of(each.source)][0]}) "
        f"imports {target} ({LAYERS[layer_of(target)][0]})"
        for each, target in inner()
        if not each.lazy and layer_of(target) > layer_of(each.source)
    ]
    assert not wrong, "\n".join(wrong)


def test_upward_imports_inside_functions_are_listed():
    """What points up does so inside a function, for a reason that UPWARD states; nothing there is gone."""
    found = {(each.source, target) for each, target in inner() if each.lazy and layer_of(target) > layer_of(each.source)}
    assert found == set(UPWARD), f"not listed: {sorted(found - set(UPWARD))}; gone: {sorted(set(UPWARD) - found)}"


def assigned(name: str, path: Path) -> Iterator[str]:
    """Names of other modules that a module sets: ``module.name``; ``module.*`` where it sets them by ``setattr`` or ``vars``."""
    known = {}
    for statement, _ in statements(path):
        for alias, target in zip(statement.names, targets(name, path, statement)):
            if isinstance(statement, ast.ImportFrom) and target[1:] in modules() and target.split(".")[-1] == alias.name:
                known[alias.asname or alias.name] = target[1:]
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            if node.value.id in known:
                yield f"{known[node.value.id]}.{node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "vars") and node.args:
            if isinstance(node.args[0], ast.Name) and node.args[0].id in known:
                yield f"{known[node.args[0].id]}.*"


def test_names_set_in_other_modules_are_listed():
    """What a module needs it imports, or asks a registry for; what is set in it from outside has a reason, in ASSIGNED."""
    found = {(name, target) for name, path in modules().items() for target in assigned(name, path)}
    assert found == set(ASSIGNED), f"not listed: {sorted(found - set(ASSIGNED))}; gone: {sorted(set(ASSIGNED) - found)}"


# What makes operations and what makes kernels of them, each with the folders that use it. Functions that are written in operations
# are declared where what they are written in can be imported.
PLACES_OF_DECLARATIONS = {
    "ops.core": {
        "elementwise": ("ops", "methods.declare"),
        "movement": ("ops",),
        "reduction": ("ops",),
        "general": ("ops",),
        "composite": ("ops", "composites"),
    },
    "dispatch.lowerings": {"lowering": ("lowering",), "prepared": ("lowering", "composites")},
}


def test_operations_are_declared_in_ops_and_lowered_in_lowering():
    """``ops`` says what operations are, ``lowering`` how they are computed; ``composites`` are written in them."""
    wrong = [
        f"{name} imports {alias.name}"
        for name, path in modules().items()
        for statement, _ in statements(path)
        for alias, target in zip(statement.names, targets(name, path, statement))
        for homes in [PLACES_OF_DECLARATIONS.get(target[1:], {}).get(alias.name, (name,))]
        if not any(name == home or name.startswith(home + ".") for home in homes)
    ]
    assert not wrong, "\n".join(wrong)


# Module-level tables outside of nbgrad/ops whose keys or members are mostly names of operations, each with the reason why it says
# nothing that a declaration could say. What an operation is stands in its declaration; a registry that functions enter by
# decorators (lowerings, batching rules) is no table.
TABLES = {
    ("composites.scatter", "EXTREMA"): "values of torch's argument reduce=",
    ("composites.scatter", "REDUCTIONS"): "values of torch's argument reduce=",
    ("composites.segments", "REDUCTIONS"): "values of torch's argument reduce=",
    ("sparse.products", "REDUCTIONS"): "values of torch's argument reduce=",
    ("nn.native_functions", "REDUCTIONS"): "values of torch's argument reduction=",
    ("dispatch.device_formulas", "DIVIDES"): "scalar functions that divide integers, which the gates allow there",
    ("kernels.cuda.vectors", "SERIES"): "scalar functions of many terms",
    ("cubins.rows", "FAMILY"): "what a release carries is its size, not what operations are",
    ("cubins.table", "STRIDED"): "what a release carries is its size, not what operations are",
    ("cubins.table", "WHOLLY"): "what a release carries is its size, not what operations are",
    ("modes.numbers", "BOUNDS"): "how far results of Python's own numbers reach, which no operation computes",
    ("kernels.templates.sparse", "BODIES"): "bodies of loops, by the operations that launch them",
    ("sparse.elements", "_name"): "functions that are 0 at 0, which sparse tensors have by their values",
    ("sparse.folds", "_name"): "norms that zeros add nothing to",
    ("array_api.elements", "(ceil, floor, round, trunc)"): "the standard's functions of integers, which torch has of floats alone",
    ("func.functional", "PLAIN"): "torch's choice of functions that it writes in Python",
    ("fx.codegen", "BINARY"): "how texts of graphs write the operators of Python",
    ("fx.codegen", "STATEMENTS"): "how texts of graphs write the operators of Python",
    ("jit.guards.mathematics", "OTHERS"): "functions of Python's math that are left to it",
    ("jit.passes.fold_constants", "ARITHMETIC"): "the four operations of numbers, whose kernels take a number as a tensor of it",
    ("jit.passes.forward_identities", "COPIES"): "laws of numbers, which a pass knows, not facts that calls need",
    ("jit.passes.forward_identities", "OPERATORS"): "laws of numbers, which a pass knows, not facts that calls need",
    ("kernels.complex_scalars", "COMPLEX_FUNCTIONS"): "the declarations of the functions of complex numbers",
    ("kernels.complex_scalars", "COMPLEX_GUARDS"): "the declarations of the functions of complex numbers",
    ("kernels.convert", "LAZY"): "texts of conversions, by bits of a layout",
    ("kernels.prims", "ROUNDINGS"): "primitives, by their names in NumPy and LLVM",
    ("kernels.scalars", "ABREAST"): "the declarations of the functions of numbers",
    ("kernels.scalars", "COMMON"): "the declarations of the functions of numbers",
    ("kernels.scalars", "FUNCTIONS"): "the declarations of the functions of numbers",
    ("kernels.scalars", "GUARDS"): "the declarations of the functions of numbers",
    ("kernels.scalars", "INT_FUNCTIONS"): "the declarations of the functions of numbers",
    ("kernels.scalars", "OSCILLATING"): "the declarations of the functions of numbers",
    ("kernels.templates.gather", "REDUCTIONS"): "texts of writes, by what they do to what is there",
    ("kernels.templates.attention", "LOOPS"): "texts of loops, by the kernels' names",
    ("kernels.templates.lapack_bodies", "BODIES"): "texts of what is done for a matrix, by the routines' names",
    ("kernels.templates.losses", "LOOPS"): "texts of loops, by the kernels' names",
    ("kernels.templates.mask", "MASKED"): "texts of loops, by the kernels' names",
    ("kernels.templates.adaptive_pool", "TEXTS"): "texts of loops, by the kernels' names",
    ("kernels.templates.paths", "FIRST_ROWS"): "how much memory the kernels use, by their names",
    ("kernels.templates.paths", "TEXTS"): "texts of loops, by the kernels' names",
    ("kernels.templates.pool", "TEXTS"): "texts of loops, by the kernels' names",
    ("kernels.templates.sampling", "BODIES"): "bodies of loops, by the operations that launch them",
    ("kernels.templates.select", "SEARCHES"): "texts of searches in sorted lines",
    ("kernels.templates.softmax", "(SOFTMAX, LOG_SOFTMAX, LOGSUMEXP, SOFTMAX_BACKWARD, LOG_SOFTMAX_BACKWARD)"): "names of kernels",
    ("lowering.sampling", "STEPS"): "what operations are in others where no kernel takes them",
    ("lowering.sort", "SUITS"): "for which lines a search is a kernel",
    ("methods.foreach", "FORMS"): "torch's choice of functions of lists, and what they take besides",
    ("methods.foreach", "OUT_OF_PLACE_ONLY"): "torch's choice",
    ("methods.inplace_functions", "ALSO_FUNCTIONS"): "torch's choice; most are in-place forms of no operation, or of variants",
    ("methods.numpy_protocol", "ADAPTED"): "NumPy's functions whose arguments mean something else",
    ("methods.numpy_protocol", "FUNCTIONS"): "NumPy's functions, with NumPy's names of their arguments",
    ("nn.init", "GAINS"): "names of nonlinearities, of which some are layers or operations",
    ("optim.lr_scheduler.cycles", "WAYS"): "names of anneal_strategy, which torch gave them",
    ("optim.swa_utils", "WAYS"): "the same of SWALR: the part of the way, from which it finds where that began",
}


def keys_of(node: ast.AST) -> Iterator[str]:
    """Names that a literal is keyed by, or has as members; of members that are tuples the first."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values):
            yield from keys_of(value) if key is None else first_name(key)
    elif isinstance(node, (ast.Set, ast.Tuple, ast.List)):
        for member in node.elts:
            yield from keys_of(member.value) if isinstance(member, ast.Starred) else first_name(member)
    elif isinstance(node, ast.Call):  # frozenset((...)), dict.fromkeys((...)), "...".split()
        if isinstance(node.func, ast.Attribute) and node.func.attr == "split" and isinstance(node.func.value, ast.Constant):
            yield from str(node.func.value.value).split()
        else:
            yield from (name for argument in node.args[:1] for name in keys_of(argument))
    elif isinstance(node, ast.BinOp):
        yield from (*keys_of(node.left), *keys_of(node.right))
    elif isinstance(node, (ast.DictComp, ast.SetComp, ast.ListComp, ast.GeneratorExp)):
        yield from keys_of(node.generators[0].iter)


def first_name(node: ast.AST) -> Iterator[str]:
    """The string that a member is, or begins with."""
    while isinstance(node, ast.Tuple) and node.elts:
        node = node.elts[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def tables_of_operations(path: Path) -> Iterator[str]:
    """Names of a module's tables of which most keys or members are names of operations."""
    for statement in tree_of(path).body:
        if isinstance(statement, ast.For):
            target, value = statement.target, statement.iter
        elif isinstance(statement, ast.Assign):
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            continue
        names = [*keys_of(value)]
        known = [name for name in names if name.removesuffix("_") in OPS]
        if ast.unparse(target) != "__all__" and 2 * len(known) > len(names):
            yield ast.unparse(target)


def test_tables_keyed_by_operation_are_listed():
    """What is known of an operation stands in its declaration; other tables that name operations have a reason, in TABLES."""
    outside = {name: path for name, path in modules().items() if name.split(".")[0] != "ops"}
    found = {(name, table) for name, path in outside.items() for table in tables_of_operations(path)}
    assert found == set(TABLES), f"not listed: {sorted(found - set(TABLES))}; gone: {sorted(set(TABLES) - found)}"


@pytest.mark.parametrize("kind", sorted({type(op) for op in OPS.values()}, key=lambda kind: kind.__name__))
def test_operations_of_a_kind_have_the_same_fields(kind):
    """A declaration is complete when it is made: nothing is set on single operations afterwards."""
    fields = {frozenset(vars(op)) for op in OPS.values() if type(op) is kind}
    assert len(fields) == 1, sorted(frozenset.union(*fields) - frozenset.intersection(*fields))


def test_no_cycle_of_imports():
    """Within a layer, too, imports are acyclic, those inside of functions among them."""
    edges: dict[str, set[str]] = {}
    for each, target in inner():
        if target != each.source:
            edges.setdefault(each.source, set()).add(target)
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"cycle: {' -> '.join((*path[path.index(name) :], name))}"
        if name not in done:
            for target in edges.get(name, ()):
                visit(target, (*path, name))
            done.add(name)

    for name in edges:
        visit(name, ())


@pytest.mark.parametrize("library", [*CONFINED, *NOWHERE])
def test_libraries_stay_where_they_belong(library):
    """Numba, its CUDA target and the rest are known to the modules that CONFINED names; some libraries to none."""
    homes = CONFINED.get(library, ())
    wrong = {
        each.source
        for each in imports()
        if each.target == library or each.target.startswith(library + ".")
        if not any(each.source == home or each.source.startswith(home + ".") for home in homes)
    }
    assert not wrong


def test_numba_is_imported_inside_functions_on_the_way_to_a_cpu_kernel():
    """A warm process computes without Numba: only CUDA's modules import it at the top of the file, and what compiles for the CPU,
    which is itself imported inside a function."""
    wrong = {
        each.source
        for each in imports()
        if each.target.split(".")[0] == "numba"
        and not each.lazy
        and not each.source.startswith(("kernels.cuda.", "kernels.cpu.frontend"))
    }
    assert not wrong
    assert all(each.lazy for each in imports() if each.target == ".kernels.cpu.frontend")


def test_importing_the_package_is_light():
    """``import nbgrad`` loads no compiler, no plotting, no other framework."""
    heavy = ["numba", "torch", "jax", "matplotlib", "rich", "scipy", "pandas", "pytest"]
    script = f"import sys, nbgrad; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr


def printed_by_child(script: str) -> str:
    """What a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_compiling_imports_no_texts_drawings_loops_or_derivatives():
    """What a first compiled call does not use is not imported for it."""
    unused = ["hashlib", "difflib", "html", *(f"nbgrad.jit.{name}" for name in ("text", "loops", "compiled.backward", "live"))]
    script = (
        f"import sys, nbgrad; nbgrad.compile(lambda x: x + 1)(nbgrad.ones(2)); print([x for x in {unused} if x in sys.modules])"
    )
    assert printed_by_child(script) == "[]"


def test_a_module_does_not_take_the_place_of_a_public_function_of_its_name():
    """``nbgrad.jit.compile`` is the function, whoever has imported the module of that name before."""
    script = (
        "import nbgrad.jit.compile, nbgrad.jit.differentiate; print(nbgrad.jit.compile.__name__, nbgrad.jit.differentiate.__name__)"
    )
    assert printed_by_child(script) == "compile differentiate"


# Who writes LLVM's text: what has both meanings, what all native code rests on, and the translator.
TRANSLATOR = {
    f"native.translator.{part}"
    for part in ("references", "values", "expressions", "invocations", "statements", "functions", "units")
}
LLVM_TEXT = {"native.primitives", "native.support", "native.link", *TRANSLATOR}  # link: how a core waits
LLVM_WORDS = ("getelementptr ", "= phi ", "br i1 ", "br label %", "alloca ", "call void @", "@incref", "@decref")


def test_nobody_else_writes_machine_code():
    """No count of references, no label and no phi is written by hand outside of the native language."""
    writers = set()
    for name, path in modules().items():
        texts = [node.value for node in nodes_of(path) if isinstance(node, ast.Constant)]
        if any(word in text for text in texts if isinstance(text, str) for word in LLVM_WORDS):
            writers.add(name)
    assert writers == LLVM_TEXT


def branches_on_cuda(path: Path) -> list[int]:
    """Lines of conditions that mention cuda."""
    tests = [node.test for node in nodes_of(path) if isinstance(node, (ast.If, ast.IfExp, ast.While))]
    return [test.lineno for test in tests if "cuda" in ast.unparse(test).lower()]


def test_nothing_asks_whether_it_runs_on_cuda():
    """A device is an interface: no condition on cuda outside its kernels and the storage."""
    outside = {
        name: path
        for name, path in modules().items()
        if not name.startswith(("kernels.cuda", "cuda.check")) and name != "tensors.storage"
    }
    assert not {name: lines for name, path in outside.items() if (lines := branches_on_cuda(path))}


# Modules that ask whether memory is a GPU's, each group with what it decides. Hot paths are not among them: a plan knows.
ASK_FOR_THE_DEVICE = {
    "native.launches native.sequences tensors.layout": "what makes results: one load and comparison",
    "dispatch.plans dispatch.lowerings dispatch.device_lowerings dispatch.device_requirements dispatch.operands dispatch.inplace "
    "dispatch.updates dispatch.device_plans "
    "lowering.cuda.registry": "which lowering; which operands may come together; who says what is wrong",
    "jit.ir.devices": "what graphs ask",
    "optim.ruled optim.optimizer": "what counts steps; what a graph of a GPU would freeze",
    "lowering.index_checks lowering.index_writers lowering.masks lowering.random": ("which lowering, of what takes several steps"),
    "composites.index_writes composites.positions composites.counts composites.order_statistics composites.subscript "
    "composites.linalg.reflections forward.programs": ("what is prepared of calls: kernels of the CPU alone"),
    "tensors.arrays tensors.untyped tensors.storage tensors.heaps tensors.gpu tensors.shared creation.numpy_exchange "
    "creation.dlpack creation.gpu_exchange creation.pinning methods.pickling methods.files.storage_bytes "
    "methods.files.writing methods.printing methods.torch_members methods.memory jit.ir.literals data.transport multiprocessing "
    "autograd.measured_jacobians": ("doors: what leaves a tensor, or comes in"),
    "lowering.device creation.allocation creation.constants creation.factories creation.from_data creation.generators "
    "creation.sequences methods.draws methods.parameter_draws": "what is made, and moved, where",
    "engine autograd.seeds autograd.stream_walk autograd.graph_tools autograd.device_nans anomaly tensors.streams": (
        "streams, which the CPU has none of; where NaN is looked for"
    ),
}


def asks_for_the_device(path: Path) -> bool:
    """Whether a module compares ``memory`` of a layout with None, or a device with the CPU or meta."""
    for node in nodes_of(path):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            if left.endswith(".memory") and left != "loop.memory" and right == "None" or {"CPU", "META"} & {left, right}:
                return True
    return False


def test_where_the_device_is_asked_for():
    """In the modules of the table, and in all of them."""
    known = {name for names in ASK_FOR_THE_DEVICE for name in names.split()}
    asking = {name for name, path in modules().items() if not name.startswith("kernels.cuda") and asks_for_the_device(path)}
    assert asking - known == set(), "a device is an interface: or do they belong to one of the groups?"
    assert known - asking == set(), "these do not ask"


def test_layouts_are_told_their_device():
    """``layout_of`` has no default for it, and nobody hands it another way than fourth or by name."""
    from nbgrad.tensors.layout import layout_of

    assert inspect.signature(layout_of).parameters["device"].default is inspect.Parameter.empty
    short = [
        f"{name}:{node.lineno}"
        for name, path in modules().items()
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "layout_of"
        if len(node.args) < 4 and not any(isinstance(x, ast.Starred) for x in node.args)
        if not {"device", None} & {keyword.arg for keyword in node.keywords}
    ]
    assert not short


def public_members() -> Iterator[tuple[str, object]]:
    """Functions and classes of the public names, and the public methods of Tensor."""
    for name in sorted(vars(nbgrad)):
        member = getattr(nbgrad, name)
        if not name.startswith("_") and (inspect.isroutine(member) or inspect.isclass(member)):
            yield f"nbgrad.{name}", member
    for name, member in sorted(vars(nbgrad.Tensor).items()):
        if not name.startswith("_") and (callable(member) or isinstance(member, property)):
            yield f"Tensor.{name}", member


def test_everything_public_is_documented():
    """Every public function, class, method and property has a docstring."""
    assert not [name for name, member in public_members() if not (inspect.getdoc(member) or "").strip()]


def test_everything_under_a_public_path_is_documented():
    """Every function and class that a module of torch's paths gives away has a docstring: what is for the package alone is none."""
    shown = {place: importlib.import_module(f"nbgrad.{place}") for place in sorted({*filter(None, PLACES.values())})}
    assert not [
        (place, name)
        for place, module in shown.items()
        for name in module.__all__
        if (inspect.isroutine(member := getattr(module, name)) or inspect.isclass(member))
        and not (inspect.getdoc(member) or "").strip()
    ]


def test_every_operation_says_what_it_is():
    """The first paragraph of a declaration's ``doc`` is one or more sentences."""
    first = {op.name: op.doc.strip().split("\n\n")[0] for op in OPS.values()}
    assert not [name for name, text in first.items() if not text.rstrip().endswith((".", ":"))]


PUBLIC = [name for name in modules() if not name.split(".")[-1].startswith("_") and not name.startswith("kernels")]


def test_modules_document_themselves():
    """A module begins with what it is."""
    own = [name for name in PUBLIC if name not in ("nn", "optim", "linalg", "special")]
    assert not [name for name in own if not ast.get_docstring(tree_of(modules()[name]))]


def test_what_all_names_is_there():
    """``__all__`` lists names that exist."""
    found = {name: importlib.import_module("nbgrad" if name == "__init__" else f"nbgrad.{name}") for name in PUBLIC}
    assert not [
        (name, each) for name, module in found.items() for each in getattr(module, "__all__", ()) if not hasattr(module, each)
    ]


def test_notes_that_are_cited_are_written_once():
    """A rule on which several places rely, ``NOTE [Name]:``, has a name of its own, and whoever cites it leads there."""
    root = PACKAGE.parent
    folders = [root / name for name in ("nbgrad", "tests", "benchmarks", "tools", "docs")]
    texts = [path.read_text(encoding="utf-8") for folder in folders for kind in ("*.py", "*.md") for path in folder.rglob(kind)]
    written = Counter(name for text in texts for name in re.findall(r"^[ #\"0-9.]*NOTE \[([A-Za-z0-9 .,'-]+)\]:", text, re.M))
    cited = {re.sub(r"[\s#]+", " ", name) for text in texts for name in re.findall(r"NOTE \[([A-Za-z0-9\s#.,'-]+)\]", text)}
    assert len(written) > 100
    assert not [name for name, times in written.items() if times > 1]
    assert cited - {*written, "Name"} == set()
