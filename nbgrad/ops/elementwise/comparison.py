"""Comparisons, logic, bits, and what kind of number an element is."""

from __future__ import annotations

import operator

from ..core import elementwise, of_reals
from ..expr import scalar

for _name, _sign, _alias in (
    ("lt", "<", "less"),
    ("le", "<=", "less_equal"),
    ("gt", ">", "greater"),
    ("ge", ">=", "greater_equal"),
):
    elementwise(
        _name,
        (lambda name: lambda x, y: getattr(scalar, name)(x, y))(_name),
        predicate=True,
        aliases=(_alias,),
        text=of_reals(f"{{0}} {_sign} {{1}}"),
        of_numbers=getattr(operator, _name),
        doc=f"x {_sign} y.",
        aten={(): ".Tensor", (False, True): ".Scalar"},
    )
elementwise(
    "eq",
    lambda x, y: scalar.eq(x, y),
    predicate=True,
    complex=True,
    numpy=("equal",),
    text="{0} == {1}",
    of_numbers=operator.eq,
    doc="x == y.",
    aten={(): ".Tensor", (False, True): ".Scalar"},
)
elementwise(
    "ne",
    lambda x, y: scalar.ne(x, y),
    predicate=True,
    aliases=("not_equal",),
    complex=True,
    text="{0} != {1}",
    of_numbers=operator.ne,
    doc="x != y.",
    aten={(): ".Tensor", (False, True): ".Scalar"},
)
elementwise(
    "logical_and", lambda x, y: scalar.logical_and(x, y), predicate=True, complex=True, text="{0} & {1}", doc="Both are not zero."
)
elementwise(
    "logical_or",
    lambda x, y: scalar.logical_or(x, y),
    predicate=True,
    complex=True,
    text="{0} | {1}",
    doc="At least one is not zero.",
)
elementwise(
    "logical_xor",
    lambda x, y: scalar.logical_xor(x, y),
    predicate=True,
    complex=True,
    text="{0} ^ {1}",
    doc="Exactly one is not zero.",
)
elementwise("logical_not", lambda x: scalar.logical_not(x), predicate=True, complex=True, text="(not {0})", doc="x is zero.")
elementwise(
    "bitwise_and",
    lambda x, y: x & y,
    policy="integer",
    text="{0} & {1}",
    of_numbers=operator.and_,
    doc="The bits that both have.",
    aten={(): ".Tensor", (False, True): ".Scalar"},
)
elementwise(
    "bitwise_or",
    lambda x, y: x | y,
    policy="integer",
    text="{0} | {1}",
    of_numbers=operator.or_,
    doc="The bits that at least one has.",
    aten={(): ".Tensor", (False, True): ".Scalar"},
)
elementwise(
    "bitwise_xor",
    lambda x, y: x ^ y,
    policy="integer",
    text="{0} ^ {1}",
    doc="The bits that exactly one has.",
    aten={(): ".Tensor", (False, True): ".Scalar"},
)
elementwise(
    "bitwise_not",
    lambda x: ~x,
    policy="integer",
    numpy=("invert",),
    text={**dict.fromkeys(("real", "integer", "complex"), "~{0}"), "bool": "(not {0})"},
    doc="The bits inverted; of a bool the negation.",
)
elementwise(
    "bitwise_left_shift",
    lambda x, y: x << y,
    policy="integer",
    refuses_bool=True,
    numpy=("left_shift",),
    doc="x * 2**y; 0 where y is negative or leaves no bit.",
    aten={(): ".Tensor", (False, True): ".Tensor_Scalar", (True, False): ".Scalar_Tensor"},
)
elementwise(
    "bitwise_right_shift",
    lambda x, y: x >> y,
    policy="integer",
    refuses_bool=True,
    numpy=("right_shift",),
    doc="x // 2**y; 0 or -1 where y is negative or leaves no bit.",
    aten={(): ".Tensor", (False, True): ".Tensor_Scalar", (True, False): ".Scalar_Tensor"},
)
elementwise("gcd", lambda x, y: scalar.gcd(x, y), policy="integer", refuses_bool=True, doc="The greatest common divisor.")
elementwise("lcm", lambda x, y: scalar.lcm(x, y), policy="integer", refuses_bool=True, doc="The least common multiple.")
elementwise("isposinf", lambda x: scalar.isinf(x) & (x > 0), predicate=True, inplace=False, doc="x is positive infinity.")
elementwise("isneginf", lambda x: scalar.isinf(x) & (x < 0), predicate=True, inplace=False, doc="x is negative infinity.")
elementwise(
    "sign_bit",
    lambda x: scalar.copysign(1.0, x) < 0,
    policy="floating",
    predicate=True,
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="signbit",
    doc="The sign is negative, that of -0.0 too.",
)
elementwise(
    "isnan",
    lambda x: scalar.isnan(x),
    predicate=True,
    complex=True,
    inplace=False,
    out=False,
    text={"integer": "False"},
    doc="x is not a number.",
)
elementwise(
    "isinf",
    lambda x: scalar.isinf(x),
    predicate=True,
    complex=True,
    inplace=False,
    out=False,
    text={"integer": "False"},
    doc="x is infinite.",
)
elementwise(
    "isfinite",
    lambda x: scalar.isfinite(x),
    predicate=True,
    complex=True,
    inplace=False,
    out=False,
    text={"integer": "True"},
    doc="x is neither infinite nor NaN.",
)
