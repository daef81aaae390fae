"""Random programs of views, writes, moves in place, detaches, hooks, Functions and ``no_grad`` regions, against a replay in NumPy.

The oracle is forward mode on plain arrays. A ``Mirror`` stands for a tensor: ``memory`` holds the values and is shared
by every alias; ``jacobian`` holds the derivative of each place in memory by all leaf elements *as autograd sees it* and
is shared by views but not by ``detach()``; ``index`` says which places the tensor shows. A recorded write changes both
arrays, a write under ``no_grad`` the values alone. That is the whole semantics of views and in-place writes, so a
program's values and gradients follow from it without bases, versions or graphs.

Two ways to run a program. *Guarded*: each op works on clones of its operands, so nothing that was saved can change, and
every error is a failure. *Bare*: operands are used as they are, and backward may also refuse because a saved tensor was
modified; it may never be wrong.

    NBGRAD_FUZZ=5000 pytest tests/autograd/test_random_programs.py        more programs
    NBGRAD_FUZZ_SEED=17 pytest tests/autograd/test_random_programs.py     one program again
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

import nbgrad

F64 = nbgrad.float64
PROGRAMS = int(os.environ.get("NBGRAD_FUZZ", "60"))
STEPS = 14
LARGEST = 48  # elements a tensor; expand stops there


# ---- the oracle ------------------------------------------------------------------------------------------------------
def cancelled(slope, depends):
    """A derivative that came to 0 although there is one, as what NaN still passes through."""
    return np.where((slope == 0) & depends, 1e-200, slope)


@dataclass
class Dual:
    """A value and its derivative by all leaf elements, one more axis at the end."""

    value: np.ndarray
    slope: np.ndarray

    def scaled(self, factor):
        """The derivative times a number for each element; what does not depend on a leaf does not where it is NaN either."""
        return np.where(self.slope == 0, 0.0, factor[..., None] * self.slope)

    def map(self, f, derivative):
        """Apply an elementwise function."""
        return Dual(f(self.value), self.scaled(derivative(self.value)))

    def __add__(self, other):
        return Dual(self.value + other.value, cancelled(self.slope + other.slope, (self.slope != 0) | (other.slope != 0)))

    def __mul__(self, other):
        first, second = self.scaled(other.value), other.scaled(self.value)
        return Dual(self.value * other.value, cancelled(first + second, (first != 0) | (second != 0)))

    def chosen(self, mask, other):
        """The elements of this one where ``mask``, else those of ``other``; 0, what the other one gets, times NaN is NaN."""
        mask_of_slopes, (first, second) = mask[..., None], np.broadcast_arrays(self.slope, other.slope)
        slope, left_out = np.where(mask_of_slopes, first, second), np.where(mask_of_slopes, second, first)
        return Dual(np.where(mask, self.value, other.value), np.where(np.isnan(left_out), np.nan, slope))

    def constant(self):
        """The same value without a derivative."""
        return Dual(self.value, np.zeros_like(self.slope))

    def sum(self, dim):
        """Sum over a non-negative dimension."""
        return Dual(self.value.sum(dim), cancelled(self.slope.sum(dim), (self.slope != 0).any(dim)))


@dataclass
class Mirror:
    """What the module's docstring says; ``index`` is a strided view of ``arange(memory.size)``."""

    memory: np.ndarray
    jacobian: np.ndarray
    index: np.ndarray

    @classmethod
    def of(cls, dual, strides):
        """New memory that holds ``dual`` in the layout of ``strides`` (in elements, which do not overlap; there may be gaps)."""
        places = np.arange(1 + sum((size - 1) * stride for size, stride in zip(dual.value.shape, strides)))
        index = np.lib.stride_tricks.as_strided(places, dual.value.shape, [s * places.itemsize for s in strides])
        mirror = cls(np.empty(places.size), np.empty((places.size, dual.slope.shape[-1])), index)
        mirror.write(dual)
        return mirror

    def read(self):
        """The present value and derivative."""
        return Dual(self.memory[self.index], self.jacobian[self.index])

    def write(self, dual, recorded=True):
        """Store ``dual``, broadcast; unrecorded, the derivative stays what it was."""
        self.memory[self.index] = dual.value
        if recorded:
            self.jacobian[self.index] = dual.slope

    def view(self, index):
        """Other places of the same memory and history."""
        return Mirror(self.memory, self.jacobian, index)

    def detach(self):
        """The same memory under a history of its own."""
        return Mirror(self.memory, np.zeros_like(self.jacobian), self.index)

    def writable(self):
        """Whether each place is shown once."""
        return np.unique(self.index).size == self.index.size

    def overlaps(self, other):
        """Whether some place of memory is shown by both."""
        return self.memory is other.memory and np.intersect1d(self.index, other.index).size > 0


UNARY = {
    "sin": (np.sin, np.cos),
    "neg": (np.negative, lambda v: np.full_like(v, -1.0)),
    "tanh": (np.tanh, lambda v: 1 - np.tanh(v) ** 2),
    "atan": (np.arctan, lambda v: 1 / (1 + v * v)),
}
BINARY = {"add": lambda x, y: x + y, "mul": lambda x, y: x * y, "copy": lambda x, y: y}
OVERWRITES_WHAT_IT_SAVED = {"tanh"}  # its in-place form saves the result, which a later write may change


# ---- the machine -----------------------------------------------------------------------------------------------------
@dataclass
class Slot:
    """A tensor, its mirror and its name; ``frozen`` marks leaves and their views, which refuse recorded writes."""

    tensor: object
    mirror: Mirror
    name: str
    frozen: bool = False


def random_view(rng, shape):
    """A view of a tensor of ``shape``: its text, and a function that does it to a tensor or an index array."""
    choices = [key_view, key_view, reshape_view]
    if len(shape) >= 2:
        choices += [transpose_view, diagonal_view]
    if rng.random() < 0.2 and np.prod(shape):
        choices += [strided_view, windows_view]
    if 2 * np.prod(shape) <= LARGEST:
        choices.append(expand_view)
    return rng.choice(choices)(rng, shape)


def key_view(rng, shape):
    """Basic indexing: a slice, an integer or a new axis in one dimension."""
    dim = rng.randrange(len(shape) + 1)
    key = [slice(None)] * dim
    if dim == len(shape):
        key.append(None)
    elif not shape[dim] or rng.random() < 0.03:
        key.append(slice(shape[dim], None))
    elif rng.random() < 0.4:
        key.append(rng.randrange(shape[dim]))
    else:
        start = rng.randrange(shape[dim])
        key.append(slice(start, rng.randrange(start, shape[dim]) + 1, rng.choice([1, 1, 2])))
    key = (*key, Ellipsis)
    return f"[{key}]", lambda t: t[key]


def reshape_view(rng, shape):
    """A reshape to one or two dimensions; a view or a copy as strides decide."""
    size = int(np.prod(shape))
    if not size:
        return ".reshape((2, 0))", lambda t: t.reshape((2, 0))
    rows = rng.choice([n for n in range(1, size + 1) if size % n == 0])
    target = rng.choice([(size,), (rows, size // rows)])
    return f".reshape({target})", lambda t: t.reshape(target)


def transpose_view(rng, shape):
    """Two dimensions exchanged."""
    a, b = rng.sample(range(len(shape)), 2)
    return f".transpose({a}, {b})", lambda t: t.swapaxes(a, b) if isinstance(t, np.ndarray) else t.transpose(a, b)


def diagonal_view(rng, shape):
    """A diagonal over two dimensions."""
    a, b = rng.sample(range(len(shape)), 2)
    return f".diagonal(0, {a}, {b})", lambda t: t.diagonal(0, a, b)


def strided_view(rng, shape):
    """``as_strided``: of the elements that a tensor shows those that lie at random strides from a random one, at most nine."""
    steps, first = [rng.randrange(4), rng.randrange(1, 4)], rng.random()

    def view(t, index):
        """The view; ``index`` says which places the tensor shows."""
        own = set(index.flat)
        start = sorted(own)[int(first * len(own))]
        size = [1, 1]
        for dim in (1, 0):
            while size[dim] < 3 and all(
                start + i * steps[0] + j * steps[1] in own for i in range(size[0] + (dim == 0)) for j in range(size[1] + (dim == 1))
            ):
                size[dim] += 1
        if isinstance(t, np.ndarray):
            at = np.argwhere(t == start)[0]
            return np.lib.stride_tricks.as_strided(t[(*at, ...)], size, [step * t.itemsize for step in steps])
        return t.as_strided(size, steps, t.storage_offset() + int(start - index[(0,) * index.ndim]))

    view.needs_index = True
    return f".as_strided(from {first:.2f}, {steps})", view


def windows_view(rng, shape):
    """``unfold``: windows of a dimension, which may overlap, as another one at the end."""
    if not shape:
        return ".unfold(0, 1, 1)", lambda t: t[None] if isinstance(t, np.ndarray) else t.unfold(0, 1, 1)
    dim = rng.randrange(len(shape))
    size, step = rng.randrange(shape[dim]) + 1, rng.choice([1, 1, 2])

    def view(t):
        """The windows."""
        if not isinstance(t, np.ndarray):
            return t.unfold(dim, size, step)
        windows = np.lib.stride_tricks.sliding_window_view(t, size, dim, writeable=True)
        return windows[(slice(None),) * dim + (slice(None, None, step),)]

    return f".unfold({dim}, {size}, {step})", view


def expand_view(rng, shape):
    """A leading dimension of stride 0."""
    target = (2, *shape)
    return f".expand({target})", lambda t: np.broadcast_to(t, target) if isinstance(t, np.ndarray) else t.expand(target)


def random_pieces(rng, name, shape):
    """A tensor cut in pieces, which nobody may write to, and put together at once in another order: text and function."""
    dim, kind, seed = rng.randrange(len(shape)), rng.choice(["unbind", "split", "chunk"]), rng.random()

    def exchanged(t):
        """The pieces in the order that ``seed`` stands for."""
        length = {"unbind": 1, "split": 2, "chunk": -(-shape[dim] // 2)}[kind]
        if isinstance(t, np.ndarray):
            pieces = np.split(t, range(length, max(shape[dim], 1), max(length, 1)), dim)
        elif kind == "unbind":
            pieces = [piece.unsqueeze(dim) for piece in t.unbind(dim)]
        else:
            pieces = t.split(2, dim) if kind == "split" else t.chunk(2, dim)
        pieces = random.Random(seed).sample([*pieces], len(pieces))
        return np.concatenate(pieces, dim) if isinstance(t, np.ndarray) else nbgrad.cat(pieces, dim) if pieces else t * 1

    return f"cat({name}.{kind}({dim}), in another order)", exchanged


def seen(f, t, mirror):
    """What a function of ``random_view`` makes of a tensor, or index array, that shows the places of ``mirror``."""
    return f(t, mirror.index) if getattr(f, "needs_index", False) else f(t)


class Scaled(nbgrad.Function):
    """x times a number, with attributes of all kinds on its node."""

    @staticmethod
    def forward(ctx, x, factor):
        for k, name in enumerate(("outputs", "edges", "plan", "meta", "seq", "rule", "storage", "attrs", "s0", "v0", "freed")):
            setattr(ctx, name, (x, factor, {"k": k}, None)[k % 4])
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None

    @staticmethod
    def jvp(ctx, t, _):
        return t * ctx.factor


class Doubled(nbgrad.Function):
    """Twice x, in its own memory."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2

    @staticmethod
    def jvp(ctx, t):
        return t.mul_(2)


class Several(nbgrad.Function):
    """2 x, the floor of x without a derivative, and sin(x); cotangents that nobody sent are None."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        out = x * 2, x.floor(), x.sin()
        ctx.mark_non_differentiable(out[1])
        return out

    @staticmethod
    def backward(ctx, *gs):
        assert gs[1] is None
        (x,) = ctx.saved_tensors
        shares = [g * slope for g, slope in zip(gs, (2, 0, x.cos())) if g is not None]
        return sum(shares[1:], shares[0]) if shares else None

    @staticmethod
    def jvp(ctx, t):
        return t * 2, None, t * ctx.saved_tensors[0].cos()


RESULTS = [(lambda v: 2 * v, lambda v: np.full_like(v, 2.0)), (np.floor, None), (np.sin, np.cos)]  # of Several


def with_a_pass(factor):
    """A hook that runs a pass of its own, and multiplies by what that comes to."""

    def hook(g):
        with nbgrad.enable_grad():
            y = g.detach().clone().requires_grad_()
            (y * factor).sum().backward()
        return g * y.grad

    return hook


# Hooks that multiply a cotangent: each registers one and returns its handle.
HOOKS = {
    "hook with a pass of its own": lambda t, factor: t.register_hook(with_a_pass(factor)),
    "hook": lambda t, factor: t.register_hook(lambda g: g * factor),
    "hook that writes": lambda t, factor: t.register_hook(lambda g: g.clone().mul_(factor)),
    "node's hook": lambda t, factor: t.grad_fn.register_hook(lambda grads, _: tuple(g * factor for g in grads)),
    "node's pre-hook": lambda t, factor: t.grad_fn.register_prehook(lambda grads: tuple(g * factor for g in grads)),
}


# Ways through complex numbers and back, as views: text, function, and the factor that they come to.
PARTS = [
    (".to(complex128).real", lambda t: t.to(nbgrad.complex128).real.to(t.dtype), 1.0),
    (" * 1j, .imag", lambda t: (t * 1j).imag, 1.0),
    (" * 1j, .conj().imag", lambda t: (t * 1j).conj().imag, -1.0),
    (" * 1j, view_as_real()[..., 1]", lambda t: nbgrad.view_as_real(t * 1j)[..., 1], 1.0),
]


class Machine:
    """Runs steps on tensors and mirrors in lockstep.

    A step is a seed: it draws its choices from the present state, so that any sublist of a program is a program.

    Args:
        guarded: give each op clones of its operands.
        pure: leave out ``detach``, ``no_grad`` and hooks, so that derivatives are those of the values.
        shift: added to x[0, 0].
        dual: give x[0, 0] the tangent 1; a dual level is open.
        dtype: of all tensors; the mirrors are of float64.
        missing: whether an element of each leaf is NaN; then nothing is overwritten, because 0 times NaN is NaN to what was,
            and the gradients by these elements are not looked at.
        backward: whether all passes are of ``backward()``, which checkpoints with ``use_reentrant=True`` ask for.
    """

    def __init__(self, guarded, pure=False, shift=0.0, dual=False, dtype=F64, missing=False, backward=False):
        self.guarded, self.pure, self.text, self.slots, self.dtype, self.missing = guarded, pure, [], [], dtype, missing
        self.backward = backward
        rng = random.Random(0)
        shapes = {"x": (2, 3), "w": (3,)}
        self.width = sum(int(np.prod(shape)) for shape in shapes.values())
        eye, at = np.eye(self.width), 0
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            value = np.array([rng.uniform(-1, 1) for _ in range(size)]).reshape(shape)
            value.flat[0] += shift if name == "x" else 0.0
            if missing:
                value.flat[1] = np.nan
            tensor = nbgrad.tensor(value.tolist(), dtype=dtype)
            if name == "w":  # a leaf behind the start of its memory, with gaps between its elements
                tensor = nbgrad.zeros(2 * size + 1, dtype=dtype)[1::2].detach().copy_(tensor)
            tensor.requires_grad_()
            if dual and name == "x":
                tensor = nbgrad.forward_ad.make_dual(tensor, nbgrad.tensor(eye[0, :size].reshape(shape)))
            self.add(tensor, Dual(value, eye[at : at + size].reshape(*shape, self.width)), frozen=True, name=name)
            at += size
        self.leaves = list(self.slots)
        x, w = self.leaves
        self.add(x.tensor * 1, x.mirror.read(), text="x * 1")
        self.add(w.tensor * 1, w.mirror.read(), text="w * 1")
        self.add(nbgrad.ones((3, 2), dtype=dtype), Dual(np.ones((3, 2)), np.zeros((3, 2, self.width))), text="ones(3, 2)")

    def add(self, tensor, content, text=None, frozen=False, name=None):
        """A new slot; ``content`` is the Mirror of a view or the Dual of a tensor with new memory."""
        mirror = content if isinstance(content, Mirror) else Mirror.of(content, tensor.stride())
        slot = Slot(tensor, mirror, name or f"t{len(self.slots)}", frozen)
        self.slots.append(slot)
        if text:
            self.text.append(f"{slot.name} = {text}")

    def step(self, seed):
        """One random step."""
        rng = random.Random(seed)
        slot = rng.choice(self.slots)
        kinds = {
            self.take_view: 35,
            self.write: 0 if self.missing else 40,
            self.compute: 20,
            self.detach: 0 if self.pure else 5,
            self.hook: 0 if self.pure else 4,
            self.move: 8,
            self.resize: 2,
            self.cut: 0 if self.pure else 2,
        }
        rng.choices(list(kinds), list(kinds.values()))[0](rng, slot)

    def take_view(self, rng, slot):
        """Add a view (or the copy that a reshape had to make)."""
        text, f = random_view(rng, slot.mirror.index.shape)
        self.add(seen(f, slot.tensor, slot.mirror), self.viewed(slot.mirror, f), slot.name + text, slot.frozen)

    def viewed(self, mirror, f):
        """The mirror of a view, or the content of a copy where NumPy's reshape had to make one."""
        index = seen(f, mirror.index, mirror)
        if np.shares_memory(index, mirror.index) or not index.size:
            return mirror.view(index)
        content = mirror.read()
        return Dual(f(content.value), content.slope.reshape(*index.shape, self.width))

    def detach(self, rng, slot):
        """Add a detached alias, which may be written to even where it is a leaf's."""
        self.add(slot.tensor.detach(), slot.mirror.detach(), f"{slot.name}.detach()")

    def move(self, rng, slot):
        """Give the slot's tensor itself another order of dimensions, or one of size 1 more or fewer."""
        shape, tensor = slot.mirror.index.shape, slot.tensor
        if slot.frozen:
            return
        ones = [d for d, size in enumerate(shape) if size == 1]
        if len(shape) >= 2 and rng.random() < 0.7:
            a, b = rng.sample(range(len(shape)), 2)
            text, index, moved = f"transpose_({a}, {b})", slot.mirror.index.swapaxes(a, b), tensor.transpose_(a, b)
        elif ones and rng.random() < 0.5:
            dim = rng.choice(ones)
            text, index, moved = f"squeeze_({dim})", slot.mirror.index.squeeze(dim), tensor.squeeze_(dim)
        else:
            dim = rng.randrange(len(shape) + 1)
            text, index, moved = f"unsqueeze_({dim})", np.expand_dims(slot.mirror.index, dim), tensor.unsqueeze_(dim)
        assert moved is tensor
        slot.mirror = slot.mirror.view(index)
        self.text.append(f"{slot.name}.{text}")

    def resize(self, rng, slot):
        """``resize_`` to the shape that the tensor has: nothing happens, whatever its layout."""
        if not slot.tensor.requires_grad:
            before = slot.tensor._version
            slot.tensor.resize_(slot.tensor.shape)
            assert slot.tensor._version == before
            self.text.append(f"{slot.name}.resize_(same)")

    def cut(self, rng, slot):
        """``detach_``: the tensor loses its history, its views keep theirs; recorded writes to either are not for this test."""
        if slot.frozen or slot.tensor._base is not None:
            return
        for other in self.slots:  # a view older than what was written is refused afterwards
            assert other.tensor._base is not slot.tensor or other.tensor.requires_grad == (other.tensor.grad_fn is not None)
        slot.tensor.detach_()
        slot.mirror, slot.frozen = slot.mirror.detach(), True
        for other in self.slots:
            other.frozen |= other.tensor._base is slot.tensor
        self.text.append(f"{slot.name}.detach_()")

    def hook(self, rng, slot):
        """Add a clone with hooks that scale its cotangent, of its own or of its node; one of them has been removed again."""
        tensor, content, factor, kind = slot.tensor.clone(), slot.mirror.read(), rng.uniform(-2, 2), rng.choice(list(HOOKS))
        text = f"{slot.name}.clone() with a {kind} that multiplies by {factor}"
        if tensor.requires_grad:
            removed = HOOKS[kind](tensor, 1e3)
            HOOKS[kind](tensor, factor)
            if rng.random() < 0.5:
                tensor.retain_grad()
            removed.remove()
            content = Dual(content.value, content.slope * factor)
        self.add(tensor, content, text)

    def operand(self, tensor, copy):
        """The tensor as an op gets it: a clone in a guarded program, or where memory would overlap."""
        return tensor.clone() if self.guarded or copy else tensor

    def compute(self, rng, slot):
        """Add the result of an out-of-place op, sometimes under ``no_grad``."""
        silent = rng.random() < 0.2 and not self.pure
        content, name = slot.mirror.read(), slot.name
        region = rng.choice([nbgrad.no_grad, nbgrad.no_grad, nbgrad.inference_mode]) if silent else contextlib.nullcontext
        with region():
            tensor = self.operand(slot.tensor, False)
            choice = rng.choice(
                [*UNARY, "sum", "with", "with", "function", "complex", "integers", "where", "several", "checkpoint", "pieces"]
            )
            if choice == "function":
                factor = rng.uniform(-2, 2)
                tensor, text = Scaled.apply(tensor, factor), f"Scaled.apply({name}, {factor})"
                content = content.map(lambda v: v * factor, lambda v: np.full_like(v, factor))
            elif choice == "complex" and not silent:  # a view of a complex tensor, of which it shows one part
                text, f, sign = rng.choice(PARTS)
                tensor, text = f(tensor), name + text
                content = content.map(lambda v: v * sign, lambda v: np.full_like(v, sign))
            elif choice == "integers":  # an operand that nothing is differentiated by
                factors = np.array([rng.choice([-2, -1, 1, 3]) for _ in range(content.value.size)]).reshape(content.value.shape)
                tensor, text = tensor * nbgrad.tensor(factors), f"{name} * integers"
                content = content.map(lambda v: v * factors, lambda v: factors * np.ones_like(v))
            elif choice == "several":
                k = rng.randrange(3)
                tensor, text = Several.apply(tensor)[k], f"Several.apply({name})[{k}]"
                value, slope = RESULTS[k]
                content = content.map(value, slope) if slope else Dual(value(content.value), content.constant().slope)
            elif choice == "checkpoint":
                reentrant = self.backward and rng.random() < 0.3 and tensor.requires_grad and not silent
                tensor = nbgrad.checkpoint(lambda t: t.sin() * t, tensor, use_reentrant=reentrant)
                text = f"checkpoint(sin(t) * t, {name}, use_reentrant={reentrant})"
                content = content.map(lambda v: np.sin(v) * v, lambda v: np.cos(v) * v + np.sin(v))
            elif choice == "pieces" and content.value.ndim:
                text, f = random_pieces(rng, name, content.value.shape)
                tensor, content = f(tensor), Dual(f(content.value), f(content.slope))
            elif choice == "where":
                other, shape = self.partner(rng, content.value.shape), content.value.shape
                mask = np.array(rng.choices([False, True], k=content.value.size), bool).reshape(shape)
                tensor = nbgrad.where(nbgrad.tensor(mask), tensor, self.operand(other.tensor, False))
                text = f"where(mask, {name}, {other.name})"
                content = content.chosen(mask, other.mirror.read())
            elif choice in UNARY:
                tensor, content, text = getattr(tensor, choice)(), content.map(*UNARY[choice]), f"{name}.{choice}()"
            elif choice == "sum" and content.value.ndim:
                dim = rng.randrange(content.value.ndim)
                tensor, content, text = tensor.sum(dim), content.sum(dim), f"{name}.sum({dim})"
            else:
                other, op = self.partner(rng, content.value.shape), rng.choice(["add", "mul"])
                tensor = getattr(tensor, op)(self.operand(other.tensor, False))
                content, text = BINARY[op](content, other.mirror.read()), f"{name}.{op}({other.name})"
            result = self.operand(tensor, False)
        if result.is_inference():
            result = result.clone()
        self.add(result, content.constant() if silent else content, text + f"  # {region.__name__}" * silent)

    def partner(self, rng, shape):
        """A slot that broadcasts to ``shape``."""

        def fits(slot):
            with contextlib.suppress(ValueError):
                return np.broadcast_shapes(slot.mirror.index.shape, shape) == shape
            return False

        return rng.choice([slot for slot in self.slots if fits(slot)] or [self.scalar()])

    def scalar(self):
        """A zero-dim view of the first leaf, for shapes that nothing else broadcasts to."""
        x = self.leaves[0]
        return Slot(x.tensor[0, 0], x.mirror.view(x.mirror.index[0, 0, ...]), "x[0, 0]", True)

    def write(self, rng, slot):
        """An in-place op on the slot or a passing view of it, sometimes under ``no_grad``."""
        silent = rng.random() < 0.2 and not self.pure
        with nbgrad.no_grad() if silent else contextlib.nullcontext():
            tensor, mirror, text = slot.tensor, slot.mirror, slot.name
            if rng.random() < 0.5:
                suffix, f = random_view(rng, mirror.index.shape)
                viewed = self.viewed(mirror, f)
                if isinstance(viewed, Mirror):
                    tensor, mirror, text = seen(f, tensor, mirror), viewed, text + suffix
            # A view older than the history of its base passes for a leaf, in torch, until its grad_fn is asked for.
            assert tensor.grad_fn is None or tensor.requires_grad
            spread = tensor._base is not None and 0 in tensor._base.stride()  # refused: one write, several elements
            if mirror.writable() and (silent or not (slot.frozen or spread)):
                self.write_into(rng, tensor, mirror, text, silent)

    def write_into(self, rng, tensor, mirror, text, silent):
        """Draw the in-place op and do it."""
        content, choice = mirror.read(), rng.choice([*UNARY, *BINARY, *BINARY, "fill", "Doubled.apply", "out="])
        if choice == "Doubled.apply" and not silent:
            self.text.append(f"Doubled.apply({text})")
            Doubled.apply(tensor)
            mirror.write(content.map(lambda v: 2 * v, lambda v: np.full_like(v, 2.0)))
            return
        if choice == "out=" and silent:
            other = self.partner(rng, content.value.shape)
            self.text.append(f"add({text}.clone(), {other.name}.clone(), out={text})  # no_grad")
            nbgrad.add(tensor.clone(), other.tensor.clone(), out=tensor)
            mirror.write(content + other.mirror.read(), recorded=False)
            return
        choice = choice if choice in {*UNARY, *BINARY} else "fill"
        if choice in UNARY:
            choice = "sin" if self.guarded and choice in OVERWRITES_WHAT_IT_SAVED else choice
            content, arguments, argument = content.map(*UNARY[choice]), (), ""
        elif choice == "fill":
            content, arguments, argument = content.map(lambda v: np.full_like(v, 0.5), np.zeros_like), (0.5,), "0.5"
        else:
            other = self.partner(rng, content.value.shape)
            same = np.array_equal(mirror.index, other.mirror.index) and tensor.stride() == other.tensor.stride()
            aliased = mirror.overlaps(other.mirror) and not same
            content = BINARY[choice](content, other.mirror.read())
            arguments, argument = (self.operand(other.tensor, aliased),), other.name + ".clone()" * aliased
        self.text.append(f"{text}.{choice}_({argument})" + "  # no_grad" * silent)
        getattr(tensor, choice + "_")(*arguments)
        mirror.write(content, recorded=not silent)

    # ---- checks ------------------------------------------------------------------------------------------------------
    def check_values(self):
        """Every tensor shows what its mirror shows."""
        for slot in self.slots:
            value = slot.tensor.detach().resolve_neg().numpy()
            self.check(value, slot.mirror.read().value, 1e-11, 1e-12, f"value of {slot.name}")

    def check(self, got, expected, rtol, atol, what):
        """Agreement; in single precision to three digits of the largest number."""
        if self.dtype is not F64:
            rtol, atol = 1e-3, 1e-3 * (1 + np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol, err_msg=what)

    def check_tangents(self):
        """Every tensor's tangent is its derivative by x[0, 0]."""
        for slot in self.slots:
            tangent, slope = nbgrad.forward_ad.unpack_dual(slot.tensor).tangent, slot.mirror.read().slope[..., 0]
            got = np.zeros_like(slope) if tangent is None else tangent.detach().resolve_neg().numpy()
            np.testing.assert_allclose(got, slope, rtol=1e-11, atol=1e-12, err_msg=f"tangent of {slot.name}")

    def loss(self):
        """A weighted sum of all tensors, and its derivative by all leaf elements as the mirrors have it."""
        rng, expected, loss = random.Random(1), np.zeros(self.width), 0
        for slot in self.slots:
            content, weight = slot.mirror.read(), rng.uniform(0.5, 2)
            expected += weight * content.slope.reshape(-1, self.width).sum(0)
            loss = loss + (slot.tensor * weight).sum()
        return loss, expected

    def gradients(self):
        """The gradient of the loss by x and w."""
        return nbgrad.grad(self.loss()[0], [leaf.tensor for leaf in self.leaves])

    def check_gradients(self):
        """The gradient of a weighted sum of all tensors agrees with the mirrors' derivatives.

        Returns False where a bare program's backward refused because a saved tensor had been modified.
        """
        loss, expected = self.loss()
        try:
            gradients = nbgrad.grad(loss, [leaf.tensor for leaf in self.leaves])
        except RuntimeError as error:
            if self.guarded or not refused(error):
                raise
            return False
        got = np.concatenate([g.numpy().ravel() for g in gradients])
        if self.missing:
            present = ~np.isnan(np.concatenate([leaf.tensor.detach().numpy().ravel() for leaf in self.leaves]))
            got, expected = got[present], expected[present]
        self.check(got, expected, 1e-9, 1e-9, "gradient by x and w")
        return True


def run(seeds, guarded, dtype=F64, missing=False):
    """Run the program of these step seeds; return whether backward went through. Raises where anything disagrees."""
    machine = Machine(guarded, dtype=dtype, missing=missing)
    for seed in seeds:
        machine.step(seed)
    machine.check_values()
    return machine.check_gradients()


def run_accumulated(seeds, guarded):
    """Run a program and its backward twice into leaves whose hooks write: to the gradient that arrives and to ``.grad``."""
    machine = Machine(guarded, backward=True)
    for leaf in machine.leaves:
        leaf.tensor.register_hook(lambda g: g.clone().mul_(2.0))
    x, w = (leaf.tensor for leaf in machine.leaves)
    x.register_post_accumulate_grad_hook(lambda x: setattr(x, "grad", x.grad * -1.5))
    w.register_post_accumulate_grad_hook(lambda w: (w.grad.mul_(-1.5), None)[1])
    for seed in seeds:
        machine.step(seed)
    loss, expected = machine.loss()
    try:
        for _ in range(2):
            loss.backward(retain_graph=True)
    except RuntimeError as error:
        if guarded or not refused(error):
            raise
        return False
    got = np.concatenate([leaf.tensor.grad.numpy().ravel() for leaf in machine.leaves])
    machine.check(got, (2 * expected * -1.5 + 2 * expected) * -1.5, 1e-9, 1e-9, "gradient that x and w keep")
    return True


def kept_in_arrays():
    """Hooks that keep copies of what is saved."""
    return nbgrad.graph.saved_tensors_hooks(lambda t: t.detach().resolve_neg().resolve_conj().numpy().copy(), nbgrad.from_numpy)


def refused(error):
    """Whether a bare program's backward says that a saved tensor had been modified, or cut off before a checkpoint ran again."""
    return "at version" in str(error) or str(error).startswith("checkpoint: ")


def run_packed(seeds, guarded):
    """Run a program whose nodes keep arrays: what was saved is as it was, so that bare programs are not refused either."""
    machine = Machine(guarded)
    with kept_in_arrays():
        for seed in seeds:
            machine.step(seed)
    machine.check_values()
    return machine.check_gradients()


def run_twice(seeds, guarded, hooks=contextlib.nullcontext):
    """Run a program and differentiate the gradient by x[0, 0], in reverse mode: a row of the Hessian, which is a column too."""

    def moved(shift):
        """The machine of a program, x[0, 0] moved."""
        machine = Machine(guarded, pure=True, shift=shift)
        with hooks():
            for seed in seeds:
                machine.step(seed)
        return machine

    machine, step = moved(0.0), 1e-5
    leaves = [leaf.tensor for leaf in machine.leaves]
    try:
        slope = nbgrad.grad(machine.loss()[0], leaves, create_graph=True)[0][0, 0]
        rows = nbgrad.grad(slope, leaves, materialize_grads=True) if slope.requires_grad else map(nbgrad.zeros_like, leaves)
    except RuntimeError as error:
        if guarded or not refused(error):
            raise
        return False
    got = np.concatenate([row.numpy().ravel() for row in rows])
    above, below = (np.concatenate([g.numpy().ravel() for g in moved(shift).gradients()]) for shift in (step, -step))
    difference = (above - below) / (2 * step)
    np.testing.assert_allclose(got, difference, rtol=1e-5, atol=1e-5, err_msg="derivative of the gradient by x[0, 0]")
    return True


def run_dual(seeds, guarded):
    """Run a program in forward mode too: tangents, and the tangent of its gradient, which is a column of the Hessian."""

    def moved(shift):
        """The gradient with x[0, 0] moved."""
        machine = Machine(guarded, pure=True, shift=shift)
        for seed in seeds:
            machine.step(seed)
        return np.concatenate([g.numpy().ravel() for g in machine.gradients()])

    with nbgrad.forward_ad.dual_level():
        machine = Machine(guarded, pure=True, dual=True)
        for seed in seeds:
            machine.step(seed)
        machine.check_values()
        machine.check_tangents()
        try:
            gradients = machine.gradients()
        except RuntimeError as error:
            if guarded or not refused(error):
                raise
            return False
        parts = [nbgrad.forward_ad.unpack_dual(g) for g in gradients]
        column = np.concatenate([np.zeros(p.primal.numel()) if p.tangent is None else p.tangent.numpy().ravel() for p in parts])
    step = 1e-5
    difference = (moved(step) - moved(-step)) / (2 * step)
    np.testing.assert_allclose(column, difference, rtol=1e-5, atol=1e-5, err_msg="derivative of the gradient by x[0, 0]")
    return True


def run_compiled(seeds, guarded):
    """Run a program's passes compiled, captured and then native: what leaves and results keep is the engine's, bit for bit."""
    ways = random.Random(seeds[0]).sample([pass_of_grad, pass_of_inputs, two_passes], 2)

    def kept(way, compiled):
        """What a pass gives and leaves behind, or its error."""
        machine = Machine(guarded, backward=True)
        for leaf in machine.leaves:
            leaf.tensor.register_hook(lambda g: g.clone().mul_(2.0))
        for seed in seeds:
            machine.step(seed)
        with nbgrad.jit.compiled_autograd() if compiled else contextlib.nullcontext():
            try:
                found = way(machine.loss()[0], [leaf.tensor for leaf in machine.leaves])
            except RuntimeError as error:
                return str(error)
        found += [slot.tensor.grad for slot in machine.slots if slot.tensor.is_leaf or slot.tensor.retains_grad]
        return [None if g is None else (g.dtype, g.stride(), g.detach().numpy().tobytes()) for g in found]

    for way in ways:
        want = kept(way, False)
        for k in range(2):
            assert kept(way, True) == want, f"{way.__name__}, pass {k}"
    return True


def pass_of_grad(loss, leaves):
    """``grad``."""
    return list(nbgrad.grad(loss, leaves))


def pass_of_inputs(loss, leaves):
    """``inputs=``, and what it left."""
    loss.backward(inputs=leaves[:1], retain_graph=True)
    loss.backward(inputs=leaves[1:])
    return []


def two_passes(loss, leaves):
    """Two of one graph."""
    loss.backward(retain_graph=True)
    (loss * 2).backward()
    return []


def shrink(seeds, guarded, run):
    """A sublist of the failing program that still fails, and from which no single step can be left out."""
    i = 0
    while i < len(seeds):
        fewer = seeds[:i] + seeds[i + 1 :]
        try:
            run(fewer, guarded)
            i += 1
        except Exception:
            seeds = fewer
    return seeds


def listing(seeds, guarded, pure):
    """The text of a program, up to the step that fails if one does."""
    machine = Machine(guarded, pure)
    with contextlib.suppress(Exception):
        for seed in seeds:
            machine.step(seed)
    return "\n".join(machine.text)


def step_seeds(seed):
    """The steps of program number ``seed``."""
    rng = random.Random(seed)
    return [rng.getrandbits(32) for _ in range(rng.randint(3, STEPS))]


def run_all(guarded, run=run, programs=PROGRAMS):
    """Run the programs asked for; return how many went through backward. Fails with a shrunk program and its seed."""
    chosen = os.environ.get("NBGRAD_FUZZ_SEED")
    passed = 0
    for seed in [int(chosen)] if chosen else range(programs):
        steps = step_seeds(seed)
        try:
            passed += run(steps, guarded)
        except Exception as error:
            small = shrink(steps, guarded, run)
            pytest.fail(
                f"program {seed} ({'guarded' if guarded else 'bare'}): {type(error).__name__}: {error}\n"
                f"Shrunk to:\n{listing(small, guarded, run is run_dual)}\nAgain: NBGRAD_FUZZ_SEED={seed}"
            )
    return passed


# ---- the tests -------------------------------------------------------------------------------------------------------
def test_guarded_programs_agree_with_the_replay():
    """Where no saved tensor can change, every random program gives the replay's values and gradients."""
    run_all(guarded=True)


def test_bare_programs_agree_with_the_replay_or_refuse():
    """Where saved tensors may change, backward gives the replay's gradients or says which version it expected."""
    passed = run_all(guarded=False)
    assert passed > PROGRAMS // 4 or "NBGRAD_FUZZ_SEED" in os.environ


def test_guarded_programs_in_single_precision():
    """The same programs on float32 tensors, to fewer digits."""
    run_all(guarded=True, run=lambda steps, guarded: run(steps, guarded, nbgrad.float32), programs=PROGRAMS // 3)


def test_guarded_programs_with_missing_numbers():
    """The same programs where an element of each leaf is NaN: it reaches what depends on it, and no other gradient."""
    run_all(guarded=True, run=lambda steps, guarded: run(steps, guarded, missing=True), programs=PROGRAMS // 2)


@pytest.mark.parametrize("guarded", [True, False])
def test_programs_whose_nodes_keep_arrays(guarded):
    """Saved-tensor hooks around a program that pack copies; for first derivatives and for second ones."""
    run_all(guarded, run=run_packed, programs=PROGRAMS // 2)
    run_all(guarded, run=lambda seeds, guarded: run_twice(seeds, guarded, kept_in_arrays), programs=PROGRAMS // 3)


@pytest.mark.parametrize("guarded", [True, False])
def test_programs_differentiated_twice(guarded):
    """Reverse mode over reverse mode agrees with differences of gradients."""
    run_all(guarded, run=run_twice, programs=PROGRAMS // 2)


def test_programs_in_two_threads():
    """Programs that run at the same time know nothing of each other."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda seed: run(step_seeds(seed), True), range(PROGRAMS // 3)))
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("guarded", [True, False])
def test_programs_that_accumulate_through_hooks_that_write(guarded):
    """``.grad`` after two passes: hooks of leaves change what arrives, post-accumulate hooks what is kept, in place or not."""
    run_all(guarded, run=run_accumulated, programs=PROGRAMS // 2)


@pytest.mark.parametrize("guarded", [True, False])
def test_programs_whose_passes_are_compiled(guarded, monkeypatch):
    """Every pass that can be a program is one, however many turns of Python it has."""
    monkeypatch.setattr("nbgrad.jit.live.WORTH", 0)
    run_all(guarded, run=run_compiled, programs=max(PROGRAMS // 15, 1))


def test_guarded_programs_in_forward_mode():
    """Tangents are the replay's derivatives; forward mode over a backward pass agrees with differences of gradients."""
    run_all(guarded=True, run=run_dual)


def test_bare_programs_in_forward_mode():
    """The same where saved tensors may change: right, or refused."""
    run_all(guarded=False, run=run_dual)


def test_the_replay_agrees_with_finite_differences():
    """The oracle itself: without detach and ``no_grad`` its derivative is the central difference of its values."""

    def weighted_sum(seeds, shift):
        """The sum over all mirrors, and its derivative by x[0, 0], with x[0, 0] moved by ``shift``."""
        machine = Machine(guarded=True, pure=True, shift=shift)
        for seed in seeds:
            machine.step(seed)
        contents = [slot.mirror.read() for slot in machine.slots]
        return sum(c.value.sum() for c in contents), sum(c.slope[..., 0].sum() for c in contents)

    step = 1e-6
    for seed in range(25):
        seeds = step_seeds(seed)
        difference = (weighted_sum(seeds, step)[0] - weighted_sum(seeds, -step)[0]) / (2 * step)
        assert weighted_sum(seeds, 0.0)[1] == pytest.approx(difference, rel=1e-6, abs=1e-6), f"program {seed}"
