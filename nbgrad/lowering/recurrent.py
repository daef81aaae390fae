"""The steps of recurrent layers, forward and back: one launch for contiguous operands. See NOTE [Recurrent steps]."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple

from ..base.calls import CALLS
from ..base.dtypes import DType, int64
from ..base.errors import DTypeError, ShapeError
from ..dispatch.formulas import Formula
from ..dispatch.lowerings import GeneralPlan, lowering
from ..dispatch.plans import elementwise_code, elementwise_plan
from ..kernels.codegen import computable
from ..kernels.cpu.blas import gemm_address
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..native.plans import PARALLEL, Plan, pack_record
from ..ops.core import OPS
from ..ops.expr import ZERO, Expr, postorder, rebuilt, symbol
from ..ops.recurrent import CELLS, Cell, cotangents_in_steps, evaluated, recurrent_in_steps
from ..tensors.layout import Layout
from ..tensors.tensor import native
from .arranged import arranged, runs_as_it_lies

__all__: list[str] = []

# Sequences of a block; the same where BLAS multiplies, for MANY sequences and weights of more bytes than NEAR, which every block
# would read again from far away; multiply-adds of all steps from which threads share them: benchmarks/test_recurrent.py.
BLOCK, LARGE_BLOCK, MANY, NEAR, PARALLEL_FROM = 8, 32, 16, 1 << 22, 1 << 18


class Sizes(NamedTuple):
    """Of a call: steps, sequences, units, and numbers that gates get."""

    steps: int
    batch: int
    units: int
    rows: int


def sizes_of(layouts: tuple[Layout, ...], cell: Cell) -> Sizes:
    """What a call of ``recurrent`` goes over.

    Raises:
        ShapeError, DTypeError: operands that do not go together.
    """
    p, w, b, s, lengths = layouts
    if p.ndim != 3 or s.ndim != 3 or not p.shape[0]:
        raise ShapeError(f"rnn: p is {list(p.shape)}, s {list(s.shape)}, expected (steps, batch, gates), (states, batch, units).")
    steps, batch, rows = p.shape
    units = s.shape[2]
    for name, given, shape in zip("wbs", (w, b, s), ((units, rows), (rows,), (cell.states, batch, units))):
        if given.shape != shape:
            raise ShapeError(f"rnn: {name} is {list(given.shape)}, expected {list(shape)}.")
        if given.dtype is not p.dtype:
            raise DTypeError(f"rnn: {name} is {given.dtype}, expected {p.dtype} as p is. Hint: call .to(x.dtype).")
    if not p.dtype.is_floating_point:
        raise DTypeError(f"rnn: p is {p.dtype}, expected a floating dtype.")
    if lengths.dtype is not int64 or lengths.shape != (batch,):
        raise ShapeError(f"rnn: lengths are {lengths.dtype}{list(lengths.shape)}, expected int64[{batch}].")
    if rows != cell.gates * units:
        raise ShapeError(f"rnn: p is {list(p.shape)}, expected {cell.gates} x {units} in the last dimension.")
    return Sizes(steps, batch, units, rows)


class Place(NamedTuple):
    """NOTE [Places in time] of templates/recurrent.py, in elements.

    Attributes:
        argument: which; of these a unit's number is at ``start``, with so many elements a ``step`` and a ``row``.
        earlier: of the step before; where there is none it lies in the argument ``first``, from ``first_start`` on.
    """

    argument: int
    start: int
    step: int
    row: int
    earlier: bool = False
    first: int = 0
    first_start: int = 0

    def words(self, size: int) -> tuple[int, ...]:
        """As the record has it, in bytes."""
        start, step, row, first_start = (each * size for each in (self.start, self.step, self.row, self.first_start))
        return self.argument, start, step, row, self.earlier, self.first, first_start


def planes(sizes: Sizes, argument: int, count: int, first: int = 0) -> list[Place]:
    """Places in planes; with ``first`` those of the step before, and the argument that has them where there is none."""
    lead, all_steps = sizes.batch * sizes.units, sizes.steps * sizes.batch * sizes.units
    if not first:
        return [Place(argument, k * all_steps, lead, sizes.units) for k in range(count)]
    return [Place(argument, k * all_steps, lead, sizes.units, True, first, k * lead) for k in range(count)]


def gates(sizes: Sizes, argument: int, count: int, in_time: bool = True) -> list[Place]:
    """Places of what gates get, which lie side by side."""
    return [Place(argument, k * sizes.units, sizes.batch * sizes.rows * in_time, sizes.rows) for k in range(count)]


@cache
def formula(name: str, params: tuple[str, ...], results: tuple[Expr, ...]) -> Formula:
    """A formula of numbers; what kernels have no function for is written as it is declared."""
    forms = {node.op: OPS[node.op].formula for node in postorder(results) if node.op in OPS and not computable(node.op, "float64")}
    written = tuple([rebuilt(each, lambda node: node, forms) for each in results])
    return Formula(name, tuple((each, False) for each in params), written)


@late
def steps_kernel() -> int:
    """Address of the loop."""
    from ..kernels.templates.recurrent import place_of, steps_loop  # not by an import

    return address(Program("recurrent", steps_loop, None, (("place_of", place_of),)))


@late
def products_kernel(dtype: str, by_blas: bool) -> int:
    """Address of the products."""
    from ..kernels.templates.recurrent import products_loop  # not by an import

    function, bindings = products_loop(dtype, by_blas)
    return address(Program("products", function, dtype, bindings))


class Launch(NamedTuple):
    """What a direction launches, but for its sizes.

    Attributes:
        cell: the formula of sequences that have a step. idle: of those that have ended.
        inplace: so many results are written over the first operands.
        product: the places of the products' result and factor.
        places: of results and operands of the formulas.
        outs: the layouts of results.
        weights, addend, lengths: the arguments.
        words: columns, terms, and rows' elements of result, factor and weights.
    """

    cell: Formula
    idle: Formula
    inplace: int
    product: tuple[Place, Place]
    places: list[Place]
    outs: tuple[Layout, ...]
    weights: int
    addend: int
    lengths: int
    words: tuple[int, int, int, int, int]

    def plan(self, sizes: Sizes, layouts: tuple[Layout, ...], attributes: dict, dtype: DType) -> GeneralPlan:
        """The launch for operands of these layouts: NOTE [Record of steps]."""
        name, size, ragged = dtype.name, dtype.itemsize, attributes["ragged"]
        singles = (False,) * len(self.cell.params)
        cell, idle = (elementwise_code(each, name, singles, self.inplace, True) for each in (self.cell, self.idle))
        blas = gemm_address(name) if sizes.batch >= MANY and sizes.units * sizes.rows * size > NEAR else 0
        block = LARGE_BLOCK if blas else BLOCK
        words = [sizes.steps, sizes.batch, block, attributes["mirrored"], self.inplace, self.lengths if ragged else 0]
        words += [cell, idle if ragged else 0, len(self.places), products_kernel(name, bool(blas)), self.weights, self.addend]
        product = *self.words, self.addend != 0, blas
        words += [len(product), *product, sizes.units, *(each.row * size for each in self.places)]
        words += chain(*(each.words(size) for each in (*self.product, *self.places)))
        work = sizes.batch * sizes.units * sizes.rows
        flags = PARALLEL if work * sizes.steps >= PARALLEL_FROM else 0
        blocks = math.ceil(sizes.batch / block) if work else 0
        record = pack_record(steps_kernel(), blocks, 1, len(self.outs), (0,) * len(layouts), flags, words)
        return GeneralPlan(record, tuple([out.template for out in self.outs]), layouts)


@lowering("recurrent")
def _recurrent(op, layouts, attributes):
    cell = CELLS[attributes["cell"]]
    sizes = sizes_of(layouts, cell)
    if not all(map(runs_as_it_lies, layouts)):
        return arranged_run
    p, (steps, batch, units, rows) = layouts[0], sizes
    shapes = (cell.states, steps, batch, units), (len(cell.kept), steps, batch, units), (batch, rows)
    given, products = gates(sizes, 4, cell.gates), gates(sizes, 3, cell.gates, False)
    states = planes(sizes, 1, cell.states, first=7)
    names = [f"{letter}{k}" for letter, found in (("p", given), ("q", products), ("s", states)) for k in range(len(found))]
    same = [*cell.symbols("s", cell.states), *[ZERO] * len(cell.kept)]
    launch = Launch(
        formula(cell.name, tuple(names), (*cell.after, *cell.kept)),
        formula(f"{cell.name}_idle", tuple(names), tuple(same)),
        0,
        (products[0], states[0]),
        [*planes(sizes, 1, cell.states), *planes(sizes, 2, len(cell.kept)), *given, *products, *states],
        tuple([p.like(None, shape) for shape in shapes]),
        5,
        6,
        8,
        (rows, units, rows, units, rows),
    )
    return launch.plan(sizes, layouts, attributes, p.dtype)


@lowering("recurrent_cotangents")
def _cotangents(op, layouts, attributes):
    cell, (g, w, s) = CELLS[attributes["cell"]], layouts[:3]
    if not all(map(runs_as_it_lies, layouts)):
        return arranged_run
    _, steps, batch, units = g.shape
    sizes = Sizes(steps, batch, units, w.shape[0])
    products = g.like(None, (steps, batch, sizes.rows))
    outs = (products, s) if cell.shared else (products, s, products)
    first = len(outs) + 1  # the argument that g is; the others follow
    carried = [Place(2, k * batch * units, 0, units) for k in range(cell.states)]
    made = [gates(sizes, argument, cell.gates) for argument in (1, 3)[: len(outs) - 1]]
    places = {
        "g": planes(sizes, first, cell.states),
        "n": planes(sizes, first + 4, cell.states),
        "k": planes(sizes, first + 5, len(cell.kept)),
        "s": planes(sizes, first + 4, cell.states, first=first + 2),
    }
    sums = [symbol(f"d{k}") + symbol(f"g{k}") for k in range(cell.states)]
    used = set().union(*(each.symbols() for each in (*cell.cotangents, *sums)))
    read = {f"{letter}{k}": place for letter, found in places.items() for k, place in enumerate(found) if f"{letter}{k}" in used}
    names = (*(f"d{k}" for k in range(cell.states)), *read)
    launch = Launch(
        formula(f"{cell.name}_back", names, cell.cotangents),
        formula(f"{cell.name}_idle_back", names, (*sums, *[ZERO] * (len(cell.cotangents) - cell.states))),
        cell.states,
        (carried[0], made[0][0]),
        [*carried, *chain(*made), *read.values()],
        outs,
        first + 1,
        0,
        first + 3,
        (units, sizes.rows, units, sizes.rows, units),
    )
    return launch.plan(sizes, layouts, attributes, g.dtype)


def arranged_run(op, tensors, attributes):
    """The call of contiguous operands, half types widened."""
    dtype = tensors[0].layout.dtype
    results = CALLS[op.name](*arranged(tensors), **attributes)
    return tuple([x if x.layout.dtype is dtype else CALLS["to_dtype"](x, dtype) for x in results])


# ---- on a GPU: a product and one kernel a step ---------------------------------------------------------------------------


@lru_cache(maxsize=256)
def fused_plan(roots: tuple[Expr, ...], names: tuple[str, ...], layouts: tuple[Layout, ...]) -> Plan:
    """The launch that computes formulas of a cell."""
    out = layouts[0].like(None, layouts[0].shape)
    return elementwise_plan(formula("cell", names, roots), out.dtype, layouts, (out,) * len(roots))


def fused(roots: tuple[Expr, ...], values: dict[str, Any]) -> list[Any]:
    """Formulas of a cell by one launch."""
    used = set().union(*(each.symbols() for each in roots))
    given = {name: x for name, x in values.items() if name in used}
    if not next(iter(given.values())).layout.numel:
        return evaluated(roots, values)
    made = native.fresh(fused_plan(roots, tuple(given), tuple([x.layout for x in given.values()])), *given.values())
    return list(made) if type(made) is tuple else [made]


@lowering("recurrent", style="run", device="cuda")
def _recurrent_on_gpu(op, tensors, attributes):
    sizes_of(tuple([x.layout for x in tensors]), CELLS[attributes["cell"]])
    return recurrent_in_steps(*tensors, **attributes, compute=fused)


@lowering("recurrent_cotangents", style="run", device="cuda")
def _cotangents_on_gpu(op, tensors, attributes):
    return cotangents_in_steps(*tensors, **attributes, compute=fused)
