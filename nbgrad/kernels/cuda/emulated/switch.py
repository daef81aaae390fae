"""One stack left for another, in the words of this processor: the only text here that no compiler of ours writes.

``switch(place, stack)`` keeps on the stack what a function must leave as it was, puts the stack's address into the word at
``place``, and goes on where ``stack`` was left.

NOTE [A new stack]: it looks as if ``switch`` had left it, to come back to ``trampoline``: that calls the function in one of the
kept registers with what is in another one.
"""

from __future__ import annotations

import platform
from typing import NamedTuple

from ....base.errors import NotSupportedError

__all__ = ["FIRST_ARGUMENT", "NAMES", "REGISTERS", "RETURN_ADDRESS", "SECOND_ARGUMENT", "text"]

NAMES = ["nbgrad_switch", "nbgrad_trampoline"]
REGISTERS = 24  # words at the end of a new stack, of which the first are what ``switch`` takes up


class Machine(NamedTuple):
    """A kind of processor.

    Attributes:
        switch, trampoline: their instructions.
        first, second, back: which words of a left stack are the registers of which ``trampoline`` takes its operand and the
            function, and where ``switch`` goes back to.
    """

    switch: tuple[str, ...]
    trampoline: tuple[str, ...]
    first: int
    second: int
    back: int


X86 = Machine(
    (
        *(f"pushq %{register}" for register in ("rbp", "rbx", "r12", "r13", "r14", "r15")),
        "movq %rsp, (%rdi)",
        "movq %rsi, %rsp",
        *(f"popq %{register}" for register in ("r15", "r14", "r13", "r12", "rbx", "rbp")),
        "retq",
    ),
    ("subq $$8, %rsp", "movq %r12, %rdi", "callq *%r13", "ud2"),
    3,
    2,
    6,
)
PAIRS = [("x19", "x20"), ("x21", "x22"), ("x23", "x24"), ("x25", "x26"), ("x27", "x28"), ("x29", "x30")]
PAIRS += [("d8", "d9"), ("d10", "d11"), ("d12", "d13"), ("d14", "d15")]
ARM = Machine(
    (
        f"sub sp, sp, #{16 * len(PAIRS)}",
        *(f"stp {a}, {b}, [sp, #{16 * k}]" for k, (a, b) in enumerate(PAIRS)),
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        *(f"ldp {a}, {b}, [sp, #{16 * k}]" for k, (a, b) in enumerate(PAIRS)),
        f"add sp, sp, #{16 * len(PAIRS)}",
        "ret",
    ),
    ("mov x0, x19", "blr x20", "brk #0"),
    0,
    1,
    11,
)
MACHINES = {"x86_64": X86, "AMD64": X86, "aarch64": ARM, "arm64": ARM}
MACHINE = MACHINES.get(platform.machine())
FIRST_ARGUMENT, SECOND_ARGUMENT, RETURN_ADDRESS = (MACHINE or X86)[2:]


def text() -> str:
    """LLVM's text of ``switch`` and ``trampoline``.

    Raises:
        NotSupportedError: they are not written for this processor.
    """
    if MACHINE is None:
        raise NotSupportedError(
            f"emulated device: threads change stacks on {', '.join(sorted(MACHINES))}, and this is {platform.machine()}. "
            f"Hint: kernels can be compiled here, and run where there is a GPU."
        )
    functions = zip(NAMES, ("i64 %place, i64 %stack", ""), (MACHINE.switch, MACHINE.trampoline))
    body = 'define void @{}({}) naked noinline {{\n  call void asm sideeffect "{}", ""()\n  unreachable\n}}'
    return "\n".join(body.format(name, operands, "; ".join(lines)) for name, operands, lines in functions)
