"""Native calls: launch a kernel and make its result without a line of Python in between.

Builtin functions (METH_FASTCALL) whose machine code is the LLVM IR below. They read data pointers from the operands'
ndarrays, allocate results, and copy template objects slot by slot, at offsets taken from member descriptors; that costs a
quarter of what ``__init__`` costs. ``check_layouts`` refuses interpreters whose objects are laid out otherwise;
``launch_python`` then takes over (also with ``NBGRAD_NATIVE=0``), with the same functions and the same checks.

    fresh(plan, *operands)                    -> result Tensor, or a tuple of several
    into(plan, *outputs, *operands)           -> None; bumps the outputs' versions before it writes
    tensor(template, storage, offset, needs_grad, meta) -> Tensor on memory that exists
    alias(x)                                  -> Tensor on x's memory and version, without history
    builder(template, slots)                  -> build(*values): a copy of ``template`` with ``values`` in ``slots``
    viewer(node, meta, ...)                   -> view(plan, x, enabled, *values): a view with its Meta and its node
    recorder(template, wanted, saved, edge_of) -> record(plan, out, *operands): makes the result's node
    next_seq()                                -> the next sequence number of the graph
    number_node(node)                         -> None; gives a node made in Python its sequence number and its place
    place()                                   -> the place of the caller in anomaly mode, else None; see NOTE [Places]
    watch(watcher)                            -> None; switches the noting of places on, or off with None
    nan_finder(sizes, slow)                   -> first_nan(results): the position of the first result that holds a NaN, or None
    caller(plans, ...)                        -> call(*operands): find the plan, launch, record
    caller_of_many(plans, ...)                -> call(*operands): the same for any number of operands
    writer(plans, ...)                        -> write(x, *others): find the plan, launch into x
    differentiator(...)                       -> backward(node, g, create_graph): check versions, launch the fused kernel
    steps(node_types, ...)                    -> advance(work, node), send(work, node, grads, frees): see engine.py
    surveyor(node_types, ...)                 -> survey(counts, nodes, ends): see graph/task.py
    leader(node_types, ...)                   -> lead(order, leading, needed, parted): see graph/task.py

NOTE [Plan record]: ``Plan.record`` is a bytes object of int64 words: 0 address of the kernel, 1 units of work (-1: as many as
the first output has elements), 2 units that one thread claims at once, 3 number of outputs, 4 number of inputs, 5 flags (1: drop
the interpreter lock and use the pool), 6 elements from which units of -1 imply that flag, 7 spare, then one code an input
(``NUMBER_CODES``; 0 is a tensor), then the kernel's own parameters. A kernel is called as ``kernel(start, stop, args)`` with
``args`` = pointers to the parameters, the outputs, the inputs.

NOTE [Collector]: nodes, their tuples of edges and storages are hidden from Python's cyclic collector, which otherwise walks a
growing graph again and again (2.9 instead of 1.1 us a node for a million nodes). They die by reference count. A node on which
users hang hooks or metadata is shown to the collector then: a hook may hold its own node or tensor. Other cycles that users close
*through* the graph, as with ``backward(create_graph=True)``, must be broken by them, as in torch.

NOTE [Trust]: a plan was found by the operands' layouts. Another thread may have exchanged a tensor's memory since, so each
operand's type and layout are compared again, natively, before a pointer is read; and where the lock is dropped the arrays
are held.
"""
from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any, Callable

import llvmlite.binding as llvm
import numpy as np

from ..base.dtypes import DType
from ..base.errors import KernelError
from ..kernels.cpu import LARGE
from ..kernels.cpu.pool import Pool, pool_ir
from .anomaly_ir import ANOMALY_IR, frame_words
from .launch_ir import IR
from .step_ir import STEP_IR

__all__ = ["Native", "Plan", "ElementwisePlan", "pack_record", "NUMBER_CODES", "PARALLEL"]

MOST_OPERANDS = 128              # pointers of a launch: to its parameters, results and operands
PARALLEL = 1                    # flag of a record
# How a Python number is stored for the kernel; integers of every width are read little-endian from an int64.
NUMBER_CODES = {"float32": 1, "float64": 2, "int64": 3, "int32": 3, "int16": 3, "int8": 3, "uint8": 3,
                "complex64": 4, "complex128": 5}


class Plan:
    """One kernel launch, ready: see NOTE [Plan record].

    Attributes:
        record: the words that native code reads.
        outs: for every output the template Tensor of its layout.
        layouts: for every input its Layout; None for a Python number.
    """

    __slots__ = ("record", "outs", "layouts")

    def __init__(self, record: bytes, outs: tuple, layouts: tuple):
        self.record, self.outs, self.layouts = record, outs, layouts


class ElementwisePlan(Plan):
    """A plan with what recording and differentiating it need.

    Attributes:
        op, compute: the operation and its dtype of computation.
        operands: for every operand its Layout; None for a Python number.
        records: per subset of operands that need a gradient (bit k is operand k) the function that makes the node.
        backs: per subset None or ``{layout of the cotangent: plan of the fused backward kernel}``.
        reduced: some operand was broadcast or converted, so its cotangent must be summed or converted back.
        kinds: None, or what the plans of all shapes of its kind share: records of backward kernels.
    """

    __slots__ = ("op", "compute", "operands", "records", "backs", "reduced", "kinds")
    op: Any
    compute: Any
    operands: tuple
    records: Any
    backs: Any
    reduced: bool
    kinds: dict | None

    def is_iterated(self) -> bool:
        """Whether the kernel has parameters: the walk of the iterator."""
        return len(self.record) > 8 * (8 + len(self.layouts))


def pack_record(address: int, units: int, grain: int, outs: int, codes: tuple[int, ...], flags: int,
                params: bytes = b"", shared_from: int = 0) -> bytes:
    """Build ``Plan.record``.

    Raises:
        KernelError: more results and operands than a launch has pointers for.
    """
    if outs + len(codes) >= MOST_OPERANDS:
        raise KernelError(f"launch: {outs} results and {len(codes)} operands, expected fewer than {MOST_OPERANDS} together. "
                          "Hint: compute it in steps.")
    return struct.pack(f"{8 + len(codes)}q", address, units, grain, outs, len(codes), flags, shared_from, 0, *codes) + params


# Offsets in PyArrayObject, PyTupleObject, PyBytesObject.
ARRAY_DATA, ARRAY_BASE, BYTES_ITEMS = 16, 48, 32
TUPLE_ITEMS = tuple.__basicsize__       # since Python 3.14 behind the hash
METH_FASTCALL = 0x80
NEW_FROM_DESCR = 94                                     # index in NumPy's C API table, part of its stable ABI
FUNCTIONS = ("fresh", "into", "tensor", "alias", "next_seq", "number_node", "place", "view", "record", "call", "call_many",
             "backward", "build", "advance", "send", "survey", "lead", "write", "write_many", "first_nan")
UNBOUND = FUNCTIONS[:7]
NODE_SLOTS = ("seq", "plan", "edges", "rule", "s0", "s1", "s2", "attrs", "backward", "outputs", "meta",
              "place")      # that the text names
GLOBALS = ("tensor_type", "ndarray_type", "new_from_descr", "storage_template", "counter_key", "dict_name",
           "new_large_array", "node_class")
DICT_NAME = "__dict__"
COUNTER_KEY = "nbgrad.native.launch: sequence number"      # in the dict of a thread's state


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


def read_word(address: int) -> int:
    """The pointer-sized integer at ``address``."""
    return ctypes.c_size_t.from_address(address).value


def slot_offset(owner: type, name: str) -> int:
    """Where an instance of ``owner`` keeps the slot ``name``, from its member descriptor."""
    for cls in owner.__mro__:
        if name in vars(cls):
            return read_word(read_word(id(vars(cls)[name]) + 40) + 16)        # d_member->offset
    raise AttributeError(f"launch: {owner.__name__} has no slot {name!r}.")


def check_layouts(tensor_type: type, storage_type: type) -> str | None:
    """Why this interpreter or NumPy cannot run the native functions, or None."""
    if sys.implementation.name != "cpython":
        return f"implementation {sys.implementation.name}"
    if "t" in getattr(sys, "abiflags", "") or hasattr(sys, "gettotalrefcount"):
        return "free-threaded or debug build"
    array, marker, text = np.empty(3), object(), b"plan"
    single, part = (marker,), array[:2]
    instance: Any = object.__new__(storage_type)
    instance.array = marker
    sound = (read_word(id(array) + ARRAY_DATA) == array.ctypes.data
             and read_word(id(array) + ARRAY_BASE) == 0 and read_word(id(part) + ARRAY_BASE) == id(array)
             and read_word(id(single) + TUPLE_ITEMS) == id(marker)
             and ctypes.string_at(id(text) + BYTES_ITEMS, 4) == text
             and read_word(id(tensor_type) + 32) == tensor_type.__basicsize__
             and read_word(id(instance) + slot_offset(storage_type, "array")) == id(marker))
    return None if sound else "unknown object layout"


def numpy_function(index: int) -> int:
    """Address of an entry of NumPy's C API table."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return read_word(get(np._core._multiarray_umath._ARRAY_API, None) + 8 * index)


def _copies(slots: list[int], source: str, target: str) -> str:
    return "\n".join(f"  call void @copy_slot(ptr {source}, ptr {target}, i64 {offset})" for offset in slots)


def ir_text(tensor_type: type, storage_type: type, layout_type: type, node_type: type, meta_type: type) -> str:
    """The module for these classes' slot offsets."""
    at: dict[str, Any] = {f"TENSOR_{s.upper().strip('_')}": slot_offset(tensor_type, s)
                          for s in ("_storage_", "_offset_", "layout", "_edge_", "_needs_grad_", "_meta_")}
    at |= {f"STORAGE_{s.upper()}": slot_offset(storage_type, s) for s in ("array", "version", "writable")}
    at |= {f"LAYOUT_{s.upper()}": slot_offset(layout_type, s) for s in ("dtype", "expanded", "descr", "record", "template")}
    at |= {f"META_{s.upper()}": slot_offset(meta_type, s) for s in ("base", "version", "node")}
    at["DTYPE_DIFFERENTIABLE"] = slot_offset(DType, "differentiable")
    at |= {f"PLAN_{s.upper()}": slot_offset(Plan, s) for s in Plan.__slots__}
    at |= {f"ELEMENTWISE_{s.upper()}": slot_offset(ElementwisePlan, s) for s in ("records", "reduced", "backs")}
    at |= {f"NODE_{s.upper()}": slot_offset(node_type, f"_{s}_") for s in NODE_SLOTS}
    at |= frame_words()
    at |= {"ARRAY_DATA": ARRAY_DATA, "ARRAY_BASE": ARRAY_BASE, "TUPLE_ITEMS": TUPLE_ITEMS, "BYTES_ITEMS": BYTES_ITEMS}
    at["COUNT"] = "i32" if sys.version_info >= (3, 12) else "i64"
    at |= {"MOST": MOST_OPERANDS, "LARGE_ARRAY": LARGE, "TRIPLE": llvm.get_process_triple(), "POOL": pool_ir()}
    tensor_slots = [at[f"TENSOR_{s}"] for s in ("OFFSET", "LAYOUT", "EDGE", "NEEDS_GRAD", "META")]
    at["COPY_TENSOR"] = _copies(tensor_slots, "%template", "%new")
    others = [slot_offset(storage_type, s) for s in storage_type.__slots__ if s not in ("array", "__weakref__")]
    at["COPY_STORAGE"] = _copies(others, "%source", "%storage")
    fills = []
    for k, name in enumerate(("STORAGE", "OFFSET", "NEEDS_GRAD", "META"), start=1):
        fills.append(f"  %at{k} = getelementptr ptr, ptr %args, i64 {k}\n  %v{k} = load ptr, ptr %at{k}\n"
                     f"  call void @hold(ptr %v{k})\n"
                     f"  call void @put(ptr %new, i64 {at[f'TENSOR_{name}']}, ptr %v{k})")
    at["FILL_TENSOR"] = "\n".join(fills)
    text = IR.replace("@ANOMALY", ANOMALY_IR).replace("@STEPS", STEP_IR)
    for name in sorted(at, key=len, reverse=True):
        text = text.replace("@" + name, str(at[name]))
    return text


class Native:
    """The native functions for one Tensor, Storage and Layout class, loaded through the same store as kernels."""

    def __init__(self, loader, tensor_type: type, storage_type: type, layout_type: type, node_type: type, meta_type: type,
                 storage_template: Any):
        names = [*FUNCTIONS, *GLOBALS, "watcher", *Pool.ENTRIES]
        self.entries = entries = loader.module(ir_text(tensor_type, storage_type, layout_type, node_type, meta_type), names)
        self._definitions = {name: MethodDef(name.encode(), entries[name], METH_FASTCALL, None) for name in FUNCTIONS}
        # Whatever machine code refers to lives as long as this object.
        self._kept = storage_template
        self._watchers: list = []
        values = (id(tensor_type), id(np.ndarray), numpy_function(NEW_FROM_DESCR), id(storage_template), id(COUNTER_KEY),
                  id(DICT_NAME), numpy_function(NEW_FROM_DESCR), id(node_type))
        for name, value in zip(GLOBALS, values):
            ctypes.c_size_t.from_address(entries[name]).value = value
        for name in UNBOUND:
            setattr(self, name, self._bound(name, None))
        self.pool = Pool(entries)

    def _bound(self, name: str, owner: Any) -> Callable:
        new = ctypes.pythonapi.PyCFunction_NewEx
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        return new(ctypes.addressof(self._definitions[name]), owner, None)

    def watch(self, watcher: tuple | None) -> None:
        """Note the places of new nodes, and writes, with the help of ``watcher``: see NOTE [Places]; None ends it."""
        if watcher is not None and watcher not in self._watchers:
            self._watchers.append(watcher)          # lives on: another thread may be reading it
        ctypes.c_size_t.from_address(self.entries["watcher"]).value = 0 if watcher is None else id(watcher)

    def nan_finder(self, sizes: dict, slow: Callable) -> Callable:
        """``first_nan(results)``: the position of the first of some results that holds a NaN, or None.

        Args:
            sizes: by layout ``4 * count + code``: how many elements lie side by side, and what they are (``NAN_CODES``).
            slow: ``slow(tensor) -> bool`` for layouts that are not in ``sizes``, or not simple.
        """
        return self._bound("first_nan", (sizes, slow))

    def builder(self, template: Any, slots: tuple[str, ...], untracked: bool = False) -> Callable:
        """``build(*values)``: a copy of ``template`` with ``values`` in ``slots``, which the template leaves unset.

        Args:
            untracked: for nodes: the collector does not see the copies, see NOTE [Collector], and anomaly mode notes their place.
        """
        if any(hasattr(template, slot) for slot in slots):
            raise ValueError(f"builder: the template already has one of {slots}; its reference would leak.")
        kind = type(template)
        offsets = struct.pack(f"{len(slots)}q", *(slot_offset(kind, slot) for slot in slots))
        return self._bound("build", (offsets, template, copied_offsets(template, slots), untracked))

    def viewer(self, node: Any, meta: Any, plan_type: type, ask: Any, creations: tuple, slow: Callable) -> Callable:
        """``view(plan, x, enabled, *values)``: the view of a tensor that a plan describes, recorded where ``x`` needs a gradient.

        Args:
            node, meta: what to copy.
            plan_type: the plans' class, with the ``layout`` of the operand and the ``offset`` in bytes.
            ask: the ``needs_grad`` of a view.
            creations: the Meta's ``creation`` with recording on, and off.
            slow: called where ``x`` is a view with a history of its own, or whose memory was written to since, or one of the values
                by which the plan was found is odd: NOTE [Whole numbers].
        """
        places = [slot_offset(type(meta), name) for name in META_OF_A_VIEW]
        words = struct.pack("7q", *places, slot_offset(plan_type, "offset"), slot_offset(plan_type, "layout"))
        return self._bound("view", (words, node, copied_offsets(node, recorded_slots(0)), meta,
                                    copied_offsets(meta, META_OF_A_VIEW), ask, *creations, slow))

    def recorder(self, template: Any, wanted: tuple[int, ...], saved: tuple[tuple[int, bool], ...], edge_of: Callable) -> Callable:
        """``record(plan, out, *operands)``: give ``out`` a node like ``template``.

        Args:
            wanted: positions of the operands that get an edge.
            saved: position (-1: the result) and whether it is a number, for the slots ``s0, s1, ...`` and ``v0, v1, ...``.
            edge_of: called where a tensor's ``edge`` is None.
        """
        kind = type(template)
        words = [len(wanted), *wanted, len(saved)]
        for k, (position, is_number) in enumerate(saved):
            words += [position, slot_offset(kind, f"_s{k}_"), slot_offset(kind, f"_v{k}_"), int(is_number)]
        slots = recorded_slots(len(saved))
        return self._bound("record", (struct.pack(f"{len(words)}q", *words), template, copied_offsets(template, slots), edge_of))

    def caller(self, plans: dict, special: list, slow: Callable, record: Callable, record_second: Callable | None,
               mode: Any, differentiable: tuple[bool, ...]) -> Callable:
        """``call(x)`` or ``call(x, y)``: launch the plan of the operands' layouts.

        Args:
            plans: by one layout, or by a pair of layouts or of a layout and the type of a Python number, in the operands' order.
            special: while it is not empty, everything goes to ``slow``.
            slow: ``slow(*operands)`` for whatever has no plan.
            record: ``record(plan, out, *operands)``, called where it cannot be told here whether an operand needs a gradient; else
                the plan's own function is, if ``mode.enabled`` (a product with its node 0.7 -> 0.45 us, of two views 0.97 -> 0.52).
            record_second: the same where the first operand is a number.
            differentiable: for every operand whether there is a derivative by it.
        """
        bits = struct.pack("2q", *(can << k for k, can in enumerate((*differentiable, False)[:2])))
        return self._bound("call", (plans, special, slow, record, record_second or record, mode, bits, "enabled"))

    def caller_of_many(self, plans: dict, special: list, slow: Callable, record: Callable, mode: Any,
                       bits: tuple[int, ...]) -> Callable:
        """``call(*operands)``: ``caller`` for operations of more operands, or with operands by which there is no derivative.

        Args:
            plans: by a tuple of layouts and types of Python numbers, as long as ``bits``.
            record: ``record(plan, out, *operands)``, called where it cannot be told here what is recorded.
            bits: for every operand its bit in the mask of those that need a gradient, 0, or -1 where ``record`` is to refuse it.
        """
        words = struct.pack(f"{1 + len(bits)}q", len(bits), *bits)
        return self._bound("call_many", (plans, special, slow, record, mode, words, "enabled"))

    def writer(self, plans: dict, special: list, slow: Callable, mode: Any, operands: int = 2) -> Callable:
        """``write(x)`` or ``write(x, y)``: an in-place call that is not recorded (``x.mul_(y)`` 2.3 -> 0.5 us).

        Args:
            operands: how many there may be.
            plans: by a tuple of layouts and types of Python numbers.
            special: while it is not empty, everything goes to ``slow``.
            slow: ``slow(x, *others)`` for whatever has no plan, is recorded, or may share memory at another place.
        """
        return self._bound("write" if operands <= 2 else "write_many", (plans, special, slow, mode, "enabled"))

    def differentiator(self, node_type: type, mask: int, saved: tuple, parts: tuple, slow: Callable,
                       slots: tuple[int, ...] | None = None) -> Callable:
        """``backward(node, g, create_graph)`` of an elementwise rule.

        Args:
            saved: for each saved value whether it is a number.
            parts: for each result which of the kernel's it is; -1: the cotangent itself; -2: None.
            slots: where the node keeps the saved values, if not one behind the other.
        """
        computed = max(parts) + 1
        words = [len(saved), mask, 0 if parts == tuple(range(computed)) else len(parts), computed]
        for k, is_number in zip(range(len(saved)) if slots is None else slots, saved):
            words += [slot_offset(node_type, f"_s{k}_"), -1 if is_number else slot_offset(node_type, f"_v{k}_")]
        words += parts
        return self._bound("backward", (struct.pack(f"{len(words)}q", *words), slow))

    def steps(self, node_types: tuple[type, type], freed: Callable, general: tuple, sums: tuple,
              checks: tuple) -> tuple[Callable, Callable]:
        """``advance(work, node)`` and ``send(work, node, grads, frees)``: a node's turn in a pass, and its end alone.

        Args:
            node_types: the classes of nodes, and of the nodes of leaves, which stand for these.
            freed: the ``backward`` of nodes that were freed.
            general: ``advance``, ``send`` and ``receive`` of engine.py, for all that is unusual.
            sums: by layout the plan of ``x += y`` or None; ``add(x, y)`` for tensors that cannot be written to; another such
                function, which also makes the plan that is missing for their layout.
            checks: ``check(grads)``, asked about the results of every node, and ``complain(node, found)``, which raises the error
                about what it finds; None twice where nothing is asked. ``hooked(node, results, g)``: what becomes of the results of
                a node that has a ``_meta_`` after its run.
        """
        plans, add, plan_sum = sums
        node_type, accumulator_type = node_types
        owner = (node_type, 1, "node", "frees", (), freed, plans, *general, add, plan_sum, *checks, accumulator_type)
        return self._bound("advance", owner), self._bound("send", owner)

    def surveyor(self, node_types: tuple[type, type], target: Callable, general: Callable) -> Callable:
        """``survey(counts, nodes, ends)``: note where the edges of ``nodes`` lead, and of those that come to light.

        Args:
            node_types: as for ``steps``.
            target: what an edge leads to that is neither a leaf nor what it leads to.
            general: the same in Python.
        """
        return self._bound("survey", (node_types[0], 1, target, node_types[1]))

    def leader(self, node_types: tuple[type, type], target: Callable, through: Callable, general: Callable) -> Callable:
        """``lead(order, leading, needed, parted)``: which nodes lead to wanted places: see ``graph_task.lead_all``.

        Args:
            node_types, target: as for ``surveyor``.
            through: the same for one node, whose edges may be many.
            general: the same in Python.
        """
        return self._bound("lead", (node_types[0], target, through, node_types[1]))


META_OF_A_VIEW = ("base", "chain", "creation", "version", "node")       # the slots that ``view`` fills in


def recorded_slots(saved: int) -> tuple[str, ...]:
    """The slots of a node that ``record`` fills in, which its template leaves unset."""
    return ("_seq_", "_plan_", "_edges_", *(f"_{kind}{k}_" for k in range(saved) for kind in "sv"))


def copied_offsets(template: Any, slots: tuple[str, ...]) -> bytes:
    """The offsets of the template's set slots but ``slots``, with their count in front, as int64 words."""
    kind = type(template)
    named = [s for cls in kind.__mro__ for s in getattr(cls, "__slots__", ()) if not s.startswith("__")]
    copied = [slot_offset(kind, s) for s in named if s not in slots and hasattr(template, s)]
    return struct.pack(f"{1 + len(copied)}q", len(copied), *copied)
