"""Flat results: all parts of a decomposition in a row, as ``ops/matrices/parts.py`` takes them apart."""

from __future__ import annotations

import math

import numpy as np


def packed(*parts: np.ndarray) -> np.ndarray:
    """The parts of a result in a row (``parts_of``): matrices first; each with the batch's dimensions and one or two of its own."""
    batch = parts[0].shape[:-2]
    return np.concatenate([part.reshape(*batch, math.prod(part.shape[len(batch) :])) for part in parts], -1)
