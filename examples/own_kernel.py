"""Fit a curve with a layer that a user wrote as two kernels of numba-cuda, forward and backward.

    python examples/own_kernel.py [--steps 400] [--seed 0] [--picture examples/own_kernel.png]

A kernel of @cuda.jit becomes part of the graph as a Function: it reads and writes tensors where they lie, on nbgrad's current
stream, so that nothing is copied and nobody waits. It needs a GPU and numba-cuda (pip install 'numba-cuda[cu13]'), and without
them says so. With NUMBA_ENABLE_CUDASIM=1 numba's simulator runs the kernels on the CPU, a Python thread for each of the GPU's:
try --points 32 --steps 3 there.

(nbgrad.declare makes kernels for CPU and GPU of a formula, and its derivatives. This is for what no formula says.)
"""

from __future__ import annotations

import math
import os
from importlib.util import find_spec

from matplotlib import pyplot as plt
from rich.console import Console
from training import begin, counted, described, draw_losses, options_of

import nbgrad
from nbgrad import nn, optim

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
THREADS = 16, 16  # of a block

if find_spec("numba_cuda") is None:
    cuda = None
else:
    from numba import cuda

# ---- the user's kernels --------------------------------------------------------------------------------------------


def bumps(x, centres, widths, out):
    """out[i, k] = exp(-((x[i] - centres[k]) / widths[k])²)."""
    i, k = cuda.grid(2)
    if i < x.size and k < centres.size:
        z = (x[i] - centres[k]) / widths[k]
        out[i, k] = math.exp(-z * z)


def bumps_backward(g, x, centres, widths, out, to_centres, to_widths):
    """What each element of ``out`` adds to the gradients of its centre and its width, where ``g`` is its own."""
    i, k = cuda.grid(2)
    if i < x.size and k < centres.size:
        z = (x[i] - centres[k]) / widths[k]
        along = 2 * g[i, k] * out[i, k] * z / widths[k]
        to_centres[i, k] = along
        to_widths[i, k] = along * z


if cuda is not None:
    bumps, bumps_backward = cuda.jit(bumps), cuda.jit(bumps_backward)


def launch(kernel, shape: tuple[int, ...], *tensors: nbgrad.Tensor) -> None:
    """Queue a kernel behind nbgrad's work, a thread for each element of a shape."""
    blocks = tuple(-(-size // side) for size, side in zip(shape, THREADS, strict=True))
    given = [x.detach() for x in tensors]
    if SIMULATED:
        kernel[blocks, THREADS](*[x.numpy() for x in given])
        return
    stream = cuda.external_stream(nbgrad.cuda.current_stream().cuda_stream)
    kernel[blocks, THREADS, stream](*[cuda.as_cuda_array(x, sync=False) for x in given])  # one stream: in order without a wait


class Bumps(nbgrad.Function):
    """Bumps at points ``x (n,)``, of centres and widths ``(k,)``: ``(n, k)``. ``x`` gets no gradient."""

    @staticmethod
    def forward(ctx, x, centres, widths):
        out = nbgrad.empty(len(x), len(centres), device=x.device)
        launch(bumps, out.shape, x, centres, widths, out)
        ctx.save_for_backward(x, centres, widths, out)
        return out

    @staticmethod
    @nbgrad.autograd.function.once_differentiable
    def backward(ctx, g):
        x, centres, widths, out = ctx.saved_tensors
        to_centres, to_widths = nbgrad.empty_like(out), nbgrad.empty_like(out)
        launch(bumps_backward, out.shape, g.contiguous(), x, centres, widths, out, to_centres, to_widths)
        return None, to_centres.sum(0), to_widths.sum(0)


# ---- training ------------------------------------------------------------------------------------------------------


class Curve(nn.Module):
    """A sum of bumps, whose places, widths and heights are learnt."""

    def __init__(self, count: int):
        super().__init__()
        self.centres = nn.Parameter(nbgrad.linspace(-3, 3, count))
        self.widths = nn.Parameter(nbgrad.full((count,), 6.0 / count))
        self.heights = nn.Linear(count, 1)

    def forward(self, x: nbgrad.Tensor) -> nbgrad.Tensor:
        return self.heights(Bumps.apply(x, self.centres, self.widths)).squeeze(1)


def difference(model: Curve, x: nbgrad.Tensor) -> float:
    """The greatest difference between the kernels' gradients and those of the same formula in nbgrad's operations."""
    parameters = model.centres, model.widths
    own = nbgrad.grad(model(x).square().sum(), parameters)
    z = (x.unsqueeze(1) - model.centres) / model.widths
    other = nbgrad.grad(model.heights(nbgrad.exp(-z * z)).square().sum(), parameters)
    return max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(own, other, strict=True))


def fit(model: Curve, x: nbgrad.Tensor, y: nbgrad.Tensor, steps: int, console: Console) -> list[float]:
    """Train, with a progress bar; the losses. The program waits for the GPU once, at the end."""
    optimizer = optim.Adam(model.parameters(), lr=2e-2)
    losses: list[nbgrad.Tensor] = []
    for _ in counted(console, "steps", steps):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return nbgrad.stack(losses).tolist()


def obstacle(device: nbgrad.device) -> str | None:
    """Why the kernels cannot run here; None if they can."""
    if cuda is None:
        return "numba-cuda is not installed. Hint: pip install 'numba-cuda[cu13]'."
    if SIMULATED:
        return None
    if os.environ.get("NBGRAD_CUDA") == "emulated":
        return "nbgrad's emulated GPU runs no kernels of numba-cuda. Hint: NUMBA_ENABLE_CUDASIM=1 without NBGRAD_CUDA."
    if device.type != "cuda":
        return "there is no GPU, or it was not asked for. Hint: NUMBA_ENABLE_CUDASIM=1 simulates one."
    return None


def main() -> None:
    """Make a noisy curve, fit it, draw both."""
    parser = options_of(__doc__, "own_kernel.png")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--points", type=int, default=4096)
    parser.add_argument("--bumps", type=int, default=16)
    program = begin(parser, nbgrad.device("cpu") if SIMULATED else None)
    options, device, console = program.options, program.device, program.console
    if (reason := obstacle(device)) is not None:
        console.print(f"own_kernel: nothing was trained: {reason}", soft_wrap=True, markup=False)
        return

    x = nbgrad.linspace(-3, 3, options.points, device=device)
    y = nbgrad.sin(3 * x) * nbgrad.exp(-x.square() / 6) + 0.1 * nbgrad.randn(options.points, device=device)
    model = Curve(options.bumps).to(device)
    console.print(f"{options.points} points, {options.bumps} bumps, on {'a simulated GPU' if SIMULATED else described(device)}")
    console.print(f"gradients of the kernels and of nbgrad's operations: they differ by {difference(model, x):.1e} at most")
    losses = fit(model, x, y, options.steps, console)

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    draw_losses(left, "step", {"loss": (range(1, len(losses) + 1), losses)}, "mean squared error")
    with nbgrad.no_grad():
        right.plot(x.tolist(), y.tolist(), ".", markersize=1, label="points")
        right.plot(x.tolist(), model(x).tolist(), label="sum of bumps")
    right.legend()
    program.end(figure, f"loss {losses[-1]:.4f} (the noise alone: 0.0100)")


if __name__ == "__main__":
    main()
