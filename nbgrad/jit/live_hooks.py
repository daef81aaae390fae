"""Hooks of nodes in passes that run as programs: captured where they can only compute, else called in the middle of the program."""

from __future__ import annotations

import threading
from dis import get_instructions
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from ..base.calls import CALLS
from ..base.errors import GraphError
from ..base.grad_mode import mode
from ..engine import call_tensor_hook, hook_result, retain, state
from ..graph.node import Hooks, Node, NodeMeta
from ..modes.traced import mark
from ..native.handle import native
from ..tensors.storage import wrap_array
from ..tensors.tensor import Tensor
from .capture import Trace
from .ir import Control, Node as GraphNode, Value

__all__ = ["HOOKS", "Running", "running", "spell_hooks", "stand_in_hooks"]

TENSOR, BEFORE, BEHIND = "tensor", "before", "behind"
PLAIN = (int, float, complex, bool, str, type(None))


class Running(threading.local):
    """The nodes of the passes that run as programs in this thread, the innermost pass last."""

    def __init__(self) -> None:
        self.passes: list[list[Node]] = []


running = Running()


# ---- which hooks only compute --------------------------------------------------------------------------------------

# What such a hook consists of: expressions of its argument, of numbers, and of operations.
PURE = frozenset(
    "RESUME NOP CACHE COPY_FREE_VARS LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_CONST "
    "LOAD_SMALL_INT LOAD_DEREF LOAD_GLOBAL LOAD_ATTR LOAD_METHOD STORE_FAST STORE_FAST_LOAD_FAST BINARY_OP UNARY_NEGATIVE PRECALL "
    "PUSH_NULL CALL CALL_KW KW_NAMES RETURN_VALUE RETURN_CONST".split()
)


@lru_cache(maxsize=1024)
def reads(code: CodeType) -> tuple[str, ...] | None:
    """The globals that a hook of this code reads, if it can only compute; else None."""
    names = []
    for each in get_instructions(code):
        if each.opname not in PURE or (each.opname == "BINARY_OP" and each.argrepr.endswith("=")):
            return None
        if each.opname in ("LOAD_ATTR", "LOAD_METHOD") and (each.argval.endswith("_") or each.argval not in CALLS):
            return None
        if each.opname == "LOAD_GLOBAL":
            names.append(each.argval)
    return tuple(names)


def key_of(hook: Any) -> tuple | None:
    """A key that hooks share which compute the same and do nothing else; None of others."""
    if type(hook) is not FunctionType:
        return None
    code = hook.__code__
    names = reads(code)
    if names is None:
        return None
    if not names and hook.__closure__ is hook.__defaults__ is hook.__kwdefaults__ is None:
        return (code,)
    try:
        held = [cell.cell_contents for cell in hook.__closure__ or ()]
        held += [hook.__globals__[name] for name in names]
    except (ValueError, KeyError):
        return None
    held += hook.__defaults__ or ()
    if hook.__kwdefaults__ or not all(type(x) in PLAIN for x in held):
        return None
    return code, tuple([(type(x), repr(x)) for x in held])


def keys_of(hooks: Any) -> tuple | None:
    """The keys of all hooks of a dict; None if one has none."""
    keys = tuple(map(key_of, hooks.values()))
    return None if None in keys else keys


def spell_hooks(meta: NodeMeta) -> tuple:
    """The spelling of a node's hooks: keys of those of a result that only compute, else that there are some."""
    if len(meta.tensor_hooks) == 1 and not (meta.retains or meta.pre_hooks or meta.post_hooks):
        ((nr, hooks),) = meta.tensor_hooks.items()
        return nr, keys_of(hooks)
    results = tuple([(nr, keys_of(hooks)) for nr, hooks in meta.tensor_hooks.items()])
    return "hooks", results, tuple(meta.retains), bool(meta.pre_hooks), bool(meta.post_hooks)


# ---- while a pass is captured --------------------------------------------------------------------------------------


def stand_in_hooks(active: Trace, number: int, meta: NodeMeta) -> NodeMeta:
    """What a node has in the place of its hooks while its pass is captured: those that compute, and calls of the others.

    Args:
        number: of the node, in the order in which it is spelled.
    """
    made = NodeMeta()
    for nr in dict.fromkeys((*meta.tensor_hooks, *meta.retains)):
        own = meta.tensor_hooks.get(nr, {})
        made.tensor_hooks[nr] = hooks = Hooks()
        if nr not in meta.retains and keys_of(own) is not None:
            hooks.update(own)
        else:
            hooks[0] = lambda g, nr=nr: relay(active, number, TENSOR, nr, (g,))[0]
    if meta.pre_hooks:
        made.pre_hooks[0] = lambda grads: relay(active, number, BEFORE, 0, grads)
    if meta.post_hooks:
        made.post_hooks[0] = lambda inputs, grads: relay(active, number, BEHIND, len(inputs), (*inputs, *grads))[: len(inputs)]
    return made


def relay(active: Trace, number: int, what: str, nr: int, tensors: tuple) -> tuple:
    """Write down that hooks are called, with these tensors; what they may put in the place of these."""
    given = tuple([x is not None for x in tensors])
    if what == TENSOR and not all(given):
        raise GraphError("compiled_autograd: a hook on a result without a gradient: a graph cannot hold it.")
    present = [x for x in tensors if x is not None]
    attributes = {"number": number, "what": what, "nr": nr, "given": given}
    layouts = [x.layout.plain() for x in present]
    node = GraphNode(HOOKS, tuple([active.value(x) for x in present]), attributes, layouts, flags=[False] * len(present))
    active.graph.nodes.append(node)
    made = iter([own_tensor(active, x, value) for x, value in zip(present, node.outs)])
    return tuple([next(made) if there else None for there in given])


def own_tensor(active: Trace, x: Tensor, value: Value) -> Tensor:
    """A traced tensor on memory of its own, which is this value."""
    made = native.tensor(x.layout.plain().template, wrap_array(x._storage_.array.copy()), x._offset_, False, None)
    active.variables.define(made, value)
    return mark(made)


# ---- while a program runs ------------------------------------------------------------------------------------------


def call_hooks(node: GraphNode, values: Any, *tensors: Any, number: int, what: str, nr: int, given: tuple) -> tuple:
    """Call the hooks of the node that stands at this place in the pass that runs."""
    owner = running.passes[-1][number]
    present = iter([CALLS["clone"](x) for x in tensors])  # theirs to keep
    grads: Any = tuple([next(present) if there else None for there in given])
    enabled, before = mode.enabled, state.__dict__.get("node")
    state.node = owner
    try:
        results = call_tensor_hooks(owner, nr, grads) if what == TENSOR else call_node_hooks(owner, what, nr, grads)
    finally:
        mode.enabled, state.node = enabled, before
    if tuple([x is not None for x in results]) != given:
        raise GraphError("compiled_autograd: a hook gave no gradient where there was one, or the opposite. Hint: return zeros.")
    return tuple([x for x in results if x is not None])


def call_tensor_hooks(owner: Node, nr: int, grads: tuple) -> tuple:
    """The hooks of a result, in order; then what retains its gradient."""
    (g,) = grads
    for hook in tuple(owner._meta_.tensor_hooks.get(nr, {}).values()):
        g = call_tensor_hook(hook, g)
    reference = owner._meta_.retains.get(nr)
    if reference is not None:
        retain(reference(), g)
    return (g,)


def call_node_hooks(owner: Node, what: str, count: int, grads: tuple) -> tuple:
    """The hooks in front of a node, or those behind it, which see ``count`` inputs and its gradients."""
    if what == BEFORE:
        for hook in tuple(owner._meta_.pre_hooks.values()):
            changed = hook(grads)
            if changed is not None:
                grads = hook_result("pre-hook", grads, changed)
        return grads
    inputs, shown = grads[:count], grads[count:]
    for hook in tuple(owner._meta_.post_hooks.values()):
        changed = hook(inputs, shown)
        if changed is not None:
            inputs = hook_result("hook", inputs, changed)
    return (*inputs, *shown)


HOOKS = Control("hooks", call_hooks, effect="host")
