"""Copies, writes into the first operand, and results that only depend on an operand."""

from __future__ import annotations

from ..core import elementwise
from ..expr import scalar

elementwise("clone", lambda x: scalar.positive(x), {"x": lambda: 1}, complex=True, inplace=False, doc="A copy.")
# Only the in-place forms of these are public.
elementwise(
    "copy",
    lambda x, y: y,
    {"x": lambda: 0, "y": lambda: 1},
    policy="first",
    complex=True,
    method=False,
    function=False,
    node="CopyBackwards",
    arguments={"src": "y"},
    doc="Write y into x.",
    aten="copy",
)
elementwise(
    "fill",
    lambda x, y: y,
    {"x": lambda: 0, "y": lambda: 1},
    policy="first",
    complex=True,
    method=False,
    function=False,
    arguments={"value": "y"},
    doc="Write one value into every element.",
    aten={(): ".Tensor", (False, True): ".Scalar"},
)
elementwise(
    "zero",
    lambda x: 0.0,
    {"x": lambda: 0},
    policy="first",
    complex=True,
    method=False,
    function=False,
    doc="Write 0 into every element.",
)
# The first operand, as a result of the second: it requires grad if that does, and its derivative by it is 0.
for _name, _node, _public in (
    ("drawn_with_probability", "BernoulliBackward0", "bernoulli"),
    ("drawn_around", "NormalBackward3", "normal"),
    ("counted_of", "LinalgVectorNormBackward0", "norm"),
):
    elementwise(
        _name,
        lambda x, y: x,
        {"x": lambda: 1, "y": lambda: 0},
        method=False,
        function=False,
        inplace=False,
        out=False,
        complex=True,
        node=_node,
        public=_public,
        doc="x; the derivative by y, on which it depends, is 0.",
    )
