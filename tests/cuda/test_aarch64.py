"""The parts of the emulated device that are written in a processor's words, for aarch64, wherever this runs: their instructions are
assembled, and done one by one; the functions around them compile.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess

import pytest

from nbgrad.kernels.compiler import functions as compiler, kinds
from nbgrad.kernels.compiler.expressions import Scope
from nbgrad.kernels.cpu.intrinsics import intrinsics
from nbgrad.kernels.cuda.emulated import device, library, switch
from nbgrad.kernels.cuda.emulated.entry import WordsEntry

ARM = switch.MACHINES["aarch64"]
TRIPLE = "aarch64-unknown-linux-gnu"
# Procedure Call Standard for the Arm 64-bit Architecture: what a function leaves as it was.
KEPT = [*(f"x{n}" for n in range(19, 31)), *(f"d{n}" for n in range(8, 16)), "sp"]


class Processor:
    """Does the instructions that ``switch`` and ``trampoline`` are made of; memory by words."""

    def __init__(self, registers):
        self.registers, self.memory = dict(registers), {}

    def address(self, text):
        """Of ``[x0]`` or ``[sp, #16]``."""
        base, _, offset = text.strip("[]").partition(", ")
        return self.registers[base] + int(offset.lstrip("#") or 0)

    def do(self, lines):
        """Do instructions up to a jump; where that goes."""
        for line in lines:
            name, _, rest = line.partition(" ")
            operands = re.findall(r"\[[^]]*\]|[^, ]+", rest)
            if name in ("stp", "ldp"):
                first, second, place = operands
                for k, register in enumerate((first, second)):
                    at = self.address(place) + 8 * k
                    if name == "stp":
                        self.memory[at] = self.registers[register]
                    else:
                        self.registers[register] = self.memory[at]
            elif name == "str":
                self.memory[self.address(operands[1])] = self.registers[operands[0]]
            elif name in ("add", "sub"):
                change = int(operands[2].lstrip("#"))
                self.registers[operands[0]] = self.registers[operands[1]] + (change if name == "add" else -change)
            elif name == "mov":
                self.registers[operands[0]] = self.registers[operands[1]]
            elif name == "ret":
                return self.registers["x30"]
            elif name == "blr":
                return self.registers[operands[0]]
            else:
                raise AssertionError(f"{name} is not known here")
        raise AssertionError("no jump")


def test_a_stack_is_left_and_taken_up_again():
    """Whatever happened in between: all that a function must leave as it was is as it was, and the stack's address was kept."""
    before = {register: 1000 + k for k, register in enumerate(KEPT)} | {"sp": 0x8000, "x0": 0x100, "x1": 0x4000, "x9": 0}
    machine = Processor(before)
    machine.memory = {0x4000 + 8 * k: 5000 + k for k in range(switch.REGISTERS)}  # another stack, as it was left
    assert machine.do(ARM.switch) == 5000 + ARM.back
    left = machine.memory[0x100]
    assert machine.registers["sp"] == 0x4000 + 8 * 2 * len(switch.PAIRS)
    machine.registers.update({"x0": 0x200, "x1": left, "x9": 7})
    assert machine.do(ARM.switch) == before["x30"]
    assert {register: machine.registers[register] for register in KEPT} == {register: before[register] for register in KEPT}


def test_a_new_stack_calls_its_function():
    """``switch`` goes to the trampoline, which calls the function with its operand, on an aligned stack: NOTE [A new stack]."""
    words = [0] * switch.REGISTERS
    words[ARM.first], words[ARM.second], words[ARM.back] = 111, 222, 333
    top = 0x8000 - 8 * switch.REGISTERS
    machine = Processor(dict.fromkeys(KEPT, 0) | {"sp": 0x100000, "x0": 0x100, "x1": top, "x9": 0})
    machine.memory = {top + 8 * k: word for k, word in enumerate(words)}
    assert machine.do(ARM.switch) == 333
    assert machine.do(ARM.trampoline) == 222
    assert machine.registers["x0"] == 111 and machine.registers["sp"] % 16 == 0


def assembled(*lines):
    """The words of instructions."""
    if shutil.which("llvm-mc") is None:
        pytest.skip("needs llvm-mc")
    command = ["llvm-mc", f"-triple={TRIPLE}", "-show-encoding"]
    found = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True)
    if "unable to get target" in found.stderr:
        pytest.skip("this llvm-mc does not know aarch64")
    assert found.returncode == 0, found.stderr
    encodings = re.findall(r"encoding: \[([^]]*)\]", found.stdout)
    return [int.from_bytes(bytes(int(byte, 16) for byte in each.split(",")), "little") for each in encodings]


def test_the_text_is_assembled():
    """Each line is one instruction of the processor."""
    lines = [*ARM.switch, *ARM.trampoline]
    words = assembled(*lines)
    assert len(words) == len(lines)
    assert words[0] == 0xD10283FF and words[len(ARM.switch) - 1] == 0xD65F03C0  # sub sp, sp, #160; ret


@pytest.mark.parametrize("at, word", [(0x1000, 0x6000), (0x1FF0, 0x5FF8), (0x5010, 0x1008), (0x1000, 0x7FFFF008)])
def test_jumps_of_the_library(at, word):
    """The words that Python writes are those of an assembler: the address of a page, a word in it, a jump there."""
    page = (word & ~0xFFF) - (at & ~0xFFF)
    expected = assembled(f"adrp x16, #{page}", f"ldr x16, [x16, #{word & 0xFFF}]", "br x16", "nop")
    assert list(struct.unpack("<4I", library.jump("aarch64", at, word))) == expected


def test_the_function_that_does_nothing():
    """It gives 0."""
    assert list(struct.unpack("<4I", library.nothing("aarch64"))) == assembled("mov w0, #0", "ret", "nop", "nop")


@pytest.mark.parametrize("function", device.FUNCTIONS, ids=lambda function: function.__name__)
def test_the_scheduler_compiles(function):
    """Scheduler and checks are machine code of the other processor too."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine()
    scope = Scope(intrinsics(compiler.Rule, kinds), {}, None, {}, str(machine.target_data))
    text = compiler.kernel_text(function, function.__name__, scope, entry=WordsEntry(function.__code__.co_argcount))
    module = llvm.parse_assembly(re.sub(r'target triple = ".*"', f'target triple = "{TRIPLE}"', text), llvm.create_context())
    assembly = machine.emit_assembly(module)
    assert f"\n{function.__name__}:" in assembly and "ret\n" in assembly
    assert machine.emit_object(module)[18:20] == (183).to_bytes(2, "little")
