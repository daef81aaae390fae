"""Products of vectors and matrices. All are bilinear: each cotangent is again a product, so every order is exact.

``gemm`` is the one that backward passes use: it multiplies transposed operands without copying them.
"""

from __future__ import annotations

import math

from ..base.dtypes import bool_
from ..base.errors import ArgumentError, DTypeError, ShapeError
from .core import composite, general
from .expr import scalar
from .reduce import conjugate
from .shapes import wrap

# ---- the bilinear rule ---------------------------------------------------------------------------------------------


def left_cotangent(g, y, x_shape, y_shape, turn_x=False, turn_y=False):
    """The cotangent of ``x`` in ``op(x) @ op(y)``: g @ op(y)^H, in x's own orientation and shape."""
    y = conjugate(y)
    if len(y_shape) == 1:
        if len(x_shape) == 1:
            return g * y
        outer = g.unsqueeze(-2) * y.unsqueeze(-1) if turn_x else g.unsqueeze(-1) * y
        return fitted(outer, x_shape)
    if len(x_shape) == 1:
        return fitted(y.gemm(g.unsqueeze(-1), turn_y, False).select(-1, 0), x_shape)
    product = y.gemm(g, turn_y, True) if turn_x else g.gemm(y, False, not turn_y)
    return fitted(product, x_shape)


def right_cotangent(g, x, x_shape, y_shape, turn_x=False, turn_y=False):
    """The cotangent of ``y`` in ``op(x) @ op(y)``: op(x)^H @ g, in y's own orientation and shape."""
    x = conjugate(x)
    if len(x_shape) == 1:
        if len(y_shape) == 1:
            return g * x
        outer = g.unsqueeze(-1) * x if turn_y else x.unsqueeze(-1) * g.unsqueeze(-2)
        return fitted(outer, y_shape)
    if not turn_x and len(y_shape) < 3 < len(x_shape) + 1:
        # One right operand for a whole batch: its cotangent is one product over all rows.
        rows = math.prod(x_shape[:-1])
        x = x.reshape((rows, x_shape[-1]))
        g = g.reshape((rows, *y_shape[1:]) if not turn_y or len(y_shape) == 1 else (rows, y_shape[0]))
    if len(y_shape) == 1:
        return fitted(x.gemm(g, not turn_x, False), y_shape)
    product = g.gemm(x, True, turn_x) if turn_y else x.gemm(g, not turn_x, False)
    return fitted(product, y_shape)


def fitted(g, shape):
    """``g`` summed over the batch dimensions that were broadcast."""
    return g if g.layout.shape == shape else g.sum_to(shape)


def product(name: str, second: str, ranks: tuple[int, ...] = (), **options):
    """Declare a product of two operands as they are; ``second``: torch's name of ``y``."""
    return general(
        name,
        lambda x, y: x,
        {
            "x": lambda g, y, x_shape, y_shape: left_cotangent(g, y, x_shape, y_shape),
            "y": lambda g, x, x_shape, y_shape: right_cotangent(g, x, x_shape, y_shape),
        },
        operands=("x", "y"),
        renamed={"y": second},
        ranks=ranks,
        product=True,
        batched="product",
        **{"saved_as": {second: "y"}, **options},
    )


def by_ranks(facts: dict) -> str:
    """torch's names of the nodes, by the operands' dimensions."""
    return {(1, 1): "DotBackward0", (2, 1): "MvBackward0"}.get((len(facts["x_shape"]), len(facts["y_shape"])), "MmBackward0")


def by_dimensions(operands: tuple, attributes: dict) -> str:
    """torch's operator that computes a product: a matrix beside a batch of matrices is multiplied as one matrix of all rows."""
    x, y = [len(each.layout.shape) for each in operands]
    if min(x, y) == 1:
        return "dot" if max(x, y) == 1 else "mv"
    return "mm" if min(x, y) == 2 else "bmm"


product(
    "matmul",
    "other",
    node=by_ranks,
    saved_as={"mat2": "y", "vec": "y", "tensor": "y"},
    doc="The matrix product of the last two dimensions; batches broadcast, vectors take part as a row on the left "
    "or a column on the right.",
    aten=by_dimensions,
)
product("mm", "mat2", (2, 2), doc="The product of two matrices.")
product("bmm", "mat2", (3, 3), doc="The products of two batches of matrices, (b, m, k) by (b, k, n).")
product("mv", "vec", (2, 1), doc="The product of a matrix and a vector.")
product("dot", "tensor", (1, 1), doc="The sum of the products of two vectors' elements.")
general(
    "gemm",
    lambda x, y, transpose_x=False, transpose_y=False: x,
    {
        "x": lambda g, y, x_shape, y_shape, transpose_x, transpose_y: left_cotangent(
            g, y, x_shape, y_shape, transpose_x, transpose_y
        ),
        "y": lambda g, x, x_shape, y_shape, transpose_x, transpose_y: right_cotangent(
            g, x, x_shape, y_shape, transpose_x, transpose_y
        ),
    },
    operands=("x", "y"),
    function=False,
    node="MmBackward0",
    saved_as={"mat2": "y"},
    batched="product",
    doc="matmul with either operand's last two dimensions exchanged.",
    aten=by_dimensions,
)
general(
    "gemm_bias",
    lambda x, y, bias, transpose_y=False: x,
    {
        "x": lambda g, y, x_shape, y_shape, transpose_y: left_cotangent(g, y, x_shape, y_shape, False, transpose_y),
        "y": lambda g, x, x_shape, y_shape, transpose_y: right_cotangent(g, x, x_shape, y_shape, False, transpose_y),
        "bias": lambda g, bias_shape: fitted(g, bias_shape),
    },
    operands=("x", "y", "bias"),
    edges=("bias", "x", "y"),
    function=False,
    node="AddmmBackward0",
    public="linear",
    shows={"alpha": 1, "beta": 1},
    saved_as={"mat1": "x", "mat2": "y"},
    batched="product",
    doc="x @ y, and bias added to every row, in one pass.",
)

# ---- with an addend ------------------------------------------------------------------------------------------------


def linear(input, weight, bias=None):
    """``input @ weight.T + bias``.

    Args:
        input: ``(*, in_features)``.
        weight: ``(out_features, in_features)``, or ``(in_features,)`` for one output without a dimension.
        bias: ``(out_features,)``, or None.

    Returns:
        ``(*, out_features)``.

    Raises:
        ShapeError, DTypeError: they do not go together.

    >>> nbgrad.linear(nbgrad.tensor([[1., 2.]]), nbgrad.tensor([[3., 4.], [5., 6.]]), nbgrad.tensor([0., 1.]))
    tensor([[11., 18.]])
    """
    if input.layout.shape[-1:] != weight.layout.shape[-1:]:
        raise ShapeError(
            f"linear: input {list(input.shape)} and weight {list(weight.shape)} must end in the same size, in_features."
        )
    if bias is None:
        return input.gemm(weight, False, True)
    if bias.ndim != 1 or weight.ndim != 2:
        return input.gemm(weight, False, True) + bias
    return input.gemm_bias(weight, bias, True)


def whole_factor(op: str, name: str, value: float) -> int:
    """A float that multiplies integers, as one of them.

    Raises:
        DTypeError: it has a fraction.
    """
    if not value.is_integer():
        raise DTypeError(f"{op}: {name} is {value}, expected an integer for integer operands. Hint: x.to(nbgrad.float32).")
    return int(value)


def scaled_sum(op: str, input, product, beta, alpha):
    """``beta * input + alpha * product``; with beta = 0 the input is not looked at, not even for NaN."""
    if (alpha != 1 or beta != 1) and not (product.dtype.differentiable or input.dtype.differentiable):
        alpha = whole_factor(op, "alpha", alpha) if isinstance(alpha, float) else alpha
        beta = whole_factor(op, "beta", beta) if isinstance(beta, float) else beta
        if product.dtype is input.dtype is bool_:
            alpha, beta = bool(alpha), bool(beta)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (input if beta == 1 else input * beta)


def require_addend(name, input, shape):
    """Refuse an addend that is larger than the product."""
    lead = len(shape) - input.ndim
    if lead < 0 or any(own not in (1, size) for own, size in zip(input.shape, shape[lead:])):
        raise ShapeError(f"{name}: input {list(input.shape)} does not broadcast to the product's shape {list(shape)}.")


def no_tensors(name: str, error: AttributeError) -> ArgumentError:
    """The error for an operand that is no tensor."""
    return ArgumentError(f"{name}: expected Tensors, got {type(error.obj).__name__}.")


def batch_sum(product):
    """The sum over a batch, in its dtype."""
    return product.sum(0, dtype=product.dtype)


def with_addend(op, input, first, second, beta, alpha):
    """``beta * input + alpha * product`` in steps."""
    product = op.summand(first, second)
    require_addend(op.name, input, product.shape)
    return scaled_sum(op.name, input, product, beta, alpha)


def share(g, factor, shape, dtype):
    """The cotangent of a summand times ``factor``, in the summand's shape and dtype; none of what was not looked at."""
    if factor == 0:
        return g.new_zeros(shape, dtype=dtype)
    return in_dtype(fitted(times(g, factor), shape), dtype)


def times(g, factor):
    """A cotangent times the conjugate of a number."""
    return g if factor == 1 else g * conjugate_number(factor)


def conjugate_number(value):
    """The conjugate of a number."""
    return value.conjugate() if isinstance(value, complex) else value


def in_dtype(g, dtype):
    """A cotangent in its operand's dtype: of a real operand the real part."""
    if g.dtype is dtype:
        return g
    return (g.real if g.dtype.is_complex and not dtype.is_complex else g).to_dtype(dtype)


SHARES = {"input": lambda g, input_shape, input_dtype, beta: share(g, beta, input_shape, input_dtype)}

general(
    "addmm",
    lambda input, mat1, mat2, *, beta=1, alpha=1: input,
    {
        **SHARES,
        "mat1": lambda g, mat2, mat1_shape, mat2_shape, mat1_dtype, alpha: left_cotangent(
            times(in_dtype(g, mat1_dtype), alpha), mat2, mat1_shape, mat2_shape
        ),
        "mat2": lambda g, mat1, mat1_shape, mat2_shape, mat2_dtype, alpha: right_cotangent(
            times(in_dtype(g, mat2_dtype), alpha), mat1, mat1_shape, mat2_shape
        ),
    },
    operands=("input", "mat1", "mat2"),
    inplace="result",
    ranks=(None, 2, 2),
    summand=lambda x, y: x.mm(y),
    batched="summand",
    doc="beta * input + alpha * (mat1 @ mat2): (n, k) by (k, m), and an input that broadcasts to (n, m).",
    total=True,
)
general(
    "addmv",
    lambda input, mat, vec, *, beta=1, alpha=1: input,
    {
        **SHARES,
        "mat": lambda g, vec, mat_shape, vec_shape, mat_dtype, alpha: left_cotangent(
            times(in_dtype(g, mat_dtype), alpha), vec, mat_shape, vec_shape
        ),
        "vec": lambda g, mat, mat_shape, vec_shape, vec_dtype, alpha: right_cotangent(
            times(in_dtype(g, vec_dtype), alpha), mat, mat_shape, vec_shape
        ),
    },
    operands=("input", "mat", "vec"),
    inplace="result",
    ranks=(None, 2, 1),
    summand=lambda x, y: x.mv(y),
    batched="summand",
    doc="beta * input + alpha * (mat @ vec).",
    total=True,
)
general(
    "addr",
    lambda input, vec1, vec2, *, beta=1, alpha=1: input,
    {
        **SHARES,
        "vec1": lambda g, vec2, vec1_dtype, alpha: times(in_dtype(g, vec1_dtype), alpha).mv(in_dtype(conjugate(vec2), vec1_dtype)),
        "vec2": lambda g, vec1, vec2_dtype, alpha: (
            times(in_dtype(g, vec2_dtype), alpha).t().mv(in_dtype(conjugate(vec1), vec2_dtype))
        ),
    },
    operands=("input", "vec1", "vec2"),
    inplace="result",
    ranks=(None, 1, 1),
    summand=lambda x, y: outer(x, y),
    batched="summand",
    doc="beta * input + alpha * outer(vec1, vec2).",
    total=True,
)
general(
    "baddbmm",
    lambda input, batch1, batch2, *, beta=1, alpha=1: input,
    {
        **SHARES,
        "batch1": lambda g, batch2, batch1_shape, batch2_shape, batch1_dtype, alpha: left_cotangent(
            times(in_dtype(g, batch1_dtype), alpha), batch2, batch1_shape, batch2_shape
        ),
        "batch2": lambda g, batch1, batch1_shape, batch2_shape, batch2_dtype, alpha: right_cotangent(
            times(in_dtype(g, batch2_dtype), alpha), batch1, batch1_shape, batch2_shape
        ),
    },
    operands=("input", "batch1", "batch2"),
    inplace="result",
    ranks=(None, 3, 3),
    summand=lambda x, y: x.bmm(y),
    batched="summand",
    doc="beta * input + alpha * (batch1 @ batch2), for batches of matrices.",
    total=True,
)
general(
    "addbmm",
    lambda input, batch1, batch2, *, beta=1, alpha=1: input,
    {
        **SHARES,
        "batch1": lambda g, batch2, batch1_shape, batch2_shape, batch1_dtype, alpha: left_cotangent(
            spread(times(in_dtype(g, batch1_dtype), alpha), batch1_shape), batch2, batch1_shape, batch2_shape
        ),
        "batch2": lambda g, batch1, batch1_shape, batch2_shape, batch2_dtype, alpha: right_cotangent(
            spread(times(in_dtype(g, batch2_dtype), alpha), batch2_shape), batch1, batch1_shape, batch2_shape
        ),
    },
    operands=("input", "batch1", "batch2"),
    inplace="result",
    ranks=(None, 3, 3),
    summand=lambda x, y: batch_sum(x.bmm(y)),
    batched="summand",
    doc="beta * input + alpha * (batch1 @ batch2).sum(0).",
    total=True,
)


def spread(g, shape):
    """A cotangent for every matrix of a batch."""
    return g.expand_shape((shape[0], *g.shape))


# ---- other products ------------------------------------------------------------------------------------------------


def outer(input, vec2):
    """Every element of one vector times every element of another, (n,) and (m,) -> (n, m)."""
    try:
        vectors = input.ndim == vec2.ndim == 1
    except AttributeError as error:
        raise no_tensors("outer", error) from None
    if not vectors:
        raise ShapeError(f"outer: expected two vectors, got {list(input.shape)} and {list(vec2.shape)}. Hint: flatten them.")
    return input.unsqueeze(-1) * vec2


def vdot(input, other):
    """``dot`` with the first vector conjugated."""
    return conjugate(input).dot(other)


def inner(input, other):
    """Sums of products over the last dimensions of both; a 0-d operand multiplies."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise ShapeError(f"inner: the last sizes {input.shape[-1]} and {other.shape[-1]} differ.")
    if input.ndim == other.ndim == 2:
        return input.mm(other.t())
    return tensordot(input, other, ((-1,), (-1,)))


def summed(x, dims: list[int]):
    """The sum over dimensions, which stay."""
    return x.sum(tuple(dims), True).to_dtype(x.dtype) if dims else x


def tensordot(a, b, dims=2):
    """Sums of products over pairs of dimensions.

    Args:
        a, b: any shapes.
        dims: how many, the last of ``a`` with the first of ``b``; or two lists of dimensions, paired in order. A size of 1 goes
            with any other.

    Returns:
        Tensor with the other dimensions of ``a``, then those of ``b``.

    Raises:
        ShapeError: paired sizes differ, or the lists' lengths.
    """
    if hasattr(dims, "layout"):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot: dims={dims}, expected 0 to {min(a.ndim, b.ndim)}.")
        left, right = tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims))
    else:
        left, right = (tuple(wrap("tensordot", d, x.ndim) for d in ds) for ds, x in zip(dims, (a, b)))
    if len(left) == len(right):  # of a pair with one size of 1, the other is summed
        a, b = (
            summed(x, [d for d, e in zip(ds, es) if x.shape[d] != 1 and y.shape[e] == 1])
            for x, ds, y, es in ((a, left, b, right), (b, right, a, left))
        )
    if [a.shape[d] for d in left] != [b.shape[d] for d in right]:
        raise ShapeError(f"tensordot: dimensions {list(left)} of {list(a.shape)} do not match {list(right)} of {list(b.shape)}.")
    kept_a = tuple(d for d in range(a.ndim) if d not in left)
    kept_b = tuple(d for d in range(b.ndim) if d not in right)
    rows, columns = tuple(a.shape[d] for d in kept_a), tuple(b.shape[d] for d in kept_b)
    inner_size = math.prod(a.shape[d] for d in left)
    flat_a = reshaped(permuted(a, kept_a + left), (math.prod(rows), inner_size))
    flat_b = reshaped(permuted(b, right + kept_b), (inner_size, math.prod(columns)))
    return reshaped(flat_a.mm(flat_b), rows + columns)


def reshaped(x, shape: tuple):
    """``x`` in a shape; itself where it has it."""
    return x if x.layout.shape == shape else x.reshape(shape)


def permuted(x, order: tuple):
    """``x`` with its dimensions in an order; itself where they are."""
    return x if order == tuple(range(len(order))) else x.permute_dims(order)


def in_turns(shape, other) -> tuple[tuple, tuple, tuple, tuple]:
    """Of a Kronecker product of these shapes: its shape, that with the sizes of both in turns, and theirs to broadcast to it."""
    ndim = max(len(shape), len(other))
    sizes, others = (1,) * (ndim - len(shape)) + tuple(shape), (1,) * (ndim - len(other)) + tuple(other)
    pairs = tuple(zip(sizes, others))
    return (
        tuple([m * n for m, n in pairs]),
        tuple([size for pair in pairs for size in pair]),
        tuple([size for m in sizes for size in (m, 1)]),
        tuple([size for n in others for size in (1, n)]),
    )


def kron_in_steps(input, other):
    """The Kronecker product as one that broadcasts."""
    shape, _, own, others = in_turns(input.shape, other.shape)
    return (input.reshape(own) * other.reshape(others)).reshape(shape)


def kron_share(g, factor, shape, other, is_first: bool):
    """The cotangent of a factor of a Kronecker product: g times the other factor, summed over its places."""
    _, wide, own, others = in_turns(shape, other) if is_first else in_turns(other, shape)
    own, others = (own, others) if is_first else (others, own)
    return (g.reshape(wide) * conjugate(factor).reshape(others)).sum_to(own).reshape(shape)


general(
    "kron",
    lambda input, other: input,
    {
        "input": lambda g, other, input_shape, other_shape, input_dtype: in_dtype(
            kron_share(g, other, input_shape, other_shape, True), input_dtype
        ),
        "other": lambda g, input, input_shape, other_shape, other_dtype: in_dtype(
            kron_share(g, input, other_shape, input_shape, False), other_dtype
        ),
    },
    operands=("input", "other"),
    doc="The Kronecker product: every element of ``input`` times the whole of ``other``.",
    total=True,
)

# ---- distances -----------------------------------------------------------------------------------------------------------


def by_length(g, out):
    """The cotangents of distances over the distances; 0 where points are the same, also for what is differentiated through here."""
    same = out == 0
    return scalar.where(same, 0.0, g / scalar.where(same, 1.0, out))


general(
    "distances",
    lambda x, y: x,
    {
        "x": lambda g, x, y, out: scalar.distances_pull(by_length(g, out), x, y),
        "y": lambda g, x, y, out: scalar.distances_pull(by_length(g, out).mT, y, x),
    },
    operands=("x", "y"),
    method=False,
    function=False,
    out=False,
    node="EuclideanDistBackward0",
    public="cdist",
    doc="The distances between the rows of x and those of y.",
    total=True,
    aten="_euclidean_dist",
)
general(
    "distances_pull",
    lambda w, x, y: w,
    {"w": lambda g, x, y: (g * x).sum(-1, True) - g @ y.mT, "x": lambda g, w: g * w.sum(-1, True), "y": lambda g, w: -(w.mT @ g)},
    operands=("w", "x", "y"),
    method=False,
    function=False,
    out=False,
    node="EuclideanDistBackward0",
    public="cdist",
    doc="For every row of x the sum of its weighted differences to the rows of y.",
    total=True,
    aten="_euclidean_dist",
)

composite("linear", linear, method=False, out=True, doc=linear.__doc__)
for _function in (outer, vdot):
    composite(_function.__name__, _function, out=True, doc=_function.__doc__)
composite("inner", inner, out=True, spelling="steps", doc=inner.__doc__)
general(
    "trace",
    lambda x: x,
    {"x": lambda g, x_shape: g.expand_shape((min(x_shape),)).diagonal_backward(x_shape, 0, 0, 1)},
    doc="The sum of a matrix's diagonal.",
)
composite("ger", outer, out=True, doc=outer.__doc__)
composite("tensordot", tensordot, method=False, out=True, spelling="steps", doc=tensordot.__doc__)
