"""Native functions, loaded: as machine code where this interpreter is known and ``NBGRAD_NATIVE`` is on, else as plain Python.

The object code is kept like kernels, under a name made of the sources, the offsets of slots and the platform: a warm process
translates nothing.
"""

from __future__ import annotations

import builtins
import ctypes
import pathlib
import platform
import sys
from collections.abc import Callable, Iterable
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from ..base import config
from ..base.dtypes import DType
from ..kernels.cpu import LARGE
from ..kernels.cpu.pool import HAS_WORKERS, NoPool, Pool
from . import (
    actors,
    calls,
    heaps,
    language,
    launches,
    lent,
    nans,
    node_lines,
    objects,
    plans,
    primitives,
    recording,
    repeats,
    sequences,
    steps,
    support,
    surveys,
)
from .actors import Actor
from .calls import Caller, Differentiator, Writer
from .doors import Door, door_type
from .launches import TableWriter
from .nans import NanFinder
from .objects import MethodDef, copied_slots, numpy_function, pack_words, slot_offset
from .recording import Builder, Recorder, Viewer
from .sequences import Sequence
from .steps import Leader, Steps, Surveyor
from .surveys import Speller

__all__ = ["Functions", "Native", "Uncompiled"]

if HAS_WORKERS:
    from . import pool as threads
else:
    from . import serial as threads  # type: ignore[no-redef]

MODULES = (threads, heaps, lent, launches, node_lines, calls, recording, steps, nans, sequences, actors, repeats, surveys)
GLOBALS = {
    "ndarray_type": lambda: id(np.ndarray),
    "new_from_descr": lambda: numpy_function(objects.NEW_FROM_DESCR),
    "new_large_array": lambda: numpy_function(objects.NEW_FROM_DESCR),
}
UNBOUND = {
    launches: ("fresh", "into", "tensor", "alias", "conceal", "next_seq", "seq_to_come"),
    recording: ("number_node", "requires_grad", "edge_of"),
    node_lines: ("place", "watch"),
    steps: ("is_unseen",),
    calls: ("apart",),
    sequences: ("are_bare", "count_writes", "may_write"),
    repeats: ("repeat",),
    heaps: ("take", "adopt", "drop_block", "choose_stream", "note_use", "take_waiting", "free_block"),
}
FROZEN = ("Layout", "Plan", "ElementwisePlan", "MovementPlan", "DType")  # their fields never change
META_OF_A_VIEW = ("base", "chain", "creation", "version", "node")  # slots that a Viewer fills in


def recorded_slots(saved: int) -> tuple[str, ...]:
    """The slots of a node that a Recorder fills in, which its template leaves unset."""
    return ("_seq_", "_plan_", "_edges_", *(f"_{kind}{k}_" for k in range(saved) for kind in "sv"))


def introduce(known: dict[str, Any]) -> None:
    """Tell native code the classes and objects of higher layers that it names."""
    for module in MODULES:
        vars(module).update(known)


class Functions:
    """The functions that make native functions, the same for machine code and for Python.

    A subclass says how a slot is named, how words are packed, and how a method of a bound class becomes a function.

    Attributes:
        entries: addresses of the functions and variables of the module; None where nothing is compiled.
    """

    entries: dict[str, int] | None = None

    def slot(self, cls: type, name: str) -> Any:
        """What native code knows a slot by."""
        raise NotImplementedError

    def words(self, *words: Any) -> Any:
        """Words in the form that native code reads."""
        raise NotImplementedError

    def method(self, owner: Any, name: str = "__call__") -> Callable:
        """The function that a method of a bound object is."""
        raise NotImplementedError

    def copies(self, template: Any, slots: tuple[str, ...]) -> Any:
        """The set slots of a template that a copy takes over, with their number in front; ``slots`` are filled in later."""
        names = copied_slots(template, slots)
        return self.words(len(names), *(self.slot(type(template), name) for name in names))

    def builder(self, template: Any, slots: tuple[str, ...], untracked: bool = False, node: bool = False) -> Callable:
        """See ``Builder``."""
        if any(hasattr(template, slot) for slot in slots):
            raise ValueError(f"builder: the template already has one of {slots}; its reference would leak.")
        words = self.words(*(self.slot(type(template), slot) for slot in slots))
        return self.method(Builder(words, len(slots), template, self.copies(template, slots), untracked, node))

    def viewer(self, node: Any, meta: Any, creations: tuple, refuse: Callable) -> tuple[Callable, Callable]:
        """``view`` and ``meta_of``: see ``Viewer``; ``creations`` with recording on, and off."""
        copies = self.copies(node, recorded_slots(0)), self.copies(meta, META_OF_A_VIEW)
        owner = Viewer(node, copies[0], meta, copies[1], creations[0], creations[1], refuse)
        return self.method(owner), self.method(owner, "meta_of")

    def recorder(self, template: Any, wanted: tuple[int, ...], saved: tuple[tuple[int, bool], ...]) -> Callable:
        """See ``Recorder``.

        Args:
            wanted: positions of the operands that get an edge.
            saved: position (-1: the result) and whether it is a number, for the slots ``_s0_, _s1_, ...`` and ``_v0_, _v1_, ...``.
        """
        words = [len(wanted), *wanted, len(saved)]
        for k, (position, is_number) in enumerate(saved):
            words += [position, self.slot(type(template), f"_s{k}_"), self.slot(type(template), f"_v{k}_"), int(is_number)]
        return self.method(Recorder(self.words(*words), template, self.copies(template, recorded_slots(len(saved)))))

    def caller(
        self,
        plans: dict,
        special: list,
        slow: Callable,
        record: Callable,
        mode: Any,
        bits: tuple[int, ...],
        plan_of: Callable | None = None,
    ) -> Callable:
        """See ``Caller``; ``bits`` of the operands."""
        plan_of = plan_of or (lambda key: None)
        return self.method(Caller(plans, plan_of, special, slow, record, mode, self.words(len(bits), *bits)))

    def writer(self, plans: dict, special: list, slow: Callable, recorded: Callable, mode: Any, bits: tuple[int, ...]) -> Callable:
        """See ``Writer``; ``bits`` of the operands."""
        return self.method(Writer(plans, special, slow, recorded, mode, self.words(len(bits), *bits)))

    def differentiator(
        self,
        node_type: type,
        mask: int,
        saved: tuple[tuple[int, bool, int], ...],
        parts: tuple[int, ...],
        rounds: bool,
        *calls: Callable,
        listed: bool = True,
    ) -> Callable:
        """See ``Differentiator``, whose functions ``calls`` are.

        Args:
            mask: the subset of operands.
            saved: for each saved value where the node keeps it, whether it is a number, and what it is.
            parts: for each result which of the kernel's it is; -1: the cotangent itself; -2: None.
            rounds: whether steps by calls would be rounded in half types.
            listed: whether the plans of kernels are in lists by subset; there are too many subsets if they are not.
        """
        computed = max(parts) + 1
        words = [len(saved), mask if listed else 0, 0 if parts == tuple(range(computed)) else len(parts), computed, int(rounds)]
        for k, is_number, what in saved:
            words += [self.slot(node_type, f"_s{k}_"), self.slot(node_type, f"_v{k}_"), int(is_number), what]
        return self.method(Differentiator(self.words(*words, *parts), *calls), "__call__" if listed else "in_full")

    def steps(self, *parts: Any, compiled: bool = True) -> tuple[Callable, Callable, Callable]:
        """``advance``, ``send`` and ``run``: see ``Steps``, which the arguments make; as they are where not to be compiled."""
        owner = Steps(*parts)
        if not compiled:
            return owner.advance, owner.send, owner.run
        return self.method(owner, "advance"), self.method(owner, "send"), self.method(owner, "run")

    def surveyor(self, accumulator: type, target: Callable) -> Callable:
        """See ``Surveyor``."""
        return self.method(Surveyor(accumulator, target))

    def leader(self, accumulator: type, target: Callable) -> Callable:
        """See ``Leader``."""
        return self.method(Leader(accumulator, target, Leader(accumulator, target, None).choose))

    def speller(self, *parts: Any) -> tuple[Callable, Callable]:
        """``spell`` and ``free``: see ``Speller``, which the arguments make."""
        owner = Speller(*parts)
        return self.method(owner), self.method(owner, "free")

    def nan_finder(self, searches: dict, slow: Callable) -> Callable:
        """See ``NanFinder``."""
        return self.method(NanFinder(searches, slow))

    def sequence(
        self,
        code: bytes,
        outs: tuple,
        layouts: tuple,
        kinds: tuple,
        constants: tuple,
        hosts: tuple,
        size: int,
        names: list,
        cells: list,
        objects: np.ndarray,
        flags: tuple[int, ...],
        special: list,
        slow: Callable,
        recorded: Callable | None,
        mode: Any,
        stopped: Callable,
        heaps: tuple,
        rooms: tuple[int, ...],
    ) -> tuple[Callable, Callable]:
        """``call`` and ``run``: see ``Sequence``.

        Args:
            code: NOTE [Sequence words] of sequences.py.
            size: bytes of a block; ``rooms``: of those on the GPUs of ``heaps``.
        """
        own = outs, layouts, kinds, constants, hosts, pack_words(size), np.dtype(np.uint8)
        there = heaps, pack_words(*rooms)
        owner = Sequence(code, *own, names, cells, objects, pack_words(*flags), special, slow, recorded, mode, stopped, *there)
        return self.method(owner), self.method(owner, "run")

    def requester(self, heap: Any) -> Callable:
        """``request(bytes)`` of a ``Heap``."""
        return self.method(heap, "request")

    def table_writer(self, plan: Any) -> Callable:
        """See ``TableWriter``."""
        return self.method(TableWriter(plan))

    def actor(self, *parts: Any) -> Callable:
        """See ``Actor``, which the arguments make."""
        return self.method(Actor(*parts))


class Uncompiled(Functions):
    """The functions as they are: for interpreters whose objects are not known, for debuggers, and with ``NBGRAD_NATIVE=0``."""

    def __init__(self, known: dict[str, Any]):
        introduce(known)
        self.pool, self.door = NoPool(), Door
        for module, names in UNBOUND.items():
            for name in names:
                setattr(self, name, vars(module)[name])

    def slot(self, cls: type, name: str) -> str:
        return name

    def words(self, *words: Any) -> tuple:
        return words

    def method(self, owner: Any, name: str = "__call__") -> Callable:
        return owner if name == "__call__" else getattr(owner, name)


LOADED: list[tuple[NativeModule, Any]] = []


def offsets_of_slots(classes: dict[str, type]) -> list[tuple[str, str, int]]:
    """Where the slots of classes lie in their objects: class, slot, bytes."""
    return [
        (name, slot, slot_offset(each, slot))
        for name, each in sorted(classes.items())
        for cls in each.__mro__
        for slot in vars(cls).get("__slots__", ())
        if not slot.startswith("__")
    ]


class NativeModule:
    """Native functions of some modules of Python, loaded as machine code.

    Args:
        loader: keeps and maps it.
        modules: whose native functions it is.
        known: classes by name, as annotations mean them.
        frozen: those of them whose fields never change.
        more: text that belongs to it, and the symbols of that which are looked for.
        checked, faults: builds for tests, see ``translator.Unit``.

    Attributes:
        entries: addresses of the functions and variables of the module.
    """

    def __init__(
        self,
        loader: Any,
        modules: tuple,
        known: dict[str, Any],
        frozen: tuple[str, ...] = (),
        more: tuple[str, Iterable[str]] = ("", ()),
        checked: bool = False,
        faults: bool = False,
    ):
        classes = {name: each for name, each in known.items() if isinstance(each, type)}
        values = filled_in()
        sources = [source_of(each) for each in (*modules, language, primitives, support, plans)] + sources_of_translator()
        from ..kernels.cpu.store import content_key

        names = " ".join(module.__name__ for module in modules)
        key = content_key(
            "native",
            *sources,
            more[0],
            repr(offsets_of_slots(classes)),
            repr(sorted(values.items())),
            f"{names} {checked} {faults}",
        )

        def compile() -> tuple[bytes, list[str]]:
            from .translator import Unit, declarations

            unit = Unit(modules, classes, slot_offset, [classes[name] for name in frozen], plans.MOST_OPERANDS, checked, faults)
            text = 'target triple = "@TRIPLE"\n' + unit.ir() + "\n" + more[0]
            text += "".join(f"@{name} = global ptr null\n" for name in GLOBALS)
            for name in sorted(values, key=len, reverse=True):
                text = text.replace("@" + name, str(values[name]))
            text += declarations(text)
            symbols = [
                *unit.entries,
                *unit.errors,
                *(f"const.{module}:{text}" for module, text in unit.constants),
                *GLOBALS,
                *more[1],
            ]
            return loader.emit(text, optimise=optimise), symbols + ["fault_countdown"] * faults

        self.entries: dict[str, int] = loader.load(key, compile)
        # Machine code, what it refers to and what leads to it live as long as the process: others may have loaded the same code.
        LOADED.append((self, loader))
        self._definitions = {
            name: MethodDef(name[2:].encode(), address, objects.METH_FASTCALL, None)
            for name, address in self.entries.items()
            if name.startswith("e.")
        }
        self._kept: list[Any] = []
        self._fill(modules, classes)

    def _fill(self, modules: tuple, classes: dict[str, type]) -> None:
        """Write into the module's variables which objects of this process they are: globals, constants, classes of errors."""
        for name, value in GLOBALS.items():
            ctypes.c_size_t.from_address(self.entries[name]).value = value()
        named = {name: each for module in modules for name, each in vars(module).items() if isinstance(each, type)}
        scopes = {"": {}, "class": named | classes} | {module.__name__: vars(module) for module in modules}
        for symbol, address in self.entries.items():
            if symbol.startswith("const."):
                module, _, text = symbol[6:].partition(":")
                constant = eval(text, scopes[module])
                constant = sys.intern(constant) if isinstance(constant, str) else constant
                self._kept.append(constant)
                ctypes.c_size_t.from_address(address).value = id(constant)
            elif symbol.startswith("error."):  # not PyExc_TypeError: Numba makes LLVM know the class itself by that name
                ctypes.c_size_t.from_address(address).value = id(getattr(builtins, symbol[6:]))

    def function(self, name: str, owner: Any = None) -> Callable:
        """The entry of that name, bound to an object if there is one."""
        return objects.builtin(self._definitions["e." + name], owner)


class Native(Functions):
    """The functions as machine code.

    Args:
        loader: keeps and maps it.
        known: what ``introduce`` tells.
        checked, faults: builds for tests, see ``translator.Unit``.
    """

    entries: dict[str, int]

    def __init__(self, loader: Any, known: dict[str, Any], checked: bool = False, faults: bool = False):
        introduce(known)
        own = (plans.Plan, plans.ElementwisePlan, plans.MovementPlan, DType)
        classes, more = known | {each.__name__: each for each in own}, (support.DOOR, ("call_door",))
        self.module = NativeModule(loader, MODULES, classes, FROZEN, more, checked, faults)
        for names in UNBOUND.values():
            for name in names:
                setattr(self, name, self.module.function(name))
        self.entries = self.module.entries
        self.pool, self.door = Pool(self.entries), door_type(self.entries["call_door"])

    slot = staticmethod(slot_offset)  # type: ignore[assignment]
    words = staticmethod(pack_words)

    def method(self, owner: Any, name: str = "__call__") -> Callable:
        return self.module.function(f"{type(owner).__name__}.{name}", owner)


def optimise(module: Any, builder: Any) -> None:
    """The passes that matter to native code, which has hardly a loop: half of the time that all take, and code as fast."""
    passes = llvm.create_new_module_pass_manager()
    for name in PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)


PASSES = (
    "always_inliner",
    "sroa",
    "simplify_cfg",
    "instruction_combine",
    "jump_threading",
    "sroa",
    "simplify_cfg",
    "new_gvn",
    "sccp",
    "instruction_combine",
    "dead_store_elimination",
    "jump_threading",
    "simplify_cfg",
    "sinking",
    "instruction_combine",
    "global_dead_code_eliminate",
)


def source_of(module: Any) -> bytes:
    """The source of a module."""
    return pathlib.Path(module.__file__).read_bytes()


def sources_of_translator() -> list[bytes]:
    """The sources of the translator, which is imported only where something has to be translated."""
    return [path.read_bytes() for path in sorted(pathlib.Path(__file__).with_name("translator").glob("*.py"))]


# What tells a core that it waits; not inline assembly, which would need LLVM's assembler in a warm process.
PAUSES = {"x86_64": "call void @llvm.x86.sse2.pause()", "aarch64": "call void @llvm.aarch64.hint(i32 1)"}


def filled_in() -> dict[str, Any]:
    """The values of the names in capitals in the text of primitives."""
    return {
        "ARRAY_DATA": objects.ARRAY_DATA,
        "ARRAY_BASE": objects.ARRAY_BASE,
        "TUPLE_ITEMS": objects.TUPLE_ITEMS,
        "BYTES_ITEMS": objects.BYTES_ITEMS,
        "DOOR_SLOT": object.__basicsize__,
        "LARGE_ARRAY": LARGE,
        "ARGUMENTS_OFFSET": 1 << 63,
        "PAUSE": "  " + PAUSES.get(platform.machine(), ""),
        "TRIPLE": llvm.get_process_triple(),
    }


def launcher(known: dict[str, Any]) -> Functions:
    """The native functions, or the same in Python where the interpreter's objects are unknown or ``NBGRAD_NATIVE=0``."""
    if not config.NATIVE or objects.check_layouts(known["Tensor"], known["Storage"]) is not None:
        return Uncompiled(known)
    from ..kernels.cpu.store import loader

    return Native(loader(), known, checked=config.NATIVE == 2, faults=config.NATIVE == 3)
