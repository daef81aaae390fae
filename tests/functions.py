"""Custom Functions that several test files need."""

from __future__ import annotations

import numpy as np

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
        (x,) = ctx.saved_tensors
        return 2 * x * g


class SquareByNumPy(nbgrad.Function):
    """x^2 through NumPy in both directions, which no graph can hold."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return nbgrad.from_numpy(np.square(x.numpy()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return nbgrad.from_numpy(2 * x.detach().numpy() * g.numpy())


class Stop(nbgrad.Function):
    """Identity whose gradient is undefined."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return None


class Returns(nbgrad.Function):
    """Identity whose backward returns the result of ``make(g)``."""

    @staticmethod
    def forward(ctx, x, make):
        ctx.make = make
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return ctx.make(g), None


class Nested(nbgrad.Function):
    """Identity whose backward runs a pass of its own over ``depth`` further copies of itself."""

    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth, ctx.inner = depth, x.detach().requires_grad_()
        return x * 1

    @staticmethod
    def backward(ctx, g):
        if ctx.depth:
            with nbgrad.enable_grad():
                y = Nested.apply(ctx.inner, ctx.depth - 1)
            nbgrad.backward(y, g)
        return ctx.inner.grad if ctx.depth else g, None
