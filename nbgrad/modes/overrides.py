"""Types that say themselves what operations mean on them: subclasses of Tensor, and types that are no tensors at all.

A type takes part by the class method ``__nbgrad_function__(func, types, args, kwargs)``. Calls with an argument of such a type go
to it; what it returns is the result, unless that is NotImplemented. Tensor's own version runs the operation and gives the result
the subclass's type: a subclass survives operations without writing anything.

NOTE [Twins]: beneath its interpreter a subclass's tensor stands as a plain Tensor, its *twin*: the same memory, version, meta and
place in the graph under an unmarked layout. A leaf's twin leads to the leaf's AccumulateGrad. A write, which changes the tensor's
history, and a view, which knows its base, need the tensor itself: its layout is exchanged for the duration of the call.
"""

from __future__ import annotations

import functools
import inspect
import threading
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Callable, Iterator

from ..base.calls import CALLS
from ..base.errors import ArgumentError
from ..base.function_attributes import attach
from ..base.grad_mode import mode as grad_mode, special, unusual
from ..base.locks import new_rlock
from ..base.overriding import OWN, TORCHS, adopt_torch_name, asked_in_order, overrides_functions
from ..graph.edges import accumulator_of
from ..graph.task import state as pass_state
from ..tensors.layout import Layout, marked_layout, sparse_marks
from ..tensors.tensor import ASK, Parameter, Tensor, put_layout, told_of_subclasses
from ..views import base_of
from .dispatch_modes import seen_methods
from .interpreters import Call, Presence, interpret, register, run_plainly

__all__ = [
    "FunctionMode",
    "TorchFunctionMode",
    "as_subclass",
    "concerns_others",
    "converted",
    "disabled",
    "function_on_plain",
    "functions_of",
    "get_overridable_functions",
    "handle_function",
    "handle_torch_function",
    "has_function",
    "has_torch_function",
    "inside_of_disabled",
    "install_overrides",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "on_unmarked",
    "resolve_name",
    "says_nothing",
    "twin",
    "wrap_torch_function",
]

# The public function or method of every call, by the call's name; filled by methods/install.py.
functions_of: dict[str, Callable] = {}


class OverrideState(threading.local):
    """How deep this thread is inside of ``disabled()``, and the modes that are active in it."""

    def __init__(self) -> None:
        self.off = 0
        self.modes: list[FunctionMode] = []


_state = OverrideState()
_write_lock = new_rlock()


@contextmanager
def disabled() -> Iterator[None]:
    """Inside, tensors of subclasses are plain tensors: what ``__nbgrad_function__`` calls to do the work."""
    _state.off += 1
    try:
        yield
    finally:
        _state.off -= 1


def inside_of_disabled() -> bool:
    """Whether this thread is inside of ``disabled()``."""
    return _state.off > 0


def says_nothing(cls: Any) -> bool:
    """Whether a class leaves to Tensor what operations mean."""
    return getattr(cls.__nbgrad_function__, "__func__", None) is default_function


def overriding_type(x: Any) -> type | None:
    """The type that is to be asked about an argument, if any."""
    if isinstance(x, Tensor):
        return x.layout.special if isinstance(x.layout.special, type) else None
    kind = type(x)
    return kind if overrides_functions(kind) else None


def overriding_types(arguments: Any) -> tuple[type, ...]:
    """The types to ask, in order."""
    kinds: list[type] = []
    for x in arguments:
        kinds += overriding_types(x) if isinstance(x, (tuple, list)) else [kind] if (kind := overriding_type(x)) is not None else []
    return asked_in_order(kinds)


def arguments_of(call: Call) -> tuple:
    """Everything that may bring a type."""
    return (*call.operands, *call.attributes.values(), call.out)


# ---- asking --------------------------------------------------------------------------------------------------------


class Overrides:
    """The interpreter of overriding types and modes."""

    def concerns(self, call: Call) -> bool:
        """Whether a mode is active in this thread, or an argument is of an overriding type; Functions are asked call by call."""
        if call.op.kind == "function":
            return any(mode.changes_functions for mode in _state.modes)
        return bool(_state.modes and not _state.off) or call.marked and bool(overriding_types(arguments_of(call)))

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """Ask; beneath ``disabled()`` do the work on plain tensors."""
        if call.op.kind == "function":
            for mode in reversed(_state.modes):
                if mode.changes_functions:
                    call = call.with_operands(tuple([mode.change(x) for x in call.operands]))
            return below(call)
        kinds = overriding_types(arguments_of(call)) if call.marked else ()
        if _state.off or len(kinds) == 1 and says_nothing(kinds[0]):
            alone = not special and not any(concerns_others(x.layout) for x in call.tensors())
            if _state.off:
                return on_plain(call, run_plainly if alone else below)
            if alone:  # what ``default_function`` does, without coming here again
                return of_subclass(on_plain(call, run_plainly), arguments_of(call), kinds[0])
        function = functions_of.get(call.name) or CALLS[call.name]
        kwargs = given(call) if call.out is None else {**given(call), "out": call.out}
        enabled = grad_mode.enabled
        result = ask(function, kinds, call.operands, kwargs)
        if pass_state.task is not None:
            grad_mode.enabled = enabled  # NOTE [Grad mode of a pass]
        return result


def concerns_others(layout: Layout) -> bool:
    """Whether a tensor has, beside a subclass's mark, what another interpreter looks for."""
    return bool(layout.unmarked().special) or layout.conj or layout.neg


def given(call: Call) -> dict:
    """The attributes that are not at their defaults."""
    parameters = call.op.signature.parameters
    return {name: value for name, value in call.attributes.items() if value is not parameters[name].default}


def ask(function: Callable, kinds: tuple[Any, ...], args: tuple, kwargs: dict) -> Any:
    """What the innermost mode, else the types in turn, make of a call.

    Raises:
        ArgumentError: all of them returned NotImplemented.
    """
    if _state.modes:
        mode = _state.modes.pop()
        # Meanwhile calls may go their usual way, as no other thread asks this mode. Behind it there may be others, then it stays.
        presence = presence_of(mode)
        if innermost := special[-1] is presence:
            special.remove(presence)
        try:
            result = mode.__nbgrad_function__(function, kinds, args, kwargs)
        finally:
            if innermost:
                special.append(presence)
            _state.modes.append(mode)
        if result is not NotImplemented:
            return result
    for kind in kinds:
        result = kind.__nbgrad_function__(function, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(kind.__name__ for kind in kinds) or "the active mode"
    raise ArgumentError(
        f"{getattr(function, '__name__', function)}: not implemented for {names}: __nbgrad_function__ returned "
        "NotImplemented. Hint: handle the function there, or call super().__nbgrad_function__."
    )


def default_function(cls, func: Callable, types: tuple[type, ...], args: tuple = (), kwargs: dict | None = None) -> Any:
    """Run ``func`` on plain tensors and give tensors among its results the type ``cls``.

    Override it as a class method to say what operations mean on a subclass; ``super().__nbgrad_function__(...)`` does the usual.

    Args:
        func: the public function (``nbgrad.add``) or, where there is none, the method.
        types: the overriding types among the arguments.
        args, kwargs: of the call.

    Returns:
        The result; NotImplemented if a type is no base of ``cls``.

    >>> import nbgrad
    >>> class Metres(nbgrad.Tensor):
    ...     pass
    >>> type(Metres([1.0, 2.0]) * 3).__name__
    'Metres'
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with disabled():
        return of_subclass(func(*args, **(kwargs or {})), (*args, *(kwargs or {}).values()), cls)


def of_subclass(result: Any, given: tuple, cls: type) -> Any:
    """The result of a call on plain tensors, as a subclass's; a plain tensor that was written to stays one."""
    if type(result) is Tensor and any(result is x for x in given):
        result = CALLS["alias"](result)
    return converted(result, cls)


def default_torch_function(cls, func: Callable, types: tuple[type, ...], args: tuple = (), kwargs: dict | None = None) -> Any:
    """The default under torch's name, for ``super().__torch_function__(...)``; a function of torch's own is not implemented."""
    if _state.off:  # the function asks again, as torch's do: it is none of nbgrad's
        return NotImplemented
    return default_function(cls, func, types, args, kwargs)


def function_on_plain(func: Callable, types: tuple[type, ...], args: tuple = (), kwargs: dict | None = None) -> Any:
    """The ``__nbgrad_function__`` of a subclass whose operations give plain tensors; writes give back what they wrote to.

    >>> import nbgrad
    >>> class Column(nbgrad.Tensor):
    ...     __torch_function__ = nbgrad._C._disabled_torch_function_impl
    >>> type(Column([1.0, 2.0]) * 3).__name__
    'Tensor'
    """
    with disabled():
        return func(*args, **(kwargs or {}))


attach(function_on_plain, gives_plain=True)  # tensors of classes that have it need no mark


def converted(result: Any, cls: Any) -> Any:
    """Fresh plain tensors in a result, as tensors of a subclass."""
    if type(result) is Tensor:
        if cls is not Tensor:
            layout = plain_layout(result)
            put_layout(result, layout if cls._mark_ is None else marked_layout(layout, cls))
            result.__class__ = cls
        return result
    if type(result) in (tuple, list):
        return type(result)(converted(x, cls) for x in result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(converted(x, cls) for x in result))
    return result


def plain_layout(x: Tensor):
    """The layout without a mark."""
    return x.layout.unmarked() if isinstance(x.layout.special, type) else x.layout


# ---- plain tensors beneath: NOTE [Twins] ----------------------------------------------------------------------------


def on_plain(call: Call, below: Callable[[Call], Any]) -> Any:
    """The call with plain tensors in the place of a subclass's."""
    if call.form or call.op.kind == "movement":
        return on_unmarked(call, below)
    own: dict[int, Tensor] = {}

    def change(x: Tensor) -> Tensor:
        if overriding_type(x) is None:
            return x
        plain = twin(x)
        own[id(plain)] = x
        return plain

    result = below(call.with_operands(call.map(change)))
    if isinstance(result, tuple):
        return tuple(own.get(id(x), x) for x in result)
    return own.get(id(result), result)


def twin(x: Tensor) -> Tensor:
    """A plain tensor in the place of ``x``."""
    plain: Tensor = object.__new__(Tensor)
    plain._storage_, plain._offset_ = x._storage_, x._offset_
    put_layout(plain, plain_layout(x))
    plain._needs_grad_, plain._edge_ = x._needs_grad_, x._edge_
    if x._edge_ is None and x._needs_grad_ is True:
        plain._edge_ = accumulator_of(x)
    plain._meta_ = x._meta_ if x._needs_grad_ is ASK or (x._meta_ is not None and x._meta_.tangent is not None) else None
    return plain


def on_unmarked(call: Call, below: Callable[[Call], Any]) -> Any:
    """A write or a view: the tensors themselves, and those that they are views of, without their marks until it is done."""
    involved = [y for x in call.tensors() for y in (x, base_of(x)) if y is not None and overriding_type(y) is not None]
    marked = list({id(x): x for x in involved}.values())
    with _write_lock:
        for x in marked:
            put_layout(x, plain_layout(x))
        try:
            return below(call)
        finally:
            for x in marked:
                put_layout(x, marked_layout(x.layout, type(x)))


# ---- subclasses ----------------------------------------------------------------------------------------------------


def as_subclass(x: Tensor, cls: type) -> Tensor:
    """The same memory and history as a tensor of a subclass.

    Args:
        cls: a subclass of Tensor.

    Raises:
        ArgumentError: ``cls`` is none.
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise ArgumentError(f"as_subclass: expected a subclass of Tensor, got {cls!r}.")
    with disabled():
        return converted(CALLS["alias"](x), cls)


def make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Tensor:
    """A leaf of a subclass on the memory of ``data``."""
    return converted(data.detach(), cls).requires_grad_(require_grad)


# ---- functions that are no operations ------------------------------------------------------------------------------


def has_function(*arguments: Any) -> bool:
    """Whether a function that is written in nbgrad's must ask an argument's ``__nbgrad_function__`` first.

    >>> import nbgrad
    >>> nbgrad.overrides.has_function(nbgrad.ones(2), 3)
    False
    """
    return not _state.off and bool(_state.modes or overriding_types(arguments))


def has_function_of_passes(*arguments: Any) -> bool:
    """``has_function`` for backward passes: tensors of sparse layouts say what operations mean on them, and not what a pass is."""
    return not _state.off and bool(_state.modes or set(overriding_types(arguments)) - sparse_marks)


def handle_function(function: Callable, arguments: tuple, *args: Any, **kwargs: Any) -> Any:
    """Ask the types among ``arguments`` about a call ``function(*args, **kwargs)``."""
    return ask(function, overriding_types(arguments), args, kwargs)


def has_torch_function(relevant_args: Any) -> bool:
    """``has_function`` of the members of a sequence: torch's form."""
    return has_function(*relevant_args)


def handle_torch_function(public_api: Callable, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """``handle_function`` under torch's name: asks the types' ``__nbgrad_function__``."""
    return handle_function(public_api, tuple(relevant_args), *args, **kwargs)


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """Decorator for a function that is written in nbgrad's: types among its arguments are asked about it first.

    Args:
        dispatcher: takes the function's arguments, returns those that may be of such a type.

    >>> import nbgrad
    >>> @nbgrad.overrides.wrap_torch_function(lambda x, y: (x, y))
    ... def mean_of(x, y):
    ...     return (x + y) / 2
    >>> mean_of(nbgrad.ones(1), nbgrad.zeros(1))
    tensor([0.5000])
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_function(*relevant):
                return handle_function(asking, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return asking

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a Tensor, or of a type that says what functions mean on it.

    >>> import nbgrad
    >>> nbgrad.overrides.is_tensor_like(nbgrad.ones(2)), nbgrad.overrides.is_tensor_like([1.0])
    (True, False)
    """
    return isinstance(inp, Tensor) or overrides_functions(type(inp))


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a function that ``__nbgrad_function__`` was given belongs to Tensor, and not to the package."""
    if func in functions_of.values() and getattr(import_module("nbgrad"), func.__name__, None) is func:
        return False
    return func in vars(Tensor).values() or getattr(func, "__name__", "") == "__get__"


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """What ``__nbgrad_function__`` can be given: the functions of the package, and the methods of Tensor beside them."""
    package = import_module("nbgrad")
    functions = [f for f in dict.fromkeys(functions_of.values()) if getattr(package, getattr(f, "__name__", ""), None) is f]
    methods = [f for f in dict.fromkeys(functions_of.values()) if f not in functions]
    return {package: functions, Tensor: methods}


def resolve_name(f: Callable) -> str | None:
    """Under which name a function is public; None for others.

    >>> import nbgrad
    >>> nbgrad.overrides.resolve_name(nbgrad.add), nbgrad.overrides.resolve_name(nbgrad.Tensor.add_)
    ('nbgrad.add', 'nbgrad.Tensor.add_')
    """
    name = getattr(f, "__name__", "")
    if getattr(import_module("nbgrad"), name, None) is f:
        return f"nbgrad.{name}"
    return f"nbgrad.Tensor.{name}" if vars(Tensor).get(name) is f else None


class ModePresence(Presence):
    """What stands for a mode in ``special``: the mode's own attributes are its author's."""

    rank = "overrides"


class FunctionMode:
    """Subclass it with ``__nbgrad_function__(self, func, types, args, kwargs)``: while active, all of this thread's calls go there.

    ``TorchFunctionMode`` is the same class, and ``__torch_function__`` another name of the method.

    Inside of that method the mode is off, so ``func(*args, **kwargs)`` does the work.

    >>> import nbgrad
    >>> class Count(nbgrad.overrides.FunctionMode):
    ...     calls = 0
    ...     def __nbgrad_function__(self, func, types, args, kwargs):
    ...         self.calls += 1
    ...         return func(*args, **kwargs)
    >>> with Count() as count:
    ...     y = nbgrad.ones(2) * 2 + 1
    >>> count.calls
    2
    """

    changes_functions = False  # whether the operands of custom Functions become what ``change`` makes of them

    def change(self, x: Any) -> Any:
        """What stands for an operand."""
        return x

    def __nbgrad_function__(self, func: Callable, types: tuple[type, ...], args: tuple, kwargs: dict) -> Any:
        """What a call means."""
        return NotImplemented

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if TORCHS in vars(cls):
            adopt_torch_name(cls)

    def __enter__(self) -> FunctionMode:
        _state.modes.append(self)
        special.append(presence_of(self))
        unusual.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        unusual.remove(self)
        special.remove(presence_of(self))
        _state.modes.remove(self)


def presence_of(mode: FunctionMode) -> ModePresence:
    """What stands for a mode in ``special``."""
    own = vars(mode)
    return own.get("_presence_") or own.setdefault("_presence_", ModePresence())


TorchFunctionMode = BaseTorchFunctionMode = FunctionMode


# ---- what a Tensor has beside its operations -----------------------------------------------------------------------


class Method:
    """Stands where an operation of the table stands in a Call: a method of Tensor that the table does not declare."""

    kind = batched = "method"
    operands, aliases = ("x",), ()
    node_name = integer_divisor = None
    product = tells_by_nan = False
    signature = inspect.Signature()

    def __init__(self, name: str):
        self.name = self.public = name

    def __repr__(self) -> str:
        return f"<method {self.name}>"


def interpreted_method(name: str, method: Callable) -> Callable:
    """A method that goes through the interpreters for tensors that need one."""
    pseudo: Any = Method(name)

    @functools.wraps(method)
    def call(x, *args, **kwargs):
        if x.layout.special:
            return interpret(Call(pseudo, (x,), {}, lambda plain: method(plain, *args, **kwargs)))
        return method(x, *args, **kwargs)

    def asked(x, *args, **kwargs):
        return interpret(Call(pseudo, (x,), {}, lambda plain: method(plain, *args, **kwargs)))

    CALLS[name] = call
    seen_methods[name] = call, functools.wraps(method)(asked)
    return call


def asking_method(method: Callable) -> Callable:
    """A method of subclasses that override functions, in the place of Tensor's: their ``__nbgrad_function__`` is asked about it."""

    @functools.wraps(method)
    def call(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if has_function(x):
            return handle_function(method, (x,), x, *args, **kwargs)
        return method(x, *args, **kwargs)

    return call


# Methods that are no operations and go through no interpreter. Plain tensors have them as they are: a pass pays nothing.
ASKING = ("backward", "requires_grad_", "retain_grad", "register_hook", "register_post_accumulate_grad_hook", "detach_")


OVERRIDING = "types that override functions"


def note_overriding() -> None:
    """Have passes and factories ask whether an argument overrides functions: from now on there may be one.

    It takes a microsecond of each, so a class of nbgrad's own that hardly a program uses says so when it is used.
    """
    if OVERRIDING not in unusual:
        unusual.append(OVERRIDING)


def prepare_subclass(cls: type) -> None:
    """Have the methods ``ASKING`` of a subclass that overrides functions ask it, where it has no others of its own."""
    if not vars(cls).get("_told_by_instances_", False):
        note_overriding()
    for name in ASKING:
        if getattr(cls, name) is vars(Tensor)[name]:
            setattr(cls, name, asking_method(vars(Tensor)[name]))


def install_overrides() -> None:
    """Hang the protocol on Tensor."""
    told_of_subclasses.append(prepare_subclass)
    members = {
        "__nbgrad_function__": classmethod(default_function),
        TORCHS: classmethod(default_torch_function),
        "as_subclass": as_subclass,
        "_make_subclass": staticmethod(make_subclass),
        "detach": interpreted_method("detach", vars(Tensor)["detach"]),
    }
    for name, member in members.items():
        setattr(Tensor, name, member)
    for name in (OWN, TORCHS):  # for ``super()``: what is computed from parameters is plain
        setattr(Parameter, name, function_on_plain)
    register("overrides", Overrides())
