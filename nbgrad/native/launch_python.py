"""The native functions of launch.py in plain Python: for interpreters whose objects it does not know, and for its tests.

Same names, same checks, same order of events; slower by the price of ctypes.
"""
from __future__ import annotations

import ctypes
import itertools
import struct
import threading
from typing import Any, Callable

import numpy as np

__all__ = ["Twin"]

_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_NUMBERS = {1: np.float32, 2: np.float64, 3: np.int64, 4: np.complex64, 5: np.complex128}


class NoPool:
    """The pool of a launcher that has no threads."""

    def set_num_threads(self, count: int) -> None:
        """Accepted and without effect."""

    def get_num_threads(self) -> int:
        """One."""
        return 1


class ThreadNumbers(threading.local):
    """Sequence numbers, counted by thread."""

    def __init__(self):
        self.next = itertools.count().__next__


class Twin:
    """See ``launch.Native``."""

    def __init__(self, tensor_type: type, storage_type: type, layout_type: type, node_type: type, meta_type: type,
                 storage_template: Any):
        self._tensor, self._storage, self._storage_template = tensor_type, storage_type, storage_template
        self.pool = NoPool()
        self._numbers = ThreadNumbers()
        self._watcher: tuple | None = None

    def next_seq(self) -> int:
        """The next sequence number of this thread."""
        return self._numbers.next()

    def _make(self, template):
        storage = object.__new__(self._storage)
        for name in ("version", "device", "writable"):
            setattr(storage, name, getattr(self._storage_template, name))
        storage.array = np.empty(max(template.layout.numel, 0), template.layout.descr)
        return self.tensor(template, storage, template._offset_, template._needs_grad_, template._meta_)

    def _launch(self, plan, outs, operands):
        address, units, _, n_outs, n_ins = struct.unpack_from("5q", plan.record)
        if n_ins != len(operands) or n_outs != len(outs):
            raise RuntimeError("launch: the plan expects other operand count")
        if units < 0:
            units = outs[0].layout.numel
        codes = struct.unpack_from(f"{n_ins}q", plan.record, 64)
        params = ctypes.create_string_buffer(plan.record[64 + 8 * n_ins:])
        kept, pointers = [], [t._storage_.array.ctypes.data + t._offset_ for t in outs]
        for operand, code, layout in zip(operands, codes, plan.layouts):
            if code:
                number = operand if code > 3 else float(operand) if code < 3 else operand.__index__()
                with np.errstate(over="ignore"):
                    kept.append(np.array([number], _NUMBERS[code]))
                pointers.append(kept[-1].ctypes.data)
            else:
                if not isinstance(operand, self._tensor) or operand.layout is not layout:
                    raise RuntimeError("launch: an operand changed its type or layout during the call. "
                                       "Hint: another thread assigned its data.")
                pointers.append(operand._storage_.array.ctypes.data + operand._offset_)
        arguments = (ctypes.c_void_p * (1 + len(pointers)))(ctypes.addressof(params), *pointers)
        scratch = (ctypes.c_void_p * 2)()
        _KERNEL(address)(ctypes.addressof(scratch), ctypes.addressof(scratch), 0, units, ctypes.addressof(arguments))

    def fresh(self, plan, *operands):
        """Launch and return the new result, or a tuple of several."""
        outs = tuple(map(self._make, plan.outs))
        self._launch(plan, outs, operands)
        return outs[0] if len(outs) == 1 else outs

    def into(self, plan, *tensors) -> None:
        """Launch with outputs that exist; their versions move before the write."""
        count = len(plan.outs)
        for out, template in zip(tensors[:count], plan.outs):
            if not isinstance(out, self._tensor) or out.layout is not template.layout:
                raise RuntimeError("launch: an operand changed its type or layout during the call. "
                                   "Hint: another thread assigned its data.")
            if self._watcher is not None:
                self._watcher[4](out._storage_)
            out._storage_.version += 1
        self._launch(plan, tensors[:count], tensors[count:])

    def tensor(self, template, storage, offset, needs_grad, meta):
        """A Tensor on memory that exists."""
        new = object.__new__(self._tensor)
        self._tensor._put_layout_(new, template.layout)
        new._edge_ = template._edge_
        new._storage_, new._offset_, new._needs_grad_, new._meta_ = storage, offset, needs_grad, meta
        return new

    def alias(self, x):
        """A Tensor on x's memory and version, without history."""
        return self.tensor(x.layout.template, x._storage_, x._offset_, False, None)

    def watch(self, watcher: tuple | None) -> None:
        """Note the places of new nodes, and writes."""
        self._watcher = watcher

    def place(self):
        """The place of the caller in anomaly mode, else None."""
        watcher = self._watcher
        if watcher is None:
            return None
        _, capture, running, induced, _ = watcher
        place = capture(None, None)
        return induced(place) if running else place

    def _note_place(self, node) -> None:
        if self._watcher is not None:
            node._place_ = self.place()

    def number_node(self, node) -> None:
        """Give a node made in Python its sequence number, and its place."""
        node._seq_ = self.next_seq()
        self._note_place(node)

    def nan_finder(self, sizes: dict, slow: Callable) -> Callable:
        """``first_nan(results)``: the position of the first of some results that holds a NaN, or None."""
        def first_nan(results):
            results = results if isinstance(results, (tuple, list)) else (results,)
            return next((k for k, x in enumerate(results) if isinstance(x, self._tensor) and slow(x)), None)
        return first_nan

    def builder(self, template: Any, slots: tuple[str, ...], untracked: bool = False) -> Callable:
        """``build(*values)``: a copy of ``template`` with ``values`` in ``slots``."""
        kind = type(template)
        named = [s for cls in kind.__mro__ for s in getattr(cls, "__slots__", ()) if not s.startswith("__")]
        copied = [s for s in named if s not in slots and hasattr(template, s)]

        def build(*values):
            new = object.__new__(kind)
            for slot in copied:
                setattr(new, slot, getattr(template, slot))
            for slot, value in zip(slots, values):
                setattr(new, slot, value)
            if untracked:
                self._note_place(new)
            return new
        return build

    def viewer(self, node: Any, meta: Any, plan_type: type, ask: Any, creations: tuple, slow: Callable) -> Callable:
        """``view(plan, x, enabled, *values)``: the general one, which does the same."""
        return slow

    def recorder(self, template: Any, wanted, saved, edge_of: Callable) -> Callable:
        """``record(plan, out, *operands)``: give ``out`` a node like ``template``."""
        slots = ("_plan_", "_edges_", "_seq_", *(f"_{kind}{k}_" for k in range(len(saved)) for kind in "sv"))
        build = self.builder(template, slots, True)

        def record(plan, out, *operands):
            edges = tuple(operands[k]._edge_ or edge_of(operands[k]) for k in wanted)
            values = [plan, edges, self.next_seq()]
            for position, is_number in saved:
                value = self.alias(out) if position < 0 else operands[position]
                values += [value, value if is_number else value._storage_.version]
            out._edge_, out._needs_grad_ = build(*values), True
        return record

    def caller(self, plans: dict, special: list, slow: Callable, record: Callable, record_second: Callable | None,
               mode: Any, differentiable: tuple[bool, ...]) -> Callable:
        """``call(x)`` or ``call(x, y)``: launch the plan of the operands' layouts."""
        def call(*operands):
            key = tuple(x.layout if isinstance(x, self._tensor) else type(x) for x in operands)
            plan = None if special else plans.get(key[0] if len(key) == 1 or key[0] is key[-1] else key)
            if plan is None or not any(isinstance(x, self._tensor) for x in operands):
                return slow(*operands)
            out = self.fresh(plan, *operands)
            if any(isinstance(x, self._tensor) and x._needs_grad_ is not False for x in operands):
                (record if isinstance(operands[0], self._tensor) else record_second or record)(plan, out, *operands)
            return out
        return call

    def caller_of_many(self, plans: dict, special: list, slow: Callable, record: Callable, mode: Any,
                       bits: tuple[int, ...]) -> Callable:
        """``call(*operands)`` for any number of operands."""
        def call(*operands):
            key = tuple(x.layout if isinstance(x, self._tensor) else type(x) for x in operands)
            plan = None if special else plans.get(key)
            if plan is None:
                return slow(*operands)
            out = self.fresh(plan, *operands)
            if any(isinstance(x, self._tensor) and x._needs_grad_ is not False for x in operands):
                record(plan, out, *operands)
            return out
        return call

    def differentiator(self, node_type: type, mask: int, saved: tuple, parts: tuple, slow: Callable,
                       slots: tuple[int, ...] | None = None) -> Callable:
        """``backward(node, g, create_graph)``: the general one, which does the same."""
        return slow

    def steps(self, node_types: tuple[type, type], freed: Callable, general: tuple, sums: tuple,
              checks: tuple) -> tuple[Callable, Callable]:
        """The steps of a pass: the general ones, which do the same, but add nothing in place."""
        return general[0], general[1]

    def surveyor(self, node_types: tuple[type, type], target: Callable, general: Callable) -> Callable:
        """``survey(counts, nodes, ends)``: the general one, which does the same."""
        return general

    def leader(self, node_types: tuple[type, type], target: Callable, through: Callable, general: Callable) -> Callable:
        """``lead(order, leading, needed, parted)``: the general one, which does the same."""
        return general

    def writer(self, plans: dict, special: list, slow: Callable, mode: Any, operands: int = 2) -> Callable:
        """``write(x, *others)``: the general one, which does the same."""
        return slow
