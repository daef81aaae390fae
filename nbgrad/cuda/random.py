"""Random numbers of GPUs: the seeds and states of their default generators: ``torch.cuda.random``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..creation.generators import Generator, default_generator_on
from ..tensors.storage import device as device_named
from ..tensors.tensor import Tensor
from .devices import device_count, index_of

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def generator(op: str, device: Any) -> Generator:
    """The default generator of a GPU; None: of the current one."""
    return default_generator_on(device_named("cuda", index_of(op, device)))


def manual_seed(seed: int) -> None:
    """Start the current GPU's default generator again from a seed. Without a GPU nothing is done.

    ``nbgrad.manual_seed`` does so for all devices. A seed gives the same numbers on every device.

    Args:
        seed: an integer.

    Raises:
        ArgumentError: it is none.

    >>> import nbgrad
    >>> nbgrad.cuda.manual_seed(7)
    """
    if device_count():
        generator("manual_seed", None).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Start the default generators of all GPUs again from one seed. Without a GPU nothing is done.

    Args:
        seed: an integer.

    Raises:
        ArgumentError: it is none.

    >>> import nbgrad
    >>> nbgrad.cuda.manual_seed_all(7)
    >>> if nbgrad.cuda.is_available():
    ...     assert nbgrad.cuda.initial_seed() == 7
    """
    for k in range(device_count()):
        generator("manual_seed_all", k).manual_seed(seed)


def seed() -> None:
    """Start the current GPU's default generator again from a seed that the operating system draws. Without a GPU nothing is done.

    >>> import nbgrad
    >>> nbgrad.cuda.seed()
    """
    if device_count():
        generator("seed", None).seed()


def seed_all() -> None:
    """Start the default generators of all GPUs again from one seed that the operating system draws. Without a GPU nothing is done.

    >>> import nbgrad
    >>> nbgrad.cuda.seed_all()
    """
    for k in range(device_count()):
        manual_seed_all(generator("seed_all", k).seed())
        return


def initial_seed() -> int:
    """The seed from which the current GPU's default generator began.

    Raises:
        DeviceError: there is no GPU.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     nbgrad.cuda.manual_seed(7)
    ...     assert nbgrad.cuda.initial_seed() == 7
    """
    return generator("initial_seed", None).initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a GPU's default generator, for ``set_rng_state``.

    Args:
        device: the name or number of a GPU; by default the current one.

    Returns:
        Tensor of 16 uint8, on the CPU.

    Raises:
        DeviceError: the GPU is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     state = nbgrad.cuda.get_rng_state()
    ...     x = nbgrad.rand(3, device="cuda")
    ...     nbgrad.cuda.set_rng_state(state)
    ...     assert nbgrad.rand(3, device="cuda").equal(x)
    """
    return generator("get_rng_state", device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """The states of the default generators of all GPUs, for ``set_rng_state_all``.

    >>> import nbgrad
    >>> len(nbgrad.cuda.get_rng_state_all()) == nbgrad.cuda.device_count()
    True
    """
    return [get_rng_state(k) for k in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Return a GPU's default generator to a state that ``get_rng_state`` gave.

    Args:
        new_state: the state.
        device: the name or number of a GPU; by default the current one.

    Raises:
        ArgumentError: no such state. DeviceError: the GPU is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     nbgrad.cuda.set_rng_state(nbgrad.cuda.get_rng_state(0), 0)
    """
    generator("set_rng_state", device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Return the default generators of all GPUs to states that ``get_rng_state_all`` gave.

    Args:
        new_states: one of each GPU, in order.

    Raises:
        ArgumentError: one is no state. DeviceError: there are more states than GPUs.

    >>> import nbgrad
    >>> nbgrad.cuda.set_rng_state_all(nbgrad.cuda.get_rng_state_all())
    """
    for k, state in enumerate(new_states):
        set_rng_state(state, k)
