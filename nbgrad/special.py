"""Special functions under the names that ``torch.special`` gives them.

>>> import nbgrad
>>> nbgrad.special.erfcx(nbgrad.tensor([0.0, 30.0]))
tensor([1.0000, 0.0188])
"""

from __future__ import annotations

from collections.abc import Callable

from .base.calls import CALLS
from .base.function_attributes import place
from .methods.functions import FUNCTIONS
from .methods.install import function_form, with_out
from .ops.core import OPS, Elementwise
from .ops.variants import VARIANTS

# torch's names, and the operations'.
NAMES = {name: op.name for op in OPS.values() for name in op.special}
NAMES |= {name: variant.names[0] for variant in VARIANTS for name in variant.special}
__all__ = [*NAMES]  # noqa: PLE0604


def public(name: str) -> Callable:
    """The function of an operation; of one that has none in ``nbgrad``, the same made here."""
    own = NAMES[name]
    if own in FUNCTIONS:
        return FUNCTIONS[own]
    op, form = OPS[own], with_out if isinstance(OPS[own], Elementwise) else function_form
    return form(op, CALLS[own], f"special.{own}")


globals().update({name: public(name) for name in __all__})
place(__name__, globals())
