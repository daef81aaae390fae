"""Small native functions, one construct each, for ``test_language``: called as machine code and as Python they do the same."""

from __future__ import annotations

from typing import Any, cast

from nbgrad.native.language import Row, Static, Words, bound, c_function, entry, native, primitive, raw
from nbgrad.native.primitives import (
    add,
    address_of,
    allocate,
    as_tuple,
    bytes_of,
    copy_slots,
    forget,
    get,
    get_int64,
    hide,
    keep,
    kept,
    load,
    new,
    others,
    owns_memory,
    put,
    put_float64,
    put_int64,
    same_words,
    store,
    swap,
    top_bits,
    words,
    words_of,
)

FOUR = 4
LOWEST = -9223372036854775808
TEXT = "programs: a text of the module's"
QUOTED = 'a "quoted" \\ text, and é'
counts = Static(3, 5)


class Thing:
    """What the functions read and write."""

    __slots__ = ("name", "below", "items", "parts", "count", "flag", "known", "__weakref__")
    name: str
    below: Thing | None
    items: list
    parts: tuple
    count: int
    flag: bool
    known: dict

    def doubled(self):
        """A method of Python's."""
        return self.name * 2


class Sealed:
    """Its fields never change: ``link.NativeModule`` is told so."""

    __slots__ = ("inner",)
    inner: Thing

    def __init__(self, inner):
        self.inner = inner


Pair = tuple[Thing, list]


# ---- numbers -------------------------------------------------------------------------------------------------------


@entry
def sums(x, y) -> int:
    a, b = int(x), int(y)
    return a + b * 2 - -a ^ (b & 7) | ~a


@entry
def floor_division(x, y) -> int:
    return int(x) // int(y)


@entry
def modulo(x, y) -> int:
    return int(x) % int(y)


@entry
def by_constants(x) -> tuple:
    a = int(x)
    return (a // 8, a % 8, a // -3, a % -3, a // -1, a % -1, a >> 3, a << 2)


@entry
def left_shift(x, y) -> int:
    return int(x) << int(y)


@entry
def right_shift(x, y) -> int:
    return int(x) >> int(y)


@entry
def comparisons(x, y) -> tuple:
    a, b = int(x), int(y)
    return (a < b, a <= b, a > b, a >= b, a == b, a != b)


@entry
def between(x, y) -> bool:
    a, b = int(x), int(y)
    return 1 <= a < b


@entry
def constants() -> tuple:
    return (FOUR, LOWEST, -1, 0, TEXT, QUOTED, 2.5, b"bytes\0", None, True, False, 9223372036854775807, "it's \n")


@entry
def floats(x) -> object:
    a, word = float(x), words(1)
    put_float64(address_of(word), a)
    return (a, get_int64(address_of(word)), float(3))


@entry
def of_bool(flag: bool, x) -> tuple:
    return (int(flag), flag, not flag, int(x))


@entry
def augmented(n) -> int:
    total = 0
    for k in range(int(n)):
        total += k
        total *= 3
        total -= len((n, n)) - 1
        total %= 1000
    return total


@entry
def top(x) -> int:
    return top_bits(int(x) * -7046029254386353131, 12)


@raw
def halved(n: int, flag: bool) -> int:
    if flag and n > 0:
        return n // 2
    return -n


@raw
def ends(n: int, to: Words) -> None:
    to[0] = n
    while n > 1:
        n = n >> 1
        to[1] = to[1] + 1


@entry
def raw_calls(n) -> tuple:
    room = words(2)
    room[1] = 0
    ends(int(n), room)
    return (halved(int(n), True), halved(int(n), False), room[0], room[1])


absolute = c_function("labs", 1, "i64")


@entry
def c_calls(n) -> int:
    return absolute(int(n))


# ---- conditions ----------------------------------------------------------------------------------------------------


@entry
def logic(x, y) -> tuple:
    a, b = x is not None, y is None
    return (a and b, a or b, not a, not (a and not b), a and (b or x is y), x is y, x is not y)


@entry
def either(x, y, first: bool):
    return x if first else y


@entry
def nested_either(x, y):
    return (x, y) if x is not None else y if y is not None else (y,)


@entry
def counted_either(x, y) -> int:
    return len((x, y)) if x is y else 5 if x is None else -1


@entry
def truths(items: list, parts: tuple, flag: bool, n) -> list:
    found: list = []
    if items:
        found.append("items")
    if parts and not flag:
        found.append("parts, no flag")
    if flag or int(n):
        found.append("flag or number")
    return found


@entry
def short_circuit(items: list, x) -> bool:
    return len(items) > 0 and items[0] is x


@entry
def elif_chain(n) -> str:
    k = int(n)
    if k < 0:
        return "negative"
    elif k == 0:
        return "none"
    elif k == 1:
        word = "one"
    else:
        word = "many"
    return word


@entry
def if_without_else(x, y):
    if x is None:
        x = y
    return x


# ---- loops ---------------------------------------------------------------------------------------------------------


@entry
def while_loop(n) -> int:
    k, steps = int(n), 0
    while k != 1 and steps < 100:
        k = k // 2 if k % 2 == 0 else 3 * k + 1
        steps += 1
    return steps


@entry
def endless(items: list):
    k = 0
    while True:
        if items[k] is None:
            found = k
            break
        k += 1
    return found


@entry
def endless_return(items: list) -> int:
    k = 0
    while True:
        if items[k] is None:
            return k
        k += 1


@entry
def either_in_a_condition(thing: Thing, n) -> int:
    k = 0
    while (thing.items if k < int(n) else None) is not None:
        k += 1
    return k


@entry
def over_range(n, m) -> int:
    total = 0
    for k in range(int(n), int(m)):
        total = total * 10 + k
    for _ in range(3):
        total += 1
    return total


@entry
def loop_variable_stays(n):
    k = -1
    for k in range(int(n)):  # noqa: B007
        pass
    return k


@entry
def bound_changes(n) -> int:
    stop, steps = int(n), 0
    for k in range(stop):
        stop = 0
        k = 100
        steps += k
    return steps


@entry
def over_tuple(parts: tuple, stop):
    last = None
    for part in parts:
        if part is stop:
            break
        last = part
    return last


@entry
def over_growing_list(items: list):
    for item in items:
        if len(items) < 10:
            items.append((item,))
    return items


@entry
def over_operands(stop, *operands):
    found: list = []
    for x in operands:
        if x is None:
            continue
        if x is stop:
            return found
        found.append(x)
    return (found, len(operands))


@entry
def over_pairs(pairs: list) -> list:
    found: list = []
    for pair in pairs:
        left, right = cast(tuple, pair)
        if left is right:
            found.append(left)
    return found


@entry
def over_made(x, y) -> list:
    found: list = []
    for each in as_tuple([x, y, x]):
        for other in (each, x):
            found.append((each, other))
    return found


@entry
def nested_loops(rows: list, wanted):
    k = 0
    for row in rows:
        k += 1
        for item in cast(tuple, row):
            if item is wanted:
                break
            if item is None:
                return ("none in", k)
        else_ = k
        while else_ > 2:
            else_ -= 1
            if else_ == 3:
                continue
    return k


@entry
def set_in_a_loop(items: list):
    held = None
    for item in items:
        before, held = held, item
        if before is held:
            return before
    return held


@entry
def narrowed_by_a_loop(thing: Thing):
    below: Thing | None = thing
    while below is not None:
        if below.flag is True:
            break
        below = below.below
    return below


@entry
def cleared_in_a_loop(items: list):
    x = None
    for item in items:
        x = (item,)
        if item is None:
            x = item
            continue
        del item
    return x


# ---- errors --------------------------------------------------------------------------------------------------------


@entry
def raises(n):
    k = int(n)
    if k == 0:
        raise ValueError("programs: no number")
    if k == 1:
        raise KeyError(TEXT)
    if k == 2:
        raise RuntimeError(QUOTED)
    return k


@entry
def caught(call, x):
    before = (x,)
    try:
        made = (before, call(x), x)
    except BaseException:
        return ("caught", before) if x is None else "caught"
    return made


@entry
def caught_and_on(call, items: list) -> list:
    found: list = []
    for item in items:
        try:
            if item is None:
                continue
            if item is call:
                break
            found.append((call(item), (item,)))
        except BaseException:
            found.append("failed")
    found.append("end")
    return found


@entry
def returned_in_try(call, x):
    try:
        for item in cast(tuple, x):
            if item is None:
                return ("inside", item)
            call((item, (x,)))
    except BaseException:
        pass
    return "behind"


@entry
def deleted_in_try(call, x):
    y = (x,)
    try:
        del y
        call(x)
        y = (x, x)
    except BaseException:
        y = None
    return y


@entry
def caught_twice(call, x):
    try:
        try:
            return call(x)
        except BaseException:
            return call((x,))
    except BaseException:
        return "twice"


@entry
def fails_late(call, x, y):
    one, two = (x, y), [x, (y,)]
    three = (one, two, call(x))
    return (one, two, three)


# ---- variables -----------------------------------------------------------------------------------------------------


@entry
def swapped(x, y):
    a, b = (x,), (y,)
    a, b = b, a
    for _ in range(3):
        a, b = b, (a, b)
    return (a, b)


@entry
def unpacks_itself(x):
    pair = as_tuple([(x,), x])
    pair, other = pair
    return (pair, other)


@entry
def unpacks_a_list(items: list):
    x, (y, z), _ = items[0], cast(tuple, items[1]), 5
    return (z, y, x)


@entry
def unpacks_three(parts: tuple):
    x, _, y = parts
    return [x, y]


@entry
def unpacks_into_places(thing: Thing, parts: tuple, known: dict):
    thing.name, known["a"], x = parts
    return x


@entry
def chained(thing: Thing, x):
    a = thing.name = thing.items = b = (x,)
    thing.below = thing.parts = (a, b)
    return (a, b)


@entry
def set_again(x, y):
    x = y
    y = None
    return (x, y)


@entry
def parameter_set_to_constant(x):
    x = None
    return x


@entry
def parameter_set_in_a_branch(x, y, flag: bool):
    if flag:
        x = (x, y)
    return x


@entry
def deletes(x, y):
    a = (x, y)
    b = a
    del a, y
    return b


@entry
def number_set_again(x) -> int:
    k = int(x)
    k = k + 1
    del x
    return k


@entry
def borrowed_and_used(thing: Thing, call):
    items, parts = thing.items, thing.parts
    first = items[0]
    call(thing)
    return (first, items, parts)


@entry
def borrowed_in_a_loop(thing: Thing, call):
    items = thing.items
    for k in range(3):
        call(thing)
        if len(items) > k:
            first = items[k]
            call(thing)
            if first is None:
                return k
    return items


@entry
def borrowed_then_set(thing: Thing, x):
    items = thing.items
    thing.items = x
    return items


@entry
def annotated(x, y):
    found: list | None = None
    if x is not None:
        found = [x]
    if found is None:
        return y
    found.append(y)
    number: int | None = 1000
    flag: bool = found is x
    return (found, number, flag)


# ---- containers ----------------------------------------------------------------------------------------------------


@entry
def makes(x, y):
    return ([x, (y, x)], [], (), (x,), [y, 3, True, -70000])


@entry
def indexed(items: list, parts: tuple, k):
    index = int(k)
    return (items[index], parts[index], items[0])


@entry
def grows(n) -> list:
    found: list = []
    for k in range(int(n)):
        found.append((k, found))
        found.append(k)
    return found


@entry
def dicts(known: dict, x, y):
    before = known.get(x)
    known[x] = y
    known["k"] = 5
    inside = x in known and y not in known
    if "k" in known:
        del known["k"]
    del known[x]
    return (before, inside, known.get("absent"), known.get(1))


@entry
def dict_counts(known: dict, x) -> int:
    found = known.get(x)
    if found is None:
        known[x] = 1
        return 0
    left = int(found) - 1
    known[x] = left
    return left


@entry
def missing_key(known: dict, x):
    del known[x]


@entry
def sets(seen: set, x, y):
    seen.add(x)
    seen.add((x, y))
    return seen.add(y)


@entry
def list_methods(items: list, x):
    items.append(x)
    items.insert(0, (x,))
    return (items.index(x), items.pop(), items.count(x))


@entry
def comprehension(*operands):
    k = 7
    made = tuple([(operands[k], k) for k in range(len(operands))])
    return (made, k)


@entry
def nested_comprehension(n, x):
    return tuple([tuple([x if j == 1 else (j, k) for j in range(k)]) for k in range(int(n))])


@entry
def comprehension_that_calls(call, n):
    return tuple([call((k, n)) for k in range(int(n))])


@entry
def negative_comprehension(x):
    return tuple([x for _k in range(-3)])


# ---- attributes ----------------------------------------------------------------------------------------------------


@entry
def reads(thing: Thing):
    return (thing.name, thing.count, thing.items, int(thing.count) + 1, thing.flag is True)


@entry
def writes(thing: Thing, x):
    thing.items = x
    thing.count = int(thing.count) + 1000
    thing.flag = x is None
    thing.below = None
    return thing


@entry
def chain_of_fields(thing: Thing):
    below = thing.below
    if below is None:
        return None
    last = below.below
    if last is None:
        return below.count
    return last.items


@entry
def by_protocol(x):
    return (x.name, x.doubled())


@entry
def protocol_of_a_class(thing: Thing):
    return thing.doubled()


@entry
def sealed_field(sealed: Sealed, call):
    inner = sealed.inner
    call(inner)
    return inner.name


@entry
def has_slots(thing: Thing):
    return (hasattr(thing, "name"), hasattr(thing, "parts"))


@entry
def classes(x, y):
    found: list = []
    if isinstance(x, Thing):
        found.append(x.name)
    if type(x) is Thing and not isinstance(y, Thing):
        found.append(x.count)
    if type(y) is type(x):
        found.append("same")
    kind = type(x)
    if kind is int or kind is float:
        found.append(kind)
    if isinstance(x, list) and len(x) == 1:
        found.append(x[0])
    return found


@entry
def tuple_of_kinds(pair: Pair):
    thing, items = pair
    items.append(thing.name)
    return (thing, pair[1])


@entry
def new_thing(x, y):
    made = new(Thing, name=x, items=[y], count=5)
    made.flag = True
    return made


@entry
def allocated(thing: Thing, copies: bytes, slot: bytes, x):
    made = cast(Thing, allocate(type(thing)))
    copy_slots(thing, made, words_of(copies))
    made.below = thing
    put(made, words_of(slot)[0], x)
    return (made, get(made, words_of(slot)[0]))


# ---- calls ---------------------------------------------------------------------------------------------------------


@native
def pair_of(x, y):
    return (x, y)


@native(inline=True)
def first_of(x, y):
    return x


@native(borrows=True)
def lent(thing: Thing):
    return thing.items


@native
def star(prefix, *rest):
    if len(rest) == 0:
        return (prefix,)
    return (prefix, rest[0], len(rest))


@native
def of_rows(some: Row, more: Row) -> int:
    return 10 * len(some) + len(more)


@entry
def native_calls(x, y):
    return (pair_of(x, (y,)), first_of((x,), y), pair_of(y, pair_of(x, x)))


@entry
def borrowing_calls(thing: Thing, call):
    items = lent(thing)
    call(thing)
    return items


@entry
def star_calls(call, *operands):
    return (call(*operands), call(1, *operands), star(call, *operands), star(call, *operands[1:]), star(call))


@entry
def star_of_a_tuple(call, parts: tuple):
    return (call(*parts), call(None, *parts), star(call, *parts))


@entry
def parts_of_rows(n, m, *operands):
    a, b = int(n), int(m)
    tail, head, middle = operands[a:], operands[:b], operands[a:b]
    return (
        as_tuple([len(tail), len(head), len(middle)]),
        star(None, *tail),
        star(None, *head),
        star(None, *middle),
        of_rows(head, tail),
    )


@entry
def python_calls(call, x):
    return (call(), call(x), call(x, 1), call((x,), 2.5, True))


@entry
def evaluated_once(call, thing: Thing):
    items = thing.items
    items.append(call("argument"))
    return cast(Any, call("object")).count(call("another"))


@entry
def order_of_arguments(call):
    return call(call(1), call(2), *as_tuple([call(3), call(4)]))


@entry
def calls_a_field(thing: Thing, x):
    return cast(tuple, thing.parts)[0](x)


@entry
def passes_flag(x) -> bool:
    return negated(x is None)


@native
def negated(flag: bool) -> bool:
    return not flag


@entry
def nothing(x) -> None:
    pair_of(x, x)


@entry
def falls_through(x):
    if x is None:
        return (x,)


# ---- words ---------------------------------------------------------------------------------------------------------


@entry
def word_loops(n) -> list:
    room, found = words(8), []
    for k in range(8):
        room[k] = k * int(n)
    for k in range(8):
        found.append(room[7 - k])
    return found


@entry
def statics(n) -> tuple:
    counts[1] = counts[1] + int(n)
    add(counts, 1)
    won = swap(counts, load(counts), 3)
    store(counts, 3)
    return (counts[0], counts[1], won)


@entry
def bytes_and_words(data: bytes) -> tuple:
    room, given = words(2), words_of(data)
    room[0], room[1] = given[1], given[0]
    return (bytes_of(room, 2), same_words(data, given, 2), same_words(data, room, 2), same_words(data, given, 1))


holder = Static(0)


@entry
def keeps(x, y):
    keep(holder, 0, x)
    keep(holder, 0, y)
    found = kept(holder, 0)
    forget(holder, 0)
    return found


@entry
def memory(array) -> bool:
    return owns_memory(array)


@entry
def hides(x):
    made = [x]
    hide(made)
    return 1


@primitive("  %v = add i64 %n, 1\n  ret i64 %v")
def successor(n: int) -> int:
    return n + 1


@entry
def own_primitive(n) -> int:
    return successor(successor(int(n)))


@entry
def stores(n) -> int:
    room = words(1)
    put_int64(address_of(room), int(n))
    return get_int64(address_of(room))


@entry
def other_references(thing: Thing) -> int:
    made = [thing]
    also = (made, made)
    return others(made) + others(also)


# ---- classes -------------------------------------------------------------------------------------------------------


@bound
class Adder:
    """Fields, methods, and operands."""

    __slots__ = ("start", "call", "marks")
    start: int
    call: Any
    marks: bytes

    def __init__(self, start, call, marks):
        self.start, self.call, self.marks = start, call, marks

    def __call__(self, x, *more):
        total = int(self.start) + words_of(self.marks)[0]
        for each in more:
            total += self.one(each)
        return (total, self.call(x), self.call(*more))

    def one(self, x) -> int:
        """A method that methods call, and Python too."""
        return 0 if x is None else self.cold(x)

    @native(cold=True)
    def cold(self, x) -> int:
        """A method with a style of its own."""
        return 1
