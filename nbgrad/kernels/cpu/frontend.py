"""Numba as a front end: type inference and lowering of kernels, and of nothing else; LLVM runs once a kernel.

``numba.njit`` is made for whole programs. Before it compiles the first function it loads what it knows of arrays, strings, dicts,
random numbers and SciPy, and every function that a kernel calls is optimised and turned into machine code of its own,
which nobody uses, because the kernel inlines it. ``KernelTarget`` is the same compiler with the arithmetic of
scalars, tuples and loops alone, and its libraries wait: what a kernel calls is linked as it was lowered, then all is optimised and
emitted at once (benchmarks/test_startup.py).

It compiles what ``kernels/compiler`` refuses, and everything with ``NBGRAD_NUMBA=1``, and is imported only then. The classes
derive from Numba's own, which are no public interface.
"""

from __future__ import annotations

from typing import Any, Callable

from numba.core import (
    codegen,
    compiler,
    compiler_machinery,
    cpu,
    dispatcher,
    externals,
    fastmathpass,
    registry,
    target_extension,
    typing,
    utils,
)
from numba.core.typing import templates

from ...base.collector import CollectorPause
from .emit import full_width

__all__ = ["compile_kernel", "inlined"]

OPTIONS: dict[str, Any] = {
    "nopython": True,
    "boundscheck": None,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
}


class KernelLibrary(codegen.JITCodeLibrary):
    """The LLVM module of one function, and the libraries of those that it calls. Nothing runs until ``emit``."""

    def _optimize_functions(self, ll_module) -> None:
        """Left to ``emit``."""

    def finalize(self) -> None:
        """Take in what is called, once."""
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def emit(self) -> bytes:
        """Optimise the whole module, once, and return its object file.

        Numba's other passes are for code with reference counts, and for modules that are linked again; without them kernels have
        the same bits and the same speed.
        """
        self._ensure_finalized()
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        return self._codegen._tm.emit_object(self._final_module)


class KernelCodegen(codegen.JITCPUCodegen):
    """Numba's code generator with libraries that wait."""

    _library_class = KernelLibrary

    def _customize_tm_features(self) -> str:
        """The processor's, with all of its width."""
        return super()._customize_tm_features() + full_width()


class KernelTyping(typing.Context):
    """What types kernels know: those of Numba's core."""

    def _load_builtins(self) -> None:
        """Python's own functions; no arrays, buffers or ctypes."""
        from numba.core.typing import builtins, collections  # noqa: F401  (what registers when it is imported)

        self.install_registry(templates.builtin_registry)

    def load_additional_registries(self) -> None:
        """Functions of the module math."""
        from numba.core.typing import mathdecl

        self.install_registry(mathdecl.registry)

    def resolve_value_type(self, val):
        """The type of a global value: what is registered for it, before Numba asks whether ``range`` is a typed dict."""
        return self._get_global_type(val) or super().resolve_value_type(val)


class KernelContext(cpu.CPUContext):
    """What operations kernels know: arithmetic, tuples, ranges, functions of C's mathematics library."""

    def init(self) -> None:
        """As of the base class, with another code generator."""
        self.is32bit = utils.MACHINE_BITS == 32
        self._internal_codegen = KernelCodegen("nbgrad.kernels")
        externals.c_math_functions.install(self)

    def load_additional_registries(self) -> None:
        """No arrays, no reference counts."""
        from numba.core import optional  # noqa: F401  (what registers when it is imported)
        from numba.cpython import builtins, iterators, mathimpl, numbers, rangeobj, tupleobj  # noqa: F401

        self.install_registry(mathimpl.registry)

    def post_lowering(self, mod, library) -> None:
        """Flags of the arithmetic; no library of reference counts."""
        if self.fastmath:
            fastmathpass.rewrite_module(mod, self.fastmath)

    def get_executable(self, library, fndesc, env) -> Any:
        """A token for the function: it is called by other functions, never from here."""
        return fndesc


class KernelTarget(registry.CPUTarget):
    """Where kernels are compiled for: this processor."""

    @property
    def target_context(self) -> KernelContext:
        """What is known of operations; made when first needed."""
        found = vars(self).get("_context")
        if found is None:
            found = self._context = KernelContext(self.typing_context, self._target_name)
        return found

    @property
    def typing_context(self) -> KernelTyping:
        """What is known of types; made when first needed."""
        found = vars(self).get("_typing")
        if found is None:
            found = self._typing = KernelTyping()
        return found


# Passes for what kernels do not contain: closures, generators, arrays, calls that are inlined as Python.
NEEDLESS = frozenset(
    (
        "WithLift",
        "InlineClosureLikes",
        "MakeFunctionToJitFunction",
        "InlineInlinables",
        "FindLiterallyCalls",
        "LiteralUnroll",
        "NopythonRewrites",
        "InlineOverloads",
        "NoPythonSupportedFeatureValidation",
    )
)


class KernelCompiler(compiler.CompilerBase):
    """Numba's way from byte code to LLVM, without the passes that are NEEDLESS."""

    needless = NEEDLESS

    def define_pipelines(self) -> list:
        """One: of the default one's passes those that are needed."""
        default, chosen = compiler.DefaultPassBuilder, compiler_machinery.PassManager("nbgrad kernel")
        for part in (default.define_untyped_pipeline, default.define_typed_pipeline, default.define_nopython_lowering_pipeline):
            chosen.passes.extend(each for each in part(self.state).passes if each[0].__name__ not in self.needless)
        chosen.finalize()
        return [chosen]


class LoopCompiler(KernelCompiler):
    """The same for loops that contain functions marked ``part_of_loop``."""

    needless = NEEDLESS - {"InlineInlinables"}


class Kernels(target_extension.CPU):
    """The target's name in Numba's tables; whatever is registered for a processor holds for it."""


NAME = "nbgrad.kernels"
target_extension.target_registry[NAME] = Kernels


class KernelDispatcher(dispatcher.Dispatcher):
    """A function for kernels: compiled for the types that it is called with."""

    targetdescr = KernelTarget(NAME)

    def add_overload(self, cres) -> None:
        """Known to the compiler alone; the base class would have it called from Python."""
        self.overloads[tuple(cres.signature.args)] = cres


target_extension.dispatcher_registry[Kernels] = KernelDispatcher


def inlined(function: Callable) -> KernelDispatcher:
    """A function that becomes part of every kernel that calls it.

    ``forceinline``, not ``inline="always"``: the callee keeps its own flags, and ``fastmath=False`` must be given, or the
    kernel's are inherited and reassociation undoes compensated sums. ``part_of_loop`` asks for just that.
    """
    if getattr(function, "part_of_loop", False):
        return KernelDispatcher(function, targetoptions={**OPTIONS, "inline": "always"}, pipeline_class=LoopCompiler)
    options = {**OPTIONS, "forceinline": True, "fastmath": False}
    return KernelDispatcher(function, targetoptions=options, pipeline_class=KernelCompiler)


# How Numba's own definitions of functions, as of ``int`` and ``float``, are compiled when a kernel calls them.
target_extension.jit_registry[Kernels] = lambda **options: inlined


def compile_kernel(function: Callable, signature, fastmath, has_parts: bool = False) -> tuple[KernelLibrary, str]:
    """The library of a kernel and the name of its entry point.

    Args:
        function: plain, its free names bound to intrinsics and ``inlined`` functions.
        signature: Numba's.
        fastmath: the freedoms that LLVM has with the kernel's own arithmetic: a set of names, or False.
        has_parts: it may call what is ``part_of_loop``.
    """
    made = KernelDispatcher(
        function, targetoptions={**OPTIONS, "fastmath": fastmath}, pipeline_class=LoopCompiler if has_parts else KernelCompiler
    )
    with target_extension.target_override(NAME), CollectorPause():
        made.compile(signature)
    (compiled,) = made.overloads.values()
    return compiled.library, compiled.fndesc.llvm_func_name
