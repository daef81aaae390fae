"""``GradScaler``: scales losses so that small gradients fit half types, and leaves out steps that are not finite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from .. import Tensor, finfo, float32, full, no_grad
from ..base.errors import ArgumentError, NamingError, NotSupportedError, RangeError, UsageError
from ..base.user_stack import warn_user
from ..cuda import is_available
from .autocast_mode import PRESENT

__all__ = ["GradScaler", "OptState"]


LARGEST = finfo(float32).max  # a greater scale would make every loss infinite
# What a state holds, by torch's names: attributes.
STATE = {
    "scale": "_scale",
    "growth_factor": "_growth_factor",
    "backoff_factor": "_backoff_factor",
    "growth_interval": "_growth_interval",
    "_growth_tracker": "_growth_tracker",
}


class OptState(Enum):
    """What has been done with the gradients of an optimizer since the last ``update``."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class Progress:
    """An optimizer since the last ``update``: its stage, and of each device a number that is not 0 if a gradient was not finite."""

    def __init__(self) -> None:
        self.stage, self.found = OptState.READY, dict[Any, Tensor]()


class GradScaler:
    """Scales losses, and takes the scale out of gradients before a step.

    Where a gradient is not finite, the step is left out and the scale falls. After ``growth_interval`` steps in a row it grows.

    Args:
        device: ``"cuda"`` or ``"cpu"``.
        init_scale: the first scale.
        growth_factor: what it is multiplied by after ``growth_interval`` steps in a row; more than 1.
        backoff_factor: what it is multiplied by where a step was left out; less than 1.
        enabled: False: losses and gradients stay as they are.

    Raises:
        RangeError: a factor out of range.

    Warns:
        There is no GPU, and ``device`` is "cuda": it is not enabled.

    Source: torch's ``GradScaler``; Micikevicius et al., "Mixed precision training", 2018.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> optimizer, scaler = nbgrad.optim.SGD([x], lr=0.5), nbgrad.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale((x * x).sum()).backward()
    >>> x.grad.tolist()
    [16.0, 16.0]
    >>> _ = scaler.step(optimizer)
    >>> scaler.update()
    >>> x.tolist(), scaler.get_scale()
    ([0.0, 0.0], 8.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if enabled and not PRESENT.get(device, is_available)():
            warn_user("GradScaler: there is no GPU, nothing is scaled. Hint: GradScaler('cpu').")
            self._enabled = False
        if growth_factor <= 1.0:
            raise RangeError(f"GradScaler: growth_factor is {growth_factor}, expected more than 1.")
        if not 0.0 < backoff_factor < 1.0:
            raise RangeError(f"GradScaler: backoff_factor is {backoff_factor}, expected a number between 0 and 1.")
        self._scale, self._growth_tracker, self._used = float(init_scale), 0, False
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._progress: dict[int, Progress] = defaultdict(Progress)

    def scale(self, outputs: Any) -> Any:
        """A loss, or an iterable of losses, times the scale.

        Raises:
            ArgumentError: neither.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            self._used = True
            return outputs * full((), self._scale, device=outputs.device)  # of a half type the product is float32's scale
        if isinstance(outputs, Iterable):
            made = map(self.scale, outputs)
            return type(outputs)(made) if isinstance(outputs, (list, tuple)) else made
        raise ArgumentError(f"GradScaler.scale: expected tensors, got {type(outputs).__name__}.")

    def unscale_(self, optimizer: Any) -> None:
        """Take the scale out of an optimizer's gradients, before they are clipped, say; ``step`` does it where that was not.

        Raises:
            UsageError: nothing was ever scaled; it was done, or a step was taken, since the last ``update``. RangeError: a
                gradient is float16.
        """
        if not self._enabled:
            return
        if not self._used:
            raise UsageError("GradScaler.unscale_: no loss was scaled. Hint: scaler.scale(loss).backward().")
        progress = self._progress[id(optimizer)]
        if progress.stage is OptState.UNSCALED:
            raise UsageError("GradScaler.unscale_: it was called for this optimizer since the last update().")
        if progress.stage is OptState.STEPPED:
            raise UsageError("GradScaler.unscale_: called behind step(). Hint: call update() in between.")
        progress.found = self._unscaled(optimizer, 1.0 / self._scale)
        progress.stage = OptState.UNSCALED

    @staticmethod
    def _unscaled(optimizer: Any, factor: float) -> dict[Any, Tensor]:
        """Multiply the gradients; of each device, whether all are finite."""
        found: dict[Any, Tensor] = {}
        with no_grad():
            for group in optimizer.param_groups:
                for g in [p.grad for p in group["params"] if p.grad is not None]:
                    if g.dtype.name == "float16":
                        raise RangeError("GradScaler.unscale_: a gradient is float16. Hint: keep parameters in float32.")
                    g.mul_(factor)
                    finite = (g._values() if g.is_sparse else g).isfinite().all()  # nothing waits for it
                    found[g.device] = finite & found[g.device] if g.device in found else finite
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """A step of the optimizer, unless a gradient is not finite.

        Returns:
            What the optimizer's ``step`` returns; None where it was left out.

        Raises:
            NotSupportedError: with a closure. UsageError: a second step without an ``update``; an optimizer without gradients;
                nothing was ever scaled.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or "closure" in kwargs:
            raise NotSupportedError("GradScaler.step: a closure's gradients would be scaled anew. Hint: step without one.")
        progress = self._progress[id(optimizer)]
        if progress.stage is OptState.STEPPED:
            raise UsageError("GradScaler.step: it was called for this optimizer since the last update().")
        if progress.stage is OptState.READY:
            self.unscale_(optimizer)
        if not progress.found:
            raise UsageError("GradScaler.step: no parameter of the optimizer has a gradient, expected some. Hint: call backward().")
        progress.stage = OptState.STEPPED
        if not all(finite.item() for finite in progress.found.values()):
            return None
        return optimizer.step(**kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Let the scale grow or fall, behind all steps; or set it.

        Raises:
            UsageError: nothing was unscaled since the last call.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            flags = [flag for progress in self._progress.values() for flag in progress.found.values()]
            if not flags:
                raise UsageError("GradScaler.update: no gradients were looked at. Hint: call step() before.")
            self._grow(not all(finite.item() for finite in flags))
        self._progress.clear()

    def _grow(self, failed: bool) -> None:
        """The scale behind a step that was left out, or taken."""
        self._growth_tracker = 0 if failed else self._growth_tracker + 1
        if failed:
            self._scale *= self._backoff_factor
        elif self._growth_tracker == self._growth_interval:
            grown = self._scale * self._growth_factor
            self._scale = grown if grown <= LARGEST else self._scale
            self._growth_tracker = 0

    def get_scale(self) -> float:
        """The scale; 1 where it is not enabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set that."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by when it falls."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set that."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps in a row it grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set that."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale, and how it changes; empty where it is not enabled. To be taken behind ``update``."""
        return {name: getattr(self, attribute) for name, attribute in STATE.items()} if self._enabled else {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a ``state_dict``.

        Raises:
            NamingError: it is empty, or lacks something; nothing is changed then.
        """
        if not self._enabled:
            return
        missing = [name for name in STATE if name not in state_dict]
        if missing:
            raise NamingError(f"GradScaler.load_state_dict: the state has no {missing}, as of one that is off.")
        for name, attribute in STATE.items():
            setattr(self, attribute, state_dict[name])


class ScalerOfDevice(GradScaler):
    """A ``GradScaler`` by one of torch's older names, which say the device."""

    _device: str

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(self._device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
