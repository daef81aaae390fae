"""What native code cannot say is refused when it is translated, with its place; nothing is taken for something else."""

from __future__ import annotations

import ast
import functools
import importlib.util
import pathlib
import tempfile

import pytest

from nbgrad.native import objects, translator
from nbgrad.native.translator import Refused, Unit
from tests.native.programs import Sealed, Thing

SOURCES = sorted(pathlib.Path(translator.__file__).parent.glob("*.py"))
HEAD = """from __future__ import annotations
from tests.native.programs import *
from nbgrad.native.primitives import function_address, give_lock, take_lock
@native
def pair_of(x, y):
    return (x, y)
@native(borrows=True)
def lent(thing: Thing):
    return thing.items
@native
def negated(flag: bool) -> bool:
    return not flag
"""
# What is wrong with the line that ends in "# here", and a function.
REFUSALS = {
    "said": [
        ("Dict is no expression", "@entry\ndef f(x):\n    return {}  # here"),
        ("Lambda is no expression", "@entry\ndef f(x):\n    return lambda: x  # here"),
        ("JoinedStr is no expression", "@entry\ndef f(x):\n    return f'{x}'  # here"),
        ("NamedExpr is no expression", "@entry\ndef f(x):\n    return (y := x)  # here"),
        ("ListComp is no expression", "@entry\ndef f(x):\n    return [k for k in range(3)]  # here"),
        ("Starred is no expression", "@entry\ndef f(x, *y):\n    return (x, *y)  # here"),
        ("Starred is no expression", "@entry\ndef f(call, *y):\n    return call(*y, 1)  # here"),
        ("Yield is no expression", "@entry\ndef f(x):\n    return (yield x)  # here"),
        ("FunctionDef is no statement", "@entry\ndef f(x):\n    def g():  # here\n        return x\n    return g"),
        ("With is no statement", "@entry\ndef f(x):\n    with x:  # here\n        pass"),
        ("Assert is no statement", "@entry\ndef f(x):\n    assert x  # here"),
        ("Global is no statement", "@entry\ndef f(x):\n    global FOUR  # here\n    FOUR = x"),
        ("a loop has no else", "@entry\ndef f(x: list):\n    for y in x:  # here\n        pass\n    else:\n        return 1"),
        ("a loop has no else", "@entry\ndef f(x):\n    while x is None:  # here\n        pass\n    else:\n        return 1"),
        ("only try with ", "@entry\ndef f(x):\n    try:\n        x()  # here\n    except ValueError:\n        pass"),
        ("only try with ", "@entry\ndef f(x):\n    try:\n        x()  # here\n    finally:\n        pass"),
        ("no defaults", "@entry\ndef f(x, y=1):  # here\n    return x"),
        ("no defaults", "@entry\ndef f(x, *, y):  # here\n    return x"),
        ("no defaults", "@entry\ndef f(x, /):  # here\n    return x"),
        ("no defaults", "@entry\ndef f(**x):  # here\n    return 1"),
        ("an argument has no name", "@entry\ndef f(call):\n    return call(x=1)  # here"),
        ("an argument has no name", "@entry\ndef f(x):\n    return pair_of(x, y=x)  # here"),
        (
            "its decorators are not native",
            "@bound\nclass C:\n    __slots__ = ()\n    @property\n    def f(self):  # here\n        return 1",
        ),
        ("with one constant text", "@entry\ndef f(x):\n    raise ValueError(x)  # here"),
        ("with one constant text", "@entry\ndef f(x):\n    raise ValueError  # here"),
        ("with one constant text", "@entry\ndef f(x):\n    raise  # here"),
        ("with one constant text", "@entry\ndef f(x):\n    raise ValueError('a') from x  # here"),
        ("is no error of Python's own", "@entry\ndef f(x):\n    raise Thing('a')  # here"),
        ("is no error of Python's own", "class Own(Exception): pass\n@entry\ndef f(x):\n    raise Own('a')  # here"),
        ("does not call itself", "@entry\ndef f(x):  # here\n    return f(x)"),
    ],
    "numbers": [
        ("arithmetic of what is no int", "@entry\ndef f(x):\n    return x + 1  # here"),
        ("arithmetic of what is no int", "@entry\ndef f(x):\n    return 1.5 * 2  # here"),
        ("is no operation", "@entry\ndef f(x):\n    return int(x) / 2  # here"),
        ("is no operation", "@entry\ndef f(x):\n    return int(x) ** 2  # here"),
        ("is no operation", "@entry\ndef f(x):\n    return -x  # here"),
        ("is no operation", "@entry\ndef f(x):\n    return +int(x)  # here"),
        ("is no operation", "@entry\ndef f(x):\n    return -2.5  # here"),
        ("a machine number has 64 bits", "@entry\ndef f(x):\n    return int(x) << 64  # here"),
        ("a machine number has 64 bits", "@entry\ndef f(x):\n    return int(x) >> -1  # here"),
        ("division by zero", "@entry\ndef f(x):\n    return int(x) // 0  # here"),
        ("has more than 64 bits", "@entry\ndef f(x):\n    return 9223372036854775808  # here"),
        ("has more than 64 bits", "@entry\ndef f(x):\n    return -9223372036854775809  # here"),
        ("has no literal", "@entry\ndef f(x):\n    return 1e999  # here"),
        ("an int is expected", "@entry\ndef f(x):\n    return int(2.5)  # here"),
        ("an int is expected", "@entry\ndef f(x):\n    return int('5')  # here"),
        ("a number is expected", "@entry\ndef f(x):\n    return float('5')  # here"),
        ("a comparison of objects", "@entry\ndef f(x, y):\n    return x == y  # here"),
        ("a comparison of objects", "@entry\ndef f(x: list, y):\n    return y in x  # here"),
        ("a comparison of objects", "@entry\ndef f(x, y):\n    return int(x) < y  # here"),
        ("may come third", "@entry\ndef f(x, y):\n    return 1 < int(x) < int(y)  # here"),
        ("are equal, never the same", "@entry\ndef f(x):\n    return int(x) is x  # here"),
        ("are equal, never the same", "@entry\ndef f(x):\n    return x is LOWEST  # here"),
        ("are equal, never the same", "@entry\ndef f(x):\n    return int(x) is None  # here"),
        ("is no bool", "@entry\ndef f(x: list, y):\n    return x or y  # here"),
        ("is no bool", "@entry\ndef f(x):\n    return int(x) and True  # here"),
        ("a range has one or two bounds", "@entry\ndef f(x):\n    for k in range(1, 9, 2):  # here\n        pass"),
        ("a range has bounds that are ints", "@entry\ndef f(x):\n    for k in range(x):  # here\n        pass"),
        ("an entry takes objects and bools", "@entry\ndef f(x: int):  #\n    return x"),
        ("an entry returns objects, ints and bools", "@entry\ndef f(x) -> float:  #\n    return float(x)"),
        ("raw code cannot fail", "@raw\ndef f(x: int) -> int:\n    raise ValueError('a')  # here"),
        ("raw code cannot fail", "@raw\ndef f(x: int, y: int) -> int:\n    return len((x,))  # here"),
        ("raw code knows numbers and words", "@raw\ndef f(x) -> int:  # here\n    return 1"),
        ("raw code knows numbers and words", "@raw\ndef f(*x) -> int:  # here\n    return 1"),
        ("raw code knows numbers and words", "@raw\ndef f(x: int):  # here\n    return None"),
        ("C functions take ints and words", "@entry\ndef f(x) -> int:\n    return absolute(x)  # here"),
        ("2 arguments, expected 1", "@entry\ndef f(x) -> int:\n    return absolute(1, 2)  # here"),
    ],
    "variables": [
        ("not set on all ways", "@entry\ndef f(x):\n    if x is None:\n        y = x\n    return y  # here"),
        ("not set on all ways", "@entry\ndef f(x: list):\n    for y in x:\n        pass\n    return y  # here"),
        ("not set on all ways", "@entry\ndef f(x):\n    del x\n    return x  # here"),
        ("not set on all ways", "@entry\ndef f(x):\n    y = FOUR  # here\n    FOUR = y\n    return y"),
        (
            "not set on all ways",
            "@entry\ndef f(x):\n    try:\n        y = x()\n    except BaseException:\n        pass\n    return y  # here",
        ),
        (
            "not set on all ways",
            "@entry\ndef f(x):\n    y = x\n    try:\n        del y\n        x()\n    except BaseException:\n"
            "        return y  # here\n    return x",
        ),
        ("not set on all ways", "@entry\ndef f(x):\n    return absent  # here"),
        ("not set on all ways", "@entry\ndef f(x):\n    y = tuple([k for k in range(3)])\n    return k  # here"),
        ("was set before the loop and is not", "@entry\ndef f(x: list, y):\n    for z in x:  # here\n        del y"),
        (
            "was set before the loop and is not",
            "@entry\ndef f(x: list, y):\n    for z in x:\n        if z is None:\n            del y\n"
            "            continue  # here\n    return y",
        ),
        ("y is of one kind or another", "@entry\ndef f(x):\n    y = 1\n    y = x  # here\n    return y"),
        ("y is of one kind or another", "@entry\ndef f(x: list):\n    y = 1\n    for z in x:\n        y = z  # here\n    return y"),
        ("x is of one kind or another", "@entry\ndef f(x):\n    x = 5  # here\n    return x"),
        ("is of one kind or another", "@entry\ndef f(x):\n    return 1 if x is None else x  # here"),
        ("is of one kind or another", "@entry\ndef f(x, *y):\n    z = y if x is None else y[1:]  # here\n    return len(z)"),
        (
            "is a row, and set at several places",
            "@entry\ndef f(x, *y):\n    z = y  # here\n    for k in range(3):\n        z = z[1:]\n    return len(z)",
        ),
        ("a variable has one annotation", "@entry\ndef f(x):\n    y: list = x\n    y: tuple = x  # here\n    return y"),
        ("a variable has one annotation", "@entry\ndef f(x: Thing):\n    x.items: list = x  # here\n    return x"),
        ("is given no value", "@entry\ndef f(x):\n    y: list  # here\n    y = x"),
        ("y is said to be a <class 'list'>", "@entry\ndef f(x):\n    y: list = x\n    y = ()  # here\n    return y"),
        ("object given, expected words", "@entry\ndef f(x):\n    y: Words = x  # here\n    return 1"),
        ("words given, expected an object", "@entry\ndef f(x):\n    y: list = words(3)  # here\n    return 1"),
        ("as many values as variables", "@entry\ndef f(x, y):\n    a, b = x, y, x  # here\n    return a"),
        ("cannot be assigned to", "@entry\ndef f(x: tuple):\n    a, *b = x  # here\n    return a"),
        ("is no variable that", "@entry\ndef f(x: Thing):\n    del x.items  # here"),
        ("is no variable that", "@entry\ndef f(x):\n    del y  # here"),
        ("is no dict", "@entry\ndef f(x: list):\n    del x[0]  # here"),
        ("is no variable", "@entry\ndef f(x: Thing):\n    x.count += 1  # here"),
        (
            "would be the words of what this function does not hold",
            "@entry\ndef f(x):\n    y = words_of(bytes_of(words(2), 2))  # here\n    return y[0]",
        ),
        ("a function returns no words and no row", "@native\ndef f(x: int) -> Words:  # here\n    return words(2)"),
        ("words and rows are never None", "@native\ndef f(x: Words | None) -> int:  #\n    return 1"),
    ],
    "borrowed": [
        ("is borrowed, and ", "@entry\ndef f(x: Thing, call):\n    return (x.items, call())  # here"),
        ("is borrowed, and ", "@entry\ndef f(x: list, call):\n    return call(x[0], call())  # here"),
        ("is borrowed, and ", "@entry\ndef f(x: dict, call):\n    return [x.get(1), call()]  # here"),
        ("is borrowed, and ", "@entry\ndef f(x: Thing, call):\n    x.items.append(call())  # here"),
        ("is borrowed, and ", "@entry\ndef f(x: Thing, y: dict, call):\n    y[call()] = x.items  # here"),
        ("is borrowed, and ", "@entry\ndef f(x: dict, call):\n    cast(Thing, call()).items = x.get(1)  # here"),
        *(
            ("without the lock", f"@entry\ndef f(x: Thing):\n    y = give_lock()\n    {line}  # here\n    take_lock(y)")
            for line in ("x()", "z = x.items; w = (z, z)", "return x", "raise ValueError('a')", "keep(holder, 0, x)", "z = (x,)")
        ),
        (
            "a function that borrows runs nothing",
            "@native(borrows=True)\ndef f(x: Thing, call):  # here\n    call()\n    return x.items",
        ),
        ("cannot return what it owns", "@native(borrows=True)\ndef f(x: Thing):\n    return (x, x)  # here"),
    ],
    "objects": [
        ("may be None here", "@entry\ndef f(x: Thing):\n    return x.below.items  # here"),
        ("may be None here", "@entry\ndef f(x: Thing | None):\n    x.items = x  # here"),
        ("may be None here", "@entry\ndef f(x: Thing | None):\n    return hasattr(x, 'items')  # here"),
        ("may be None here", "@entry\ndef f(x: list | None):\n    x.append(1)  # here"),
        (
            "may be None here",
            "@entry\ndef f(x: Thing):\n    y: Thing | None = x\n    while y is not None:\n        y = y.below\n"
            "        y.items = x  # here",
        ),
        (
            "may be None here",
            "@entry\ndef f(x: Thing):\n    y: Thing | None = x\n    while y is not None:\n        if y.flag is True:\n"
            "            y = None\n            break\n        y = y.below\n    y.items = x  # here",
        ),
        ("has no slot 'absent'", "@entry\ndef f(x: Thing):\n    x.absent = 1  # here"),
        ("has no slot 'doubled'", "@entry\ndef f(x: Thing):\n    x.doubled = 1  # here"),
        ("has no slot 'items'", "@entry\ndef f(x):\n    x.items = 1  # here"),
        ("has no slot 'absent'", "@entry\ndef f(x):\n    return new(Thing, absent=x)  # here"),
        ("has no slot", "@entry\ndef f(x: Thing, y):\n    return hasattr(x, y)  # here"),
        ("is a field of what never changes", "@entry\ndef f(x: Sealed):\n    x.inner = 1  # here"),
        (
            "is a field of what never changes",
            "@bound\nclass C:\n    __slots__ = ('a',)\n    def f(self):\n        self.a = 1  # here",
        ),
        ("is no item of a dict", "@entry\ndef f(x: list):\n    x[0] = 1  # here"),
        ("is no item of a dict", "@entry\ndef f(x):\n    y = words(2)\n    y[0] = x  # here"),
        ("an index is an int", "@entry\ndef f(x: list):\n    return x[-1]  # here"),
        ("an index is an int", "@entry\ndef f(x: list, y):\n    return x[y]  # here"),
        ("an index is an int", "@entry\ndef f(x: list):\n    return x[True]  # here"),
        ("only a row has parts", "@entry\ndef f(x: list):\n    return x[1:]  # here"),
        ("only a row has parts", "@entry\ndef f(*x):\n    return len(x[::2])  # here"),
        ("a bound is an int", "@entry\ndef f(y, *x):\n    return len(x[y:])  # here"),
        ("a constant index of", "@entry\ndef f(x: Pair):\n    return x[2]  # here"),
        ("a constant index of", "@entry\ndef f(x: Pair, y):\n    return x[int(y)]  # here"),
        ("has 2 items", "@entry\ndef f(x: Pair):\n    a, b, c = x  # here\n    return a"),
        ("a list or a row is expected", "@entry\ndef f(x: dict):\n    return x[1]  # here"),
        ("a list or a row is expected", "@entry\ndef f(x: dict):\n    return len(x)  # here"),
        ("a list or a row is expected", "@entry\ndef f(x: dict):\n    for y in x:  # here\n        pass"),
        ("a list or a row is expected", "@entry\ndef f(x):\n    if x:  # here\n        pass"),
        ("a list or a row is expected", "@entry\ndef f(x: tuple | None):\n    return x[0]  # here"),
    ],
    "calls": [
        ("1 arguments, expected 2", "@entry\ndef f(x):\n    return pair_of(x)  # here"),
        ("3 arguments, expected 2", "@entry\ndef f(x):\n    return pair_of(x, x, x)  # here"),
        ("2 arguments, expected 1", "@entry\ndef f(x):\n    return len(x, x)  # here"),
        ("1 arguments, expected 1", "@entry\ndef f(*x):\n    return len(*x)  # here"),
        ("a row or a tuple is expected", "@entry\ndef f(x: list, call):\n    return call(*x)  # here"),
        ("row given, expected an object", "@entry\ndef f(call, *x):\n    return call(x)  # here"),
        ("words given, expected an object", "@entry\ndef f(call):\n    return call(words(3))  # here"),
        ("<class 'object'> given, expected", "@entry\ndef f(x):\n    return lent(x)  # here"),
        ("or None given, expected", "@entry\ndef f(x: Thing | None):\n    return lent(x)  # here"),
        ("object given, expected int", "@entry\ndef f(x):\n    return successor(x)  # here"),
        ("object given, expected bool", "@entry\ndef f(x):\n    return negated(x)  # here"),
        ("object given, expected int", "@entry\ndef f(x) -> int:\n    return x  # here"),
        ("<class 'object'> given, expected <class 'list'>", "@entry\ndef f(x) -> list:\n    return x  # here"),
        ("int given, expected an object", "@entry\ndef f(x):\n    return type(int(x))  # here"),
        ("nothing is cast to words", "@entry\ndef f(x):\n    return cast(Words, x)  # here"),
        ("an object and a class are expected", "@entry\ndef f(x):\n    return isinstance(x, (int, float))  # here"),
        (
            "a class that says itself",
            "class Meta(type):\n    def __instancecheck__(cls, x): return True\nclass Any_(metaclass=Meta): pass\n"
            "@entry\ndef f(x):\n    return isinstance(x, Any_)  # here",
        ),
        ("a native function is expected", "@entry\ndef f(x) -> int:\n    return function_address(x)  # here"),
        ("a constant number of words", "@entry\ndef f(x):\n    y = words(int(x))  # here\n    return y[0]"),
        *(
            ("only tuple([... for k in range(n)]) is known", f"@entry\ndef f(x: list, n):\n    return tuple({argument})  # here")
            for argument in (
                "x",
                "[y for y in x]",
                "[k for k in range(1, 5)]",
                "[k for k in range(5) if k > 2]",
                "[k for k in range(2) for j in range(2)]",
                "[a for a, b in range(2)]",
            )
        ),
    ],
}
CASES = [(group, text, why) for group, cases in REFUSALS.items() for why, text in cases]


@functools.cache
def refusal(text):
    """What is said of a module of such a text, and the file and line of the translator that say it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, f"refused_{abs(hash(text))}.py")
        path.write_text(HEAD + text + "\n")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with pytest.raises(Refused) as refused:
            Unit([module], {"Thing": Thing, "Sealed": Sealed}, objects.slot_offset, [Sealed], 128)
    last = [entry for entry in refused.traceback if entry.path in SOURCES][-1]
    return str(refused.value), (last.path.name, last.lineno + 1)


@pytest.mark.parametrize("group, text, why", CASES, ids=[f"{group}-{k}" for k, (group, _, _) in enumerate(CASES)])
def test_refusal(group, text, why):
    """Said with the reason, the function and the line."""
    message, _ = refusal(text)
    assert why in message
    if "# here" in text:
        line = HEAD.count("\n") + 1 + text[: text.index("# here")].count("\n")
        assert f"f, line {line}: " in message


def test_every_refusal_is_reached():
    """There is no ``raise`` in the translator that none of the cases comes to."""
    refusing = [
        (path.name, node)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and ast.unparse(node.exc.func) in ("self.refuse", "Refused")
    ]
    reached = {refusal(text)[1] for _, text, _ in CASES}
    assert not [
        f"{name}, line {node.lineno}: {ast.unparse(node)}"
        for name, node in refusing
        if not any((name, line) in reached for line in range(node.lineno, node.end_lineno + 1))
    ]
