# Written by `make docs` (tools/stubs.py) from the operations and the running package: change those, not this file.

from builtins import bool as _bool, int as _int
from .base.dtypes import DType
from .tensors.members import Array, Ints, Number, Operand
from .tensors.tensor import Tensor

def airy_ai(x: Array, *, out: Tensor | None = None) -> Tensor:
    """Airy's function Ai, the solution of y'' = x y that vanishes at infinity."""
def bessel_j0(input: Array, *, out: Tensor | None = None) -> Tensor: """The Bessel function of the first kind of order 0."""
def bessel_j1(input: Array, *, out: Tensor | None = None) -> Tensor: """The Bessel function of the first kind of order 1."""
def bessel_y0(input: Array, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0: -inf at 0, NaN below."""
def bessel_y1(input: Array, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1: -inf at 0, NaN below."""
def chebyshev_polynomial_t(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the first kind of degree n. Degrees are cut to whole numbers; below 0 the value is 0, above 100,000
    NaN."""
def chebyshev_polynomial_u(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the second kind of degree n. Degrees are cut to whole numbers; below 0 the value is 0, above
    100,000 NaN."""
def chebyshev_polynomial_v(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the third kind of degree n. Degrees are cut to whole numbers; below 0 the value is 0, above 100,000
    NaN."""
def chebyshev_polynomial_w(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the fourth kind of degree n. Degrees are cut to whole numbers; below 0 the value is 0, above
    100,000 NaN."""
def digamma(input: Array, *, out: Tensor | None = None) -> Tensor: """The derivative of lgamma."""
def entr(input: Array, *, out: Tensor | None = None) -> Tensor: """-x log(x); 0 at 0, -inf below."""
def erf(input: Array, *, out: Tensor | None = None) -> Tensor: """The error function."""
def erfc(input: Array, *, out: Tensor | None = None) -> Tensor: """1 - erf(x), to full precision for large x."""
def erfcx(input: Array, *, out: Tensor | None = None) -> Tensor: """e**(x**2) erfc(x)."""
def erfinv(input: Array, *, out: Tensor | None = None) -> Tensor: """The number whose error function is x; NaN beyond -1 and 1."""
def exp2(input: Array, *, out: Tensor | None = None) -> Tensor: """2**x."""
def expit(input: Array, *, out: Tensor | None = None) -> Tensor: """1 / (1 + e**-x)."""
def expm1(input: Array, *, out: Tensor | None = None) -> Tensor: """e**x - 1, exact near 0."""
def gammainc(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function of order ``input`` at ``other``; differentiable by the second operand."""
def gammaincc(input: Array, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function: 1 - igamma, to full precision where that is small."""
def gammaln(input: Array, *, out: Tensor | None = None) -> Tensor: """The logarithm of the magnitude of the gamma function."""
def hermite_polynomial_h(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """The physicists' Hermite polynomial of degree n. Degrees are cut to whole numbers; below 0 the value is 0, above 100,000
    NaN."""
def hermite_polynomial_he(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """The probabilists' Hermite polynomial of degree n. Degrees are cut to whole numbers; below 0 the value is 0, above 100,000
    NaN."""
def i0(input: Array, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the first kind of order 0."""
def i0e(input: Array, *, out: Tensor | None = None) -> Tensor: """e**-|x| i0(x)."""
def i1(input: Array, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the first kind of order 1."""
def i1e(input: Array, *, out: Tensor | None = None) -> Tensor: """e**-|x| i1(x)."""
def laguerre_polynomial_l(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Laguerre's polynomial of degree n. Degrees are cut to whole numbers; below 0 the value is 0, above 100,000 NaN."""
def legendre_polynomial_p(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Legendre's polynomial of degree n. Degrees are cut to whole numbers; below 0 the value is 0, above 100,000 NaN."""
def log1p(input: Array, *, out: Tensor | None = None) -> Tensor: """log(1 + x), exact near 0."""
def log_ndtr(input: Array, *, out: Tensor | None = None) -> Tensor: """The logarithm of ndtr, without its underflow."""
def log_softmax(input: Array, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of softmax along dim, without its overflow."""
def logit(input: Operand, eps: Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(input / (1 - input)), of input moved into [eps, 1 - eps] if eps is given."""
def logsumexp(input: Array, dim: Ints, keepdim: _bool = False, *, keepdims: _bool | None = None,
              out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) over dimensions, without overflow."""
def modified_bessel_i0(input: Array, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def modified_bessel_i1(input: Array, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""
def modified_bessel_k0(input: Array, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0: inf at 0, NaN below."""
def modified_bessel_k1(input: Array, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1: inf at 0, NaN below."""
def multigammaln(input: Array, p: Number, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p, a whole number >= 1."""
def ndtr(input: Array, *, out: Tensor | None = None) -> Tensor: """The probability that a standard normal variable is at most x."""
def ndtri(input: Array, *, out: Tensor | None = None) -> Tensor:
    """The number that a standard normal variable is below with probability x."""
def polygamma(n: _int, input: Tensor) -> Tensor: """The n-th derivative of digamma."""
def psi(input: Array, *, out: Tensor | None = None) -> Tensor: """The derivative of lgamma."""
def round(input: Operand, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest multiple of 10**-decimals, ties to even; integers take no decimals."""
def scaled_modified_bessel_k0(x: Array, *, out: Tensor | None = None) -> Tensor: """e**x times ``modified_bessel_k0(x)``."""
def scaled_modified_bessel_k1(x: Array, *, out: Tensor | None = None) -> Tensor: """e**x times ``modified_bessel_k1(x)``."""
def shifted_chebyshev_polynomial_t(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the first kind of degree n, at 2 x - 1. Degrees are cut to whole numbers; below 0 the value is 0,
    above 100,000 NaN."""
def shifted_chebyshev_polynomial_u(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the second kind of degree n, at 2 x - 1. Degrees are cut to whole numbers; below 0 the value is 0,
    above 100,000 NaN."""
def shifted_chebyshev_polynomial_v(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the third kind of degree n, at 2 x - 1. Degrees are cut to whole numbers; below 0 the value is 0,
    above 100,000 NaN."""
def shifted_chebyshev_polynomial_w(input: Array, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the fourth kind of degree n, at 2 x - 1. Degrees are cut to whole numbers; below 0 the value is 0,
    above 100,000 NaN."""
def sinc(input: Array, *, out: Tensor | None = None) -> Tensor: """sin(pi x) / (pi x); 1 at 0."""
def softmax(input: Array, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """exp(x) over its sum along dim; the maximum is subtracted first."""
def spherical_bessel_j0(x: Array, *, out: Tensor | None = None) -> Tensor:
    """The spherical Bessel function of order 0, sin(x) / x."""
def xlog1py(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """x * log(1 + y); 0 where x is 0, unless y is NaN."""
def xlogy(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """x * log(y); 0 where x is 0, unless y is NaN."""
def zeta(input: Operand, q: Operand, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function, sum over k of (k + q)**-x; its derivative by x is NaN."""
