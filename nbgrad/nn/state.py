"""The state of a Module: what ``state_dict`` gives and ``load_state_dict`` takes, module by module, and who has a say in it.

NOTE [Loading]: as in torch, each module reads its own entries (``_load_from_state_dict``), and notes what is missing, unexpected or
does not fit. Where every module does so in the ordinary way, nothing is written before all of it is known to fit. Where a class
defines that method itself, or a hook has a say, both may look at what was loaded before them: entries are written at once then, and
what was there is kept, to be put back if the load fails.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, NotSupportedError, ShapeError
from ..base.user_stack import warn_user
from ..graph.edges import RemovableHandle
from ..graph.hooks import add_hook
from .members import BUFFER, BUFFERS, MODULE, PARAMETER, join
from .state_hooks import StateHooked

__all__ = ["EXTRA_STATE", "IncompatibleKeys", "Stateful"]

# The name under which a module's further state stands in the dictionary.
EXTRA_STATE = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` found on one side only; both lists are empty after a strict load."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class OfPrivateName(NamedTuple):
    """A hook of one of torch's older, private methods: what it returns counts, and before a load it is not given the module."""

    function: Callable

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


class Stateful(StateHooked):
    """What a Module is as far as its state goes.

    Attributes:
        _version: what a class says of the form of its state; it is written beside the state, and handed to what loads it.
    """

    _version: int = 1

    # What Module defines.
    _own: Any
    modules: Any
    get_submodule: Any
    named_modules: Any

    # Hooks

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the module puts its entries into a state.

        >>> from nbgrad import nn
        >>> layer = nn.Linear(1, 1)
        >>> handle = layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("saving", prefix))
        >>> state = nn.Sequential(layer).state_dict()
        saving 0.
        """
        return add_hook(self._own_state_hooks().before_saving, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` when the entries of the module and of all below are there.

        It may change ``state_dict``, and returns None.

        >>> from nbgrad import nn
        >>> layer = nn.Linear(1, 1)
        >>> handle = layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.clear())
        >>> len(layer.state_dict())
        0
        """
        return add_hook(self._own_state_hooks().after_saving, hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        """As the public one; what the hook returns, unless None, takes the place of the dictionary."""
        return add_hook(self._own_state_hooks().after_saving, privately(hook))

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`` before the
        module reads its entries of ``state_dict``, which it may change: it is a copy.

        >>> import nbgrad
        >>> layer = nbgrad.nn.Linear(1, 1, bias=False)
        >>> def rename(module, state_dict, prefix, *rest):
        ...     state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        >>> handle = layer.register_load_state_dict_pre_hook(rename)
        >>> layer.load_state_dict({"w": nbgrad.ones(1, 1)})
        <All keys matched successfully>
        """
        return add_hook(self._own_state_hooks().before_loading, hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> RemovableHandle:
        """As the public one; without ``with_module`` the hook is not given the module."""
        return add_hook(self._own_state_hooks().before_loading, hook if with_module else privately(hook))

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` when the module and all below have read their entries.

        It may change the two lists, ``missing_keys`` and ``unexpected_keys``, before a strict load looks at them, and returns None.

        >>> from nbgrad import nn
        >>> layer = nn.Linear(1, 1)
        >>> handle = layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
        >>> layer.load_state_dict({})
        <All keys matched successfully>
        """
        return add_hook(self._own_state_hooks().after_loading, hook)

    # Saving

    def get_extra_state(self) -> Any:
        """What is to be saved beside parameters and buffers. A subclass defines it, and ``set_extra_state``."""
        raise NotSupportedError(f"{type(self).__name__}: get_extra_state is not defined. Hint: define it in the subclass.")

    def set_extra_state(self, state: Any) -> None:
        """Take back what ``get_extra_state`` gave. A subclass defines it."""
        raise NotSupportedError(f"{type(self).__name__}: set_extra_state is not defined. Hint: define it in the subclass.")

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name.

        Args:
            args: the others in their order, as they were given in the past, with a warning.
            destination: a dictionary to put them into, and to return.
            prefix: stands before every name as it is: "net." with its dot.

        Returns:
            Detached tensors that share memory with the module's; the tensors themselves if ``keep_vars``. Its attribute
            ``_metadata`` has the ``_version`` of every module.

        >>> from nbgrad import nn
        >>> list(nn.Sequential(nn.Linear(2, 3), nn.Tanh()).state_dict())
        ['0.weight', '0.bias']
        """
        if args:
            warn_user("state_dict: give destination, prefix and keep_vars by name.", FutureWarning)
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            return self.state_dict(**{"destination": destination, "prefix": prefix, "keep_vars": keep_vars, **given})
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_hooks_of("before_saving"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._own(MODULE):
            module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_hooks_of("after_saving"):
            destination = after_saving(hook, self, destination, prefix, metadata)
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the module's own entries into ``destination``, without those of the modules below."""
        for name, x in self._own_state():
            destination[prefix + name] = x if keep_vars else x.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters, then persistent buffers."""
        for kind in (PARAMETER, BUFFER):
            yield from self._own(kind)

    # Loading

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy ``state_dict`` into the parameters and persistent buffers, in place. An error leaves all as it was.

        Args:
            state_dict: by dotted name, tensors or NumPy arrays of the same shapes; dtypes are converted.
            strict: refuse missing and unexpected names. Shapes must fit in either case.
            assign: let the tensors of ``state_dict`` take the place of the module's, with dtypes of their own, rather than be
                copied. What they replace is no longer trained: make optimizers afterwards.

        Returns:
            The names that are missing from ``state_dict``, and those that this module does not have.

        Raises:
            ShapeError: a name or a shape does not fit; the message lists all that do not. ArgumentError: no mapping.

        >>> import nbgrad
        >>> layer = nbgrad.nn.Linear(1, 1)
        >>> layer.load_state_dict({"weight": nbgrad.ones(1, 1)}, strict=False)
        _IncompatibleKeys(missing_keys=['bias'], unexpected_keys=[])
        >>> layer.weight.item()
        1.0
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(f"load_state_dict: expected a mapping, got {type(state_dict).__name__}.")
        state, metadata = OrderedDict(state_dict), getattr(state_dict, "_metadata", {})
        if metadata:
            state._metadata = metadata  # type: ignore[attr-defined]  # hooks look there
        at_once = any(map(has_own_way, self.modules()))
        before = copies(self, assign) if at_once else []
        keys, problems, writes = IncompatibleKeys([], []), list[str](), None if at_once else list[Callable]()
        with nbgrad.no_grad():
            try:
                load(self, state, "", metadata, assign, keys, problems, writes)
                if strict and (keys.missing_keys or keys.unexpected_keys) or problems:
                    raise ShapeError(does_not_fit(self, keys if strict else IncompatibleKeys([], []), problems))
                for write in writes or ():
                    write()
            except BaseException:
                put_back(before)
                raise
        return keys

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Mapping[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the module's own entries, without those of the modules below; note what is missing, unexpected or does not fit.

        Args:
            prefix: stands before the names of the module's entries.
            local_metadata: "version", if the state has it; "assign_to_params_buffers" where tensors are not to be copied.
            strict: whether to note what is missing and unexpected.
        """
        for hook in self._state_hooks_of("before_loading"):
            module = () if isinstance(hook, OfPrivateName) else (self,)
            hook(*module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        noted = IncompatibleKeys(missing_keys, unexpected_keys) if strict else IncompatibleKeys([], [])
        with nbgrad.no_grad():
            for write in self._writes(state_dict, prefix, local_metadata, noted, error_msgs):
                write()

    def _writes(
        self, state: Any, prefix: str, metadata: Mapping[str, Any], keys: IncompatibleKeys, problems: list[str]
    ) -> list[Callable[[], None]]:
        """What loads the module's own entries; what is wrong with them goes into ``keys`` and ``problems``."""
        self._prepare_for(state, prefix, metadata.get("version"))
        own, writes = dict(self._own_state()), list[Callable[[], None]]()
        assign = metadata.get("assign_to_params_buffers")
        for name, x in own.items():
            if (key := prefix + name) not in state:
                keys.missing_keys.append(key)
                continue
            if (entry := state[key]) is None:
                problems.append(f"elements: {key} is None in the state, expected a tensor")
                continue
            value = entry_like(x, entry)
            if value.is_meta and not (assign or x.is_meta):
                problems.append(f"elements: {key} is on meta in the state. Cannot copy out of meta tensor; no data!")
            elif known_shape(value) == known_shape(x):
                put = partial(self._assign, name) if assign else partial(copied, key)
                writes.append(partial(put, x, value))
            else:
                problems.append(f"size mismatch for {key}: {tuple(x.shape)} here and {tuple(value.shape)} in the state")
        extra = prefix + EXTRA_STATE
        has_extra = type(self).set_extra_state is not Stateful.set_extra_state
        if has_extra and extra in state:
            writes.append(lambda: self.set_extra_state(state[extra]))
        elif has_extra:
            keys.missing_keys.append(extra)
        children = {name for name, _ in self._own(MODULE)}
        for key in state:
            if key.startswith(prefix) and not (has_extra and key == extra):
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (children if dot else own):
                    keys.unexpected_keys.append(key)
        return writes

    def _prepare_for(self, state: Any, prefix: str, version: int | None) -> None:
        """Called before the module reads its entries; to be extended by what has several forms of its state, or no sizes yet."""

    def _assign(self, name: str, old: Tensor, new: Tensor) -> None:
        """Put ``new`` in the place of ``old``, the attribute ``name``."""
        if isinstance(old, Parameter):
            new = new if isinstance(new, Parameter) else Parameter(new)
            new.requires_grad_(old.requires_grad)
        setattr(self, name, new)


def privately(hook: Any) -> Any:
    """The hook, marked. What cannot be called stays as it is, and is refused where all are."""
    return OfPrivateName(hook) if callable(hook) else hook


def after_saving(hook: Any, module: Any, destination: Any, prefix: str, metadata: dict) -> Any:
    """Call a hook with a finished state, and say which dictionary that is now.

    Raises:
        ArgumentError: a hook of the public method returned something.
    """
    new = hook(module, destination, prefix, metadata)
    if isinstance(hook, OfPrivateName):
        return destination if new is None else new
    if new is not None:
        raise ArgumentError(
            "register_state_dict_post_hook: the hook returned something, expected None. Hint: it may change the dict."
        )
    return destination


def has_own_way(module: Any) -> bool:
    """Whether a module loads its state otherwise than all do, or calls hooks then: see NOTE [Loading]."""
    method = getattr(module._load_from_state_dict, "__func__", None)
    return module._state_hooks_ is not None or method is not Stateful._load_from_state_dict


def load(
    module: Any,
    state: Any,
    prefix: str,
    metadata: Mapping[str, Any],
    assign: bool,
    keys: IncompatibleKeys,
    problems: list[str],
    writes: list[Callable] | None,
) -> None:
    """Let a module and those below read their entries of ``state``: at once, or what is to be written into ``writes``."""
    own_metadata = {**metadata.get(prefix[:-1], {}), **({"assign_to_params_buffers": True} if assign else {})}
    if writes is None:
        module._load_from_state_dict(state, prefix, own_metadata, True, keys.missing_keys, keys.unexpected_keys, problems)
    else:
        writes += module._writes(state, prefix, own_metadata, keys, problems)
    for name, child in module._own(MODULE):
        below = f"{prefix}{name}."
        part = OrderedDict((key, value) for key, value in state.items() if key.startswith(below))
        load(child, part, below, metadata, assign, keys, problems, writes)
    for hook in module._state_hooks_of("after_loading"):
        if hook(module, keys) is not None:
            raise ArgumentError("register_load_state_dict_post_hook: the hook returned something, expected None.")


def copied(key: str, x: Tensor, value: Tensor) -> None:
    """Copy an entry into the module's tensor, where that has elements."""
    if x.is_meta and not value.is_meta:
        warn_user(
            f"load_state_dict: {key} is on meta in the module, where nothing is kept of what is copied. Hint: assign=True lets the "
            "tensors of the state take the place of the module's."
        )
    x.copy_(value)


def entry_like(x: Tensor, entry: Any) -> Tensor:
    """An entry of a state as a tensor; a number where the module has one, which torch's oldest files have as a vector of one."""
    value = nbgrad.asarray(entry)
    return value[0] if known_shape(x) == () and known_shape(value) == (1,) else value


def known_shape(x: Tensor) -> tuple[int, ...] | str:
    """A tensor's shape; of a parameter that waits for one, no text of it."""
    return "" if hasattr(x, "materialize") else tuple(x.shape)


def does_not_fit(module: Any, keys: IncompatibleKeys, problems: list[str]) -> str:
    """The message of a load that is refused, with the words that programs for torch look for in it."""
    modules = module.named_modules(remove_duplicate=False)
    shapes = {join(path, name): known_shape(x) for path, each in modules for name, x in each._own_state()}
    missing = ", ".join(f'"{name}" {shapes.get(name, "")}'.rstrip() for name in keys.missing_keys)
    unexpected = ", ".join(f'"{name}"' for name in keys.unexpected_keys)
    lines = [
        *([f"Missing key(s) in state_dict: {missing}"] if missing else ()),
        *([f"Unexpected key(s) in state_dict: {unexpected}"] if unexpected else ()),
        *problems,
    ]
    return (
        f"load_state_dict: the state does not fit {type(module).__name__}:\n    "
        + "\n    ".join(lines)
        + "\nHint: strict=False permits missing and unexpected names, never another shape."
    )


def copies(module: Any, assign: bool) -> list[tuple[Any, str, Tensor, Tensor | None]]:
    """Every tensor of a module with its place, and a copy of it unless others will take its place."""
    return [
        (each, name, x, None if assign else x.detach().clone())
        for each in module.modules()
        for name, x in each._own(PARAMETER, *BUFFERS)
    ]


def put_back(before: list[tuple[Any, str, Tensor, Tensor | None]]) -> None:
    """Undo a load."""
    for module, name, x, copy in before:
        module.__dict__[name] = x
        if copy is not None and known_shape(copy) == known_shape(x):
            x.copy_(copy)
