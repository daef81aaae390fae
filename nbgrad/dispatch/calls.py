"""The road of a call: what every call of an operation does, in this order, whatever kind the operation is of.

NOTE [The road]:
  1. spelling  arguments under other names, or that only equal what they should be (True for 1), are put right or refused;
  2. modes     while some special mode is active, interpreters are asked about the call (``intercept``);
  3. plan      the operation's table is asked, by layouts and attributes. It makes what it lacks where these say enough
               (``plan_of``); where they do not, ``check`` looks at the arguments, and does the rest itself;
  4. launch    what the plan says is done: a kernel, a view, a prepared run;
  5. record    where an operand needs a gradient the result gets its node.

Elementwise calls do this in native code (``Caller`` of native/calls.py), all others in a function whose text is ``CALL_TEXT`` with
the parts of their kind:

  kind       table, by layouts and attributes   launch               record
  planned    ``GeneralPlan``                    one kernel           ``recorder`` of the rule
  movement   ``ViewPlan``                       a view of memory     the same native call
  stepped    ``PreparedPlan``                   its run, in steps    ``record_prepared``
  composite  its run                            the run              the calls within record themselves
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..base.calls import CALLS
from ..base.grad_mode import special
from ..modes.interpreters import Call, intercept, interpret, is_marked
from ..ops.core import Op
from ..ops.kinds import is_strange, is_tensor, odd_condition, odd_test
from .arguments import argument_text, attribute_names, bound_arguments, check_tensor, default_values, settled_attributes
from .generated import late_function

__all__ = ["OperationCall", "intercept_odd"]

CALL_TEXT = """def call({parameters}):
{spelling}    if {asked}: {intercept}
    try: plan = {plan}
    except (AttributeError, KeyError, TypeError): {missing}
{launch}"""


def intercept_odd(op: Op, tensors: tuple, attributes: dict):
    """``intercept`` of a call whose attributes may be odd: NOTE [Whole numbers]."""
    settled = settled_attributes(op, attributes)
    odd = odd_test(op)
    if settled is not attributes and odd is not None and odd(settled):  # what only equals something finds no plan of that
        return interpret(Call(op, tensors, settled, CALLS[op.name].plain))
    return intercept(op, tensors, settled)


# What ``odd_condition`` asks, and where what is odd goes.
KIND_TESTS = {"is_strange": is_strange, "is_tensor": is_tensor, "intercept_odd": intercept_odd}


class OperationCall:
    """The call of one operation: NOTE [The road]. A subclass knows one kind of operation.

    Attributes:
        count: of the operands, the first arguments; ``names`` of all arguments, ``attributes`` those behind the operands.
        plans: what was planned, by layouts and attributes.
        offers: the methods that the function has too, for those who have a call and no wish to make one.
    """

    __slots__ = ("op", "count", "names", "attributes", "plans")
    offers: ClassVar[tuple[str, ...]] = ("plain", "plans")
    plans: dict

    def __init__(self, op: Op):
        self.op, self.count = op, len(op.operands)
        self.names, self.attributes = list(op.signature.parameters), attribute_names(op)

    def execute(self, tensors: tuple, attributes: dict) -> Any:
        """Do the call: interpreters have been asked, and the operands are tensors."""
        raise NotImplementedError

    def parts(self) -> dict[str, str]:
        """What ``CALL_TEXT`` leaves open, where it is not as usual."""
        raise NotImplementedError

    def scope(self) -> dict[str, Any]:
        """What the parts name."""
        raise NotImplementedError

    def late_scope(self) -> dict[str, Any]:
        """What they name that is made no earlier than the first call."""
        return {"_defaults": default_values(self.op)}

    def require_tensors(self, tensors: tuple) -> None:
        """Refuse operands that are no tensors."""
        for name, x in zip(self.op.operands, tensors):
            check_tensor(self.op, name, x)

    def check(self, *values: Any) -> Any:
        """A call for which the text has found no plan."""
        tensors, attributes = values[: self.count], dict(zip(self.attributes, values[self.count :]))
        if special or is_marked(tensors):
            return intercept_odd(self.op, tensors, attributes)
        self.require_tensors(tensors)
        return self.execute(tensors, attributes)

    def plain(self, *args: Any, **kwargs: Any) -> Any:
        """The call without interpreters, for arguments in any spelling."""
        tensors, attributes = bound_arguments(self.op, args, kwargs)
        self.require_tensors(tensors)
        return self.execute(tensors, attributes)

    def text(self) -> str:
        """The source of the function."""
        op, operands = self.op, ", ".join(self.op.operands)
        named = ", ".join(f"{n!r}: {n}" for n in self.attributes)
        odd = odd_condition(op)
        asking = f"(intercept_odd if {odd} else intercept)" if odd else "intercept"
        usual = {
            "parameters": argument_text(op, "_defaults"),
            "spelling": "",
            "asked": "special",
            "intercept": f"return {asking}(op, ({operands},), {{{named}}})",
            "missing": f"return check({', '.join(self.names)})",
        }
        return CALL_TEXT.format(**usual | self.parts())

    def function(self, renamed: dict[str, str] | None = None) -> Any:
        """The function, whose text is compiled when it is first called; ``renamed``: see ``late_function``."""
        op = self.op
        scope = {"special": special, "op": op, "intercept": intercept, "check": self.check, **KIND_TESTS, **self.scope()}
        call = late_function(f"{op.name} {type(self).__name__}", scope, self.text, self.late_scope, renamed)
        call.__name__ = call.__qualname__ = op.name
        for name in self.offers:
            setattr(call, name, getattr(self, name))
        return call
