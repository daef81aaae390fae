"""What distributions share: shapes, checks of arguments, and families that are declared by their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, NotSupportedError, RangeError, ShapeError
from ..base.grad_mode import traces
from ..tensors.batch_levels import open_levels
from .constraints import Constraint, is_dependent

__all__ = [
    "REQUIRED",
    "Declared",
    "Distribution",
    "Family",
    "lazy",
    "noise",
    "options_of",
    "require",
    "tensors_of",
    "values_are_known",
]

Size = nbgrad.Size
EMPTY = Size()


class Distribution:
    """A distribution of events of shape ``event_shape``, one for each position of ``batch_shape``.

    A subclass of a program's own defines ``arg_constraints``, ``support``, ``log_prob`` and ``sample`` or ``rsample``.

    Args:
        validate_args: whether parameters and values are compared with the constraints; the default is True unless Python runs with
            ``-O``. Nothing is compared inside of ``compile`` and ``vmap``, where values are not known.

    Raises:
        RangeError: a parameter that does not satisfy its constraint; a ValueError too.

    >>> import nbgrad
    >>> class Certain(Distribution):
    ...     arg_constraints, support = {}, nbgrad.distributions.constraints.real
    ...     def sample(self, sample_shape=()):
    ...         return nbgrad.ones(sample_shape)
    >>> Certain().sample((2,))
    tensor([1., 1.])
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Choose whether arguments are checked where a distribution is not told.

        Raises:
            RangeError: no bool.
        """
        if value not in (True, False):
            raise RangeError(f"set_default_validate_args: expected a bool, got {value!r}.")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = EMPTY, event_shape: Any = EMPTY, validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args and values_are_known():
            self._check_parameters()

    def _constraints_of_arguments(self) -> dict[str, Any]:
        """What parameters have to satisfy as they are given."""
        return self.arg_constraints

    def _check_parameters(self) -> None:
        for name, constraint in self._constraints_of_arguments().items():
            value = vars(self).get(name)
            if isinstance(value, Tensor) and not is_dependent(constraint):
                require(f"{type(self).__name__}", f"the parameter {name}", value, constraint)

    # Shapes

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters: of distributions that are independent of one another."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = EMPTY) -> Size:
        """The shape of so many samples."""
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        return Size(shape + tuple(self._batch_shape) + tuple(self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution for a larger batch, to which the parameters are expanded.

        Raises:
            NotSupportedError: the class does not say how.
        """
        raise NotSupportedError(f"{type(self).__name__}.expand: it is not defined. Hint: define it in the subclass.")

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """What ``expand`` fills: an object of this class, of which no constructor runs.

        Raises:
            NotSupportedError: the class has a constructor of its own, beside that of ``cls``, and did not make the object itself.
        """
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotSupportedError(
                f"{type(self).__name__}.expand: the class has an __init__ of its own, which {cls.__name__}.expand does not know. "
                "Hint: define expand in the subclass."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _expanded_from(self, original: Distribution, batch_shape: Any) -> Any:
        """This object, whose parameters ``expand`` has filled in, with shapes: it is checked as its original, from now on."""
        Distribution.__init__(self, batch_shape, original._event_shape, validate_args=False)
        self._validate_args = original._validate_args
        return self

    # What a distribution has

    arg_constraints: Any = {}

    @property
    def support(self) -> Any:
        """The constraint that events satisfy."""
        raise self._lacks("support")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise self._lacks("mean")

    @property
    def mode(self) -> Tensor:
        """The most likely event."""
        raise self._lacks("mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise self._lacks("variance")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def _lacks(self, what: str) -> NotSupportedError:
        return NotSupportedError(f"{type(self).__name__}.{what}: it has no closed form here.")

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Draw events, of shape ``sample_shape + batch_shape + event_shape``; no gradient flows through them."""
        with nbgrad.no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``."""
        return self.sample((n,))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Draw events as ``sample``, as a differentiable function of the parameters.

        Raises:
            NotSupportedError: events are discrete, or no such function is known.
        """
        raise NotSupportedError(
            f"{type(self).__name__}.rsample: samples have no derivative by the parameters. Hint: sample(), and log_prob for a "
            "score-function estimator."
        )

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at events: of shape ``sample_shape + batch_shape``."""
        raise self._lacks("log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of events of at most ``value``."""
        raise self._lacks("cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The event below which the probability is ``value``."""
        raise self._lacks("icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All events, in a dimension in front of the batch's."""
        raise self._lacks("enumerate_support")

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape ``batch_shape``."""
        raise self._lacks("entropy")

    def perplexity(self) -> Tensor:
        """``exp(entropy())``."""
        return self.entropy().exp()

    def _validate_sample(self, value: Tensor, support: Constraint | None = None) -> None:
        """Refuse what is no event, or does not lie in the given region.

        Raises:
            RangeError: no tensor, or outside of the support. ShapeError: it does not broadcast to the shape of events.
        """
        name = type(self).__name__
        if not isinstance(value, Tensor):
            raise RangeError(f"{name}: the value is a {type(value).__name__}, expected a tensor. Hint: nbgrad.tensor(value).")
        events = len(self._event_shape)
        if tuple(value.shape[value.dim() - events :] if events else ()) != tuple(self._event_shape):
            raise ShapeError(
                f"{name}: the value has shape {list(value.shape)}, expected events of shape {list(self._event_shape)}."
            )
        expected = self._batch_shape + self._event_shape
        for size, wanted in zip(reversed(value.shape), reversed(expected)):
            if size != 1 and wanted != 1 and size != wanted:
                raise ShapeError(f"{name}: a value of shape {list(value.shape)} does not broadcast to {list(expected)}.")
        if not values_are_known():
            return
        if support is None:
            try:
                support = self.support
            except NotSupportedError:
                return
        require(name, "the value", value, support)

    def __repr__(self) -> str:
        return self._told(name for name in self.arg_constraints if name in vars(self))

    def _told(self, names: Iterable[str]) -> str:
        values = [(name, getattr(self, name)) for name in names]
        told = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in values)
        return f"{type(self).__name__}({told})"


def values_are_known() -> bool:
    """Whether values may be looked at: not inside of ``compile`` and ``vmap``."""
    return not (traces or open_levels)


OF_DISTRIBUTIONS = " Hint: validate_args=False does not look."


def require(owner: str, what: str, value: Tensor, constraint: Constraint, hint: str = OF_DISTRIBUTIONS) -> None:
    """Refuse values outside of a constraint.

    Args:
        hint: the end of the message.

    Raises:
        RangeError: there are some.
    """
    if value.is_meta:  # whose values nobody knows
        return
    valid = constraint.check(value.detach())
    if not bool(valid.all()):
        place = (~valid).nonzero()[0].tolist()
        events = value.shape[value.dim() - constraint.event_dim :]
        found = value.detach().expand(valid.shape + events)[tuple(place)].tolist()  # bounds may have more dimensions
        raise RangeError(
            f"{owner}: {what}, of shape {list(value.shape)}, is {found}{f' at {place}' if place else ''}, "
            f"expected values in {constraint}.{hint}"
        )


class lazy:
    """An attribute that is computed when it is first asked for, with recording on, and kept."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        with nbgrad.enable_grad():
            found = vars(owner)[self.name] = self.compute(owner)
        return found


def noise(kind: str, like: Tensor, shape: Any) -> Tensor:
    """Numbers of a standard distribution, of the dtype and on the device of a parameter.

    Args:
        kind: "normal"; "uniform", above 0 and below 1; "exponential".
    """
    if kind == "normal":
        return nbgrad.randn(tuple(shape), dtype=like.dtype, device=like.device)
    limits = nbgrad.finfo(like.dtype)
    uniform = nbgrad.rand(tuple(shape), dtype=like.dtype, device=like.device).clamp(limits.tiny, 1 - limits.eps / 2)
    return -uniform.log() if kind == "exponential" else uniform


def options_of(values: Iterable[Any]) -> dict[str, Any]:
    """The dtype and device of numbers that stand beside tensors: those of the first one."""
    like = next((value for value in values if isinstance(value, Tensor)), None)
    return {"dtype": nbgrad.get_default_dtype()} if like is None else {"dtype": like.dtype, "device": like.device}


def tensors_of(
    owner: str, values: Mapping[str, Any], parameters: Mapping[str, Constraint], optional: Container[str] = ()
) -> tuple[Size, dict[str, Tensor]]:
    """The shape that parameters broadcast to, beside what stands apart in each, and they as tensors of it.

    Numbers take dtype and device of those that are tensors; None: not given, which only those that are optional may be.

    Raises:
        RangeError: neither. ShapeError: too few dimensions, or they do not broadcast.
    """
    options = options_of(values.values())
    found, batches = {}, []
    for name, value in values.items():
        if value is None and name in optional:
            continue
        if not isinstance(value, Tensor):
            if not isinstance(value, (int, float)) and not hasattr(value, "__float__"):
                raise RangeError(f"{owner}: {name} is a {type(value).__name__}, expected a number or a tensor.")
            value = nbgrad.tensor(float(value), **options)
        dims = parameters[name].event_dim
        if value.dim() < dims:
            raise ShapeError(f"{owner}: {name} has shape {list(value.shape)}, expected at least {dims} dimensions.")
        found[name] = value
        batches.append(value.shape[: value.dim() - dims])
    try:
        batch = Size(nbgrad.broadcast_shapes(*batches))
    except RuntimeError:
        told = ", ".join(f"{name} {list(value.shape)}" for name, value in found.items())
        raise ShapeError(f"{owner}: the parameters do not broadcast: {told}.") from None
    for name, value in found.items():
        shape = batch + value.shape[value.dim() - parameters[name].event_dim :]
        found[name] = value if value.shape == shape else value.expand(shape)
    return batch, found


REQUIRED = inspect.Parameter.empty


class Declared:
    """Distributions that are declared: their constraints, and the arguments that they are made of.

    Attributes:
        parameters: a constraint for each name, in the order of arguments.
        defaults: values of parameters that need not be given.
        either: two parameters of which one is given; the other one is computed when it is asked for.
        settings: what else is given, before the parameters, and kept as it is: defaults by name, or ``REQUIRED``.
        arguments: the order of both, where it is another one.
        family: the class whose constructor this class has, or extends.
    """

    parameters: ClassVar[dict[str, Constraint]] = {}
    defaults: ClassVar[dict[str, Any]] = {}
    either: ClassVar[tuple[str, ...]] = ()
    settings: ClassVar[dict[str, Any]] = {}
    arguments: ClassVar[tuple[str, ...]] = ()
    family: ClassVar[type]
    arg_constraints: Any

    def __init_subclass__(cls, shared: bool = False, **options: Any) -> None:
        """Give a class its constraints, and a constructor for its arguments unless it has one.

        Args:
            shared: the class is what several families share. It has no constructor, so that ``super(Normal, self).__init__`` is
                that of ``Distribution``, to which subclasses of programs pass shapes.
        """
        super().__init_subclass__(**options)
        if "parameters" in vars(cls) and "arg_constraints" not in vars(cls):
            cls.arg_constraints = cls.parameters
        if not shared and "__init__" not in vars(cls) and ("parameters" in vars(cls) or not hasattr(cls, "family")):
            cls.family = cls
            cls.__init__ = constructor(cls)  # type: ignore[method-assign]

    def _constraints_of_arguments(self) -> dict[str, Any]:
        return self.parameters

    def fill(self, values: dict[str, Any], validate_args: bool | None) -> None:
        """What the constructor does with parameters by name; None: not given."""
        raise NotImplementedError


def constructor(family: type[Declared]) -> Callable[..., None]:
    """``__init__`` of a family: the arguments that it declares."""
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    defaults = {**dict.fromkeys(family.either), **family.settings, **family.defaults, "validate_args": None}
    order = family.arguments or (*family.settings, *family.parameters)
    names = ("self", *order, "validate_args")
    signature = inspect.Signature([inspect.Parameter(name, keyword, default=defaults.get(name, REQUIRED)) for name in names])

    def __init__(self: Declared, *args: Any, **options: Any) -> None:
        try:
            given = signature.bind(self, *args, **options)
        except TypeError as error:
            raise ArgumentError(f"{type(self).__name__}: {error}, expected {', '.join(order)}.") from None
        given.apply_defaults()
        _, *values = given.args
        named = dict(zip(names[1:], values))
        for name in family.settings:
            setattr(self, name, named.pop(name))
        validate_args = named.pop("validate_args")
        family.fill(self, named, validate_args)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{family.__qualname__}.__init__"
    return __init__


class Family(Declared, Distribution, shared=True):
    """Declared distributions with formulas.

    The parameters broadcast together; of one whose constraint has an ``event_dim``, so many last dimensions stand apart, and the
    last parameter of that kind gives ``event_shape`` its dimensions if the support has some. A subclass has ``log_density(value)``,
    and where there are some ``cumulative(value)`` and ``quantile(value)``, or ``draw(shape)`` where there is no quantile; ``mean``,
    ``variance`` and the others are properties.
    """

    if TYPE_CHECKING:

        def __init__(self, *args: Any, **options: Any) -> None:
            """Of the arguments that a family declares."""

        def __getattr__(self, name: str) -> Any:
            """Parameters are attributes."""

    def fill(self, values: dict[str, Any], validate_args: bool | None) -> None:
        """Take parameters by name; None: not given.

        Raises:
            RangeError: both or none of ``either``. ShapeError: they do not broadcast.
        """
        name = type(self).__name__
        if self.either and sum(values[each] is not None for each in self.either) != 1:
            raise RangeError(f"{name}: expected one of {' and '.join(self.either)}, got both or none.")
        batch, tensors = tensors_of(name, values, self.parameters, optional={*self.either, *self.defaults})
        vars(self).update(tensors)
        super().__init__(batch, self.event_of({each: x.shape[len(batch) :] for each, x in tensors.items()}), validate_args)

    def event_of(self, events: dict[str, Any]) -> Any:
        """``event_shape``, of the parameters' last dimensions."""
        dims = self.support.event_dim if isinstance(self.support, Constraint) else 0
        return next((shape for shape in reversed(events.values()) if len(shape) == dims), EMPTY) if dims else EMPTY

    @property
    def param(self) -> Tensor:
        """A parameter, of ``either`` if there are two: for its shape, dtype and device."""
        return next(vars(self)[name] for name in self.either or self.parameters if name in vars(self))

    _param = param

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given, with the batch's."""
        if not self.either:
            raise AttributeError(f"{type(self).__name__} has no attribute 'param_shape': it has no parameter of two forms.")
        return self.param.size()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new, batch = self._get_checked_instance(self.family, _instance), Size(batch_shape)
        for name in self.settings:
            setattr(new, name, getattr(self, name))
        for name, constraint in self.parameters.items():
            if name in vars(self):
                value = vars(self)[name]
                setattr(new, name, value.expand(batch + value.shape[value.dim() - constraint.event_dim :]))
        return new._expanded_from(self, batch)

    def ahead(self, shape: Size) -> Size:
        """Of the shape of samples, what is before the batch's."""
        return shape[: len(shape) - len(self._batch_shape) - len(self._event_shape)]

    def draw(self, shape: Size) -> Tensor:
        """Events of that shape: where a family has no way of its own, the quantiles of uniform numbers."""
        return self.quantile(noise("uniform", self.param, shape))

    def log_density(self, value: Tensor) -> Tensor:
        """``log_prob`` of an event."""
        raise self._lacks("log_prob")

    def cumulative(self, value: Tensor) -> Tensor:
        """``cdf`` of an event."""
        raise self._lacks("cdf")

    def quantile(self, value: Tensor) -> Tensor:
        """``icdf`` of a probability."""
        raise self._lacks("icdf")

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        with nbgrad.no_grad():
            return self.draw(self._extended_shape(sample_shape))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        return self.draw(self._extended_shape(sample_shape)) if self.has_rsample else super().rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.log_density(value)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args and type(self).cumulative is not Family.cumulative:
            self._validate_sample(value)
        return self.cumulative(value)

    def icdf(self, value: Tensor) -> Tensor:
        return self.quantile(value)
