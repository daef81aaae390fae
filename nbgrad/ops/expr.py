"""Scalar expressions: the language in which an operation's formulas are written.

A formula is a plain lambda over operands. Run on ``Expr`` symbols it yields an expression from which kernels are
generated; run on tensors (or on anything else that has ``_apply``) it computes. ``scalar`` holds the functions that a
formula may call; each belongs to the operation of the same name, so that an expression can also be *evaluated* on
tensors, node by node, which is how derivatives of any order come about.

NOTE [Interning]: equal expressions are one object. A formula that uses a subexpression 2^18 times is still a small
graph, kernels get one local variable for a shared node, and "is this partial the constant 1" is a comparison by identity.
Constants are keyed by type and bits, so that -0.0 and 0.0, or 1 and True, stay apart.

NOTE [The branch not taken]: a kernel computes both sides of a ``where`` and chooses: what the other side came to is gone.
Computed by operations that are differentiated in turn, it is not: its cotangent, 0, meets an infinite derivative there, and
0 * inf is NaN. What is to be differentiated is therefore ``guarded``: where a side is not taken, its operands are numbers at
which it is smooth.
"""

from __future__ import annotations

import struct
from cmath import isfinite
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, Iterable
from weakref import WeakValueDictionary

from ..base.errors import ArgumentError

__all__ = [
    "Expr",
    "Operators",
    "MIRRORED",
    "OPERATORS",
    "OPERATIONS",
    "scalar",
    "symbol",
    "constant",
    "operation",
    "times",
    "conjugate",
    "plus",
    "guarded",
    "is_multiple",
    "evaluate",
    "ONE",
    "ZERO",
]

# Python operator -> operation. Tensor, Expr and every later interpreter take their operators from this one table.
OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "matmul": "matmul",
}
UNARY_OPERATORS = {"neg": "neg", "abs": "abs", "invert": "bitwise_not", "pos": "positive"}
COMPARISONS = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne"}
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}  # of the operands in the other order
# Operations whose result is a truth value whatever the operands are; declarations enter them.
PREDICATES: set[str] = set()


class Operators:
    """Python operators in terms of ``self._apply(operation, operands)``."""

    __slots__ = ()
    __hash__ = object.__hash__  # == is an operation here; identity is equality

    if TYPE_CHECKING:  # the loops below make them from the tables
        _made: Any = None
        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _made
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = _made
        __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = _made
        __neg__ = __abs__ = __invert__ = __pos__ = __lt__ = __le__ = __gt__ = __ge__ = _made

    def _apply(self, name: str, operands: tuple) -> Any:
        raise NotImplementedError


def _binary(name, swapped):
    if swapped:
        return lambda self, other: self._apply(name, (other, self))
    return lambda self, other: self._apply(name, (self, other))


for _symbol, _name in OPERATORS.items():
    setattr(Operators, f"__{_symbol}__", _binary(_name, False))
    setattr(Operators, f"__r{_symbol}__", _binary(_name, True))
for _symbol, _name in UNARY_OPERATORS.items():
    setattr(Operators, f"__{_symbol}__", (lambda name: lambda self: self._apply(name, (self,)))(_name))
for _symbol in COMPARISONS:
    setattr(Operators, f"__{_symbol}__", _binary(_symbol, False))


class Expr(Operators):
    """A symbol, a constant or an operation on expressions; immutable and interned.

    Attributes:
        op: ``"symbol"``, ``"constant"``, or the name of an operation.
        args: operands; the name of a symbol; the value of a constant.
        boolean: whether the value is a truth value rather than a number of the kernel's dtype.
    """

    __slots__ = ("op", "args", "boolean", "__weakref__")
    op: str
    args: tuple
    boolean: bool

    def _apply(self, name: str, operands: tuple) -> Expr:
        return operation(name, *operands)

    def __bool__(self) -> bool:
        raise ArgumentError(
            "a formula asks for a truth value, and symbols have none. Hint: scalar.where(condition, x, y), & for and, | for or."
        )

    def symbols(self) -> set[str]:
        """Names of the symbols that the value depends on: for a partial derivative, what must be saved."""
        return {e.args[0] for e in postorder([self]) if e.op == "symbol"}

    def __repr__(self) -> str:
        if self.op in ("symbol", "constant"):
            return str(self.args[0])
        return f"{self.op}({', '.join(map(repr, self.args))})"


_interned: WeakValueDictionary = WeakValueDictionary()


def _intern(key: tuple, op: str, args: tuple, boolean: bool) -> Expr:
    found = _interned.get(key)
    if found is None:
        found = Expr()
        found.op, found.args, found.boolean = op, args, boolean
        found = _interned.setdefault(key, found)
    return found


def symbol(name: str, boolean: bool = False) -> Expr:
    """The variable ``name``."""
    return _intern(("symbol", name, boolean), "symbol", (name,), boolean)


def constant(value: bool | int | float | complex) -> Expr:
    """A number, in the kernel's dtype."""
    bits = struct.pack("dd", value.real, value.imag) if isinstance(value, (float, complex)) else value
    return _intern(("constant", type(value), bits), "constant", (value,), type(value) is bool)


def operation(name: str, *operands: Any) -> Expr:
    """The operation ``name`` on expressions and numbers."""
    args = tuple(a if type(a) is Expr else constant(a) for a in operands)
    boolean = name in PREDICATES or (name.startswith("bitwise_") and all(a.boolean for a in args))
    if name == "where":
        boolean = args[1].boolean and args[2].boolean
    # Expr has no __eq__ of its own: identity is equality here, so a tuple of operands is a sound key.
    return _intern((name, args), name, args, boolean)


ONE, ZERO = constant(1.0), constant(0.0)


# By class: the operations of its objects, by name. A step of a composite on tensors goes there at once.
OPERATIONS: dict[type, dict[str, Callable]] = {}


class _Scalar:
    """``scalar.tanh(x)``: the operation ``tanh`` on whatever ``x`` is: an Expr, a Tensor, a Value."""

    def __getattr__(self, name: str) -> Callable:
        def call(*operands):
            known = OPERATIONS.get(type(operands[0]))
            if known is not None:
                return known[name](*operands)
            for operand in operands:
                if hasattr(operand, "_apply"):
                    return operand._apply(name, operands)
            raise TypeError(f"{name}: expected an expression or a tensor among {operands!r}.")

        call.__name__ = name
        setattr(self, name, call)
        return call


scalar = _Scalar()


def number(expr: Expr) -> Any:
    """The value of a constant, else None."""
    return expr.args[0] if expr.op == "constant" else None


def times(g: Expr, partial: Expr) -> Expr:
    """``g * partial``, arranged so that nothing undefined leaks in.

    A factor 1 disappears; a reciprocal becomes a division (one rounding); a ``where`` is moved outside, so that the
    branch not taken contributes exactly 0 even where ``g`` is infinite. Of ``x / y / y`` both quotients are taken first: g / y is
    what x gets, x / y the result, so a fused loop has them (benchmarks/test_graphs.py, layer norm), and g * x cannot overflow.
    """
    value = number(partial)
    if value == 0:
        return ZERO
    if value == 1:
        return g
    if value == -1:
        return -g
    if partial.op == "where":
        condition, yes, no = partial.args
        return scalar.where(condition, times(g, yes), times(g, no))
    if partial.op == "neg":
        return -times(g, partial.args[0])
    if partial.op == "div":
        numerator, divisor = partial.args
        if numerator.op == "div" and numerator.args[1] is divisor:
            return (g / divisor) * numerator
        return times(g, numerator) / divisor
    return g * partial


def conjugate(partial: Expr) -> Expr:
    """The complex conjugate of a partial derivative, with the arrangement that ``times`` looks for left outside."""
    if partial.op == "constant":
        return constant(partial.args[0].conjugate()) if isinstance(partial.args[0], complex) else partial
    if partial.op == "where":
        condition, yes, no = partial.args
        return scalar.where(condition, conjugate(yes), conjugate(no))
    if partial.op in ("neg", "div"):
        return operation(partial.op, *map(conjugate, partial.args))
    return scalar.conj_physical(partial)


def plus(terms: Iterable[Expr]) -> Expr:
    """The sum of ``terms``; exact zeros are dropped."""
    total = None
    for term in terms:
        if term is not ZERO:
            total = term if total is None else total + term
    return ZERO if total is None else total


def postorder(roots: Iterable[Expr]) -> list[Expr]:
    """Every node below ``roots`` once, operands first; iterative, so that depth is no limit."""
    order, seen, stack = [], set(), [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if node.op not in ("symbol", "constant"):
                stack.extend((arg, False) for arg in reversed(node.args))
    return order


# Inside of the domain of every function that has one: logarithms, roots, inverse sines, odds.
SMOOTH_AT = 0.5


@lru_cache(maxsize=4096)
def guarded(root: Expr) -> Expr:
    """``root`` for what will be differentiated: see NOTE [The branch not taken].

    >>> x = symbol("x")
    >>> guarded(scalar.where(x > 0, x, scalar.exp(x)))
    where(gt(x, 0), x, exp(where(gt(x, 0), 0.5, x)))
    """

    def choice(condition, yes, no):
        return scalar.where(
            condition,
            inside(yes, lambda own, x: scalar.where(condition, x, own)),
            inside(no, lambda own, x: scalar.where(condition, own, x)),
        )

    def inside(branch, chosen):
        if is_affine(branch):
            return branch
        replaced = {name: chosen(harmless(name), symbol(name, boolean)) for name, boolean in typed_symbols(branch) if not boolean}
        return rebuilt(branch, lambda node: replaced.get(node.args[0], node))

    def extremum(name, order):
        # Of a constant and a function whose derivative may be infinite: a choice too.
        def form(x, limit):
            return choice(order(x, limit), limit, x) if limit.op == "constant" and not is_affine(x) else operation(name, x, limit)

        return form

    return rebuilt(
        root,
        lambda node: node,
        {"where": choice, "maximum": extremum("maximum", lambda x, y: x < y), "minimum": extremum("minimum", lambda x, y: x > y)},
    )


def harmless(name: str) -> float:
    """What stands for a symbol where its branch is not taken: nothing for cotangents and tangents."""
    return 0.0 if name == "g" or name.startswith("t_") else SMOOTH_AT


def is_affine(expr: Expr) -> bool:
    """Whether the derivatives are constants, so that nothing in them can be infinite."""
    if expr.op in ("symbol", "constant") or expr.boolean:
        return True
    if expr.op == "mul":
        return any(arg.op == "constant" and isfinite(arg.args[0]) for arg in expr.args) and all(map(is_affine, expr.args))
    return expr.op in ("add", "sub", "neg", "positive") and all(map(is_affine, expr.args))


def is_multiple(expr: Expr, name: str) -> bool:
    """Whether an expression is the symbol ``name`` times something in which that does not occur.

    >>> total, count = symbol("total"), symbol("count")
    >>> is_multiple(total / count, "total"), is_multiple(scalar.sqrt(total), "total"), is_multiple(total + 1, "total")
    (True, False, False)
    """
    if expr.op == "symbol":
        return expr.args[0] == name
    if expr.op in ("add", "sub", "neg", "positive"):
        return all(is_multiple(arg, name) for arg in expr.args)
    if expr.op in ("mul", "div"):
        first, second = expr.args
        turned = expr.op == "mul" and is_multiple(second, name) and name not in first.symbols()
        return turned or (is_multiple(first, name) and name not in second.symbols())
    return False


def typed_symbols(expr: Expr) -> list[tuple[str, bool]]:
    """``(name, boolean)`` of the symbols below ``expr``."""
    return [(e.args[0], e.boolean) for e in postorder([expr]) if e.op == "symbol"]


def rebuilt(root: Expr, of_symbol: Callable[[Expr], Expr], forms: dict[str, Callable] | None = None) -> Expr:
    """``root`` with other symbols, and with some operations made by functions of ``forms``."""
    made: dict[Expr, Expr] = {}
    for node in postorder([root]):
        if node.op == "symbol":
            made[node] = of_symbol(node)
        elif node.op == "constant":
            made[node] = node
        else:
            args = tuple(made[arg] for arg in node.args)
            made[node] = forms[node.op](*args) if forms and node.op in forms else operation(node.op, *args)
    return made[root]


@lru_cache(maxsize=4096)
def _kept_order(roots: tuple[Expr, ...]) -> list[Expr]:
    """``postorder`` of what is evaluated again and again."""
    return postorder(roots)


def evaluate(roots: tuple[Expr, ...], values: dict[str, Any], apply: Callable[[str, tuple], Any]) -> list:
    """Compute ``roots`` with symbols bound to ``values``, by ``apply(operation, operands)``: node by node, each once.

    >>> evaluate((symbol("x") * 2.0,), {"x": 3.0}, lambda name, xs: xs[0] * xs[1])
    [6.0]
    """
    results: dict[Expr, Any] = {}
    for node in _kept_order(roots):
        if node.op == "symbol":
            results[node] = values[node.args[0]]
        elif node.op == "constant":
            results[node] = node.args[0]
        else:
            operands = tuple(results[arg] for arg in node.args)
            results[node] = apply(node.op, operands)
    return [results[root] for root in roots]
