"""Products of matrices by cuBLASLt: what a product is to the library, made ready once, and called by address from then on.

NOTE [Turned around]: cuBLASLt takes matrices by columns; ours lie by rows. What lies by rows is, by columns, the transpose; and
the transpose of x @ y is that of y times that of x. So the library is given y first and x second, each as it lies, and the result
lies by rows. No operand is copied for that. A bias of one number a column of ours is one number a row of the library's.

NOTE [One algorithm]: for each product the library is asked once which algorithm it would take, with a workspace of a size that
the GPU alone decides, and addresses aligned as the call says; that one is used from then on, so runs repeat. Parts of sums are
added up in the dtype of the computation, which is float32 for half types.

Source of names, numbers and layouts: cuBLAS Library User Guide, "Using the cuBLASLt API".
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple
from weakref import WeakSet, finalize

from ...base import compat
from ...base.dtypes import dtype_of
from ...base.locks import cached_once
from .driver import card
from .libraries import Library, found_library
from .steps import Lacking

__all__ = ["BIAS_POINTER", "TYPES", "Matmul", "Ready", "Stored", "blas", "workspace_of"]

OLDEST = 120000  # version 12.0
FUNCTIONS = {
    "cublasLtGetVersion": ">n",
    "cublasLtGetStatusName": "i>s",
    "cublasLtCreate": "p",
    "cublasLtMatmulDescCreate": "pii",
    "cublasLtMatmulDescDestroy": "p",
    "cublasLtMatmulDescSetAttribute": "pipn",
    "cublasLtMatrixLayoutCreate": "pinnq",
    "cublasLtMatrixLayoutDestroy": "p",
    "cublasLtMatrixLayoutSetAttribute": "pipn",
    "cublasLtMatmulPreferenceCreate": "p",
    "cublasLtMatmulPreferenceDestroy": "p",
    "cublasLtMatmulPreferenceSetAttribute": "pipn",
    "cublasLtMatmulAlgoGetHeuristic": "pppppppipp",
    "cublasLtMatmul": "ppppppppppppppnp",
}


class Type(NamedTuple):
    """A dtype in the library's numbers: of elements, of the computation, and of alpha and beta; ``scale``: the dtype of those."""

    element: int
    compute: int
    scaling: int
    scale: str


R_32F, R_64F, R_16F, C_32F, C_64F, R_16BF = 0, 1, 2, 4, 5, 14  # cudaDataType
COMPUTE_32F, COMPUTE_TF32, COMPUTE_64F = 68, 77, 70  # cublasComputeType_t
TYPES = {
    "float32": Type(R_32F, COMPUTE_32F, R_32F, "float32"),
    "float64": Type(R_64F, COMPUTE_64F, R_64F, "float64"),
    "float16": Type(R_16F, COMPUTE_32F, R_32F, "float32"),
    "bfloat16": Type(R_16BF, COMPUTE_32F, R_32F, "float32"),
    "complex64": Type(C_32F, COMPUTE_32F, C_32F, "complex64"),
    "complex128": Type(C_64F, COMPUTE_64F, C_64F, "complex128"),
}
TF32 = ("float32", "complex64")  # that may be rounded to it
OPERATIONS = {"N": 0, "T": 1, "C": 2}  # cublasOperation_t: as it lies, the transpose, the conjugate of that
COMPUTE_TYPE, TRANSPOSE_A, TRANSPOSE_B, EPILOGUE, BIAS_POINTER = 0, 3, 4, 7, 8  # cublasLtMatmulDescAttributes_t
WITH_BIAS = 4  # CUBLASLT_EPILOGUE_BIAS
BATCH_COUNT, BATCH_STEP = 5, 6  # cublasLtMatrixLayoutAttribute_t
MOST_WORKSPACE, REDUCTIONS, ALIGNMENTS = 1, 3, (5, 6, 7, 8)  # cublasLtMatmulPreferenceAttributes_t
IN_COMPUTE_TYPE = 2  # CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
NOT_SUPPORTED = 15  # CUBLAS_STATUS_NOT_SUPPORTED


Value = ctypes.c_int32 | ctypes.c_uint32 | ctypes.c_int64 | ctypes.c_uint64


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    ]


class Stored(NamedTuple):
    """How an operand lies, by columns.

    Attributes:
        turn: "N" as it is multiplied, "T" its transpose, "C" the conjugate of that.
        rows, columns, lead: what lies there, and the elements from one column to the next.
        apart: elements from one matrix of a batch to the next.
    """

    turn: str
    rows: int
    columns: int
    lead: int
    apart: int


class Matmul(NamedTuple):
    """A product as the library sees it: NOTE [Turned around].

    Attributes:
        dtype: of all matrices.
        first, second, result: the matrices.
        batch: how many of each.
        bias: whether a number for each row is added.
        adds: whether it is added to what the result's memory holds.
        alignment: bytes that divide all addresses.
    """

    dtype: str
    first: Stored
    second: Stored
    result: Stored
    batch: int
    bias: bool
    adds: bool
    alignment: int


@cached_once
def blas() -> Library | None:
    """The library; None where products are ours."""
    return found_library("cublasLt", FUNCTIONS, "cublasLtGetStatusName", version_of, OLDEST, "cuda-blas")


def version_of(library: Library) -> int:
    """As in 130100 of version 13.1."""
    return int(library.functions["cublasLtGetVersion"]())


@cached_once
def handle_of(gpu: int) -> int:
    """The library's handle for a GPU, which lives as long as the process."""
    card(gpu).activate()
    return made(blas(), "cublasLtCreate")


def made(library: Library | None, function: str, *operands: int) -> int:
    """What a function writes to its first operand."""
    assert library is not None
    cell = ctypes.c_uint64()
    library.call(function, ctypes.addressof(cell), *operands)
    return cell.value


def workspace_of(gpu: int) -> int:
    """Bytes that the library may use, on each stream."""
    return 32 << 20 if int(card(gpu).arch.removeprefix("sm_")) >= 90 else 8 << 20


@cached_once  # what launches keep are addresses: functools.cache lets the memory go that another thread made at the same time
def constants(scale: str) -> tuple[ctypes.Array, int, int]:
    """Memory with 0 and 1 in it, and where they are."""
    size = dtype_of(scale).itemsize
    cells = (ctypes.c_byte * (2 * size))()
    zero = ctypes.addressof(cells)
    real = ctypes.c_double if scale in ("float64", "complex128") else ctypes.c_float
    real.from_address(zero + size).value = 1.0
    return cells, zero, zero + size


class Ready:
    """A product that the library is ready for, once somebody asks.

    Attributes:
        matmul: which.
        words: what ``Call.make`` gives: the functions' addresses and their arguments; None before.
    """

    def __init__(self, matmul: Matmul):
        self.matmul = matmul
        self.words: tuple[int, ...] | None = None
        self.gpu, self.algorithm = 0, Heuristic()

    def matmul_words(self, gpu: int) -> tuple[int, ...]:
        """Of ``cublasLtMatmul``: handle, description, alpha, layouts of first, second and result, beta, algorithm, bytes."""
        return self.opened(gpu)[1:]

    def bias_words(self, gpu: int) -> tuple[int, ...]:
        """Of the function that tells where the bias is: the description."""
        words = self.opened(gpu)
        return words[0], words[3]

    def opened(self, gpu: int) -> tuple[int, ...]:
        """All words.

        Raises:
            Lacking: the library has no algorithm for it. GraphError: in a capture.
        """
        if self.words is None:
            self.words = self.made(gpu)
        return self.words

    def made(self, gpu: int) -> tuple[int, ...]:
        """Describe the product to the library, and choose its algorithm."""
        library, matmul = blas(), self.matmul
        assert library is not None
        card(gpu).ask_guard("product")
        card(gpu).activate()
        self.gpu, kind = gpu, TYPES[matmul.dtype]
        self.description = made(library, "cublasLtMatmulDescCreate", kind.compute, kind.scaling)
        self.layouts = [self.layout(library, each) for each in (matmul.first, matmul.second, matmul.result)]
        finalize(self, drop, library, self.description, tuple(self.layouts)).atexit = False
        self.describe(library, TRANSPOSE_A, ctypes.c_int32(OPERATIONS[matmul.first.turn]))
        self.describe(library, TRANSPOSE_B, ctypes.c_int32(OPERATIONS[matmul.second.turn]))
        if matmul.bias:
            self.describe(library, EPILOGUE, ctypes.c_int32(WITH_BIAS))
            self.describe(library, BIAS_POINTER, ctypes.c_uint64(matmul.alignment))  # as aligned as the one to come
        self.choose(library)
        ready.add(self)
        _, zero, one = constants(kind.scale)
        addresses = [library.addresses[each] for each in ("cublasLtMatmulDescSetAttribute", "cublasLtMatmul")]
        algorithm = ctypes.addressof(self.algorithm)
        beta = one if matmul.adds else zero
        return (*addresses, handle_of(gpu), self.description, one, *self.layouts, beta, algorithm, workspace_of(gpu))

    def layout(self, library: Library, stored: Stored) -> int:
        """The library's handle of a layout."""
        kind = TYPES[self.matmul.dtype].element
        found = made(library, "cublasLtMatrixLayoutCreate", kind, stored.rows, stored.columns, stored.lead)
        if self.matmul.batch > 1:
            put(library, "cublasLtMatrixLayoutSetAttribute", found, BATCH_COUNT, ctypes.c_int32(self.matmul.batch))
            put(library, "cublasLtMatrixLayoutSetAttribute", found, BATCH_STEP, ctypes.c_int64(stored.apart))
        return found

    def describe(self, library: Library, attribute: int, value: Value) -> None:
        """Set an attribute of the product."""
        put(library, "cublasLtMatmulDescSetAttribute", self.description, attribute, value)

    def choose(self, library: Library) -> None:
        """Ask the library for its algorithm: NOTE [One algorithm].

        Raises:
            Lacking: there is none.
        """
        if self.matmul.dtype in TF32:
            compute = COMPUTE_TF32 if compat.Settings.matmul_precision != "highest" else COMPUTE_32F
            self.describe(library, COMPUTE_TYPE, ctypes.c_int32(compute))
        preference = made(library, "cublasLtMatmulPreferenceCreate")
        try:
            wanted: tuple[tuple[int, Value], ...] = (
                (MOST_WORKSPACE, ctypes.c_uint64(workspace_of(self.gpu))),
                (REDUCTIONS, ctypes.c_uint32(IN_COMPUTE_TYPE)),
                *((each, ctypes.c_uint32(self.matmul.alignment)) for each in ALIGNMENTS),
            )
            for attribute, value in wanted:
                put(library, "cublasLtMatmulPreferenceSetAttribute", preference, attribute, value)
            found, count = Heuristic(), ctypes.c_int()
            first, second, result = self.layouts
            layouts = first, second, result, result
            places = ctypes.addressof(found), ctypes.addressof(count)
            function = library.functions["cublasLtMatmulAlgoGetHeuristic"]
            code = function(handle_of(self.gpu), self.description, *layouts, preference, 1, *places)
        finally:
            library.call("cublasLtMatmulPreferenceDestroy", preference)
        if code == NOT_SUPPORTED or not code and (not count.value or found.state):
            raise Lacking
        if code:
            raise library.error_of(code, "cublasLtMatmulAlgoGetHeuristic")
        ctypes.memmove(ctypes.addressof(self.algorithm), ctypes.addressof(found), ctypes.sizeof(Heuristic))


ready: WeakSet[Ready] = WeakSet()


def put(library: Library, function: str, thing: int, attribute: int, value: Value) -> None:
    """Set an attribute of something of the library's."""
    library.call(function, thing, attribute, ctypes.addressof(value), ctypes.sizeof(value))


def drop(library: Library, description: int, layouts: tuple[int, ...]) -> None:
    """Let go of what describes a product that nobody calls any more."""
    library.call("cublasLtMatmulDescDestroy", description)
    for each in layouts:
        library.call("cublasLtMatrixLayoutDestroy", each)


def choose_again() -> None:
    """Choose the algorithms of products of float32 anew: the program has said how precise they are to be."""
    for each in tuple(ready):
        if each.matmul.dtype in TF32:
            library = blas()
            assert library is not None
            card(each.gpu).activate()
            try:
                each.choose(library)
            except Lacking:
                if compat.Settings.matmul_precision == "highest":
                    raise library.error_of(NOT_SUPPORTED, "set_float32_matmul_precision") from None
                each.describe(library, COMPUTE_TYPE, ctypes.c_int32(COMPUTE_32F))  # for which the algorithm is


compat.when_precision_changes.append(choose_again)
