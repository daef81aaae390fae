"""Inverses, determinants and decompositions of batches of matrices: the declarations, with their cotangents.

An operation with several results is declared with one flat result, which holds all parts in a row (``parts_of``): so forward
mode, batching and derivatives of every order work as for any operation. Eigenvalues and singular values without their vectors are
operations of their own, whose derivatives are sound where some of them are equal.

Source: M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008, and for
each formula what is named beside it. x^H stands for the conjugate transpose, sym and skew for x + x^H and x - x^H.
"""

# Order does not matter.
from . import determinants, exponential, factors, indefinite, inverses, spectra  # noqa: F401
