"""Special functions under the names that ``torch.special`` gives them.

>>> import nbgrad
>>> nbgrad.special.erfcx(nbgrad.tensor([0.0, 30.0]))
tensor([1.0000, 0.0188])
"""
from __future__ import annotations

from collections.abc import Callable

from .base.calls import CALLS
from .methods.install import FUNCTIONS, with_out
from .ops.core import OPS, Elementwise

# torch's name, and the operation's where it is another.
NAMES: dict[str, str | None] = dict.fromkeys("""
    digamma entr erf erfc erfcx erfinv exp2 expm1 i0 i0e i1 i1e log1p log_ndtr log_softmax logit logsumexp
    ndtr ndtri polygamma round sinc softmax xlog1py xlogy zeta""".split())
NAMES |= {"expit": "sigmoid", "gammaln": "lgamma", "gammainc": "igamma", "gammaincc": "igammac", "multigammaln": "mvlgamma",
          "psi": "digamma"}
__all__ = [*NAMES]      # noqa: PLE0604


def public(name: str) -> Callable:
    """The function of an operation; of one that has none in ``nbgrad``, the same made here."""
    own = NAMES[name] or name
    if own in FUNCTIONS:
        return FUNCTIONS[own]
    op = OPS[own]
    assert isinstance(op, Elementwise)
    return with_out(op, CALLS[own], f"special.{own}")


globals().update({name: public(name) for name in __all__})
