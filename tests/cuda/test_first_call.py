"""The first call of a process that has a tensor on a GPU, whichever it is, finds what runs it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .emulation import without_gpus

FIRST = {
    "elementwise": "x * 2",
    "in place": "x.add_(1)",
    "a written index": "x.index_add_(0, nbgrad.tensor([1]).cuda(), nbgrad.ones(1).cuda())",
    "a mask": "x.masked_scatter_(x > 1, x)",
    "a sum": "x.sum()",
    "of several steps": "x.nonzero()",
    "a product": "x @ x",
    "a copy": "x.flip(0)",
    "a draw": "x.normal_()",
    "fused": "nbgrad.addcmul(x, x, x)",
    "to the host": "x.tolist()",
}


@without_gpus
@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("name", FIRST)
def test_a_first_call(name):
    """Nothing else must have run before."""
    script = f"import nbgrad\nx = nbgrad.tensor([1.0, 2.0, 3.0]).cuda()\n{FIRST[name]}\nnbgrad.cuda.synchronize()\nprint('done')"
    environment = {**os.environ, "NBGRAD_CUDA": "emulated"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], env=environment, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr[-3000:]
