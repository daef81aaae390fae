"""How a GPU calls a kernel: NOTE [Kernel parameters] of ``templates.py``."""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir

from ..compiler import kinds
from ..compiler.arithmetic import Builder, Value
from ..compiler.functions import Entry
from ..compiler.kinds import CPointer, Kind
from .access import itemsize, value_dtype
from .intrinsics import GLOBAL
from .templates import Template

__all__ = ["TRIPLE", "PtxEntry", "parameters", "ptx_layout"]

TRIPLE = "nvptx64-nvidia-cuda"


@cache
def ptx_layout() -> str:
    """How LLVM's back end lays out data in memory."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    return str(llvm.Target.from_triple(TRIPLE).create_target_machine(cpu="sm_90").target_data)


def parameters(template: Template, dtype: str, space: int = 0) -> list[Kind]:
    """The kinds of a kernel's parameters. Accesses cast pointers: all that counts is that they are pointers to that memory."""
    pointers = [CPointer(getattr(kinds, f"uint{8 * min(itemsize(name), 8)}"), space) for name in template.pointers]
    table = [CPointer(kinds.int64)] if template.table else []
    return [*pointers, *[getattr(kinds, value_dtype(dtype))] * template.values, *[kinds.int64] * template.integers, *table]


class PtxEntry(Entry):
    """A kernel of pointers to the device's memory, numbers and counts.

    Args:
        dtype: in which it computes.
        block: threads of a block.
        resident: blocks that a multiprocessor is to hold at once.
    """

    def __init__(self, template: Template, dtype: str, block: int, resident: int):
        self.template, self.dtype = template, dtype
        self.bounds = {"maxntidx": block, "minctasm": resident}

    @property
    def triple(self) -> str:
        return TRIPLE

    def declare(self, module: ir.Module, symbol: str) -> ir.Function:
        self.parameters = parameters(self.template, self.dtype, GLOBAL)
        taken = [kind.llvm for kind in self.parameters]
        if self.template.table:  # one parameter of many words, which is read where parameters are
            taken[-1] = ir.ArrayType(ir.IntType(64), self.template.table).as_pointer()
        made = ir.Function(module, ir.FunctionType(ir.VoidType(), taken), symbol)
        made.calling_convention = "ptx_kernel"
        if self.template.table:
            made.args[-1].add_attribute("byval")
        i32 = ir.IntType(32)
        bounds = [[made, name, ir.Constant(i32, count)] for name, count in self.bounds.items()]
        annotations = module.add_named_metadata("nvvm.annotations")
        for each in bounds:
            annotations.add(module.add_metadata(each))
        return made

    def operands(self, made: ir.Function, builder: Builder) -> list[Value]:
        return [Value(kind, builder.bitcast(each, kind.llvm)) for kind, each in zip(self.parameters, made.args)]

    def leave(self, builder: Builder, result: Any) -> None:
        builder.ret_void()
