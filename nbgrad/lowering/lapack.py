"""Which kernel of ``templates/lapack`` is launched for matrices of given layouts, and where its results go."""

from __future__ import annotations

import math
import struct
from functools import cache, wraps
from typing import Any, Callable, NamedTuple

import numpy as np

from ..base.bounded import keep
from ..base.dtypes import DType, float64, int32, int64
from ..base.grad_mode import mode, special
from ..dispatch.device_lowerings import are_on_gpu
from ..dispatch.lowerings import GeneralPlan
from ..graph.edges import requires_grad
from ..kernels.cpu.blas import PREFIX, find, is_wide, lapack, use_one_thread
from ..kernels.cpu.build import Program, address
from ..kernels.templates.lapack import lapack_kernel
from ..native.plans import PARALLEL, pack_record
from ..tensors.layout import Layout, layout_of
from ..tensors.tensor import Tensor, native

__all__ = ["WELL_CONDITIONED", "at_once", "launch", "went_well"]

ROW_MAJOR, UPPER, LOWER, AS_GIVEN, TURNED, PLAIN, UNIT = 101, 121, 122, 111, 112, 131, 132
REAL = ("float32", "float64")
# Up to which condition (in the 1-norm) the inverse gives cofactors to 1e-4 and 1e-10.
WELL_CONDITIONED = {"float32": 1000, "complex64": 1000, "float64": 1000000, "complex128": 1000000}
# Of three factors of this size the interpreter's lock is dropped.
LARGE = 1 << 20


class Routine(NamedTuple):
    """A call of LAPACK for a matrix.

    Attributes:
        name: of the kernel.
        functions: of LAPACK, and of BLAS with their prefix.
        sizes: m, n and k: see NOTE [Record of LAPACK].
        parts: shape and dtype of every result of a matrix.
        work: elements of the operands' dtype that LAPACK asks for.
        more: further bytes to work in.
        letters, flags: the routine's.
        integers: the size of LAPACK's own integer memory, where that is an argument.
    """

    name: str
    functions: tuple[str, ...]
    sizes: tuple[int, int, int]
    parts: tuple[tuple[tuple[int, ...], DType], ...]
    work: int = 0
    more: int = 0
    letters: tuple[int, int] = (0, 0)
    flags: tuple[int, int] = (0, 0)
    integers: int = 0


def letter(character: str) -> int:
    """What LAPACK reads as a letter, as a word."""
    return ord(character)


@cache
def workspace_size(name: str, dtype: str, arguments: tuple) -> int:
    """How many elements LAPACK wants to work in: the answer to a call with -1 for it.

    ``arguments``: integers and letters by value, None for an array, "work", and -1 for its size.
    """
    function = lapack(name, dtype, len(arguments))
    if function is None:
        return 0
    words = np.zeros((len(arguments) + 1, 8), np.int64)
    for k, value in enumerate(arguments):
        words[k, 0] = letter(value) if type(value) is str and value != "work" else value if type(value) is int else 0
    base = words.ctypes.data
    function(*[base + 64 * k for k in range(len(arguments))])
    answer = words[arguments.index("work")].view(dtype)[0]
    return -(-int(answer) // 16) * 16


def address_of(function: str, dtype: str) -> int:
    """Where a function is; 0 if there is none."""
    if function.startswith("cblas_"):
        return find(f"cblas_{PREFIX[dtype]}{function[6:]}")
    return find(f"{PREFIX[dtype]}{function}_")


@cache
def addresses(functions: tuple[str, ...], dtype: str) -> tuple[int, ...] | None:
    """Where functions are; None unless all of them are there."""
    found = tuple([address_of(name, dtype) for name in functions])
    if 0 in found:
        return None
    use_one_thread()
    return found


def strided(layout: Layout) -> tuple[int, int]:
    """Elements between the rows and between the columns of a matrix."""
    return layout.strides[-2], layout.strides[-1]


def by_rows(layout: Layout) -> int | None:
    """Elements between rows that BLAS can take; None for columns with gaps."""
    rows, columns = layout.shape[-2:]
    down, across = strided(layout)
    return max(down, columns, 1) if across == 1 and (down >= columns or rows <= 1) else None


def launch(name: str, layouts: tuple[Layout, ...], attributes: dict, flat: bool = False) -> GeneralPlan | None:
    """The launch of a routine; None where it has to be done in another way.

    Its results are the parts, or with ``flat`` one that has them in a row; then the report of each matrix, and memory to work in.
    """
    first, dtype = layouts[0], layouts[0].dtype.name
    batch = first.shape[:-2]
    if dtype not in REAL or not all(is_plain(x, first) for x in layouts):
        return None
    made = ROUTINES[name](layouts, **attributes)
    found = None if made is None else addresses(made.functions, dtype)
    if made is None or found is None:
        return None
    outs, places = results(made, first, flat and len(made.parts) > 1)
    words = [
        *made.sizes,
        min(made.sizes[:2]),
        made.work,
        made.integers,
        *made.letters,
        1,
        *strides_of(layouts, 0),
        *strides_of(layouts, 1),
        int(is_wide()),
        *made.flags,
        *found,
        *[0] * (4 - len(found)),
    ]
    for place in (*places, *[(0, 0, 0)] * (3 - len(places)), (len(outs) + 1, 0, 4)):
        words += place
    words += [len(outs) + 2, len(outs) + 3, len(batch), *batch]
    for d in range(len(batch)):
        words += [*(x.strides[d] * x.dtype.itemsize for x in layouts), *[0] * (3 - len(layouts))]
    m, n, k = made.sizes
    size, units = first.dtype.itemsize, math.prod(batch)
    work = 2 * (m * n * size + 64) + made.work * size + made.more + 256
    kernel, bindings = lapack_kernel(made.name, dtype)
    report, memory = layout_of(int32, batch, None, first.device), layout_of(float64, (-(-work // 8),), None, first.device)
    record = pack_record(
        address(Program(made.name, kernel, "float64", bindings)),
        units,
        units,
        len(outs) + 2,
        (0,) * len(layouts),
        PARALLEL if m * n * max(k, min(m, n)) >= LARGE else 0,
        struct.pack(f"{len(words)}q", *words),
    )
    return GeneralPlan(record, (*(out.template for out in outs), report.template, memory.template), layouts)


def is_plain(x: Layout, first: Layout) -> bool:
    """Whether memory can be read as it lies, matrix for matrix beside those of the first operand."""
    ndim = first.ndim - 2
    return not (x.conj or x.neg or x.special) and x.numel > 0 and x.shape[:ndim] == first.shape[:ndim] and x.device is first.device


def strides_of(layouts: tuple[Layout, ...], which: int) -> tuple[int, int]:
    """Elements between the rows and columns of an operand; a vector is a column."""
    if which >= len(layouts):
        return 0, 0
    x = layouts[which]
    return (x.strides[-2], x.strides[-1]) if x.ndim == layouts[0].ndim else (x.strides[-1], 0)


def results(made: Routine, first: Layout, flat: bool) -> tuple[list[Layout], list[tuple[int, int, int]]]:
    """The layouts of the results, and for every part which of them it is in, where, and how far from one matrix to the next."""
    batch = first.shape[:-2]
    if not flat:
        outs = [layout_of(dtype, (*batch, *shape), None, first.device) for shape, dtype in made.parts]
        return outs, [(1 + k, 0, math.prod(shape) * dtype.itemsize) for k, (shape, dtype) in enumerate(made.parts)]
    dtype = made.parts[0][1]
    sizes = [math.prod(shape) * dtype.itemsize for shape, _ in made.parts]
    out = layout_of(dtype, (*batch, sum(sizes) // dtype.itemsize), None, first.device)
    return [out], [(1, sum(sizes[:k]), sum(sizes)) for k in range(len(sizes))]


# ---- calls of one launch -----------------------------------------------------------------------------------------------


def went_well(out: tuple) -> bool:
    """Whether LAPACK had nothing to say of any matrix."""
    said = out[-2]._storage_.array
    return not (said[0] if said.size == 1 else said.any())


def key_of(args: tuple, named: dict) -> tuple:
    """By which a launch is found: layouts, and values with their types."""
    parts: list = [x.layout if isinstance(x, Tensor) else (x, type(x)) for x in args]
    if named:
        parts += [(name, x.layout if isinstance(x, Tensor) else (x, type(x))) for name, x in named.items()]
    return tuple(parts)


def at_once(choose: Callable) -> Callable:
    """A composite all of whose results are one launch, where nothing is recorded and no special mode is active.

    NOTE [At once]: with a gradient, the formula runs as it is written: an operation with all parts in a row, whose views are
    taken. Both are the same kernel, so the numbers are the same bits. What a launch reports (a singular matrix) is the formula's to
    say. ``choose`` takes the arguments: ``(routine, operands, attributes, finish)``, or None where it is more than a launch;
    ``finish`` makes of the results, the reports and the memory behind them what the function returns.
    """

    def decorate(formula: Callable) -> Callable:
        table: dict = {}
        fresh, found = native.fresh, table.get

        def prepare(args, named):
            key = key_of(args, named)
            if key in table:
                return table[key]
            ready = None
            args = [x.detach() if isinstance(x, Tensor) else x for x in args]  # which are told apart, also if they were one
            named = {name: x.detach() if isinstance(x, Tensor) else x for name, x in named.items()}
            chosen = choose(*args, **named)
            if chosen is not None and not are_on_gpu([x.layout for x in chosen[1]]):
                name, operands, attributes, finish = chosen
                plan = launch(name, tuple([x.layout for x in operands]), attributes)
                given = [*enumerate(args), *named.items()]
                order = tuple([next(place for place, value in given if value is x) for x in operands])
                if plan is not None:
                    ready = plan, None if order == tuple(range(len(args))) else order, finish
            keep(table, key, ready)
            if len(args) == 1 and not named:
                keep(table, args[0].layout, ready)
            return ready

        @wraps(formula)
        def call(*args, **named):
            if special:
                return formula(*args, **named)
            try:
                ready = found(args[0].layout if len(args) == 1 and not named else key_of(args, named), ABSENT)
            except (AttributeError, IndexError, TypeError):
                return formula(*args, **named)
            if ready is ABSENT:  # the formula checks the arguments; what it returns may differ in the last bits
                out = formula(*args, **named)
                ready = prepare(args, named)
                if ready is None:
                    return out
            if ready is None:
                return formula(*args, **named)
            plan, order, finish = ready
            operands = args if order is None else [named[k] if type(k) is str else args[k] for k in order]
            if mode.enabled:
                for x in operands:
                    if x._needs_grad_ and requires_grad(x):
                        return formula(*args, **named)
            out = fresh(plan, *operands)
            return finish(out) if went_well(out) else formula(*args, **named)

        return call

    return decorate


ABSENT: Any = object()


# ---- routines ----------------------------------------------------------------------------------------------------------

ROUTINES: dict[str, Callable] = {}


def routine(function: Callable) -> Callable:
    """Register what says, for layouts and attributes, which routine it is, under the function's name."""
    ROUTINES[function.__name__] = function
    return function


def sides(layout: Layout) -> tuple[int, int]:
    """Rows and columns."""
    return layout.shape[-2], layout.shape[-1]


@routine
def lu(layouts):
    """Both triangles in one matrix, pivots from 1 on."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    return Routine("lu", ("getrf",), (m, n, 0), (((m, n), dtype), ((min(m, n),), int32)), more=16 * min(m, n))


@routine
def lu_row(layouts):
    """``lu`` with pivots, and the report, as numbers of the matrix' dtype."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    k = min(m, n)
    return Routine("lu", ("getrf",), (m, n, 0), (((m, n), dtype), ((k,), dtype), ((1,), dtype)), more=16 * k, flags=(1, 0))


@routine
def exchange(layouts, back):
    """Rows exchanged as pivots say, or taken back."""
    (m, n), pivots = sides(layouts[0]), layouts[1]
    if pivots.dtype not in (int32, int64) or not is_row(pivots):
        return None
    return Routine(
        "exchange", (), (m, n, pivots.shape[-1]), (((m, n), layouts[0].dtype),), flags=(int(back), int(pivots.dtype is int64))
    )


@routine
def cross(layouts, turned):
    """Vector products along the columns, or along the rows if ``turned``."""
    m, n = sides(layouts[0])
    return Routine("cross", (), (m, n, 0), (((m, n), layouts[0].dtype),), flags=(int(turned), 0))


@routine
def plu(layouts):
    """P, L and U."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    k = min(m, n)
    return Routine("plu", ("getrf",), (m, n, 0), (((m, m), dtype), ((m, k), dtype), ((k, n), dtype)), more=16 * k + 16 * m)


@routine
def unpack(layouts):
    """P, L and U of what ``lu`` found."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    k = min(m, n)
    if layouts[1].dtype is not int32 or layouts[1].shape[-1] != k or not is_row(layouts[1]):
        return None
    return Routine("unpack", (), (m, n, 0), (((m, m), dtype), ((m, k), dtype), ((k, n), dtype)), more=8 * m)


def is_row(layout: Layout) -> bool:
    """Whether the elements of a vector lie side by side."""
    return layout.strides[-1] == 1 or layout.shape[-1] == 1


@routine
def cholesky(layouts, upper=False):
    """The lower triangle, or the upper one of the upper triangle."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("cholesky", ("potrf",), (n, n, 0), (((n, n), dtype),), letters=(ord("U"), 0), flags=(int(upper), 0))


@routine
def inverse(layouts):
    """The inverse."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("inverse", ("getrf", "cblas_gemm"), (n, n, n), (((n, n), dtype),), more=8 * n)


@routine
def solve(layouts):
    """The solution of systems whose right sides are columns of matrices."""
    n, k, dtype = layouts[0].shape[-1], layouts[1].shape[-1], layouts[0].dtype
    return Routine("solve", ("getrf", "cblas_gemm"), (n, n, k), (((n, k), dtype),), more=8 * n)


@routine
def triangle(layouts, upper, unit):
    """The solution of triangular systems."""
    x, y = layouts
    n, k, stored = x.shape[-1], y.shape[-1], as_stored(x, upper)
    if stored is None:
        return None
    return Routine(
        "triangle", ("cblas_gemm",), (n, n, k), (((n, k), x.dtype),), letters=stored[:2], flags=(UNIT if unit else PLAIN, stored[2])
    )


def as_stored(x: Layout, upper: bool) -> tuple[int, int, int] | None:
    """Which triangle, whether turned, and elements between rows: by rows or by columns. None for matrices with gaps."""
    n, (down, across) = x.shape[-1], strided(x)
    if n == 1 or across == 1 and down >= n:
        return UPPER if upper else LOWER, AS_GIVEN, max(down, n)
    if down == 1 and across >= n:
        return LOWER if upper else UPPER, TURNED, across
    return None


@routine
def determinant(layouts):
    """The determinant."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("determinant", ("getrf",), (n, n, 0), (((), dtype),), more=8 * n)


@routine
def cofactors(layouts):
    """The determinant times the turned inverse, of well-conditioned matrices."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine(
        "cofactors",
        ("getrf", "getri"),
        (n, n, 0),
        (((n, n), dtype),),
        work=64 * n,
        more=8 * n,
        flags=(WELL_CONDITIONED[dtype.name], 0),
    )


@routine
def slogdet(layouts):
    """Sign and logarithm of the determinant."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("slogdet", ("getrf",), (n, n, 0), (((), dtype), ((), dtype)), more=8 * n)


def eigh_routine(name: str, job: str, layouts: tuple, upper: bool, parts: tuple) -> Routine:
    """Of Hermitian matrices."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    which, integers = "U" if upper else "L", 3 + 5 * n
    work = workspace_size("syevd", dtype.name, (job, which, n, None, n, None, "work", -1, None, -1, None))
    return Routine(
        name, ("syevd",), (n, n, 0), parts, work=work, more=8 * integers, letters=(ord(job), ord(which)), integers=integers
    )


@routine
def eigh(layouts, upper):
    """Eigenvectors and eigenvalues."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return eigh_routine("eigh", "V", layouts, upper, (((n, n), dtype), ((n,), dtype)))


@routine
def eigvalsh(layouts, upper):
    """Eigenvalues."""
    return eigh_routine("eigvalsh", "N", layouts, upper, (((layouts[0].shape[-1],), layouts[0].dtype),))


def svd_routine(name: str, job: str, layouts: tuple, parts: tuple, full: bool = False) -> Routine:
    """Of any matrices."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    k = min(m, n)
    work = workspace_size("gesdd", dtype.name, (job, m, n, None, m, None, None, m, None, n if full else k, "work", -1, None, None))
    vectors = 0 if job == "N" else m * (m if full else k) + n * (n if full else k)
    return Routine(
        name,
        ("gesdd",),
        (m, n, 0),
        parts,
        work=work,
        more=64 * k + vectors * dtype.itemsize + 128,
        letters=(ord(job), 0),
        flags=(int(full), 0),
    )


@routine
def svd(layouts, full):
    """Left singular vectors, singular values, right singular vectors in rows."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    k = min(m, n)
    parts = ((m, m if full else k), dtype), ((k,), dtype), ((n if full else k, n), dtype)
    return svd_routine("svd", "A" if full else "S", layouts, parts, full)


@routine
def pinv(layouts, rtol, atol, hermitian):
    """The Moore-Penrose inverse, with one tolerance for all matrices."""
    if hermitian or type(rtol) is not float or type(atol) is not float:
        return None
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    made = svd_routine("pinv", "S", layouts, (((n, m), dtype),))
    return made._replace(
        functions=("gesdd", "cblas_gemm"),
        more=made.more + min(m, n) * dtype.itemsize + 64,
        flags=struct.unpack("2q", struct.pack("2d", rtol, atol)),
    )


@routine
def svdvals(layouts):
    """Singular values."""
    return svd_routine("svdvals", "N", layouts, (((min(sides(layouts[0])),), layouts[0].dtype),))


def eig_routine(name: str, job: str, layouts: tuple, parts: tuple) -> Routine:
    """Of square matrices."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    work = workspace_size("geev", dtype.name, ("N", job, n, None, n, None, None, None, n, None, n, "work", -1, None))
    return Routine(name, ("geev",), (n, n, 0), parts, work=work, more=2 * n * dtype.itemsize + 64, letters=(ord("N"), ord(job)))


@routine
def eig(layouts):
    """Eigenvectors and eigenvalues, both complex."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype.to_complex()
    return eig_routine("eig", "V", layouts, (((n, n), dtype), ((n,), dtype)))


@routine
def eigvals(layouts):
    """Eigenvalues, complex."""
    return eig_routine("eigvals", "N", layouts, (((layouts[0].shape[-1],), layouts[0].dtype.to_complex()),))


@routine
def qr(layouts):
    """Q and R of matrices at least as tall as wide."""
    (m, n), dtype = sides(layouts[0]), layouts[0].dtype
    if m < n:
        return None
    return Routine("qr", ("geqrf", "orgqr"), (m, n, 0), (((m, n), dtype), ((n, n), dtype)), work=64 * n, more=n * dtype.itemsize)


@routine
def reflections(layouts):
    """The first columns of a product of Householder's reflections."""
    (m, n), dtype, k = sides(layouts[0]), layouts[0].dtype, layouts[1].shape[-1]
    if not k <= n <= m:
        return None
    return Routine("reflections", ("orgqr",), (m, n, k), (((m, n), dtype),), work=64 * n, more=k * dtype.itemsize)


@routine
def gelsy(layouts, rcond):
    """The shortest least-squares solutions, and the rank."""
    (m, n), k, dtype = sides(layouts[0]), layouts[1].shape[-1], layouts[0].dtype
    tall = max(m, n)
    (bits,) = struct.unpack("q", struct.pack("f4x" if dtype.name == "float32" else "d", rcond))
    work = workspace_size("gelsy", dtype.name, (m, n, k, None, m, None, tall, None, None, None, "work", -1, None))
    return Routine(
        "gelsy",
        ("gelsy",),
        (m, n, k),
        (((n, k), dtype), ((), int64)),
        work=work,
        more=tall * k * dtype.itemsize + 64 + 8 * n,
        flags=(bits, tall),
    )


@routine
def cholesky_inverse(layouts, upper):
    """The inverse of L @ L^H, or of U^H @ U."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("cholesky_inverse", ("potri",), (n, n, 0), (((n, n), dtype),), letters=(ord("U"), 0), flags=(int(upper), 0))


@routine
def cholesky_solve(layouts, upper):
    """The X with L @ L^H @ X = B."""
    x, y = layouts
    n, k, stored = x.shape[-1], y.shape[-1], as_stored(x, upper)
    if stored is None:
        return None
    turned = stored[1] if not upper else TURNED + AS_GIVEN - stored[1]
    return Routine(
        "cholesky_solve", ("cblas_gemm",), (n, n, k), (((n, k), x.dtype),), letters=(stored[0], turned), flags=(0, stored[2])
    )


@routine
def lu_solve(layouts, adjoint=False):
    """The X with A @ X = B, or A^H @ X = B, from what ``lu`` found of A."""
    x, y, pivots = layouts
    n, k, lead = x.shape[-1], y.shape[-1], by_rows(x)
    if lead is None or pivots.dtype is not int32 or pivots.shape[-1] != n or not is_row(pivots):
        return None
    return Routine("lu_solve", ("cblas_gemm",), (n, n, k), (((n, k), x.dtype),), flags=(int(adjoint), lead))


@routine
def pull_to_matrix(layouts):
    """What reaches the matrix, in the order of rows of its factors, from what reaches these."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("pull_to_matrix", ("cblas_trmm", "cblas_gemm"), (n, n, n), (((n, n), dtype),))


@routine
def share_of_factors(layouts):
    """What reaches the factors from a system that they solve."""
    n, dtype = layouts[0].shape[-1], layouts[0].dtype
    return Routine("share_of_factors", ("cblas_trmm",), (n, n, n), (((n, n), dtype),))
