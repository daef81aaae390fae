"""cuBLASLt, played: its functions are Python's, and a product is evaluated by NumPy from the descriptions that it was given.

It refuses what the library's documentation does not allow, and what it would leave to chance: attributes of other sizes, leading
dimensions shorter than a column, addresses less aligned than was promised, an algorithm that was chosen for another description, a
workspace that is too small, memory that is freed, foreign, not written to, or that nothing orders behind who wrote it.

Tests play it by ``play()``, before the first product; nothing else does.

Source of numbers: cuBLAS Library User Guide, "cuBLASLt Datatypes Reference"; they are written down here a second time, so that a
wrong one is found.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....base.dtypes import dtype_of
from ..libraries import KINDS, PLAYED
from .driver import install
from .driver.entries import Refused
from .guard import opened
from .played import Played

__all__ = ["PlayedBlas", "play"]

NOT_INITIALIZED, INVALID_VALUE, NOT_SUPPORTED = 1, 7, 15
STATUS = {0: "SUCCESS", 1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 7: "INVALID_VALUE", 13: "EXECUTION_FAILED", 14: "INTERNAL_ERROR"}
STATUS[15] = "NOT_SUPPORTED"
ELEMENTS = {0: "float32", 1: "float64", 2: "float16", 4: "complex64", 5: "complex128", 14: "bfloat16"}
# By computation and dtype of alpha: elements that there are.
COMPUTED = {
    (68, 0): ("float32", "float16", "bfloat16"),
    (77, 0): ("float32",),
    (70, 1): ("float64",),
    (68, 4): ("complex64",),
    (77, 4): ("complex64",),
    (70, 5): ("complex128",),
}
SCALES = {0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}
TURNS = {0: "N", 1: "T", 2: "C"}
# Attributes: their numbers, kinds, and what they are at first.
OF_PRODUCT = {0: ("i", 68), 3: ("i", 0), 4: ("i", 0), 7: ("i", 1), 8: ("p", None)}
OF_LAYOUT = {5: ("i", 1), 6: ("q", 0)}
OF_PREFERENCE = {1: ("n", 0), 3: ("u", 7), 5: ("u", 256), 6: ("u", 256), 7: ("u", 256), 8: ("u", 256)}
EPILOGUES = {1: False, 4: True}  # whether there is a bias
MATRIX_ALIGNMENT, WORKSPACE_ALIGNMENT = 16, 256


class Thing:
    """A product, a layout or a preference.

    Attributes:
        kind: which; given: what it was made of; known: its attributes, ``values``: what they are now.
    """

    def __init__(self, kind: str, given: tuple, known: dict[int, tuple[str, Any]]):
        self.kind, self.given, self.known = kind, given, known
        self.values = {number: value for number, (_, value) in known.items()}


class PlayedBlas(Played):
    """The library.

    Args:
        version: as it says it.
        lacks: ``lacks(facts)``: whether it has no algorithm for a product.

    Attributes:
        asked: facts of each product for which an algorithm was asked, and ``made`` of those that were queued.
        failing: the status with which products fail, or 0.
    """

    def __init__(self, version: int = 130100, lacks: Callable[[dict], bool] = lambda facts: False):
        self.version, self.lacks = version, lacks
        self.things: dict[int, Thing] = {}
        self.next, self.failing = 0x7000, 0
        self.asked: list[dict] = []
        self.made: list[dict] = []
        self.algorithms: list[tuple] = []
        super().__init__("cublasLt", ENTRIES, "cublasLtGetStatusName")

    # ---- what there is -------------------------------------------------------------------------------------------------------

    def add(self, out: int, thing: Any) -> None:
        self.next += 0x10
        self.things[self.next] = thing
        ctypes.c_uint64.from_address(out).value = self.next

    def thing(self, number: int | None, kind: str) -> Thing:
        found = self.things.get(number or 0)
        if found is None or found.kind != kind:
            raise Refused(INVALID_VALUE, f"{number or 0:#x} is no {kind}")
        return found

    def create(self, out: int) -> None:
        self.add(out, Thing("handle", (install().driver.current(),), {}))

    def drop(self, kind: str, number: int) -> None:
        self.thing(number, kind)
        del self.things[number]

    def create_product(self, out: int, compute: int, scale: int) -> None:
        if (compute, scale) not in COMPUTED:
            raise Refused(INVALID_VALUE, f"computation {compute} with alpha of {scale}")
        self.add(out, made := Thing("product", (scale,), OF_PRODUCT))
        made.values[0] = compute

    def create_layout(self, out: int, element: int, rows: int, columns: int, lead: int) -> None:
        if element not in ELEMENTS or rows < 1 or columns < 1 or lead < rows:
            raise Refused(INVALID_VALUE, f"elements {element}, {rows} x {columns}, {lead} apart")
        self.add(out, Thing("layout", (element, rows, columns, lead), OF_LAYOUT))

    def create_preference(self, out: int) -> None:
        self.add(out, Thing("preference", (), OF_PREFERENCE))

    def set(self, kind: str, number: int, attribute: int, value: int, size: int) -> None:
        thing = self.thing(number, kind)
        if attribute not in thing.known:
            raise Refused(INVALID_VALUE, f"a {kind} has no attribute {attribute}, or it is not played")
        cell: Any = KINDS[thing.known[attribute][0]]
        if size != ctypes.sizeof(cell):
            raise Refused(INVALID_VALUE, f"attribute {attribute} of a {kind} in {size} bytes, expected {ctypes.sizeof(cell)}")
        thing.values[attribute] = cell.from_address(value).value

    # ---- products ------------------------------------------------------------------------------------------------------------

    def facts(self, handle: int, product: int, layouts: tuple[int, ...]) -> dict:
        """What a product is: by name, so that two of them can be compared."""
        self.thing(handle, "handle")
        described = self.thing(product, "product")
        compute, epilogue = described.values[0], described.values[7]
        elements = COMPUTED.get((compute, described.given[0]), ())
        turns = [TURNS.get(described.values[k], "?") for k in (3, 4)]
        found = [self.thing(each, "layout") for each in layouts]
        names = {ELEMENTS[each.given[0]] for each in found}
        if len(names) > 1 or not names <= set(elements) or "?" in turns or epilogue not in EPILOGUES:
            raise Refused(INVALID_VALUE, f"{names} in computation {compute}, turns {turns}, epilogue {epilogue}")
        (name,) = names
        shapes = [each.given[1:3] for each in found]
        first, second = (s if t == "N" else s[::-1] for s, t in zip(shapes, turns))
        if first[1] != second[0] or (first[0], second[1]) != shapes[2] or shapes[2] != shapes[3]:
            raise Refused(INVALID_VALUE, f"{first} by {second} gives {shapes[2]} with {shapes[3]}")
        if "C" in turns and not name.startswith("complex"):
            raise Refused(INVALID_VALUE, f"the conjugate of {name}")
        counts = [each.values[5] for each in found]
        if len(set(counts)) > 1 or counts[0] < 1:
            raise Refused(INVALID_VALUE, f"batches of {counts}")
        for each in found[2:]:
            _, rows, columns, lead = each.given
            if counts[0] > 1 and each.values[6] < lead * (columns - 1) + rows:
                raise Refused(INVALID_VALUE, f"results {each.values[6]} apart")
        if any(each.values[6] < 0 for each in found):
            raise Refused(INVALID_VALUE, "a batch that goes backwards")
        return {
            "dtype": name,
            "compute": compute,
            "turns": tuple(turns),
            "bias": EPILOGUES[epilogue],
            "layouts": tuple([(*each.given[1:], each.values[6]) for each in found]),
            "batch": counts[0],
        }

    def choose(self, handle, product, a, b, c, d, preference, count, results, found) -> None:
        facts, wanted = self.facts(handle, product, (a, b, c, d)), self.thing(preference, "preference").values
        if count < 1 or wanted[3] & ~7:
            raise Refused(INVALID_VALUE, f"{count} results, reductions {wanted[3]}")
        if wanted[3] != 2:
            raise Refused(NOT_SUPPORTED, f"reductions {wanted[3]}: parts of sums in another dtype than that of the computation")
        size = dtype_of(facts["dtype"]).itemsize
        alignments = tuple([wanted[k] for k in (5, 6, 7, 8)])
        if any(each < size or each & (each - 1) for each in alignments):
            raise Refused(INVALID_VALUE, f"addresses aligned to {alignments}")
        pointer = self.thing(product, "product").values[8]
        if facts["bias"] and (not pointer or pointer % size):
            raise Refused(INVALID_VALUE, "no bias, or a crooked one")
        self.asked.append(facts)
        if self.lacks(facts):
            raise Refused(NOT_SUPPORTED, "on demand")
        workspace = min(wanted[1], 4096)
        self.algorithms.append((facts, alignments, workspace, (pointer or 0) & -(pointer or 0)))
        memory = (ctypes.c_uint64 * 12).from_address(results)
        memory[:] = [0xB1A5, len(self.algorithms) - 1, *[0] * 6, workspace, 0, 0, 0]
        ctypes.c_int.from_address(found).value = 1

    def multiply(self, handle, product, alpha, a, a_is, b, b_is, beta, c, c_is, d, d_is, algorithm, workspace, nbytes, stream):
        driver, described = install().driver, self.thing(product, "product")
        if self.failing:
            raise Refused(self.failing, "on demand")
        facts = self.facts(handle, product, (a_is, b_is, c_is, d_is))
        mark, number = (ctypes.c_uint64 * 2).from_address(algorithm)
        if mark != 0xB1A5 or number >= len(self.algorithms):
            raise Refused(INVALID_VALUE, "no algorithm that was chosen")
        chosen, alignments, needed, bias_alignment = self.algorithms[number]
        if chosen != facts:
            raise Refused(NOT_SUPPORTED, f"the algorithm is one for {chosen}, and this is {facts}")
        for address, alignment, name in zip((a, b, c, d), alignments, "ABCD"):
            if not address or address % min(alignment, MATRIX_ALIGNMENT):
                raise Refused(NOT_SUPPORTED, f"{name} at {address or 0:#x}, which {alignment} does not divide")
        if nbytes < needed or (needed and (not workspace or workspace % WORKSPACE_ALIGNMENT)):
            raise Refused(INVALID_VALUE, f"a workspace of {nbytes} bytes at {workspace or 0:#x}, expected {needed}")
        bias = described.values[8] if facts["bias"] else None
        if facts["bias"] and (not bias or bias % min(bias_alignment, MATRIX_ALIGNMENT)):
            raise Refused(NOT_SUPPORTED, f"the bias at {bias or 0:#x}, chosen for one that {bias_alignment} divides")
        scale = SCALES[described.given[0]]
        with_c, factor = (np.frombuffer(ctypes.string_at(x, np.dtype(scale).itemsize), scale)[0] for x in (beta, alpha))
        if with_c and (c != d or c_is != d_is):
            raise Refused(NOT_SUPPORTED, "C in another place than D")
        queued = driver.stream(stream)
        if driver.current() != queued.device or self.thing(handle, "handle").given[0] != queued.device:
            raise Refused(NOT_INITIALIZED, f"a handle, a context or a stream of another device than {queued.device}")
        self.made.append({**facts, "stream": stream})
        places = {"A": a, "B": b, "D": d, "bias": bias, "workspace": (workspace, needed)}
        driver.enqueue(queued, partial(self.evaluate, facts, places, complex(factor), complex(with_c), queued.device))

    # ---- evaluation ----------------------------------------------------------------------------------------------------------

    def evaluate(self, facts: dict, places: dict, alpha: complex, beta: complex, device: int) -> None:
        """Do a product on the devices' memory."""
        name, batch = facts["dtype"], facts["batch"]
        (a, b, _, d), bias = facts["layouts"], places["bias"]
        exact = np.complex128 if name.startswith("complex") else np.float64
        rows, columns = d[:2]
        scratch, needed = places["workspace"]
        with opened():
            if needed:
                self.memory(scratch, np.uint8, (1, needed, 1, 0), 1, device, True)[...] = 0xFB
            first, second = (
                turned(self.memory(places[key], name, layout, batch, device).astype(exact), turn)
                for key, layout, turn in zip("AB", (a, b), facts["turns"])
            )
            before = self.memory(places["D"], name, d, batch, device).astype(exact) if beta else 0
            total = alpha.real * (first @ second) + beta.real * before
            if bias is not None:
                total = total + self.memory(bias, name, (rows, 1, rows, 0), 1, device).astype(exact)
        result = self.memory(places["D"], name, d, batch, device, True)
        with opened():
            result[...] = total.astype(result.dtype)
        assert total.shape[-2:] == (rows, columns)


def turned(x: np.ndarray, turn: str) -> np.ndarray:
    """A batch of matrices as they are multiplied."""
    return x if turn == "N" else x.swapaxes(-1, -2).conj() if turn == "C" else x.swapaxes(-1, -2)


NAMES = {number: ctypes.create_string_buffer(f"CUBLAS_STATUS_{name}".encode()) for number, name in STATUS.items()}
ENTRIES: dict[str, tuple[str, Callable]] = {
    "cublasLtGetVersion": (">n", lambda self: self.version),
    "cublasLtGetStatusName": ("i>s", lambda self, number: ctypes.addressof(NAMES.get(number, NAMES[14]))),
    "cublasLtCreate": ("p", PlayedBlas.create),
    "cublasLtMatmulDescCreate": ("pii", PlayedBlas.create_product),
    "cublasLtMatmulDescDestroy": ("p", lambda self, x: self.drop("product", x)),
    "cublasLtMatmulDescSetAttribute": ("pipn", lambda self, *x: self.set("product", *x)),
    "cublasLtMatrixLayoutCreate": ("pinnq", PlayedBlas.create_layout),
    "cublasLtMatrixLayoutDestroy": ("p", lambda self, x: self.drop("layout", x)),
    "cublasLtMatrixLayoutSetAttribute": ("pipn", lambda self, *x: self.set("layout", *x)),
    "cublasLtMatmulPreferenceCreate": ("p", PlayedBlas.create_preference),
    "cublasLtMatmulPreferenceDestroy": ("p", lambda self, x: self.drop("preference", x)),
    "cublasLtMatmulPreferenceSetAttribute": ("pipn", lambda self, *x: self.set("preference", *x)),
    "cublasLtMatmulAlgoGetHeuristic": ("pppppppipp", PlayedBlas.choose),
    "cublasLtMatmul": ("ppppppppppppppnp", PlayedBlas.multiply),
}


def play(version: int = 130100, lacks: Callable[[dict], bool] = lambda facts: False) -> PlayedBlas:
    """Have products on emulated GPUs go through a played library from now on."""
    from .. import cublas

    played = PlayedBlas(version, lacks)
    PLAYED["cublasLt"] = played.library
    cublas.blas.cache_clear()
    cublas.handle_of.cache_clear()
    return played
