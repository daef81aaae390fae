"""LLVM's text becomes machine code, of several texts side by side.

NOTE [Side by side]: llvmlite lets one thread at a time into LLVM. LLVM itself keeps apart what threads do in contexts and with
machines of their own, so the two calls that take long go past that lock; all others take it. Threads end before ``emit_all``
returns, while the caller holds the compile lock: a fork waits for them as for any compilation.

Each of the many calls of LLVM for a text gives Python's lock away and waits for it again, as long as the thread that writes the
next text may keep it, which is a quarter of what a small text takes as a whole. So it may keep it for a shorter time meanwhile.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm

from ...base.errors import KernelError
from .pool import available_threads

if TYPE_CHECKING:
    from queue import PriorityQueue

__all__ = ["Emitter", "emit_all", "full_width", "host_machine", "widest_vectors"]


def host_machine(opt: int = 3) -> llvm.TargetMachine:
    """A new target machine for this processor; ``opt``: the level at which it chooses instructions and registers."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten() + full_width(), opt=opt, jit=True
    )


@cache
def full_width() -> str:
    """What to add to the features of a target so that vectors are as wide as the processor has them.

    LLVM halves them for the sake of processors that slowed down.
    """
    return ",-prefer-256-bit" if llvm.get_host_cpu_features().get("avx512f") else ""


def widest_vectors() -> str:
    """The processor's: "AVX512", "AVX2" or "DEFAULT"."""
    features = llvm.get_host_cpu_features()
    return next((name.upper() for name, found in (("avx512", "avx512f"), ("avx2", "avx2")) if features.get(found)), "DEFAULT")


def lanes(size: int) -> int:
    """How many numbers of so many bytes a vector of explicit size has: 64 bytes with AVX-512, 32 elsewhere."""
    return (64 if widest_vectors() == "AVX512" else 32) // size


def unlocked(name: str) -> Callable:
    """A function of LLVM's without llvmlite's lock: NOTE [Side by side]."""
    function = getattr(llvm.ffi.lib, name)
    return getattr(function, "_cfn", function)


class Emitter:
    """What one thread makes object code with.

    Args:
        opt: the level of its target machine.
    """

    def __init__(self, opt: int = 3) -> None:
        self.context, self.machine = llvm.create_context(), host_machine(opt)

    def emit(self, text: str, opt: int = 3, optimise: Callable[[Any, Any], None] | None = None) -> bytes:
        """Object code of LLVM IR text.

        Args:
            optimise: ``optimise(module, builder of passes)``, instead of the passes of a level.

        Raises:
            KernelError: LLVM refuses the text.
        """
        try:
            module = llvm.parse_assembly(text, self.context)
            module.verify()
        except RuntimeError as error:
            raise KernelError(f"module: LLVM refuses the text: {str(error).strip()}.") from None
        builder = llvm.create_pass_builder(self.machine, llvm.create_pipeline_tuning_options(speed_level=opt))
        if optimise is None:
            unlocked("LLVMPY_RunNewModulePassManager")(builder.getModulePassManager(), module, builder)
        else:
            optimise(module, builder)
        return self.object_code(module)

    def object_code(self, module: llvm.ModuleRef) -> bytes:
        """As ``TargetMachine.emit_object``."""
        lib = llvm.ffi.lib
        with llvm.ffi.OutputString() as error:
            memory = unlocked("LLVMPY_TargetMachineEmitToMemory")(self.machine, module, 1, error)
            if not memory:
                raise KernelError(f"module: LLVM emits no object: {error}.")
        try:
            return ctypes.string_at(lib.LLVMPY_GetBufferStart(memory), lib.LLVMPY_GetBufferSize(memory))
        finally:
            lib.LLVMPY_DisposeMemoryBuffer(memory)


SHORT_TURN = 5e-4  # seconds
# Behind all texts in a queue; of these the longest comes first, so that no thread is left alone with one at the end.
END = ((1, 0), None, "")


class Worker(threading.Thread):
    """Emits what lies in a queue, until it meets ``END``."""

    def __init__(self, waiting: PriorityQueue, made: dict[Any, bytes | BaseException]):
        super().__init__(name="nbgrad compiles", daemon=True)
        self.waiting, self.made = waiting, made

    def run(self) -> None:
        emitter = Emitter()
        while (found := self.waiting.get()) is not END:
            _, key, text = found
            try:
                self.made[key] = emitter.emit(text)
            except BaseException as error:
                self.made[key] = error


def emit_all(texts: Iterable[tuple[Any, str]], count: int) -> dict[Any, bytes]:
    """Object code of texts, by their names, as far as ``texts`` gives any; the next text is asked for meanwhile.

    Args:
        count: how many there are at most.

    Raises:
        KernelError: LLVM refuses one.
    """
    from queue import PriorityQueue

    interval = sys.getswitchinterval()
    waiting, made = PriorityQueue[Any](), dict[Any, Any]()
    workers = [Worker(waiting, made) for _ in range(min(count, available_threads()))]
    for worker in workers:
        worker.start()
    sys.setswitchinterval(min(interval, SHORT_TURN))
    try:
        for k, (key, text) in enumerate(texts):
            waiting.put(((-len(text), k), key, text))
    finally:
        for _ in workers:
            waiting.put(END)
        for worker in workers:
            worker.join()
        sys.setswitchinterval(interval)
    for found in made.values():
        if isinstance(found, BaseException):
            raise found
    return made
