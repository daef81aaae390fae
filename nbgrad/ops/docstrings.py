"""Docstrings of all operations, by name. Written by `make docs`: change the declaration, not this file."""
# ruff: noqa: E501

DOCSTRINGS = {
    'H': """\
The transpose of a matrix, conjugated: a view.

Raises:
    ShapeError: neither a matrix nor 0-d.

Signature: H(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([3]).

Derivative: that of the operations it is written in.

Forms: x.H.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> x.H
tensor([[ 1.0000,  0.5000],
        [-2.0000,  2.0000],
        [ 3.0000, -1.0000]])
""",
    'T': """\
All dimensions in reverse order.

Signature: T(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: a view of x: it shares the memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g.T

Forms: x.T.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> x.T
tensor([[ 1.0000,  0.5000],
        [-2.0000,  2.0000],
        [ 3.0000, -1.0000]], grad_fn=<PermuteBackward0>)
>>> nbgrad.grad(x.T.sum(), x)
(tensor([[1., 1., 1.],
        [1., 1., 1.]]),)
""",
    '_neg_view': """\
The negative, as a view: see is_neg.

Signature: _neg_view(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: such as for ([2]) of uint8.

Derivative: that of the operations it is written in.

Forms: x._neg_view(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad._neg_view(x)
tensor([[-1.0000,  2.0000, -3.0000],
        [-0.5000, -2.0000,  1.0000]])
""",
    'abs': """\
|x|; the derivative at 0 is 0.

Signature: abs(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; bool is refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * sign(x)

Forms: x.abs(...), x.abs_(...), out=; also called absolute; NumPy: np.abs.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.abs(x)
tensor([1., 2., 3.], grad_fn=<AbsBackward0>)
>>> nbgrad.grad(nbgrad.abs(x).sum(), x)
(tensor([ 1., -1.,  1.]),)
""",
    'acos': """\
The angle in [0, pi] whose cosine is x.

Signature: acos(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: -(g * rsqrt(1 - x * x))

Forms: x.acos(...), x.acos_(...), out=; also called arccos; NumPy: np.acos.

>>> x = nbgrad.tensor([0.5, -0.5, 0.25], requires_grad=True)
>>> nbgrad.acos(x)
tensor([1.0472, 2.0944, 1.3181], grad_fn=<AcosBackward0>)
>>> nbgrad.grad(nbgrad.acos(x).sum(), x)
(tensor([-1.1547, -1.1547, -1.0328]),)
""",
    'acosh': """\
The inverse hyperbolic cosine; NaN below 1.

Signature: acosh(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * rsqrt(x - 1) * rsqrt(x + 1)

Forms: x.acosh(...), x.acosh_(...), out=; also called arccosh; NumPy: np.acosh.

>>> x = nbgrad.tensor([3.0, 2.0, 1.5], requires_grad=True)
>>> nbgrad.acosh(x)
tensor([1.7627, 1.3170, 0.9624], grad_fn=<AcoshBackward0>)
>>> nbgrad.grad(nbgrad.acosh(x).sum(), x)
(tensor([0.3536, 0.5774, 0.8944]),)
""",
    'add': """\
input + alpha * other.

Signature: add(input, other, *, alpha=1)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    add, x: g
    add, y: g
    add_scaled, x: g
    add_scaled, y: g * alpha

Forms: x.add(...), x.add_(...), out=; NumPy: np.add.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, 0.5, -1.0])
>>> nbgrad.add(x, y, alpha=2)
tensor([ 5., -1.,  1.], grad_fn=<AddBackward0>)
>>> nbgrad.grad(nbgrad.add(x, y, alpha=2).sum(), x)
(tensor([1., 1., 1.]),)
""",
    'addbmm': """\
beta * input + alpha * (batch1 @ batch2).sum(0).

Signature: addbmm(input, batch1, batch2, *, beta=1, alpha=1)

Operands:
    input, batch1, batch2: tensors.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    input: share(g, beta, input_shape, input_dtype)
    batch1: left_cotangent(spread(times(in_dtype(g, batch1_dtype), alpha), batch1_shape), batch2,
        batch1_shape, batch2_shape)
    batch2: right_cotangent(spread(times(in_dtype(g, batch2_dtype), alpha), batch2_shape), batch1,
        batch1_shape, batch2_shape)

Forms: x.addbmm(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> y = nbgrad.tensor([[[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]], [[-1.5, -2.5, 0.25], [-0.25, 0.75, -0.75]]])
>>> z = nbgrad.tensor([[[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]], [[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]]])
>>> nbgrad.addbmm(x, y, z)
tensor([[ 0.0625, -2.0625, -9.5625, -2.5625],
        [ 0.3750,  0.0000,  6.0000, -2.3750]])
""",
    'addbmm_': """\
In place: addbmm.

Signature: addbmm_(input, batch1, batch2, *, beta=1, alpha=1)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.addbmm_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> y = nbgrad.tensor([[[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]], [[-1.5, -2.5, 0.25], [-0.25, 0.75, -0.75]]])
>>> z = nbgrad.tensor([[[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]], [[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]]])
>>> x.addbmm_(y, z)
tensor([[ 0.0625, -2.0625, -9.5625, -2.5625],
        [ 0.3750,  0.0000,  6.0000, -2.3750]])
""",
    'addcdiv': """\
input + value * tensor1 / tensor2; floating operands only.

Signature: addcdiv(input, tensor1, tensor2, *, value=1)

Operands:
    input, tensor1, tensor2, value: tensors, NumPy arrays or numbers, at least one of them no number (x in
        formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: g
    tensor1: g * value / tensor2
    tensor2: -(g * value * tensor1 / tensor2) / tensor2

Forms: x.addcdiv_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, 0.5, -1.0])
>>> nbgrad.addcdiv(x, y, y, value=0.5)
tensor([ 1.5000, -1.5000,  3.5000], grad_fn=<AddcdivBackward0>)
>>> nbgrad.grad(nbgrad.addcdiv(x, y, y, value=0.5).sum(), x)
(tensor([1., 1., 1.]),)
""",
    'addcmul': """\
input + value * tensor1 * tensor2.

Signature: addcmul(input, tensor1, tensor2, *, value=1)

Operands:
    input, tensor1, tensor2, value: tensors, NumPy arrays or numbers, at least one of them no number (x in
        formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: g
    tensor1: g * value * tensor2
    tensor2: g * value * tensor1

Forms: x.addcmul_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, 0.5, -1.0])
>>> nbgrad.addcmul(x, y, y, value=0.5)
tensor([ 3.0000, -1.8750,  3.5000], grad_fn=<AddcmulBackward0>)
>>> nbgrad.grad(nbgrad.addcmul(x, y, y, value=0.5).sum(), x)
(tensor([1., 1., 1.]),)
""",
    'addmm': """\
beta * input + alpha * (mat1 @ mat2): (n, k) by (k, m), and an input that broadcasts to (n, m).

Signature: addmm(input, mat1, mat2, *, beta=1, alpha=1)

Operands:
    input, mat1, mat2: tensors.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    input: share(g, beta, input_shape, input_dtype)
    mat1: left_cotangent(times(in_dtype(g, mat1_dtype), alpha), mat2, mat1_shape, mat2_shape)
    mat2: right_cotangent(times(in_dtype(g, mat2_dtype), alpha), mat1, mat1_shape, mat2_shape)

Forms: x.addmm(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> z = nbgrad.tensor([[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]])
>>> nbgrad.addmm(x, y, z)
tensor([[ 5.9375, -6.8125, -0.9375, -2.4375],
        [ 1.0000, -2.0000,  4.5000, -3.7500]])
""",
    'addmm_': """\
In place: addmm.

Signature: addmm_(input, mat1, mat2, *, beta=1, alpha=1)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.addmm_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> z = nbgrad.tensor([[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]])
>>> x.addmm_(y, z)
tensor([[ 5.9375, -6.8125, -0.9375, -2.4375],
        [ 1.0000, -2.0000,  4.5000, -3.7500]])
""",
    'addmv': """\
beta * input + alpha * (mat @ vec).

Signature: addmv(input, mat, vec, *, beta=1, alpha=1)

Operands:
    input, mat, vec: tensors.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    input: share(g, beta, input_shape, input_dtype)
    mat: left_cotangent(times(in_dtype(g, mat_dtype), alpha), vec, mat_shape, vec_shape)
    vec: right_cotangent(times(in_dtype(g, vec_dtype), alpha), mat, mat_shape, vec_shape)

Forms: x.addmv(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> z = nbgrad.tensor([2.5, -3.0, -1.5])
>>> nbgrad.addmv(x, y, z)
tensor([ 6.7500, -6.2500])
""",
    'addmv_': """\
In place: addmv.

Signature: addmv_(input, mat, vec, *, beta=1, alpha=1)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.addmv_(...).

>>> x = nbgrad.tensor([1.0, -2.0])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> z = nbgrad.tensor([2.5, -3.0, -1.5])
>>> x.addmv_(y, z)
tensor([ 6.7500, -6.2500])
""",
    'addr': """\
beta * input + alpha * outer(vec1, vec2).

Signature: addr(input, vec1, vec2, *, beta=1, alpha=1)

Operands:
    input, vec1, vec2: tensors.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    input: share(g, beta, input_shape, input_dtype)
    vec1: times(in_dtype(g, vec1_dtype), alpha).mv(in_dtype(conjugate(vec2), vec1_dtype))
    vec2: times(in_dtype(g, vec2_dtype), alpha).t().mv(in_dtype(conjugate(vec1), vec2_dtype))

Forms: x.addr(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([2.0, -1.0])
>>> z = nbgrad.tensor([2.5, -3.0, -1.5])
>>> nbgrad.addr(x, y, z)
tensor([[ 6.0000, -8.0000,  0.0000],
        [-2.0000,  5.0000,  0.5000]])
""",
    'addr_': """\
In place: addr.

Signature: addr_(input, vec1, vec2, *, beta=1, alpha=1)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.addr_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([2.0, -1.0])
>>> z = nbgrad.tensor([2.5, -3.0, -1.5])
>>> x.addr_(y, z)
tensor([[ 6.0000, -8.0000,  0.0000],
        [-2.0000,  5.0000,  0.5000]])
""",
    'adjoint': """\
The last two dimensions exchanged, and the elements conjugated.

Signature: adjoint(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([3]).

Derivative: that of the operations it is written in.

Forms: x.adjoint(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.adjoint(x)
tensor([[ 1.0000,  0.5000],
        [-2.0000,  2.0000],
        [ 3.0000, -1.0000]])
""",
    'alias_copy': """\
What ``alias`` shows, copied.

Signature: alias_copy(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.alias_copy(x)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'all': """\
Whether no element is zero.

Signature: all(input, dim=None, keepdim=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], dim=2).

Derivative: none; the result requires no grad.

Forms: x.all(...), out=; NumPy: np.all.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.all(x)
tensor(True)
""",
    'allclose': """\
Whether ``isclose`` holds everywhere: a Python bool.

Signature: allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.allclose(...); NumPy: np.allclose.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.allclose(x, y)
False
""",
    'alpha_dropout': """\
dropout behind selu: what is dropped becomes the value to which selu tends, and mean 0 and variance 1 are
kept; x itself unless training. inplace=True overwrites x.

Signature: alpha_dropout(input, p=0.5, training=False, inplace=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2], p=1.5).

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.alpha_dropout(x, 0.0, True)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'amax': """\
Greatest element over dimensions; NaN wins. Elements that tie share the gradient.

Signature: amax(input, dim=(), keepdim=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], dim=2).

Derivative (g: the cotangent of the result, out: the result):
    x: The cotangent of an extremum, shared evenly among the elements that attain it; 0 for the others,
        whatever it is

Forms: x.amax(...), out=; NumPy: np.amax.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.amax(x)
tensor(3., grad_fn=<AmaxBackward0>)
>>> nbgrad.grad(nbgrad.amax(x), x)
(tensor([[0., 0., 1.],
        [0., 0., 0.]]),)
""",
    'amin': """\
Smallest element over dimensions; NaN wins. Elements that tie share the gradient.

Signature: amin(input, dim=(), keepdim=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], dim=2).

Derivative (g: the cotangent of the result, out: the result):
    x: The cotangent of an extremum, shared evenly among the elements that attain it; 0 for the others,
        whatever it is

Forms: x.amin(...), out=; NumPy: np.amin.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.amin(x)
tensor(-2., grad_fn=<AminBackward0>)
>>> nbgrad.grad(nbgrad.amin(x), x)
(tensor([[0., 1., 0.],
        [0., 0., 0.]]),)
""",
    'aminmax': """\
Smallest and greatest element, over all dimensions or one.

Signature: aminmax(x, *, dim=None, keepdim=False)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.aminmax(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.aminmax(x)
Extrema(min=tensor(-2.), max=tensor(3.))
""",
    'angle': """\
The angle of complex numbers, in radians; of real ones 0 or pi.

Signature: angle(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: 0

Forms: x.angle(...), out=; NumPy: np.angle.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.angle(x)
tensor([0.0000, 3.1416, 0.0000], grad_fn=<AngleBackward0>)
>>> nbgrad.grad(nbgrad.angle(x).sum(), x)
(tensor([0., 0., 0.]),)
""",
    'any': """\
Whether an element is not zero.

Signature: any(input, dim=None, keepdim=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], dim=2).

Derivative: none; the result requires no grad.

Forms: x.any(...), out=; NumPy: np.any.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.any(x)
tensor(True)
""",
    'argmax': """\
Index of the first greatest element, or of the first NaN; of the flattened tensor without dim.

Signature: argmax(input, dim=None, keepdim=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: int64: kept; bool, float16, float32, float64: int64; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], dim=2).

Derivative: none; the result requires no grad.

Forms: x.argmax(...), out=; NumPy: np.argmax.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.argmax(x)
tensor(2)
""",
    'argmin': """\
Index of the first smallest element, or of the first NaN; of the flattened tensor without dim.

Signature: argmin(input, dim=None, keepdim=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: int64: kept; bool, float16, float32, float64: int64; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], dim=2).

Derivative: none; the result requires no grad.

Forms: x.argmin(...), out=; NumPy: np.argmin.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.argmin(x)
tensor(1)
""",
    'argsort': """\
Indices that sort along dim; equal elements keep their order; NaN counts as the greatest number.

Signature: argsort(input, dim=-1, descending=False, stable=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: int64: kept; bool, float16, float32, float64: int64; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: none; the result requires no grad.

Forms: x.argsort(...), out=; NumPy: np.argsort.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> nbgrad.argsort(x)
tensor([[1, 3, 0, 2],
        [1, 3, 2, 0]])
""",
    'argwhere': """\
The indices of the elements that are not zero, a row each.

Signature: argwhere(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.argwhere(...); NumPy: np.argwhere.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.argwhere(x)
tensor([[0, 0],
        [0, 1],
        [0, 2],
        [1, 0],
        [1, 1],
        [1, 2]])
""",
    'as_strided': """\
Any shape and strides over the memory; ``storage_offset`` from the storage's start, None for the tensor's own.

Raises:
    ShapeError: it would reach outside the storage.

Signature: as_strided(x, size, stride, storage_offset=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 3], size=(4,), stride=(2,)).

Derivative: that of the operations it is written in.

Forms: x.as_strided(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.as_strided(x, size=(2, 2), stride=(1, 2))
tensor([[ 1.0000,  3.0000],
        [-2.0000,  0.5000]])
""",
    'as_strided_copy': """\
What ``as_strided`` shows, copied.

Signature: as_strided_copy(x, size, stride, storage_offset=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.as_strided_copy(x, size=(2, 2), stride=(1, 2), storage_offset=1)
tensor([[-2.0000,  0.5000],
        [ 3.0000,  2.0000]])
""",
    'as_strided_scatter': """\
A row-major copy of x with src written to what as_strided shows of it.

Signature: as_strided_scatter(input, src, size, stride, storage_offset=None)

Operands:
    input, src: tensors (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g.as_strided_scatter(g.new_zeros(src_shape), size, stride, storage_offset)
    src: g.contiguous().as_strided_from(size, stride, storage_offset or 0)

Forms: x.as_strided_scatter(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> y = nbgrad.tensor([[2.0, -1.0], [1.5, -0.5]], requires_grad=True)
>>> nbgrad.as_strided_scatter(x, y, size=(2, 2), stride=(2, 1), storage_offset=1)
tensor([[ 1.0000,  2.0000, -1.0000],
        [ 1.5000, -0.5000, -1.0000]], grad_fn=<AsStridedScatterBackward0>)
>>> nbgrad.grad(nbgrad.as_strided_scatter(x, y, size=(2, 2), stride=(2, 1), storage_offset=1).sum(), [x, y])
(tensor([[1., 0., 0.],
        [0., 0., 1.]]), tensor([[1., 1.],
        [1., 1.]]))
""",
    'asin': """\
The angle in [-pi/2, pi/2] whose sine is x.

Signature: asin(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * rsqrt(1 - x * x)

Forms: x.asin(...), x.asin_(...), out=; also called arcsin; NumPy: np.asin.

>>> x = nbgrad.tensor([0.5, -0.5, 0.25], requires_grad=True)
>>> nbgrad.asin(x)
tensor([ 0.5236, -0.5236,  0.2527], grad_fn=<AsinBackward0>)
>>> nbgrad.grad(nbgrad.asin(x).sum(), x)
(tensor([1.1547, 1.1547, 1.0328]),)
""",
    'asinh': """\
The inverse hyperbolic sine.

Signature: asinh(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * rsqrt(x * x + 1)

Forms: x.asinh(...), x.asinh_(...), out=; also called arcsinh; NumPy: np.asinh.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.asinh(x)
tensor([ 0.8814, -1.4436,  1.8184], grad_fn=<AsinhBackward0>)
>>> nbgrad.grad(nbgrad.asinh(x).sum(), x)
(tensor([0.7071, 0.4472, 0.3162]),)
""",
    'atan': """\
The angle in [-pi/2, pi/2] whose tangent is x.

Signature: atan(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g / (x * x + 1)

Forms: x.atan(...), x.atan_(...), out=; also called arctan; NumPy: np.atan.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.atan(x)
tensor([ 0.7854, -1.1071,  1.2490], grad_fn=<AtanBackward0>)
>>> nbgrad.grad(nbgrad.atan(x).sum(), x)
(tensor([0.5000, 0.2000, 0.1000]),)
""",
    'atan2': """\
The angle of the point with ordinate x and abscissa y; the derivative at 0 is 0.

Signature: atan2(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: g * over_square(x, y)
    y: -(g * over_square(y, x))

Forms: x.atan2(...), x.atan2_(...), out=; also called arctan2; NumPy: np.atan2.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.atan2(x, y)
tensor([ 0.4636, -2.0344,  1.1071], grad_fn=<Atan2Backward0>)
>>> nbgrad.grad(nbgrad.atan2(x, y).sum(), [x, y])
(tensor([ 0.4000, -0.2000,  0.1333]), tensor([-0.2000,  0.4000, -0.2667]))
""",
    'atanh': """\
The inverse hyperbolic tangent; NaN beyond 1.

Signature: atanh(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g / (1 - x * x)

Forms: x.atanh(...), x.atanh_(...), out=; also called arctanh; NumPy: np.atanh.

>>> x = nbgrad.tensor([0.5, -0.5, 0.25], requires_grad=True)
>>> nbgrad.atanh(x)
tensor([ 0.5493, -0.5493,  0.2554], grad_fn=<AtanhBackward0>)
>>> nbgrad.grad(nbgrad.atanh(x).sum(), x)
(tensor([1.3333, 1.3333, 1.0667]),)
""",
    'baddbmm': """\
beta * input + alpha * (batch1 @ batch2), for batches of matrices.

Signature: baddbmm(input, batch1, batch2, *, beta=1, alpha=1)

Operands:
    input, batch1, batch2: tensors.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    input: share(g, beta, input_shape, input_dtype)
    batch1: left_cotangent(times(in_dtype(g, batch1_dtype), alpha), batch2, batch1_shape, batch2_shape)
    batch2: right_cotangent(times(in_dtype(g, batch2_dtype), alpha), batch1, batch1_shape, batch2_shape)

Forms: x.baddbmm(...), out=.

>>> x = nbgrad.tensor([[[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]], [[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75]]])
>>> y = nbgrad.tensor([[[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]], [[-1.5, -2.5, 0.25], [-0.25, 0.75, -0.75]]])
>>> z = nbgrad.tensor([[[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]], [[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]]])
>>> nbgrad.baddbmm(x, y, z)
tensor([[[  5.9375,  -6.8125,  -0.9375,  -2.4375],
         [  1.0000,  -2.0000,   4.5000,  -3.7500]],
<BLANKLINE>
        [[ -3.3750,   1.7500, -10.1250,  -2.6250],
         [ -0.3750,   1.7500,   2.2500,   0.6250]]])
""",
    'baddbmm_': """\
In place: baddbmm.

Signature: baddbmm_(input, batch1, batch2, *, beta=1, alpha=1)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.baddbmm_(...).

>>> x = nbgrad.tensor([[[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]], [[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75]]])
>>> y = nbgrad.tensor([[[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]], [[-1.5, -2.5, 0.25], [-0.25, 0.75, -0.75]]])
>>> z = nbgrad.tensor([[[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]], [[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]]])
>>> x.baddbmm_(y, z)
tensor([[[  5.9375,  -6.8125,  -0.9375,  -2.4375],
         [  1.0000,  -2.0000,   4.5000,  -3.7500]],
<BLANKLINE>
        [[ -3.3750,   1.7500, -10.1250,  -2.6250],
         [ -0.3750,   1.7500,   2.2500,   0.6250]]])
""",
    'binary_cross_entropy': """\
-y log(x) - (1 - y) log(1 - x) of probabilities x and targets y of one shape, times weight, reduced.

Raises:
    RangeError: an element of input or target is not from 0 to 1.

Signature: binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction='mean')

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2, 3], [2, 3], reduction='all').

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[0.5, 0.25, 0.75], [0.125, 0.625, 0.875]])
>>> y = nbgrad.tensor([[0.625, 0.875, 0.5], [0.25, 0.75, 0.125]])
>>> nbgrad.binary_cross_entropy(x, y)
tensor(0.9722)
""",
    'binary_cross_entropy_with_logits': """\
``binary_cross_entropy`` of sigmoid(input), without overflow.

Args:
    input: scores. target: numbers from 0 to 1, of the same shape.
    weight: of each loss, broadcast.
    pos_weight: of the term of positive targets, broadcast.

Signature: binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2, 3], [2, 3], reduction='all').

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[0.625, 0.875, 0.5], [0.25, 0.75, 0.125]])
>>> nbgrad.binary_cross_entropy_with_logits(x, y)
tensor(1.0047)
""",
    'bincount': """\
How often each whole number from 0 on occurs, or the sum of its weights, by which differentiating it is
refused.

Signature: bincount(input, weights=None, minlength=0)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.bincount(...); NumPy: np.bincount.

>>> x = nbgrad.tensor([2, 0, 1, 2])
>>> nbgrad.bincount(x)
tensor([1, 1, 2])
""",
    'bitwise_and': """\
The bits that both have.

Signature: bitwise_and(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: of integers and bools only, in their common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.bitwise_and(...), x.bitwise_and_(...), out=; NumPy: np.bitwise_and.

>>> x = nbgrad.tensor([4, 8, 12])
>>> y = nbgrad.tensor([8, 4, 6])
>>> nbgrad.bitwise_and(x, y)
tensor([0, 0, 4])
""",
    'bitwise_left_shift': """\
x * 2**y; 0 where y is negative or leaves no bit.

Signature: bitwise_left_shift(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: of integers and bools only, in their common dtype; bool is refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.bitwise_left_shift(...), x.bitwise_left_shift_(...), out=; NumPy: np.bitwise_left_shift.

>>> x = nbgrad.tensor([4, 12, 2])
>>> y = nbgrad.tensor([6, 10, 1])
>>> nbgrad.bitwise_left_shift(x, y)
tensor([  256, 12288,     4])
""",
    'bitwise_not': """\
The bits inverted; of a bool the negation.

Signature: bitwise_not(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: of integers and bools only, in their common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative: none; the result requires no grad.

Forms: x.bitwise_not(...), x.bitwise_not_(...), out=; NumPy: np.bitwise_not.

>>> x = nbgrad.tensor([4, 8, 12])
>>> nbgrad.bitwise_not(x)
tensor([ -5,  -9, -13])
""",
    'bitwise_or': """\
The bits that at least one has.

Signature: bitwise_or(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: of integers and bools only, in their common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.bitwise_or(...), x.bitwise_or_(...), out=; NumPy: np.bitwise_or.

>>> x = nbgrad.tensor([4, 8, 12])
>>> y = nbgrad.tensor([8, 4, 6])
>>> nbgrad.bitwise_or(x, y)
tensor([12, 12, 14])
""",
    'bitwise_right_shift': """\
x // 2**y; 0 or -1 where y is negative or leaves no bit.

Signature: bitwise_right_shift(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: of integers and bools only, in their common dtype; bool is refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.bitwise_right_shift(...), x.bitwise_right_shift_(...), out=; NumPy: np.bitwise_right_shift.

>>> x = nbgrad.tensor([4, 12, 2])
>>> y = nbgrad.tensor([6, 10, 1])
>>> nbgrad.bitwise_right_shift(x, y)
tensor([0, 0, 1])
""",
    'bitwise_xor': """\
The bits that exactly one has.

Signature: bitwise_xor(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: of integers and bools only, in their common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.bitwise_xor(...), x.bitwise_xor_(...), out=; NumPy: np.bitwise_xor.

>>> x = nbgrad.tensor([4, 8, 12])
>>> y = nbgrad.tensor([8, 4, 6])
>>> nbgrad.bitwise_xor(x, y)
tensor([12, 12, 10])
""",
    'block_diag': """\
Matrices along the diagonal of one, zeros elsewhere; vectors are rows, numbers matrices of one element.

Signature: block_diag(*tensors)

Operands:
    tensors: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0]])
>>> nbgrad.block_diag(x, y)
tensor([[ 1.0000, -2.0000,  3.0000,  0.0000,  0.0000],
        [ 0.5000,  2.0000, -1.0000,  0.0000,  0.0000],
        [ 0.0000,  0.0000,  0.0000,  2.0000, -1.0000]])
""",
    'bmm': """\
The products of two batches of matrices, (b, m, k) by (b, k, n).

Signature: bmm(input, mat2)

Operands:
    input, mat2: tensors (x and y in formulas).

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 2, 3], [3, 3, 4]).

Derivative (g: the cotangent of the result, out: the result):
    x: left_cotangent(g, y, x_shape, y_shape)
    y: right_cotangent(g, x, x_shape, y_shape)

Forms: x.bmm(...), out=.

>>> x = nbgrad.tensor([[[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], [[1.5, -0.5, 2.5], [-3.0, -1.5, -2.5]]], requires_grad=True)
>>> y = nbgrad.tensor([[[2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75]], [[0.125, 0.625, -0.125, 0.875], [1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]]], requires_grad=True)
>>> nbgrad.bmm(x, y)
tensor([[[-2.2500,  4.2500,  6.7500,  2.2500],
         [ 5.7500, -6.2500, -3.0000, -4.5000]],
<BLANKLINE>
        [[ 4.6875, -0.5625,  2.0625, -0.1875],
         [-6.8750,  3.6250, -7.8750, -2.1250]]], grad_fn=<BmmBackward0>)
>>> nbgrad.grad(nbgrad.bmm(x, y).sum(), [x, y])
(tensor([[[ 2.0000, -4.5000,  0.0000],
         [ 2.0000, -4.5000,  0.0000]],
<BLANKLINE>
        [[ 1.5000,  2.5000,  2.0000],
         [ 1.5000,  2.5000,  2.0000]]]), tensor([[[ 1.5000,  1.5000,  1.5000,  1.5000],
         [ 0.0000,  0.0000,  0.0000,  0.0000],
         [ 2.0000,  2.0000,  2.0000,  2.0000]],
<BLANKLINE>
        [[-1.5000, -1.5000, -1.5000, -1.5000],
         [-2.0000, -2.0000, -2.0000, -2.0000],
         [ 0.0000,  0.0000,  0.0000,  0.0000]]]))
""",
    'broadcast_tensors': """\
Views of one shape, to which all operands broadcast.

Signature: broadcast_tensors(*tensors)

Operands:
    tensors: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0], [-2.0]])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.broadcast_tensors(x, y)
(tensor([[ 1.,  1.,  1.],
        [-2., -2., -2.]]), tensor([[ 2.0000, -1.0000,  1.5000],
        [ 2.0000, -1.0000,  1.5000]]))
""",
    'broadcast_to': """\
``x.expand(shape)``.

Signature: broadcast_to(x, shape)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.broadcast_to(...); NumPy: np.broadcast_to.

>>> x = nbgrad.tensor([[1.0], [-2.0]])
>>> nbgrad.broadcast_to(x, shape=(2, 3))
tensor([[ 1.,  1.,  1.],
        [-2., -2., -2.]])
""",
    'bucketize': """\
Which interval between sorted boundaries each value lies in. It has no gradient.

Signature: bucketize(input, boundaries, *, out_int32=False, right=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[0.0, 3.0], [-2.0, 1.0]])
>>> y = nbgrad.tensor([-1.0, 0.0, 2.0])
>>> nbgrad.bucketize(x, y)
tensor([[1, 3],
        [0, 2]])
""",
    'cartesian_prod': """\
All combinations of the elements of several vectors, one a row.

Signature: cartesian_prod(*tensors)

Operands:
    tensors: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([1.0, -2.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.cartesian_prod(x, y)
tensor([[ 1.0000,  2.0000],
        [ 1.0000, -1.0000],
        [ 1.0000,  1.5000],
        [-2.0000,  2.0000],
        [-2.0000, -1.0000],
        [-2.0000,  1.5000]])
""",
    'cat': """\
Tensors one after the other along a dimension.

Signature: cat(tensors, dim=0)

Operands:
    tensors: a sequence of tensors.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    ShapeError: such as for ([(2, 3), (2, 2)]).

Derivative (g: the cotangent of the result, out: the result):
    tensors: cast(slices_of(g, tensors_shapes, dim), tensors_dtypes)

Forms: out=; also called concat, concatenate.

>>> x = [nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True), nbgrad.tensor([[0.5, 2.0, -1.0]], requires_grad=True)]
>>> nbgrad.cat(x)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000],
        [ 0.5000,  2.0000, -1.0000]], grad_fn=<CatBackward0>)
""",
    'cdist': """\
The p-norm of the difference of every row of x1 and every row of x2. Every ``compute_mode`` of torch's gives
the same.

Raises:
    RangeError: another mode. ShapeError: no matrices of one width.

Signature: cdist(x1, x2, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary')

Operands:
    x1: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0], [-1.5, -2.5, 0.25], [-0.25, 0.75, -0.75]])
>>> nbgrad.cdist(x, y)
tensor([[2.0616, 7.6485, 3.7500, 4.8153],
        [4.1833, 2.2913, 5.0806, 1.4790]])
""",
    'ceil': """\
The smallest integer >= x.

Signature: ceil(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; bool is refused; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: 0

Forms: x.ceil(...), x.ceil_(...), out=; NumPy: np.ceil.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.ceil(x)
tensor([ 1., -2.,  3.], grad_fn=<CeilBackward0>)
>>> nbgrad.grad(nbgrad.ceil(x).sum(), x)
(tensor([0., 0., 0.]),)
""",
    'celu': """\
celu; inplace=True overwrites input.

Signature: celu(input, alpha=1.0, inplace=False)

Operands:
    input, alpha: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x <= 0, g * exp(x / alpha), g)

Forms: x.celu_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.celu(x)
tensor([ 1.0000, -0.8647,  3.0000], grad_fn=<CeluBackward0>)
>>> nbgrad.grad(nbgrad.celu(x).sum(), x)
(tensor([1.0000, 0.1353, 1.0000]),)
""",
    'chain_matmul': """\
The product of several matrices, from left to right.

Signature: chain_matmul(*matrices)

Operands:
    matrices: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0], [1.5, -0.5], [2.5, -3.0]])
>>> z = nbgrad.tensor([[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75]])
>>> nbgrad.chain_matmul(x, y, z)
tensor([[ 14.0000, -17.2500, -16.5000,  -9.5000],
        [  4.1250,  -4.8750,  -1.1250,  -4.8750]])
""",
    'cholesky': """\
See ``linalg.cholesky``.

Signature: cholesky(input, upper=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.cholesky(...), out=.

>>> x = nbgrad.tensor([[10.28125, 0.75, -4.75], [0.75, 5.09375, 6.875], [-4.75, 6.875, 18.53125]])
>>> nbgrad.cholesky(x)
tensor([[ 3.2064,  0.0000,  0.0000],
        [ 0.2339,  2.2448,  0.0000],
        [-1.4814,  3.2170,  2.4469]])
""",
    'cholesky_inverse': """\
The inverse of L @ L^H.

Signature: cholesky_inverse(L, upper=False)

Operands:
    L: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.cholesky_inverse(...), out=.

>>> x = nbgrad.tensor([[3.206438834595165, 0.0, 0.0], [0.23390435267563514, 2.244780335311095, 0.0], [-1.481394233612356, 3.2170205902439526, 2.4469367884288538]])
>>> nbgrad.cholesky_inverse(x)
tensor([[ 0.1519, -0.1501,  0.0946],
        [-0.1501,  0.5415, -0.2394],
        [ 0.0946, -0.2394,  0.1670]])
""",
    'cholesky_solve': """\
The X with L @ L^H @ X = B.

Signature: cholesky_solve(B, L, upper=False)

Operands:
    B: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.cholesky_solve(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0], [0.5, 1.5], [-1.0, 0.25]])
>>> y = nbgrad.tensor([[3.206438834595165, 0.0, 0.0], [0.23390435267563514, 2.244780335311095, 0.0], [-1.481394233612356, 3.2170205902439526, 2.4469367884288538]])
>>> nbgrad.cholesky_solve(x, y)
tensor([[-0.0177, -0.5053],
        [ 0.3600,  1.0525],
        [-0.1921, -0.5065]])
""",
    'chunk': """\
At most ``chunks`` pieces of one size along a dimension; the last may be smaller.

Signature: chunk(x, chunks, dim=0)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.chunk(...).

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0], [1.5, -0.5], [2.5, -3.0]])
>>> nbgrad.chunk(x, 2)
(tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000],
        [ 2.0000, -1.0000]]), tensor([[ 1.5000, -0.5000],
        [ 2.5000, -3.0000]]))
""",
    'clamp': """\
input moved into [min, max]; each may be a number, a tensor or None.

Signature: clamp(input, min=None, max=None)

Operands:
    input, min, max: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    clamp_both, x: where((x >= min) & (x <= max), g, 0)
    clamp_both, min: where((min < max) & (x < min), g, 0)
    clamp_both, max: where((x > max) | (max < min), g, 0)
    clamp_min, x: where(x >= min, g, 0)
    clamp_min, min: where(x < min, g, 0)
    clamp_max, x: where(x <= max, g, 0)
    clamp_max, max: where(x > max, g, 0)

Forms: x.clamp_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.clamp(x, -0.5, 2.0)
tensor([ 1.0000, -0.5000,  2.0000], grad_fn=<ClampBackward1>)
>>> nbgrad.grad(nbgrad.clamp(x, -0.5, 2.0).sum(), x)
(tensor([1., 0., 0.]),)
""",
    'clamp_max': """\
x, but at most max.

Signature: clamp_max(input, max)

Operands:
    input, max: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x <= max, g, 0)
    max: where(x > max, g, 0)

Forms: x.clamp_max(...), x.clamp_max_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.clamp_max(x, y)
tensor([ 1.0000, -2.0000,  1.5000], grad_fn=<ClampBackward1>)
>>> nbgrad.grad(nbgrad.clamp_max(x, y).sum(), [x, y])
(tensor([1., 1., 0.]), tensor([0., 0., 1.]))
""",
    'clamp_min': """\
x, but at least min.

Signature: clamp_min(input, min)

Operands:
    input, min: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x >= min, g, 0)
    min: where(x < min, g, 0)

Forms: x.clamp_min(...), x.clamp_min_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.clamp_min(x, y)
tensor([ 2., -1.,  3.], grad_fn=<ClampBackward1>)
>>> nbgrad.grad(nbgrad.clamp_min(x, y).sum(), [x, y])
(tensor([0., 0., 1.]), tensor([1., 1., 0.]))
""",
    'clone': """\
A copy.

Signature: clone(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g

Forms: x.clone(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.clone(x)
tensor([ 1., -2.,  3.], grad_fn=<CloneBackward0>)
>>> nbgrad.grad(nbgrad.clone(x).sum(), x)
(tensor([1., 1., 1.]),)
""",
    'combinations': """\
All ways to choose r elements of a vector, one a row.

Raises:
    RangeError: r is negative.

Signature: combinations(input, r=2, with_replacement=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0, 0.5])
>>> nbgrad.combinations(x)
tensor([[ 1.0000, -2.0000],
        [ 1.0000,  3.0000],
        [ 1.0000,  0.5000],
        [-2.0000,  3.0000],
        [-2.0000,  0.5000],
        [ 3.0000,  0.5000]])
""",
    'complex': """\
The complex numbers with these parts, which broadcast.

Signature: complex(real, imag)

Operands:
    real, imag: tensors.

Returns:
    Dtype: bool, int64, complex64: refused; float16, float32: complex64; float64: complex128.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    real: g._apply('real_view', (g,)).sum_to(real_shape)
    imag: g._apply('imag_view', (g,)).sum_to(imag_shape)

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]], requires_grad=True)
>>> nbgrad.complex(x, y)
tensor([[ 1.0000+2.0000j, -2.0000-1.0000j,  3.0000+1.5000j],
        [ 0.5000-0.5000j,  2.0000+2.5000j, -1.0000-3.0000j]],
       grad_fn=<ComplexBackward0>)
""",
    'conj': """\
The complex conjugate, as a view: see is_conj; a real tensor itself.

Signature: conj(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64, complex64: complex128.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.conj(...); also called _conj; NumPy: np.conj.

>>> x = nbgrad.tensor([[(1.5-0.5j), (-2+1j)], [(0.3+2j), (-1-1j)]])
>>> nbgrad.conj(x)
tensor([[ 1.5000+0.5000j, -2.0000-1.0000j],
        [ 0.3000-2.0000j, -1.0000+1.0000j]])
""",
    'conj_physical': """\
conj_physical; of real numbers the tensor itself.

Signature: conj_physical(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: conj_physical(g)

Forms: x.conj_physical(...), x.conj_physical_(...), out=.
""",
    'contiguous': """\
The tensor itself if it is row-major, else a row-major copy.

Signature: contiguous(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.contiguous(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> x.contiguous()
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'copysign': """\
The magnitude of x with the sign of y.

Signature: copysign(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(isnan(x), g * nan, g * sign(x) * sign(out))
    y: 0

Forms: x.copysign(...), x.copysign_(...), out=; NumPy: np.copysign.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.copysign(x, y)
tensor([ 1., -2.,  3.], grad_fn=<CopysignBackward0>)
>>> nbgrad.grad(nbgrad.copysign(x, y).sum(), [x, y])
(tensor([1., 1., 1.]), tensor([0., 0., 0.]))
""",
    'corrcoef': """\
Correlation coefficients of variables in rows and observations in columns.

Signature: corrcoef(input)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float32, float16, float64, complex64: kept; bool, int64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.corrcoef(...); NumPy: np.corrcoef.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.corrcoef(x)
tensor([[1.0000, 0.7708, 0.3612],
        [0.7708, 1.0000, 0.8393],
        [0.3612, 0.8393, 1.0000]])
""",
    'cos': """\
The cosine of x in radians.

Signature: cos(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: -(g * sin(x))

Forms: x.cos(...), x.cos_(...), out=; NumPy: np.cos.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.cos(x)
tensor([ 0.5403, -0.4161, -0.9900], grad_fn=<CosBackward0>)
>>> nbgrad.grad(nbgrad.cos(x).sum(), x)
(tensor([-0.8415,  0.9093, -0.1411]),)
""",
    'cosh': """\
The hyperbolic cosine.

Signature: cosh(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * sinh(x)

Forms: x.cosh(...), x.cosh_(...), out=; NumPy: np.cosh.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.cosh(x)
tensor([ 1.5431,  3.7622, 10.0677], grad_fn=<CoshBackward0>)
>>> nbgrad.grad(nbgrad.cosh(x).sum(), x)
(tensor([ 1.1752, -3.6269, 10.0179]),)
""",
    'cosine_similarity': """\
The cosine of the angle between x1 and x2 along dim; lengths are taken to be at least eps.

Signature: cosine_similarity(x1, x2, dim=1, eps=1e-08)

Operands:
    x1: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.cosine_similarity(x, y)
tensor([0.8437, 0.8591])
""",
    'count_nonzero': """\
Number of elements that are not zero.

Signature: count_nonzero(input, dim=None, keepdim=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], dim=2).

Derivative: none; the result requires no grad.

Forms: x.count_nonzero(...), out=; NumPy: np.count_nonzero.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.count_nonzero(x)
tensor(6)
""",
    'cov': """\
The covariance matrix of variables in rows and observations in columns.

Args:
    correction: taken off the number of observations.
    fweights: how often each observation came, whole numbers. aweights: how much each one counts.

Raises:
    ShapeError: more than 2 dimensions, or weights that are not one for each observation. DTypeError: weights of another kind.

Signature: cov(input, *, correction=1, fweights=None, aweights=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float32, float16, float64, complex64: kept; bool, int64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 2, 2]).

Derivative: that of the operations it is written in.

Forms: x.cov(...); NumPy: np.cov.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.cov(x)
tensor([[4.2292, 2.3333, 1.8542],
        [2.3333, 2.1667, 3.0833],
        [1.8542, 3.0833, 6.2292]])
""",
    'cross': """\
The vector product along a dimension of size 3, by default the first such.

Signature: cross(input, other, dim=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    ShapeError: such as for ([2, 2], [2, 2]).

Derivative: that of the operations it is written in.

Forms: x.cross(...), out=; NumPy: np.cross.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.cross(x, y)
tensor([[ 0.0000,  4.5000,  3.0000],
        [-3.5000,  2.0000,  2.2500]])
""",
    'cross_entropy': """\
``nll_loss`` of ``log_softmax(input)``, in one pass.

Args:
    input: scores, (classes), (n, classes) or (n, classes, d1, ...).
    target: int64 classes, of the shape without classes; or probabilities of input's shape.
    weight: of each class; "mean" then divides by the sum of the weights of the targets.
    ignore_index: a target class that counts for nothing.
    label_smoothing: the share of the target, 0 to 1, that is spread evenly over all classes.

Raises:
    RangeError: a target is no class, or label_smoothing out of range.

Signature: cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([3, 4], [3]).
    ShapeError: such as for ([3, 4], [2]).
    RangeError: such as for ([3, 4], [3], reduction='all').

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([1, 3, 0])
>>> nbgrad.cross_entropy(x, y)
tensor(2.7613)
""",
    'cummax': """\
(values, indices) of the greatest element up to each along dim; of equal ones the last.

Signature: cummax(input, dim)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], 4).

Derivative: that of the operations it is written in.

Forms: x.cummax(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> nbgrad.cummax(x, 1)
Extremum(values=tensor([[1., 1., 3., 3.],
        [2., 2., 2., 2.]]), indices=tensor([[0, 0, 2, 2],
        [0, 0, 0, 0]]))
""",
    'cummin': """\
(values, indices) of the smallest element up to each along dim; of equal ones the last.

Signature: cummin(input, dim)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.cummin(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> nbgrad.cummin(x, 1)
Extremum(values=tensor([[ 1., -2., -2., -2.],
        [ 2., -1., -1., -1.]]), indices=tensor([[0, 1, 1, 1],
        [0, 1, 1, 1]]))
""",
    'cumprod': """\
Products of the elements up to each along dim; integers and bools in int64.

Signature: cumprod(x, dim=None, *, dtype=None, axis=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.cumprod(...), out=; NumPy: np.cumprod.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.cumprod(x, 1)
tensor([[ 1.0000, -2.0000, -6.0000],
        [ 0.5000,  1.0000, -1.0000]])
""",
    'cumprod_': """\
In place: cumprod.

Signature: cumprod_(x, dim=None, *, dtype=None, axis=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.cumprod_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> x.cumprod_(1)
tensor([[ 1.0000, -2.0000, -6.0000],
        [ 0.5000,  1.0000, -1.0000]])
""",
    'cumsum': """\
Sums of the elements up to each along dim; integers and bools in int64.

Signature: cumsum(x, dim=None, *, dtype=None, axis=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], 2).

Derivative: that of the operations it is written in.

Forms: x.cumsum(...), out=; NumPy: np.cumsum.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.cumsum(x, 1)
tensor([[ 1.0000, -1.0000,  2.0000],
        [ 0.5000,  2.5000,  1.5000]])
""",
    'cumsum_': """\
In place: cumsum.

Signature: cumsum_(x, dim=None, *, dtype=None, axis=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], 2).

Derivative: that of the operations it is written in.

Forms: x.cumsum_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> x.cumsum_(1)
tensor([[ 1.0000, -1.0000,  2.0000],
        [ 0.5000,  2.5000,  1.5000]])
""",
    'cumulative_trapezoid': """\
The integrals up to each point but the first, by the trapezoidal rule.

Signature: cumulative_trapezoid(y, x=None, *, dx=None, dim=-1)

Operands:
    y: a tensor or a NumPy array.

Returns:
    Dtype: float32, float16, float64, complex64: kept; bool, int64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.cumulative_trapezoid(x)
tensor([[-0.5000,  0.0000,  1.7500],
        [ 0.5000,  0.7500,  1.2500],
        [-0.2500, -2.5000, -4.5000]])
""",
    'deg2rad': """\
Degrees as radians.

Signature: deg2rad(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * 0.0174533

Forms: x.deg2rad(...), x.deg2rad_(...), out=; NumPy: np.deg2rad.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.deg2rad(x)
tensor([ 0.0175, -0.0349,  0.0524], grad_fn=<Deg2RadBackward0>)
>>> nbgrad.grad(nbgrad.deg2rad(x).sum(), x)
(tensor([0.0175, 0.0175, 0.0175]),)
""",
    'det': """\
The determinant of square matrices.

Signature: det(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.det(...), out=.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.det(x)
tensor(17.3750)
""",
    'detach_copy': """\
What ``detach`` shows, copied.

Signature: detach_copy(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.detach_copy(x)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'diag': """\
The diagonal of a matrix; of a vector the matrix with that diagonal.

Signature: diag(input, diagonal=0)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 2, 2]).

Derivative: that of the operations it is written in.

Forms: x.diag(...), out=; NumPy: np.diag.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> nbgrad.diag(x)
tensor([[ 1.,  0.,  0.],
        [ 0., -2.,  0.],
        [ 0.,  0.,  3.]])
""",
    'diag_embed': """\
The last dimension as a diagonal of two new ones, zeros elsewhere.

Signature: diag_embed(input, offset=0, dim1=-2, dim2=-1)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.diag_embed(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.diag_embed(x)
tensor([[[ 1.0000,  0.0000,  0.0000],
         [ 0.0000, -2.0000,  0.0000],
         [ 0.0000,  0.0000,  3.0000]],
<BLANKLINE>
        [[ 0.5000,  0.0000,  0.0000],
         [ 0.0000,  2.0000,  0.0000],
         [ 0.0000,  0.0000, -1.0000]]])
""",
    'diagflat': """\
The matrix whose diagonal has all elements.

Signature: diagflat(input, offset=0)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.diagflat(...); NumPy: np.diagflat.

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5]])
>>> nbgrad.diagflat(x)
tensor([[ 1.0000,  0.0000,  0.0000,  0.0000],
        [ 0.0000, -2.0000,  0.0000,  0.0000],
        [ 0.0000,  0.0000,  3.0000,  0.0000],
        [ 0.0000,  0.0000,  0.0000,  0.5000]])
""",
    'diagonal': """\
The diagonals of two dimensions, as a last one.

Signature: diagonal(input, offset=0, dim1=0, dim2=1)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: a view of x: it shares the memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g.diagonal_backward(x_shape, offset, dim1, dim2)

Forms: x.diagonal(...); NumPy: np.diagonal.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]], requires_grad=True)
>>> nbgrad.diagonal(x)
tensor([ 1.0000, -1.0000, -1.5000], grad_fn=<DiagonalBackward0>)
>>> nbgrad.grad(nbgrad.diagonal(x).sum(), x)
(tensor([[1., 0., 0., 0.],
        [0., 1., 0., 0.],
        [0., 0., 1., 0.]]),)
""",
    'diagonal_copy': """\
What ``diagonal`` shows, copied.

Signature: diagonal_copy(x, offset=0, dim1=0, dim2=1)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.diagonal_copy(x, 1)
tensor([-2.0000,  1.5000, -2.5000])
""",
    'diagonal_scatter': """\
A copy of x with src written to a diagonal of it.

Signature: diagonal_scatter(input, src, offset=0, dim1=0, dim2=1)

Operands:
    input, src: tensors (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g.diagonal_scatter(g.new_zeros(src_shape), offset, dim1, dim2)
    src: g.diagonal(offset, dim1, dim2)

Forms: x.diagonal_scatter(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0], [1.5, -0.5, 2.5]], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.diagonal_scatter(x, y)
tensor([[ 2.0000, -2.0000,  3.0000],
        [ 0.5000, -1.0000, -1.0000],
        [ 1.5000, -0.5000,  1.5000]], grad_fn=<DiagonalScatterBackward0>)
>>> nbgrad.grad(nbgrad.diagonal_scatter(x, y).sum(), [x, y])
(tensor([[0., 1., 1.],
        [1., 0., 1.],
        [1., 1., 0.]]), tensor([1., 1., 1.]))
""",
    'diff': """\
The n-th differences of neighbours along dim, of input with ``prepend`` before it and ``append`` behind; for n
= 0 the input.

Raises:
    DimError: a 0-d tensor. RangeError: n < 0.

Signature: diff(input, n=1, dim=-1, prepend=None, append=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([]).
    RangeError: such as for ([3], -1).

Derivative: that of the operations it is written in.

Forms: x.diff(...), out=; NumPy: np.diff.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.diff(x)
tensor([[-3.0000,  5.0000, -2.5000],
        [-3.0000,  2.5000, -2.0000],
        [-5.5000,  1.5000, -1.0000]])
""",
    'digamma': """\
The derivative of lgamma.

Signature: digamma(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * trigamma(x)

Forms: x.digamma(...), x.digamma_(...), out=.

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> nbgrad.digamma(x)
tensor([-0.5772,  0.9228, -1.9635], grad_fn=<DigammaBackward0>)
>>> nbgrad.grad(nbgrad.digamma(x).sum(), x)
(tensor([1.6449, 0.3949, 4.9348]),)
""",
    'dist': """\
The p-norm of the difference.

Signature: dist(input, other, p=2)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.dist(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.dist(x, y)
tensor(3.0822)
""",
    'div': """\
input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers.

Signature: div(input, other, *, rounding_mode=None)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    div, x: g / y
    div, y: -(g * x / y) / y
    div_floor, x: 0
    div_floor, y: 0
    div_trunc, x: 0
    div_trunc, y: 0

Forms: x.div(...), x.div_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, 0.5, -1.0])
>>> nbgrad.div(x, y, rounding_mode='floor')
tensor([ 0., -4., -3.], grad_fn=<DivBackward2>)
>>> nbgrad.grad(nbgrad.div(x, y, rounding_mode='floor').sum(), x)
(tensor([0., 0., 0.]),)
""",
    'dot': """\
The sum of the products of two vectors' elements.

Signature: dot(input, tensor)

Operands:
    input, tensor: tensors (x and y in formulas).

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([3], [4]).

Derivative (g: the cotangent of the result, out: the result):
    x: left_cotangent(g, y, x_shape, y_shape)
    y: right_cotangent(g, x, x_shape, y_shape)

Forms: x.dot(...), out=; NumPy: np.dot.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.dot(x, y)
tensor(8.5000, grad_fn=<DotBackward0>)
>>> nbgrad.grad(nbgrad.dot(x, y), [x, y])
(tensor([ 2.0000, -1.0000,  1.5000]), tensor([ 1., -2.,  3.]))
""",
    'dropout': """\
x with each element zeroed with probability p and the others divided by 1 - p; x itself unless training.
inplace=True overwrites x.

Signature: dropout(input, p=0.5, training=True, inplace=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2], p=1.5).

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.dropout(x, 0.0, True)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'dsplit': """\
Pieces behind one another: along the third dimension; equal ones, or those between the given indices.

Signature: dsplit(x, indices_or_sections)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 2, 4], 3).
    DimError: such as for ([], 1).

Derivative: that of the operations it is written in.

Forms: x.dsplit(...); NumPy: np.dsplit.

>>> x = nbgrad.tensor([[[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]], [[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75]]])
>>> nbgrad.dsplit(x, 2)
(tensor([[[ 1.0000, -2.0000],
         [ 2.0000, -1.0000]],
<BLANKLINE>
        [[ 2.5000, -3.0000],
         [ 0.2500, -0.2500]]]), tensor([[[ 3.0000,  0.5000],
         [ 1.5000, -0.5000]],
<BLANKLINE>
        [[-1.5000, -2.5000],
         [ 0.7500, -0.7500]]]))
""",
    'dstack': """\
Tensors behind one another, along the third dimension.

Signature: dstack(tensors)

Operands:
    tensors: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=; NumPy: np.dstack.

>>> x = [nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]]), nbgrad.tensor([[0.5, 2.0, -1.0], [1.5, -0.5, 2.5]])]
>>> nbgrad.dstack(x)
tensor([[[ 1.0000,  0.5000],
         [-2.0000,  2.0000],
         [ 3.0000, -1.0000]],
<BLANKLINE>
        [[ 0.5000,  1.5000],
         [ 2.0000, -0.5000],
         [-1.0000,  2.5000]]])
""",
    'einsum': """\
Sums of products of the operands' elements, by Einstein's convention.

Args:
    equation: such as ``"bij,bjk->bik"``: letters name the dimensions of each operand, then those of the result.
        Without ``->`` the result has the letters that appear once, in alphabetic order. ``...`` stands for
        dimensions that broadcast; a letter repeated in one operand takes its diagonal.
    operands: tensors of one dtype, or one sequence of them.

Returns:
    Tensor of the named dimensions.

Raises:
    ArgumentError: the equation is malformed. ShapeError: it does not fit the shapes.

>>> nbgrad.einsum("ij->ji", nbgrad.tensor([[1, 2, 3]]))
tensor([[1],
        [2],
        [3]])

Signature: einsum(equation, *operands)

Operands:
    equation: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.einsum.

>>> x = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> y = nbgrad.tensor([[2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]])
>>> nbgrad.einsum('ij,jk->ik', x, y)
tensor([[ 4.9375, -4.8125, -3.9375, -2.9375],
        [-1.0000, -1.0000,  3.0000, -3.2500]])
""",
    'elu': """\
elu; inplace=True overwrites input.

Signature: elu(input, alpha=1.0, inplace=False)

Operands:
    input, alpha: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x <= 0, g * alpha * exp(x), g)

Forms: x.elu(...), x.elu_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.elu(x)
tensor([ 1.0000, -0.8647,  3.0000], grad_fn=<EluBackward0>)
>>> nbgrad.grad(nbgrad.elu(x).sum(), x)
(tensor([1.0000, 0.1353, 1.0000]),)
""",
    'entr': """\
-x log(x); 0 at 0, -inf below.

Signature: special.entr(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * (-log(x) - 1)

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> nbgrad.special.entr(x)
tensor([-0.0000, -3.2958,  0.3466], grad_fn=<SpecialEntrBackward0>)
>>> nbgrad.grad(nbgrad.special.entr(x).sum(), x)
(tensor([-1.0000, -2.0986, -0.3069]),)
""",
    'eq': """\
x == y.

Signature: eq(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: bool, from operands of any dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.eq(...), x.eq_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.eq(x, y)
tensor([False, False, False])
""",
    'equal': """\
Whether two tensors have one shape and equal elements: a Python bool.

Signature: equal(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.equal(...); NumPy: np.equal.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.equal(x, y)
False
""",
    'erf': """\
The error function.

Signature: erf(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * 1.12838 * exp(-1 * where(where(x > 60, 60, x) < -60, -60, where(x > 60, 60, x)) * where(where(x >
        60, 60, x) < -60, -60, where(x > 60, 60, x)))

Forms: x.erf(...), x.erf_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.erf(x)
tensor([ 0.8427, -0.9953,  1.0000], grad_fn=<ErfBackward0>)
>>> nbgrad.grad(nbgrad.erf(x).sum(), x)
(tensor([4.1511e-01, 2.0667e-02, 1.3925e-04]),)
""",
    'erfc': """\
1 - erf(x), to full precision for large x.

Signature: erfc(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * -1.12838 * exp(-1 * where(where(x > 60, 60, x) < -60, -60, where(x > 60, 60, x)) * where(where(x >
        60, 60, x) < -60, -60, where(x > 60, 60, x)))

Forms: x.erfc(...), x.erfc_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.erfc(x)
tensor([1.5730e-01, 1.9953e+00, 2.2090e-05], grad_fn=<ErfcBackward0>)
>>> nbgrad.grad(nbgrad.erfc(x).sum(), x)
(tensor([-4.1511e-01, -2.0667e-02, -1.3925e-04]),)
""",
    'erfcx': """\
e**(x**2) erfc(x).

Signature: special.erfcx(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * (2 x out - 2 / root(pi); far out, where those are nearly equal, the asymptotic series)

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.special.erfcx(x)
tensor([  0.4276, 108.9409,   0.1790], grad_fn=<SpecialErfcxBackward0>)
>>> nbgrad.grad(nbgrad.special.erfcx(x).sum(), x)
(tensor([-2.7321e-01, -4.3689e+02, -5.4372e-02]),)
""",
    'erfinv': """\
The number whose error function is x; NaN beyond -1 and 1.

Signature: erfinv(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * 0.886227 * exp(out * out)

Forms: x.erfinv(...), x.erfinv_(...), out=.

>>> x = nbgrad.tensor([0.5, -0.5, 0.25], requires_grad=True)
>>> nbgrad.erfinv(x)
tensor([ 0.4769, -0.4769,  0.2253], grad_fn=<ErfinvBackward0>)
>>> nbgrad.grad(nbgrad.erfinv(x).sum(), x)
(tensor([1.1126, 1.1126, 0.9324]),)
""",
    'exp': """\
e**x.

Signature: exp(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * out

Forms: x.exp(...), x.exp_(...), out=; NumPy: np.exp.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.exp(x)
tensor([ 2.7183,  0.1353, 20.0855], grad_fn=<ExpBackward0>)
>>> nbgrad.grad(nbgrad.exp(x).sum(), x)
(tensor([ 2.7183,  0.1353, 20.0855]),)
""",
    'exp2': """\
2**x.

Signature: exp2(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * out * 0.693147

Forms: x.exp2(...), x.exp2_(...), out=; NumPy: np.exp2.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.exp2(x)
tensor([2.0000, 0.2500, 8.0000], grad_fn=<Exp2Backward0>)
>>> nbgrad.grad(nbgrad.exp2(x).sum(), x)
(tensor([1.3863, 0.1733, 5.5452]),)
""",
    'expand': """\
Dimensions of size 1 repeated without memory; -1 keeps a size.

Signature: expand(x, *size)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.expand(...).

>>> x = nbgrad.tensor([[1.0], [-2.0]])
>>> x.expand(-1, 3)
tensor([[ 1.,  1.,  1.],
        [-2., -2., -2.]])
""",
    'expand_as': """\
``x.expand(other.shape)``.

Signature: expand_as(x, other)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.expand_as(...).

>>> x = nbgrad.tensor([[1.0], [-2.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> x.expand_as(y)
tensor([[ 1.,  1.,  1.],
        [-2., -2., -2.]])
""",
    'expand_copy': """\
What ``expand`` shows, copied.

Signature: expand_copy(x, size, *, implicit=False)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0]])
>>> nbgrad.expand_copy(x, size=(2, 3))
tensor([[ 1., -2.,  3.],
        [ 1., -2.,  3.]])
""",
    'expm1': """\
e**x - 1, exact near 0.

Signature: expm1(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * (out + 1)

Forms: x.expm1(...), x.expm1_(...), out=; NumPy: np.expm1.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.expm1(x)
tensor([ 1.7183, -0.8647, 19.0855], grad_fn=<Expm1Backward0>)
>>> nbgrad.grad(nbgrad.expm1(x).sum(), x)
(tensor([ 2.7183,  0.1353, 20.0855]),)
""",
    'feature_alpha_dropout': """\
alpha_dropout of whole channels: x of shape (N, C, *) is dropped at all of * or nowhere.

Signature: feature_alpha_dropout(input, p=0.5, training=False, inplace=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2], p=1.5).

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.feature_alpha_dropout(x, 0.0, True)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'feature_dropout': """\
dropout of whole channels: x of shape (N, C, *) is zeroed at all of * or nowhere.

Signature: feature_dropout(input, p=0.5, training=True, inplace=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2], p=1.5).

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.feature_dropout(x, 0.0, True)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'flatten': """\
A range of dimensions as one; the tensor itself if that changes nothing.

Signature: flatten(x, start_dim=0, end_dim=-1)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.flatten(...).

>>> x = nbgrad.tensor([[[1.0, -2.0], [3.0, 0.5], [2.0, -1.0]], [[1.5, -0.5], [2.5, -3.0], [-1.5, -2.5]]])
>>> nbgrad.flatten(x)
tensor([ 1.0000, -2.0000,  3.0000,  0.5000,  2.0000, -1.0000,  1.5000, -0.5000,
         2.5000, -3.0000, -1.5000, -2.5000])
""",
    'flip': """\
Dimensions in reverse order of their elements; copied.

Signature: flip(x, *each, dims=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.flip(...); NumPy: np.flip.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.flip(x, 1)
tensor([[ 3.0000, -2.0000,  1.0000],
        [-1.0000,  2.0000,  0.5000]])
""",
    'fliplr': """\
The second dimension in reverse.

Signature: fliplr(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.fliplr(...); NumPy: np.fliplr.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.fliplr(x)
tensor([[ 3.0000, -2.0000,  1.0000],
        [-1.0000,  2.0000,  0.5000]])
""",
    'flipud': """\
The first dimension in reverse.

Signature: flipud(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.flipud(...); NumPy: np.flipud.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.flipud(x)
tensor([[ 0.5000,  2.0000, -1.0000],
        [ 1.0000, -2.0000,  3.0000]])
""",
    'float_power': """\
input to the power exponent, computed in double precision.

Signature: float_power(input, exponent)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float64: kept; bool, int64, float16, float32: float64; complex64: complex128.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.float_power(...), out=; NumPy: np.float_power.

>>> x = nbgrad.tensor([[1.0, 3.0, 0.5], [2.0, 1.5, 2.5]])
>>> y = nbgrad.tensor([1.5, 2.5, 0.75])
>>> nbgrad.float_power(x, y)
tensor([[ 1.0000, 15.5885,  0.5946],
        [ 2.8284,  2.7557,  1.9882]], dtype=nbgrad.float64)
""",
    'float_power_': """\
In place: float_power.

Signature: float_power_(input, exponent)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64, complex64: kept; bool, int64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.float_power_(...).

>>> x = nbgrad.tensor([[0.5, 2.0, 3.0]])
>>> x.float_power_(2.5)
tensor([[ 0.1768,  5.6569, 15.5885]])
""",
    'floor': """\
The largest integer <= x.

Signature: floor(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; bool is refused; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: 0

Forms: x.floor(...), x.floor_(...), out=; NumPy: np.floor.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.floor(x)
tensor([ 1., -2.,  3.], grad_fn=<FloorBackward0>)
>>> nbgrad.grad(nbgrad.floor(x).sum(), x)
(tensor([0., 0., 0.]),)
""",
    'floor_divide': """\
The floor of x / y. It has no derivative: div(rounding_mode=) has.

Signature: floor_divide(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; bool is refused; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.
    DivisionError: integers, and y is 0 somewhere.
    NotSupportedError: a gradient through it is asked for.

Derivative: refused.

Forms: x.floor_divide(...), x.floor_divide_(...), out=; NumPy: np.floor_divide.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.floor_divide(x, y)
tensor([0., 2., 2.])
""",
    'fmax': """\
The larger one; the number if the other is NaN. Ties go to x.

Signature: fmax(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where((x >= y) | isnan(y), g, 0)
    y: where((x >= y) | isnan(y), 0, g)

Forms: x.fmax(...), out=; NumPy: np.fmax.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.fmax(x, y)
tensor([ 2., -1.,  3.], grad_fn=<FmaxBackward0>)
>>> nbgrad.grad(nbgrad.fmax(x, y).sum(), [x, y])
(tensor([0., 0., 1.]), tensor([1., 1., 0.]))
""",
    'fmin': """\
The smaller one; the number if the other is NaN. Ties go to x.

Signature: fmin(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where((x <= y) | isnan(y), g, 0)
    y: where((x <= y) | isnan(y), 0, g)

Forms: x.fmin(...), out=; NumPy: np.fmin.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.fmin(x, y)
tensor([ 1.0000, -2.0000,  1.5000], grad_fn=<FminBackward0>)
>>> nbgrad.grad(nbgrad.fmin(x, y).sum(), [x, y])
(tensor([1., 1., 0.]), tensor([0., 0., 1.]))
""",
    'fmod': """\
x - trunc(x / y) * y: the sign of x.

Signature: fmod(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; bool is refused; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.
    DivisionError: integers, and y is 0 somewhere.

Derivative (g: the cotangent of the result, out: the result):
    x: g
    y: -(g * round((x - fmod(x, y)) / y))

Forms: x.fmod(...), x.fmod_(...), out=; NumPy: np.fmod.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.fmod(x, y)
tensor([1., -0., 0.], grad_fn=<FmodBackward1>)
>>> nbgrad.grad(nbgrad.fmod(x, y).sum(), [x, y])
(tensor([1., 1., 1.]), tensor([-0., -2., -2.]))
""",
    'frac': """\
The fraction of x, with its sign.

Signature: frac(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g

Forms: x.frac(...), x.frac_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.frac(x)
tensor([0., 0., 0.], grad_fn=<FracBackward0>)
>>> nbgrad.grad(nbgrad.frac(x).sum(), x)
(tensor([1., 1., 1.]),)
""",
    'frexp': """\
(mantissa, exponent) with input = mantissa * 2**exponent and 1/2 <= |mantissa| < 1; the exponent is int32.

Raises:
    DTypeError: not floating.

Signature: frexp(input)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.frexp(...), out=; NumPy: np.frexp.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.frexp(x)
Frexp(mantissa=tensor([[ 0.5000, -0.5000,  0.7500],
        [ 0.5000,  0.5000, -0.5000]]), exponent=tensor([[1, 2, 2],
        [0, 2, 1]], dtype=nbgrad.int32))
""",
    'gather': """\
out[i][j][k] = x[index[i][j][k]][j][k] for dim 0, and so on for others.

Signature: gather(input, dim, index, sparse_grad=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: g.gather_backward(x_shape, dim, index)

Forms: x.gather(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]], requires_grad=True)
>>> y = nbgrad.tensor([[0, 1, 1, 0], [1, 0, 1, 1]])
>>> nbgrad.gather(x, 0, y)
tensor([[ 1.0000, -1.0000,  1.5000,  0.5000],
        [ 2.0000, -2.0000,  1.5000, -0.5000]], grad_fn=<GatherBackward0>)
>>> nbgrad.grad(nbgrad.gather(x, 0, y).sum(), x)
(tensor([[1., 1., 0., 1.],
        [1., 1., 2., 1.],
        [0., 0., 0., 0.]]),)
""",
    'gcd': """\
The greatest common divisor.

Signature: gcd(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: of integers and bools only, in their common dtype; bool is refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.gcd(...), x.gcd_(...), out=; NumPy: np.gcd.

>>> x = nbgrad.tensor([4, 8, 12])
>>> y = nbgrad.tensor([8, 4, 6])
>>> nbgrad.gcd(x, y)
tensor([4, 4, 6])
""",
    'ge': """\
x >= y.

Signature: ge(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: bool, from operands of any dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.ge(...), x.ge_(...), out=; also called greater_equal.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.ge(x, y)
tensor([False, False,  True])
""",
    'gelu': """\
input times its normal distribution function; approximate="tanh" uses Hendrycks and Gimpel's formula.

Signature: gelu(input, approximate='none')

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    gelu_erf, x: g * (0.5 * (1 + erf(x * 0.707107)) + where(where(x > 60, 60, x) < -60, -60, where(x > 60, 60,
        x)) * exp(-0.5 * where(where(x > 60, 60, x) < -60, -60, where(x > 60, 60, x)) * where(where(x > 60,
        60, x) < -60, -60, where(x > 60, 60, x))) / 2.50663)
    gelu_tanh, x: g * (As the formula has it, where its parts are finite)

Forms: x.gelu_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.gelu(x)
tensor([ 0.8413, -0.0455,  2.9960], grad_fn=<GeluBackward0>)
>>> nbgrad.grad(nbgrad.gelu(x).sum(), x)
(tensor([ 1.0833, -0.0852,  1.0119]),)
""",
    'ger': """\
Every element of one vector times every element of another, (n,) and (m,) -> (n, m).

Signature: ger(input, vec2)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.ger(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.ger(x, y)
tensor([[ 2.0000, -1.0000,  1.5000],
        [-4.0000,  2.0000, -3.0000]])
""",
    'getitem': """\
``x[key]``: a view for ints, slices, None and ``...``; a copy for index tensors, lists and masks.

Signature: getitem(x, key)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.getitem(...); also called __getitem__.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> x.getitem(1)
tensor([ 2.0000, -1.0000,  1.5000, -0.5000])
""",
    'glu': """\
The first half along dim times the sigmoid of the second.

Signature: glu(input, dim=-1)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float32, float16, float64, complex64: kept; bool, int64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    ShapeError: such as for ([2, 3]).

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> nbgrad.glu(x)
tensor([[ 0.9526, -1.2449],
        [ 1.6351, -0.3775]])
""",
    'gradient': """\
The derivative along dimensions by central differences, one-sided of order ``edge_order`` at the ends.

Args:
    spacing: a number (1 unless given), one for each dimension, or a vector of coordinates for each.
    dim: an int or several; all by default.

Returns:
    A tensor for each dimension, in a tuple.

Raises:
    RangeError: the edge order is neither 1 nor 2; spacings do not go with the dimensions. ShapeError: too few points.

Signature: gradient(input, *, spacing=None, dim=None, edge_order=1)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float32, float16, float64, complex64: kept; bool, int64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    RangeError: such as for ([3], edge_order=3).

Derivative: that of the operations it is written in.

Forms: NumPy: np.gradient.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.gradient(x)
(tensor([[ 1.0000,  1.0000, -1.5000, -1.0000],
        [ 0.7500, -0.5000, -2.2500, -1.5000],
        [ 0.5000, -2.0000, -3.0000, -2.0000]]), tensor([[-3.0000,  1.0000,  1.2500, -2.5000],
        [-3.0000, -0.2500,  0.2500, -2.0000],
        [-5.5000, -2.0000,  0.2500, -1.0000]]))
""",
    'gt': """\
x > y.

Signature: gt(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: bool, from operands of any dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.gt(...), x.gt_(...), out=; also called greater.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.gt(x, y)
tensor([False, False,  True])
""",
    'hardshrink': """\
x where |x| > lambd, else 0.

Signature: hardshrink(input, lambd=0.5)

Operands:
    input, lambd: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where((x >= -lambd) & (x <= lambd), 0, g)

Forms: x.hardshrink(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.hardshrink(x)
tensor([[ 1., -2.,  3.],
        [ 0.,  2., -1.]], grad_fn=<HardshrinkBackward0>)
>>> nbgrad.grad(nbgrad.hardshrink(x).sum(), x)
(tensor([[1., 1., 1.],
        [0., 1., 1.]]),)
""",
    'hardsigmoid': """\
hardsigmoid; inplace=True overwrites input.

Signature: hardsigmoid(input, inplace=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: where((x > -3) & (x < 3), g * 0.166667, 0)

Forms: x.hardsigmoid_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.hardsigmoid(x)
tensor([0.6667, 0.1667, 1.0000], grad_fn=<HardsigmoidBackward0>)
>>> nbgrad.grad(nbgrad.hardsigmoid(x).sum(), x)
(tensor([0.1667, 0.1667, 0.0000]),)
""",
    'hardswish': """\
hardswish; inplace=True overwrites input.

Signature: hardswish(input, inplace=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x <= -3, 0, where(x < 3, g * (x * 0.333333 + 0.5), g))

Forms: x.hardswish_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.hardswish(x)
tensor([ 0.6667, -0.3333,  3.0000], grad_fn=<HardswishBackward0>)
>>> nbgrad.grad(nbgrad.hardswish(x).sum(), x)
(tensor([ 0.8333, -0.1667,  1.0000]),)
""",
    'hardtanh': """\
hardtanh; inplace=True overwrites input.

Signature: hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False)

Operands:
    input, min_val, max_val: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where((x <= min_val) | (x >= max_val), 0, g)

Forms: x.hardtanh_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.hardtanh(x)
tensor([ 1., -1.,  1.], grad_fn=<HardtanhBackward0>)
>>> nbgrad.grad(nbgrad.hardtanh(x).sum(), x)
(tensor([0., 0., 0.]),)
""",
    'heaviside': """\
0 below 0, 1 above, values at 0. It has no derivative.

Signature: heaviside(input, values)

Operands:
    input, values: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.
    NotSupportedError: a gradient through it is asked for.

Derivative: refused.

Forms: x.heaviside(...), x.heaviside_(...), out=; NumPy: np.heaviside.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.heaviside(x, y)
tensor([1., 0., 1.])
""",
    'histc': """\
How many elements lie in each of ``bins`` equal intervals from min to max (of the elements if both are 0).

The derivative is 0: counts do not change with small changes of the elements.

Raises:
    RangeError: no interval, or bins < 1.

Signature: histc(input, bins=100, min=0, max=0)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([3], 0).

Derivative: that of the operations it is written in.

Forms: x.histc(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.histc(x, 5)
tensor([3., 2., 2., 2., 3.])
""",
    'histogram': """\
(hist, bin_edges): the numbers or weights of the elements between edges, given or equally spaced.

Differentiating it, by elements, edges or weights, is refused.

Raises:
    RangeError: no interval, or bins < 1. ShapeError: weights that are not one for each element.

Signature: histogram(input, bins=100, *, range=None, weight=None, density=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.histogram(...), out=; NumPy: np.histogram.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.histogram(x, 4)
Histogram(hist=tensor([3., 3., 2., 4.]), bin_edges=tensor([-3.0000, -1.5000,  0.0000,  1.5000,  3.0000]))
""",
    'hsplit': """\
Pieces side by side: along the second dimension, of vectors the first; equal ones, or those between the given
indices.

Signature: hsplit(x, indices_or_sections)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([3, 4], 3).
    DimError: such as for ([], 1).

Derivative: that of the operations it is written in.

Forms: x.hsplit(...); NumPy: np.hsplit.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.hsplit(x, 2)
(tensor([[ 1.0000, -2.0000],
        [ 2.0000, -1.0000],
        [ 2.5000, -3.0000]]), tensor([[ 3.0000,  0.5000],
        [ 1.5000, -0.5000],
        [-1.5000, -2.5000]]))
""",
    'hstack': """\
Tensors side by side: along the second dimension, or the first of rows.

Signature: hstack(tensors)

Operands:
    tensors: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=; NumPy: np.hstack.

>>> x = [nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]]), nbgrad.tensor([[0.5, 2.0, -1.0], [1.5, -0.5, 2.5]])]
>>> nbgrad.hstack(x)
tensor([[ 1.0000, -2.0000,  3.0000,  0.5000,  2.0000, -1.0000],
        [ 0.5000,  2.0000, -1.0000,  1.5000, -0.5000,  2.5000]])
""",
    'huber_loss': """\
d**2 / 2, or delta (|d| - delta / 2) where |d| > delta, for d = input - target; times weight, reduced as in
mse_loss.

Signature: huber_loss(input, target, reduction='mean', delta=1.0, weight=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2, 3], [2, 3], reduction='all').

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.huber_loss(x, y)
tensor(0.6875)
""",
    'hypot': """\
sqrt(x**2 + y**2); the derivative at 0 is 0.

Signature: hypot(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(out == 0, 0, g * x / out)
    y: where(out == 0, 0, g * y / out)

Forms: x.hypot(...), x.hypot_(...), out=; NumPy: np.hypot.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.hypot(x, y)
tensor([2.2361, 2.2361, 3.3541], grad_fn=<HypotBackward0>)
>>> nbgrad.grad(nbgrad.hypot(x, y).sum(), [x, y])
(tensor([ 0.4472, -0.8944,  0.8944]), tensor([ 0.8944, -0.4472,  0.4472]))
""",
    'i0': """\
The modified Bessel function of the first kind of order 0.

Signature: i0(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * i1(x)

Forms: x.i0(...), x.i0_(...), out=; NumPy: np.i0.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.i0(x)
tensor([1.2661, 2.2796, 4.8808], grad_fn=<I0Backward0>)
>>> nbgrad.grad(nbgrad.i0(x).sum(), x)
(tensor([ 0.5652, -1.5906,  3.9534]),)
""",
    'i0e': """\
e**-|x| i0(x).

Signature: special.i0e(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * (i1e(x) - sign(x) * out)

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.special.i0e(x)
tensor([0.4658, 0.3085, 0.2430], grad_fn=<SpecialI0EBackward0>)
>>> nbgrad.grad(nbgrad.special.i0e(x).sum(), x)
(tensor([-0.2578,  0.0932, -0.0462]),)
""",
    'i1': """\
The modified Bessel function of the first kind of order 1.

Signature: special.i1(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * (i0(x) - where(abs(x) < 1, 0.5 * (1 + 0.25 * x * x * (1 + 0.25 * x * x * (1 + 0.25 * x * x * (1 +
        0.25 * x * x * (1 + 0.25 * x * x * (1 + 0.25 * x * x * (1 + 0.25 * x * x * (1 + 0.25 * x * x * (1 +
        0.25 * x * x * 1 * 0.0111111) * 0.0138889) * 0.0178571) * 0.0238095) * 0.0333333) * 0.05) * 0.0833333)
        * 0.166667) * 0.5), out / x))

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.special.i1(x)
tensor([ 0.5652, -1.5906,  3.9534], grad_fn=<SpecialI1Backward0>)
>>> nbgrad.grad(nbgrad.special.i1(x).sum(), x)
(tensor([0.7009, 1.4843, 3.5630]),)
""",
    'i1e': """\
e**-|x| i1(x).

Signature: special.i1e(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * (i0e(x) - out * sign(x) - where(abs(x) < 1, exp(-abs(x)) * 0.5 * (1 + 0.25 * x * x * (1 + 0.25 * x
        * x * (1 + 0.25 * x * x * (1 + 0.25 * x * x * (1 + 0.25 * x * x * (1 + 0.25 * x * x * (1 + 0.25 * x *
        x * (1 + 0.25 * x * x * (1 + 0.25 * x * x * 1 * 0.0111111) * 0.0138889) * 0.0178571) * 0.0238095) *
        0.0333333) * 0.05) * 0.0833333) * 0.166667) * 0.5), out / x))

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.special.i1e(x)
tensor([ 0.2079, -0.2153,  0.1968], grad_fn=<SpecialI1EBackward0>)
>>> nbgrad.grad(nbgrad.special.i1e(x).sum(), x)
(tensor([ 0.0499, -0.0144, -0.0194]),)
""",
    'igamma': """\
The regularised lower incomplete gamma function of order ``input`` at ``other``; differentiable by the second
operand.

Raises:
    DTypeError: not floating. NotSupportedError: from backward by the first operand.

Signature: igamma(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.igamma(...), out=.

>>> x = nbgrad.tensor([0.5, 1.0, 3.0])
>>> y = nbgrad.tensor([1.5, 2.5, 0.75])
>>> nbgrad.igamma(x, y)
tensor([0.9167, 0.9179, 0.0405])
""",
    'igamma_': """\
In place: igamma.

Signature: igamma_(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.igamma_(...).

>>> x = nbgrad.tensor([0.5, 1.0, 3.0])
>>> y = nbgrad.tensor([2.0, 0.25, 5.0])
>>> x.igamma_(y)
tensor([0.9545, 0.2212, 0.8753])
""",
    'igammac': """\
The regularised upper incomplete gamma function: 1 - igamma, to full precision where that is small.

Raises:
    DTypeError: not floating. NotSupportedError: from backward by the first operand.

Signature: igammac(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.igammac(...), out=.

>>> x = nbgrad.tensor([0.5, 1.0, 3.0])
>>> y = nbgrad.tensor([1.5, 2.5, 0.75])
>>> nbgrad.igammac(x, y)
tensor([0.0833, 0.0821, 0.9595])
""",
    'igammac_': """\
In place: igammac.

Signature: igammac_(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.igammac_(...).

>>> x = nbgrad.tensor([0.5, 1.0, 3.0])
>>> y = nbgrad.tensor([2.0, 0.25, 5.0])
>>> x.igammac_(y)
tensor([0.0455, 0.7788, 0.1247])
""",
    'imag': """\
The imaginary parts of a complex tensor, as a view.

Signature: imag(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: float64: kept; bool, int64, float16, float32, complex64: float64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.imag.

>>> x = nbgrad.tensor([[(1.5-0.5j), (-2+1j)], [(0.3+2j), (-1-1j)]])
>>> nbgrad.imag(x)
tensor([[-0.5000,  1.0000],
        [ 2.0000, -1.0000]])
""",
    'index_add': """\
``x`` with ``alpha`` times the slices of ``source`` added where ``index`` says.

Signature: index_add(x, dim, index, source, *, alpha=1)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.index_add(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([2, 0, 2])
>>> z = nbgrad.tensor([[0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875], [1.0, -2.0, 3.0, 0.5]])
>>> nbgrad.index_add(x, 0, y, z)
tensor([[ 1.1250, -1.3750,  2.8750,  1.3750],
        [ 2.0000, -1.0000,  1.5000, -0.5000],
        [ 3.7500, -5.2500,  2.2500, -2.7500]])
""",
    'index_add_': """\
In place: index_add.

Signature: index_add_(x, dim, index, source, *, alpha=1)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.index_add_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([2, 0, 2])
>>> z = nbgrad.tensor([[0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875], [1.0, -2.0, 3.0, 0.5]])
>>> x.index_add_(0, y, z)
tensor([[ 1.1250, -1.3750,  2.8750,  1.3750],
        [ 2.0000, -1.0000,  1.5000, -0.5000],
        [ 3.7500, -5.2500,  2.2500, -2.7500]])
""",
    'index_copy': """\
``x`` with the slices of ``source`` written where ``index`` says.

Signature: index_copy(x, dim, index, source)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.index_copy(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([2, 0])
>>> z = nbgrad.tensor([[0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]])
>>> nbgrad.index_copy(x, 0, y, z)
tensor([[ 0.1250,  0.6250, -0.1250,  0.8750],
        [ 2.0000, -1.0000,  1.5000, -0.5000],
        [ 0.2500, -0.2500,  0.7500, -0.7500]])
""",
    'index_copy_': """\
In place: index_copy.

Signature: index_copy_(x, dim, index, source)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.index_copy_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([2, 0])
>>> z = nbgrad.tensor([[0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]])
>>> x.index_copy_(0, y, z)
tensor([[ 0.1250,  0.6250, -0.1250,  0.8750],
        [ 2.0000, -1.0000,  1.5000, -0.5000],
        [ 0.2500, -0.2500,  0.7500, -0.7500]])
""",
    'index_fill': """\
``x`` with ``value``, a number or a tensor of one element, in the slices that ``index`` names, from the end if
negative.

Signature: index_fill(x, dim, index, value)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.index_fill(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([2, 0, 2])
>>> nbgrad.index_fill(x, 0, y, 1.5)
tensor([[ 1.5000,  1.5000,  1.5000,  1.5000],
        [ 2.0000, -1.0000,  1.5000, -0.5000],
        [ 1.5000,  1.5000,  1.5000,  1.5000]])
""",
    'index_fill_': """\
In place: index_fill.

Signature: index_fill_(x, dim, index, value)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.index_fill_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([2, 0, 2])
>>> x.index_fill_(0, y, 1.5)
tensor([[ 1.5000,  1.5000,  1.5000,  1.5000],
        [ 2.0000, -1.0000,  1.5000, -0.5000],
        [ 1.5000,  1.5000,  1.5000,  1.5000]])
""",
    'index_put': """\
``x`` with ``values`` written (or added) at a tuple of index tensors or masks.

Signature: index_put(x, indices, values, accumulate=False)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.index_put(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = [nbgrad.tensor([2, 0]), nbgrad.tensor([2, 0])]
>>> z = nbgrad.tensor([2.5, -3.0])
>>> nbgrad.index_put(x, y, z)
tensor([[-3.0000, -2.0000,  3.0000,  0.5000],
        [ 2.0000, -1.0000,  1.5000, -0.5000],
        [ 2.5000, -3.0000,  2.5000, -2.5000]])
""",
    'index_put_': """\
In place: index_put.

Signature: index_put_(x, indices, values, accumulate=False)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.index_put_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = [nbgrad.tensor([2, 0]), nbgrad.tensor([2, 0])]
>>> z = nbgrad.tensor([2.5, -3.0])
>>> x.index_put_(y, z)
tensor([[-3.0000, -2.0000,  3.0000,  0.5000],
        [ 2.0000, -1.0000,  1.5000, -0.5000],
        [ 2.5000, -3.0000,  2.5000, -2.5000]])
""",
    'index_reduce': """\
``input`` and the slices of ``source`` that a vector ``index`` sends to each along dim, reduced: prod, mean,
amax or amin.

Raises:
    RangeError: another reduction. ShapeError: not an index for each slice.

Signature: index_reduce(input, dim, index, source, reduce, *, include_self=True)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    RangeError: such as for ([3, 3], 0, [3], [3, 3], 'sum').

Derivative: that of the operations it is written in.

Forms: x.index_reduce(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0], [1.5, -0.5, 2.5]])
>>> y = nbgrad.tensor([0, 2, 0])
>>> z = nbgrad.tensor([[0.75, -0.75, 0.625], [0.875, 1.0, -2.0], [3.0, 0.5, 2.0]])
>>> nbgrad.index_reduce(x, 0, y, z, 'prod')
tensor([[ 2.2500,  0.7500,  3.7500],
        [ 0.5000,  2.0000, -1.0000],
        [ 1.3125, -0.5000, -5.0000]])
""",
    'index_reduce_': """\
In place: index_reduce.

Signature: index_reduce_(input, dim, index, source, reduce, *, include_self=True)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    RangeError: such as for ([3, 3], 0, [3], [3, 3], 'sum').

Derivative: that of the operations it is written in.

Forms: x.index_reduce_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0], [1.5, -0.5, 2.5]])
>>> y = nbgrad.tensor([0, 2, 0])
>>> z = nbgrad.tensor([[0.75, -0.75, 0.625], [0.875, 1.0, -2.0], [3.0, 0.5, 2.0]])
>>> x.index_reduce_(0, y, z, 'prod')
tensor([[ 2.2500,  0.7500,  3.7500],
        [ 0.5000,  2.0000, -1.0000],
        [ 1.3125, -0.5000, -5.0000]])
""",
    'index_select': """\
The slices of dim that a one-dimensional index names.

Signature: index_select(input, dim, index)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: g.index_select_backward(x_shape, dim, index)

Forms: x.index_select(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]], requires_grad=True)
>>> y = nbgrad.tensor([2, 0, 2])
>>> nbgrad.index_select(x, 0, y)
tensor([[ 2.5000, -3.0000, -1.5000, -2.5000],
        [ 1.0000, -2.0000,  3.0000,  0.5000],
        [ 2.5000, -3.0000, -1.5000, -2.5000]], grad_fn=<IndexSelectBackward0>)
>>> nbgrad.grad(nbgrad.index_select(x, 0, y).sum(), x)
(tensor([[1., 1., 1., 1.],
        [0., 0., 0., 0.],
        [2., 2., 2., 2.]]),)
""",
    'inner': """\
Sums of products over the last dimensions of both; a 0-d operand multiplies.

Signature: inner(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.inner(...), out=; NumPy: np.inner.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.inner(x, y)
tensor(8.5000)
""",
    'inverse': """\
The inverse of square matrices.

Raises:
    LinAlgError: one is singular. ShapeError, DTypeError: no square matrices of single or double precision.

Signature: inverse(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.inverse(...), out=.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.inverse(x)
tensor([[ 0.3741, -0.2014,  0.1439],
        [-0.0863,  0.6619, -0.1871],
        [ 0.0791, -0.2734,  0.3381]])
""",
    'is_complex': """\
Whether the dtype is a complex one: a Python bool.

Signature: is_complex(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.is_complex(x)
False
""",
    'is_conj': """\
Whether the tensor is a lazy conjugate: a Python bool.

>>> z = nbgrad.tensor([1 + 2j])
>>> z.conj().is_conj(), z.conj().conj().is_conj(), z.conj().clone().is_conj()
(True, False, False)

Signature: is_conj(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.is_conj(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.is_conj(x)
False
""",
    'is_floating_point': """\
Whether the dtype is a floating one: a Python bool.

Signature: is_floating_point(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.is_floating_point(x)
True
""",
    'is_neg': """\
Whether the tensor is a lazy negative, as the imaginary part of a lazy conjugate is: a Python bool.

>>> nbgrad.tensor([1 + 2j]).conj().imag.is_neg()
True

Signature: is_neg(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.is_neg(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.is_neg(x)
False
""",
    'isclose': """\
Where |input - other| <= atol + rtol * |other|; infinities equal themselves, NaN with ``equal_nan``.

Signature: isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.isclose(...); NumPy: np.isclose.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.isclose(x, y, 0.1, 1.0)
tensor([[ True,  True, False],
        [ True,  True, False]])
""",
    'isfinite': """\
x is neither infinite nor NaN.

Signature: isfinite(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: bool, from operands of any dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: none; the result requires no grad.

Forms: x.isfinite(...); NumPy: np.isfinite.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.isfinite(x)
tensor([[True, True, True],
        [True, True, True]])
""",
    'isin': """\
Where elements are among the test elements. No gradient.

Signature: isin(elements, test_elements, *, assume_unique=False, invert=False)

Operands:
    elements: a tensor or a NumPy array.

Returns:
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.isin.

>>> x = nbgrad.tensor([2, 0, 1, 2])
>>> y = nbgrad.tensor([2, 5])
>>> nbgrad.isin(x, y)
tensor([ True, False, False,  True])
""",
    'isinf': """\
x is infinite.

Signature: isinf(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: bool, from operands of any dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: none; the result requires no grad.

Forms: x.isinf(...); NumPy: np.isinf.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.isinf(x)
tensor([[False, False, False],
        [False, False, False]])
""",
    'isnan': """\
x is not a number.

Signature: isnan(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: bool, from operands of any dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: none; the result requires no grad.

Forms: x.isnan(...); NumPy: np.isnan.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.isnan(x)
tensor([[False, False, False],
        [False, False, False]])
""",
    'isneginf': """\
x is negative infinity.

Signature: isneginf(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: bool, from operands of any dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative: none; the result requires no grad.

Forms: x.isneginf(...), out=; NumPy: np.isneginf.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> nbgrad.isneginf(x)
tensor([False, False, False])
""",
    'isposinf': """\
x is positive infinity.

Signature: isposinf(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: bool, from operands of any dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative: none; the result requires no grad.

Forms: x.isposinf(...), out=; NumPy: np.isposinf.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> nbgrad.isposinf(x)
tensor([False, False, False])
""",
    'isreal': """\
Where the imaginary part is 0; True everywhere for real tensors.

>>> nbgrad.isreal(nbgrad.tensor([1 + 0j, 1j]))
tensor([ True, False])

Signature: isreal(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool: kept; int64, float16, float32, float64, complex64: bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.isreal(...); NumPy: np.isreal.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.isreal(x)
tensor([[True, True, True],
        [True, True, True]])
""",
    'iterate': """\
Iterate over the first dimension, as ``unbind`` does.

Raises:
    ArgumentError: a 0-d tensor has none.

Signature: iterate(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64, complex64: tuple_iterator.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.iterate(...); also called __iter__.
""",
    'kl_div': """\
target (log(target) - input), where input is a log-probability, and target too with ``log_target``.

``reduction="batchmean"`` divides the sum by ``input.shape[0]``, which is the divergence.

Signature: kl_div(input, target, size_average=None, reduce=None, reduction='mean', log_target=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2, 3], [2, 3], reduction='all').

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[0.625, 0.875, 0.5], [0.25, 0.75, 0.125]])
>>> nbgrad.kl_div(x, y)
tensor(-0.5757)
""",
    'kron': """\
The Kronecker product: every element of ``input`` times the whole of ``other``.

Signature: kron(input, other)

Operands:
    input, other: tensors.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    input: in_dtype(kron_share(g, other, input_shape, other_shape, True), input_dtype)
    other: in_dtype(kron_share(g, input, other_shape, input_shape, False), other_dtype)

Forms: x.kron(...), out=; NumPy: np.kron.

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5]], requires_grad=True)
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5]], requires_grad=True)
>>> nbgrad.kron(x, y)
tensor([[ 2.0000, -1.0000,  1.5000, -4.0000,  2.0000, -3.0000],
        [ 6.0000, -3.0000,  4.5000,  1.0000, -0.5000,  0.7500]],
       grad_fn=<KronBackward0>)
>>> nbgrad.grad(nbgrad.kron(x, y).sum(), [x, y])
(tensor([[2.5000, 2.5000],
        [2.5000, 2.5000]]), tensor([[2.5000, 2.5000, 2.5000]]))
""",
    'kthvalue': """\
(values, indices) of the k-th smallest element along dim, counted from 1; NaN counts as the greatest number.

Raises:
    RangeError: there is no k-th element.

Signature: kthvalue(input, k, dim=-1, keepdim=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    RangeError: such as for ([3, 4], 5).

Derivative: that of the operations it is written in.

Forms: x.kthvalue(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.kthvalue(x, 2)
Extremum(values=tensor([ 0.5000, -0.5000, -2.5000]), indices=tensor([3, 3, 3]))
""",
    'l1_loss': """\
|input - target|, times weight (of the same shape), reduced; a weighted mean is divided by the sum of the
weights.

Signature: l1_loss(input, target, size_average=None, reduce=None, reduction='mean', weight=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2, 3], [2, 3], reduction='all').

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.l1_loss(x, y)
tensor(1.1667)
""",
    'lcm': """\
The least common multiple.

Signature: lcm(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: of integers and bools only, in their common dtype; bool is refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.lcm(...), x.lcm_(...), out=; NumPy: np.lcm.

>>> x = nbgrad.tensor([4, 8, 12])
>>> y = nbgrad.tensor([8, 4, 6])
>>> nbgrad.lcm(x, y)
tensor([ 8,  8, 12])
""",
    'ldexp': """\
input * 2**other.

Signature: ldexp(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float32, float16, float64, complex64: kept; bool, int64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.ldexp(...), out=; NumPy: np.ldexp.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.ldexp(x, y)
tensor([[ 4.0000, -1.0000,  8.4853],
        [ 2.0000,  1.0000, -2.8284]])
""",
    'ldexp_': """\
In place: ldexp.

Signature: ldexp_(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64, complex64: kept; bool, int64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.ldexp_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> x.ldexp_(y)
tensor([[ 4.0000, -1.0000,  8.4853],
        [ 2.0000,  1.0000, -2.8284]])
""",
    'le': """\
x <= y.

Signature: le(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: bool, from operands of any dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.le(...), x.le_(...), out=; also called less_equal.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.le(x, y)
tensor([ True,  True, False])
""",
    'leaky_relu': """\
leaky_relu; inplace=True overwrites input.

Signature: leaky_relu(input, negative_slope=0.01, inplace=False)

Operands:
    input, negative_slope: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x > 0, g, g * negative_slope)

Forms: x.leaky_relu(...), x.leaky_relu_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.leaky_relu(x, 0.1)
tensor([ 1.0000, -0.2000,  3.0000], grad_fn=<LeakyReluBackward0>)
>>> nbgrad.grad(nbgrad.leaky_relu(x, 0.1).sum(), x)
(tensor([1.0000, 0.1000, 1.0000]),)
""",
    'lerp': """\
x + weight * (end - x).

Signature: lerp(input, end, weight)

Operands:
    input, end, weight: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: g * (1 - weight)
    end: g * weight
    weight: g * (end - x)

Forms: x.lerp(...), x.lerp_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> z = nbgrad.tensor([2.5, -3.0, -1.5], requires_grad=True)
>>> nbgrad.lerp(x, y, z)
tensor([ 3.5000, -5.0000,  5.2500], grad_fn=<LerpBackward1>)
>>> nbgrad.grad(nbgrad.lerp(x, y, z).sum(), [x, y, z])
(tensor([-1.5000,  4.0000,  2.5000]), tensor([ 2.5000, -3.0000, -1.5000]), tensor([ 1.0000,  1.0000, -1.5000]))
""",
    'lgamma': """\
The logarithm of the magnitude of the gamma function.

Signature: lgamma(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * digamma(x)

Forms: x.lgamma(...), x.lgamma_(...), out=.

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> nbgrad.lgamma(x)
tensor([0.0000, 0.6931, 0.5724], grad_fn=<LgammaBackward0>)
>>> nbgrad.grad(nbgrad.lgamma(x).sum(), x)
(tensor([-0.5772,  0.9228, -1.9635]),)
""",
    'linalg_cholesky': """\
The lower triangle L with A = L @ L^H of positive definite matrices; with ``upper`` L^H.

Raises:
    LinAlgError: one is not positive definite.

Signature: linalg.cholesky(A, *, upper=False)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.cholesky.

>>> x = nbgrad.tensor([[10.28125, 0.75, -4.75], [0.75, 5.09375, 6.875], [-4.75, 6.875, 18.53125]])
>>> nbgrad.linalg.cholesky(x)
tensor([[ 3.2064,  0.0000,  0.0000],
        [ 0.2339,  2.2448,  0.0000],
        [-1.4814,  3.2170,  2.4469]])
""",
    'linalg_cholesky_ex': """\
(L, info); info is the order of the first part that is not positive definite, 0 if there is none.

Signature: linalg.cholesky_ex(A, *, upper=False, check_errors=False)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[10.28125, 0.75, -4.75], [0.75, 5.09375, 6.875], [-4.75, 6.875, 18.53125]])
>>> nbgrad.linalg.cholesky_ex(x)
WithInfo(L=tensor([[ 3.2064,  0.0000,  0.0000],
        [ 0.2339,  2.2448,  0.0000],
        [-1.4814,  3.2170,  2.4469]]), info=tensor(0, dtype=nbgrad.int32))
""",
    'linalg_cond': """\
The condition number of matrices in a norm of ``matrix_norm``, 2 by default.

Signature: linalg.cond(A, p=None)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64: kept; bool, int64, float16: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.cond.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.cond(x)
tensor(4.0759)
""",
    'linalg_cross': """\
The vector product along a dimension of size 3; the operands broadcast.

Signature: linalg.cross(input, other, *, dim=-1)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.cross.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5]])
>>> nbgrad.linalg.cross(x, y)
tensor([[ 0.0000,  4.5000,  3.0000],
        [ 2.0000, -2.7500, -4.5000]])
""",
    'linalg_det': """\
The determinant of square matrices.

Signature: linalg.det(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.det.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.det(x)
tensor(17.3750)
""",
    'linalg_diagonal': """\
The diagonals of matrices, as a view.

Signature: linalg.diagonal(A, *, offset=0, dim1=-2, dim2=-1)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.diagonal.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.diagonal(x, offset=1)
tensor([0.5000, 1.0000])
""",
    'linalg_eig': """\
(eigenvalues, eigenvectors) of square matrices: complex, the vectors of length 1, in no particular order.

Signature: linalg.eig(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: complex64: kept; bool, int64, float16: refused; float32: complex64; float64: complex128.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.eig.

>>> x = nbgrad.tensor([[10.28125, 0.75, -4.75], [0.75, 5.09375, 6.875], [-4.75, 6.875, 18.53125]])
>>> nbgrad.linalg.eig(x)
EighResult(eigenvalues=tensor([22.7943+0.j,  9.7105+0.j,  1.4014+0.j]), eigenvectors=tensor([[ 0.3174+0.j,  0.8996+0.j, -0.2999+0.j],
        [-0.3316+0.j,  0.4015+0.j,  0.8537+0.j],
        [-0.8884+0.j,  0.1715+0.j, -0.4258+0.j]]))
""",
    'linalg_eigh': """\
(eigenvalues, eigenvectors) of symmetric or Hermitian matrices, in ascending order; one triangle is looked at.

The gradient is that of a loss which does not depend on the sign or phase of the eigenvectors; equal eigenvalues have none.

Signature: linalg.eigh(A, UPLO='L')

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64: kept; bool, int64, float16: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([3, 3], 'X').

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.eigh.

>>> x = nbgrad.tensor([[10.28125, 0.75, -4.75], [0.75, 5.09375, 6.875], [-4.75, 6.875, 18.53125]])
>>> nbgrad.linalg.eigh(x)
EighResult(eigenvalues=tensor([ 1.4014,  9.7105, 22.7943]), eigenvectors=tensor([[-0.2999, -0.8996, -0.3174],
        [ 0.8537, -0.4015,  0.3316],
        [-0.4258, -0.1715,  0.8884]]))
""",
    'linalg_eigvals': """\
The eigenvalues of square matrices: complex, in no particular order.

Signature: linalg.eigvals(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: complex64: kept; bool, int64, float16: refused; float32: complex64; float64: complex128.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.eigvals.

>>> x = nbgrad.tensor([[10.28125, 0.75, -4.75], [0.75, 5.09375, 6.875], [-4.75, 6.875, 18.53125]])
>>> nbgrad.linalg.eigvals(x)
tensor([22.7943+0.j,  9.7105+0.j,  1.4014+0.j])
""",
    'linalg_eigvalsh': """\
The eigenvalues of symmetric or Hermitian matrices, in ascending order.

Signature: linalg.eigvalsh(A, UPLO='L')

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64: kept; bool, int64, float16: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.eigvalsh.

>>> x = nbgrad.tensor([[10.28125, 0.75, -4.75], [0.75, 5.09375, 6.875], [-4.75, 6.875, 18.53125]])
>>> nbgrad.linalg.eigvalsh(x)
tensor([ 1.4014,  9.7105, 22.7943])
""",
    'linalg_householder_product': """\
The first columns of the product of Householder's reflections, whose vectors are below the diagonal of A.

Signature: linalg.householder_product(A, tau)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]])
>>> y = nbgrad.tensor([0.5, 1.25])
>>> nbgrad.linalg.householder_product(x, y)
tensor([[ 0.5000,  0.2500],
        [ 0.2500, -0.3750],
        [-1.0000,  0.1875]])
""",
    'linalg_inv': """\
The inverse of square matrices.

Raises:
    LinAlgError: one is singular. ShapeError, DTypeError: no square matrices of single or double precision.

Signature: linalg.inv(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    LinAlgError: such as for ([2, 2]).
    ShapeError: such as for ([2, 3]).

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.inv.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.inv(x)
tensor([[ 0.3741, -0.2014,  0.1439],
        [-0.0863,  0.6619, -0.1871],
        [ 0.0791, -0.2734,  0.3381]])
""",
    'linalg_inv_ex': """\
(inverse, info) of square matrices; of singular ones the inverse is NaN, and info the first row without a
pivot, from 1 on.

Raises:
    LinAlgError: one is singular, if ``check_errors``.

Signature: linalg.inv_ex(A, *, check_errors=False)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.inv_ex(x)
InverseWithInfo(inverse=tensor([[ 0.3741, -0.2014,  0.1439],
        [-0.0863,  0.6619, -0.1871],
        [ 0.0791, -0.2734,  0.3381]]), info=tensor(0, dtype=nbgrad.int32))
""",
    'linalg_lstsq': """\
(solution, residuals, rank, singular_values) of the X that minimises the length of A @ X - B.

Signature: linalg.lstsq(A, B, rcond=None, *, driver=None)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.lstsq.

>>> x = nbgrad.tensor([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]])
>>> y = nbgrad.tensor([[1.0, -2.0], [0.5, 1.5], [-1.0, 0.25]])
>>> nbgrad.linalg.lstsq(x, y)
LstsqResult(solution=tensor([[-0.4078, -0.3740],
        [ 0.5091, -0.1636]]), residuals=tensor([]), rank=tensor(2), singular_values=tensor([]))
""",
    'linalg_lu': """\
(P, L, U) with A = P @ L @ U: a permutation, a unit lower and an upper triangle.

Signature: linalg.lu(A, *, pivot=True)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.lu(x)
LUResult(P=tensor([[1., 0., 0.],
        [0., 1., 0.],
        [0., 0., 1.]]), L=tensor([[ 1.0000,  0.0000,  0.0000],
        [ 0.0833,  1.0000,  0.0000],
        [-0.1667,  0.8085,  1.0000]]), U=tensor([[ 3.0000,  0.5000, -1.0000],
        [ 0.0000,  1.9583,  1.0833],
        [ 0.0000,  0.0000,  2.9574]]))
""",
    'linalg_lu_factor': """\
(LU, pivots): both triangles of ``lu`` in one matrix, and the row, counted from 1, that each step exchanged
with its own.

Raises:
    LinAlgError: U has a zero on its diagonal, so that systems have no solution. Hint: lu_factor_ex, lu.

Signature: linalg.lu_factor(A, *, pivot=True)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.lu_factor(x)
LUFactors(LU=tensor([[ 3.0000,  0.5000, -1.0000],
        [ 0.0833,  1.9583,  1.0833],
        [-0.1667,  0.8085,  2.9574]]), pivots=tensor([1, 2, 3], dtype=nbgrad.int32))
""",
    'linalg_lu_factor_ex': """\
(LU, pivots, info) of ``lu_factor``; info is the first row, counted from 1, where the diagonal of U is 0, else
0.

Raises:
    LinAlgError: there is one, if ``check_errors``.

Signature: linalg.lu_factor_ex(A, *, pivot=True, check_errors=False)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.lu_factor_ex(x)
LUFactorsWithInfo(LU=tensor([[ 3.0000,  0.5000, -1.0000],
        [ 0.0833,  1.9583,  1.0833],
        [-0.1667,  0.8085,  2.9574]]), pivots=tensor([1, 2, 3], dtype=nbgrad.int32), info=tensor(0, dtype=nbgrad.int32))
""",
    'linalg_lu_solve': """\
The X with A @ X = B, or X @ A = B, from what ``lu_factor(A)`` returns; with ``adjoint`` of A^H.

Signature: linalg.lu_solve(LU, pivots, B, *, left=True, adjoint=False)

Operands:
    LU: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> y = nbgrad.tensor([1, 2, 3])
>>> z = nbgrad.tensor([[1.0, -2.0], [0.5, 1.5], [-1.0, 0.25]])
>>> nbgrad.linalg.lu_solve(x, y, z)
tensor([[ 0.2214, -1.2240],
        [ 0.2344,  1.4688],
        [-0.2188, -0.9375]])
""",
    'linalg_matmul': """\
The matrix product: see ``nbgrad.matmul``.

Signature: linalg.matmul(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.matmul.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0], [1.5, -0.5], [2.5, -3.0]])
>>> nbgrad.linalg.matmul(x, y)
tensor([[ 6.5000, -9.0000],
        [ 1.5000,  1.5000]])
""",
    'linalg_matrix_exp': """\
The exponential of square matrices.

Signature: linalg.matrix_exp(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: bool, float16, float32, float64, complex64: kept; int64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.5, 0.25, -0.5], [0.125, 1.0, 0.5], [-0.25, 0.75, 2.0]])
>>> nbgrad.linalg.matrix_exp(x)
tensor([[ 4.8308,  0.0759, -2.8398],
        [ 0.1873,  3.4843,  2.3918],
        [-1.3452,  3.6624,  8.7906]])
""",
    'linalg_matrix_norm': """\
A norm of matrices: "fro", "nuc", inf, -inf, 1, -1, 2 or -2.

Raises:
    RangeError: another one.

Signature: linalg.matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    RangeError: such as for ([3, 3], 'other').

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.matrix_norm.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.matrix_norm(x)
tensor(5.8149)
""",
    'linalg_matrix_power': """\
The n-th power of square matrices, by squaring, of any dtype that has products; of a negative n that of the
inverse.

Signature: linalg.matrix_power(A, n)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.matrix_power.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.matrix_power(x, 3)
tensor([[ 32.3750,  -2.9375, -34.6250],
        [  0.7812,  20.2500,  27.8750],
        [-16.1875,  42.9375,  83.8750]])
""",
    'linalg_matrix_rank': """\
How many singular values are greater than max(atol, rtol * the greatest). It has no gradient.

Signature: linalg.matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16: refused; float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.matrix_rank.

>>> x = nbgrad.tensor([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]])
>>> nbgrad.linalg.matrix_rank(x)
tensor(2)
""",
    'linalg_multi_dot': """\
The product of several matrices in the order that takes the fewest multiplications; the ends may be vectors.

Raises:
    ShapeError: fewer than two, or they do not go together.

Signature: linalg.multi_dot(tensors)

Operands:
    tensors: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([(2, 2)]).

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.multi_dot.

>>> x = [nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]]), nbgrad.tensor([[0.5, 2.0, -1.0, 1.5], [-0.5, 2.5, -3.0, -1.5], [-2.5, 0.25, -0.25, 0.75]]), nbgrad.tensor([[1.5, -0.5], [2.5, -3.0], [-1.5, -2.5], [0.25, -0.25]])]
>>> nbgrad.linalg.multi_dot(x)
tensor([[-19.3125,  -2.5625],
        [ 25.6250,  -1.7500]])
""",
    'linalg_norm': """\
``vector_norm`` of one dimension, or of all elements without ``ord``; ``matrix_norm`` of two.

Signature: linalg.norm(A, ord=None, dim=None, keepdim=False, *, dtype=None)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.norm.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.norm(x)
tensor(5.8149)
""",
    'linalg_pinv': """\
The Moore-Penrose inverse; singular values up to max(atol, rtol * the greatest) count as 0.

``rtol`` (or ``rcond``) is max(m, n) eps unless one of the tolerances is given.

Signature: linalg.pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.pinv.

>>> x = nbgrad.tensor([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]])
>>> nbgrad.linalg.pinv(x)
tensor([[ 0.0935, -0.1922,  0.4052],
        [ 0.2909,  0.2909, -0.0727]])
""",
    'linalg_qr': """\
(Q, R) with A = Q @ R: orthonormal columns and an upper triangle. ``mode`` is "reduced", "complete" or "r".

Raises:
    RangeError: another mode. NotSupportedError from backward: of "complete" where Q has more columns than A.

Signature: linalg.qr(A, mode='reduced')

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([3, 3], 'other').

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.qr.

>>> x = nbgrad.tensor([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]])
>>> nbgrad.linalg.qr(x)
QRResult(Q=tensor([[-0.4364, -0.6963],
        [ 0.2182, -0.6963],
        [-0.8729,  0.1741]]), R=tensor([[-2.2913, -0.7638],
        [ 0.0000, -2.3936]]))
""",
    'linalg_slogdet': """\
(sign, logabsdet): the determinant's sign, and the logarithm of its magnitude.

Signature: linalg.slogdet(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.slogdet.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.slogdet(x)
SlogdetResult(sign=tensor(1.), logabsdet=tensor(2.8550))
""",
    'linalg_solve': """\
The X with A @ X = B, or X @ A = B; B is a matrix, a vector, or a batch of either.

Raises:
    LinAlgError: A is singular. ShapeError: they do not go together.

Signature: linalg.solve(A, B, *, left=True)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([3, 3], [2, 2]).

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.solve.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> y = nbgrad.tensor([[1.0, -2.0], [0.5, 1.5], [-1.0, 0.25]])
>>> nbgrad.linalg.solve(x, y)
tensor([[ 0.1295, -1.0144],
        [ 0.4317,  1.1187],
        [-0.3957, -0.4838]])
""",
    'linalg_solve_ex': """\
(result, info) of ``solve``; see ``inv_ex``.

Raises:
    LinAlgError: a matrix is singular, if ``check_errors``.

Signature: linalg.solve_ex(A, B, *, left=True, check_errors=False)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> y = nbgrad.tensor([[1.0, -2.0], [0.5, 1.5], [-1.0, 0.25]])
>>> nbgrad.linalg.solve_ex(x, y)
SolveWithInfo(result=tensor([[ 0.1295, -1.0144],
        [ 0.4317,  1.1187],
        [-0.3957, -0.4838]]), info=tensor(0, dtype=nbgrad.int32))
""",
    'linalg_solve_triangular': """\
``solve`` of a triangle of A; what is on the other side of its diagonal is not looked at.

Raises:
    ShapeError: they do not go together.

Signature: linalg.solve_triangular(A, B, *, upper, left=True, unitriangular=False)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> y = nbgrad.tensor([[1.0, -2.0], [0.5, 1.5], [-1.0, 0.25]])
>>> nbgrad.linalg.solve_triangular(x, y, upper=True)
tensor([[ 0.1875, -0.7656],
        [ 0.3750,  0.7188],
        [-0.2500,  0.0625]])
""",
    'linalg_svd': """\
(U, S, Vh) with A = U @ diag(S) @ Vh, singular values in descending order.

The gradient is that of a loss which does not depend on the signs or phases of the vectors; equal singular values have none.

Signature: linalg.svd(A, full_matrices=True, *, driver=None)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.svd.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.svd(x)
SVDResult(U=tensor([[-0.3174, -0.8996,  0.2999],
        [ 0.3316, -0.4015, -0.8537],
        [ 0.8884, -0.1715,  0.4258]]), S=tensor([4.7711, 3.1111, 1.1705]), Vh=tensor([[-0.2753,  0.3851,  0.8809],
        [-0.8722, -0.4854, -0.0604],
        [ 0.4043, -0.7849,  0.4695]]))
""",
    'linalg_svdvals': """\
The singular values, in descending order.

Signature: linalg.svdvals(A, *, driver=None)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64: kept; bool, int64, float16: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.svdvals.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.svdvals(x)
tensor([4.7711, 3.1112, 1.1705])
""",
    'linalg_tensorinv': """\
The inverse of a tensor whose first ``ind`` dimensions are seen as rows and the others as columns.

Signature: linalg.tensorinv(A, ind=2)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.tensorinv.

>>> x = nbgrad.tensor([[[3.0, 0.5, -1.0]], [[0.25, 2.0, 1.0]], [[-0.5, 1.5, 4.0]]])
>>> nbgrad.linalg.tensorinv(x, 2)
tensor([[[ 0.3741],
         [-0.2014],
         [ 0.1439]],
<BLANKLINE>
        [[-0.0863],
         [ 0.6619],
         [-0.1871]],
<BLANKLINE>
        [[ 0.0791],
         [-0.2734],
         [ 0.3381]]])
""",
    'linalg_tensorsolve': """\
The X with tensordot(A, X, X.ndim) = B.

Signature: linalg.tensorsolve(A, B, dims=None)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.tensorsolve.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> y = nbgrad.tensor([1.0, -0.5, 2.0])
>>> nbgrad.linalg.tensorsolve(x, y)
tensor([ 0.7626, -0.7914,  0.8921])
""",
    'linalg_vander': """\
Powers of the elements of vectors, from 1 up, one a column.

Raises:
    ShapeError: a 0-d tensor. RangeError: N is negative.

Signature: linalg.vander(x, *, N=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([1.0, -0.5, 2.0])
>>> nbgrad.linalg.vander(x)
tensor([[ 1.0000,  1.0000,  1.0000],
        [ 1.0000, -0.5000,  0.2500],
        [ 1.0000,  2.0000,  4.0000]])
""",
    'linalg_vecdot': """\
Sums of products along a dimension, the first operand conjugated.

Signature: linalg.vecdot(x, y, *, dim=-1)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.vecdot.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5]])
>>> nbgrad.linalg.vecdot(x, y)
tensor([ 8.5000, -2.5000])
""",
    'linalg_vector_norm': """\
The p-norm over dimensions, of all elements by default.

Signature: linalg.vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: NumPy: np.linalg.vector_norm.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.linalg.vector_norm(x)
tensor(5.8149)
""",
    'linear': """\
``input @ weight.T + bias``.

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

Signature: linear(input, weight, bias=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 3], [4, 2]).

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0], [-1.5, -2.5, 0.25], [-0.25, 0.75, -0.75]])
>>> z = nbgrad.tensor([2.5, -3.0, -1.5, -2.5])
>>> nbgrad.linear(x, y, z)
tensor([[ 11.0000, -17.5000,   2.7500,  -6.5000],
        [  0.0000,   4.7500,  -7.5000,  -0.3750]])
""",
    'log': """\
The natural logarithm.

Signature: log(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g / x

Forms: x.log(...), x.log_(...), out=; NumPy: np.log.

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> nbgrad.log(x)
tensor([ 0.0000,  1.0986, -0.6931], grad_fn=<LogBackward0>)
>>> nbgrad.grad(nbgrad.log(x).sum(), x)
(tensor([1.0000, 0.3333, 2.0000]),)
""",
    'log10': """\
The logarithm to base 10.

Signature: log10(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g / (x * 2.30259)

Forms: x.log10(...), x.log10_(...), out=; NumPy: np.log10.

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> nbgrad.log10(x)
tensor([ 0.0000,  0.4771, -0.3010], grad_fn=<Log10Backward0>)
>>> nbgrad.grad(nbgrad.log10(x).sum(), x)
(tensor([0.4343, 0.1448, 0.8686]),)
""",
    'log1p': """\
log(1 + x), exact near 0.

Signature: log1p(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g / (x + 1)

Forms: x.log1p(...), x.log1p_(...), out=; NumPy: np.log1p.

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> nbgrad.log1p(x)
tensor([0.6931, 1.3863, 0.4055], grad_fn=<Log1PBackward0>)
>>> nbgrad.grad(nbgrad.log1p(x).sum(), x)
(tensor([0.5000, 0.2500, 0.6667]),)
""",
    'log2': """\
The logarithm to base 2.

Signature: log2(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g / (x * 0.693147)

Forms: x.log2(...), x.log2_(...), out=; NumPy: np.log2.

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> nbgrad.log2(x)
tensor([ 0.0000,  1.5850, -1.0000], grad_fn=<Log2Backward0>)
>>> nbgrad.grad(nbgrad.log2(x).sum(), x)
(tensor([1.4427, 0.4809, 2.8854]),)
""",
    'log_ndtr': """\
The logarithm of ndtr, without its underflow.

Signature: special.log_ndtr(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x < 0, g * 0.797885 / erfcx(-0.707107 * x), g * 0.797885 * exp(-0.5 * where(where(x > 60, 60, x)
        < -60, -60, where(x > 60, 60, x)) * where(where(x > 60, 60, x) < -60, -60, where(x > 60, 60, x))) /
        erfc(-0.707107 * x))

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.special.log_ndtr(x)
tensor([-1.7275e-01, -3.7832e+00, -1.3508e-03],
       grad_fn=<SpecialLogNdtrBackward0>)
>>> nbgrad.grad(nbgrad.special.log_ndtr(x).sum(), x)
(tensor([0.2876, 2.3732, 0.0044]),)
""",
    'log_softmax': """\
Logarithm of softmax along dim, without its overflow.

Signature: log_softmax(input, dim, dtype=None)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: cast(log_softmax_backward(g, out, dim), x_dtype)

Forms: x.log_softmax(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.log_softmax(x, 1)
tensor([[-2.1328, -5.1328, -0.1328],
        [-1.7413, -0.2413, -3.2413]], grad_fn=<LogSoftmaxBackward0>)
>>> nbgrad.grad(nbgrad.log_softmax(x, 1).sum(), x)
(tensor([[ 0.6445,  0.9823, -1.6268],
        [ 0.4741, -1.3568,  0.8827]]),)
""",
    'logaddexp': """\
log(e**x + e**y), without overflow.

Signature: logaddexp(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(isinf(x) & (x == y), g * 0.5, g * sigmoid(1 * (x - y)))
    y: where(isinf(y) & (y == x), g * 0.5, g * sigmoid(1 * (y - x)))

Forms: x.logaddexp(...), out=; NumPy: np.logaddexp.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.logaddexp(x, y)
tensor([ 2.3133, -0.6867,  3.2014], grad_fn=<LogaddexpBackward0>)
>>> nbgrad.grad(nbgrad.logaddexp(x, y).sum(), [x, y])
(tensor([0.2689, 0.2689, 0.8176]), tensor([0.7311, 0.7311, 0.1824]))
""",
    'logaddexp2': """\
log2(2**x + 2**y), without overflow.

Signature: logaddexp2(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(isinf(x) & (x == y), g * 0.5, g * sigmoid(0.693147 * (x - y)))
    y: where(isinf(y) & (y == x), g * 0.5, g * sigmoid(0.693147 * (y - x)))

Forms: x.logaddexp2(...), out=; NumPy: np.logaddexp2.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.logaddexp2(x, y)
tensor([ 2.5850, -0.4150,  3.4368], grad_fn=<Logaddexp2Backward0>)
>>> nbgrad.grad(nbgrad.logaddexp2(x, y).sum(), [x, y])
(tensor([0.3333, 0.3333, 0.7388]), tensor([0.6667, 0.6667, 0.2612]))
""",
    'logcumsumexp': """\
log(sum(exp(x))) of the elements up to each along dim, without overflow.

Signature: logcumsumexp(input, dim)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64, complex64: kept; bool, int64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.logcumsumexp(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> nbgrad.logcumsumexp(x, 1)
tensor([[1.0000, 1.0486, 3.1328, 3.2023],
        [2.0000, 2.0486, 2.5046, 2.5530]])
""",
    'logdet': """\
The logarithm of the determinant; NaN if that is negative.

Signature: logdet(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.logdet(...).

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.logdet(x)
tensor(2.8550)
""",
    'logical_and': """\
Both are not zero.

Signature: logical_and(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: bool, from operands of any dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.logical_and(...), x.logical_and_(...), out=; NumPy: np.logical_and.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.logical_and(x, y)
tensor([True, True, True])
""",
    'logical_not': """\
x is zero.

Signature: logical_not(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: bool, from operands of any dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: none; the result requires no grad.

Forms: x.logical_not(...), x.logical_not_(...), out=; NumPy: np.logical_not.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> nbgrad.logical_not(x)
tensor([False, False, False])
""",
    'logical_or': """\
At least one is not zero.

Signature: logical_or(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: bool, from operands of any dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.logical_or(...), x.logical_or_(...), out=; NumPy: np.logical_or.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.logical_or(x, y)
tensor([True, True, True])
""",
    'logical_xor': """\
Exactly one is not zero.

Signature: logical_xor(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: bool, from operands of any dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.logical_xor(...), x.logical_xor_(...), out=; NumPy: np.logical_xor.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.logical_xor(x, y)
tensor([False, False, False])
""",
    'logit': """\
log(input / (1 - input)), of input moved into [eps, 1 - eps] if eps is given.

Signature: logit(input, eps=None)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    logit_open, x: where((x < 0) | (x > 1), g * nan, g * (1 / x + 1 / (1 - x)))
    logit_within, x: where((x < eps) | (x > 1 - eps), 0, g / (x * (1 - x)))

Forms: x.logit_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.logit(x.sigmoid())
tensor([ 1.0000, -2.0000,  3.0000], grad_fn=<LogitBackward0>)
>>> nbgrad.grad(nbgrad.logit(x.sigmoid()).sum(), x)
(tensor([1.0000, 1.0000, 1.0000]),)
""",
    'logsigmoid': """\
log(sigmoid(x)).

Signature: logsigmoid(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * sigmoid(-x)

Forms: x.logsigmoid(...), x.logsigmoid_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.logsigmoid(x)
tensor([-0.3133, -2.1269, -0.0486], grad_fn=<LogSigmoidBackward0>)
>>> nbgrad.grad(nbgrad.logsigmoid(x).sum(), x)
(tensor([0.2689, 0.8808, 0.0474]),)
""",
    'logsumexp': """\
log(sum(exp(x))) over dimensions, without overflow.

Signature: logsumexp(input, dim, keepdim=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float32, float16, float64, complex64: kept; bool, int64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: g exp(x - out), over the sum of these, which is 1 but for the rounding of ``out``; 0 where every
        element is -inf

Forms: x.logsumexp(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.logsumexp(x, 1)
tensor([3.1328, 2.2413], grad_fn=<LogsumexpBackward0>)
>>> nbgrad.grad(nbgrad.logsumexp(x, 1).sum(), x)
(tensor([[0.1185, 0.0059, 0.8756],
        [0.1753, 0.7856, 0.0391]]),)
""",
    'lt': """\
x < y.

Signature: lt(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: bool, from operands of any dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.lt(...), x.lt_(...), out=; also called less.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.lt(x, y)
tensor([ True,  True, False])
""",
    'lu_solve': """\
See ``linalg.lu_solve``.

Signature: lu_solve(b, LU_data, LU_pivots)

Operands:
    b: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.lu_solve(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0], [0.5, 1.5], [-1.0, 0.25]])
>>> y = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> z = nbgrad.tensor([1, 2, 3])
>>> nbgrad.lu_solve(x, y, z)
tensor([[ 0.2214, -1.2240],
        [ 0.2344,  1.4688],
        [-0.2188, -0.9375]])
""",
    'lu_unpack': """\
(P, L, U) of what ``lu_factor`` returns.

Signature: lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True)

Operands:
    LU_data: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> y = nbgrad.tensor([1, 2, 3])
>>> nbgrad.lu_unpack(x, y)
LUResult(P=tensor([[1., 0., 0.],
        [0., 1., 0.],
        [0., 0., 1.]]), L=tensor([[ 1.0000,  0.0000,  0.0000],
        [ 0.2500,  1.0000,  0.0000],
        [-0.5000,  1.5000,  1.0000]]), U=tensor([[ 3.0000,  0.5000, -1.0000],
        [ 0.0000,  2.0000,  1.0000],
        [ 0.0000,  0.0000,  4.0000]]))
""",
    'mH': """\
The last two dimensions exchanged, and the elements conjugated.

Signature: mH(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([3]).

Derivative: that of the operations it is written in.

Forms: x.mH.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> x.mH
tensor([[ 1.0000,  0.5000],
        [-2.0000,  2.0000],
        [ 3.0000, -1.0000]])
""",
    'mT': """\
The last two dimensions exchanged.

Signature: mT(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([3]).

Derivative: that of the operations it is written in.

Forms: x.mT.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> x.mT
tensor([[ 1.0000,  0.5000],
        [-2.0000,  2.0000],
        [ 3.0000, -1.0000]])
""",
    'masked_fill': """\
value where mask is true, else x; the dtype is that of x.

Signature: masked_fill(input, mask, value)

Operands:
    input, mask, value: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: of the first operand's dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(mask, 0, g)
    value: where(mask, g, 0)

Forms: x.masked_fill(...), x.masked_fill_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> y = nbgrad.tensor([[True, False, True], [False, True, False]])
>>> nbgrad.masked_fill(x, y, nbgrad.tensor(1.0))
tensor([[ 1.0000, -2.0000,  1.0000],
        [ 0.5000,  1.0000, -1.0000]], grad_fn=<MaskedFillBackward0>)
>>> nbgrad.grad(nbgrad.masked_fill(x, y, nbgrad.tensor(1.0)).sum(), x)
(tensor([[0., 1., 0.],
        [1., 0., 1.]]),)
""",
    'masked_scatter': """\
x with consecutive elements of source where mask is true; x and mask broadcast.

Signature: masked_scatter(input, mask, source)

Operands:
    input, mask, source: tensors (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g.masked_fill(mask, 0).sum_to(x_shape)
    source: g.masked_scatter_backward(mask, source_shape)

Forms: x.masked_scatter(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[True, False, True], [False, True, True]])
>>> z = nbgrad.tensor([2.5, -3.0, -1.5, -2.5, 0.25, -0.25])
>>> nbgrad.masked_scatter(x, y, z)
tensor([[ 2.5000, -2.0000, -3.0000],
        [ 0.5000, -1.5000, -2.5000]])
""",
    'masked_scatter_': """\
In place: masked_scatter.

Signature: masked_scatter_(x, mask, source)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.masked_scatter_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[True, False, True], [False, True, True]])
>>> z = nbgrad.tensor([2.5, -3.0, -1.5, -2.5, 0.25, -0.25])
>>> x.masked_scatter_(y, z)
tensor([[ 2.5000, -2.0000, -3.0000],
        [ 0.5000, -1.5000, -2.5000]])
""",
    'masked_select': """\
The elements of x where mask is true, in one row; both broadcast.

Signature: masked_select(input, mask)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g.masked_select_backward(x_shape, mask)

Forms: x.masked_select(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> y = nbgrad.tensor([[True, False, True], [False, True, True]])
>>> nbgrad.masked_select(x, y)
tensor([ 1.,  3.,  2., -1.], grad_fn=<MaskedSelectBackward0>)
>>> nbgrad.grad(nbgrad.masked_select(x, y).sum(), x)
(tensor([[1., 0., 1.],
        [0., 1., 1.]]),)
""",
    'matmul': """\
The matrix product of the last two dimensions; batches broadcast, vectors take part as a row on the left or a
column on the right.

Signature: matmul(input, other)

Operands:
    input, other: tensors (x and y in formulas).

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 3], [5, 6]).

Derivative (g: the cotangent of the result, out: the result):
    x: left_cotangent(g, y, x_shape, y_shape)
    y: right_cotangent(g, x, x_shape, y_shape)

Forms: x.matmul(...), out=; NumPy: np.matmul.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75]], requires_grad=True)
>>> nbgrad.matmul(x, y)
tensor([[-2.2500,  4.2500,  6.7500,  2.2500],
        [ 5.7500, -6.2500, -3.0000, -4.5000]], grad_fn=<MmBackward0>)
>>> nbgrad.grad(nbgrad.matmul(x, y).sum(), [x, y])
(tensor([[ 2.0000, -4.5000,  0.0000],
        [ 2.0000, -4.5000,  0.0000]]), tensor([[1.5000, 1.5000, 1.5000, 1.5000],
        [0.0000, 0.0000, 0.0000, 0.0000],
        [2.0000, 2.0000, 2.0000, 2.0000]]))
""",
    'matrix_exp': """\
The exponential of square matrices.

Signature: matrix_exp(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: bool, float16, float32, float64, complex64: kept; int64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.matrix_exp(...).

>>> x = nbgrad.tensor([[1.5, 0.25, -0.5], [0.125, 1.0, 0.5], [-0.25, 0.75, 2.0]])
>>> nbgrad.matrix_exp(x)
tensor([[ 4.8308,  0.0759, -2.8398],
        [ 0.1873,  3.4843,  2.3918],
        [-1.3452,  3.6624,  8.7906]])
""",
    'matrix_power': """\
The n-th power of square matrices, by squaring, of any dtype that has products; of a negative n that of the
inverse.

Signature: matrix_power(A, n)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.matrix_power(...), out=.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.matrix_power(x, 2)
tensor([[ 9.6250,  1.0000, -6.5000],
        [ 0.7500,  5.6250,  5.7500],
        [-3.1250,  8.7500, 18.0000]])
""",
    'max': """\
Greatest element; along dim (values, indices), the gradient to that index; of two tensors, maximum.

Signature: max(x, dim=None, keepdim=False, *, other=None, axis=None, keepdims=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.max(...), out=; NumPy: np.max.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.max(x)
tensor(3.)
""",
    'maximum': """\
The larger one; NaN if one is. Ties share the gradient.

Signature: maximum(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x == y, g * 0.5, where(x < y, 0, g))
    y: where(x == y, g * 0.5, where(x > y, 0, g))

Forms: x.maximum(...), out=; NumPy: np.maximum.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.maximum(x, y)
tensor([ 2., -1.,  3.], grad_fn=<MaximumBackward0>)
>>> nbgrad.grad(nbgrad.maximum(x, y).sum(), [x, y])
(tensor([0., 0., 1.]), tensor([1., 1., 0.]))
""",
    'mean': """\
Arithmetic mean over dimensions; of floating and complex tensors.

Signature: mean(input, dim=None, keepdim=False, *, dtype=None)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float16, float32, float64, complex64: kept; bool, int64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], dim=2).
    ShapeError: such as for ([2, 3], dim=(0, 0)).

Derivative (g: the cotangent of the result, out: the result):
    x: spread(cast(g, x_dtype) / count_of(x_shape, dim), x_shape, dim)

Forms: x.mean(...), out=; NumPy: np.mean.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.mean(x)
tensor(0.5833, grad_fn=<MeanBackward0>)
>>> nbgrad.grad(nbgrad.mean(x), x)
(tensor([[0.1667, 0.1667, 0.1667],
        [0.1667, 0.1667, 0.1667]]),)
""",
    'median': """\
The lower median of all elements, its gradient shared by those that tie; along dim (values, indices). NaN if
there is one.

Signature: median(input, dim=None, keepdim=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], 4).

Derivative: that of the operations it is written in.

Forms: x.median(...), out=; NumPy: np.median.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.median(x)
tensor(0.5000)
""",
    'meshgrid': """\
Vectors as coordinates of a grid: one tensor of the grid's shape each.

Signature: meshgrid(*tensors, indexing='ij')

Operands:
    tensors: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.meshgrid.

>>> x = nbgrad.tensor([1.0, -2.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.meshgrid(x, y)
(tensor([[ 1.,  1.,  1.],
        [-2., -2., -2.]]), tensor([[ 2.0000, -1.0000,  1.5000],
        [ 2.0000, -1.0000,  1.5000]]))
""",
    'min': """\
Smallest element; along dim (values, indices), the gradient to that index; of two tensors, minimum.

Signature: min(x, dim=None, keepdim=False, *, other=None, axis=None, keepdims=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.min(...), out=; NumPy: np.min.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.min(x)
tensor(-2.)
""",
    'minimum': """\
The smaller one; NaN if one is. Ties share the gradient.

Signature: minimum(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x == y, g * 0.5, where(x > y, 0, g))
    y: where(x == y, g * 0.5, where(x < y, 0, g))

Forms: x.minimum(...), out=; NumPy: np.minimum.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.minimum(x, y)
tensor([ 1.0000, -2.0000,  1.5000], grad_fn=<MinimumBackward0>)
>>> nbgrad.grad(nbgrad.minimum(x, y).sum(), [x, y])
(tensor([1., 1., 0.]), tensor([0., 0., 1.]))
""",
    'mish': """\
mish; inplace=True overwrites input.

Signature: mish(input, inplace=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * (tanh(maximum(x, 0) + log1p(exp(-abs(x)))) + where(where(x > 800, 800, x) < -800, -800, where(x >
        800, 800, x)) * sigmoid(x) * (1 - tanh(maximum(x, 0) + log1p(exp(-abs(x)))) * tanh(maximum(x, 0) +
        log1p(exp(-abs(x))))))

Forms: x.mish_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.mish(x)
tensor([ 0.8651, -0.2525,  2.9865], grad_fn=<MishBackward0>)
>>> nbgrad.grad(nbgrad.mish(x).sum(), x)
(tensor([ 1.0490, -0.1084,  1.0211]),)
""",
    'mm': """\
The product of two matrices.

Signature: mm(input, mat2)

Operands:
    input, mat2: tensors (x and y in formulas).

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 3], [2, 3]).

Derivative (g: the cotangent of the result, out: the result):
    x: left_cotangent(g, y, x_shape, y_shape)
    y: right_cotangent(g, x, x_shape, y_shape)

Forms: x.mm(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75]], requires_grad=True)
>>> nbgrad.mm(x, y)
tensor([[-2.2500,  4.2500,  6.7500,  2.2500],
        [ 5.7500, -6.2500, -3.0000, -4.5000]], grad_fn=<MmBackward0>)
>>> nbgrad.grad(nbgrad.mm(x, y).sum(), [x, y])
(tensor([[ 2.0000, -4.5000,  0.0000],
        [ 2.0000, -4.5000,  0.0000]]), tensor([[1.5000, 1.5000, 1.5000, 1.5000],
        [0.0000, 0.0000, 0.0000, 0.0000],
        [2.0000, 2.0000, 2.0000, 2.0000]]))
""",
    'mode': """\
(values, indices) of the most frequent value along dim, the smallest of several; the index is its last. No NaN
equals another: where no number comes twice the first NaN is returned.

Signature: mode(input, dim=-1, keepdim=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.mode(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> nbgrad.mode(x)
Extremum(values=tensor([-2., -1.]), indices=tensor([1, 1]))
""",
    'movedim': """\
Dimensions moved to other places; the rest keep their order.

Signature: movedim(x, source, destination)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.movedim(...); also called moveaxis.

>>> x = nbgrad.tensor([[[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]], [[0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875], [1.0, -2.0, 3.0, 0.5]]])
>>> nbgrad.movedim(x, 0, 2)
tensor([[[ 1.0000,  0.2500],
         [-2.0000, -0.2500],
         [ 3.0000,  0.7500],
         [ 0.5000, -0.7500]],
<BLANKLINE>
        [[ 2.0000,  0.1250],
         [-1.0000,  0.6250],
         [ 1.5000, -0.1250],
         [-0.5000,  0.8750]],
<BLANKLINE>
        [[ 2.5000,  1.0000],
         [-3.0000, -2.0000],
         [-1.5000,  3.0000],
         [-2.5000,  0.5000]]])
""",
    'mse_loss': """\
(input - target)**2, times weight (of the same shape), reduced; a weighted mean is divided by the sum of the
weights.

Signature: mse_loss(input, target, size_average=None, reduce=None, reduction='mean', weight=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2, 3], [2, 3], reduction='all').

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.mse_loss(x, y)
tensor(1.5833)
""",
    'msort': """\
Sorted along the first dimension.

Signature: msort(input)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.msort(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.msort(x)
tensor([[ 1.0000, -3.0000, -1.5000, -2.5000],
        [ 2.0000, -2.0000,  1.5000, -0.5000],
        [ 2.5000, -1.0000,  3.0000,  0.5000]])
""",
    'mul': """\
x * y.

Signature: mul(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: g * y
    y: g * x

Forms: x.mul(...), x.mul_(...), out=; also called multiply.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.mul(x, y)
tensor([2.0000, 2.0000, 4.5000], grad_fn=<MulBackward0>)
>>> nbgrad.grad(nbgrad.mul(x, y).sum(), [x, y])
(tensor([ 2.0000, -1.0000,  1.5000]), tensor([ 1., -2.,  3.]))
""",
    'mv': """\
The product of a matrix and a vector.

Signature: mv(input, vec)

Operands:
    input, vec: tensors (x and y in formulas).

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 3], [2]).

Derivative (g: the cotangent of the result, out: the result):
    x: left_cotangent(g, y, x_shape, y_shape)
    y: right_cotangent(g, x, x_shape, y_shape)

Forms: x.mv(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.mv(x, y)
tensor([ 8.5000, -2.5000], grad_fn=<MvBackward0>)
>>> nbgrad.grad(nbgrad.mv(x, y).sum(), [x, y])
(tensor([[ 2.0000, -1.0000,  1.5000],
        [ 2.0000, -1.0000,  1.5000]]), tensor([1.5000, 0.0000, 2.0000]))
""",
    'mvlgamma': """\
The logarithm of the multivariate gamma function of dimension p, a whole number >= 1.

Raises:
    RangeError: p is less than 1. DTypeError: not floating.

Signature: mvlgamma(input, p)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float32, float16, float64: kept; bool, int64: float32; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([3], 0).

Derivative: that of the operations it is written in.

Forms: x.mvlgamma(...), out=.

>>> x = nbgrad.tensor([[3.0, 2.0, 2.5], [3.0, 2.0, 2.5]])
>>> nbgrad.mvlgamma(x, 3)
tensor([[2.6949, 1.5963, 1.8810],
        [2.6949, 1.5963, 1.8810]])
""",
    'mvlgamma_': """\
In place: mvlgamma.

Signature: mvlgamma_(input, p)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.mvlgamma_(...).

>>> x = nbgrad.tensor([[3.0, 2.0, 2.5], [3.0, 2.0, 2.5]])
>>> x.mvlgamma_(2)
tensor([[1.5502, 0.4516, 0.8570],
        [1.5502, 0.4516, 0.8570]])
""",
    'nan_to_num': """\
Numbers in the place of NaN (0) and the infinities (the dtype's greatest and least), in both parts of complex
numbers.

Signature: nan_to_num(input, nan=None, posinf=None, neginf=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.nan_to_num(...), out=; NumPy: np.nan_to_num.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.nan_to_num(x)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'nan_to_num_': """\
In place: nan_to_num.

Signature: nan_to_num_(input, nan=None, posinf=None, neginf=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.nan_to_num_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> x.nan_to_num_()
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'nanmean': """\
Mean over dimensions of what is not NaN.

Signature: nanmean(input, dim=None, keepdim=False, *, dtype=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float32, float16, float64, complex64: kept; bool, int64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.nanmean(...), out=; NumPy: np.nanmean.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.nanmean(x)
tensor(0.5833)
""",
    'nanmedian': """\
The lower median of what is not NaN; along dim (values, indices).

Signature: nanmedian(input, dim=None, keepdim=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.nanmedian(...), out=; NumPy: np.nanmedian.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.nanmedian(x)
tensor(0.5000)
""",
    'nanquantile': """\
The q-quantiles of what is not NaN, of all elements or along dim.

Signature: nanquantile(input, q, dim=None, keepdim=False, *, interpolation='linear')

Operands:
    input: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float32, float64: kept; bool, int64, float16, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    RangeError: such as for ([3], 1.5).
    DTypeError: such as for ([3], 0.5) of int64.

Derivative: that of the operations it is written in.

Forms: x.nanquantile(...), out=; NumPy: np.nanquantile.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.nanquantile(x, 0.3)
tensor(-1.3500)
""",
    'nansum': """\
Sum over dimensions of what is not NaN.

Signature: nansum(input, dim=None, keepdim=False, *, dtype=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: int64, float16, float32, float64, complex64: kept; bool: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.nansum(...), out=; NumPy: np.nansum.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.nansum(x)
tensor(3.5000)
""",
    'narrow': """\
``length`` elements of a dimension from ``start`` on.

Raises:
    DimError, ShapeError: they are not there. ArgumentError: no ints.

Signature: narrow(x, dim, start, length)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    ShapeError: such as for ([2, 5], 1, 3, 3).

Derivative: that of the operations it is written in.

Forms: x.narrow(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5, 2.0], [-1.0, 1.5, -0.5, 2.5, -3.0]])
>>> nbgrad.narrow(x, 1, 1, 3)
tensor([[-2.0000,  3.0000,  0.5000],
        [ 1.5000, -0.5000,  2.5000]])
""",
    'narrow_copy': """\
What ``narrow`` shows, copied.

Signature: narrow_copy(x, dim, start, length)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.narrow_copy(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5, 2.0], [-1.0, 1.5, -0.5, 2.5, -3.0]])
>>> nbgrad.narrow_copy(x, 1, 1, 3)
tensor([[-2.0000,  3.0000,  0.5000],
        [ 1.5000, -0.5000,  2.5000]])
""",
    'ndtr': """\
The probability that a standard normal variable is at most x.

Signature: special.ndtr(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * 0.398942 * exp(-0.5 * where(where(x > 60, 60, x) < -60, -60, where(x > 60, 60, x)) * where(where(x
        > 60, 60, x) < -60, -60, where(x > 60, 60, x)))

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.special.ndtr(x)
tensor([0.8413, 0.0228, 0.9987], grad_fn=<SpecialNdtrBackward0>)
>>> nbgrad.grad(nbgrad.special.ndtr(x).sum(), x)
(tensor([0.2420, 0.0540, 0.0044]),)
""",
    'ndtri': """\
The number that a standard normal variable is below with probability x.

Signature: special.ndtri(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * 2.50663 * exp(0.5 * out * out)

>>> x = nbgrad.tensor([0.5, 0.25, 0.75], requires_grad=True)
>>> nbgrad.special.ndtri(x)
tensor([ 0.0000, -0.6745,  0.6745], grad_fn=<SpecialNdtriBackward0>)
>>> nbgrad.grad(nbgrad.special.ndtri(x).sum(), x)
(tensor([2.5066, 3.1469, 3.1469]),)
""",
    'ne': """\
x != y.

Signature: ne(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: bool, from operands of any dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative: none; the result requires no grad.

Forms: x.ne(...), x.ne_(...), out=; also called not_equal.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.ne(x, y)
tensor([True, True, True])
""",
    'neg': """\
-x.

Signature: neg(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; bool is refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: -g

Forms: x.neg(...), x.neg_(...), out=; also called negative.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.neg(x)
tensor([-1.,  2., -3.], grad_fn=<NegBackward0>)
>>> nbgrad.grad(nbgrad.neg(x).sum(), x)
(tensor([-1., -1., -1.]),)
""",
    'nextafter': """\
The next number after input in the direction of other: its derivative by input is 1, 0 where both are equal,
by other 0.

Raises:
    DTypeError: not floating.

Signature: nextafter(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.nextafter(...), out=; NumPy: np.nextafter.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.nextafter(x, y)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'nextafter_': """\
In place: nextafter.

Signature: nextafter_(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.nextafter_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> x.nextafter_(y)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'nll_loss': """\
Minus the log-probability of the target class.

Args:
    input: log-probabilities, (classes), (n, classes) or (n, classes, d1, ...).
    target: int64 classes, of the shape without classes.
    weight: of each class; "mean" then divides by the sum of the weights of the targets.
    ignore_index: a target that counts for nothing.

Raises:
    RangeError: a target is no class.

Signature: nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean')

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([3, 4], [3]).
    ShapeError: such as for ([3, 4], [2]).
    RangeError: such as for ([3, 4], [3], reduction='all').

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([1, 3, 0])
>>> nbgrad.nll_loss(x, y)
tensor(0.)
""",
    'nonzero': """\
The indices of the elements that are not zero: a row each, or with ``as_tuple`` a tensor a dimension.

Signature: nonzero(x, *, as_tuple=False)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.nonzero(...), out=; NumPy: np.nonzero.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.nonzero(x)
tensor([[0, 0],
        [0, 1],
        [0, 2],
        [1, 0],
        [1, 1],
        [1, 2]])
""",
    'norm': """\
The p-norm over dimensions: p any number, inf, -inf, or "fro" (2); "nuc" of matrices, the sum of their
singular values.

Its subgradient at 0 is 0.

Signature: norm(x, p='fro', dim=None, keepdim=False, dtype=None, *, axis=None, keepdims=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    RangeError: such as for ([2, 3], 'nuclear').

Derivative: that of the operations it is written in.

Forms: x.norm(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.norm(x)
tensor(4.3875)
""",
    'normalize': """\
Divided by its p-norm along dim, which is taken to be at least eps.

Signature: normalize(input, p=2.0, dim=1, eps=1e-12)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64, complex64: kept; bool, int64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.normalize(x)
tensor([[ 0.2673, -0.5345,  0.8018],
        [ 0.2182,  0.8729, -0.4364]])
""",
    'nuclear_norm': """\
The sum of the singular values.

Signature: nuclear_norm(input, dim=None, keepdim=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float32, float64: kept; bool, int64, float16: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.nuclear_norm(x)
tensor(9.0528)
""",
    'one_hot': """\
1 at the class of each element and 0 elsewhere, along a new last dimension; int64.

Signature: one_hot(tensor, num_classes=-1)

Operands:
    tensor: a tensor or a NumPy array.

Returns:
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([4], 2).

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([2, 0, 1, 2])
>>> nbgrad.one_hot(x)
tensor([[0, 0, 1],
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1]])
""",
    'orgqr': """\
The first columns of the product of Householder's reflections, whose vectors are below the diagonal of A.

Signature: orgqr(A, tau)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.orgqr(...), out=.

>>> x = nbgrad.tensor([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]])
>>> y = nbgrad.tensor([0.5, 1.25])
>>> nbgrad.orgqr(x, y)
tensor([[ 0.5000,  0.2500],
        [ 0.2500, -0.3750],
        [-1.0000,  0.1875]])
""",
    'outer': """\
Every element of one vector times every element of another, (n,) and (m,) -> (n, m).

Signature: outer(input, vec2)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.outer(...), out=; NumPy: np.outer.

>>> x = nbgrad.tensor([1.0, -2.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.outer(x, y)
tensor([[ 2.0000, -1.0000,  1.5000],
        [-4.0000,  2.0000, -3.0000]])
""",
    'pad': """\
With elements before and after along the last dimensions: ``pad`` is (before last, after last, before the one
before, ...).

Args:
    mode: "constant" writes ``value`` (0); "reflect", "replicate" and "circular" repeat elements.

Raises:
    RangeError: an unknown mode, or pairs that do not fit.

Signature: pad(input, pad, mode='constant', value=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2, 3], pad=(1,)).

Derivative: that of the operations it is written in.

Forms: NumPy: np.pad.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.pad(x, pad=(1, 2))
tensor([[ 0.0000,  1.0000, -2.0000,  3.0000,  0.0000,  0.0000],
        [ 0.0000,  0.5000,  2.0000, -1.0000,  0.0000,  0.0000]])
""",
    'pairwise_distance': """\
The p-norm of x1 - x2 + eps over the last dimension.

Signature: pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False)

Operands:
    x1: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float32, float16, float64: kept; bool: refused; int64, complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.pairwise_distance(x, y)
tensor([2.0616, 2.2913])
""",
    'permute': """\
Dimensions in another order; ``x.permute(1, 0)`` or ``x.permute((1, 0))``.

Signature: permute(x, *dims)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.permute(...).

>>> x = nbgrad.tensor([[[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]], [[0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875], [1.0, -2.0, 3.0, 0.5]]])
>>> nbgrad.permute(x, 2, 0, 1)
tensor([[[ 1.0000,  2.0000,  2.5000],
         [ 0.2500,  0.1250,  1.0000]],
<BLANKLINE>
        [[-2.0000, -1.0000, -3.0000],
         [-0.2500,  0.6250, -2.0000]],
<BLANKLINE>
        [[ 3.0000,  1.5000, -1.5000],
         [ 0.7500, -0.1250,  3.0000]],
<BLANKLINE>
        [[ 0.5000, -0.5000, -2.5000],
         [-0.7500,  0.8750,  0.5000]]])
""",
    'permute_copy': """\
What ``permute`` shows, copied.

Signature: permute_copy(x, dims)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.permute_copy(x, dims=(1, 0))
tensor([[ 1.0000,  0.5000],
        [-2.0000,  2.0000],
        [ 3.0000, -1.0000]])
""",
    'pinverse': """\
See ``linalg.pinverse``.

Signature: pinverse(A, rcond=1e-15)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.pinverse(...), out=.

>>> x = nbgrad.tensor([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]])
>>> nbgrad.pinverse(x)
tensor([[ 0.0935, -0.1922,  0.4052],
        [ 0.2909,  0.2909, -0.0727]])
""",
    'polar': """\
The complex numbers of this modulus and angle.

Args:
    abs, angle: of one floating dtype; their shapes broadcast.

Raises:
    DTypeError: the parts are not of one floating dtype.

>>> nbgrad.polar(nbgrad.tensor([2.]), nbgrad.tensor([0.]))
tensor([2.+0.j])

Signature: polar(abs, angle)

Operands:
    abs: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, complex64: refused; float16, float32: complex64; float64: complex128.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: such as for ([2], [2]) of int64.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.polar(x, y)
tensor([[-0.4161+0.9093j, -1.0806+1.6829j,  0.2122+2.9925j],
        [ 0.4388-0.2397j, -1.6023+1.1969j,  0.9900+0.1411j]])
""",
    'polygamma': """\
The n-th derivative of digamma.

Args:
    n: a whole number >= 0.
    input: a tensor.

Raises:
    RangeError: n is negative.

Signature: polygamma(n, input)

Operands:
    n: a tensor or a NumPy array.

Returns:
    Dtype: float32, float16, float64: kept; bool, int64: float32; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for (-1, [3]).

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[0.5, 1.25, 3.0]])
>>> nbgrad.polygamma(0, x)
tensor([[-1.9635, -0.2275,  0.9228]])
""",
    'polygamma_of': """\
The n-th derivative of digamma.

Signature: polygamma_of(input, n)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float32, float16, float64: kept; bool, int64: float32; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.polygamma_of(...); also called polygamma.

>>> x = nbgrad.tensor([[1.0, 3.0, 0.5], [2.0, 1.5, 2.5]])
>>> x.polygamma_of(1)
tensor([[1.6449, 0.3949, 4.9348],
        [0.6449, 0.9348, 0.4904]])
""",
    'polygamma_of_': """\
In place: polygamma_of.

Signature: polygamma_of_(input, n)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.polygamma_of_(...); also called polygamma_.

>>> x = nbgrad.tensor([[1.0, 3.0, 0.5], [2.0, 1.5, 2.5]])
>>> x.polygamma_of_(1)
tensor([[1.6449, 0.3949, 4.9348],
        [0.6449, 0.9348, 0.4904]])
""",
    'positive': """\
positive; of real numbers the tensor itself.

Signature: positive(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; bool is refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g

Forms: x.positive(...); NumPy: np.positive.
""",
    'pow': """\
input to the power exponent; either may be a number.

Signature: pow(input, exponent)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; bool is refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    pow, x: where(y == 0, where((x == 0) | isnan(x), 0, g * y * x ** (y - 1)), g * y * x ** (y - 1))
    pow, y: where((x == 0) & (real(y) >= 0), 0, g * out * log(x))
    square, x: g * 2 * pow_one(x)
    pow_half, x: g / (2 * out)
    pow_three, x: g * 3 * square(x)
    pow_inverse, x: -(g * out * out)
    pow_one, x: g * pow_zero(x)
    pow_zero, x: 0

Forms: x.pow(...), x.pow_(...), out=; NumPy: np.pow.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.pow(x, 3)
tensor([ 1., -8., 27.], grad_fn=<PowBackward0>)
>>> nbgrad.grad(nbgrad.pow(x, 3).sum(), x)
(tensor([ 3., 12., 27.]),)
""",
    'prelu': """\
``input`` where it is > 0, else weight times it; one weight for all, or for each of the second dimension.

Signature: prelu(input, weight)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.prelu(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([2.0])
>>> nbgrad.prelu(x, y)
tensor([[ 1.0000, -4.0000,  3.0000],
        [ 0.5000,  2.0000, -2.0000]])
""",
    'prod': """\
Product of all elements or along one dimension; integers and bools in int64.

Signature: prod(input, dim=None, keepdim=False, *, dtype=None)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: int64, float16, float32, float64, complex64: kept; bool: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: g times the product of all other elements

Forms: x.prod(...), out=; NumPy: np.prod.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.prod(x)
tensor(6., grad_fn=<ProdBackward0>)
>>> nbgrad.grad(nbgrad.prod(x), x)
(tensor([[ 6., -3.,  2.],
        [12.,  3., -6.]]),)
""",
    'put': """\
``x``, seen as one row, with the elements of ``source`` written (or added) where ``index`` says.

Raises:
    ShapeError: not as many elements as indices.

Signature: put(x, index, source, accumulate=False)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 3], [3], [2]).

Derivative: that of the operations it is written in.

Forms: x.put(...); NumPy: np.put.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([0, 4, -1])
>>> z = nbgrad.tensor([2.5, -3.0, -1.5])
>>> nbgrad.put(x, y, z)
tensor([[ 2.5000, -2.0000,  3.0000],
        [ 0.5000, -3.0000, -1.5000]])
""",
    'put_': """\
In place: put.

Signature: put_(x, index, source, accumulate=False)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 3], [3], [2]).

Derivative: that of the operations it is written in.

Forms: x.put_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([0, 4, -1])
>>> z = nbgrad.tensor([2.5, -3.0, -1.5])
>>> x.put_(y, z)
tensor([[ 2.5000, -2.0000,  3.0000],
        [ 0.5000, -3.0000, -1.5000]])
""",
    'qr': """\
(Q, R): see ``linalg.qr``.

Signature: qr(input, some=True)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.qr(...), out=.

>>> x = nbgrad.tensor([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]])
>>> nbgrad.qr(x)
QRResult(Q=tensor([[-0.4364, -0.6963],
        [ 0.2182, -0.6963],
        [-0.8729,  0.1741]]), R=tensor([[-2.2913, -0.7638],
        [ 0.0000, -2.3936]]))
""",
    'quantile': """\
The q-quantiles of all elements or along dim, q a number or a vector of numbers from 0 to 1; NaN if there is
one.

Signature: quantile(input, q, dim=None, keepdim=False, *, interpolation='linear')

Operands:
    input: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float32, float64: kept; bool, int64, float16, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    RangeError: such as for ([3], 1.5).
    DTypeError: such as for ([3], 0.5) of int64.

Derivative: that of the operations it is written in.

Forms: x.quantile(...), out=; NumPy: np.quantile.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.quantile(x, 0.3)
tensor(-1.3500)
""",
    'rad2deg': """\
Radians as degrees.

Signature: rad2deg(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * 57.2958

Forms: x.rad2deg(...), x.rad2deg_(...), out=; NumPy: np.rad2deg.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.rad2deg(x)
tensor([  57.2958, -114.5916,  171.8873], grad_fn=<Rad2DegBackward0>)
>>> nbgrad.grad(nbgrad.rad2deg(x).sum(), x)
(tensor([57.2958, 57.2958, 57.2958]),)
""",
    'ravel': """\
One dimension of neighbours in memory, copied only where it must be.

Signature: ravel(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.ravel(...); NumPy: np.ravel.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.ravel(x)
tensor([ 1.0000, -2.0000,  3.0000,  0.5000,  2.0000, -1.0000])
""",
    'real': """\
The real parts: a view of a complex tensor, a real tensor itself.

Signature: real(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: float64: kept; bool, int64, float16, float32, complex64: float64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.real.

>>> x = nbgrad.tensor([[(1.5-0.5j), (-2+1j)], [(0.3+2j), (-1-1j)]])
>>> nbgrad.real(x)
tensor([[ 1.5000, -2.0000],
        [ 0.3000, -1.0000]])
""",
    'reciprocal': """\
1 / x.

Signature: reciprocal(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: -(g * out * out)

Forms: x.reciprocal(...), x.reciprocal_(...), out=; NumPy: np.reciprocal.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.reciprocal(x)
tensor([ 1.0000, -0.5000,  0.3333], grad_fn=<ReciprocalBackward0>)
>>> nbgrad.grad(nbgrad.reciprocal(x).sum(), x)
(tensor([-1.0000, -0.2500, -0.1111]),)
""",
    'relu': """\
relu; inplace=True overwrites input.

Signature: relu(input, inplace=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; bool is refused; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: where(out <= 0, 0, g)

Forms: x.relu(...), x.relu_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.relu(x)
tensor([1., 0., 3.], grad_fn=<ReluBackward0>)
>>> nbgrad.grad(nbgrad.relu(x).sum(), x)
(tensor([1., 0., 1.]),)
""",
    'relu6': """\
``input`` moved into [0, 6].

Signature: relu6(input, inplace=False)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64: kept; bool, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.relu6(x)
tensor([[1.0000, 0.0000, 3.0000],
        [0.5000, 2.0000, 0.0000]])
""",
    'remainder': """\
x - floor(x / y) * y: the sign of y.

Signature: remainder(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; bool is refused; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.
    DivisionError: integers, and y is 0 somewhere.

Derivative (g: the cotangent of the result, out: the result):
    x: g
    y: -(g * round((x - x % y) / y))

Forms: x.remainder(...), x.remainder_(...), out=; NumPy: np.remainder.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.remainder(x, y)
tensor([1., -0., 0.], grad_fn=<RemainderBackward1>)
>>> nbgrad.grad(nbgrad.remainder(x, y).sum(), [x, y])
(tensor([1., 1., 1.]), tensor([-0., -2., -2.]))
""",
    'renorm': """\
Slices of dim whose p-norm is greater than ``maxnorm`` scaled down to it.

Raises:
    RangeError: p is not positive, or maxnorm negative. ShapeError: less than 2 dimensions.

Signature: renorm(input, p, dim, maxnorm)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64, complex64: kept; bool, int64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    RangeError: such as for ([2, 3], 0, 0, 1.0).
    ShapeError: such as for ([3], 2, 0, 1.0).

Derivative: that of the operations it is written in.

Forms: x.renorm(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.renorm(x, 2, 0, 1.0)
tensor([[ 0.2649, -0.5298,  0.7947,  0.1325],
        [ 0.7303, -0.3651,  0.5477, -0.1826],
        [ 0.5130, -0.6156, -0.3078, -0.5130]])
""",
    'renorm_': """\
In place: renorm.

Signature: renorm_(input, p, dim, maxnorm)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64, complex64: kept; bool, int64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.renorm_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> x.renorm_(2, 0, 1.0)
tensor([[ 0.2649, -0.5298,  0.7947,  0.1325],
        [ 0.7303, -0.3651,  0.5477, -0.1826],
        [ 0.5130, -0.6156, -0.3078, -0.5130]])
""",
    'repeat': """\
``x`` copied so many times along every dimension; more repeats than dimensions add dimensions in front.

Signature: repeat(x, *each, repeats=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.repeat(...); NumPy: np.repeat.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> x.repeat(2, 2)
tensor([[ 1.0000, -2.0000,  3.0000,  1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000,  0.5000,  2.0000, -1.0000],
        [ 1.0000, -2.0000,  3.0000,  1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000,  0.5000,  2.0000, -1.0000]])
""",
    'repeat_interleave': """\
Every element of a dimension repeated so many times in a row; without ``dim`` input is seen as one row.

Args:
    repeats: one number, or one for each element; without it, ``input`` says how often each of 0, 1, 2, ... comes.
    output_size: the size of the result along the dimension, which is checked.

Raises:
    DTypeError: repeats that are no integers. ShapeError: not one for each element, or another output_size.

Signature: repeat_interleave(input, repeats=None, dim=None, *, output_size=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.repeat_interleave(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.repeat_interleave(x, 2)
tensor([ 1.0000,  1.0000, -2.0000, -2.0000,  3.0000,  3.0000,  0.5000,  0.5000,
         2.0000,  2.0000, -1.0000, -1.0000])
""",
    'reshape': """\
The same elements under another shape: a view where strides allow, else a copy.

Signature: reshape(x, *shape)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 3], 4, 2).

Derivative: that of the operations it is written in.

Forms: x.reshape(...); NumPy: np.reshape.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.reshape(x, 3, -1)
tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000],
        [ 2.0000, -1.0000]])
""",
    'reshape_as': """\
``x.reshape(other.shape)``.

Signature: reshape_as(x, other)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.reshape_as(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0], [1.5, -0.5], [2.5, -3.0]])
>>> x.reshape_as(y)
tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000],
        [ 2.0000, -1.0000]])
""",
    'resolve_conj': """\
The tensor itself, or a copy if it is lazily conjugated.

>>> nbgrad.tensor([1 + 2j]).conj().resolve_conj().numpy()
array([1.-2.j], dtype=complex64)

Signature: resolve_conj(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.resolve_conj(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.resolve_conj(x)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'resolve_neg': """\
The tensor itself, or a copy if it is lazily negated.

Signature: resolve_neg(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.resolve_neg(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.resolve_neg(x)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'roll': """\
Elements moved along dimensions; what leaves at one end comes back at the other.

Signature: roll(input, shifts, dims=None)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: g.roll(negative(shifts), dims)

Forms: x.roll(...), out=; NumPy: np.roll.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.roll(x, 2)
tensor([[ 2.0000, -1.0000,  1.0000],
        [-2.0000,  3.0000,  0.5000]], grad_fn=<RollBackward0>)
>>> nbgrad.grad(nbgrad.roll(x, 2).sum(), x)
(tensor([[1., 1., 1.],
        [1., 1., 1.]]),)
""",
    'rot90': """\
Turned ``k`` times by 90 degrees, from the first dimension towards the second.

Signature: rot90(input, k=1, dims=(0, 1))

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    RangeError: such as for ([2, 3], k=1, dims=(0, 0)).

Derivative: that of the operations it is written in.

Forms: x.rot90(...); NumPy: np.rot90.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.rot90(x)
tensor([[ 3.0000, -1.0000],
        [-2.0000,  2.0000],
        [ 1.0000,  0.5000]])
""",
    'round': """\
The nearest multiple of 10**-decimals, ties to even; integers take no decimals.

Signature: round(input, *, decimals=0)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; bool is refused; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    round, x: 0
    round_fine, x: 0
    round_coarse, x: 0

Forms: x.round(...), x.round_(...), out=; NumPy: np.round.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.round(x * 1.234, decimals=1)
tensor([ 1.2000, -2.5000,  3.7000], grad_fn=<RoundBackward1>)
>>> nbgrad.grad(nbgrad.round(x * 1.234, decimals=1).sum(), x)
(tensor([0., 0., 0.]),)
""",
    'rsqrt': """\
1 / sqrt(x).

Signature: rsqrt(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * -0.5 * out * out * out

Forms: x.rsqrt(...), x.rsqrt_(...), out=.

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> nbgrad.rsqrt(x)
tensor([1.0000, 0.5774, 1.4142], grad_fn=<RsqrtBackward0>)
>>> nbgrad.grad(nbgrad.rsqrt(x).sum(), x)
(tensor([-0.5000, -0.0962, -1.4142]),)
""",
    'rsub': """\
other - alpha * input.

Signature: rsub(input, other, *, alpha=1)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; bool is refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    sub, x: g
    sub, y: -g
    add_scaled, x: g
    add_scaled, y: g * alpha

Forms: x.rsub(...), x.rsub_(...), out=; also called subtract.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, 0.5, -1.0])
>>> nbgrad.rsub(x, y)
tensor([ 1.0000,  2.5000, -4.0000], grad_fn=<SubBackward0>)
>>> nbgrad.grad(nbgrad.rsub(x, y).sum(), x)
(tensor([-1., -1., -1.]),)
""",
    'scatter': """\
``x`` with ``src`` (a tensor or a number) written along ``dim`` where ``index`` says; ``reduce="add"`` adds
it.

Signature: scatter(x, dim, index, src=None, *, value=None, reduce=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.scatter(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([[0, 1, 2, 0], [1, 0, 1, 2]])
>>> z = nbgrad.tensor([[0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]])
>>> nbgrad.scatter(x, 0, y, z)
tensor([[ 0.2500,  0.6250,  3.0000, -0.7500],
        [ 0.1250, -0.2500, -0.1250, -0.5000],
        [ 2.5000, -3.0000,  0.7500,  0.8750]])
""",
    'scatter_': """\
In place: scatter.

Signature: scatter_(x, dim, index, src=None, *, value=None, reduce=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.scatter_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([[0, 1, 2, 0], [1, 0, 1, 2]])
>>> z = nbgrad.tensor([[0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]])
>>> x.scatter_(0, y, z)
tensor([[ 0.2500,  0.6250,  3.0000, -0.7500],
        [ 0.1250, -0.2500, -0.1250, -0.5000],
        [ 2.5000, -3.0000,  0.7500,  0.8750]])
""",
    'scatter_add': """\
``x`` with ``src`` added along ``dim`` where ``index`` says; repeated indices add up in row-major order.

Signature: scatter_add(x, dim, index, src)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.scatter_add(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([[0, 1, 1, 0], [1, 0, 1, 1]])
>>> z = nbgrad.tensor([[0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]])
>>> nbgrad.scatter_add(x, 0, y, z)
tensor([[ 1.2500, -1.3750,  3.0000, -0.2500],
        [ 2.1250, -1.2500,  2.1250,  0.3750],
        [ 2.5000, -3.0000, -1.5000, -2.5000]])
""",
    'scatter_add_': """\
In place: scatter_add.

Signature: scatter_add_(x, dim, index, src)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.scatter_add_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([[0, 1, 1, 0], [1, 0, 1, 1]])
>>> z = nbgrad.tensor([[0.25, -0.25, 0.75, -0.75], [0.125, 0.625, -0.125, 0.875]])
>>> x.scatter_add_(0, y, z)
tensor([[ 1.2500, -1.3750,  3.0000, -0.2500],
        [ 2.1250, -1.2500,  2.1250,  0.3750],
        [ 2.5000, -3.0000, -1.5000, -2.5000]])
""",
    'scatter_reduce': """\
``input`` and the elements of ``src`` that ``index`` sends to each place along dim, reduced: sum, prod, mean,
amax or amin.

Without ``include_self``, places that get something start from nothing.

Raises:
    RangeError: another reduction. DTypeError: operands of two dtypes, the extrema of complex numbers, the mean of bools.

Signature: scatter_reduce(input, dim, index, src, reduce, *, include_self=True)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([3, 3], 0, [2, 3], [2, 3], 'amax').
    RangeError: such as for ([3, 3], 0, [2, 3], [2, 3], 'median').

Derivative: that of the operations it is written in.

Forms: x.scatter_reduce(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0], [1.5, -0.5, 2.5]])
>>> y = nbgrad.tensor([[0, 1, 0], [2, 0, 0]])
>>> z = nbgrad.tensor([[0.25, -0.25, 0.75], [-0.75, 0.125, 0.625]])
>>> nbgrad.scatter_reduce(x, 0, y, z, 'sum', include_self=True)
tensor([[ 1.2500, -1.8750,  4.3750],
        [ 0.5000,  1.7500, -1.0000],
        [ 0.7500, -0.5000,  2.5000]])
""",
    'scatter_reduce_': """\
In place: scatter_reduce.

Signature: scatter_reduce_(input, dim, index, src, reduce, *, include_self=True)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.scatter_reduce_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0], [1.5, -0.5, 2.5]])
>>> y = nbgrad.tensor([[0, 1, 0], [2, 0, 0]])
>>> z = nbgrad.tensor([[0.75, -0.75, 0.625], [0.875, 1.0, -2.0]])
>>> x.scatter_reduce_(0, y, z, 'sum')
tensor([[ 1.7500, -1.0000,  1.6250],
        [ 0.5000,  1.2500, -1.0000],
        [ 2.3750, -0.5000,  2.5000]])
""",
    'searchsorted': """\
Where to put values into a sorted last dimension: before equal elements, or behind them with ``right``. No
gradient.

Args:
    side: "right" says the same as ``right``, "left" the opposite.
    sorter: indices in int64 that sort the sequence, which then need not be sorted.

Raises:
    ArgumentError: side and right contradict each other. ShapeError, DTypeError: the sorter is not of the sequence's shape, or
        no int64. DimError: an index out of range.

Signature: searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None)

Operands:
    sorted_sequence: a tensor or a NumPy array.

Returns:
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=; NumPy: np.searchsorted.

>>> x = nbgrad.tensor([-1.0, 0.0, 2.0])
>>> y = nbgrad.tensor([[0.0, 3.0], [-2.0, 1.0]])
>>> nbgrad.searchsorted(x, y)
tensor([[1, 3],
        [0, 2]])
""",
    'select': """\
One element of one dimension, which goes.

Signature: select(input, dim, index)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: a view of x: it shares the memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], 0, 5).

Derivative (g: the cotangent of the result, out: the result):
    x: g.select_backward(x_shape, dim, index)

Forms: x.select(...); NumPy: np.select.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.select(x, 1, 2)
tensor([ 3., -1.], grad_fn=<SelectBackward0>)
>>> nbgrad.grad(nbgrad.select(x, 1, 2).sum(), x)
(tensor([[0., 0., 1.],
        [0., 0., 1.]]),)
""",
    'select_copy': """\
What ``select`` shows, copied.

Signature: select_copy(x, dim, index)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.select_copy(x, 1, 2)
tensor([ 3., -1.])
""",
    'select_scatter': """\
A copy of x with src written to one element of a dimension.

Signature: select_scatter(input, src, dim, index)

Operands:
    input, src: tensors (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: g.select_scatter(g.new_zeros(src_shape), dim, index)
    src: g.select(dim, index)

Forms: x.select_scatter(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]], requires_grad=True)
>>> y = nbgrad.tensor([2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.select_scatter(x, y, 1, 2)
tensor([[ 1.0000, -2.0000,  2.0000,  0.5000],
        [ 2.0000, -1.0000, -1.0000, -0.5000],
        [ 2.5000, -3.0000,  1.5000, -2.5000]], grad_fn=<SelectScatterBackward0>)
>>> nbgrad.grad(nbgrad.select_scatter(x, y, 1, 2).sum(), [x, y])
(tensor([[1., 1., 0., 1.],
        [1., 1., 0., 1.],
        [1., 1., 0., 1.]]), tensor([1., 1., 1.]))
""",
    'selu': """\
selu; inplace=True overwrites input.

Signature: selu(input, inplace=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x <= 0, g * 1.7581 * exp(x), g * 1.0507)

Forms: x.selu_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.selu(x)
tensor([ 1.0507, -1.5202,  3.1521], grad_fn=<EluBackward0>)
>>> nbgrad.grad(nbgrad.selu(x).sum(), x)
(tensor([1.0507, 0.2379, 1.0507]),)
""",
    'setitem': """\
``x[key] = value``: a recorded in-place write of a number or of a tensor that broadcasts.

Signature: setitem(x, key, value)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64, complex64: NoneType.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.setitem(...); also called __setitem__.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([2.5, -3.0, -1.5, -2.5])
>>> x.setitem(1, y)
""",
    'sgn': """\
x / |x|, 0 at 0; of real numbers the sign.

Signature: sgn(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: 0

Forms: x.sgn(...), x.sgn_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.sgn(x)
tensor([ 1., -1.,  1.], grad_fn=<SgnBackward0>)
>>> nbgrad.grad(nbgrad.sgn(x).sum(), x)
(tensor([0., 0., 0.]),)
""",
    'sigmoid': """\
1 / (1 + e**-x).

Signature: sigmoid(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * out * (1 - out)

Forms: x.sigmoid(...), x.sigmoid_(...), out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.sigmoid(x)
tensor([0.7311, 0.1192, 0.9526], grad_fn=<SigmoidBackward0>)
>>> nbgrad.grad(nbgrad.sigmoid(x).sum(), x)
(tensor([0.1966, 0.1050, 0.0452]),)
""",
    'sign': """\
-1, 0 or 1.

Signature: sign(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: 0

Forms: x.sign(...), x.sign_(...), out=; NumPy: np.sign.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.sign(x)
tensor([ 1., -1.,  1.], grad_fn=<SignBackward0>)
>>> nbgrad.grad(nbgrad.sign(x).sum(), x)
(tensor([0., 0., 0.]),)
""",
    'signbit': """\
Whether the sign is negative, that of -0.0 too.

Signature: signbit(input)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: bool: kept; int64, float16, float32, float64: bool; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.signbit(...), out=; NumPy: np.signbit.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.signbit(x)
tensor([[False,  True, False],
        [False, False,  True]])
""",
    'silu': """\
silu; inplace=True overwrites input.

Signature: silu(input, inplace=False)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; integers and bools are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: g * sigmoid(x) * (1 + where(where(x > 800, 800, x) < -800, -800, where(x > 800, 800, x)) * (1 -
        sigmoid(x)))

Forms: x.silu(...), x.silu_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.silu(x)
tensor([ 0.7311, -0.2384,  2.8577], grad_fn=<SiluBackward0>)
>>> nbgrad.grad(nbgrad.silu(x).sum(), x)
(tensor([ 0.9277, -0.0908,  1.0881]),)
""",
    'sin': """\
The sine of x in radians.

Signature: sin(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * cos(x)

Forms: x.sin(...), x.sin_(...), out=; NumPy: np.sin.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.sin(x)
tensor([ 0.8415, -0.9093,  0.1411], grad_fn=<SinBackward0>)
>>> nbgrad.grad(nbgrad.sin(x).sum(), x)
(tensor([ 0.5403, -0.4161, -0.9900]),)
""",
    'sinc': """\
sin(pi x) / (pi x); 1 at 0.

Signature: sinc(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * sinc_slope(x)

Forms: x.sinc(...), x.sinc_(...), out=; NumPy: np.sinc.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.sinc(x)
tensor([-0., -0., -0.], grad_fn=<SincBackward0>)
>>> nbgrad.grad(nbgrad.sinc(x).sum(), x)
(tensor([-1.0000, -0.5000, -0.3333]),)
""",
    'sinh': """\
The hyperbolic sine.

Signature: sinh(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * cosh(x)

Forms: x.sinh(...), x.sinh_(...), out=; NumPy: np.sinh.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.sinh(x)
tensor([ 1.1752, -3.6269, 10.0179], grad_fn=<SinhBackward0>)
>>> nbgrad.grad(nbgrad.sinh(x).sum(), x)
(tensor([ 1.5431,  3.7622, 10.0677]),)
""",
    'slice_copy': """\
What ``slice`` shows, copied.

Signature: slice_copy(x, dim=0, start=None, end=None, step=1)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5, 2.0], [-1.0, 1.5, -0.5, 2.5, -3.0]])
>>> nbgrad.slice_copy(x, 1, 1, 4, 2)
tensor([[-2.0000,  0.5000],
        [ 1.5000,  2.5000]])
""",
    'slice_scatter': """\
A copy of x with src written to a slice of it.

Signature: slice_scatter(input, src, dim=0, start=None, end=None, step=1)

Operands:
    input, src: tensors (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    ShapeError: such as for ([3, 5], [3, 1], 1, 0, 2).

Derivative (g: the cotangent of the result, out: the result):
    x: g.slice_scatter(g.new_zeros(src_shape), dim, start, end, step)
    src: g.slice(dim, start, end, step)

Forms: x.slice_scatter(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5, 2.0], [-1.0, 1.5, -0.5, 2.5, -3.0], [-1.5, -2.5, 0.25, -0.25, 0.75]], requires_grad=True)
>>> y = nbgrad.tensor([[2.0, -1.0], [1.5, -0.5], [2.5, -3.0]], requires_grad=True)
>>> nbgrad.slice_scatter(x, y, dim=1, start=1, end=5, step=2)
tensor([[ 1.0000,  2.0000,  3.0000, -1.0000,  2.0000],
        [-1.0000,  1.5000, -0.5000, -0.5000, -3.0000],
        [-1.5000,  2.5000,  0.2500, -3.0000,  0.7500]],
       grad_fn=<SliceScatterBackward0>)
>>> nbgrad.grad(nbgrad.slice_scatter(x, y, dim=1, start=1, end=5, step=2).sum(), [x, y])
(tensor([[1., 0., 1., 0., 1.],
        [1., 0., 1., 0., 1.],
        [1., 0., 1., 0., 1.]]), tensor([[1., 1.],
        [1., 1.],
        [1., 1.]]))
""",
    'slogdet': """\
(sign, logabsdet): the determinant's sign, and the logarithm of its magnitude.

Signature: slogdet(A)

Operands:
    A: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.slogdet(...), out=.

>>> x = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.slogdet(x)
SlogdetResult(sign=tensor(1.), logabsdet=tensor(2.8550))
""",
    'smooth_l1_loss': """\
|d| - beta / 2, or d**2 / (2 beta) where |d| < beta, for d = input - target; reduced.

Signature: smooth_l1_loss(input, target, size_average=None, reduce=None, reduction='mean', beta=1.0)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    RangeError: such as for ([2, 3], [2, 3], reduction='all').

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> nbgrad.smooth_l1_loss(x, y)
tensor(0.6875)
""",
    'softmax': """\
exp(x) over its sum along dim; the maximum is subtracted first.

Signature: softmax(input, dim, dtype=None)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: cast(softmax_backward(g, out, dim), x_dtype)

Forms: x.softmax(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.softmax(x, 1)
tensor([[0.1185, 0.0059, 0.8756],
        [0.1753, 0.7856, 0.0391]], grad_fn=<SoftmaxBackward0>)
>>> nbgrad.grad(nbgrad.softmax(x, 1).sum(), x)
(tensor([[0., 0., 0.],
        [0., 0., 0.]]),)
""",
    'softmin': """\
The softmax of -input.

Signature: softmin(input, dim, dtype=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float16, float32, float64: kept; bool, int64, complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.softmin(x, 1)
tensor([[0.0471, 0.9465, 0.0064],
        [0.1753, 0.0391, 0.7856]])
""",
    'softplus': """\
log(1 + e**(beta x)) / beta; x itself where beta x > threshold.

Signature: softplus(input, beta=1.0, threshold=20.0)

Operands:
    input, beta, threshold: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x * beta > threshold, g, g * sigmoid(x * beta))

Forms: x.softplus(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.softplus(x)
tensor([[1.3133, 0.1269, 3.0486],
        [0.9741, 2.1269, 0.3133]], grad_fn=<SoftplusBackward0>)
>>> nbgrad.grad(nbgrad.softplus(x).sum(), x)
(tensor([[0.7311, 0.1192, 0.9526],
        [0.6225, 0.8808, 0.2689]]),)
""",
    'softshrink': """\
x moved towards 0 by lambd, as far as 0.

Signature: softshrink(input, lambd=0.5)

Operands:
    input, lambd: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where((x >= -lambd) & (x <= lambd), 0, g)

Forms: x.softshrink_(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.softshrink(x)
tensor([[ 0.5000, -1.5000,  2.5000],
        [ 0.0000,  1.5000, -0.5000]], grad_fn=<SoftshrinkBackward0>)
>>> nbgrad.grad(nbgrad.softshrink(x).sum(), x)
(tensor([[1., 1., 1.],
        [0., 1., 1.]]),)
""",
    'sort': """\
``(values, indices)`` sorted along dim; equal elements keep their order; NaN counts as the greatest number.

Signature: sort(x, dim=-1, descending=False, stable=False, *, axis=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.sort(...), out=; NumPy: np.sort.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> nbgrad.sort(x)
Extremum(values=tensor([[-2.0000,  0.5000,  1.0000,  3.0000],
        [-1.0000, -0.5000,  1.5000,  2.0000]]), indices=tensor([[1, 3, 0, 2],
        [1, 3, 2, 0]]))
""",
    'split': """\
Pieces along a dimension: of one size (the last may be smaller), or of the given sizes.

Signature: split(x, split_size_or_sections, dim=0)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.split(...); NumPy: np.split.

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0], [1.5, -0.5], [2.5, -3.0]])
>>> nbgrad.split(x, 2)
(tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000]]), tensor([[ 2.0000, -1.0000],
        [ 1.5000, -0.5000]]), tensor([[ 2.5000, -3.0000]]))
""",
    'split_copy': """\
What ``split`` shows, copied.

Signature: split_copy(x, split_size, dim=0)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0], [1.5, -0.5], [2.5, -3.0]])
>>> nbgrad.split_copy(x, 2)
(tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000]]), tensor([[ 2.0000, -1.0000],
        [ 1.5000, -0.5000]]), tensor([[ 2.5000, -3.0000]]))
""",
    'split_with_sizes': """\
Pieces of the given sizes.

Signature: split_with_sizes(input, split_sizes, dim=0)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: views of x: they share its memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    ShapeError or RangeError: such as for ([5, 2], split_sizes=(2, 2)).

Derivative (g: the cotangent of the result, out: the result):
    x: g.cat(dim)

Forms: x.split_with_sizes(...).

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0], [1.5, -0.5], [2.5, -3.0]], requires_grad=True)
>>> nbgrad.split_with_sizes(x, split_sizes=(2, 3))
(tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000]], grad_fn=<SplitWithSizesBackward0>), tensor([[ 2.0000, -1.0000],
        [ 1.5000, -0.5000],
        [ 2.5000, -3.0000]], grad_fn=<SplitWithSizesBackward0>))
""",
    'split_with_sizes_copy': """\
What ``split_with_sizes`` shows, copied.

Signature: split_with_sizes_copy(x, split_sizes, dim=0)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0], [1.5, -0.5], [2.5, -3.0]])
>>> nbgrad.split_with_sizes_copy(x, split_sizes=(2, 3))
(tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000]]), tensor([[ 2.0000, -1.0000],
        [ 1.5000, -0.5000],
        [ 2.5000, -3.0000]]))
""",
    'sqrt': """\
The square root.

Signature: sqrt(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g / (2 * out)

Forms: x.sqrt(...), x.sqrt_(...), out=; NumPy: np.sqrt.

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> nbgrad.sqrt(x)
tensor([1.0000, 1.7321, 0.7071], grad_fn=<SqrtBackward0>)
>>> nbgrad.grad(nbgrad.sqrt(x).sum(), x)
(tensor([0.5000, 0.2887, 0.7071]),)
""",
    'square': """\
x * x.

Signature: square(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; bools count as int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * 2 * pow_one(x)

Forms: x.square(...), x.square_(...), out=; NumPy: np.square.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.square(x)
tensor([1., 4., 9.], grad_fn=<PowBackward0>)
>>> nbgrad.grad(nbgrad.square(x).sum(), x)
(tensor([ 2., -4.,  6.]),)
""",
    'squeeze': """\
Without dimensions of size 1: all, one, or some of them.

Signature: squeeze(x, dim=None, axis=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.squeeze(...); NumPy: np.squeeze.

>>> x = nbgrad.tensor([[[1.0], [-2.0], [3.0]]])
>>> nbgrad.squeeze(x)
tensor([ 1., -2.,  3.])
""",
    'squeeze_copy': """\
What ``squeeze`` shows, copied.

Signature: squeeze_copy(x, dim=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0]])
>>> nbgrad.squeeze_copy(x)
tensor([ 1., -2.,  3.])
""",
    'stack': """\
Tensors of one shape along a new dimension.

Signature: stack(tensors, dim=0)

Operands:
    tensors: a sequence of tensors.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    ShapeError: such as for ([(2, 3), (2, 2)]).

Derivative (g: the cotangent of the result, out: the result):
    tensors: cast([g.select(dim, k) for k in range(len(tensors_dtypes))], tensors_dtypes)

Forms: out=; NumPy: np.stack.

>>> x = [nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True), nbgrad.tensor([[0.5, 2.0, -1.0], [1.5, -0.5, 2.5]], requires_grad=True)]
>>> nbgrad.stack(x)
tensor([[[ 1.0000, -2.0000,  3.0000],
         [ 0.5000,  2.0000, -1.0000]],
<BLANKLINE>
        [[ 0.5000,  2.0000, -1.0000],
         [ 1.5000, -0.5000,  2.5000]]], grad_fn=<StackBackward0>)
""",
    'std': """\
Standard deviation over dimensions: the root of ``var``; its gradient is 0 where it is 0.

Signature: std(x, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None, keepdims=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.std(...), out=; NumPy: np.std.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.std(x)
tensor(1.8552)
""",
    'std_mean': """\
Standard deviation and mean over dimensions.

Signature: std_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.std_mean(x)
(tensor(1.8552), tensor(0.5833))
""",
    'sub': """\
input - alpha * other.

Signature: sub(input, other, *, alpha=1)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; bool is refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    sub, x: g
    sub, y: -g
    add_scaled, x: g
    add_scaled, y: g * alpha

Forms: x.sub(...), x.sub_(...), out=; also called subtract.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, 0.5, -1.0])
>>> nbgrad.sub(x, y, alpha=2)
tensor([-3., -3.,  5.], grad_fn=<AddBackward0>)
>>> nbgrad.grad(nbgrad.sub(x, y, alpha=2).sum(), x)
(tensor([1., 1., 1.]),)
""",
    'sum': """\
Sum over dimensions; integers and bools in int64.

Signature: sum(input, dim=None, keepdim=False, *, dtype=None)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: int64, float16, float32, float64, complex64: kept; bool: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], dim=2).
    ShapeError: such as for ([2, 3], dim=(0, 0)).

Derivative (g: the cotangent of the result, out: the result):
    x: spread(cast(g, x_dtype), x_shape, dim)

Forms: x.sum(...), out=; NumPy: np.sum.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.sum(x)
tensor(3.5000, grad_fn=<SumBackward0>)
>>> nbgrad.grad(nbgrad.sum(x), x)
(tensor([[1., 1., 1.],
        [1., 1., 1.]]),)
""",
    'sum_to': """\
Sum over the dimensions that broadcasting to ``x.shape`` added or stretched; ``x`` itself if there are none.

Signature: sum_to(x, shape)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.sum_to(...).

>>> x = nbgrad.tensor([[[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], [[1.5, -0.5, 2.5], [-3.0, -1.5, -2.5]]])
>>> x.sum_to(shape=(2, 1))
tensor([[ 5.5000],
        [-5.5000]])
""",
    'svd': """\
(U, S, V) with input = U @ diag(S) @ V^H: see ``linalg.svd``, which returns V^H.

Signature: svd(input, some=True, compute_uv=True)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.svd(...), out=.

>>> x = nbgrad.tensor([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]])
>>> nbgrad.svd(x)
SVDTurned(U=tensor([[-0.7983, -0.1951],
        [-0.3288, -0.6514],
        [-0.5046,  0.7332]]), S=tensor([2.7586, 1.9881]), V=tensor([[-0.5956,  0.8033],
        [-0.8033, -0.5956]]))
""",
    't': """\
The transpose of a matrix; fewer dimensions stay as they are.

Signature: t(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: a view of x: it shares the memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([2, 3, 4]).

Derivative (g: the cotangent of the result, out: the result):
    x: g.t()

Forms: x.t(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.t(x)
tensor([[ 1.0000,  0.5000],
        [-2.0000,  2.0000],
        [ 3.0000, -1.0000]], grad_fn=<TBackward0>)
>>> nbgrad.grad(nbgrad.t(x).sum(), x)
(tensor([[1., 1., 1.],
        [1., 1., 1.]]),)
""",
    't_copy': """\
What ``t`` shows, copied.

Signature: t_copy(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.t_copy(x)
tensor([[ 1.0000,  0.5000],
        [-2.0000,  2.0000],
        [ 3.0000, -1.0000]])
""",
    'take': """\
The elements of x, seen as one row, that index names.

Signature: take(input, index)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g.take_backward(x_shape, index)

Forms: x.take(...), out=; NumPy: np.take.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]], requires_grad=True)
>>> y = nbgrad.tensor([[0, 7], [11, 7]])
>>> nbgrad.take(x, y)
tensor([[ 1.0000, -0.5000],
        [-2.5000, -0.5000]], grad_fn=<TakeBackward0>)
>>> nbgrad.grad(nbgrad.take(x, y).sum(), x)
(tensor([[1., 0., 0., 0.],
        [0., 0., 0., 2.],
        [0., 0., 0., 1.]]),)
""",
    'take_along_dim': """\
``gather`` whose operands broadcast in the other dimensions; without ``dim`` both are seen as one row.

With ``dim`` negative indices count from the end.

Signature: take_along_dim(x, indices, dim=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.take_along_dim(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> y = nbgrad.tensor([[0, 1, 1, 0], [1, 0, 1, 1]])
>>> nbgrad.take_along_dim(x, y, 0)
tensor([[ 1.0000, -1.0000,  1.5000,  0.5000],
        [ 2.0000, -2.0000,  1.5000, -0.5000]])
""",
    'tan': """\
The tangent of x in radians.

Signature: tan(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * (1 + out * out)

Forms: x.tan(...), x.tan_(...), out=; NumPy: np.tan.

>>> x = nbgrad.tensor([0.5, -0.5, 0.25], requires_grad=True)
>>> nbgrad.tan(x)
tensor([ 0.5463, -0.5463,  0.2553], grad_fn=<TanBackward0>)
>>> nbgrad.grad(nbgrad.tan(x).sum(), x)
(tensor([1.2984, 1.2984, 1.0652]),)
""",
    'tanh': """\
The hyperbolic tangent.

Signature: tanh(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * (1 - out * out)

Forms: x.tanh(...), x.tanh_(...), out=; NumPy: np.tanh.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.tanh(x)
tensor([ 0.7616, -0.9640,  0.9951], grad_fn=<TanhBackward0>)
>>> nbgrad.grad(nbgrad.tanh(x).sum(), x)
(tensor([0.4200, 0.0707, 0.0099]),)
""",
    'tanhshrink': """\
x - tanh(x).

Signature: tanhshrink(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g * tanh(x) * tanh(x)

Forms: x.tanhshrink_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.tanhshrink(x)
tensor([ 0.2384, -1.0360,  2.0049], grad_fn=<TanhshrinkBackward0>)
>>> nbgrad.grad(nbgrad.tanhshrink(x).sum(), x)
(tensor([0.5800, 0.9293, 0.9901]),)
""",
    'tensor_split': """\
So many pieces of nearly equal size, or the pieces between the given indices.

Signature: tensor_split(x, indices_or_sections, dim=0)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.tensor_split(...).

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0], [1.5, -0.5], [2.5, -3.0]])
>>> nbgrad.tensor_split(x, 3)
(tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000]]), tensor([[ 2.0000, -1.0000],
        [ 1.5000, -0.5000]]), tensor([[ 2.5000, -3.0000]]))
""",
    'tensordot': """\
Sums of products over pairs of dimensions.

Args:
    a, b: any shapes.
    dims: how many, the last of ``a`` with the first of ``b``; or two lists of dimensions, paired in order. A size of 1 goes
        with any other.

Returns:
    Tensor with the other dimensions of ``a``, then those of ``b``.

Raises:
    ShapeError: paired sizes differ, or the lists' lengths.

Signature: tensordot(a, b, dims=2)

Operands:
    a: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=; NumPy: np.tensordot.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5], [0.25, -0.25, 0.75, -0.75]])
>>> nbgrad.tensordot(x, y, dims=1)
tensor([[-2.2500,  4.2500,  6.7500,  2.2500],
        [ 5.7500, -6.2500, -3.0000, -4.5000]])
""",
    'threshold': """\
threshold; inplace=True overwrites input.

Signature: threshold(input, threshold, value, inplace=False)

Operands:
    input, threshold, value: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype; integers and bools are refused; complex numbers are
        refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(x <= threshold, 0, g)

Forms: x.threshold_(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.threshold(x, 0.5, 0.0)
tensor([1., 0., 3.], grad_fn=<ThresholdBackward0>)
>>> nbgrad.grad(nbgrad.threshold(x, 0.5, 0.0).sum(), x)
(tensor([1., 0., 1.]),)
""",
    'tile': """\
``repeat`` with missing repeats in front taken as 1.

Signature: tile(x, *each, dims=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.tile(...); NumPy: np.tile.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.tile(x, 2, 1, 2)
tensor([[[ 1.0000, -2.0000,  3.0000,  1.0000, -2.0000,  3.0000],
         [ 0.5000,  2.0000, -1.0000,  0.5000,  2.0000, -1.0000]],
<BLANKLINE>
        [[ 1.0000, -2.0000,  3.0000,  1.0000, -2.0000,  3.0000],
         [ 0.5000,  2.0000, -1.0000,  0.5000,  2.0000, -1.0000]]])
""",
    'topk': """\
``(values, indices)`` of the k greatest (or smallest) elements along dim, in order.

Signature: topk(x, k, dim=-1, largest=True, sorted=True, *, axis=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, float32, float64: kept; complex64: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    NbgradError: such as for ([2, 4], 5).

Derivative: that of the operations it is written in.

Forms: x.topk(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5]])
>>> nbgrad.topk(x, 2)
Extremum(values=tensor([[3.0000, 1.0000],
        [2.0000, 1.5000]]), indices=tensor([[2, 0],
        [0, 2]]))
""",
    'trace': """\
The sum of a matrix's diagonal.

Signature: trace(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g.expand_shape((min(x_shape),)).diagonal_backward(x_shape, 0, 0, 1)

Forms: x.trace(...), out=; NumPy: np.trace.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0], [1.5, -0.5, 2.5]], requires_grad=True)
>>> nbgrad.trace(x)
tensor(5.5000, grad_fn=<TraceBackward0>)
>>> nbgrad.grad(nbgrad.trace(x), x)
(tensor([[1., 0., 0.],
        [0., 1., 0.],
        [0., 0., 1.]]),)
""",
    'transpose': """\
Two dimensions exchanged.

Signature: transpose(input, dim0, dim1)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: a view of x: it shares the memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], 0, 2).

Derivative (g: the cotangent of the result, out: the result):
    x: g.transpose(dim0, dim1)

Forms: x.transpose(...); also called swapaxes, swapdims; NumPy: np.transpose.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.transpose(x, 0, 1)
tensor([[ 1.0000,  0.5000],
        [-2.0000,  2.0000],
        [ 3.0000, -1.0000]], grad_fn=<TransposeBackward0>)
>>> nbgrad.grad(nbgrad.transpose(x, 0, 1).sum(), x)
(tensor([[1., 1., 1.],
        [1., 1., 1.]]),)
""",
    'transpose_copy': """\
What ``transpose`` shows, copied.

Signature: transpose_copy(x, dim0, dim1)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.transpose_copy(x, 0, 1)
tensor([[ 1.0000,  0.5000],
        [-2.0000,  2.0000],
        [ 3.0000, -1.0000]])
""",
    'trapezoid': """\
The integral along dim by the trapezoidal rule: of points at ``x``, or ``dx`` (1) apart.

Signature: trapezoid(y, x=None, *, dx=None, dim=-1)

Operands:
    y: a tensor or a NumPy array.

Returns:
    Dtype: float32, float16, float64, complex64: kept; bool, int64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.
    ShapeError: such as for ([2, 3], [4]).

Derivative: that of the operations it is written in.

Forms: also called trapz; NumPy: np.trapezoid.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> nbgrad.trapezoid(x)
tensor([ 1.7500,  1.2500, -4.5000])
""",
    'triangular_solve': """\
(solution, A) of ``linalg.solve_triangular``, with A transposed if asked for.

Signature: triangular_solve(b, A, upper=True, transpose=False, unitriangular=False)

Operands:
    b: a tensor or a NumPy array.

Returns:
    Dtype: float32, float64, complex64: kept; bool, int64, float16: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.triangular_solve(...), out=.

>>> x = nbgrad.tensor([[1.0, -2.0], [0.5, 1.5], [-1.0, 0.25]])
>>> y = nbgrad.tensor([[3.0, 0.5, -1.0], [0.25, 2.0, 1.0], [-0.5, 1.5, 4.0]])
>>> nbgrad.triangular_solve(x, y)
TriangularSolution(solution=tensor([[ 0.1875, -0.7656],
        [ 0.3750,  0.7188],
        [-0.2500,  0.0625]]), cloned_coefficient=tensor([[ 3.0000,  0.5000, -1.0000],
        [ 0.2500,  2.0000,  1.0000],
        [-0.5000,  1.5000,  4.0000]]))
""",
    'tril': """\
The lower triangle of matrices, zero above the diagonal.

Signature: tril(input, diagonal=0)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g.tril(diagonal)

Forms: x.tril(...), out=; NumPy: np.tril.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]], requires_grad=True)
>>> nbgrad.tril(x)
tensor([[ 1.0000,  0.0000,  0.0000,  0.0000],
        [ 2.0000, -1.0000,  0.0000,  0.0000],
        [ 2.5000, -3.0000, -1.5000,  0.0000]], grad_fn=<TrilBackward0>)
>>> nbgrad.grad(nbgrad.tril(x).sum(), x)
(tensor([[1., 0., 0., 0.],
        [1., 1., 0., 0.],
        [1., 1., 1., 0.]]),)
""",
    'tril_': """\
In place: tril.

Signature: tril_(x, diagonal=0)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.tril_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> x.tril_(1)
tensor([[ 1.0000, -2.0000,  0.0000,  0.0000],
        [ 2.0000, -1.0000,  1.5000,  0.0000],
        [ 2.5000, -3.0000, -1.5000, -2.5000]])
""",
    'tril_indices': """\
Rows and columns of the lower triangle of a matrix, (2, n).

Signature: tril_indices(row, col, offset=0, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False)

Operands:
    row: a tensor or a NumPy array.

Returns:
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.tril_indices.

>>> nbgrad.tril_indices(3, 2)
tensor([[0, 1, 1, 2, 2],
        [0, 0, 1, 0, 1]])
""",
    'triu': """\
The upper triangle of matrices, zero below the diagonal.

Signature: triu(input, diagonal=0)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: g.triu(diagonal)

Forms: x.triu(...), out=; NumPy: np.triu.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]], requires_grad=True)
>>> nbgrad.triu(x)
tensor([[ 1.0000, -2.0000,  3.0000,  0.5000],
        [ 0.0000, -1.0000,  1.5000, -0.5000],
        [ 0.0000,  0.0000, -1.5000, -2.5000]], grad_fn=<TriuBackward0>)
>>> nbgrad.grad(nbgrad.triu(x).sum(), x)
(tensor([[1., 1., 1., 1.],
        [0., 1., 1., 1.],
        [0., 0., 1., 1.]]),)
""",
    'triu_': """\
In place: triu.

Signature: triu_(x, diagonal=0)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.triu_(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, -1.0, 1.5, -0.5], [2.5, -3.0, -1.5, -2.5]])
>>> x.triu_(-1)
tensor([[ 1.0000, -2.0000,  3.0000,  0.5000],
        [ 2.0000, -1.0000,  1.5000, -0.5000],
        [ 0.0000, -3.0000, -1.5000, -2.5000]])
""",
    'triu_indices': """\
Rows and columns of the upper triangle of a matrix, (2, n).

Signature: triu_indices(row, col, offset=0, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False)

Operands:
    row: a tensor or a NumPy array.

Returns:
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.triu_indices.

>>> nbgrad.triu_indices(3, 2, 1)
tensor([[0],
        [1]])
""",
    'trunc': """\
x without its fraction.

Signature: trunc(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: of x's shape.
    Dtype: computed in the operands' common dtype; bool is refused; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.

Derivative (g: the cotangent of the result, out: the result):
    x: 0

Forms: x.trunc(...), x.trunc_(...), out=; also called fix; NumPy: np.trunc.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> nbgrad.trunc(x)
tensor([ 1., -2.,  3.], grad_fn=<TruncBackward0>)
>>> nbgrad.grad(nbgrad.trunc(x).sum(), x)
(tensor([0., 0., 0.]),)
""",
    'unbind': """\
All elements of one dimension, as a tuple.

Signature: unbind(input, dim=0)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: views of x: they share its memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: g.stack(dim)

Forms: x.unbind(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.unbind(x)
(tensor([ 1., -2.,  3.], grad_fn=<UnbindBackward0>), tensor([ 0.5000,  2.0000, -1.0000], grad_fn=<UnbindBackward0>))
""",
    'unbind_copy': """\
What ``unbind`` shows, copied.

Signature: unbind_copy(x, dim=0)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.unbind_copy(x, 1)
(tensor([1.0000, 0.5000]), tensor([-2.,  2.]), tensor([ 3., -1.]))
""",
    'unflatten': """\
One dimension as several; one of their sizes may be -1.

Signature: unflatten(x, dim, sizes)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.unflatten(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0, 0.5, 2.0, -1.0])
>>> nbgrad.unflatten(x, 0, sizes=(2, -1))
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]])
""",
    'unfold': """\
All windows of ``size`` elements, ``step`` apart, as a last dimension.

Signature: unfold(input, dimension, size, step)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: a view of x: it shares the memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: g.unfold_backward(x_shape, dimension, size, step)

Forms: x.unfold(...).

>>> x = nbgrad.tensor([1.0, -2.0, 3.0, 0.5, 2.0, -1.0, 1.5], requires_grad=True)
>>> nbgrad.unfold(x, 0, 3, 2)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 3.0000,  0.5000,  2.0000],
        [ 2.0000, -1.0000,  1.5000]], grad_fn=<UnfoldBackward0>)
>>> nbgrad.grad(nbgrad.unfold(x, 0, 3, 2).sum(), x)
(tensor([1., 1., 2., 1., 2., 1., 1.]),)
""",
    'unfold_copy': """\
What ``unfold`` shows, copied.

Signature: unfold_copy(x, dimension, size, step)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0, 0.5, 2.0, -1.0, 1.5])
>>> nbgrad.unfold_copy(x, 0, 3, 2)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 3.0000,  0.5000,  2.0000],
        [ 2.0000, -1.0000,  1.5000]])
""",
    'unique': """\
The different values in order, every NaN one of its own; with ``dim`` the different slices. Differentiating it
is refused.

Signature: unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.unique(...); NumPy: np.unique.

>>> x = nbgrad.tensor([2, 0, 1, 2])
>>> nbgrad.unique(x)
tensor([0, 1, 2])
""",
    'unique_consecutive': """\
Elements (with ``dim``, slices) without those that repeat their neighbour before them; refuses to be
differentiated.

Signature: unique_consecutive(input, return_inverse=False, return_counts=False, dim=None)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64: kept; bool, float16, float32, float64, complex64: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.unique_consecutive(...).

>>> x = nbgrad.tensor([1, 1, 2, 2, 3, 1])
>>> nbgrad.unique_consecutive(x)
tensor([1, 2, 3, 1])
""",
    'unsafe_chunk': """\
``chunk`` whose pieces autograd takes for tensors of their own.

Signature: unsafe_chunk(x, chunks, dim=0)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.unsafe_chunk(...).

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0], [1.5, -0.5], [2.5, -3.0]])
>>> nbgrad.unsafe_chunk(x, 2)
(tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000],
        [ 2.0000, -1.0000]]), tensor([[ 1.5000, -0.5000],
        [ 2.5000, -3.0000]]))
""",
    'unsafe_split': """\
Pieces that autograd takes for tensors of their own, each with its own count of writes: only for use where the
input, which learns of none of them, is not used again.

Signature: unsafe_split(input, split_size, dim=0)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: views of x: they share its memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: g.cat(dim)

Forms: x.unsafe_split(...).

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0], [1.5, -0.5], [2.5, -3.0]], requires_grad=True)
>>> nbgrad.unsafe_split(x, 2)
(tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000]], grad_fn=<UnsafeSplitBackward0>), tensor([[ 2.0000, -1.0000],
        [ 1.5000, -0.5000]], grad_fn=<UnsafeSplitBackward0>), tensor([[ 2.5000, -3.0000]], grad_fn=<UnsafeSplitBackward0>))
""",
    'unsafe_split_with_sizes': """\
Pieces of the given sizes that autograd takes for tensors of their own: see unsafe_split.

Signature: unsafe_split_with_sizes(input, split_sizes, dim=0)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: views of x: they share its memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative (g: the cotangent of the result, out: the result):
    x: g.cat(dim)

Forms: x.unsafe_split_with_sizes(...).

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0], [1.5, -0.5], [2.5, -3.0]], requires_grad=True)
>>> nbgrad.unsafe_split_with_sizes(x, split_sizes=(2, 3))
(tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000]], grad_fn=<UnsafeSplitWithSizesBackward0>), tensor([[ 2.0000, -1.0000],
        [ 1.5000, -0.5000],
        [ 2.5000, -3.0000]], grad_fn=<UnsafeSplitWithSizesBackward0>))
""",
    'unsqueeze': """\
With a dimension of size 1 at ``dim``.

Signature: unsqueeze(input, dim)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: a view of x: it shares the memory.
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: such as for ([2, 3], 4).

Derivative (g: the cotangent of the result, out: the result):
    x: g.squeeze_dim(dim)

Forms: x.unsqueeze(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]], requires_grad=True)
>>> nbgrad.unsqueeze(x, 1)
tensor([[[ 1.0000, -2.0000,  3.0000]],
<BLANKLINE>
        [[ 0.5000,  2.0000, -1.0000]]], grad_fn=<UnsqueezeBackward0>)
>>> nbgrad.grad(nbgrad.unsqueeze(x, 1).sum(), x)
(tensor([[1., 1., 1.],
        [1., 1., 1.]]),)
""",
    'unsqueeze_copy': """\
What ``unsqueeze`` shows, copied.

Signature: unsqueeze_copy(x, dim)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.unsqueeze_copy(x, 1)
tensor([[[ 1.0000, -2.0000,  3.0000]],
<BLANKLINE>
        [[ 0.5000,  2.0000, -1.0000]]])
""",
    'vander': """\
Powers of the elements of a vector, one a column: from the highest to 1.

Raises:
    ShapeError: no vector. RangeError: N is negative.

Signature: vander(x, N=None, increasing=False)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: int64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: NumPy: np.vander.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> nbgrad.vander(x)
tensor([[ 1.,  1.,  1.],
        [ 4., -2.,  1.],
        [ 9.,  3.,  1.]])
""",
    'var': """\
Variance over dimensions, divided by n - correction (1 unless given); of complex numbers that of both parts,
added.

Signature: var(x, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None, keepdims=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: x.var(...), out=; NumPy: np.var.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.var(x)
tensor(3.4417)
""",
    'var_mean': """\
Variance and mean over dimensions.

Signature: var_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Shape: x's shape without the reduced dimensions, which keepdim=True leaves with size 1.
    Dtype: float16, float32, float64: kept; bool, int64: refused; complex64: float32.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DimError: a dimension out of range.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.var_mean(x)
(tensor(3.4417), tensor(0.5833))
""",
    'vdot': """\
``dot`` with the first vector conjugated.

Signature: vdot(input, other)

Operands:
    input: a tensor or a NumPy array.

Returns:
    Dtype: int64, float16, float32, float64, complex64: kept; bool: refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.vdot(...), out=; NumPy: np.vdot.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0])
>>> y = nbgrad.tensor([2.0, -1.0, 1.5])
>>> nbgrad.vdot(x, y)
tensor(8.5000)
""",
    'view': """\
The same memory under another shape, ``x.view(2, -1)`` or ``x.view((2, -1))``, or as another dtype. Never
copies.

Raises:
    ShapeError: the elements cannot be reached by strides. Hint: reshape.

Signature: view(x, *shape, size=None, dtype=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.view(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> x.view(3, 2)
tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000],
        [ 2.0000, -1.0000]])
""",
    'view_as': """\
``x.view(other.shape)``.

Signature: view_as(x, other)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: x.view_as(...).

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> y = nbgrad.tensor([[2.0, -1.0], [1.5, -0.5], [2.5, -3.0]])
>>> x.view_as(y)
tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000],
        [ 2.0000, -1.0000]])
""",
    'view_as_complex': """\
Pairs of numbers as a complex tensor.

Signature: view_as_complex(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: a view of x: it shares the memory.
    Dtype: the same memory, read as another dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: view_as_real(g.resolve_conj().contiguous())

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0]], requires_grad=True)
>>> nbgrad.view_as_complex(x)
tensor([1.-2.0000j, 3.+0.5000j, 2.-1.0000j], grad_fn=<ViewAsComplexBackward0>)
""",
    'view_as_complex_copy': """\
What ``view_as_complex`` shows, copied.

Signature: view_as_complex_copy(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: bool, int64, float16, complex64: refused; float32: complex64; float64: complex128.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5], [2.0, -1.0]])
>>> nbgrad.view_as_complex_copy(x)
tensor([1.-2.0000j, 3.+0.5000j, 2.-1.0000j])
""",
    'view_as_real': """\
A complex tensor as pairs of numbers: one more dimension, of size 2.

Signature: view_as_real(input)

Operands:
    input: a tensor or a NumPy array (x in formulas).

Returns:
    Shape: a view of x: it shares the memory.
    Dtype: the same memory, read as another dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative (g: the cotangent of the result, out: the result):
    x: view_as_complex(g.resolve_neg().contiguous())

>>> x = nbgrad.tensor([[(1.5-0.5j), (-2+1j)], [(0.3+2j), (-1-1j)]])
>>> nbgrad.view_as_real(x)
tensor([[[ 1.5000, -0.5000],
         [-2.0000,  1.0000]],
<BLANKLINE>
        [[ 0.3000,  2.0000],
         [-1.0000, -1.0000]]])
""",
    'view_as_real_copy': """\
What ``view_as_real`` shows, copied.

Signature: view_as_real_copy(x)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: float64: kept; bool, int64, float16, float32, complex64: float64.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([(1.5-0.5j), 2j])
>>> nbgrad.view_as_real_copy(x)
tensor([[ 1.5000, -0.5000],
        [ 0.0000,  2.0000]])
""",
    'view_copy': """\
What ``view`` shows, copied.

Signature: view_copy(x, size=None, dtype=None)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
>>> nbgrad.view_copy(x, size=(3, 2))
tensor([[ 1.0000, -2.0000],
        [ 3.0000,  0.5000],
        [ 2.0000, -1.0000]])
""",
    'vsplit': """\
Pieces below one another: along the first dimension; equal ones, or those between the given indices.

Signature: vsplit(x, indices_or_sections)

Operands:
    x: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: such as for ([4, 3], 3).
    DimError: such as for ([], 1).

Derivative: that of the operations it is written in.

Forms: x.vsplit(...); NumPy: np.vsplit.

>>> x = nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0], [1.5, -0.5, 2.5], [-3.0, -1.5, -2.5]])
>>> nbgrad.vsplit(x, 2)
(tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000]]), tensor([[ 1.5000, -0.5000,  2.5000],
        [-3.0000, -1.5000, -2.5000]]))
""",
    'vstack': """\
Tensors below one another; rows become matrices of one row.

Signature: vstack(tensors)

Operands:
    tensors: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: out=; also called row_stack; NumPy: np.vstack.

>>> x = [nbgrad.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]]), nbgrad.tensor([[0.5, 2.0, -1.0], [1.5, -0.5, 2.5]])]
>>> nbgrad.vstack(x)
tensor([[ 1.0000, -2.0000,  3.0000],
        [ 0.5000,  2.0000, -1.0000],
        [ 0.5000,  2.0000, -1.0000],
        [ 1.5000, -0.5000,  2.5000]])
""",
    'where': """\
input where condition is true, else other.

Signature: where(input, condition, other)

Operands:
    condition, input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in
        formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where(condition, g, 0)
    y: where(condition, 0, g)

Forms: out=; NumPy: np.where.

>>> x = nbgrad.tensor([1.0, -2.0, 3.0], requires_grad=True)
>>> y = nbgrad.tensor([2.0, 0.5, -1.0])
>>> nbgrad.where(x > 0, x, y)
tensor([1.0000, 0.5000, 3.0000], grad_fn=<WhereBackward0>)
>>> nbgrad.grad(nbgrad.where(x > 0, x, y).sum(), x)
(tensor([1., 0., 1.]),)
""",
    'where_or_positions': """\
``input`` where ``condition`` is true, else ``other``; of a condition alone, its positions.

Signature: where_or_positions(condition, input=None, other=None, *, out=None)

Operands:
    condition: a tensor or a NumPy array.

Returns:
    Dtype: any; the result has the operand's.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.

Derivative: that of the operations it is written in.

Forms: also called where.

>>> x = nbgrad.tensor([[True, False, True], [False, True, True]])
>>> y = nbgrad.tensor([[2.0, -1.0, 1.5], [-0.5, 2.5, -3.0]])
>>> z = nbgrad.tensor([2.5, -3.0, -1.5])
>>> nbgrad.where_or_positions(x, y, z)
tensor([[ 2.0000, -3.0000,  1.5000],
        [ 2.5000,  2.5000, -3.0000]])
""",
    'xlog1py': """\
x * log(1 + y); 0 where x is 0, unless y is NaN.

Signature: special.xlog1py(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where((x == 0) & (y <= -1), 0, g * log1p(y))
    y: where((x == 0) & (y == -1), 0, g * x / (y + 1))

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> y = nbgrad.tensor([1.5, 2.5, 0.75], requires_grad=True)
>>> nbgrad.special.xlog1py(x, y)
tensor([0.9163, 3.7583, 0.2798], grad_fn=<SpecialXlog1PyBackward0>)
>>> nbgrad.grad(nbgrad.special.xlog1py(x, y).sum(), [x, y])
(tensor([0.9163, 1.2528, 0.5596]), tensor([0.4000, 0.8571, 0.2857]))
""",
    'xlogy': """\
x * log(y); 0 where x is 0, unless y is NaN.

Signature: xlogy(input, other)

Operands:
    input, other: tensors, NumPy arrays or numbers, at least one of them no number (x and y in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: where((x == 0) & (y <= 0), 0, g * log(y))
    y: where((x == 0) & (y == 0), 0, g * x / y)

Forms: x.xlogy(...), x.xlogy_(...), out=.

>>> x = nbgrad.tensor([1.0, 3.0, 0.5], requires_grad=True)
>>> y = nbgrad.tensor([1.5, 2.5, 0.75], requires_grad=True)
>>> nbgrad.xlogy(x, y)
tensor([ 0.4055,  2.7489, -0.1438], grad_fn=<XlogyBackward0>)
>>> nbgrad.grad(nbgrad.xlogy(x, y).sum(), [x, y])
(tensor([ 0.4055,  0.9163, -0.2877]), tensor([0.6667, 1.2000, 0.6667]))
""",
    'zeta': """\
The Hurwitz zeta function, sum over k of (k + q)**-x; its derivative by x is NaN.

Signature: special.zeta(input, q)

Operands:
    input, q: tensors, NumPy arrays or numbers, at least one of them no number (x in formulas).

Returns:
    Shape: of the shape that the operands broadcast to.
    Dtype: computed in the operands' common dtype, which becomes the default float if it is an integer or
        bool; complex numbers are refused.

Raises:
    ArgumentError: an operand is none of these; arguments that do not fit the signature.
    DTypeError: a dtype that is refused.
    ShapeError: shapes that do not broadcast.

Derivative (g: the cotangent of the result, out: the result):
    x: g * log(-1 - q * q)
    q: g * -x * zeta(x + 1, q)

>>> x = nbgrad.tensor([[1.5, 2.5, 0.75], [0.625, 0.875, 1.0]], requires_grad=True)
>>> nbgrad.special.zeta(3.0, x)
tensor([[0.4144, 0.1181, 2.6513],
        [4.4343, 1.7295, 1.2021]], grad_fn=<SpecialZetaBackward0>)
>>> nbgrad.grad(nbgrad.special.zeta(3.0, x).sum(), x)
(tensor([[ -0.7045,  -0.1120,  -9.8817],
        [-20.1854,  -5.4295,  -3.2470]]),)
""",
}
