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
# Each call is the first of a process that has imported nbgrad and done nothing else.
SCRIPT = f"""
import os, sys, traceback
import nbgrad
for name, call in {FIRST}.items():
    child = os.fork()
    if child == 0:
        try:
            x = nbgrad.tensor([1.0, 2.0, 3.0]).cuda()
            exec(call)
            nbgrad.cuda.synchronize()
        except BaseException:
            print(name, "failed:", file=sys.stderr)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print(name)
"""


@without_gpus
@pytest.mark.usefixtures("compiler")
def test_first_calls():
    """Nothing else must have run before."""
    environment = {**os.environ, "NBGRAD_CUDA": "emulated", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines() == [*FIRST], done.stderr[-3000:]
