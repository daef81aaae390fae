"""Elementwise operations of the table's core: one declaration each.

A partial derivative may use the operands and ``out``; what it mentions is what backward saves, so ``out`` is preferred where it
is at hand (and where torch's users expect the result, not the operand, to be guarded against changes).
"""

# Order does not matter.
from . import activations, arithmetic, choice, comparison, exponentials, rounding, trigonometry, writes  # noqa: F401
