"""Functions of one library as functions of another: ``nbgrad.interop.torch`` and ``nbgrad.interop.jax``.

Each imports its library when one of its functions is called, and not before.
"""

from __future__ import annotations

from . import jax, torch

__all__ = ["jax", "torch"]
