"""The machine code behind anomaly mode, as LLVM IR text: a part of launch_ir.py's module.

NOTE [Places]: a place is where in the program nbgrad was called: the instruction of every frame, innermost first. ``find_place``
walks the interpreter's own frames, which makes no frame object, and looks the walk up in a table: the same line, reached in the
same way, is one object. A place not seen before is made by Python, and so is every place where this Python's frames are not known:
their layout changes with its version, and ``FRAMES`` names the ones that were tried.
Measured: a known place 5 frames deep takes 32 ns, 50 deep 93 ns; a new one 1.2 and 5 us; without the table every one would.

``@watcher`` is null while the mode is off. Else it is a tuple: list of ``(walk as bytes, place)`` or None, by the hash of the walk;
``capture(walk, index)``, which makes a place; a list that is empty while no pass runs; ``induced(place)``, asked while one does;
``written(storage)``, told before a write.
"""
from __future__ import annotations

import sys

__all__ = ["ANOMALY_IR", "FRAMES", "MOST_FRAMES", "PLACES", "frame_words"]

PLACES = 4096           # entries of the table; a power of 2
MOST_FRAMES = 256       # the outermost frames of a deeper stack are left out

# Where things lie, by version of Python: the steps from the thread's state to its innermost frame; in a frame its caller and its
# instruction.
FRAMES: dict[tuple[int, int], tuple[tuple[int, ...], int, int]] = {
    (3, 11): ((56, 8), 48, 56),
    (3, 12): ((56, 0), 8, 56),
    (3, 13): ((72,), 8, 56),
    (3, 14): ((72,), 8, 56),
}


def frame_words() -> dict[str, str | int]:
    """What the text needs to know of this Python's frames; of an unknown one any, for code that is never run."""
    steps, caller, instruction = FRAMES.get(sys.version_info[:2], FRAMES[3, 11])
    names = ["state", *(f"step_{k}" for k in range(1, len(steps))), "innermost"]
    path = [f"  %{to} = call ptr @slot(ptr %{of}, i64 {offset})" for of, to, offset in zip(names, names[1:], steps)]
    return {"INNERMOST_FRAME": "\n".join(path), "FRAME_CALLER": caller, "FRAME_INSTRUCTION": instruction,
            "MOST_FRAMES": MOST_FRAMES, "HASH_SHIFT": 65 - PLACES.bit_length()}


NAN_LOOP = """
; Whether some of %n numbers is a NaN: the only one that is not equal to itself. Eight at once, then one by one.
define private i1 @any_nan_BITS(ptr %data, i64 %n) {
entry:
  %whole = and i64 %n, -8
  br label %test
test:
  %i = phi i64 [0, %entry], [%i8, %step]
  %seen = phi <8 x iBITS> [zeroinitializer, %entry], [%now, %step]
  %more = icmp slt i64 %i, %whole
  br i1 %more, label %step, label %fold
step:
  %at = getelementptr REAL, ptr %data, i64 %i
  %v = load <8 x REAL>, ptr %at, align BYTES
  %bad = fcmp uno <8 x REAL> %v, %v
  %mask = sext <8 x i1> %bad to <8 x iBITS>
  %now = or <8 x iBITS> %seen, %mask
  %i8 = add i64 %i, 8
  br label %test
fold:
  %all = call iBITS @llvm.vector.reduce.or.v8iBITS(<8 x iBITS> %seen)
  %found = icmp ne iBITS %all, 0
  br i1 %found, label %yes, label %tail
tail:
  %k = phi i64 [%whole, %fold], [%k1, %one]
  %left = icmp slt i64 %k, %n
  br i1 %left, label %one, label %no
one:
  %at_1 = getelementptr REAL, ptr %data, i64 %k
  %v_1 = load REAL, ptr %at_1
  %bad_1 = fcmp uno REAL %v_1, %v_1
  %k1 = add i64 %k, 1
  br i1 %bad_1, label %yes, label %tail
yes:
  ret i1 true
no:
  ret i1 false
}
declare iBITS @llvm.vector.reduce.or.v8iBITS(<8 x iBITS>)
"""


ANOMALY_IR = "".join(NAN_LOOP.replace("REAL", real).replace("BITS", str(bits)).replace("BYTES", str(bits // 8))
                     for real, bits in (("float", 32), ("double", 64))) + """
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare void @PyErr_Clear()
declare i32 @memcmp(ptr, ptr, i64)
declare ptr @PyList_AsTuple(ptr)
@PyTuple_Type = external global i8
@PyList_Type = external global i8

@watcher = global ptr null

; The place from which this was called: NOTE [Places]. A new reference; null, without a Python error, if it could not be made.
define private ptr @find_place() noinline {
entry:
  %walk = alloca [@MOST_FRAMES x ptr]
  %watcher = load ptr, ptr @watcher
  %places = call ptr @item(ptr %watcher, i64 0)
  %unknown = icmp eq ptr %places, @_Py_NoneStruct
  br i1 %unknown, label %ask, label %begin
begin:
  %state = call ptr @PyThreadState_Get()
@INNERMOST_FRAME
  br label %test
test:
  %frame = phi ptr [%innermost, %begin], [%previous, %step]
  %n = phi i64 [0, %begin], [%n1, %step]
  %hash = phi i64 [0, %begin], [%mixed, %step]
  %bottom = icmp eq ptr %frame, null
  %full = icmp eq i64 %n, @MOST_FRAMES
  %stop = or i1 %bottom, %full
  br i1 %stop, label %look, label %step
step:
  %instruction = call ptr @slot(ptr %frame, i64 @FRAME_INSTRUCTION)
  %previous = call ptr @slot(ptr %frame, i64 @FRAME_CALLER)
  %instruction_at = getelementptr ptr, ptr %walk, i64 %n
  store ptr %instruction, ptr %instruction_at
  %word = ptrtoint ptr %instruction to i64
  %sum = add i64 %hash, %word
  %mixed = mul i64 %sum, -7046029254386353131
  %n1 = add i64 %n, 1
  br label %test
look:
  %index = lshr i64 %hash, @HASH_SHIFT
  %size = shl i64 %n, 3
  %items = call ptr @slot(ptr %places, i64 24)                ; ob_item of the list
  %entry_at = getelementptr ptr, ptr %items, i64 %index
  %pair = load ptr, ptr %entry_at
  %empty = icmp eq ptr %pair, @_Py_NoneStruct
  br i1 %empty, label %make, label %compare
compare:
  %bytes = call ptr @item(ptr %pair, i64 0)
  %length = call ptr @slot(ptr %bytes, i64 16)                ; ob_size
  %own_size = ptrtoint ptr %length to i64
  %as_long = icmp eq i64 %own_size, %size
  br i1 %as_long, label %compare_bytes, label %make
compare_bytes:
  %content = getelementptr i8, ptr %bytes, i64 @BYTES_ITEMS
  %difference = call i32 @memcmp(ptr %content, ptr %walk, i64 %size)
  %equal = icmp eq i32 %difference, 0
  br i1 %equal, label %known, label %make
known:
  %known_place = call ptr @item(ptr %pair, i64 1)
  call void @Py_IncRef(ptr %known_place)
  br label %found
make:
  %raw = call ptr @PyBytes_FromStringAndSize(ptr %walk, i64 %size)
  %no_raw = icmp eq ptr %raw, null
  br i1 %no_raw, label %fail, label %make_index
make_index:
  %number = call ptr @PyLong_FromSsize_t(i64 %index)
  %no_number = icmp eq ptr %number, null
  br i1 %no_number, label %drop_raw, label %make_place
make_place:
  %capture = call ptr @item(ptr %watcher, i64 1)
  %made = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %capture, ptr %raw, ptr %number, ptr null)
  call void @Py_DecRef(ptr %number)
  call void @Py_DecRef(ptr %raw)
  %not_made = icmp eq ptr %made, null
  br i1 %not_made, label %fail, label %found
ask:
  %capture_2 = call ptr @item(ptr %watcher, i64 1)
  %asked = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %capture_2, ptr @_Py_NoneStruct, ptr @_Py_NoneStruct, ptr null)
  %refused = icmp eq ptr %asked, null
  br i1 %refused, label %fail, label %found
found:
  %place = phi ptr [%known_place, %known], [%made, %make_place], [%asked, %ask]
  %running = call ptr @item(ptr %watcher, i64 2)
  %passes = call ptr @slot(ptr %running, i64 16)              ; ob_size
  %outside = icmp eq ptr %passes, null
  br i1 %outside, label %done, label %within
within:
  %induced = call ptr @item(ptr %watcher, i64 3)
  %with_cause = call ptr @PyObject_CallOneArg(ptr %induced, ptr %place)
  call void @Py_DecRef(ptr %place)
  %no_cause = icmp eq ptr %with_cause, null
  br i1 %no_cause, label %fail, label %done
drop_raw:
  call void @Py_DecRef(ptr %raw)
  br label %fail
fail:
  call void @PyErr_Clear()
  ret ptr null
done:
  %result = phi ptr [%place, %found], [%with_cause, %within]
  ret ptr %result
}

; Give a new node its place, if the mode is on.
define private void @note_place(ptr %node) alwaysinline {
entry:
  %watcher = load ptr, ptr @watcher
  %off = icmp eq ptr %watcher, null
  br i1 %off, label %done, label %note
note:
  call void @give_place(ptr %node)
  br label %done
done:
  ret void
}

; The watcher is held: what Python does meanwhile may switch the mode off.
define private void @give_place(ptr %node) noinline cold {
  %watcher = load ptr, ptr @watcher
  call void @Py_IncRef(ptr %watcher)
  %place = call ptr @find_place()
  call void @Py_DecRef(ptr %watcher)
  call void @put(ptr %node, i64 @NODE_PLACE, ptr %place)     ; null: the slot stays unset
  ret void
}

; Tell that a storage is about to be written to, if the mode is on.
define private void @note_write(ptr %storage) alwaysinline {
entry:
  %watcher = load ptr, ptr @watcher
  %off = icmp eq ptr %watcher, null
  br i1 %off, label %done, label %note
note:
  call void @tell_write(ptr %storage)
  br label %done
done:
  ret void
}

define private void @tell_write(ptr %storage) noinline cold {
  %watcher = load ptr, ptr @watcher
  call void @Py_IncRef(ptr %watcher)
  %written = call ptr @item(ptr %watcher, i64 4)
  %nothing = call ptr @PyObject_CallOneArg(ptr %written, ptr %storage)
  call void @Py_DecRef(ptr %watcher)
  %failed = icmp eq ptr %nothing, null
  br i1 %failed, label %forget, label %drop
forget:
  call void @PyErr_Clear()
  ret void
drop:
  call void @Py_DecRef(ptr %nothing)
  ret void
}

; place() -> the place of the caller, or None
define ptr @place(ptr %self, ptr %args, i64 %count) {
entry:
  %watcher = load ptr, ptr @watcher
  %off = icmp eq ptr %watcher, null
  br i1 %off, label %nothing, label %find
find:
  call void @Py_IncRef(ptr %watcher)
  %place = call ptr @find_place()
  call void @Py_DecRef(ptr %watcher)
  %none = icmp eq ptr %place, null
  br i1 %none, label %nothing, label %done
nothing:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
done:
  ret ptr %place
}

@no_node = private constant [25 x i8] c"launch: expected a Node.\\00"

; number(node) -> None: a node made in Python gets its sequence number, and its place
define ptr @number_node(ptr %self, ptr %args, i64 %count) {
entry:
  %well_called = icmp eq i64 %count, 1
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %node = load ptr, ptr %args
  %type = call ptr @slot(ptr %node, i64 8)
  %node_class = load ptr, ptr @node_class
  %is = call i32 @PyType_IsSubtype(ptr %type, ptr %node_class)
  %is_node = icmp ne i32 %is, 0
  br i1 %is_node, label %draw, label %strange
strange:
  %kind = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %kind, ptr @no_node)
  ret ptr null
draw:
  %seq = call ptr @next_seq(ptr null, ptr null, i64 0)
  %no_seq = icmp eq ptr %seq, null
  br i1 %no_seq, label %fail, label %number
number:
  %old = call ptr @slot(ptr %node, i64 @NODE_SEQ)
  call void @put(ptr %node, i64 @NODE_SEQ, ptr %seq)
  call void @Py_DecRef(ptr %old)                              ; null, as in a new node, or the number that it had
  call void @note_place(ptr %node)
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
fail:
  ret ptr null
}

; first_nan(results) -> the position of the first result that holds a NaN, or None; results: a Tensor, None, or several of those.
; self = (sizes, slow): 4 * count + code by layout (0: cannot hold one, 1: float32, 2: float64, 3: ask), else slow(tensor) -> bool.
define ptr @first_nan(ptr %self, ptr %args, i64 %count) {
entry:
  %well_called = icmp eq i64 %count, 1
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %sizes = call ptr @item(ptr %self, i64 0)
  %slow = call ptr @item(ptr %self, i64 1)
  %results = load ptr, ptr %args
  %type = call ptr @slot(ptr %results, i64 8)
  %is_tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is_tuple, label %own, label %not_tuple
own:
  call void @Py_IncRef(ptr %results)
  br label %several
not_tuple:
  %is_list = icmp eq ptr %type, @PyList_Type
  br i1 %is_list, label %list, label %begin
list:
  %copied = call ptr @PyList_AsTuple(ptr %results)            ; what `slow` runs may change the list
  %not_copied = icmp eq ptr %copied, null
  br i1 %not_copied, label %fail, label %several
several:
  %tuple = phi ptr [%results, %own], [%copied, %list]
  %their_items = getelementptr i8, ptr %tuple, i64 @TUPLE_ITEMS
  %length = call ptr @slot(ptr %tuple, i64 16)                ; ob_size
  %their_count = ptrtoint ptr %length to i64
  br label %begin
begin:
  %items = phi ptr [%args, %not_tuple], [%their_items, %several]
  %n = phi i64 [1, %not_tuple], [%their_count, %several]
  %held = phi ptr [null, %not_tuple], [%tuple, %several]
  br label %test
test:
  %i = phi i64 [0, %begin], [%i1, %next]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %take, label %none
take:
  %x_at = getelementptr ptr, ptr %items, i64 %i
  %x = load ptr, ptr %x_at
  %x_tensor = call i1 @is_tensor(ptr %x)
  br i1 %x_tensor, label %size, label %next
size:
  %layout = call ptr @slot(ptr %x, i64 @TENSOR_LAYOUT)
  %size_object = call ptr @PyDict_GetItemWithError(ptr %sizes, ptr %layout)
  %new = icmp eq ptr %size_object, null
  br i1 %new, label %ask, label %known
known:
  %word = call i64 @PyLong_AsSsize_t(ptr %size_object)
  %elements = ashr i64 %word, 2
  %code = and i64 %word, 3
  switch i64 %code, label %ask [i64 0, label %next  i64 1, label %single  i64 2, label %double]
single:
  %data_1 = call ptr @data(ptr %x)
  %found_1 = call i1 @any_nan_32(ptr %data_1, i64 %elements)
  br i1 %found_1, label %yes, label %next
double:
  %data_2 = call ptr @data(ptr %x)
  %found_2 = call i1 @any_nan_64(ptr %data_2, i64 %elements)
  br i1 %found_2, label %yes, label %next
ask:
  %answer = call ptr @PyObject_CallOneArg(ptr %slow, ptr %x)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %drop, label %judge
judge:
  %is_true = icmp eq ptr %answer, @_Py_TrueStruct
  call void @Py_DecRef(ptr %answer)
  br i1 %is_true, label %yes, label %next
next:
  %i1 = add i64 %i, 1
  br label %test
yes:
  %position = call ptr @PyLong_FromSsize_t(i64 %i)
  call void @Py_DecRef(ptr %held)                             ; which takes a null
  ret ptr %position
none:
  call void @Py_DecRef(ptr %held)
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
drop:
  call void @Py_DecRef(ptr %held)
  br label %fail
fail:
  ret ptr null
}
"""
