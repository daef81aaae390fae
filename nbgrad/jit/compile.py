"""``compile``: a function whose calls are captured once, and are one native call from then on."""

from __future__ import annotations

import copy
import functools
from contextlib import contextmanager
from operator import is_
from threading import Lock
from typing import TYPE_CHECKING, Any, Callable, Iterator

from ..base import config
from ..base.collector import CollectorPause
from ..base.errors import ArgumentError, GraphError, NotSupportedError, RangeError, require_callable
from ..base.grad_mode import special
from ..modes.numbers import ITEMS
from ..tensors.storage import elsewhere
from ..tensors.tensor import native
from .arguments.keys import NONE, Request, requested
from .arguments.leaves import NUMBERS
from .arguments.structures import Foreign
from .compiled.autocast_regions import call_in_region, in_region_alone
from .compiled.capturing import Fixed
from .compiled.fallback import Fallback
from .compiled.handles import Handle, find_global, handle_of
from .compiled.hints import Hints
from .compiled.inference_calls import beside_inference_alone, call_in_inference, in_inference_alone
from .compiled.runs import MISSED, Run
from .compiled.special_modes import in_modes
from .compiled.variants import Variant
from .execution.costs import measured
from .guards.members import METHOD, is_module
from .nodes.rehearsals import rehearsing
from .state.capture_lock import CaptureLock
from .state.effects import Filling, Kept, Postponed, Raised
from .state.rebound_names import State

if TYPE_CHECKING:
    from .compiled.explain import Explanation

__all__ = ["Compiled", "compile"]

MOST_TRIED = 3  # further variants, one behind the other, before a call is looked at in Python
MOST_BOUND = 64  # objects without a namespace that have compiled methods, and live as long as these
MOST_POSTPONED = 2  # calls that run as they are, for what they make is there when the next one is captured


class Compiled(native.door, Fallback):  # type: ignore[name-defined]
    """A function that is captured and compiled when it is called.

    Attributes:
        fn: the function.
        fullgraph, limit: see ``compile``.
    """

    _comparable_ = True  # calls with those of the function: see checked_calls.py

    def __init__(self, fn: Callable, fullgraph: bool, limit: int):
        functools.update_wrapper(self, fn, updated=())
        self.fn, self.fullgraph, self.limit = fn, fullgraph, limit
        self._room_, self._name_ = CaptureLock(), f"{METHOD}{getattr(fn, '__qualname__', fn)} at {id(self):x}>"
        self._order_ = Lock()
        self.clear()

    def clear(self) -> None:
        """Forget what was captured."""
        self._variants_: dict[Any, list[Run]] = {}
        self._recent_: list[Run] = []
        self._begin_()
        self._fixed_: dict[Any, frozenset[int]] = {}
        self._taken_: dict[Any, frozenset[int]] = {}  # ints whose values it takes, by the structure of arguments
        self._postponed_: dict[Any, int] = {}
        self._count_, self._state_ = 0, State()
        self._regions_: dict[Any, Compiled] = {}
        self._bound_: dict[str, Method] = {}  # by identity: of objects without a namespace, which live as long; the latest last
        self._quick_: Callable = self._positional_
        self._hints_ = Hints(getattr(self.fn, "__name__", "the function"))

    def _captured_parts(self) -> tuple[Callable]:
        """What programs that call it depend on."""
        return (self.fn,)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """As a method: one of its own for every object, which that keeps, for it must not live longer."""
        if owner is None:
            return self
        held, key = getattr(owner, "__dict__", None), self._name_
        if type(held) is not dict:
            held, key = self._bound_, str(id(owner))
        found = held.get(key)
        if found is None or found._owner_ is not owner or found._origin_ is not self:  # of a copy, perhaps
            found = Method(self, owner, kind)
            if not in_modes():
                held[key] = found
                if held is self._bound_ and len(held) > MOST_BOUND:
                    held.pop(next(iter(tuple(held))), None)
        return found

    def __reduce__(self) -> Any:
        """By its name, if it is found by that; else as the same function without what was captured."""
        if find_global(self) is self:
            return self.__qualname__
        return Compiled, (self.fn, self.fullgraph, self.limit)

    def __deepcopy__(self, memo: dict) -> Compiled:
        fn = copy.deepcopy(self.fn, memo)
        return self if fn is self.fn else self._made_of_(fn)

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.fn, '__name__', self.fn)!s}: {self._count_} variants>"

    def source(self) -> str:
        """The graphs that were captured, as text, each with its steps: which calls share a loop, which are launches of their own.

        >>> import nbgrad
        >>> f = nbgrad.compile(lambda x: (x * 2).exp())
        >>> y = f(nbgrad.ones(2))
        >>> print(f.source().splitlines()[-1])
        #   loop     v0=mul, v1=exp over float32[2]; reads x; writes v1
        """
        from .compiled.explain import source_of  # benchmarks/test_startup.py

        return source_of(self)

    def backward_source(self) -> str:
        """The graphs of the backward passes that went through results, as text, for each variant.

        >>> import nbgrad
        >>> f = nbgrad.compile(lambda x: (x * 2).exp().sum())
        >>> f(nbgrad.ones(2, requires_grad=True)).backward()
        >>> "f_backward" in f.backward_source() or "graph_backward" in f.backward_source()
        True
        """
        from .compiled.explain import backward_source_of

        return backward_source_of(self)

    def explain(self) -> Explanation:
        """What was captured, what it depends on, what it costs, and what could not be captured, and why.

        >>> import nbgrad
        >>> f = nbgrad.compile(lambda x: (x * 2).exp())
        >>> y = f(nbgrad.ones(2))
        >>> f.explain().variants[0].bytes_moved
        16
        """
        from .compiled.explain import explanation_of

        return explanation_of(self)

    @property
    def variants(self) -> list[Run]:
        """What was captured so far."""
        own = [variant for group in self._variants_.values() for variant in group]
        return own + [variant for each in self._regions_.values() for variant in each.variants]

    def _made_of_(self, fn: Callable) -> Compiled:
        """Another function, compiled alike."""
        return Compiled(fn, self.fullgraph, self.limit)

    def _positional_(self, *args: Any) -> Any:
        return self._dispatch_(args, {})

    def _dispatch_(self, args: tuple, kwargs: dict) -> Any:
        """A call that the quick way does not know."""
        self._room_.await_capture()
        if special and in_region_alone() and not rehearsing():
            return call_in_region(self, args, kwargs)
        if special and in_inference_alone() and not rehearsing():
            return call_in_inference(self, args, kwargs)
        if self._rest_ or in_modes() or rehearsing():
            self._rest_ -= self._rest_ > 0
            known = self._rest_ == 0 and beside_inference_alone() and not rehearsing()
            made = self._known_(args, kwargs) if known else MISSED
            return self.fn(*args, **kwargs) if made is MISSED else made
        try:
            request = requested(args, kwargs, self.fn, self._taken_, self._fixed_)
        except Foreign as error:
            return self._as_it_is_(error, args, kwargs)
        if any(x.layout.special for x in request.tensors):
            return self.fn(*args, **kwargs)
        if self._broken_ and (request.loose in self._broken_ or request.key in self._broken_):
            if self.fullgraph:
                raise GraphError(self._told_(self._broken_.get(request.key) or self._broken_[request.loose]))
            return self._plainly_(args, kwargs)
        group = self._variants_.get(request.key, [])
        variant, made = self._found_(group, request)
        self._looks_ += 1
        if variant is not None:
            return self._next_time_(variant, group, request, made)
        if self._failures_ >= self.limit or self._count_ >= self.limit and not self._make_room_(group, request.key):
            return self._eagerly_(group, request.key, args, kwargs)
        return self._first_time_(group, request)

    def _known_(self, args: tuple, kwargs: dict) -> Any:
        """What a variant that is there makes of a call, while other threads are in inference mode and nothing can be captured."""
        try:
            request = requested(args, kwargs, self.fn, self._taken_, self._fixed_)
        except Foreign:
            return MISSED
        if any(x.layout.special for x in request.tensors):
            return MISSED
        return self._found_(self._variants_.get(request.key, []), request)[1]

    def _found_(self, group: list[Run], request: Request) -> tuple[Run | None, Any]:
        """The variant that a call is for, and what it makes of it; None and ``MISSED`` without one.

        Native code finds out whether a variant is meant; where it finds something unexpected, names are looked at one by one.
        """
        for variant in group if not (config.CHECK and self._comparable_) else ():
            if (made := variant.tried(request.inputs)) is not MISSED:
                return variant, made
        for variant in group:
            if variant.fits(request.inputs) and (made := self._run_(variant, request)) is not MISSED:
                return variant, made
        return None, MISSED

    def _run_(self, variant: Run, request: Request) -> Any:
        """What a variant makes of a call; ``MISSED`` where the values that it asks for are others."""
        if not (config.CHECK and self._comparable_):
            return variant(request.inputs)
        from .compiled.checked_calls import checked

        return checked(variant, self.fn, request.leaves, request.tree, MISSED)

    def _first_time_(self, group: list[Run], request: Request) -> Any:
        """A call that no variant is for: it is captured, if a graph can hold it."""
        args, kwargs, known, variant = request.args, request.kwargs, self._count_, None
        with self._capturing_() as waited:
            if waited and self._count_ > known:  # by another thread, and perhaps this
                return self._dispatch_(args, kwargs)
            try:
                variant = self._captured_(request)
            except Fixed as error:
                if self._take_wholes_(error.leaves, request):
                    return self._dispatch_(args, kwargs)
                return self._again_(request.loose, request.fixed | error.leaves, args, kwargs)
            except Exception as error:  # of what takes floats alone, perhaps
                if not request.numbers or isinstance(error, Kept):
                    raise self._public_(error) from error.__cause__
                return self._again_(request.loose, request.fixed | request.numbers, args, kwargs)
            if variant is not None:
                made = self._run_(variant, request)
                if made is MISSED:  # what it asks for is of that one call, which runs as it is
                    variant.before.put_back()
                del variant.before
                group = self._variants_.setdefault(request.key, group)
                group.append(variant)
                self._count_ += 1
                self._hints_.note(variant.graph, [each.graph for each in group[:-1] if each.asking])
        if variant is None:
            return self._uncaptured_(request.key, args, kwargs)
        return self._next_time_(variant, group, request, made)

    def _next_time_(self, variant: Run, group: list[Run], request: Request, made: Any) -> Any:
        """What a variant has ``made`` of a call; such a call begins with it from now on, natively if it can be compared there."""
        self._idle_, variant.seen = 0, self._looks_
        args, inputs = request.args, request.inputs
        # Native code compares neither which arguments share memory, nor what is in lists and dicts.
        apart = request.loose[2] is None and not elsewhere
        flat = not request.kwargs and len(args) == len(inputs) and all(map(is_, args, inputs))
        if apart and flat and not variant.once and not (config.CHECK and self._comparable_):
            self._begin_with_(variant, [x for x in group if x.asking] if variant.asking else [])
        return self.fn(*args, **request.kwargs) if made is MISSED else made

    def _begin_with_(self, variant: Run, asking: list[Run]) -> None:
        """Calls begin with a variant, and go on with those ``asking`` for other values, and those that calls began with before.

        Each finds out natively whether it is meant: of calls with two shapes in turn, neither is looked at in Python.
        """
        with self._order_:  # two orders at once might lead in a circle
            others = [x for x in dict.fromkeys((*asking, *self._recent_)) if x is not variant][:MOST_TRIED]
            quick = self._positional_
            for each in reversed(others):
                quick = each.entry(quick)
            self._quick_, self._recent_ = variant.entry(quick), [variant, *others]

    def _take_wholes_(self, fixed: frozenset[int], request: Request) -> bool:
        """Take ints among these leaves by their values, in all calls of this structure; whether there are any."""
        wholes = {k for k in fixed if k != ITEMS and request.loose[1][k] == NUMBERS[int]}
        if wholes:
            self._taken_[request.loose[0]] = self._taken_.get(request.loose[0], NONE) | wholes
        return bool(wholes)

    @contextmanager
    def _capturing_(self) -> Iterator[bool]:
        """While this thread captures: other threads wait, whether they have called before. Whether there was another one."""
        before = self._quick_
        with self._room_.capturing() as waited, self._state_.alone():
            self._quick_ = self._positional_
            try:
                yield waited
            finally:
                if self._quick_ == self._positional_:
                    self._quick_ = before

    def _again_(self, loose: Any, fixed: frozenset[int], args: tuple, kwargs: dict) -> Any:
        """The call, where the values of some numbers are taken, from now on if that helps."""
        before, broken = self._fixed_.get(loose), len(self._broken_)
        self._fixed_[loose] = fixed
        try:
            made = self._dispatch_(args, kwargs)
        except Exception:
            self._forget_(loose, before)
            raise
        if len(self._broken_) > broken:
            self._broken_[loose] = next(reversed(self._broken_.values()))
            self._forget_(loose, before)
        return made

    def _forget_(self, loose: Any, before: frozenset[int] | None) -> None:
        """Take the values of no more numbers than before."""
        self._fixed_.pop(loose, None)
        if before is not None:
            self._fixed_[loose] = before

    def _captured_(self, request: Request) -> Variant | None:
        """The variant of a call; None where a graph cannot hold it.

        Raises:
            Fixed: the function takes the values of numbers. GraphError: of which there are some, and a graph cannot hold it.
        """
        numbers = request.numbers
        try:
            with measured() as cost, CollectorPause():
                made = Variant(self.fn, request.leaves, request.tree, numbers, ITEMS not in request.fixed, self._state_)
            made.cost = cost
            return made
        except Fixed:
            raise
        except GraphError as error:
            if isinstance(error, Filling):
                return None
            if isinstance(error, Raised) and not numbers:
                self._doubts_[request.key] = str(error)
                return None
            if isinstance(error, Postponed) and self._postponed_.setdefault(request.loose, 0) < MOST_POSTPONED:
                self._postponed_[request.loose] += 1
                return None
            if self.fullgraph or numbers and not isinstance(error, Kept):
                raise
            self._break_(request.key, str(error))
            return None


class Method(Compiled):
    """A compiled method of one object.

    Attributes:
        _origin_: what is compiled in the class; ``_owner_``: the object.
    """

    def __init__(self, origin: Compiled, owner: Any, kind: type | None):
        super().__init__(origin.fn.__get__(owner, kind), origin.fullgraph, origin.limit)
        self._origin_, self._owner_, self._room_ = origin, owner, origin._room_

    def __reduce__(self) -> Any:
        return getattr, (self._owner_, self.__name__)

    def __deepcopy__(self, memo: dict) -> Any:
        return self._origin_.__get__(copy.deepcopy(self._owner_, memo))


def compile(
    fn: Callable | None = None,
    *,
    fullgraph: bool = False,
    exact: bool = True,
    limit: int = 8,
    model: Callable | None = None,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
) -> Any:
    """A function that computes the same, as one native call; of a module, a module.

    Its first call with arguments of certain layouts runs the function once on copies, to see what it computes; that becomes a
    graph, and the graph a list of kernels. Later calls run these. A function that calls ``grad``, ``backward``, ``vmap`` or other
    transforms is captured with what these do.

    Args:
        fn: the function; without it, ``compile`` is a decorator that waits for one.
        fullgraph: raise an error where a graph cannot hold the function, which runs as it is otherwise.
        limit: how many variants, for other layouts and other values of what the function depends on, there may be at a time. Calls
            that are new behind it run as they are; if they go on, they take the place of a variant that is no longer used.
        model, recompile_limit: torch's names of ``fn`` and ``limit``.
        dynamic, backend, mode, options: a choice among torch's compilers; here there is one.
        exact: without effect, and best left out: every operation is rounded as it is rounded alone, whatever it says.
        disable: return the function itself.

    Raises:
        ArgumentError, RangeError: ``fn`` is no function, ``limit`` no count. GraphError: ``fullgraph``, when it is called.
        NotSupportedError: ``backend`` is a function, which would take torch's graphs.

    >>> import nbgrad
    >>> @nbgrad.jit.compile
    ... def slope(x):
    ...     return nbgrad.grad((x * x).sum(), x)[0]
    >>> slope(nbgrad.tensor([1.0, 2.0], requires_grad=True))
    tensor([2., 4.])
    """
    fn, limit = fn if model is None else model, limit if recompile_limit is None else recompile_limit
    if callable(backend):
        raise NotSupportedError("compile: backend is a function, which would take torch's graphs. Hint: leave it out.")
    if fn is None:
        return functools.partial(compile, fullgraph=fullgraph, limit=limit, disable=disable)
    require_callable("compile", fn)
    if isinstance(fn, Handle):
        fn = fn._compiled_.fn
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise ArgumentError(f"compile: limit must be an int, got {type(limit).__name__}.")
    if limit < 0:
        raise RangeError(f"compile: limit is {limit}, expected a number of variants >= 0.")
    if disable:
        return fn
    made = Compiled(fn, fullgraph, limit)
    return handle_of(made) if is_module(fn) else made
