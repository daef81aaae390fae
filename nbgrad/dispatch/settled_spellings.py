"""Composites that only spell other operations: which operations those are is found once, and then read from a table.

NOTE [Settled spellings]: ``x.flatten(1)`` is ``x.view_shape(shape)``, with a shape that follows from the layout of ``x`` and from
the argument. There are three kinds; a composite says in its declaration (``spelling``) which one it is of.
  True      the formula is run once on an ``AbstractTensor``, which has a layout and no elements, and which notes the methods that
            are called on it. The next call with this layout and these arguments repeats them without running the formula.
  "memory"  the same of a formula that also asks where the operand lies in its memory.
  "steps"   formulas of several operands, which ask for the shapes of results: ``traced`` runs one on ``NotedTensor`` objects,
            which hold tensors and note what is done to them.
A formula that asks for more than these objects know, as for an element, is run in every call.
"""

from __future__ import annotations

from functools import cache, partial, wraps
from typing import Any, Callable

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.grad_mode import mode, special
from ..ops.core import OPS, Composite, Movement
from ..ops.kinds import explained, is_strange, refuse_arguments
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .arguments import argument_text, called_again, default_values, other_names, other_names_lines
from .generated import late_function
from .movements import maker_of_several, view_layout, viewer

__all__ = ["settled", "traced"]


class AbstractTensor:
    """A tensor without elements: it answers questions about its layout and notes the methods that are called on it.

    Attributes:
        known: the layout; None for most results, of which none is known.
        steps: the methods so far, as ``(name, arguments, named arguments, layout before)``.
    """

    __slots__ = ("known", "steps", "_storage_", "_offset_")
    _storage_: Any
    _offset_: int

    def __init__(self, layout: Layout | None, steps: tuple = ()):
        self.known, self.steps = layout, steps

    @classmethod
    def of(cls, x: Tensor) -> AbstractTensor:
        """The same for a tensor whose place in memory may be asked for."""
        abstract = cls(x.layout)
        abstract._storage_, abstract._offset_ = x._storage_, x._offset_
        return abstract

    @property
    def layout(self) -> Layout:
        """The layout.

        Raises:
            LookupError: it is not known.
        """
        if self.known is None:
            raise LookupError("no layout is known of this result.")
        return self.known

    shape = property(lambda self: self.layout.shape)
    ndim = property(lambda self: self.layout.ndim)
    dtype = property(lambda self: self.layout.dtype)
    itemsize = property(lambda self: self.layout.dtype.itemsize)

    def storage_offset(self) -> int:
        """Elements before the first one."""
        return self._offset_ // self.itemsize

    def numel(self) -> int:
        """How many elements."""
        return self.layout.numel

    def is_complex(self) -> bool:
        """Whether the elements are complex."""
        return self.layout.dtype.is_complex

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("_"):
            raise AttributeError(name)
        op = OPS.get(name)
        if type(op) is Composite:
            formula = op.formula
            return lambda *args, **named: formula(self, *args, **named)
        if type(op) is Movement and op.multiple:
            return lambda *args, **named: AbstractTensors((*self.steps, (name, args, named, self.known)))
        return lambda *args, **named: AbstractTensor(self.layout_after(op, args), (*self.steps, (name, args, named, self.known)))

    def __bool__(self) -> bool:
        raise LookupError("what a result is like is not known.")

    def layout_after(self, op: Any, args: tuple) -> Layout | None:
        """The layout of a method's result; None unless it is a view or a row-major copy."""
        if type(op) is Movement and not op.multiple and self.known is not None:
            shape, strides, _ = op.formula(self.known, *completed(op, args))
            return view_layout(op, self.known, shape, strides, completed(op, args))
        return self.known.like() if self.known is not None and op is OPS["contiguous_copy"] else None


class AbstractTensors(AbstractTensor):
    """The results of a movement that gives several, ``chunk`` for example. A formula may return them, or copies; no more."""

    __slots__ = ()

    def __init__(self, steps: tuple):
        super().__init__(None, steps)

    def __getattr__(self, name: str) -> Callable:
        raise AttributeError(name)

    def contiguous_copy(self) -> AbstractTensors:
        """Row-major copies of all."""
        return AbstractTensors((*self.steps, (COPIES, (), {}, None)))


COPIES = "contiguous_copy of each"


def copies_of(views: tuple) -> tuple:
    """Row-major copies of several tensors."""
    return tuple([x.contiguous_copy() for x in views])


def equivalent_call(op: Composite, x: Tensor, args: tuple) -> tuple | None:
    """``(function, arguments)``: the call is ``function(x, *arguments)``; None where the formula does more than spell others."""
    try:
        made = op.formula(AbstractTensor.of(x) if op.spelling == MEMORY else AbstractTensor(x.layout), *args)
        each = [equivalent_steps(one) for one in made] if type(made) is tuple else [equivalent_steps(made)]
    except Exception:  # the formula does more, or the arguments are wrong: the call itself says so
        return None
    if not each or None in each:
        return None
    return (call_each, tuple(each)) if type(made) is tuple else each[0]


def call_each(x: Tensor, *each: tuple) -> tuple:
    """The results of several functions of one tensor."""
    return tuple([function(x, *rest) for function, rest in each])


def call_in_turn(x: Tensor, *steps: tuple) -> Tensor:
    """The result of several functions, each called on the result of the one before."""
    for function, rest in steps:
        x = function(x, *rest)
    return x


def identity(x: Tensor) -> Tensor:
    """The operand."""
    return x


def equivalent_steps(made: Any) -> tuple | None:
    """The methods that were noted as one ``(function, arguments)``; None where they cannot be repeated."""
    if not isinstance(made, AbstractTensor):
        return None
    steps: list[tuple] = []
    for name, args, named, layout in made.steps:
        function = copies_of if name is COPIES else vars(Tensor).get(name)
        if named or not callable(function):
            return None
        steps.append((layout is not None and movement_of(name, layout, args)) or (function, args))
    if len(steps) == 2:
        (first, given), (second, rest) = steps
        return (lambda x: second(first(x, *given), *rest)), ()
    if len(steps) < 2:
        return steps[0] if steps else (identity, ())
    return call_in_turn, tuple(steps)


def movement_of(name: str, layout: Layout, args: tuple) -> tuple | None:
    """``(function, ())`` for a movement: its plan is looked up here, once. None of any other operation."""
    op: Any = OPS.get(name)
    if type(op) is not Movement:
        return None
    given = completed(op, args)
    plan, views = CALLS[name].plans[(layout, *given) if given else layout], viewing(op)
    return (lambda x: views(x, plan)) if op.multiple else (lambda x: views(plan, x, mode.enabled)), ()


def completed(op: Movement, args: tuple) -> tuple:
    """All attributes of a movement: those given, then defaults."""
    return (*args, *[p.default for p in list(op.signature.parameters.values())[1 + len(args) :]])


@cache
def viewing(op: Movement) -> Callable:
    """The function that makes the view, or the views, of a movement by a plan."""
    return maker_of_several(op) if op.multiple else viewer(op)


MEMORY = "memory"
# Part of the key for spelling="memory": the operand's offset and the size of its memory.
PLACE = "{0}._offset_, {0}._storage_.array.nbytes"
# ``strange``: True and 1.0 equal 1, and would find the entry of 1 in the table.
CALL_TEXT = """def call({parameters}):
{spelling}    if special{strange}:
        try: return formula({passed})
        except (AttributeError, TypeError, ValueError) as error:
            refuse(({passed}), error)
            raise
    try: function, rest = table[{key}]
    except (AttributeError, KeyError, TypeError): return settle({passed})
    return function({first}, *rest)
"""


def settled(op: Composite) -> Callable:
    """The function of a composite with ``spelling=True`` or ``"memory"``: NOTE [Settled spellings]."""
    formula, parameters = op.formula, list(op.signature.parameters.values())
    told, table = explained(formula, op), dict[Any, Any]()

    def settle(x, *args):
        out = told(x, *args)
        if not any(map(is_strange, [value for value in args if type(value) is not int])) and isinstance(x, Tensor):
            key = (x.layout, *args) if args else x.layout
            if op.spelling == MEMORY:
                key = (x.layout, *args, x._offset_, x._storage_.array.nbytes)
            if not x.layout.special:
                keep(table, key, equivalent_call(op, x, args) or (formula, args))
        return out

    if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
        return of_any_arguments(op, settle, table)
    first, *names = [p.name for p in parameters]
    assert first not in ("table", "settle", "formula", "is_strange")

    def text() -> str:
        passed = ", ".join([first, *names]) + "," * (not names)
        strange = " or ".join(f"{n}.__class__ is not int and is_strange({n})" for n in names)
        key = ", ".join([f"{first}.layout", *names, *([PLACE.format(first)] if op.spelling == MEMORY else [])])
        return CALL_TEXT.format(
            parameters=argument_text(op, "_defaults", other_names(op)),
            spelling="".join(line + "\n" for line in other_names_lines(op, [first, *names])),
            key=key,
            passed=passed,
            first=first,
            strange=f" or {strange}" if names else "",
        )

    scope = {"table": table, "settle": settle, "formula": formula, "is_strange": is_strange, "special": special}
    scope["called_again"] = partial(called_again, op)
    scope["refuse"] = lambda given, error: refuse_arguments(op, given, {}, error)
    call = late_function(f"{op.name} spelling", scope, text, lambda: {"_defaults": default_values(op)})
    call.__name__ = call.__qualname__ = formula.__name__
    call.__signature__, call.__wrapped__ = op.signature, formula
    return call


def of_any_arguments(op: Composite, settle: Callable, table: dict) -> Callable:
    """The same for a formula that takes any number of arguments."""
    formula = op.formula

    @wraps(formula)
    def call(x, *args, **named):
        for value in args:
            if type(value) is not int and is_strange(value):
                break
        else:
            if not named and not special:
                try:
                    function, rest = table[(x.layout, *args) if args else x.layout]
                except (AttributeError, KeyError, TypeError):
                    return settle(x, *args)
                return function(x, *rest)
        try:
            return formula(x, *args, **named)
        except (AttributeError, TypeError, ValueError) as error:
            refuse_arguments(op, (x, *args), named, error)
            raise

    return call


# ---- of several operands -------------------------------------------------------------------------------------------


class NotedTensor:
    """A tensor whose methods are noted while a formula is traced; operands and results are of this class.

    Attributes:
        tensor: the tensor.
        place: its number among all tensors of the formula: operands first, then results in their order.
        log: the steps so far, one list for all: ``(function, places of the operands, other arguments)``.
        count: how many tensors there are, as a list of one number that all share.
    """

    __slots__ = ("tensor", "place", "log", "count")

    def __init__(self, tensor: Tensor, log: list, count: list):
        self.tensor, self.log, self.count, self.place = tensor, log, count, count[0]
        count[0] += 1

    layout = property(lambda self: self.tensor.layout)
    shape = property(lambda self: self.tensor.layout.shape)
    ndim = property(lambda self: self.tensor.layout.ndim)
    dtype = property(lambda self: self.tensor.layout.dtype)

    def numel(self) -> int:
        """How many elements."""
        return self.tensor.layout.numel

    def __bool__(self) -> bool:
        raise LookupError("what the elements are is not known.")

    def __getattr__(self, name: str) -> Callable:
        op = OPS.get(name)
        if name.startswith("_") or name.endswith("_") or op is None:
            raise AttributeError(name)
        if type(op) is Composite and not op.spelling:
            formula = op.formula
            return lambda *args, **named: formula(self, *args, **named)
        function = vars(Tensor)[name]
        return lambda *args: self.noted(function, args)

    def noted(self, function: Callable, args: tuple) -> NotedTensor:
        """Call a function whose operands are the first arguments, and note it."""
        operands = [self, *[x for x in args if type(x) is NotedTensor]]
        rest = args[len(operands) - 1 :]
        if any(type(x) is NotedTensor for x in rest):
            raise LookupError("a tensor stands behind other arguments.")
        result = function(*[x.tensor for x in operands], *rest)
        if not isinstance(result, Tensor):
            raise LookupError("the result is no tensor.")
        self.log.append((function, tuple([x.place for x in operands]), rest))
        return NotedTensor(result, self.log, self.count)

    def __add__(self, other: Any) -> NotedTensor:
        return self.noted(CALLS["add"], (other,))

    def __mul__(self, other: Any) -> NotedTensor:
        return self.noted(CALLS["mul"], (other,))

    def __matmul__(self, other: Any) -> NotedTensor:
        return self.noted(CALLS["matmul"], (other,))


def operands_in(args: tuple) -> list:
    """The tensors among arguments, in their order, and those in lists and tuples of them."""
    return [x for each in args for x in (each if type(each) is tuple or type(each) is list else (each,)) if isinstance(x, Tensor)]


def call_key(args: tuple) -> tuple:
    """The key of a traced call: layouts of tensors, and other arguments with their types.

    Raises:
        LookupError: of a marked layout, or an argument of another kind.
    """
    parts: list = []
    for x in args:
        kind = type(x)
        if kind is int or kind is str:
            parts += (kind, x)
        elif kind is tuple or kind is list:
            parts += (kind, call_key(x))
        elif isinstance(x, Tensor):
            layout = x.layout
            if layout.special:
                raise LookupError("an interpreter is asked.")
            parts.append(layout)
        elif kind is float or kind is bool or x is None:
            parts += (kind, repr(x))
        else:
            raise LookupError("arguments of another kind.")
    return tuple(parts)


def traced(op: Composite) -> Callable:
    """The function of a composite with ``spelling="steps"``: NOTE [Settled spellings].

    The first call of a kind runs the formula, the second traces it, later ones repeat the steps.
    """
    formula = op.formula
    table: dict = {}

    @wraps(formula)
    def call(*args, **named):
        if special or named:
            return formula(*args, **named)
        try:
            key = call_key(args)
            found = table.get(key, NEW)
        except LookupError:
            return formula(*args)
        if found is None:
            return formula(*args)
        if found is NEW:
            out = formula(*args)
            keep(table, key, SEEN)
            return out
        if found is SEEN:
            program, out = trace(formula, args)
            keep(table, key, program)
            return out
        values = operands_in(args)
        steps, results = found
        for function, places, rest in steps:
            values.append(function(*[values[k] for k in places], *rest))
        return values[results] if type(results) is int else tuple([values[k] for k in results])

    return call


NEW, SEEN = ("new",), ("seen",)


def trace(formula: Callable, args: tuple) -> tuple:
    """Run a formula on noted tensors.

    Returns:
        ``((steps, places of the results), result)``; None for the first of these where the steps cannot be repeated.
    """
    log: list = []
    count = [0]
    watched = [
        NotedTensor(x, log, count)
        if isinstance(x, Tensor)
        else type(x)([NotedTensor(y, log, count) if isinstance(y, Tensor) else y for y in x])
        if type(x) in (tuple, list)
        else x
        for x in args
    ]
    try:
        out = formula(*watched)
        if type(out) is NotedTensor:
            return (tuple(log), out.place), out.tensor
        if type(out) is tuple and all(type(x) is NotedTensor for x in out):
            return (tuple(log), tuple([x.place for x in out])), tuple([x.tensor for x in out])
    except Exception:  # of another kind of formula, or an error that the call itself makes
        pass
    return None, formula(*args)
