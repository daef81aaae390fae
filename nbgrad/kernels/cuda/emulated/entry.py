"""How threads, and the functions of the scheduler, are called."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ...compiler import kinds
from ...compiler.arithmetic import Builder, Value, ir_of
from ...compiler.functions import Entry
from ..entry import parameters
from ..templates import Template

__all__ = ["ThreadEntry", "WordsEntry"]

I64 = ir.IntType(64)


class ThreadEntry(Entry):
    """``thread(machine, parameters)``: a word for each pointer, number and count; those of a table behind them."""

    def __init__(self, template: Template, dtype: str):
        self.template, self.dtype = template, dtype

    def declare(self, module: ir.Module, symbol: str) -> ir.Function:
        return ir.Function(module, ir.FunctionType(ir.VoidType(), [I64, I64]), symbol)

    def operands(self, made: ir.Function, builder: Builder) -> list[Value]:
        words = builder.inttoptr(made.args[1], I64.as_pointer())
        found, made_of = list[Value](), parameters(self.template, self.dtype)
        for k, kind in enumerate(made_of):
            place = builder.gep(words, [ir.Constant(I64, k)])
            if self.template.table and k == len(made_of) - 1:
                found.append(Value(kind, place))
                continue
            found.append(Value(kind, builder.load(builder.bitcast(place, kind.llvm.as_pointer()))))
        return found

    def leave(self, builder: Builder, result: Any) -> None:
        builder.ret_void()


class WordsEntry(Entry):
    """A function of words that gives a word."""

    def __init__(self, count: int):
        self.count = count

    def declare(self, module: ir.Module, symbol: str) -> ir.Function:
        return ir.Function(module, ir.FunctionType(I64, [I64] * self.count), symbol)

    def operands(self, made: ir.Function, builder: Builder) -> list[Value]:
        return [Value(kinds.int64, each) for each in made.args]

    def leave(self, builder: Builder, result: Any) -> None:
        builder.ret(ir.Constant(I64, 0) if result is None else ir_of(result, kinds.int64))
