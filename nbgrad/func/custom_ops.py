"""``nbgrad.library``: functions of your own as operations, with a gradient and a rule for batches that are registered one by one.

An operation of this kind is a generated ``Function`` that asks its definition what to do, so that what is registered later holds
for it too. Nested arguments are flattened on the way: a Function knows tensors only where they stand alone.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, Callable, Iterable

from .. import ops
from ..autograd.function import Function
from ..base.calls import CALLS
from ..base.errors import ArgumentError, GradError
from ..base.grad_mode import mode as grad_mode
from ..graph.edges import requires_grad
from ..graph.writes import count_write
from ..methods.operation_namespaces import Operations
from ..methods.pytree import tree_any_only, tree_flatten, tree_leaves, tree_unflatten
from ..tensors.tensor import Tensor

__all__ = [
    "CustomOpDef",
    "custom_op",
    "get_ctx",
    "impl_abstract",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]

# Definitions by their qualified names.
DEFINITIONS: dict[str, CustomOpDef] = {}


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: str | Iterable[str] = (),
    device_types: Any = None,
    schema: Any = None,
) -> Any:
    """Make a function an operation: what it does inside is not recorded, its gradient is what ``register_autograd`` says.

    Args:
        name: ``"namespace::name"``; the operation is ``nbgrad.ops.namespace.name``, too.
        fn: the function, of tensors, lists of tensors and plain values; without it a decorator is returned.
        mutates_args: the names of arguments that it writes to; none of those may require a gradient.
        device_types: the kind or kinds of devices that ``fn`` is for; None: all.
        schema: of no effect; signatures are read from the function.

    Returns:
        CustomOpDef, which is called as the function is.

    Raises:
        ArgumentError: the name has no namespace, one that is taken, or ``mutates_args`` names no argument.

    >>> @nbgrad.library.custom_op("examples::cube", mutates_args=())
    ... def cube(x):
    ...     return nbgrad.asarray(x.numpy() ** 3)
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs)
    >>> def backward(ctx, g):
    ...     x, = ctx.saved_tensors
    ...     return 3 * x ** 2 * g
    >>> cube.register_autograd(backward, setup_context=setup_context)
    >>> x = nbgrad.tensor(2.0, requires_grad=True)
    >>> cube(x).backward()
    >>> x.grad
    tensor(12.)
    """

    def define(function: Callable) -> CustomOpDef:
        return CustomOpDef(name, function, mutates_args, device_types)

    return define if fn is None else define(fn)


class CustomOpDef:
    """An operation that ``custom_op`` made: call it as the function that it was made of.

    >>> double = nbgrad.library.custom_op("examples::double", lambda x: x * 2)
    >>> double, double(nbgrad.ones(2))
    (<CustomOpDef(examples::double)>, tensor([2., 2.]))
    """

    def __init__(self, name: str, function: Callable, mutates_args: str | Iterable[str], device_types: Any):
        namespace, colons, short = name.partition("::")
        if not (colons and namespace.isidentifier() and short.isidentifier()):
            raise ArgumentError(f"custom_op: {name!r} is no name of an operation. Hint: 'namespace::name'.")
        self.signature = inspect.signature(function)
        writes = (mutates_args,) if isinstance(mutates_args, str) else tuple(mutates_args)
        self.writes = tuple(self.signature.parameters) if writes == ("unknown",) else writes
        unknown = [each for each in self.writes if each not in self.signature.parameters]
        if unknown:
            raise ArgumentError(f"custom_op: mutates_args has {unknown[0]!r}, which is no argument of {name}{self.signature}.")
        self.tensors = tuple(name for name, each in self.signature.parameters.items() if is_tensor_alone(each))
        self.qualname, self.kernels = name, dict.fromkeys(kinds_of(device_types), function)
        self.fake: Callable | None = None
        self.backward: Callable | None = None
        self.setup_context: Callable | None = None
        self.batched: Callable | None = None
        self.default = self
        self.__name__, self.__doc__, self.__wrapped__ = short, function.__doc__, function
        publish(namespace, short, self)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.bind(args, kwargs)
        for name in self.writes:
            if grad_mode.enabled and tree_any_only(Tensor, requires_grad, bound.arguments[name]):
                raise GradError(f"{self.qualname}: {name} is written to, and requires a gradient. Hint: x.detach().")
        leaves, spec = tree_flatten((bound.args, bound.kwargs))
        return generated(self, spec).apply(*leaves)

    def bind(self, args: tuple, kwargs: dict) -> inspect.BoundArguments:
        """The arguments by their names, with the defaults.

        Raises:
            ArgumentError: they do not fit the signature, or one that is annotated as a Tensor is none.
        """
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self.qualname}: {error}; expected {self.signature}.") from None
        for name in self.tensors:
            if not isinstance(bound.arguments[name], Tensor):
                raise ArgumentError(f"{self.qualname}: {name} is {type(bound.arguments[name]).__name__}, expected a Tensor.")
        bound.apply_defaults()
        return bound

    def run(self, args: tuple, kwargs: dict) -> Any:
        """What the function of the arguments' device returns, which is to be new."""
        given = tensors_in((args, kwargs))
        kind = given[0].layout.device.type if given else "cpu"
        kernel = self.kernels.get(kind) or self.kernels.get("")
        if kernel is None:
            raise ArgumentError(
                f"{self.qualname}: there is no kernel for {kind!r}. Hint: @{self.__name__}.register_kernel({kind!r})."
            )
        written = [x._storage_ for x in self.written(args, kwargs)]
        versions = [each.version for each in written]
        result = kernel(*args, **kwargs)
        # Writes through the memory itself, as those of NumPy, go unseen: passes and captures are to know of them.
        for each, version in zip(written, versions):
            if each.version == version:
                count_write(each)
        memory = {id(x._storage_) for x in given}
        if any(id(x._storage_) in memory for x in tensors_in(result)):
            raise ArgumentError(f"{self.qualname}: a result lies in the memory of an argument. Hint: return x.clone().")
        return result

    def written(self, args: tuple, kwargs: dict) -> list[Tensor]:
        """The tensors among the arguments of ``mutates_args``."""
        if not self.writes:
            return []
        arguments = self.signature.bind(*args, **kwargs).arguments
        return [x for name in self.writes for x in tensors_in(arguments[name])]

    def register_kernel(self, device_types: Any, func: Callable | None = None, /) -> Callable:
        """The function for a kind of device (``"cpu"``, ``"cuda"``), or for several; a decorator without ``func``."""

        def register(function: Callable) -> Callable:
            self.kernels.update(dict.fromkeys(kinds_of(device_types), function))
            return function

        return register if func is None else register(func)

    def register_fake(self, fn: Callable, /) -> Callable:
        """A function that returns tensors like the results, without values: ``opcheck`` compares them; nothing else needs it."""
        self.fake = fn
        return fn

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """The gradient: ``backward(ctx, *cotangents)``, one for each argument; ``setup_context(ctx, inputs, output)`` saves."""
        self.backward, self.setup_context = backward, setup_context

    def register_vmap(self, func: Callable | None = None, /) -> Callable:
        """The rule for batches: ``func(info, in_dims, *args) -> (results, out_dims)``. Without one, elements are run one by one."""

        def register(function: Callable) -> Callable:
            self.batched = function
            return function

        return register if func is None else register(func)


def is_tensor_alone(parameter: inspect.Parameter) -> bool:
    """Whether an argument is annotated as one Tensor, and has to be given; annotations may be text."""
    if parameter.default is not parameter.empty or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return False
    kind = parameter.annotation
    return kind is Tensor or (isinstance(kind, str) and kind.rpartition(".")[2] == "Tensor")


def tensors_in(tree: Any) -> list[Tensor]:
    """The tensors among the leaves of a nested value."""
    return [x for x in tree_leaves(tree) if isinstance(x, Tensor)]


def kinds_of(device_types: Any) -> tuple[str, ...]:
    """The kinds of devices that an argument means; "" stands for all of them."""
    if device_types is None:
        return ("",)
    return (device_types,) if isinstance(device_types, str) else tuple(device_types)


def publish(namespace: str, name: str, definition: CustomOpDef) -> None:
    """Enter a definition, and hang it at ``nbgrad.ops.namespace.name``."""
    place = getattr(ops, namespace)
    if not isinstance(place, Operations):
        raise ArgumentError(f"custom_op: the namespace {namespace!r} is taken by nbgrad's own operations. Hint: another one.")
    setattr(place, name, definition)
    DEFINITIONS[definition.qualname] = definition


@cache
def generated(op: CustomOpDef, spec: Any) -> type[Function]:
    """The Function of an operation for arguments of one structure, of the leaves of that.

    It is kept here and not by the operation, whose attributes a capture that begins again puts back: the next one has to meet the
    same class, which left the graph before.
    """

    args, kwargs = tree_unflatten(range(spec.num_leaves), spec)
    counts, last = [len(tree_leaves(each)) for each in args], [None] * len(tree_leaves(kwargs))

    def forward(*leaves: Any) -> Any:
        return op.run(*tree_unflatten(leaves, spec))

    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        args, kwargs = tree_unflatten(inputs, spec)
        if op.setup_context is not None:
            op.setup_context(ctx, args, *((kwargs,) if kwargs else ()), output)

    def backward(ctx: Any, *cotangents: Any) -> tuple:
        if op.backward is None:
            raise GradError(f"{op.qualname}: has no gradient. Hint: {op.__name__}.register_autograd(backward, setup_context=...).")
        found = op.backward(ctx, *cotangents)
        return (*leaves_of(op, counts, found if isinstance(found, tuple) else (found,)), *last)

    def vmap(info: Any, in_dims: tuple, *leaves: Any) -> Any:
        if op.batched is None:
            return one_by_one(op, info.batch_size, in_dims, spec, leaves)
        args, kwargs = tree_unflatten(leaves, spec)
        return op.batched(info, tree_unflatten(in_dims, spec)[0], *args, **kwargs)

    methods = {each.__name__: staticmethod(each) for each in (forward, setup_context, backward, vmap)}
    return type(op.qualname.replace("::", "_"), (Function,), methods)


def leaves_of(op: CustomOpDef, counts: list[int], found: tuple) -> list:
    """The cotangents of the leaves of all arguments; None for one with several leaves stands for None of each.

    Raises:
        GradError: their number is another one.
    """
    if len(found) != len(counts):
        raise GradError(f"{op.qualname}: backward returned {len(found)} gradients, expected {len(counts)}: one for each argument.")
    flat: list = []
    for count, gradient in zip(counts, found):
        flat += [None] * count if gradient is None else [gradient] if count == 1 else list(gradient)
    return flat


def one_by_one(op: CustomOpDef, size: int, in_dims: tuple, spec: Any, leaves: tuple) -> tuple[Any, Any]:
    """The elements of a batch in turn, and their results as a batch along the first dimension."""
    runs = []
    for k in range(size):
        args, kwargs = tree_unflatten([x if dim is None else x.select(dim, k) for x, dim in zip(leaves, in_dims)], spec)
        runs.append(op(*args, **kwargs))
    if runs[0] is None:
        return None, None
    if isinstance(runs[0], (tuple, list)):
        return tuple(CALLS["stack"](parts) for parts in zip(*runs)), (0,) * len(runs[0])
    return CALLS["stack"](runs), 0


# ---- by name ---------------------------------------------------------------------------------------------------------


def definition_of(op: Any) -> CustomOpDef:
    """The operation itself, or that of a qualified name.

    Raises:
        ArgumentError: there is none.
    """
    found = op if isinstance(op, CustomOpDef) else DEFINITIONS.get(op)
    if found is None:
        raise ArgumentError(f"library: {op!r} is no operation that custom_op made. Hint: nbgrad.library.custom_op.")
    return found


def register_kernel(op: Any, device_types: Any, func: Callable | None = None, /, **others: Any) -> Callable:
    """``CustomOpDef.register_kernel`` of the operation, or of the name, ``op``.

    Raises:
        ArgumentError: there is no such operation.

    >>> half = nbgrad.library.custom_op("examples::half", lambda x: x / 2, device_types="cuda")
    >>> @nbgrad.library.register_kernel("examples::half", "cpu")
    ... def half_here(x):
    ...     return x * 0.5
    >>> half(nbgrad.ones(1))
    tensor([0.5000])
    """
    return definition_of(op).register_kernel(device_types, func)


def register_fake(op: Any, func: Callable | None = None, /, **others: Any) -> Callable:
    """``CustomOpDef.register_fake`` of the operation, or of the name, ``op``; a decorator without ``func``.

    >>> @nbgrad.library.custom_op("examples::pair", mutates_args=())
    ... def pair(x):
    ...     return nbgrad.stack([x, x])
    >>> @register_fake("examples::pair")
    ... def fake(x):
    ...     return x.new_empty((3, *x.shape))
    >>> opcheck(pair, (nbgrad.zeros(1),), raise_exception=False)["test_faketensor"]
    'the fake results are [((3, 1), nbgrad.float32)], the real ones [((2, 1), nbgrad.float32)]'
    """
    definition = definition_of(op)
    return definition.register_fake if func is None else definition.register_fake(func)


impl_abstract = register_fake  # torch's older name


def register_autograd(op: Any, backward: Callable, /, *, setup_context: Callable | None = None, **others: Any) -> None:
    """``CustomOpDef.register_autograd`` of the operation, or of the name, ``op``.

    Raises:
        ArgumentError: there is no such operation.

    >>> triple = nbgrad.library.custom_op("examples::triple", lambda x: x * 3)
    >>> nbgrad.library.register_autograd("examples::triple", lambda ctx, g: g * 3)
    >>> x = nbgrad.ones(1, requires_grad=True)
    >>> triple(x).backward()
    >>> x.grad
    tensor([3.])
    """
    definition_of(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Callable | None = None, /, **others: Any) -> Callable:
    """``CustomOpDef.register_vmap`` of the operation, or of the name, ``op``; a decorator without ``func``.

    >>> @nbgrad.library.custom_op("examples::double", mutates_args=())
    ... def double(x):
    ...     return nbgrad.asarray(x.numpy() * 2)
    >>> @register_vmap(double)
    ... def batched(info, in_dims, x):
    ...     return double(x), in_dims[0]
    >>> nbgrad.vmap(double)(nbgrad.ones(2))
    tensor([2., 2.])
    """
    return definition_of(op).register_vmap(func)


def opcheck(op: Any, args: tuple, kwargs: dict | None = None, *, raise_exception: bool = True, **others: Any) -> dict[str, str]:
    """Whether an operation keeps what its definition says, for these arguments.

    Returns:
        For each check ``"SUCCESS"`` or what is wrong: that only arguments of ``mutates_args`` are written to; that the function
        of ``register_fake`` returns the results' shapes and dtypes; that there is a gradient where one is asked for.

    Raises:
        ArgumentError: one fails, unless ``raise_exception`` is False.

    >>> @nbgrad.library.custom_op("examples::fill", mutates_args=())
    ... def fill(x, value):
    ...     x.fill_(value)
    >>> opcheck(fill, (nbgrad.zeros(2), 1.0), raise_exception=False)["test_schema"]
    'x is written to, and is not in mutates_args'
    """
    definition, kwargs = definition_of(op), kwargs or {}
    bound = definition.signature.bind(*args, **kwargs)
    before = {
        name: [x.detach().clone() for x in tensors_in(value)]
        for name, value in bound.arguments.items()
        if name not in definition.writes
    }
    result = definition(*args, **kwargs)
    changed = [name for name, copies in before.items() if not all(map(same, copies, tensors_in(bound.arguments[name])))]
    found = {
        "test_schema": f"{changed[0]} is written to, and is not in mutates_args" if changed else "SUCCESS",
        "test_faketensor": fake_difference(definition, args, kwargs, result),
    }
    asks = tree_any_only(Tensor, requires_grad, bound.arguments)
    missing = asks and definition.backward is None and not definition.writes
    found["test_autograd_registration"] = "no gradient is registered" if missing else "SUCCESS"
    wrong = [f"{name}: {text}" for name, text in found.items() if text != "SUCCESS"]
    if wrong and raise_exception:
        raise ArgumentError(f"opcheck: {definition.qualname}: " + "; ".join(wrong) + ".")
    return found


def same(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors of one layout have the same elements, NaN among them."""
    return bool(((x == y.detach()) | ((x != x) & (y.detach() != y.detach()))).all())


def fake_difference(definition: CustomOpDef, args: tuple, kwargs: dict, result: Any) -> str:
    """What the function of ``register_fake`` says otherwise than the operation does."""
    if definition.fake is None:
        return "SUCCESS"
    kinds = [[(tuple(x.shape), x.dtype) for x in tensors_in(each)] for each in (definition.fake(*args, **kwargs), result)]
    return "SUCCESS" if kinds[0] == kinds[1] else f"the fake results are {kinds[0]}, the real ones {kinds[1]}"


def get_ctx() -> Any:
    """torch's context of fake functions, which has sizes that depend on data: there is none here, as fakes are never needed.

    Raises:
        ArgumentError: always.
    """
    raise ArgumentError("library.get_ctx: fake functions have no context here. Hint: register_fake is for opcheck alone.")
