"""Functions of functions: gradients, products with Jacobians, Jacobians and Hessians, composable with one another and with ``vmap``.

NOTE [Transforms]: reverse mode has one graph. A transform gives its function *starts*: aliases of the arguments, which are leaves
  unless an enclosing differentiation needs them recorded. Gradients are captured at the starts; a gradient is itself recorded only
  if what was computed depends on something differentiated outside: another transform that is running, or the user's tensors. So
  transforms nest in any order, and nothing that they record is seen outside. Forward mode opens a level of tangents each.
  Inside of ``vmap`` a start has the batch of every open level, so that gradients are those of single elements.
"""
from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Mapping, Sequence

from .autograd import grad as gradients_of
from .batching import Batched, levels_of, lifted, lowered, number_of
from .creation import eye
from .dispatch import CALLS
from .errors import ArgumentError, GradError, RangeError, ShapeError
from .forward_ad import make_dual, unpack_dual
from .grad_mode import mode, set_grad_enabled
from .graph import edge_of, requires_grad
from .graph_task import count_edges, target
from .levels import hidden_levels, state
from .tangents import dual_levels, pop_level, push_level
from .tensor import Tensor, require_differentiable
from .trees import Tree, flatten, map_leaves
from .vmap import vmap

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "stack_module_state",
           "value_and_grad", "vjp", "vmap"]

Argnums = int | tuple[int, ...]


# ---- starts: NOTE [Transforms] --------------------------------------------------------------------------------------

class Run:
    """One run of a transformed function. ``live`` while the function is running: its starts are then differentiated by it."""

    __slots__ = ("live",)

    def __init__(self) -> None:
        self.live = True


@contextmanager
def running() -> Iterator[Run]:
    """A run, with recording on."""
    run = Run()
    try:
        with set_grad_enabled(True):
            yield run
    finally:
        run.live = False


def start(x: Any, run: Run) -> Tensor:
    """A differentiable alias of an argument.

    Raises:
        RangeError: no tensor. DTypeError: of a dtype that has no gradients.
    """
    if not isinstance(x, Tensor):
        raise RangeError(f"func: expected tensors to differentiate by, got {type(x).__name__}. Hint: argnums selects arguments.")
    require_differentiable("func", x.dtype)
    own = x.levels if type(x) is Batched else ()
    levels = tuple(sorted({*own, *state.levels}, key=number_of))
    alias = CALLS["alias"](lowered(x, levels))
    if not requires_grad(alias):
        alias.requires_grad_().__dict__["_run"] = run
    return lifted(alias, levels)


def value_of(x: Tensor) -> Tensor:
    """The tensor that is in the graph."""
    return x.value if type(x) is Batched else x


def depends_outside(tensors: Sequence[Any], run: Run) -> bool:
    """Whether tensors depend on something that is differentiated outside of the run."""
    roots = [target(value.edge or edge_of(value)) for value in map(value_of, tensors) if requires_grad(value)]
    for place in count_edges(root for root in roots if root is not None):
        if isinstance(place, Tensor):
            owner = place.__dict__.get("_run")
            if owner is None or (owner is not run and owner.live):
                return True
    return False


def released(values: Any, run: Run, outside: bool) -> Any:
    """Results as they are seen outside of the run: with history only where it leads outside; ``outside`` says if it may."""
    def release(x: Any) -> Any:
        if not isinstance(x, Tensor) or not requires_grad(value_of(x)):
            return x
        return x if outside and depends_outside([x], run) else without_history(x)
    return map_leaves(release, values)


def without_history(x: Tensor) -> Tensor:
    """``x`` as a constant of reverse mode; tangents of enclosing ``jvp`` remain."""
    if not dual_levels:
        return x.detach()
    with set_grad_enabled(False):
        return CALLS["alias"](x)


# ---- reverse mode --------------------------------------------------------------------------------------------------

def grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """A function that computes the gradient of ``func``, which returns one number.

    Args:
        func: returns a 0-d tensor; with ``has_aux`` a pair of that and anything else.
        argnums: the position, or a tuple of positions, of the arguments to differentiate by: tensors, or nested tuples, lists and
            dicts of them.

    Returns:
        A function of the same arguments: the gradient, of the structure of the argument; a tuple for several; a pair with what else
        ``func`` returned if ``has_aux``.

    Raises:
        GradError: func returns no number, ``argnums`` does not fit. RangeError: an argument that is no tensor.

    >>> import nbgrad
    >>> nbgrad.func.grad(lambda x: x ** 3)(nbgrad.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found
    return gradient


def grad_and_value(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """A function that computes the gradient of ``func`` and its value: ``(gradient, value)``, or ``(gradient, (value, aux))``.

    Arguments and errors are those of ``grad``.
    """
    @functools.wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        recorded = mode.enabled
        with running() as run:
            chosen = chosen_arguments("grad", args, argnums)
            leaves, tree = flatten(chosen)
            starts = [start(x, run) for x in leaves]
            output = func(*with_arguments(args, argnums, tree.unflatten(starts)), **kwargs)
            value, aux = pair_of("grad", output) if has_aux else (output, None)
            check_number(value)
            outside = recorded and depends_outside([value], run)
            found = pulled_back([value], starts, [None], outside)
        result = released(value, run, recorded)
        return tree.unflatten(found), (result, released(aux, run, recorded)) if has_aux else result
    return both


value_and_grad = grad_and_value


def check_number(value: Any) -> None:
    """Refuse anything but a 0-d tensor as the value of a function to take the gradient of."""
    if not isinstance(value, Tensor):
        raise GradError(f"grad: the function must return a Tensor, got {type(value).__name__}.")
    if value.ndim:
        raise GradError(f"grad: the function must return a 0-d tensor, got shape {list(value.shape)}. Hint: vjp, jacrev, or x.sum().")


def pair_of(op: str, output: Any) -> tuple:
    """What a function with ``has_aux`` returned."""
    if not isinstance(output, tuple) or len(output) != 2:
        raise GradError(f"{op}: with has_aux=True the function must return (output, aux), got {type(output).__name__}.")
    return output


def pulled_back(outputs: list[Tensor], starts: list[Tensor], cotangents: list, create_graph: bool) -> list[Tensor]:
    """The cotangents of the starts; zeros where no output depends on one."""
    used = [k for k, x in enumerate(outputs) if requires_grad(value_of(x))]
    found: Any = (None,) * len(starts)
    if used and starts:
        found = gradients_of([outputs[k] for k in used], starts, [cotangents[k] for k in used], retain_graph=True,
                             create_graph=create_graph, allow_unused=True)
    return [CALLS["zeros_like"](x.detach()) if g is None else g for g, x in zip(found, starts)]


def positions_of(op: str, argnums: Any, count: int) -> list[int]:
    """The positions that ``argnums`` names, from the front.

    Raises:
        GradError: no ints, none at all, or beyond the arguments.
    """
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not numbers or not all(isinstance(k, int) for k in numbers):
        raise GradError(f"{op}: argnums must be an int or a tuple of some, got {argnums!r}.")
    for k in numbers:
        if not -count <= k < count:
            raise GradError(f"{op}: argnums names argument {k}, there are {count} positional ones.")
    places = [k % count for k in numbers]
    if len(set(places)) < len(places):
        raise GradError(f"{op}: argnums {argnums} names an argument twice.")
    return places


def chosen_arguments(op: str, args: tuple, argnums: Argnums) -> Any:
    """The argument that ``argnums`` names, or a tuple of them."""
    chosen = tuple(args[k] for k in positions_of(op, argnums, len(args)))
    return chosen if isinstance(argnums, tuple) else chosen[0]


def with_arguments(args: tuple, argnums: Argnums, values: Any) -> tuple:
    """The arguments with those that ``argnums`` names exchanged."""
    changed = list(args)
    for k, value in zip(positions_of("func", argnums, len(args)), values if isinstance(argnums, tuple) else (values,)):
        changed[k] = value
    return tuple(changed)


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """``func(*primals)``, and a function that multiplies vectors with its Jacobian, from the left.

    Args:
        func: of tensors, or nested tuples, lists and dicts of them; returns such. With ``has_aux`` a pair of that and anything else.

    Returns:
        ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents)``, of the output's structure, gives a tuple with
        cotangents for every primal; for several outputs in a tuple it may also be called with one argument each.

    Raises:
        GradError: func returns something else than tensors; cotangents of another structure. ShapeError: of other shapes.

    >>> import nbgrad
    >>> output, pull_back = nbgrad.func.vjp(lambda x: x ** 2, nbgrad.tensor([1.0, 2.0]))
    >>> pull_back(nbgrad.tensor([1.0, 1.0]))
    (tensor([2., 4.]),)
    """
    recorded = mode.enabled
    with running() as run:
        leaves, tree = flatten(primals)
        starts = [start(x, run) for x in leaves]
        output = func(*tree.unflatten(starts))
        output, aux = pair_of("vjp", output) if has_aux else (output, None)
        outputs, out_tree = tensor_leaves("vjp", output)

    def pull_back(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vectors = matching_cotangents(cotangents, outputs, out_tree)
        record = mode.enabled if create_graph is None else create_graph
        outside = record and (depends_outside(outputs, run) or any(requires_grad(value_of(v)) for v in vectors))
        with set_grad_enabled(True):
            return tree.unflatten(pulled_back(outputs, starts, vectors, outside))

    shown = released(output, run, recorded)
    return (shown, pull_back, released(aux, run, recorded)) if has_aux else (shown, pull_back)


def tensor_leaves(op: str, output: Any) -> tuple[list[Tensor], Tree]:
    """The tensors that a function returned, and their structure.

    Raises:
        GradError: there is something else among them, or nothing.
    """
    leaves, tree = flatten(output)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise GradError(f"{op}: the function must return tensors only, got {type(x).__name__}.")
    if not leaves:
        raise GradError(f"{op}: the function returned no tensors.")
    return leaves, tree


def matching_cotangents(given: tuple, outputs: list[Tensor], tree: Tree) -> list[Tensor]:
    """The cotangents of outputs.

    Raises:
        GradError: they have another structure. ShapeError: other shapes.
    """
    vectors, structure = flatten(given[0] if len(given) == 1 else given)
    if structure != tree:
        raise GradError(f"vjp: the cotangents have the structure {structure!r}, expected that of the output, {tree!r}.")
    for position, (v, x) in enumerate(zip(vectors, outputs)):
        if not isinstance(v, Tensor):
            raise GradError(f"vjp: cotangent {position} must be a Tensor, got {type(v).__name__}.")
        if v.shape != x.shape:
            raise ShapeError(f"vjp: cotangent {position} has shape {list(v.shape)}, its output {list(x.shape)}.")
    return vectors


# ---- forward mode --------------------------------------------------------------------------------------------------

def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """``func(*primals)``, and the product of its Jacobian with ``tangents``, from the right.

    Args:
        func: of tensors, or nested tuples, lists and dicts of them; returns such. With ``has_aux`` a pair of that and anything else.
        primals, tangents: tuples of one structure; tensors of the same shapes.
        strict: refuse outputs that do not depend on the primals, instead of giving zeros.

    Returns:
        ``(output, tangents of the output)``, or ``(output, tangents, aux)``.

    Raises:
        GradError: primals that are no tuple, another structure, outputs that are no tensors. ShapeError: other shapes.

    >>> import nbgrad
    >>> nbgrad.func.jvp(lambda x: x ** 2, (nbgrad.tensor([1.0, 2.0]),), (nbgrad.tensor([1.0, 0.0]),))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    leaves, directions, tree = checked_directions(primals, tangents)
    level = push_level()
    try:
        duals = [dual_of(x, t, level) for x, t in zip(leaves, directions)]
        output = func(*tree.unflatten(duals))
        output, aux = pair_of("jvp", output) if has_aux else (output, None)
        results, out_tree = tensor_leaves("jvp", output)
        pairs = [primal_and_tangent(x, level, strict) for x in results]
        aux = map_leaves(lambda x: primal_and_tangent(x, level, False)[0] if isinstance(x, Tensor) else x, aux)
    finally:
        pop_level(level)
    values, products = (out_tree.unflatten(each) for each in zip(*pairs))
    return (values, products, aux) if has_aux else (values, products)


def checked_directions(primals: Any, tangents: Any) -> tuple[list[Tensor], list[Tensor], Tree]:
    """Primals and tangents as lists, and their structure.

    Raises:
        GradError: see ``jvp``.
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise GradError(f"jvp: primals and tangents must be tuples, func is called with their members; got {type(primals).__name__} "
                        f"and {type(tangents).__name__}.")
    leaves, tree = flatten(primals)
    directions, structure = flatten(tangents)
    if tree != structure:
        raise GradError(f"jvp: primals have the structure {tree!r}, tangents {structure!r}; expected one structure.")
    for x in (*leaves, *directions):
        if not isinstance(x, Tensor):
            raise GradError(f"jvp: primals and tangents must hold tensors only, got {type(x).__name__}.")
    return leaves, directions, tree


def dual_of(x: Tensor, tangent: Tensor, level: int) -> Tensor:
    """An argument with its tangent; both over all levels of the batch that either depends on."""
    if x.shape != tangent.shape:
        raise ShapeError(f"jvp: a tangent has shape {list(tangent.shape)}, its primal {list(x.shape)}.")
    levels = levels_of((x, tangent))
    value = lowered(x, levels)
    if value.layout.expanded:       # its tangent needs memory of its own at every position
        value = CALLS["contiguous_copy"](value)
    return lifted(make_dual(value, lowered(tangent, levels), level=level), levels)


def primal_and_tangent(x: Tensor, level: int, strict: bool) -> tuple[Tensor, Tensor]:
    """An output without its tangent, and that.

    Raises:
        GradError: it has none, and ``strict`` refuses that.
    """
    levels = x.levels if type(x) is Batched else ()
    primal, tangent = unpack_dual(value_of(x), level=level)
    if tangent is None:
        if strict:
            raise GradError("jvp: an output does not depend on the primals, which strict=True refuses.")
        tangent = CALLS["zeros_like"](primal)
    return lifted(primal, levels), lifted(tangent, levels)


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """``func(*primals)``, and the function that multiplies its Jacobian there with tangents.

    Returns:
        ``(output, jvp_fn)``; ``jvp_fn(*tangents)`` has the output's structure. ``func`` runs once: what the products need is recorded
        then, and each is the transpose of a pull-back, which is linear.

    Raises:
        GradError, ShapeError: as ``jvp``.

    >>> import nbgrad
    >>> output, push_forward = nbgrad.func.linearize(nbgrad.sin, nbgrad.tensor(0.0))
    >>> push_forward(nbgrad.tensor(2.0))
    tensor(2.)
    """
    output, pull_back = vjp(func, *primals)
    outputs, out_tree = tensor_leaves("linearize", output)

    def push_forward(*tangents: Any) -> Any:
        leaves, directions, _ = checked_directions(primals, tangents)
        for x, t in zip(leaves, directions):
            if x.shape != t.shape:
                raise ShapeError(f"linearize: a tangent has shape {list(t.shape)}, its primal {list(x.shape)}.")
        dummies = out_tree.unflatten([CALLS["zeros_like"](x.detach()) for x in outputs])
        _, transpose = vjp(lambda g: pull_back(g, create_graph=True), dummies)
        return transpose(tangents)[0]
    return output, push_forward


# ---- Jacobians and Hessians ----------------------------------------------------------------------------------------

def jacrev(func: Callable, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Callable:
    """A function that computes the Jacobian of ``func`` in reverse mode: a batch of pull-backs, one for every element of the output.

    Args:
        func: returns tensors; with ``has_aux`` a pair of those and anything else.
        argnums: the argument or arguments to differentiate by.
        chunk_size: so many pull-backs at a time; None: all at once.

    Returns:
        A function of the same arguments: for every output, of the output's structure, for every argument, of its structure, a tensor
        of shape ``output.shape + argument.shape``; a pair with what else ``func`` returned if ``has_aux``.

    Raises:
        GradError, RangeError: as ``grad``; a ``chunk_size`` below 1.

    >>> import nbgrad
    >>> nbgrad.func.jacrev(nbgrad.sin)(nbgrad.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise RangeError(f"jacrev: chunk_size is {chunk_size}, expected None or a number > 0.")

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = chosen_arguments("jacrev", args, argnums)
        output, pull_back, *aux = vjp(lambda x: func(*with_arguments(args, argnums, x), **kwargs), chosen, has_aux=has_aux)
        outputs, out_tree = tensor_leaves("jacrev", output)
        inputs, in_tree = flatten(chosen)
        bases = unit_batches(outputs)
        rows = vmap(lambda *g: flatten(pull_back(out_tree.unflatten(g))[0])[0], chunk_size=chunk_size)(*bases)
        made = out_tree.unflatten([in_tree.unflatten(blocks) for blocks in zip(*(row_blocks(row, x, outputs)
                                                                                 for row, x in zip(rows, inputs)))])
        return (made, aux[0]) if has_aux else made
    return jacobian


def unit_batches(tensors: list[Tensor]) -> list[Tensor]:
    """For every tensor a batch: all unit vectors of the tensors together, as many as they have elements, one behind the other."""
    total, first, batches = sum(x.numel() for x in tensors), 0, []
    for x in tensors:
        count = x.numel()
        part = eye(total, dtype=x.dtype)[:, first:first + count]
        batches.append(part.reshape((total, *x.shape)))
        first += count
    return batches


def row_blocks(rows: Tensor, x: Tensor, outputs: list[Tensor]) -> list[Tensor]:
    """The rows of a Jacobian, cut into those of single outputs."""
    parts = rows.split([each.numel() for each in outputs], 0)
    return [part.reshape((*each.shape, *x.shape)) for part, each in zip(parts, outputs)]


def jacfwd(func: Callable, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """A function that computes the Jacobian of ``func`` in forward mode: a batch of tangents, one for every element of the argument.

    Args:
        func, argnums, has_aux: as of ``jacrev``, whose result this has.
        randomness: what random operations in ``func`` do: see ``vmap``.

    >>> import nbgrad
    >>> nbgrad.func.jacfwd(nbgrad.sin)(nbgrad.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = chosen_arguments("jacfwd", args, argnums)
        inputs, in_tree = flatten(chosen)

        def of_leaves(*leaves: Tensor) -> Any:
            return func(*with_arguments(args, argnums, in_tree.unflatten(leaves)), **kwargs)
        blocks, out_tree, aux = columns_of(of_leaves, tuple(inputs), has_aux, randomness)
        made = out_tree.unflatten([in_tree.unflatten(row) for row in blocks])
        return (made, aux) if has_aux else made
    return jacobian


def columns_of(func: Callable, inputs: tuple, has_aux: bool = False, randomness: str = "error") -> tuple[list, Tree, Any]:
    """The blocks of a Jacobian, for every output by every input; the outputs' structure; what else ``func`` returned."""
    seen: list = []

    def push_forward(*directions: Tensor) -> list[Tensor]:
        output, tangents, *aux = jvp(func, inputs, directions, has_aux=has_aux)
        found, tree = flatten(tangents)
        seen[:] = [tree, *aux]
        return found

    for x in inputs:
        if not isinstance(x, Tensor):
            raise RangeError(f"jacfwd: expected tensors to differentiate by, got {type(x).__name__}.")
    columns = vmap(push_forward, randomness=randomness)(*unit_batches(list(inputs)))
    blocks = []
    for column in columns:
        shape = column.shape[1:]
        parts = column.movedim(0, -1).split([x.numel() for x in inputs], -1)
        blocks.append([part.reshape((*shape, *x.shape)) for part, x in zip(parts, inputs)])
    return blocks, seen[0], aux_outside(seen[1]) if has_aux else None


def aux_outside(aux: Any) -> Any:
    """What a mapped function returned beside its batch: it was the same for all of it."""
    return map_leaves(lambda x: lowered(x, x.levels).select(0, 0) if type(x) is Batched and not x.levels[-1].open else x, aux)


def forward_columns(func: Callable, inputs: tuple) -> tuple:
    """For every output of ``func`` a tuple of its Jacobians by every input."""
    blocks, _, _ = columns_of(func, inputs)
    return tuple(map(tuple, blocks))


def hessian(func: Callable, argnums: Argnums = 0) -> Callable:
    """A function that computes the Hessian of ``func``: the Jacobian, in forward mode, of the one in reverse mode.

    >>> import nbgrad
    >>> nbgrad.func.hessian(lambda x: (x ** 3).sum())(nbgrad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


# ---- modules as functions ------------------------------------------------------------------------------------------

def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Mapping[str, Any] | None = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:
    """Call a module with other tensors in the place of its parameters and buffers.

    Args:
        module: an nn.Module; it is as before afterwards.
        parameter_and_buffer_dicts: ``{dotted name: tensor}``, or a sequence of such dicts with different names.
        args: a tuple of positional arguments, or the only one.
        kwargs: named arguments.
        tie_weights: what one name is given, the other names of the same tensor get too.
        strict: refuse names that are missing or unknown.

    Returns:
        What the module returns.

    Raises:
        RangeError: no dicts, a name given twice, tied names given different tensors. GradError: see ``strict``.

    >>> import nbgrad
    >>> layer = nbgrad.nn.Linear(2, 1, bias=False)
    >>> nbgrad.func.functional_call(layer, {"weight": nbgrad.ones(1, 2)}, nbgrad.tensor([3.0, 4.0])).detach()
    tensor([7.])
    """
    given = joined_dicts(parameter_and_buffer_dicts)
    places = {name: (owner, attribute) for name, owner, attribute, _ in state_of(module)}
    if strict and set(places) != set(given):
        raise GradError(f"functional_call: missing {sorted(set(places) - set(given))}, unexpected {sorted(set(given) - set(places))}.")
    changes = with_ties(module, given) if tie_weights else given
    before = [(places[name], getattr(*places[name])) for name in changes if name in places]
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    try:
        for name, value in changes.items():
            if name in places:
                put(*places[name], value)
        return module(*args, **(kwargs or {}))
    finally:
        for place, value in before:
            put(*place, value)


def put(owner: Any, attribute: str, value: Any) -> None:
    """Set a registered attribute, whatever it is."""
    object.__setattr__(owner, attribute, value)


def state_of(module: Any) -> Iterator[tuple[str, Any, str, Tensor]]:
    """Name, owner, attribute and value of all parameters and buffers, under every name."""
    for path, owner in module.named_modules(remove_duplicate=False):
        for pairs in (owner.named_parameters(recurse=False, remove_duplicate=False), owner.named_buffers(recurse=False)):
            for attribute, value in pairs:
                yield f"{path}.{attribute}" if path else attribute, owner, attribute, value


def joined_dicts(dicts: Any) -> dict[str, Tensor]:
    """One dict of several.

    Raises:
        RangeError: no dicts, or a name in two of them.
    """
    many = [dicts] if isinstance(dicts, Mapping) else list(dicts) if isinstance(dicts, (list, tuple)) else None
    if many is None or not all(isinstance(each, Mapping) for each in many):
        raise RangeError("functional_call: expected a dict of parameters and buffers, or a list or tuple of dicts.")
    joined: dict[str, Tensor] = {}
    for each in many:
        twice = sorted(joined.keys() & each.keys())
        if twice:
            raise RangeError(f"functional_call: {twice} are given in more than one dict.")
        joined.update(each)
    return joined


def with_ties(module: Any, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors, also under the other names of those that they replace.

    Raises:
        RangeError: two names of one tensor are given different ones.
    """
    names_of: dict[int, list[str]] = {}
    for name, _, _, value in state_of(module):
        names_of.setdefault(id(value), []).append(name)
    changes = dict(given)
    for names in names_of.values():
        values = [given[name] for name in names if name in given]
        if any(value is not values[0] for value in values):
            raise RangeError(f"functional_call: {names} are one tensor in the module and are given different ones. "
                             "Hint: tie_weights=False.")
        if values:
            changes.update(dict.fromkeys(names, values[0]))
    return changes


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and buffers of several modules of one kind, stacked: for ``vmap`` of ``functional_call``.

    Returns:
        ``(parameters, buffers)``: by name the modules' tensors along a new first dimension; parameters are leaves that require grad as
        the modules' do.

    Raises:
        GradError: no modules, of different classes, or some of them in training and others not.

    >>> import nbgrad
    >>> layers = [nbgrad.nn.Linear(2, 3) for _ in range(4)]
    >>> parameters, buffers = nbgrad.func.stack_module_state(layers)
    >>> tuple(parameters["weight"].shape)
    (4, 3, 2)
    """
    models = list(models)
    if not models:
        raise GradError("stack_module_state: expected at least one module, got none.")
    if any(type(model) is not type(models[0]) for model in models):
        raise GradError("stack_module_state: the modules are of different classes.")
    if any(model.training is not models[0].training for model in models):
        raise GradError("stack_module_state: some modules are in training and others are not. Hint: call train() or eval() on all.")
    return (stacked([dict(model.named_parameters()) for model in models]), stacked([dict(model.named_buffers()) for model in models]))


def stacked(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The tensors of several dicts of the same names, along a new first dimension, as leaves."""
    made = {}
    for name, first in states[0].items():
        tensor = CALLS["stack"](tuple(each[name].detach() for each in states))
        made[name] = tensor.requires_grad_(first.requires_grad) if first.dtype.differentiable else tensor
    return made
