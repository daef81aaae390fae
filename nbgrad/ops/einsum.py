"""Einstein summation, contracted pair by pair from left to right as batched matrix products."""

from __future__ import annotations

import math
from string import ascii_lowercase, ascii_uppercase

from ..base.dtypes import promote_types
from ..base.errors import ArgumentError, ShapeError
from .core import composite
from .linalg import permuted, reshaped

__all__ = ["einsum"]

LETTERS = ascii_uppercase + ascii_lowercase  # in alphabetic order, as a result that is not given has them


def einsum(equation, *operands):
    """Sums of products of the operands' elements, by Einstein's convention.

    Args:
        equation: such as ``"bij,bjk->bik"``: letters name the dimensions of each operand, then those of the result.
            Without ``->`` the result has the letters that appear once, in alphabetic order. ``...`` stands for
            dimensions that broadcast; a letter repeated in one operand takes its diagonal.
        operands: tensors of one dtype, or one sequence of them.

    In the place of letters, lists of numbers from 0 to 51 may follow each operand, and at last that of the result:
    ``einsum(x, [0, 1], y, [1, 2], [0, 2])``; ``...`` (``Ellipsis``) in them is the equation's.

    Returns:
        Tensor of the named dimensions.

    Raises:
        ArgumentError: the equation is malformed. ShapeError: it does not fit the shapes.

    >>> nbgrad.einsum("ij->ji", nbgrad.tensor([[1, 2, 3]]))
    tensor([[1],
            [2],
            [3]])
    """
    if not isinstance(equation, str):
        equation, operands = from_numbers((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    inputs, output = parse(equation, operands)
    terms = [diagonals(x, names) for x, names in zip(operands, inputs)]
    total, names = terms[0]
    for k, (x, more) in enumerate(terms[1:], start=1):
        later = set(output).union(*(rest for _, rest in terms[k + 1 :]))
        total, names = contract(total, names, x, more, later, output)
    return arranged(total, names, output)


def from_numbers(arguments: tuple) -> tuple[str, tuple]:
    """The equation that operands and lists of numbers in turn stand for, and the operands."""
    operands, lists = arguments[::2], arguments[1::2]
    if len(operands) == len(lists):
        return ",".join(map(letters_of, lists)), operands
    return ",".join(map(letters_of, lists)) + "->" + letters_of(operands[-1]), operands[:-1]


def letters_of(numbers) -> str:
    """A list of numbers as the letters of an equation."""
    if not isinstance(numbers, (tuple, list)):
        raise ArgumentError(
            f"einsum: expected an equation, or a list of numbers after each operand; got {type(numbers).__name__}. "
            "Hint: einsum('ij,jk->ik', x, y), or einsum(x, [0, 1], y, [1, 2], [0, 2])."
        )
    wrong = [n for n in numbers if n is not Ellipsis and (type(n) is not int or not 0 <= n < len(LETTERS))]
    if wrong:
        raise ArgumentError(f"einsum: {wrong[0]!r} in {list(numbers)} is no number from 0 to {len(LETTERS) - 1}, and no '...'.")
    return "".join("..." if n is Ellipsis else LETTERS[n] for n in numbers)


def parse(equation: str, operands) -> tuple[list[tuple], tuple]:
    """Names of every operand's dimensions and of the result's; those under ``...`` are negative, from the right."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ArgumentError(f"einsum: the equation {equation!r} has {len(terms)} operands, got {len(operands)}.")
    inputs = [dimension_names(equation, term, x.ndim, x.shape) for term, x in zip(terms, operands)]
    hidden = tuple(range(min((name for names in inputs for name in names if isinstance(name, int)), default=0), 0))
    if arrow:
        before, dots, after = right.partition("...")
        output = (*before, *(hidden if dots else ()), *after)
    else:
        letters = [name for names in inputs for name in names if isinstance(name, str)]
        output = (*hidden, *sorted(name for name in set(letters) if letters.count(name) == 1))
    known = {name for names in inputs for name in names}
    if len(set(output)) != len(output) or not known.issuperset(output):
        raise ArgumentError(f"einsum: the result {right!r} of {equation!r} must name dimensions of the operands, each once.")
    return inputs, output


def dimension_names(equation: str, term: str, ndim: int, shape) -> tuple:
    """The names of one operand's dimensions."""
    before, dots, after = term.partition("...")
    if not (before + after).isalpha() and before + after:
        raise ArgumentError(f"einsum: {term!r} in {equation!r}: expected letters, and '...' at most once.")
    hidden = ndim - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise ShapeError(
            f"einsum: {term!r} in {equation!r} names {len(before) + len(after)} dimensions, the operand has {list(shape)}."
        )
    return (*before, *range(-hidden, 0), *after)


def diagonals(x, names: tuple):
    """``x`` with one dimension for each name."""
    while len(set(names)) < len(names):
        name = next(n for n in names if names.count(n) > 1)
        first = names.index(name)
        second = names.index(name, first + 1)
        if x.shape[first] != x.shape[second]:
            raise ShapeError(f"einsum: {name!r} names sizes {x.shape[first]} and {x.shape[second]} of one operand.")
        x = x.diagonal(0, first, second)
        names = (*(n for d, n in enumerate(names) if d not in (first, second)), name)
    return x, names


def contract(x, x_names: tuple, y, y_names: tuple, later: set, output: tuple):
    """The product of two operands, summed over what nobody asks for later, with the names of its dimensions.

    Rows and columns of the product come as the result has them, which is contiguous then, as torch's is.
    """
    x, x_names = without_ones(x, x_names, y, y_names)
    y, y_names = without_ones(y, y_names, x, x_names)
    for name in x_names:
        if name in y_names and x.shape[x_names.index(name)] != y.shape[y_names.index(name)]:
            raise ShapeError(f"einsum: {name!r} names size {x.shape[x_names.index(name)]} and size {y.shape[y_names.index(name)]}.")
    x, x_names = summed(x, x_names, later.union(y_names), output)
    y, y_names = summed(y, y_names, later.union(x_names), output)
    batch = ordered((n for n in x_names if n in y_names and n in later), output)
    inner = tuple(n for n in x_names if n in y_names and n not in later)
    rows = ordered((n for n in x_names if n not in y_names), output)
    columns = ordered((n for n in y_names if n not in x_names), output)
    if rows + columns != ordered(rows + columns, output):
        x, x_names, y, y_names, rows, columns = y, y_names, x, x_names, columns, rows
    names = (*batch, *rows, *columns)
    if not inner and names != (wanted := ordered(names, output)):
        return beside(x, x_names, wanted) * beside(y, y_names, wanted), wanted
    if not inner and x.dtype is not y.dtype:  # a product of elements, which may be of two dtypes as x * y
        common = promote_types(x.dtype, y.dtype)
        x, y = x.to_dtype(common), y.to_dtype(common)
    sizes = {**dict(zip(x_names, x.shape)), **dict(zip(y_names, y.shape))}
    first = (batch,) if batch else ()
    left = grouped(x, x_names, (*first, rows, inner), sizes)
    right = grouped(y, y_names, (*first, inner, columns), sizes)
    return reshaped(left.matmul(right), tuple(sizes[n] for n in names)), names


def ordered(names, output: tuple) -> tuple:
    """Names in the order in which the result has them, behind them those that it has not."""
    return tuple(sorted(names, key=lambda name: output.index(name) if name in output else len(output)))


def beside(x, names: tuple, wanted: tuple):
    """``x`` with its dimensions in the order of ``wanted``, and of size 1 where it has none."""
    x = permuted(x, tuple(names.index(name) for name in wanted if name in names))
    for d, name in enumerate(wanted):
        if name not in names:
            x = x.unsqueeze(d)
    return x


def without_ones(x, x_names: tuple, y, y_names: tuple):
    """``x`` without its dimensions of size 1 that broadcast against larger ones of ``y``."""
    for name in x_names:
        if name in y_names and x.shape[x_names.index(name)] == 1 != y.shape[y_names.index(name)]:
            x = x.select(x_names.index(name), 0)
            x_names = tuple(n for n in x_names if n != name)
    return x, x_names


def summed(x, names: tuple, wanted, output: tuple):
    """``x`` summed over the dimensions that are not wanted; the sums come in the order of the result."""
    if all(name in wanted for name in names):
        return x, names
    kept = ordered((name for name in names if name in wanted), output)
    gone = tuple(name for name in names if name not in wanted)
    x = permuted(x, tuple(names.index(name) for name in (*kept, *gone)))
    return x.sum(tuple(range(len(kept), len(names)))), kept


def grouped(x, names: tuple, groups: tuple, sizes: dict):
    """``x`` with its dimensions in the order of the groups, each merged into one."""
    order = [name for group in groups for name in group]
    shape = tuple(math.prod(sizes[n] for n in group) for group in groups)
    return reshaped(permuted(x, tuple(names.index(n) for n in order)), shape)


def arranged(x, names: tuple, output: tuple):
    """``x`` summed to the result's dimensions, in their order."""
    x, names = summed(x, names, output, output)
    return permuted(x, tuple(names.index(n) for n in output))


composite("einsum", einsum, method=False, spelling="steps", doc=einsum.__doc__)
