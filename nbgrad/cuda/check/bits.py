"""The results of programs on this GPU beside those of the emulated device, bit by bit: each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from .programs import DTYPES, PROGRAMS, SIZES, results
from .report import Report

__all__ = ["bits", "compare", "difference", "main"]

EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "bfloat16": 2.0**-8}


def main(path: str, seconds: float) -> None:
    """Keep what programs give in a file of arrays, as many as there is time for."""
    end, kept = monotonic() + seconds, dict[str, Any]()
    for dtype, size, name in product(DTYPES, SIZES, PROGRAMS):
        if monotonic() < end:
            kept.update({f"{name}|{dtype}|{size}|{k}": x for k, x in enumerate(results(name, dtype, size))})
    np.savez(path, **kept)


def difference(found: np.ndarray, expected: np.ndarray, eps: float) -> str:
    """How two arrays differ: "" if in no bit but those of NaN, "roundings: ..." within some, else in what."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype} {list(found.shape)}, expected {expected.dtype} {list(expected.shape)}"
    same = (found == expected) | ((found != found) & (expected != expected))
    if found.dtype.kind in "fc":
        same &= np.signbit(found.real) == np.signbit(expected.real)
    if same.all():
        return ""
    far = float(np.max(np.abs(np.asarray(found, np.complex128) - expected)[~same]))
    largest = float(np.max(np.abs(np.where(np.isfinite(expected), expected, 0)), initial=0.0))
    told = f"{int((~same).sum())} of {same.size} elements differ, by {far:.3g} of {largest:.3g} at most"
    return f"roundings: {told}" if found.dtype.kind in "fc" and far <= 8 * eps * largest else told


def bits(report: Report, stage: str, seconds: float) -> None:
    """A row for each program and dtype: ``missed`` where results are a rounding apart, ``failed`` where they are others."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "expected.npz")
        program = "import warnings; warnings.simplefilter('ignore')\nfrom nbgrad.cuda.check.bits import main\n"
        program += f"main({path!r}, {seconds / 2})"
        environment = {**os.environ, "NBGRAD_CUDA": "emulated"}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the emulated device: {done.stderr[-1500:]}")
        with np.load(path) as expected:
            compare(report, stage, dict(expected))


def compare(report: Report, stage: str, expected: dict[str, np.ndarray]) -> None:
    """The rows of what the emulated device has given."""
    for name, dtype in dict.fromkeys([tuple(key.split("|")[:2]) for key in expected]):
        told = list[str]()
        sizes = dict.fromkeys([int(key.split("|")[2]) for key in expected if key.startswith(f"{name}|{dtype}|")])
        for size in sizes:
            try:
                found = results(name, dtype, size)
            except Exception as error:
                told.append(f"{size}: {type(error).__name__}: {error}")
                continue
            for k, x in enumerate(found):
                differs = difference(x, expected[f"{name}|{dtype}|{size}|{k}"], EPS[dtype])
                told += [f"{size}, result {k}: {differs}"] if differs else []
        status = "ok" if not told else "missed" if all("roundings: " in each for each in told) else "failed"
        facts = {"reason": "; ".join(told)} if told else {}
        report.row(stage, f"{name} of {dtype}", status, value=len(sizes), unit="sizes", **facts)
