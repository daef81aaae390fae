"""The calls that ``test_operations.py`` measures: every operation of the table, at 16 and at about a million elements.

Elementwise operations are called as their rows of samples say (``tests/samples``), reductions with a matrix. What the others take
is below: a line has operations and their arguments, behind ``=`` whole expressions. Names in them are operands, which ``OPERANDS``
draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from nbgrad.ops.core import OPS, Composite, Elementwise, General, Op
from tests.samples import SAMPLES

__all__ = ["Program", "PROGRAMS", "SIZES", "reason_of", "unexplained", "unmeasured"]

SIZES = {"small": 16, "large": 1_000_000}

# Shapes of the small and of the large operand, and how it is drawn. What takes more than linear time gets less than a million.
OPERANDS: dict[str, tuple[tuple, tuple, str]] = {
    **dict.fromkeys("xyz", ((4, 4), (1000, 1000), "real")),
    **dict.fromkeys("vw", ((16,), (1_000_000,), "real")),
    **dict.fromkeys(("xs", "ys"), ((2, 2, 4), (100, 100, 100), "real")),
    **dict.fromkeys(("even",), ((2, 2, 2, 2), (32, 32, 32, 32), "real")),
    **dict.fromkeys("abq", ((4, 4), (100, 100), "matrix")),
    "spd": ((4, 4), (100, 100), "positive definite"),
    "tall": ((6, 3), (200, 50), "real"),
    "tau": ((3,), (50,), "unit"),
    "s": ((4, 4), (100, 200), "real"),
    "r": ((4,), (1000,), "real"),
    "p": ((16,), (1_000_000,), "positive"),
    "u": ((4, 4), (1000, 1000), "unit"),
    "images": ((1, 4, 4, 4), (64, 4, 64, 64), "real"),
    "kernels": ((4, 4, 3, 3), (16, 4, 3, 3), "real"),
    "xc": ((3, 4), (1000, 3, 300), "real"),
    "yc": ((3, 4), (1000, 3, 300), "real"),
    "one": ((), (), "real"),
    **dict.fromkeys("cd", ((16,), (500_000,), "complex")),
    "pairs": ((8, 2), (500_000, 2), "real"),
    "mask": ((4, 4), (1000, 1000), "mask"),
    "n": ((16,), (1_000_000,), "whole"),
    "m": ((16,), (1_000_000,), "whole"),
    "rows": ((3,), (1000,), "index"),
    "columns": ((4, 4), (1000, 1000), "index"),
    "flat": ((16,), (1_000_000,), "index"),
    "labels": ((4,), (1000,), "index"),
    "few": ((4,), (200,), "real"),
    "edges": ((8,), (1000,), "sorted"),
    "points": ((4, 3), (300, 30), "real"),
    "others": ((4, 3), (300, 30), "real"),
    "table": ((8, 2), (10_000, 64), "real"),
}

CALLS = """
isreal is_complex is_floating_point is_conj is_neg resolve_conj resolve_neg | x
real imag view_as_real conj | c
view_as_complex | pairs
= view_as_complex_copy | lib.view_as_complex_copy(pairs.detach())
view_as_real_copy | c
complex polar | v, w
= stft | lib.stft(v, 8, return_complex=True)
= istft | lib.istft(lib.stft(v, 8, return_complex=True), 8)
= H | x.H
= detach_copy | lib.detach_copy(x.detach())
alias_copy t_copy diagonal_copy squeeze_copy | x
as_strided_copy as_strided | x, (2, 4), (1, 2)
expand_copy | r, x.shape
narrow_copy narrow | x, 1, 1, 2
permute_copy | xs, (2, 0, 1)
select_copy select | x, 1, 2
slice_copy | x, 1, 1, 3
split_copy split unsafe_split | x, 2
split_with_sizes_copy split_with_sizes unsafe_split_with_sizes | x, (2, x.shape[0] - 2)
transpose_copy transpose swapaxes swapdims | x, 0, 1
unbind_copy | x
unbind | s
unfold_copy | x, 1, 2, 2
= unfold | x.unfold(1, 2, 2)
unsqueeze_copy unsqueeze | x, 1
view_copy | x, (-1,)
slice_scatter | x, y[1:], 0, 1
select_scatter | x, r, 0, 1
diagonal_scatter | x, r
as_strided_scatter | x, r, (x.shape[1],), (1,)
einsum | "ij,jk->ik", a, b
gather | x, 1, columns
take_along_dim | x, columns, 1
index_select | x, 1, rows
take | v, flat
masked_select | x, mask
masked_scatter | x, mask, y
scatter scatter_add | x, 1, columns, y
index_add index_copy | x, 0, rows, x[:rows.shape[0]]
index_fill | x, 0, rows, 1.5
index_put | x, (labels,), y
= put | v.put(flat, w)
scatter_reduce | x, 1, columns, y, "amax"
index_reduce | x, 0, labels, y, "amax"
= index | x[rows]
= getitem | x[1]
= getitem, by a mask | x[mask]
= getitem, by two indices | x[rows, rows]
= getitem, a slice | x[:, 1:3]
= where, of positions | lib.where(mask)
nonzero argwhere | mask
= nonzero_static | lib.nonzero_static(mask, size=1000)
= segment_reduce | lib.segment_reduce(x, "sum", lengths=lib.ones_like(labels))
repeat_interleave | x, 2
sum mean amax amin argmax argmin max min aminmax any all count_nonzero var std var_mean std_mean norm prod | x
softmax log_softmax logsumexp nn.functional.softmin cumsum cumprod logcumsumexp cummax cummin | x, 1
= sum, of rows | lib.sum(x, 1)
= mean, of columns | lib.mean(x, 0)
= max, of rows | lib.max(x, 1)
= prod, of rows | lib.prod(x, 1)
argsort sort msort | s
topk | s, 2
kthvalue | s, 2
median nanmedian mode | s
= median, of rows | lib.median(s, 1)
quantile nanquantile | s, 0.3
matmul mm inner | a, b
inner | a, b
kron | points[:4], points
outer ger | r, r
addr | x, r, r
bmm | xs, xs.transpose(1, 2)
mv | x, r
dot vdot | v, w
nn.functional.linear | a, b
= nn.functional.linear, with bias | lib.nn.functional.linear(table, tall[:2, :2] if table.shape[1] == 2 else y[:64, :64], table[0])
addmm | q, a, b
addmv | r, x, r
baddbmm | xs[:, :, :2].expand(-1, -1, 2) if xs.shape[0] == 2 else xs, xs, xs.transpose(1, 2)
addbmm | xs[0, :, :2] if xs.shape[0] == 2 else xs[0], xs, xs.transpose(1, 2)
trace | x
tensordot | a, b, 1
nn.functional.mse_loss nn.functional.l1_loss nn.functional.smooth_l1_loss nn.functional.huber_loss | x, y
nn.functional.binary_cross_entropy | x.sigmoid(), y.sigmoid()
nn.functional.binary_cross_entropy_with_logits nn.functional.kl_div | x, y
nn.functional.nll_loss nn.functional.cross_entropy | x, labels
= view | x.view(-1)
= view_as | x.view_as(v)
= reshape_as | x.reshape_as(v)
= expand_as | r.expand_as(x)
= expand | r.expand(2, *r.shape)
= contiguous | x.contiguous()
= contiguous, of a transpose | x.t().contiguous()
= to | x.to(lib.float64)
reshape | x, (-1,)
permute | xs, (2, 0, 1)
t squeeze flatten ravel adjoint | x
= T | x.T
= mT | x.mT
= mH | x.mH
broadcast_to | r, x.shape
unflatten | x, 1, (2, -1)
chunk unsafe_chunk tensor_split | x, 2
hsplit vsplit | x, 2
dsplit | xs, 2
movedim | xs, 0, 2
diagonal | x
cat stack | (x, y)
hstack vstack dstack | (x, y)
flip | x, (1,)
fliplr flipud tril triu rot90 | x
roll | x, 1, 1
tile | x, (2, 1)
= repeat | x.repeat(2, 1)
= dropout | lib.nn.functional.dropout(x, 0.5, training=False)
= alpha_dropout | lib.nn.functional.alpha_dropout(x, 0.5, training=True)
= feature_dropout | lib.feature_dropout(xs, 0.5, True)
= feature_alpha_dropout | lib.nn.functional.feature_alpha_dropout(xs, 0.5, training=True)
float_power | x, 2
isclose allclose equal | x, y
polygamma | 2, p
mvlgamma | p + 2, 2
= igamma | lib.igamma(p.detach(), p)
= igammac | lib.igammac(p.detach(), p)
nansum nanmean nan_to_num signbit frexp | x
ldexp | x, n.view(x.shape)
= nextafter | lib.nextafter(x.detach(), y.detach())
broadcast_tensors | x, r
diag diag_embed | r
diagflat | few
= nn.functional.pad | lib.nn.functional.pad(x, (1, 1))
block_diag | few[None], few[None]
cross linalg.cross | xc, yc, dim=-2
dist nn.functional.pairwise_distance nn.functional.cosine_similarity | x, y
cdist | points, others
nn.functional.normalize | x
chain_matmul | a, b, q
meshgrid | few, few
cartesian_prod | few, few
= vander | lib.vander(few.detach(), N=4)
linalg.vander | few, N=4
= nn.functional.one_hot | lib.nn.functional.one_hot(labels, 1000)
combinations | few
= unique | lib.unique(s.detach())
= unique_consecutive | lib.unique_consecutive(s.detach())
bincount | n
searchsorted | edges, v
bucketize | v, edges
isin | s, few
tril_indices triu_indices | 4, 4
prelu | x, one[None]
nn.functional.glu | x
nn.functional.relu6 | x
linalg.cholesky linalg.cholesky_ex cholesky | spd
linalg.cond linalg.det linalg.diagonal linalg.eigvals linalg.inv linalg.inv_ex linalg.lu linalg.lu_factor linalg.lu_factor_ex | a
linalg.matrix_norm linalg.matrix_rank linalg.norm linalg.pinv linalg.qr linalg.slogdet linalg.svd linalg.svdvals | a
= linalg.eig | lib.linalg.eig(a.detach())
linalg.eigh linalg.eigvalsh | spd
= linalg.householder_product | lib.linalg.householder_product(tall.detach(), tau.detach())
= orgqr | lib.orgqr(tall.detach(), tau.detach())
= geqrf | lib.geqrf(tall.detach())
= ormqr | lib.ormqr(tall, tau, tall.detach())
linalg.lstsq | tall, tall
linalg.lu_solve | *lib.linalg.lu_factor(a), b
linalg.matmul linalg.solve linalg.solve_ex | a, b
linalg.matrix_exp matrix_exp | a / 10
linalg.matrix_power matrix_power | a, 3
linalg.multi_dot | (a, b, q)
linalg.solve_triangular | a, b, upper=True
triangular_solve | b, a
linalg.tensorinv | a.view(a.shape[0], a.shape[1]), 1
linalg.tensorsolve | a, r[:4] if a.shape[0] == 4 else r[:100]
linalg.vecdot | x, y
linalg.vector_norm | x
det logdet slogdet inverse lu pinverse qr svd nuclear_norm | spd
cholesky_inverse | a
cholesky_solve | b, spd
= lu_solve | b.lu_solve(*lib.linalg.lu_factor(a))
lu_unpack | *lib.linalg.lu_factor(a)
diff | x
trapezoid cumulative_trapezoid | x
gradient | v
cov corrcoef | s
renorm | x, 2, 0, 1.0
histc | v, 10
= histogram | lib.histogram(v.detach(), 10)
= histogramdd | lib.histogramdd(points[:, :2].detach(), 10)
= nn.functional.layer_norm | lib.nn.functional.layer_norm(x, x.shape[1:])
= nn.functional.layer_norm, with weight and bias | lib.nn.functional.layer_norm(x, x.shape[1:], x[0], y[0])
= nn.functional.rms_norm | lib.nn.functional.rms_norm(x, x.shape[1:], y[0])
= nn.functional.group_norm | lib.nn.functional.group_norm(xs, 2, xs[0, :, 0], ys[0, :, 0])
= nn.functional.conv1d | lib.nn.functional.conv1d(images[:, :, 0], kernels[:, :, 0], None, 1, 1)
= nn.functional.conv2d | lib.nn.functional.conv2d(images, kernels, None, 1, 1)
= nn.functional.conv3d | lib.nn.functional.conv3d(images[:, :2, None], kernels[:, :2, None], None, 1, (0, 1, 1))
= nn.functional.conv_transpose1d | lib.nn.functional.conv_transpose1d(images[:, :, 0], kernels[:4, :, 0], None, 2)
= nn.functional.conv_transpose2d | lib.nn.functional.conv_transpose2d(images, kernels[:4], None, 2)
= nn.functional.conv_transpose3d | lib.nn.functional.conv_transpose3d(images[:, :2, None], kernels[:2, :2, None], None, 2)
= convolution | lib.convolution(images, kernels, None, (2, 2), (1, 1), (1, 1), False, (0, 0), 1)
= nn.functional.max_pool1d | lib.nn.functional.max_pool1d(images[:, :, 0], 2)
= nn.functional.max_pool2d | lib.nn.functional.max_pool2d(images, 2)
= nn.functional.max_pool3d | lib.nn.functional.max_pool3d(images, 2)
= nn.functional.avg_pool1d | lib.nn.functional.avg_pool1d(images[:, :, 0], 2)
= nn.functional.avg_pool2d | lib.nn.functional.avg_pool2d(images, 2)
= nn.functional.avg_pool3d | lib.nn.functional.avg_pool3d(images, 2)
= nn.functional.adaptive_max_pool1d | lib.nn.functional.adaptive_max_pool1d(images[:, :, 0], 3)
= nn.functional.adaptive_max_pool2d | lib.nn.functional.adaptive_max_pool2d(images, 3)
= nn.functional.adaptive_max_pool3d | lib.nn.functional.adaptive_max_pool3d(images, 3)
= nn.functional.adaptive_avg_pool1d | lib.nn.functional.adaptive_avg_pool1d(images[:, :, 0], 2)
= nn.functional.adaptive_avg_pool2d | lib.nn.functional.adaptive_avg_pool2d(images, 2)
= nn.functional.adaptive_avg_pool3d | lib.nn.functional.adaptive_avg_pool3d(images, 2)
= nn.functional.embedding | lib.nn.functional.embedding(labels, x)
= add, scaled | lib.add(x, y, alpha=2)
= add, a row | x + r
= clamp | x.clamp(-1, 1)
= div, rounded | lib.div(x, y, rounding_mode="floor")
= pow, by 3 | x ** 3
= pow, by 0.5 | p ** 0.5
= nn.functional.gelu | lib.nn.functional.gelu(x)
= addcmul | lib.addcmul(x, y, z, value=2)
= addcdiv | lib.addcdiv(x, y, p.view(x.shape), value=2)
= fill | lib.fill(x, 1.5)
= zero_ | x.detach().zero_()
= copy_ | x.detach().copy_(y)
= masked_fill | lib.masked_fill(x, mask, 1.5)
= logit | lib.logit(u.abs())
= special.i0e | lib.special.i0e(x)
= special.i1 | lib.special.i1(x)
= special.i1e | lib.special.i1e(x)
= special.entr | lib.special.entr(p)
= special.xlog1py | lib.special.xlog1py(x, p.view(x.shape))
= special.erfcx | lib.special.erfcx(x)
= special.ndtr | lib.special.ndtr(x)
= special.ndtri | lib.special.ndtri(u.abs())
= special.log_ndtr | lib.special.log_ndtr(x)
= special.zeta | lib.special.zeta((p + 1.5).detach(), p)
= floor_divide | lib.floor_divide(x.detach(), y.detach())
fake_quantize_per_tensor_affine | x, 0.1, 0, -8, 7
= fake_quantize_per_channel_affine | lib.fake_quantize_per_channel_affine(x, labels + 0.5, lib.zeros_like(labels).int(), 0, -8, 7)
= heaviside | lib.heaviside(x.detach(), y.detach())
= nn.functional.threshold | lib.nn.functional.threshold(x, 0.1, 20.0)
= zeros | lib.zeros(x.shape)
= ones | lib.ones(x.shape)
= full | lib.full(x.shape, 1.5)
= empty | lib.empty(x.shape)
= arange | lib.arange(x.shape[0] * x.shape[0])
= linspace | lib.linspace(0, 1, x.shape[0] * x.shape[0])
= eye | lib.eye(x.shape[0])
= tensor | lib.tensor([1.0, 2.0, 3.0])
= tensor, of a number | lib.tensor(1.5)
zeros_like ones_like empty_like | x
full_like | x, 1.5
= new_zeros | x.new_zeros(x.shape)
= new_ones | x.new_ones(x.shape)
= new_full | x.new_full(x.shape, 1.5)
= new_tensor | x.new_tensor([1.0, 2.0, 3.0])
= detach | x.detach()
= item | one.item()
"""

# Operations of the table that no line calls, and why. In-place forms, and helpers that neither torch nor users call, are no
# operations of their own.
WITHOUT = {
    "where_or_positions": "where",
    "_neg_view": "conj() and imag of it are measured",
    "nanmean": "sum of what it is made of: nansum, isnan",
    "polygamma_of": "polygamma",
    "sum_to": "the gradient of every product that broadcasts",
    "iterate": "unbind",
    "setitem": "index_put, copy_",
}


# Why operations are slower than torch, by the row's name or its beginning: what docs/performance.md says of them.
# Calls that one pass over memory is all of.
MOVES = ("alias_copy", "detach_copy", "cat", "flip", "roll", "tile", "ger", "zeros", "to")
REASONS = {
    **dict.fromkeys(
        MOVES,
        "moves memory and no more: rows of one and the same kernel are 0.5 to 1.9 on an AMD EPYC that others use, too; "
        "0.8 to 1.0 on an Intel Xeon",
    ),
    **dict.fromkeys(
        [f"nn.functional.{name}{d}d" for name in ("conv", "conv_transpose", "max_pool", "avg_pool") for d in (1, 2, 3)]
        + [f"nn.functional.adaptive_{name}_pool{d}d" for name in ("max", "avg") for d in (1, 2, 3)]
        + ["convolution"],
        "5 to 10 us from Python, of 3 to 6 of torch's for images of four by four; rows and volumes are cut out of images here",
    ),
    **dict.fromkeys(
        ("add", "add, a row", "sub", "mul", "bitwise_xor", "outer", "ones_like", "nn.functional.pad", "sum, of rows", "dsplit"),
        "one pass over memory: 0.5 to 1.5 between runs on an AMD EPYC that others use",
    ),
    **dict.fromkeys(("expand_copy", "unbind_copy", "view_copy", "unsqueeze_copy"), "see add"),
    **dict.fromkeys(("stft", "istft"), "frames that NumPy's pocketfft transforms, against MKL's transforms"),
    **dict.fromkeys(("gather", "scatter"), "a pass over memory at places far apart: 0.9 to 1.4 between runs on an AMD EPYC"),
    "eye": "zeros are written, where they were pages of the system that nobody had touched, and the first write took the time: 0.3",
    "isreal": "a fill of a million truth values took 28 us when this was measured, as numbers of eight bytes; 7 since",
    "median": "a search among a million: 0.8 to 1.6 between runs on an AMD EPYC",
    "nn.functional.glu": "two halves are views, and the gradient is put together of both: small ones 1.2 to 1.3 on an AMD EPYC",
    "fliplr": "rows are turned round in a buffer: 1.1 to 1.7 on an AMD EPYC with memory in its caches, 0.97 on an Intel Xeon",
    "rot90": "see fliplr",
    "flipud": "see fliplr",
    **dict.fromkeys(("relu", "hardtanh", "hardshrink", "softshrink", "nn.functional.relu6"), "see add"),
    "geqrf": "LAPACK by way of NumPy, a few microseconds of Python, and results that are copied into row-major order",
    "histogramdd": "NumPy's function, which searches the edges once a dimension",
    "ormqr": "reflections are applied one after the other, in Python; LAPACK's function of blocks is none that NumPy brings along",
    "segment_reduce": "some ten operations from Python for one kernel of torch's; a third of its time for a million elements",
    "mean": "sums are in float64: of what is in the caches 1.0 to 1.5 on an AMD EPYC of 256-bit vectors; 0.95 on an Intel Xeon",
    "nansum": "see mean",
    "amax": "of what is in the caches 1.0 to 1.4 on an AMD EPYC; 1.06 on an Intel Xeon",
    "cummax": "one comparison after the other, of values and positions: 1.1 on an Intel Xeon, 0.9 to 1.5 on an AMD EPYC",
    "cummin": "see cummax",
    "float_power": "both operands become float64 by steps of their own: 0.9 on an Intel Xeon, 1.4 on an AMD EPYC",
    "gcd": "one division after the other, an element at a time, in both: 1.05 on an Intel Xeon, 1.3 on an AMD EPYC",
    "lcm": "see gcd",
    "index_reduce": "its gradient is several passes over 4 MB: 0.9 on an Intel Xeon, 1.4 on an AMD EPYC",
    "igamma": "9e262ca ran it one element at a time; on vectors, as before and since, 0.6 to 1.0 (NOTE [Series])",
    "igammac": "see igamma",
    "polygamma": "see igamma: 0.1 to 0.2",
    "item": "9e262ca made two calls more on the way to the number; without them 1.1",
    "equal": "half a microsecond in torch: a look-up and a launch in Python take a little more",
    "aminmax": "two reductions, each with a pass over memory",
    "cdist": "a kernel of differences, which keeps the digits of points that are close: torch multiplies matrices and loses them",
    "conj": "its cotangent is a tensor that is computed at once, as all are; torch's is lazily conjugated and moves no element",
    "conj_physical": "of real numbers the tensor itself, through one more function in Python",
    "erfc": "its polynomials hold its digits far out, and among small results; of one quotient instead of two it is no faster",
    "polar": "two products and their join, three launches; torch's is slower from 1,000 elements on",
    "feature_dropout": "one element of each channel is looked at by views, and numbers are drawn by a function in Python",
    "renorm": "lengths, factors and products are operations of their own",
    "is_floating_point": "a function in Python: 30 ns more",
    "is_complex": "a function in Python: 30 ns more",
    "linalg.": "OpenBLAS, which NumPy brings along, against MKL",
    "linalg.lu": "the call is LAPACK's; a recorded one has its results in a row, of which each is taken by operations of their own",
    "linalg.lstsq": "OpenBLAS, which takes longer than MKL for a decomposition with exchanged columns",
    "linalg.matrix_exp": "in float64, as more digits are lost in its powers; torch computes in the dtype of the matrix",
    "linalg.cross": "its launch is looked for in Python by both layouts and dim, for a microsecond and a half of torch's",
    "linalg.vander": "a product along columns, of few elements several operations",
    "as_strided": "0.7 us in torch: where the tensor lies in its memory is looked at in Python first",
    "split_with_sizes": "1 us in torch: every piece is a tensor and a record of its view, made from Python",
    "unsafe_split_with_sizes": "see split_with_sizes",
    "split_copy": "views and copies of them, a node each",
    "hstack": "1 us in torch: the dimensions are looked at in Python first",
    "vstack": "see hstack",
    "bmm": "a product by a transposed matrix of 100 by 100, of which OpenBLAS takes 22 us instead of 14; MKL 17",
    "baddbmm": "see bmm",
    "addbmm": "see bmm",
    "linear": "see bmm",
    "inner": "see bmm",
    "addmv": "OpenBLAS' product of a matrix and a vector beside MKL's: 1.1 to 1.25 between runs",
    "kron": "one launch that writes memory, as long as torch's within the spread between runs (0.75 to 1.2)",
    "gelu": "two thirds of it are an exponential; as long as torch's within the spread between runs (1.0 to 1.2)",
    "det": "see linalg.slogdet",
    "lu": "see linalg.lu",
    "qr": "OpenBLAS, which NumPy brings along, against MKL",
    "svd": "OpenBLAS, which NumPy brings along, against MKL",
    "matrix_exp": "see linalg.matrix_exp",
    "cross": "see linalg.cross",
    "linalg.lu_solve": "see linalg.lu",
    "lu_solve": "see linalg.lu",
    "linalg.slogdet": "its gradient is an inverse, for which elimination is done once more; torch keeps what it found",
    "slogdet": "see linalg.slogdet",
    "linalg.multi_dot": "the order of the products is looked for in Python, 1 us for three small matrices",
    "log10": "as long as torch's within the spread between runs (1.0 to 1.3): memory is two thirds of it",
    "tan": "a quotient of polynomials within 2.5 ulp; as long as torch's within the spread between runs (1.0 to 1.3)",
    "sgn": "its gradient is 4 MB of zeros, for which torch takes 70 us or, with fresh pages, 300: 0.6 to 1.3 between runs",
    "prod": "its gradient takes running products from both ends, one factor after the other, so zeros are no case of their own",
    "fill": "call and gradient write to memory, no more: 0.6 to 1.2 between runs",
    "imag": "its gradient writes zeros beside the cotangent and does nothing else: 0.6 to 1.2 between runs",
    "getitem, by two indices": "2 us in torch: which index goes where is looked at in Python, before one launch",
    "feature_alpha_dropout": "see feature_dropout",
    "diff": "2.4 us in torch: two views of the operand are made and checked in Python before one difference",
    "tril_indices": "NumPy's function",
    "triu_indices": "NumPy's function",
}


def reason_of(name: str) -> str:
    """The reason of a row: its own, or that of the longest beginning in whole words that has one."""
    own = name.partition(",")[0].removeprefix("nn.functional.")
    found = [start for start in REASONS if own.startswith(start) and (start[-1] == "." or own[len(start) :][:1] in ("", "_"))]
    return REASONS.get(name) or (REASONS[max(found, key=len)] if found else "")


def unexplained(ratios: dict[str, dict], most: float) -> list[str]:
    """The rows of which a ratio is greater than ``most`` and that have no reason."""
    return sorted(name for name, own in ratios.items() if max(own.values()) > most and not reason_of(name))


@dataclass(frozen=True)
class Program:
    """A call to measure.

    Attributes:
        name: of the row, the operation's first.
        expression: Python, in ``lib`` and the names of operands; ``{path}`` stands for where the function is.
        domains: of elementwise operands, by name, those of their samples; others are drawn by ``OPERANDS``.
        small, large: whether it is run at that size.
    """

    name: str
    expression: str
    domains: tuple[tuple[str, Any], ...] = ()

    def call(self, lib: ModuleType, path: str, size: str, recorded: bool) -> tuple[Callable[[], Any], list]:
        """The call in a library, and the operands that gradients are for."""
        code = compile(f"lambda: {self.expression.replace('{path}', path)}", f"<{self.name}>", "eval")
        scope: dict[str, Any] = {"lib": lib}
        leaves = []
        for name in names_in(code):
            if name in OPERANDS or name in dict(self.domains):
                array = operand(self, name, size)
                scope[name] = x = lib.tensor(array)
                if recorded and array.dtype.kind in "fc":
                    leaves.append(x.requires_grad_())
        return eval(code, scope), leaves


def names_in(code: CodeType) -> Iterator[str]:
    """The global names of a code object and of those inside of it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def operand(program: Program, name: str, size: str) -> np.ndarray:
    """The numbers of an operand, the same in every run."""
    rng = np.random.default_rng(sum(map(ord, program.name + name)))
    domains = dict(program.domains)
    if name in domains:
        kind, count = domains[name], SIZES[size]
        if kind == "mask":
            return rng.random(count) < 0.5
        if kind == "whole":
            return rng.integers(1, 9, count)
        low, high = zip(*kind, strict=True)
        which = rng.integers(0, len(kind), count)
        return rng.uniform(np.array(low)[which], np.array(high)[which]).astype(np.float32)
    shapes, kind = OPERANDS[name][:2], OPERANDS[name][2]
    shape = shapes[size == "large"]
    return drawn(rng, shape, kind, size)


def drawn(rng: np.random.Generator, shape: tuple, kind: str, size: str) -> np.ndarray:
    """Numbers of a kind."""
    if kind == "mask":
        return rng.random(shape) < 0.5
    if kind == "whole":
        return rng.integers(1, 9, shape)
    if kind == "index":
        return rng.integers(0, 4 if size == "small" else 1000, shape)
    if kind == "complex":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)
    low, high = {"positive": (0.5, 3.0), "unit": (-0.9, 0.9)}.get(kind, (-2.0, 2.0))
    numbers = rng.uniform(low, high, shape)
    if kind == "matrix":
        numbers += 4 * np.eye(*shape) * np.sqrt(shape[0])
    if kind == "positive definite":
        numbers = numbers @ numbers.T / shape[0] + np.eye(*shape)
    if kind == "sorted":
        numbers = np.sort(numbers)
    return numbers.astype(np.float32)


def written() -> Iterator[Program]:
    """The programs of ``CALLS``."""
    for line in CALLS.strip().splitlines():
        names, _, expression = line.partition(" | ")
        if names.startswith("= "):
            yield Program(names[2:], expression)
        else:
            for name in names.split():
                yield Program(name, "{path}" + f"({expression})")


def is_helper(op: Op) -> bool:
    """Whether an operation is what others are made of: their lines measure it."""
    return bool(
        op.public != op.name
        or SAMPLES[op.name].through
        or op.name.endswith(("_", "_backward"))
        or not (op.function or isinstance(op, Composite) and op.method)
    )


def derived(op: Elementwise) -> Program:
    """The program of an elementwise operation: the first call of its row, with one long row for each operand."""
    row = SAMPLES[op.name]
    call = row.calls[0]
    arguments, domains = [], {}
    for k, given in enumerate(call.operands):
        if isinstance(given, tuple):
            name = f"x{k}"
            own = op.operands[k]
            whole = op.policy == "integer" or op.name in ("gcd", "lcm")
            domains[name] = "mask" if own in op.boolean else "whole" if whole else row.domains.get(own, row.domain)
            arguments.append(name)
        else:
            arguments.append(repr(given.item() if isinstance(given, np.ndarray) and not given.ndim else f"x{k}"))
    arguments += [f"{name}={value!r}" for name, value in call.attributes.items()]
    return Program(op.name, "{path}" + f"({', '.join(arguments)})", tuple(domains.items()))


def programs() -> dict[str, Program]:
    """All of them by name: a line of ``CALLS`` comes before what is derived."""
    found = {program.name: program for program in written()}
    for op in OPS.values():
        if not op.function or found.keys() & {op.name, f"nn.functional.{op.name}"}:
            continue
        if isinstance(op, Elementwise):
            found[op.name] = derived(op)
        elif isinstance(op, General) and op.monoid and not is_helper(op):  # over all dimensions
            found[op.name] = Program(op.name, "{path}(x)")
    return found


PROGRAMS = programs()


def unmeasured() -> list[str]:
    """Operations that users call and no line measures."""
    names = {part for name in PROGRAMS for part in (name.partition(",")[0], name.partition(",")[0].rpartition(".")[2])}
    return sorted(
        op.name
        for op in OPS.values()
        if not is_helper(op) and op.public not in names and op.name not in names and op.name not in WITHOUT
    )
