"""Operations by kind, and how they are declared. This module knows no array, no kernel and no graph.

A declaration names the operation, its operands and its mathematics; the kind supplies what the kind implies. Kernels,
gradients of every order, tangents, methods, operators, in-place and ``out=`` forms, tests and documentation derive from it.

NOTE [Rules]: the formulas of a declaration are pure. They use their arguments, Python arithmetic, ``scalar`` and methods
of their arguments; they never look at memory. The names of a rule's parameters say what it needs, and so what is saved:
  ``g``            the cotangent of the result
  an operand       its value (saved)
  ``out``          the result (saved)
  ``<operand>_shape``, ``<operand>_dtype``, ``out_shape``    facts about a value (nothing saved)
  an attribute     its value
"""

from __future__ import annotations

import inspect
from copy import copy
from functools import cache
from typing import Any, Callable

from ..base.function_attributes import attach, parameter_names
from .expr import PREDICATES, ZERO, Expr, conjugate, constant, is_multiple, plus, symbol, times
from .signatures import signature_of

__all__ = [
    "Op",
    "Elementwise",
    "Movement",
    "Reduction",
    "General",
    "Composite",
    "OPS",
    "elementwise",
    "movement",
    "reduction",
    "general",
    "composite",
    "refusing",
    "undifferentiable",
]

OPS: dict[str, Op] = {}


def of_reals(text: str) -> dict[str, str]:
    """``Op.text`` of what has a function of its own for complex numbers."""
    return {"real": text, "integer": text}


# Torch's names of what nodes save, where a declaration says no others.
SHOWN_AS = {"x": ("self", "input"), "y": ("other",), "value": ("other",), "out": ("result",)}


class Op:
    """A declared operation.

    Attributes:
        name: in the table, as function and, unless ``method`` is false, as method.
        kind: which lowering and which derivation applies.
        signature: the Python signature of the function; tensors first.
        operands: names of the tensor operands.
        node_name: name of the graph node, as torch's; or a function of a plan's facts that gives it.
        doc: one sentence, and what differs from NumPy where something does.
        aliases: further names of function and method.
        method, function, inplace, out: which public forms exist. ``inplace`` may also be ``"result"``, which is written over the
            operand, or ``"view"``, whose layout the tensor takes.
        public: the function whose work it does, in messages.
        shows: constants that nodes show among saved values: arguments of torch's operation that this one is the case of.
        saved_as: ``{torch's name: ours}`` of operands and attributes that nodes show, where they are not SHOWN_AS.
        forms: ``{attribute: function}``, how torch's nodes show it.
        arguments: ``{another library's name: ours}`` of arguments in calls, where no rule of ops/spellings.py tells.
        numpy: NumPy's functions that it is, ``"power"``, and methods of those, ``"add.reduce"``; the same name need not be said.
        special: its names in ``torch.special``.
        batched: the kind of its batching rule, in batch/rules.py: by default that of its own kind.
        text: how kernels spell it, of what stands for its operands, where that is no call of the scalar function of its name:
            ``"{0} + {1}"``, ``{"integer": "{0}"}``; kinds are real, integer, complex, and bool of truth values alone.
        variadic: the first operand is a sequence of tensors.
        is_property: the method is an attribute, ``x.T``.
        aten: torch's name of it beneath the gradients, where its node's does not tell: NOTE [Operators] of operators.py.
        row_major: the result is contiguous where others keep the order in which an operand goes through memory, as torch's.
    """

    kind = "op"
    # What only some kinds declare.
    product = numbers = matrices = pure = refuses_gradient = untracked = severs = unbounded = sized_by_values = draws = total = (
        tells_by_nan
    ) = False
    integer_divisor: str | None = None
    either = second = ""
    rounds, cheap = True, False
    of_numbers: Callable | None = None
    of_integers: Callable | None = None
    renamed: dict[str, str] = {}
    after: dict[str, tuple[str, Callable]] = {}
    together: dict[tuple[str, ...], Callable] = {}
    in_steps: Callable | None = None

    def __init__(
        self,
        name: str,
        formula: Callable,
        operands: tuple[str, ...],
        *,
        doc: str = "",
        node: str | Callable[[dict], str] | None = None,
        aliases: tuple[str, ...] = (),
        method: bool = True,
        function: bool = True,
        inplace: bool | str = False,
        out: bool = False,
        public: str = "",
        shows: dict[str, Any] | None = None,
        saved_as: dict[str, str] | None = None,
        forms: dict[str, Callable[[Any], Any]] | None = None,
        arguments: dict[str, str] | None = None,
        numpy: tuple[str, ...] = (),
        special: tuple[str, ...] = (),
        batched: str = "",
        variadic: bool = False,
        text: str | dict[str, str] | None = None,
        is_property: bool = False,
        aten: str | dict[tuple[bool, ...], str] | Callable[[tuple, dict], str] = "",
        row_major: bool = False,
    ):
        if name in OPS:
            raise ValueError(f"{name}: declared twice.")
        self.name, self.formula, self.operands, self.doc = name, formula, operands, doc
        self.signature = signature_of(formula)
        self.node_name = node or "".join(part.capitalize() for part in name.split("_")) + "Backward0"
        self.aliases, self.method, self.function, self.public = aliases, method, function, public or name
        self.inplace, self.out = inplace, out
        self.shows, self.saved_as, self.forms, self.arguments = shows or {}, saved_as or {}, forms or {}, arguments or {}
        self.numpy, self.special, self.batched = numpy, special, batched or self.kind
        self.variadic, self.is_property, self.row_major, self.aten = variadic, is_property, row_major, aten
        self.text: dict[str, str] = dict.fromkeys(("real", "integer", "complex"), text) if isinstance(text, str) else text or {}
        OPS[name] = self

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}{self.signature}>"

    def shown_as(self, own: str) -> tuple[str, ...]:
        """The names under which nodes show a saved value or an attribute: torch's, of which they list the first, and our own."""
        declared = [theirs for theirs, name in self.saved_as.items() if name == own]
        return (*declared, *(SHOWN_AS.get(own, ()) if own == "out" or own in self.operands else ()), own)

    def own_name(self, theirs: str) -> str:
        """The operand or attribute, or ``out``, that nodes show under a name."""
        names = (*self.operands, "out", *self.signature.parameters)
        return next((own for own in names if theirs in self.shown_as(own)), theirs)


class Elementwise(Op):
    """``forward`` of scalars, applied to every element, with broadcasting and promotion.

    Attributes:
        partials: ``{operand: partial derivative}``, lambdas over operands and ``out``. One that also mentions ``g`` is the
            whole cotangent (for functions that are not complex differentiable); ``tangents`` then has its counterpart.
        policy: the dtype of computation: ``"promote"``; ``"number"`` (bools become int64); ``"float"`` (integers become the
            default float); ``"floating"`` (refuses integers); ``"integer"`` (refuses floats); ``"first"`` (the first operand's).
        predicate: the result is bool.
        boolean: operands that are truth values (the condition of ``where``).
        old_masks: those may be uint8 too, of which 0 is false: torch's masks before it had bools.
        complex: whether complex operands are defined for it.
        refuses_bool: bool operands are an error.
        integer_divisor: an operand that must not be 0 where the operands are integers.
        complex_form: what stands for it on complex operands, in other operations (|z| is no kernel of complex numbers alone).
        exact: operands whose numbers are not rounded to the half type that they are combined with; elsewhere
            ``x == 0.1`` asks for the half type's 0.1.
        bounds: operands of which tensors of one element count as numbers where another one is a number.
        numbers: numbers alone are operands too, and the result is a 0-d tensor.
        of_numbers: the same of Python's numbers: formulas fold it.
        of_integers: what it is of integers, whose settings are truncated, where it is else of floating tensors alone.
        rounds: whether the result of real operands may be rounded.
        cheap: an instruction rather than a function, as what has a ``text`` for real numbers.
        nodes: names of nodes that depend on which operands are numbers, ``{(False, True): name}``.
        backward_node: of an operation of one variable, linear in pieces: the name of its cotangent's node. That is then an
            operation of its own, recorded as depending on the values that choose the piece; its derivative by them is 0.
    """

    kind = "elementwise"

    def __init__(
        self,
        name: str,
        forward: Callable,
        partials: dict[str, Callable] | None = None,
        *,
        policy: str = "promote",
        predicate: bool = False,
        boolean: tuple[str, ...] = (),
        complex: bool = False,
        inplace: bool = True,
        out: bool = True,
        tangents: dict[str, Callable] | None = None,
        refuses_bool: bool = False,
        integer_divisor: str | None = None,
        nodes: dict[tuple[bool, ...], str] | None = None,
        of_numbers: Callable | None = None,
        of_integers: Callable | None = None,
        rounds: bool = True,
        cheap: bool | None = None,
        complex_form: Callable | None = None,
        backward_node: str = "",
        exact: tuple[str, ...] | None = None,
        bounds: tuple[str, ...] = (),
        old_masks: bool = False,
        numbers: bool = False,
        **options,
    ):
        super().__init__(name, forward, (), inplace=inplace, out=out, **options)
        self.operands = operands = tuple(self.signature.parameters)
        self.partial_formulas, self.tangent_formulas = partials or {}, tangents or {}
        self.policy, self.predicate, self.boolean, self.complex = policy, predicate, boolean, complex
        self.refuses_bool, self.integer_divisor = refuses_bool, integer_divisor
        self.nodes, self.complex_form, self.backward_node, self.numbers = nodes or {}, complex_form, backward_node, numbers
        self.of_numbers, self.of_integers, self.rounds = of_numbers, of_integers, rounds
        self.bounds, self.old_masks = bounds, old_masks
        self.cheap = "real" in self.text if cheap is None else cheap
        (PREDICATES.add if predicate else PREDICATES.discard)(name)
        self.defaults = tuple(p.default for p in self.signature.parameters.values())
        self.refuses_gradient = undifferentiable in self.partial_formulas.values()
        # Slopes, thresholds and their like keep their precision; what stands for a tensor is an element like the others.
        parameters = [n for n in operands if n not in self.partial_formulas] if policy == "floating" and partials else ()
        self.exact = tuple(parameters) if exact is None else exact
        # Which operands gradients flow into, by position.
        self.differentiable = tuple(name in self.partial_formulas for name in operands)
        # Those of an operation that has derivatives by which there is none: numbers to the derivatives, as a slope or an exponent's
        # bound. A tensor that gradients flow into is refused there, since it would be taken for a constant.
        self.fixed = tuple(bool(partials) and name not in self.partial_formulas and name not in boolean for name in operands)

    @property
    def params(self) -> tuple[tuple[str, bool], ...]:
        """``(name, boolean)`` of every operand."""
        return tuple((name, name in self.boolean) for name in self.operands)

    @cache
    def expression(self) -> Expr:
        """The result as an expression of the operands."""
        return _as_expr(self.formula(*(symbol(*param) for param in self.params)))

    @cache
    def partial(self, operand: str) -> Expr:
        """The partial derivative with respect to ``operand``, in operands and ``out``."""
        return self._evaluate(self.partial_formulas[operand])

    def _evaluate(self, formula: Callable) -> Expr:
        booleans = dict(self.params)
        names = parameter_names(formula)
        return _as_expr(formula(*(symbol(name, booleans.get(name, False)) for name in names)))

    @cache
    def vjp(self, operand: str, is_complex: bool = False) -> Expr:
        """The cotangent of ``operand`` in terms of ``g``, operands and ``out``: g times the partial, conjugated.

        Zero where there is no derivative: the history of what such an operation is written over ends there.
        """
        if operand not in self.partial_formulas:
            return ZERO
        partial = self.partial(operand)
        if "g" in parameter_names(self.partial_formulas[operand]):
            return partial
        return times(symbol("g"), conjugate(partial) if is_complex else partial)

    def cotangent_operation(self, operand: str) -> tuple[Elementwise, tuple[str, ...]]:
        """The cotangent of an operand as an operation outside of the table; and the names of what it takes behind the cotangent."""
        partial = self.partial_formulas[operand]
        names = parameter_names(partial)
        parameters = [
            inspect.Parameter("result" if name == "out" else name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for name in ("cotangent", *names)
        ]

        def formula(cotangent, *values):
            return times(cotangent, _as_expr(partial(*values)))

        attach(formula, __signature__=inspect.Signature(parameters))
        made = copy(self)
        made.name, made.formula, made.node_name, made.backward_node = f"{self.name}_backward", formula, self.backward_node, ""
        made.signature, made.operands = inspect.Signature(parameters), tuple(p.name for p in parameters)
        by_cotangent: Any = lambda *values: partial(*values)
        by_cotangent.__signature__ = inspect.Signature(parameters[1:])
        made.partial_formulas = {
            "cotangent": by_cotangent,
            **{own.name: lambda: 0 for own, name in zip(parameters[1:], names) if name == "out" or name in self.partial_formulas},
        }
        made.nodes, made.shows, made.saved_as = {}, {}, {}
        made.defaults = (inspect.Signature.empty,) * len(parameters)
        made.differentiable = tuple(name in made.partial_formulas for name in made.operands)
        made.fixed = tuple(not able and name not in self.boolean for able, name in zip(made.differentiable, made.operands))
        return made, names

    @cache
    def jvp(self, tangents: tuple[str, ...]) -> Expr:
        """The tangent of the result in terms of ``t_<operand>``, operands and ``out``."""
        return plus(self._tangent(name) for name in tangents if name in self.partial_formulas)

    def _tangent(self, operand: str) -> Expr:
        if operand in self.tangent_formulas:
            return self._evaluate(self.tangent_formulas[operand])
        return times(symbol(f"t_{operand}"), self.partial(operand))


def undifferentiable():
    """In place of a partial derivative: the operation has none, and asking for one is an error."""
    return 0


def _as_expr(value: Any) -> Expr:
    return value if isinstance(value, Expr) else constant(value)


class Movement(Op):
    """A linear view: the same memory under another layout.

    ``formula(layout, *args)`` gives the new ``(shape, strides, offset)`` in elements; ``inverse(g, x_shape, *args)`` the
    cotangent of the operand. With ``multiple`` the formula returns a list of those, and ``inverse`` takes a list of cotangents.
    With ``retype`` the memory is read as another dtype, a function of the operand's; strides and offset are then in its elements.
    ``bits(conj, neg)`` gives the view's lazy conjugation and negation from the operand's; without it a view keeps them.
    With ``severs`` it gets none of the tangents that the operand has later; ``untracked`` ones share memory without being views to
    autograd. ``unbounded`` ones name strides and offset of their own, and may show memory that the operand has not.
    """

    kind = "movement"

    def __init__(
        self,
        name: str,
        formula: Callable,
        inverse: Callable,
        *,
        multiple: bool = False,
        retype: Callable | None = None,
        bits: Callable | None = None,
        severs: bool = False,
        untracked: bool = False,
        unbounded: bool = False,
        **options,
    ):
        super().__init__(name, formula, ("x",), **options)
        self.inverse, self.multiple, self.retype, self.bits = inverse, multiple, retype, bits
        self.severs, self.untracked, self.unbounded = severs, untracked, unbounded
        self.plain = not multiple and retype is None and bits is None


class General(Op):
    """An operation with a lowering of its own, by name; ``vjps`` are formulas of tensors.

    Attributes:
        vjps: ``{operand: formula}``; see NOTE [Rules].
        outputs: number of results; None where attributes say it.
        constant: of operands that are all zero the result is not zero: an attribute is written into it.
        edges: the operands in the order in which nodes have their edges: that of torch's arguments.
        renamed: ``{ours: torch's}`` of operands by which the call's own parameters have torch's names.
        ranks: how many dimensions its operands have, where it does not broadcast.
        product: an element of the result is a sum of products along the last dimension of the first operand.
        summand: the product in ``beta * input + alpha * product``.
        part: ``(shape, strides, offset)`` of the part of a layout that it reads or writes, by its attributes.
        resolves: it reads memory that is lazily conjugated or negated by itself.
        after: ``{operand: (other, formula)}``, cotangents that are made of another operand's: the formula takes that first. In
            ``vjps`` they are whole; a node that gives both computes the other one once.
        together: ``{operands: formula}``, their cotangents, a tuple, by one formula of a node that has two or more of them,
            whichever are asked for. It need not be differentiable: a pass that is recorded, or has tangents, is made of ``vjps``.
        second: the name of the second result, which formulas of ``together`` may mention like an operand: it is saved. It has no
            history, so no formula of ``vjps`` may, and its cotangent goes nowhere.
        in_steps: ``in_steps(*operands, *attributes)``, the same in other operations: it has no rules of its own, and is those
            wherever its results are to have derivatives.
        monoid: of a reduction: what its elements are folded with, a name of ``kernels.monoids.MONOIDS``; see NOTE [Folds].
        term: what an element counts as, a scalar formula of ``x``; None for itself. If it is a truth value, its truths are counted.
        near: the term is an element or a number like it, as exact in the operand's precision; else it is computed in double.
        finish: what becomes of the total, a scalar formula of ``total`` and of ``count``, how many elements there were. Kernels
            compute it of real numbers: of both parts of a complex total where it is a multiple of that, else those are refused.
        sized_by_values: the shape of the result depends on the operands' values, so that no graph can hold it.
        draws: of the operand only the layout matters: it draws random numbers.
        total: it gives results whatever its operands hold. Of a single launch that is taken for granted; what takes several steps,
            and does not say so, may refuse values, as an index that is out of range.
        tells_by_nan: what is wrong in its operands becomes a NaN; the operation that the same function calls next tells of it.
        gives: the dtype of the result: ``"same"``; ``"total"`` (of integers and bools int64); ``"floating"`` (the same, integers
            are refused); ``"truth"`` (bool, of uint8 uint8); ``"count"`` (int64).

    NOTE [Folds]: a declaration with a monoid needs no lowering, and its kernels for CPU and CUDA follow from it, if its signature
    is ``(x, dim, keepdim)``, perhaps with a ``dtype`` to compute in.
    """

    kind = "general"

    def __init__(
        self,
        name: str,
        formula: Callable,
        vjps: dict[str, Callable] | None = None,
        *,
        operands: tuple[str, ...] = ("x",),
        outputs: int | None = 1,
        constant: bool = False,
        out: bool = True,
        edges: tuple[str, ...] = (),
        after: dict[str, tuple[str, Callable]] | None = None,
        together: dict[tuple[str, ...], Callable] | None = None,
        in_steps: Callable | None = None,
        second: str = "",
        renamed: dict[str, str] | None = None,
        ranks: tuple[int, ...] = (),
        product: bool = False,
        summand: Callable | None = None,
        part: Callable | None = None,
        resolves: bool = False,
        monoid: str = "",
        term: Callable | None = None,
        near: bool = False,
        finish: Callable | None = None,
        gives: str = "same",
        sized_by_values: bool = False,
        draws: bool = False,
        total: bool = False,
        tells_by_nan: bool = False,
        **options,
    ):
        super().__init__(name, formula, operands, out=out, **options)
        self.sized_by_values, self.draws, self.total, self.tells_by_nan = sized_by_values, draws, total, tells_by_nan
        self.monoid, self.term, self.near, self.finish, self.gives = monoid, term, near, finish, gives
        self.ranks, self.product, self.summand, self.part, self.resolves = ranks, product, summand, part, resolves
        self.renamed, self.second = renamed or {}, second
        self.arguments = {**{theirs: own for own, theirs in self.renamed.items()}, **self.arguments}
        self.vjps, self.outputs, self.constant, self.edges = vjps or {}, outputs, constant, edges or operands
        self.after, self.together, self.in_steps = after or {}, together or {}, in_steps
        for operand, (other, rest) in self.after.items():
            self.vjps = {operand: made_after(self.vjps[other], rest), **self.vjps}

    @cache
    def term_expression(self) -> Expr | None:
        """The term that an element contributes to a reduction; None for the element itself."""
        return None if self.term is None else _as_expr(self.term(symbol("x")))

    @cache
    def finish_expression(self) -> Expr | None:
        """The result of a reduction as an expression of its total; None for the total itself."""
        return None if self.finish is None else _as_expr(self.finish(symbol("total"), symbol("count")))

    @cache
    def finishes_parts(self) -> bool:
        """Whether ``finish`` of a complex total is that of its real and its imaginary part."""
        finish = self.finish_expression()
        return finish is None or is_multiple(finish, "total")

    @cache
    def linear_groups(self) -> tuple[tuple[str, ...], ...]:
        """Sets of operands in which the operation is linear, all at once, the others being fixed.

        A cotangent that mentions neither an operand nor the result does not depend on it: the operation is linear in operands whose
        cotangents do not mention one another. ``x @ y + bias`` gives (x, bias) and (y, bias), ``softmax`` gives none. A cotangent
        that is refused says nothing of linearity: forward mode must ask it, and be refused as well.
        """
        if self.constant:
            return ()
        mentions = {name: set(parameter_names(formula)) for name, formula in self.vjps.items()}
        linear = [name for name in mentions if not mentions[name] & {name, "out"} and not is_refusing(self.vjps[name])]
        groups: dict[tuple[str, ...], None] = {}
        for name in linear:
            group = {name}
            for other in linear:
                if not any(other in mentions[member] or member in mentions[other] for member in group):
                    group.add(other)
            groups[tuple(each for each in linear if each in group)] = None
        return tuple(groups)


def made_after(other: Callable, rest: Callable) -> Callable:
    """The whole formula of a cotangent that is made of another operand's."""
    first, last = (parameter_names(formula) for formula in (other, rest))
    names = tuple(dict.fromkeys((*first, *last[1:])))

    def formula(*values):
        given = dict(zip(names, values))
        return rest(other(*[given[name] for name in first]), *[given[name] for name in last[1:]])

    vars(formula)["__signature__"] = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    formula.__doc__ = rest.__doc__
    return formula


def refusing(formula: Callable) -> Callable:
    """Decorator of a cotangent formula that raises, always or for some of what it is called with: there is no derivative."""
    vars(formula)["refuses"] = True
    return formula


def is_refusing(formula: Callable) -> bool:
    """Whether a cotangent formula may raise in place of a derivative."""
    return getattr(formula, "refuses", False)


class Reduction(General):
    """Of ``(x, dim, keepdim)``, over the dimensions ``dim``: every element of ``x`` goes into one element of the result.

    Forward mode relies on it: the cotangents of a ``g`` of ones are the derivatives of all elements.
    """

    kind = "reduction"


class Composite(Op):
    """Written in other operations; needs no rule.

    Attributes:
        numbers: the first operand may be a number, where another one is a tensor.
        spelling: it only calls other operations, with arguments that follow from the layout and its own, or ("memory") from the
            place of the operand in its memory as well; or ("steps") it is several steps that follow from the layouts of several
            operands: see dispatch/settled_spellings.py.
        matrices: it may fail over what matrices hold; such errors of the operations that it is made of name it.
        pure: the formula looks at no element: which operations it calls follows from layouts and arguments.
        joint: its results are recorded as one node, of the declaration's name: see dispatch/joint.py.
        either: the argument that a tensor is which stands by its position in the place of ``dim``, with no ``keepdim`` behind it;
            by its name, ``dim`` is never anything but dimensions. For prepared composites.
    """

    kind = "composite"

    def __init__(
        self,
        name: str,
        formula: Callable,
        *,
        numbers: bool = False,
        spelling: bool | str = False,
        matrices: bool = False,
        pure: bool = False,
        joint: bool = False,
        either: str = "",
        **options,
    ):
        super().__init__(name, formula, (), **options)
        self.numbers, self.spelling, self.matrices, self.pure, self.joint = numbers, spelling, matrices, pure, joint
        self.either = either
        self.operands = tuple(self.signature.parameters)[:1]


def elementwise(name: str, forward: Callable, partials: dict[str, Callable] | None = None, **options) -> Elementwise:
    """Declare an elementwise operation: the only thing a new function needs (docs/adding-an-op.md)."""
    return Elementwise(name, forward, partials, **options)


def movement(name: str, formula: Callable, inverse: Callable, **options) -> Movement:
    """Declare a view."""
    return Movement(name, formula, inverse, **options)


def reduction(name: str, formula: Callable, vjps: dict[str, Callable] | None = None, **options) -> Reduction:
    """Declare a reduction over dimensions."""
    return Reduction(name, formula, vjps, **options)


def general(name: str, formula: Callable, vjps: dict[str, Callable] | None = None, **options) -> General:
    """Declare an operation with its own lowering."""
    return General(name, formula, vjps, **options)


def composite(name: str, formula: Callable, **options) -> Composite:
    """Declare an operation written in others."""
    return Composite(name, formula, **options)
