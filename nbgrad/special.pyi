# Written by `make docs` (tools/stubs.py) from the operations and the running package: change those, not this file.

from builtins import bool as _bool, int as _int
from .base.dtypes import DType
from .tensors.members import Array, Ints, Number, Operand
from .tensors.tensor import Tensor

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
def i0(input: Array, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the first kind of order 0."""
def i0e(input: Array, *, out: Tensor | None = None) -> Tensor: """e**-|x| i0(x)."""
def i1(input: Array, *, out: Tensor | None = None) -> Tensor: """The modified Bessel function of the first kind of order 1."""
def i1e(input: Array, *, out: Tensor | None = None) -> Tensor: """e**-|x| i1(x)."""
def log1p(input: Array, *, out: Tensor | None = None) -> Tensor: """log(1 + x), exact near 0."""
def log_ndtr(input: Array, *, out: Tensor | None = None) -> Tensor: """The logarithm of ndtr, without its underflow."""
def log_softmax(input: Array, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of softmax along dim, without its overflow."""
def logit(input: Operand, eps: Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(input / (1 - input)), of input moved into [eps, 1 - eps] if eps is given."""
def logsumexp(input: Array, dim: Ints, keepdim: _bool = False, *, keepdims: _bool | None = None,
              out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) over dimensions, without overflow."""
def multigammaln(input: Array, p: Number, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p, a whole number >= 1."""
def ndtr(input: Array, *, out: Tensor | None = None) -> Tensor: """The probability that a standard normal variable is at most x."""
def ndtri(input: Array, *, out: Tensor | None = None) -> Tensor:
    """The number that a standard normal variable is below with probability x."""
def polygamma(n: _int, input: Tensor) -> Tensor: """The n-th derivative of digamma."""
def psi(input: Array, *, out: Tensor | None = None) -> Tensor: """The derivative of lgamma."""
def round(input: Operand, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest multiple of 10**-decimals, ties to even; integers take no decimals."""
def sinc(input: Array, *, out: Tensor | None = None) -> Tensor: """sin(pi x) / (pi x); 1 at 0."""
def softmax(input: Array, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """exp(x) over its sum along dim; the maximum is subtracted first."""
def xlog1py(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """x * log(1 + y); 0 where x is 0, unless y is NaN."""
def xlogy(input: Operand, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """x * log(y); 0 where x is 0, unless y is NaN."""
def zeta(input: Operand, q: Operand, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function, sum over k of (k + q)**-x; its derivative by x is NaN."""
