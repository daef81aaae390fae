"""The base of all optimizers: groups of parameters and their state, which is saved and restored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from inspect import unwrap
from itertools import chain
from typing import AbstractSet as Set, Any, NoReturn

import nbgrad

from .. import Tensor
from ..base.errors import (
    ArgumentError,
    DTypeError,
    GraphError,
    LeafError,
    NamingError,
    NotSupportedError,
    RangeError,
    ShapeError,
    require_callable,
)
from ..base.grad_mode import traces
from ..dispatch.updates import is_held
from ..jit.guards.libraries import is_users
from ..modes.traced import capture_of_thread
from ..nn.utils import listed, zero_grads
from ..tensors.choices import captures, current
from ..tensors.layout import sparse_marks
from ..tensors.tensor import is_sparse
from .hooks import REGISTERED, Hooked, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

__all__ = [
    "Optimizer",
    "ParamsT",
    "options_in",
    "refuse_both",
    "refuse_complex",
    "refuse_sparse_decay",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "require",
    "required",
    "together",
]

# What an optimizer takes: parameters, groups of them, or names and parameters.
ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

# The attributes of which an optimizer tells a capture itself, or that no step of a compiled function looks at.
TOLD = frozenset({"state", "param_groups", "_kept", "_step_hooks_", "_state_hooks_"})


class _Required:
    """What stands in the defaults of an optimizer for an option that every group must have."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()  # torch's name


class Optimizer(Hooked):
    """Updates parameters by their gradients. A subclass defines ``update``.

    Args:
        params: parameters, or pairs of names and parameters as ``named_parameters()`` gives them; or dictionaries, each with
            "params" and the options in which that group differs.
        defaults: the options of a group that does not set them.

    Attributes:
        param_groups: a list of dictionaries: "params", their names as "param_names" where they were given, and every option.
            Options may be changed between steps.
        state: what the optimizer keeps, a dictionary for each parameter.
        takes_sparse: whether ``update`` knows sparse gradients.
        varying: the options that enter a step as numbers alone, so that a captured step may run again with others; None where
            steps are not to be captured.

    Raises:
        ArgumentError: something that is no tensor, or a set (whose order is not reproducible).
        LeafError: a tensor that is the result of an operation; a ValueError too.
        RangeError: no parameters, or one in two groups.
    """

    varying: tuple[str, ...] | None = None
    takes_sparse = False

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        if self.defaults.get("differentiable") and (self.defaults.get("fused") or self.defaults.get("foreach")):
            raise RangeError(f"{self._name}: differentiable=True, expected neither foreach nor fused: those are not recorded.")
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        if isinstance(params, Tensor):
            raise ArgumentError(f"{self._name}: params is a tensor, expected an iterable of tensors. Hint: write [tensor].")
        members = self._listed(params)
        if not members:
            raise RangeError(f"{self._name}: params is empty. Hint: an iterator of parameters can be used once only.")
        for group in members if isinstance(members[0], dict) else [{"params": members}]:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def update(self, params: list[Tensor], group: dict[str, Any]) -> None:
        """One step of those parameters of ``group`` that have a gradient; to be defined by the subclass.

        A group at a time, because its scalars are the same for all its parameters. Nothing is recorded, unless the option
        ``differentiable`` is there and set.
        """
        raise NotSupportedError(f"{self._name}: update is not defined. Hint: define it in the subclass.")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: computes the loss and its gradients anew; called first, with recording on.

        Returns:
            What ``closure`` returned, or None.
        """
        if traces:
            self._be_captured()
        if captures and current.capture is not None:
            self._be_in_cuda_graph()
        loss = None
        if closure is not None:
            require_callable(f"{self._name}.step", closure)
            with nbgrad.enable_grad():
                loss = closure()
        with nbgrad.set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                if sparse_marks and not self.takes_sparse:
                    self._refuse_sparse(params)
                self.update(params, group)
        return loss

    def _refuse_sparse(self, params: list[Tensor]) -> None:
        """Refuse sparse gradients.

        Raises:
            NotSupportedError: there is one.
        """
        for p in params:
            if is_sparse(p.grad):
                raise NotSupportedError(
                    f"{self._name}: the gradient of a parameter of shape {list(p.shape)} is sparse, expected dense ones. "
                    "Hint: SparseAdam, SGD and Adagrad take it; or make it dense, with sparse=False."
                )

    def freezes(self, group: dict[str, Any]) -> str:
        """What a step would be to all replays of a CUDA graph that it is captured in, and must not: "" if nothing.

        To be extended by subclasses that count on the host. Numbers among the options are those of the capture, as in torch.
        """
        return ""

    def _be_in_cuda_graph(self) -> None:
        """Refuse to be captured in a CUDA graph that would do the same step again and again.

        Raises:
            GraphError: something counts on the host, or the state is yet to be made.
        """
        for group in self.param_groups:
            stepped = [p for p in group["params"] if p.grad is not None and p.layout.memory is not None]
            if stepped and (frozen := self.freezes(group)):
                self.refuse_frozen(frozen)
            if not all(self.is_ready(p, group) for p in stepped):
                raise GraphError(
                    f"{self._name}.step: the state of a parameter would be made again by each replay of the CUDA graph. "
                    "Hint: take one step before the capture."
                )

    def refuse_frozen(self, what: str) -> NoReturn:
        """Refuse a step in a CUDA graph.

        Raises:
            GraphError: always.
        """
        hint = "capturable=True" if "capturable" in self.defaults else "step outside of the graph"
        raise GraphError(f"{self._name}.step: {what} would be the same in each replay of the CUDA graph. Hint: {hint}.")

    def is_ready(self, p: Tensor, group: dict[str, Any]) -> bool:
        """Whether there is all of the state that a step needs; to be defined by subclasses that have some."""
        return True

    def _captured_parts(self) -> Iterable[Tensor]:
        """What a captured program may name by the optimizer; see ``_be_captured`` for what it depends on."""
        return self._params()

    def _told_attributes(self) -> Set[str]:
        """The attributes of which ``_be_captured`` tells: none where a program's class has a ``step`` that does not call it."""
        code = getattr(unwrap(type(self).step), "__code__", None)
        by_itself = code is None or is_users(code) and {"super", "step"}.isdisjoint(code.co_names)
        return frozenset() if by_itself else TOLD

    def _be_captured(self) -> None:
        """Tell the capture of this thread, if there is one, what a step depends on: all but the numbers of ``varying``.

        Raises:
            GraphError: the optimizer does not say which numbers these are, or has not made its state yet.
        """
        capture = capture_of_thread()
        if capture is None:
            return
        varying = self.varying
        if varying is None:
            capture.refuse(f"{self._name}.step: its class has no varying", "name the options that update hands to fused_update")
            return
        if self.defaults.get("differentiable"):
            capture.refuse(f"{self._name}.step: differentiable=True", "step outside of the compiled function")
            return
        if self._calls_hooks():
            capture.refuse(
                f"{self._name}.step: hooks are called around it", "step outside of the compiled function, or without hooks"
            )
            return
        held = vars(self)
        names: list[Any] = [held, "state", self.state, held, "param_groups", self.param_groups]
        names += REGISTERED, "count", REGISTERED["count"]
        tensors: list[Tensor] = []
        for k, group in enumerate(self.param_groups):
            names += self.param_groups, k, group
            held_there = [value for value in group.values() if is_held(value)]
            tensors += held_there
            read = () if held_there else varying  # NOTE [Numbers of updates]
            for name, value in group.items():
                if name not in read and not capture.is_exchanged(group, name):
                    names += group, name, value
            for number, p in enumerate(group["params"]):
                if p.grad is None:
                    continue
                if not self.is_ready(p, group):
                    capture.postpone(f"{self._name}.step: the state of a parameter")
                names += group["params"], number, p
                tensors.append(p)
                state = self.state.get(p, {})
                if state:
                    names += self.state, p, state
                for name, value in state.items():
                    if isinstance(value, Tensor):
                        names += state, name, value
                        tensors.append(value)
        capture.hold(names, tensors)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; with ``set_to_none=False``, detach them and fill them with zeros."""
        zero_grads(self._params(), set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Optimise more parameters.

        Args:
            param_group: "params", a tensor or an iterable of them, and any options; the defaults fill in the others.

        Raises:
            As the constructor.
        """
        if not isinstance(param_group, dict):
            raise ArgumentError(
                f'{self._name}: a parameter group is a {type(param_group).__name__}, expected a dict with "params".'
            )
        if "params" not in param_group:
            raise NamingError(f'{self._name}: a parameter group has {", ".join(map(repr, param_group))}, expected "params" too.')
        names, params = self._separated(param_group["params"])
        group: dict[str, Any] = {
            **self.defaults,
            **param_group,
            **({"param_names": names} if names else {}),
            "params": self._checked(params),
        }
        if missing := [name for name, value in group.items() if value is required]:
            raise RangeError(f"{self._name}: a parameter group has no {missing[0]!r}, which every group must have.")
        self.check(group)
        self.param_groups.append(group)

    def check(self, group: dict[str, Any]) -> None:
        """Refuse options out of range; to be extended by the subclass."""

    def _listed(self, params: Iterable[Any]) -> list[Any]:
        """The members of ``params``, which must have an order."""
        if isinstance(params, (set, frozenset)):
            raise ArgumentError(f"{self._name}: params is a set, whose order differs from run to run. Hint: pass a list.")
        return listed(self._name, params)

    def _separated(self, params: Any) -> tuple[list[str], list[Any]]:
        """The names of ``params``, if they are pairs that have some, and the parameters.

        Raises:
            RangeError: some are pairs with a name, and others are not.
        """
        members = self._listed(params)
        named = [isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], str) for member in members]
        if not any(named):
            return [], members
        if not all(named):
            raise RangeError(f"{self._name}: params[{named.index(False)}] has no name, expected names for all or for none.")
        return [name for name, _ in members], [member for _, member in members]

    def _checked(self, tensors: list[Any]) -> list[Tensor]:
        """``tensors``, distinct ones that no group has yet: leaves, or results that retain gradients, or any for recorded steps."""
        known = {id(p) for group in self.param_groups for p in group["params"]}
        for position, p in enumerate(tensors):
            if not isinstance(p, Tensor):
                raise ArgumentError(f"{self._name}: params[{position}] is a {type(p).__name__}, expected a tensor.")
            if not (p.is_leaf or p.retains_grad or self.defaults.get("differentiable")):
                raise LeafError(
                    f"{self._name}: params[{position}] is the result of an operation, expected a leaf. "
                    "Hint: optimise the tensor that it was computed from, or let it retain_grad()."
                )
            if id(p) in known:
                raise RangeError(f"{self._name}: params[{position}] is there twice. Hint: list it once.")
            known.add(id(p))
        return tensors

    def state_dict(self) -> dict[str, Any]:
        """The state and the options, with parameters replaced by their positions over all groups.

        Returns:
            ``{"state": {position: {name: value}}, "param_groups": [{..., "params": [position]}]}``; tensors are the
            optimizer's own, not copies.
        """
        self._before_saving()
        positions: dict[int, int] = {}
        for i, p in enumerate(self._params()):
            positions.setdefault(id(p), i)  # of one that stands in several places the first
        state = {
            "state": {positions[id(p)]: dict(state) for p, state in self.state.items() if state},
            "param_groups": [{**group, "params": [positions[id(p)] for p in group["params"]]} for group in self.param_groups],
        }
        return self._after_saving(state)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a ``state_dict`` of an optimizer with groups of the same sizes; it is copied.

        Tensors go to the device of their parameter, floating ones to its dtype, too. Options that a group of ``state_dict`` does
        not name stay as they are, and an error leaves all as it was.

        Raises:
            ShapeError: the groups differ in number or size.
            ArgumentError: no mapping. NamingError: one without "state" or "param_groups", or with state of a parameter that no
                group has; a KeyError too.
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(f"{self._name}: load_state_dict: expected a mapping, got {type(state_dict).__name__}.")
        state_dict = self._before_loading(state_dict)
        for name in ("state", "param_groups"):
            if name not in state_dict:
                raise NamingError(
                    f"{self._name}: load_state_dict: the state has no {name!r}, it has {list(state_dict)}. "
                    "Hint: pass what an optimizer's state_dict() returned."
                )
        given = [len(group["params"]) for group in state_dict["param_groups"]]
        own = [len(group["params"]) for group in self.param_groups]
        if given != own:
            raise ShapeError(f"{self._name}: load_state_dict: the state has groups of {given} parameters, expected {own}.")
        names = list(chain.from_iterable(group["params"] for group in state_dict["param_groups"]))
        params = dict(zip(names, self._params(), strict=True))
        if not state_dict["state"].keys() <= params.keys():
            raise NamingError(
                f"{self._name}: load_state_dict: there is state of the parameters "
                f"{[name for name in state_dict['state'] if name not in params]}, which no group has."
            )
        state = {
            params[position]: {name: _restored(name, value, params[position]) for name, value in values.items()}
            for position, values in state_dict["state"].items()
        }
        options = deepcopy(
            [_options(theirs) for theirs in state_dict["param_groups"]]
        )  # as one: what groups share they share again
        groups = [{**ours, **theirs} for theirs, ours in zip(options, self.param_groups, strict=True)]
        self.__setstate__({"state": defaultdict(dict, state), "param_groups": groups})
        self._after_loading()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what a copy, a pickle or a loaded state has; extended by classes that fill in options which older ones lack."""
        self.__dict__.update(state)

    def _params(self) -> Iterable[Tensor]:
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def __repr__(self) -> str:
        groups = []
        for number, group in enumerate(self.param_groups):
            lines = [f"Parameter Group {number}", *(f"    {name}: {value}" for name, value in sorted(_options(group).items()))]
            groups.append("\n".join(lines) + "\n")
        return f"{self._name} (\n" + "\n".join(groups) + ")"


def options_in(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a group among the ``locals()`` with which a constructor begins: all but itself and its parameters."""
    return {name: value for name, value in given.items() if name not in ("self", "params", "__class__")}


def refuse_complex(owner: str, params: Iterable[Tensor]) -> None:
    """Refuse complex parameters.

    Raises:
        DTypeError: one is complex.
    """
    for position, p in enumerate(params):
        if p.is_complex():
            raise DTypeError(f"{owner}: params[{position}] is {p.dtype.name}, expected real parameters. Hint: view_as_real.")


def refuse_sparse_decay(owner: str, group: Mapping[str, Any]) -> None:
    """Refuse weight decay of a parameter whose gradient is sparse: it would be of all rows.

    Raises:
        NotSupportedError: the group has some.
    """
    if group["weight_decay"]:
        raise NotSupportedError(f"{owner}: weight_decay of a parameter whose gradient is sparse. Hint: weight_decay=0.")


def refuse_both(owner: str, foreach: bool | None, fused: bool | None) -> None:
    """Refuse two ways at once, as torch does.

    Raises:
        NotSupportedError: both are asked for.
    """
    if foreach and fused:
        raise NotSupportedError(
            f"{owner}: fused and foreach cannot be True together. Hint: each of them is what None does on a GPU."
        )


def together(group: Mapping[str, Any]) -> bool | None:
    """What ``fused_updates`` is told of a group's options."""
    return None if group.get("fused") else group["foreach"]


def require_numbers(owner: str, options: Mapping[str, Any]) -> None:
    """Refuse options that are no numbers.

    Raises:
        ArgumentError: one of them is none. RangeError: a tensor of several elements.
    """
    for name, value in options.items():
        if not hasattr(value, "__float__"):
            raise ArgumentError(f"{owner}: {name} must be a number, got {value!r}.")
        if isinstance(value, Tensor) and value.numel() != 1:
            raise RangeError(f"{owner}: {name} has {value.numel()} elements, expected a number or a tensor of one.")


def require(valid: bool, owner: str, name: str, value: Any, expected: str) -> None:
    """Refuse an option.

    Raises:
        RangeError: not ``valid``.
    """
    if not valid:
        raise RangeError(f"{owner}: {name} is {value}, expected {expected}.")


def _options(group: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


def _restored(name: str, value: Any, p: Tensor) -> Any:
    """A copy of a state value, on the device of ``p``, and in its dtype if it is a floating tensor and counts no steps."""
    if not isinstance(value, Tensor):
        return deepcopy(value)
    floating = p.is_floating_point() and value.is_floating_point() and name != "step"
    return value.detach().to(device=p.device, dtype=p.dtype if floating else None, copy=True)
