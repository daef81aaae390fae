"""Functions of generated texts: compiled when their code is needed, and told apart before."""

from __future__ import annotations

from nbgrad.kernels.codegen import scalar_function
from nbgrad.kernels.cpu.build import fingerprint
from nbgrad.kernels.texts import late_text, ready
from nbgrad.ops import expr

TEXT = "def twice(x):\n    return shifted(x) + shifted(x)\n\n\ndef shifted(x):\n    return x + STEP\n"


def functions(step, text=TEXT):
    """``twice`` and ``shifted``."""
    return late_text(text, "test of late texts", {"STEP": step}, "twice", "shifted")


def test_a_call_compiles():
    """Each is itself before and after, and finds the others."""
    twice, shifted = functions(1)
    assert twice(2) == 6 and shifted(2) == 3 and twice(0) == 2
    assert twice.__globals__["shifted"] is shifted and twice.source == TEXT


def test_ready_compiles_all_of_a_text():
    """Whose code can then be read; of anything else nothing changes."""
    twice, shifted = functions(1)
    assert twice.__code__.co_filename != "<nbgrad test of late texts>"
    assert ready(twice) is twice and twice.__code__.co_varnames == shifted.__code__.co_varnames == ("x",)
    assert ready(3) == 3 and ready(None) is None


def test_texts_are_told_apart_uncompiled():
    """By the function, the text, and the values and functions that it names."""
    twice, shifted = functions(1)
    before = twice.__code__
    found = {fingerprint(twice), fingerprint(shifted), *(fingerprint(functions(step)[0]) for step in (2, 2.0, abs))}
    found.add(fingerprint(functions(1, TEXT.replace("+ shifted", "- shifted"))[0]))
    assert len(found) == 6 and twice.__code__ is before
    assert fingerprint(functions(1)[0]) == fingerprint(twice)


def test_scalar_functions_are_late():
    """They compute all the same."""
    x = expr.symbol("x")
    function = scalar_function("late_square", ["x"], (x * x + 1,), "float64")
    before = function.__code__
    assert "def scalar_late_square(x):" in function.source and function(3.0) == 10.0 and function.__code__ is not before
