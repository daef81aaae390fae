"""Primitives of native code: operations that Python has no word for, each with its meaning in Python and in machine code.

The function is the meaning in Python; the text in its decorator is LLVM's, in which the parameters have their names, and names
in capitals behind an ``@`` are filled in by ``link``. Functions without such a text are forms that the translator knows. Text that
no primitive names, as that of reference counts, is in ``support``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .language import Words, primitive

__all__ = [
    "Slot",
    "add",
    "address_of",
    "address_of_bytes",
    "address_of_object",
    "allocate",
    "array_data",
    "as_tuple",
    "bytes_of",
    "call_eight",
    "call_eleven",
    "call_one",
    "call_sixteen",
    "copy_slots",
    "exchange",
    "forget",
    "function_address",
    "get",
    "get_int64",
    "give_lock",
    "hide",
    "imag_part",
    "is_small",
    "keep",
    "kept",
    "load",
    "new",
    "new_array",
    "new_word",
    "others",
    "owns_memory",
    "pause",
    "put",
    "put_float32",
    "put_float64",
    "put_int64",
    "real_part",
    "reraise",
    "run_chunk",
    "run_kernel",
    "same_words",
    "store",
    "subtract",
    "swap",
    "switch",
    "take_lock",
    "thread_dict",
    "thread_number",
    "thread_state",
    "top_bits",
    "words",
    "words_of",
]

if TYPE_CHECKING:
    Slot = int
else:

    class Slot(int):
        """A slot, by its offset; in Python by its name."""


# ---- memory --------------------------------------------------------------------------------------------------------


def words(count: int) -> Words:
    """Uninitialised memory for as long as the function runs; the count is a constant."""
    return (ctypes.c_int64 * count)()


@primitive("  %i = ptrtoint ptr %words to i64\n  ret i64 %i")
def address_of(words: Words) -> int:
    """Where words are."""
    return ctypes.addressof(words)


@primitive("  %at = getelementptr i8, ptr %data, i64 @BYTES_ITEMS\n  ret ptr %at")
def words_of(data: bytes) -> Words:
    """The content of a bytes object."""
    return memoryview(data)[: len(data) & -8].cast("q") if isinstance(data, bytes) else data


@primitive("  %at = getelementptr i8, ptr %data, i64 @BYTES_ITEMS\n  %i = ptrtoint ptr %at to i64\n  ret i64 %i")
def address_of_bytes(data: bytes) -> int:
    """Where the content of a bytes object is."""
    return ctypes.cast(data, ctypes.c_void_p).value or 0


def _poke(name: str, llvm: str, python: str, c_type: Any, narrow: str = "") -> Callable[[int, Any], None]:
    """A primitive that stores a number at an address."""

    def put(address, value):
        if python == "int" and not -1 << 63 <= value < 1 << 63:
            raise OverflowError(f"{name}: a machine number has 64 bits.")
        c_type.from_address(address).value = value

    put.__name__, put.__annotations__ = name, {"address": "int", "value": python, "return": "None"}
    kind = {"int": "i64", "float": "double"}[python]
    cast = f"  %v = {narrow} {kind} %value to {llvm}\n" if narrow else ""
    return primitive(
        f"  %at = inttoptr i64 %address to ptr\n{cast}  store {llvm} %{'v' if narrow else 'value'}, ptr %at\n  ret void"
    )(put)


put_int64 = _poke("put_int64", "i64", "int", ctypes.c_int64)
put_float32 = _poke("put_float32", "float", "float", ctypes.c_float, "fptrunc")
put_float64 = _poke("put_float64", "double", "float", ctypes.c_double)


@primitive("  %at = inttoptr i64 %address to ptr\n  %v = load i64, ptr %at\n  ret i64 %v")
def get_int64(address: int) -> int:
    """The int64 at an address."""
    return ctypes.c_int64.from_address(address).value


@primitive(
    """  %at = getelementptr ptr, ptr %words, i64 %k
  %old = load ptr, ptr %at
  call void @incref(ptr %x)
  store ptr %x, ptr %at
  call void @xdecref(ptr %old)
  ret void""",
    yields=True,
    late=True,
)
def keep(words: Words, k: int, x: object) -> None:
    """Keep an object in a static word."""
    words[k] = x


@primitive("  %at = getelementptr ptr, ptr %words, i64 %k\n  %x = load ptr, ptr %at\n  ret ptr %x")
def kept(words: Words, k: int) -> object:
    """The object in a static word."""
    return words[k]


@primitive(
    """  %at = getelementptr ptr, ptr %words, i64 %k
  %old = load ptr, ptr %at
  store ptr null, ptr %at
  call void @xdecref(ptr %old)
  ret void""",
    yields=True,
    late=True,
)
def forget(words: Words, k: int) -> None:
    """Empty a static word that holds an object."""
    words[k] = 0


# ---- objects -------------------------------------------------------------------------------------------------------


@primitive("  %i = ptrtoint ptr %x to i64\n  ret i64 %i")
def address_of_object(x: object) -> int:
    """Where an object is."""
    return id(x)


def new(cls: type, **slots: Any) -> Any:
    """An instance with these slots, the others unset; slots that can only be read have a function ``_put_NAME_`` on the class."""
    made = object.__new__(cls)
    for name, value in slots.items():
        put_slot(made, name, value)
    return made


def put_slot(x: Any, slot: Any, value: Any) -> None:
    """Set a slot of an object, also one that can only be read."""
    setter = getattr(type(x), f"_put_{slot}_", None)
    setattr(x, slot, value) if setter is None else setter(x, value)


@primitive("  %n = call ptr @PyType_GenericAlloc(ptr %kind, i64 0)\n  ret ptr %n", new=True, yields=True, late=True, raises=True)
def allocate(kind: type) -> object:
    """An instance whose slots are unset."""
    return object.__new__(kind)


@primitive("  call void @PyObject_GC_UnTrack(ptr %x)\n  ret void")
def hide(x: object) -> None:
    """Hide an object from the cyclic collector: NOTE [Collector]."""


@primitive(
    """  %at = getelementptr i8, ptr %x, i64 %slot
  %old = load ptr, ptr %at
  call void @incref(ptr %value)
  store ptr %value, ptr %at
  call void @xdecref(ptr %old)
  ret void""",
    yields=True,
    late=True,
)
def put(x: object, slot: Slot, value: object) -> None:
    """Set a slot."""
    put_slot(x, slot, value)


@primitive("""  %at = getelementptr i8, ptr %x, i64 %slot
  %value = load ptr, ptr %at
  ret ptr %value""")
def get(x: object, slot: Slot) -> object:
    """The object in a slot that is set."""
    return getattr(x, slot)


@primitive("""entry:
  %count = load i64, ptr %slots
  br label %test
test:
  %k = phi i64 [1, %entry], [%next, %copy]
  %more = icmp sle i64 %k, %count
  br i1 %more, label %copy, label %done
copy:
  %offset_at = getelementptr i64, ptr %slots, i64 %k
  %offset = load i64, ptr %offset_at
  %from = getelementptr i8, ptr %template, i64 %offset
  %value = load ptr, ptr %from
  call void @incref(ptr %value)
  %to = getelementptr i8, ptr %x, i64 %offset
  store ptr %value, ptr %to
  %next = add i64 %k, 1
  br label %test
done:
  ret void""")
def copy_slots(template: object, x: object, slots: Words) -> None:
    """Give a new object what a template has in some slots; the first word says how many."""
    for name in slots[1:]:
        setattr(x, name, getattr(template, name))


def others(x: object) -> int:
    """How many references to an object there are besides that of the variable. Python cannot tell, and says: too many."""
    return 1 << 30


@primitive("  %t = call ptr @PySequence_Tuple(ptr %x)\n  ret ptr %t", new=True, yields=True, raises=True)
def as_tuple(x: object) -> tuple:
    """A sequence as a tuple; a tuple itself."""
    return tuple(x)


# ---- arrays and kernels --------------------------------------------------------------------------------------------


@primitive(
    """entry:
  %dims = getelementptr i8, ptr %size, i64 @BYTES_ITEMS
  call void @incref(ptr %descr)                           ; stolen by PyArray_NewFromDescr
  %elements = load i64, ptr %dims
  %large = icmp sge i64 %elements, @LARGE_ARRAY
  %maker = select i1 %large, ptr @new_large_array, ptr @new_from_descr
  %make = load ptr, ptr %maker
  %ndarray = load ptr, ptr @ndarray_type
  %array = call ptr %make(ptr %ndarray, ptr %descr, i32 1, ptr %dims, ptr null, ptr null, i32 0, ptr null)
  ret ptr %array""",
    new=True,
    yields=True,
    late=True,
    raises=True,
)
def new_array(descr: object, size: bytes) -> object:
    """An uninitialised array; ``size`` is its length as an int64."""
    import numpy

    return numpy.empty(int.from_bytes(size, "little", signed=True), descr)


@primitive("  %at = getelementptr i8, ptr %array, i64 @ARRAY_DATA\n  %v = load i64, ptr %at\n  ret i64 %v")
def array_data(array: object) -> int:
    """Address of the first byte of an ndarray, or of a GPU's memory."""
    return array.ctypes.data if hasattr(array, "ctypes") else array.address


@primitive("""  %at = getelementptr i8, ptr %array, i64 @ARRAY_BASE
  %base = load ptr, ptr %at
  %own = icmp eq ptr %base, null
  ret i1 %own""")
def owns_memory(array: object) -> bool:
    """Whether an array's memory is its own."""
    return array.base is None


KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


@primitive("""  %scratch = alloca [2 x ptr]
  %second = getelementptr ptr, ptr %scratch, i64 1
  %function = inttoptr i64 %kernel to ptr
  call i32 %function(ptr %scratch, ptr %second, i64 0, i64 %units, ptr %pointers)
  ret void""")
def run_kernel(kernel: int, units: int, pointers: Words) -> None:
    """Run a kernel (Numba's convention: two result words first) in the caller's thread."""
    run_chunk(kernel, 0, units, address_of(pointers))


@primitive("  %thread = call ptr @PyEval_SaveThread()\n  %i = ptrtoint ptr %thread to i64\n  ret i64 %i", yields=True)
def give_lock() -> int:
    """Let other threads run Python from here on; what ``take_lock`` needs."""
    return 0


@primitive("  %state = inttoptr i64 %thread to ptr\n  call void @PyEval_RestoreThread(ptr %state)\n  ret void", yields=True)
def take_lock(thread: int) -> None:
    """Wait until this thread may go on."""


@primitive("  %v = call double @PyComplex_RealAsDouble(ptr %x)\n  ret double %v", yields=True)
def real_part(x: object) -> float:
    """The real part of a number."""
    return complex(x).real


@primitive("  %v = call double @PyComplex_ImagAsDouble(ptr %x)\n  ret double %v", yields=True)
def imag_part(x: object) -> float:
    """The imaginary part of a number."""
    return complex(x).imag


@primitive("""  %over = alloca i32
  %v = call i64 @PyLong_AsLongLongAndOverflow(ptr %x, ptr %over)
  %least = icmp sgt i64 %v, -2147483648
  %most = icmp slt i64 %v, 2147483648
  %low = load i32, ptr %over
  %none = icmp eq i32 %low, 0
  %inside = and i1 %least, %most
  %small = and i1 %inside, %none
  ret i1 %small""")
def is_small(x: object) -> bool:
    """Whether an int is less than 2**31, and so is its opposite."""
    return -(1 << 31) < int(x) < 1 << 31  # type: ignore[call-overload]


@primitive(
    """  %e = call ptr @PyErr_Occurred()
  %bad = icmp ne ptr %e, null
  ret i1 %bad""",
    raises=True,
)
def reraise() -> None:
    """Raise the error that a primitive may have left."""


# ---- threads -------------------------------------------------------------------------------------------------------


@primitive("  %s = call ptr @PyThreadState_Get()\n  %n = call i64 @PyThreadState_GetID(ptr %s)\n  ret i64 %n")
def thread_number() -> int:
    """A number of this thread that no other one ever has. For native code alone."""
    raise NotImplementedError


@primitive("  %d = call ptr @PyThreadState_GetDict()\n  ret ptr %d")
def thread_dict() -> dict:
    """A dict of this thread's state. For native code alone."""
    raise NotImplementedError


# ---- raw code: atomics, the C library ------------------------------------------------------------------------------


def switch() -> None:
    """Called before every step that other threads may see. Tests exchange it for a function that lets another thread run."""


def _atomic(name: str, body: str, python: Callable, **notes: str) -> Callable[..., Any]:
    def atomic(*operands):
        switch()
        return python(*operands)

    atomic.__name__, atomic.__annotations__ = name, {"words": "Words", **notes}
    return primitive(body)(atomic)


def _add(words, value):
    words[0] += value


def _exchange(words, value):
    old, words[0] = words[0], value
    return old


def _swap(words, old, value):
    if words[0] != old:
        return False
    words[0] = value
    return True


load = _atomic(
    "load", "  %v = load atomic i64, ptr %words seq_cst, align 8\n  ret i64 %v", lambda words: words[0], **{"return": "int"}
)
store = _atomic(
    "store", "  store atomic i64 %value, ptr %words seq_cst, align 8\n  ret void", _exchange, value="int", **{"return": "None"}
)
add = _atomic("add", "  %v = atomicrmw add ptr %words, i64 %value seq_cst\n  ret void", _add, value="int", **{"return": "None"})
subtract = _atomic(
    "subtract",
    "  %v = atomicrmw sub ptr %words, i64 %value seq_cst\n  ret void",
    lambda words, value: _add(words, -value),
    value="int",
    **{"return": "None"},
)
exchange = _atomic(
    "exchange", "  %v = atomicrmw xchg ptr %words, i64 %value seq_cst\n  ret i64 %v", _exchange, value="int", **{"return": "int"}
)
# Put a value there if the old one is; whether it was.
swap = _atomic(
    "swap",
    """  %v = cmpxchg ptr %words, i64 %old, i64 %value seq_cst seq_cst
  %won = extractvalue { i64, i1 } %v, 1
  ret i1 %won""",
    _swap,
    old="int",
    value="int",
    **{"return": "bool"},
)


@primitive("@PAUSE\n  ret void")
def pause() -> None:
    """Tell the core that it waits."""
    switch()


@primitive("""  %scratch = alloca [4 x i64], align 16
  %second = getelementptr i64, ptr %scratch, i64 2
  %function = inttoptr i64 %kernel to ptr
  %args = inttoptr i64 %pointers to ptr
  %status = call i32 %function(ptr %scratch, ptr %second, i64 %start, i64 %stop, ptr %args)
  ret void""")
def run_chunk(kernel: int, start: int, stop: int, pointers: int) -> None:
    """Run a part of a kernel's work."""
    scratch = (ctypes.c_void_p * 2)()
    KERNEL(kernel)(ctypes.addressof(scratch), ctypes.addressof(scratch), start, stop, pointers)


@primitive("  %f = inttoptr i64 %function to ptr\n  %v = call i64 %f(i64 %x)\n  ret i64 %v")
def call_one(function: int, x: int) -> int:
    """Call a C function by its address."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(function)(x)


@primitive("""  %x = inttoptr i64 %function to ptr
  %v = call i64 %x(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h)
  ret i64 %v""")
def call_eight(function: int, a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int) -> int:
    """Call a C function by its address. For native code alone."""
    raise NotImplementedError


LAUNCHER = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 11)


@primitive("""  %x = inttoptr i64 %function to ptr
  %v = call i32 %x(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h, i64 %i, i64 %j, i64 %k)
  %w = sext i32 %v to i64
  ret i64 %w""")
def call_eleven(function: int, a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int, i: int, j: int, k: int) -> int:
    """Call a C function by its address."""
    return LAUNCHER(function)(a, b, c, d, e, f, g, h, i, j, k)


SIXTEEN = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 16)


@primitive(
    "  %x = inttoptr i64 %function to ptr\n"
    + "".join(f"  %p{k} = getelementptr i64, ptr %words, i64 {k}\n  %v{k} = load i64, ptr %p{k}\n" for k in range(16))
    + f"  %v = call i32 %x({', '.join(f'i64 %v{k}' for k in range(16))})\n  %w = sext i32 %v to i64\n  ret i64 %w"
)
def call_sixteen(function: int, words: Words) -> int:
    """Call a C function by its address with sixteen words, of which it may take fewer."""
    return SIXTEEN(function)(*words[:16])


def function_address(function: Callable) -> int:
    """Where a raw function is. For native code alone."""
    raise NotImplementedError


# ---- bytes, and the interpreter's frames ---------------------------------------------------------------------------


@primitive("  %b = call ptr @PyBytes_FromStringAndSize(ptr @zero_word, i64 8)\n  ret ptr %b", new=True, raises=True)
def new_word() -> bytes:
    """Bytes with an int64 in them: 0, to be changed in their place. For native code alone."""
    raise NotImplementedError


@primitive(
    "  %size = shl i64 %count, 3\n  %b = call ptr @PyBytes_FromStringAndSize(ptr %words, i64 %size)\n  ret ptr %b",
    new=True,
    raises=True,
)
def bytes_of(words: Words, count: int) -> bytes:
    """The first words, as bytes."""
    return bytes(words)[: 8 * count]


@primitive("""entry:
  %length_at = getelementptr i8, ptr %data, i64 16
  %length = load i64, ptr %length_at
  %size = shl i64 %count, 3
  %as_long = icmp eq i64 %length, %size
  br i1 %as_long, label %compare, label %differ
compare:
  %content = getelementptr i8, ptr %data, i64 @BYTES_ITEMS
  %difference = call i32 @memcmp(ptr %content, ptr %words, i64 %size)
  %same = icmp eq i32 %difference, 0
  ret i1 %same
differ:
  ret i1 false""")
def same_words(data: bytes, words: Words, count: int) -> bool:
    """Whether bytes are so many words."""
    return data == bytes_of(words, count)


@primitive("  %b = sub i64 64, %bits\n  %v = lshr i64 %i, %b\n  ret i64 %v")
def top_bits(i: int, bits: int) -> int:
    """The highest bits of a machine number."""
    return (i & 0xFFFFFFFFFFFFFFFF) >> (64 - bits)


@primitive("  %s = call ptr @PyThreadState_Get()\n  %i = ptrtoint ptr %s to i64\n  ret i64 %i")
def thread_state() -> int:
    """Where the interpreter keeps what it knows of this thread. For native code alone."""
    raise NotImplementedError
