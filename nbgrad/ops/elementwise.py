"""Elementwise operations: one declaration each."""
# ruff: noqa: E731
from __future__ import annotations

from .core import elementwise
from .expr import scalar

elementwise("add", lambda x, y: x + y, {"x": lambda: 1, "y": lambda: 1}, complex=True, doc="x + y.")
elementwise("sub", lambda x, y: x - y, {"x": lambda: 1, "y": lambda: -1}, complex=True, doc="x - y.")
elementwise("mul", lambda x, y: x * y, {"x": lambda y: y, "y": lambda x: x}, complex=True, aliases=("multiply",), doc="x * y.")
elementwise("div", lambda x, y: x / y, {"x": lambda y: 1 / y, "y": lambda y, out: -out / y}, policy="float", complex=True,
            doc="x / y; integers are divided as floats.")
elementwise("neg", lambda x: -x, {"x": lambda: -1}, complex=True, doc="-x.")
elementwise("conj", lambda x: scalar.conj(x), {"x": lambda g: scalar.conj(g)},
            tangents={"x": lambda t_x: scalar.conj(t_x)}, complex=True, doc="Complex conjugate.")
elementwise("tanh", lambda x: scalar.tanh(x), {"x": lambda out: 1 - out * out}, policy="float", doc="Hyperbolic tangent.")
elementwise("exp", lambda x: scalar.exp(x), {"x": lambda out: out}, policy="float", doc="e**x.")
elementwise("positive", lambda x: scalar.positive(x), {"x": lambda: 1}, complex=True, doc="x.")

# Writes: only their in-place forms are public.
elementwise("copy", lambda x, y: y, {"x": lambda: 0, "y": lambda: 1}, policy="first", complex=True, method=False, function=False,
            node="CopyBackwards", doc="Write y into x.")
elementwise("fill", lambda x, y: y, {"x": lambda: 0, "y": lambda: 1}, policy="first", complex=True, method=False, function=False,
            doc="Write one value into every element.")
elementwise("zero", lambda x: 0.0, {"x": lambda: 0}, policy="first", complex=True, method=False, function=False,
            doc="Write 0 into every element.")
elementwise("clone", lambda x: scalar.positive(x), {"x": lambda: 1}, complex=True, inplace=False, doc="A copy.")
