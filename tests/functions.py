"""Custom Functions that several test files need."""
from __future__ import annotations

import nbgrad


class Double(nbgrad.Function):
    """2 x."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Square(nbgrad.Function):
    """x^2, with x saved."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g
