"""Run an example on torch instead of nbgrad, by nothing but what its imports mean.

    python examples/on_torch.py vae [--device cpu] [the example's other options]

Not a line of the example is another one: ``import nbgrad`` gives torch here, ``from nbgrad.func import jvp`` torch's. So its time
and its result can be put beside nbgrad's. ``nbgrad.compile`` gives the function as it is: torch's compiler would take longer than
these programs run.
"""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
MODULES = ("autograd", "cuda", "distributions", "func", "linalg", "nn", "nn.functional", "optim")


def eager(function=None, **options):
    """In the place of ``compile``, with and without options."""
    return function if function is not None else eager


def main() -> None:
    """Give torch nbgrad's name, then run the example."""
    import torch

    torch.compile, torch.Function = eager, torch.autograd.Function  # the one name that nbgrad has somewhere else
    sys.modules["nbgrad"] = torch
    for name in MODULES:
        sys.modules[f"nbgrad.{name}"] = importlib.import_module(f"torch.{name}")
    sys.argv = sys.argv[1:]
    runpy.run_path(str(HERE / f"{sys.argv[0]}.py"), run_name="__main__")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not (HERE / f"{sys.argv[1]}.py").exists():
        sys.exit("on_torch: needs the name of an example. Hint: python examples/on_torch.py vae")
    main()
