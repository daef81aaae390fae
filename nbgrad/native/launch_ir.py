"""The machine code behind launch.py, as LLVM IR text: see its notes for the calls, the plan record and what may be trusted.

Names in capitals after an ``@`` are filled in by ``launch.ir_text``: offsets of slots, the pool's functions, copies slot by slot.
Every function is one straight thought: look up, check, allocate, launch, record; a label ``fail`` or ``slow`` ends each.
"""
from __future__ import annotations

__all__ = ["IR"]

IR = """
target triple = "@TRIPLE"
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyTuple_New(i64)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i64 @PyLong_AsSsize_t(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromSsize_t(i64)
declare double @PyFloat_AsDouble(ptr)
declare double @PyComplex_RealAsDouble(ptr)
declare double @PyComplex_ImagAsDouble(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_SetString(ptr, ptr)
@PyExc_TypeError = external global ptr
declare i32 @PyType_IsSubtype(ptr, ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare void @PyObject_GC_UnTrack(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyTuple_Pack(i64, ...)
declare ptr @PyThreadState_Get()
declare i64 @PyThreadState_GetID(ptr)
declare ptr @PyThreadState_GetDict()
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
@PyFloat_Type = external global i8
@PyLong_Type = external global i8
@PyBool_Type = external global i8
@_Py_FalseStruct = external global i8
@_Py_TrueStruct = external global i8
@PyExc_RuntimeError = external global ptr
@_Py_NoneStruct = external global i8

; Set once, after loading.
@tensor_type = global ptr null
@ndarray_type = global ptr null
@new_from_descr = global ptr null
@new_large_array = global ptr null      ; the same, or what puts large arrays into blocks: methods/memory.py
@storage_template = global ptr null
@counter_key = global ptr null
@dict_name = global ptr null
@node_class = global ptr null

; NOTE [Sequence]: numbers are counted by thread, in eight bytes that the thread's dict holds. Kept at hand: the number (used once)
; of the thread that counted last, and where it counts. A number costs 2 ns more than from one counter for all.
@counting_thread = private global i64 -1
@counter = private global ptr null
@zero = private constant i64 0
@asking_thread = private global i64 -1
@held_modes = private global ptr null

@changed = private constant [104 x i8]
    c"launch: an operand changed its type or layout during the call. Hint: another thread assigned its data.\\0A\\00"
@miscounted = private constant [45 x i8] c"launch: the plan expects other operand count\\00"
@no_tensor = private constant [27 x i8] c"launch: expected a Tensor.\\00"
@misused = private constant [72 x i8] c"launch: a native function got another number of arguments than it takes\\00"

; The error of a call with too few arguments, or too many; null.
define private ptr @misuse() noinline cold {
  %kind = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %kind, ptr @misused)
  ret ptr null
}

; Count a reference up, and down: inlined, a product with its node takes 0.40 instead of 0.43 us. From 3.12 on a count has 32 bits,
; and one below 0 is an immortal object's.
define private void @hold(ptr %object) alwaysinline {
entry:
  %count = load @COUNT, ptr %object
  %mortal = icmp sge @COUNT %count, 0
  br i1 %mortal, label %add, label %done
add:
  %more = add @COUNT %count, 1
  store @COUNT %more, ptr %object
  br label %done
done:
  ret void
}

define private void @let_go(ptr %object) alwaysinline {
entry:
  %count = load @COUNT, ptr %object
  %several = icmp sgt @COUNT %count, 1
  br i1 %several, label %subtract, label %ask
subtract:
  %fewer = sub @COUNT %count, 1
  store @COUNT %fewer, ptr %object
  br label %done
ask:
  %last = icmp eq @COUNT %count, 1
  br i1 %last, label %free, label %done
free:
  call void @Py_DecRef(ptr %object)
  br label %done
done:
  ret void
}

define private ptr @slot(ptr %object, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %object, i64 %offset
  %value = load ptr, ptr %at
  ret ptr %value
}

define private void @put(ptr %object, i64 %offset, ptr %value) alwaysinline {
  %at = getelementptr i8, ptr %object, i64 %offset
  store ptr %value, ptr %at
  ret void
}

define private ptr @item(ptr %tuple, i64 %i) alwaysinline {
  %base = getelementptr i8, ptr %tuple, i64 @TUPLE_ITEMS
  %at = getelementptr ptr, ptr %base, i64 %i
  %value = load ptr, ptr %at
  ret ptr %value
}

define private i64 @word(ptr %record, i64 %i) alwaysinline {
  %at = getelementptr i64, ptr %record, i64 %i
  %value = load i64, ptr %at
  ret i64 %value
}

define private void @copy_slot(ptr %from, ptr %to, i64 %offset) alwaysinline {
  %value = call ptr @slot(ptr %from, i64 %offset)
  call void @hold(ptr %value)
  call void @put(ptr %to, i64 %offset, ptr %value)
  ret void
}

; Address of a tensor's first element.
define private ptr @data(ptr %tensor) alwaysinline {
  %storage = call ptr @slot(ptr %tensor, i64 @TENSOR_STORAGE)
  %array = call ptr @slot(ptr %storage, i64 @STORAGE_ARRAY)
  %data = call ptr @slot(ptr %array, i64 @ARRAY_DATA)
  %offset = call ptr @slot(ptr %tensor, i64 @TENSOR_OFFSET)
  %bytes = call i64 @PyLong_AsSsize_t(ptr %offset)
  %first = getelementptr i8, ptr %data, i64 %bytes
  ret ptr %first
}

; A copy of a template Tensor without storage. NOTE [Held]: an allocation may run the collector (3.11), and so any Python: whatever
; is still needed then is held, by the caller's arguments or by a reference of our own, or read afterwards.
define private ptr @clone_tensor(ptr %template) {
entry:
  %type = load ptr, ptr @tensor_type
  %new = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %done, label %copy
copy:
@COPY_TENSOR
  br label %done
done:
  ret ptr %new
}

; An uninitialised Tensor like the template, with memory of its own; null with a Python error set.
define private ptr @make(ptr %template) {
entry:
  %layout = call ptr @slot(ptr %template, i64 @TENSOR_LAYOUT)
  %descr = call ptr @slot(ptr %layout, i64 @LAYOUT_DESCR)
  %size_object = call ptr @slot(ptr %layout, i64 @LAYOUT_RECORD)
  %dims = getelementptr i8, ptr %size_object, i64 @BYTES_ITEMS
  call void @hold(ptr %descr)                        ; stolen by PyArray_NewFromDescr
  %elements = load i64, ptr %dims
  %large = icmp sge i64 %elements, @LARGE_ARRAY
  %maker = select i1 %large, ptr @new_large_array, ptr @new_from_descr
  %new_array = load ptr, ptr %maker
  %ndarray = load ptr, ptr @ndarray_type
  %array = call ptr %new_array(ptr %ndarray, ptr %descr, i32 1, ptr %dims, ptr null, ptr null, i32 0, ptr null)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %fail, label %have_array
have_array:
  %source = load ptr, ptr @storage_template
  %storage_type = call ptr @slot(ptr %source, i64 8)
  %storage = call ptr @PyType_GenericAlloc(ptr %storage_type, i64 0)
  %no_storage = icmp eq ptr %storage, null
  br i1 %no_storage, label %drop_array, label %have_storage
have_storage:
@COPY_STORAGE
  call void @put(ptr %storage, i64 @STORAGE_ARRAY, ptr %array)    ; the reference we own moves into the Storage
  call void @PyObject_GC_UnTrack(ptr %storage)                     ; NOTE [Collector]
  %tensor = call ptr @clone_tensor(ptr %template)
  %no_tensor = icmp eq ptr %tensor, null
  br i1 %no_tensor, label %drop_storage, label %have_tensor
have_tensor:
  call void @put(ptr %tensor, i64 @TENSOR_STORAGE, ptr %storage)
  ret ptr %tensor
drop_storage:
  call void @Py_DecRef(ptr %storage)
  br label %fail
drop_array:
  call void @Py_DecRef(ptr %array)
  br label %fail
fail:
  ret ptr null
}

; Whether %object is a Tensor of this layout.
define private i1 @expected(ptr %object, ptr %layout) alwaysinline {
entry:
  %type = call ptr @slot(ptr %object, i64 8)
  %tensor_type = load ptr, ptr @tensor_type
  %exact = icmp eq ptr %type, %tensor_type
  br i1 %exact, label %compare, label %derived
derived:
  %is = call i32 @PyType_IsSubtype(ptr %type, ptr %tensor_type)
  %no = icmp eq i32 %is, 0
  br i1 %no, label %refuse, label %compare
compare:
  %own = call ptr @slot(ptr %object, i64 @TENSOR_LAYOUT)
  %same = icmp eq ptr %own, %layout
  ret i1 %same
refuse:
  ret i1 false
}

; Store a Python number for the kernel; 0 when an error is set.
define private i1 @number(ptr %object, i64 %code, ptr %to) {
entry:
  switch i64 %code, label %complex [i64 1, label %single  i64 2, label %double  i64 3, label %integer]
single:
  %s = call double @PyFloat_AsDouble(ptr %object)
  %f = fptrunc double %s to float
  store float %f, ptr %to
  br label %check
double:
  %d = call double @PyFloat_AsDouble(ptr %object)
  store double %d, ptr %to
  br label %check
integer:
  %i = call i64 @PyLong_AsLongLong(ptr %object)
  store i64 %i, ptr %to
  br label %check
complex:
  %re = call double @PyComplex_RealAsDouble(ptr %object)
  %im = call double @PyComplex_ImagAsDouble(ptr %object)
  %wide = icmp eq i64 %code, 5
  br i1 %wide, label %c128, label %c64
c128:
  store double %re, ptr %to
  %im_at = getelementptr double, ptr %to, i64 1
  store double %im, ptr %im_at
  br label %check
c64:
  %re32 = fptrunc double %re to float
  %im32 = fptrunc double %im to float
  store float %re32, ptr %to
  %im32_at = getelementptr float, ptr %to, i64 1
  store float %im32, ptr %im32_at
  br label %check
check:
  %error = call ptr @PyErr_Occurred()
  %sound = icmp eq ptr %error, null
  ret i1 %sound
}

@POOL

; Fill in the inputs' pointers and run the kernel (Numba's convention: two result words first). 0 when an error is set.
define private i1 @launch(ptr %plan, ptr %record, ptr %pointers, i64 %n_outs, ptr %outs, ptr %args, i64 %count) {
entry:
  %scratch = alloca [2 x ptr]
  %numbers = alloca [@MOST x [2 x double]], align 16
  %held = alloca [@MOST x ptr]
  %n_ins = call i64 @word(ptr %record, i64 4)
  %right = icmp eq i64 %n_ins, %count
  br i1 %right, label %begin, label %wrong_count
wrong_count:
  %kind1 = load ptr, ptr @PyExc_RuntimeError
  call void @PyErr_SetString(ptr %kind1, ptr @miscounted)
  ret i1 false
begin:
  %layouts = call ptr @slot(ptr %plan, i64 @PLAN_LAYOUTS)
  %before = add i64 %n_outs, 1
  %inputs = getelementptr ptr, ptr %pointers, i64 %before
  %codes = getelementptr i64, ptr %record, i64 8
  br label %test
test:
  %i = phi i64 [0, %begin], [%next, %stored]
  %more = icmp slt i64 %i, %n_ins
  br i1 %more, label %fill, label %ready
fill:
  %arg_at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg_at
  %code = call i64 @word(ptr %codes, i64 %i)
  %is_tensor = icmp eq i64 %code, 0
  br i1 %is_tensor, label %tensor, label %number
tensor:
  %layout = call ptr @item(ptr %layouts, i64 %i)
  %sound = call i1 @expected(ptr %arg, ptr %layout)
  br i1 %sound, label %take, label %refuse
take:
  %data = call ptr @data(ptr %arg)
  br label %stored
number:
  %cell = getelementptr [2 x double], ptr %numbers, i64 %i
  %good = call i1 @number(ptr %arg, i64 %code, ptr %cell)
  br i1 %good, label %stored, label %fail
stored:
  %pointer = phi ptr [%data, %take], [%cell, %number]
  %slot = getelementptr ptr, ptr %inputs, i64 %i
  store ptr %pointer, ptr %slot
  %next = add i64 %i, 1
  br label %test
refuse:
  %kind2 = load ptr, ptr @PyExc_RuntimeError
  call void @PyErr_SetString(ptr %kind2, ptr @changed)
  br label %fail
fail:
  ret i1 false
ready:
  %params = getelementptr i64, ptr %codes, i64 %n_ins
  store ptr %params, ptr %pointers
  %second = getelementptr ptr, ptr %scratch, i64 1
  %kernel_word = call i64 @word(ptr %record, i64 0)
  %kernel = inttoptr i64 %kernel_word to ptr
  %given = call i64 @word(ptr %record, i64 1)
  %flags = call i64 @word(ptr %record, i64 5)
  %flagged = trunc i64 %flags to i1
  %by_size = icmp slt i64 %given, 0
  br i1 %by_size, label %measure, label %measured
measure:
  %first_out = load ptr, ptr %outs
  %out_layout = call ptr @slot(ptr %first_out, i64 @TENSOR_LAYOUT)
  %size_object = call ptr @slot(ptr %out_layout, i64 @LAYOUT_RECORD)
  %size_at = getelementptr i8, ptr %size_object, i64 @BYTES_ITEMS
  %size = load i64, ptr %size_at
  %shared_from = call i64 @word(ptr %record, i64 6)
  %large = icmp sge i64 %size, %shared_from
  br label %measured
measured:
  %units = phi i64 [%given, %ready], [%size, %measure]
  %release = phi i1 [%flagged, %ready], [%large, %measure]
  br i1 %release, label %hold, label %direct
direct:
  call i32 %kernel(ptr %scratch, ptr %second, i64 0, i64 %units, ptr %pointers)
  ret i1 true
hold:
  ; The arrays of outputs and inputs live until the kernel is done, whatever other threads do to the tensors.
  %all = add i64 %n_outs, %n_ins
  br label %hold_test
hold_test:
  %h = phi i64 [0, %hold], [%h1, %hold_next]
  %hold_more = icmp slt i64 %h, %all
  br i1 %hold_more, label %hold_one, label %go
hold_one:
  %is_out = icmp slt i64 %h, %n_outs
  %out_at = getelementptr ptr, ptr %outs, i64 %h
  %in_index = sub i64 %h, %n_outs
  %in_at = getelementptr ptr, ptr %args, i64 %in_index
  %object_at = select i1 %is_out, ptr %out_at, ptr %in_at
  %object = load ptr, ptr %object_at
  %held_at = getelementptr ptr, ptr %held, i64 %h
  br i1 %is_out, label %hold_tensor, label %hold_maybe
hold_maybe:
  %h_code = call i64 @word(ptr %codes, i64 %in_index)
  %h_tensor = icmp eq i64 %h_code, 0
  br i1 %h_tensor, label %hold_tensor, label %hold_number
hold_tensor:
  %h_storage = call ptr @slot(ptr %object, i64 @TENSOR_STORAGE)
  %h_array = call ptr @slot(ptr %h_storage, i64 @STORAGE_ARRAY)
  call void @hold(ptr %h_array)
  store ptr %h_array, ptr %held_at
  br label %hold_next
hold_number:
  store ptr null, ptr %held_at
  br label %hold_next
hold_next:
  %h1 = add i64 %h, 1
  br label %hold_test
go:
  %grain = call i64 @word(ptr %record, i64 2)
  %thread = call ptr @PyEval_SaveThread()
  call void @parallel(ptr %kernel, i64 %units, i64 %grain, ptr %pointers)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %drop_test
drop_test:
  %d = phi i64 [0, %go], [%d1, %drop_next]
  %drop_more = icmp slt i64 %d, %all
  br i1 %drop_more, label %drop_one, label %finished
drop_one:
  %d_at = getelementptr ptr, ptr %held, i64 %d
  %d_array = load ptr, ptr %d_at
  %d_none = icmp eq ptr %d_array, null
  br i1 %d_none, label %drop_next, label %drop
drop:
  call void @Py_DecRef(ptr %d_array)
  br label %drop_next
drop_next:
  %d1 = add i64 %d, 1
  br label %drop_test
finished:
  ret i1 true
}

; fresh(plan, *operands) -> Tensor, or a tuple of Tensors
define ptr @fresh(ptr %self, ptr %args, i64 %count) {
entry:
  %pointers = alloca [@MOST x ptr]
  %created = alloca [@MOST x ptr]
  %well_called = icmp sge i64 %count, 1
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %plan = load ptr, ptr %args
  %record_object = call ptr @slot(ptr %plan, i64 @PLAN_RECORD)
  %record = getelementptr i8, ptr %record_object, i64 @BYTES_ITEMS
  %templates = call ptr @slot(ptr %plan, i64 @PLAN_OUTS)
  %n_outs = call i64 @word(ptr %record, i64 3)
  br label %make_test
make_test:
  %i = phi i64 [0, %begin_call], [%next, %made]
  %more = icmp slt i64 %i, %n_outs
  br i1 %more, label %make_one, label %run
make_one:
  %template = call ptr @item(ptr %templates, i64 %i)
  %out = call ptr @make(ptr %template)
  %failed = icmp eq ptr %out, null
  br i1 %failed, label %undo, label %made
made:
  %created_at = getelementptr ptr, ptr %created, i64 %i
  store ptr %out, ptr %created_at
  %data = call ptr @data(ptr %out)
  %next = add i64 %i, 1
  %pointer_at = getelementptr ptr, ptr %pointers, i64 %next
  store ptr %data, ptr %pointer_at
  br label %make_test
run:
  %operands = getelementptr ptr, ptr %args, i64 1
  %operand_count = sub i64 %count, 1
  %good = call i1 @launch(ptr %plan, ptr %record, ptr %pointers, i64 %n_outs, ptr %created, ptr %operands, i64 %operand_count)
  br i1 %good, label %finish, label %undo
finish:
  %single = icmp eq i64 %n_outs, 1
  br i1 %single, label %one, label %many
one:
  %result = load ptr, ptr %created
  ret ptr %result
many:
  %tuple = call ptr @PyTuple_New(i64 %n_outs)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %undo, label %pack_test
pack_test:
  %k = phi i64 [0, %many], [%k1, %pack]
  %pack_more = icmp slt i64 %k, %n_outs
  br i1 %pack_more, label %pack, label %packed
pack:
  %from = getelementptr ptr, ptr %created, i64 %k
  %value = load ptr, ptr %from
  %base = getelementptr i8, ptr %tuple, i64 @TUPLE_ITEMS
  %to = getelementptr ptr, ptr %base, i64 %k
  store ptr %value, ptr %to
  %k1 = add i64 %k, 1
  br label %pack_test
packed:
  ret ptr %tuple
undo:
  %made_count = phi i64 [%i, %make_one], [%n_outs, %run], [%n_outs, %many]
  br label %undo_test
undo_test:
  %u = phi i64 [0, %undo], [%u1, %undo_one]
  %undo_more = icmp slt i64 %u, %made_count
  br i1 %undo_more, label %undo_one, label %fail
undo_one:
  %undo_at = getelementptr ptr, ptr %created, i64 %u
  %unwanted = load ptr, ptr %undo_at
  call void @Py_DecRef(ptr %unwanted)
  %u1 = add i64 %u, 1
  br label %undo_test
fail:
  ret ptr null
}

; into(plan, *outputs, *operands) -> None
define ptr @into(ptr %self, ptr %args, i64 %count) {
entry:
  %pointers = alloca [@MOST x ptr]
  %well_called = icmp sge i64 %count, 1
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %plan = load ptr, ptr %args
  %record_object = call ptr @slot(ptr %plan, i64 @PLAN_RECORD)
  %record = getelementptr i8, ptr %record_object, i64 @BYTES_ITEMS
  %templates = call ptr @slot(ptr %plan, i64 @PLAN_OUTS)
  %n_outs = call i64 @word(ptr %record, i64 3)
  %outs = getelementptr ptr, ptr %args, i64 1
  %enough = icmp sgt i64 %count, %n_outs
  br i1 %enough, label %test, label %wrong_count
wrong_count:
  %kind1 = load ptr, ptr @PyExc_RuntimeError
  call void @PyErr_SetString(ptr %kind1, ptr @miscounted)
  ret ptr null
test:
  %i = phi i64 [0, %begin_call], [%next, %bump]
  %more = icmp slt i64 %i, %n_outs
  br i1 %more, label %look, label %run
look:
  %out_at = getelementptr ptr, ptr %outs, i64 %i
  %out = load ptr, ptr %out_at
  %template = call ptr @item(ptr %templates, i64 %i)
  %layout = call ptr @slot(ptr %template, i64 @TENSOR_LAYOUT)
  %sound = call i1 @expected(ptr %out, ptr %layout)
  br i1 %sound, label %take, label %refuse
take:
  ; The version moves before the write: an interrupted write leaves a spurious version error, never a silent change.
  %written = call ptr @slot(ptr %out, i64 @TENSOR_STORAGE)
  call void @note_write(ptr %written)
  %storage = call ptr @slot(ptr %out, i64 @TENSOR_STORAGE)
  %old = call ptr @slot(ptr %storage, i64 @STORAGE_VERSION)
  %version = call i64 @PyLong_AsSsize_t(ptr %old)
  %bumped = add i64 %version, 1
  %new = call ptr @PyLong_FromSsize_t(i64 %bumped)
  %no_version = icmp eq ptr %new, null
  br i1 %no_version, label %fail, label %bump
bump:
  call void @put(ptr %storage, i64 @STORAGE_VERSION, ptr %new)
  call void @Py_DecRef(ptr %old)
  %data = call ptr @data(ptr %out)
  %next = add i64 %i, 1
  %pointer_at = getelementptr ptr, ptr %pointers, i64 %next
  store ptr %data, ptr %pointer_at
  br label %test
refuse:
  %kind2 = load ptr, ptr @PyExc_RuntimeError
  call void @PyErr_SetString(ptr %kind2, ptr @changed)
  ret ptr null
run:
  %operands = getelementptr ptr, ptr %outs, i64 %n_outs
  %rest = sub i64 %count, %n_outs
  %operand_count = sub i64 %rest, 1
  %good = call i1 @launch(ptr %plan, ptr %record, ptr %pointers, i64 %n_outs, ptr %outs, ptr %operands, i64 %operand_count)
  br i1 %good, label %finish, label %fail
finish:
  call void @hold(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
fail:
  ret ptr null
}

; tensor(template, storage, offset, needs_grad, meta) -> Tensor
define ptr @tensor(ptr %self, ptr %args, i64 %count) {
entry:
  %well_called = icmp eq i64 %count, 5
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %template = load ptr, ptr %args
  %type = load ptr, ptr @tensor_type
  %new = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %done, label %fill
fill:
  call void @copy_slot(ptr %template, ptr %new, i64 @TENSOR_LAYOUT)
  call void @copy_slot(ptr %template, ptr %new, i64 @TENSOR_EDGE)
@FILL_TENSOR
  br label %done
done:
  ret ptr %new
}

; alias(x) -> Tensor
define ptr @alias(ptr %self, ptr %args, i64 %count) {
entry:
  %right = icmp eq i64 %count, 1
  br i1 %right, label %make, label %misused
misused:
  %error = call ptr @misuse()
  ret ptr null
make:
  %x = load ptr, ptr %args
  %is_tensor = call i1 @is_tensor(ptr %x)
  br i1 %is_tensor, label %ask_blank, label %strange
ask_blank:
  %own_layout = call ptr @slot(ptr %x, i64 @TENSOR_LAYOUT)
  %blank = icmp eq ptr %own_layout, null                       ; object.__new__(Tensor)
  br i1 %blank, label %strange, label %allocate
strange:
  %kind = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %kind, ptr @no_tensor)
  ret ptr null
allocate:
  %type = load ptr, ptr @tensor_type
  %new = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %done, label %fill
fill:
  %layout = call ptr @slot(ptr %x, i64 @TENSOR_LAYOUT)
  %template = call ptr @slot(ptr %layout, i64 @LAYOUT_TEMPLATE)
  call void @copy_slot(ptr %x, ptr %new, i64 @TENSOR_LAYOUT)
  call void @copy_slot(ptr %x, ptr %new, i64 @TENSOR_STORAGE)
  call void @copy_slot(ptr %x, ptr %new, i64 @TENSOR_OFFSET)
  call void @copy_slot(ptr %template, ptr %new, i64 @TENSOR_EDGE)
  call void @copy_slot(ptr %template, ptr %new, i64 @TENSOR_NEEDS_GRAD)
  call void @copy_slot(ptr %template, ptr %new, i64 @TENSOR_META)
  br label %done
done:
  ret ptr %new
}

; next_seq() -> int
define ptr @next_seq(ptr %self, ptr %args, i64 %count) {
entry:
  %state = call ptr @PyThreadState_Get()
  %thread = call i64 @PyThreadState_GetID(ptr %state)
  %last = load i64, ptr @counting_thread
  %same = icmp eq i64 %thread, %last
  br i1 %same, label %take, label %switch
switch:
  %found = call i32 @find_counter(i64 %thread)
  %failed = icmp ne i32 %found, 0
  br i1 %failed, label %fail, label %take
take:
  %counter = load ptr, ptr @counter
  %seq = load i64, ptr %counter
  %next = add i64 %seq, 1
  store i64 %next, ptr %counter
  %number = call ptr @PyLong_FromSsize_t(i64 %seq)
  ret ptr %number
fail:
  ret ptr null
}

; Make this thread's counter the one at hand: NOTE [Sequence]. 0, or -1 with a Python error set.
define private i32 @find_counter(i64 %thread) noinline {
entry:
  %dict = call ptr @PyThreadState_GetDict()
  %key = load ptr, ptr @counter_key
  %held = call ptr @PyDict_GetItemWithError(ptr %dict, ptr %key)
  %new = icmp eq ptr %held, null
  br i1 %new, label %make, label %found
make:
  %bytes = call ptr @PyBytes_FromStringAndSize(ptr @zero, i64 8)
  %no_bytes = icmp eq ptr %bytes, null
  br i1 %no_bytes, label %fail, label %keep
keep:
  %refused = call i32 @PyDict_SetItem(ptr %dict, ptr %key, ptr %bytes)
  call void @Py_DecRef(ptr %bytes)
  %not_kept = icmp ne i32 %refused, 0
  br i1 %not_kept, label %fail, label %found
found:
  %object = phi ptr [%held, %entry], [%bytes, %keep]
  %cell = getelementptr i8, ptr %object, i64 @BYTES_ITEMS
  store ptr %cell, ptr @counter
  store i64 %thread, ptr @counting_thread
  ret i32 0
fail:
  ret i32 -1
}

; The dict in which a threading.local, always the same one, keeps what it holds for this thread; null with a Python error set.
; Kept at hand, like the counter of NOTE [Sequence], for the thread that asked last: an attribute costs 12 instead of 45 ns.
define private ptr @of_thread(ptr %local) alwaysinline {
entry:
  %state = call ptr @PyThreadState_Get()
  %thread = call i64 @PyThreadState_GetID(ptr %state)
  %last = load i64, ptr @asking_thread
  %same = icmp eq i64 %thread, %last
  br i1 %same, label %known, label %switch
known:
  %held = load ptr, ptr @held_modes
  ret ptr %held
switch:
  %found = call ptr @find_modes(ptr %local, i64 %thread)
  ret ptr %found
}

; Make this thread's dict the one at hand. The reference to it is ours: it may outlive its thread.
define private ptr @find_modes(ptr %local, i64 %thread) noinline {
entry:
  %name = load ptr, ptr @dict_name
  %dict = call ptr @PyObject_GetAttr(ptr %local, ptr %name)
  %failed = icmp eq ptr %dict, null
  br i1 %failed, label %done, label %keep
keep:
  %old = load ptr, ptr @held_modes
  store ptr %dict, ptr @held_modes
  store i64 %thread, ptr @asking_thread
  call void @Py_DecRef(ptr %old)
  br label %done
done:
  ret ptr %dict
}

; A copy of the template's slots: %copies are their offsets as int64 words, the count in front.
define private void @copy_slots(ptr %template, ptr %new, ptr %copies_object) alwaysinline {
entry:
  %copies = getelementptr i8, ptr %copies_object, i64 @BYTES_ITEMS
  %count = call i64 @word(ptr %copies, i64 0)
  br label %test
test:
  %k = phi i64 [1, %entry], [%next, %copy]
  %more = icmp sle i64 %k, %count
  br i1 %more, label %copy, label %done
copy:
  %offset = call i64 @word(ptr %copies, i64 %k)
  call void @copy_slot(ptr %template, ptr %new, i64 %offset)
  %next = add i64 %k, 1
  br label %test
done:
  ret void
}

; A node like the template with its number, plan and edges, which it takes over; null with a Python error set.
define private ptr @new_node(ptr %template, ptr %copies, ptr %plan, ptr %edges) alwaysinline {
entry:
  %type = call ptr @slot(ptr %template, i64 8)
  %new = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %fail, label %number
number:
  ; After the edges: a node is younger than all that it points to.
  %seq = call ptr @next_seq(ptr null, ptr null, i64 0)
  %no_seq = icmp eq ptr %seq, null
  br i1 %no_seq, label %drop, label %fill
fill:
  call void @put(ptr %new, i64 @NODE_EDGES, ptr %edges)
  call void @copy_slots(ptr %template, ptr %new, ptr %copies)
  call void @put(ptr %new, i64 @NODE_SEQ, ptr %seq)
  call void @hold(ptr %plan)
  call void @put(ptr %new, i64 @NODE_PLAN, ptr %plan)
  ret ptr %new
drop:
  call void @Py_DecRef(ptr %new)
  br label %fail
fail:
  ret ptr null
}

; Hide a finished node from the collector, NOTE [Collector], and note its place.
define private void @finish_node(ptr %node, ptr %edges) alwaysinline {
  call void @PyObject_GC_UnTrack(ptr %edges)
  call void @PyObject_GC_UnTrack(ptr %node)
  call void @note_place(ptr %node)
  ret void
}

; view(plan, x, enabled, *values) -> the view of x that the plan describes, with its Meta and, if it is recorded, its node.
; self = (words, node to copy, its offsets, Meta to copy, its offsets, ASK, `creation` with recording on, with it off, slow); words:
; offsets of the Meta's base, chain, creation, version and node, and of the plan's offset and layout. A view of a view has the same
; base and a longer chain; one whose memory was written to since goes to `slow`, and so does a call with a value that is no int,
; nor None, nor a tuple (a Size is one) of ints: NOTE [Whole numbers].
define ptr @view(ptr %self, ptr %args, i64 %count) {
entry:
  %well_called = icmp sge i64 %count, 3
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %plan = load ptr, ptr %args
  %x_at = getelementptr ptr, ptr %args, i64 1
  %x = load ptr, ptr %x_at
  %enabled_at = getelementptr ptr, ptr %args, i64 2
  %enabled = load ptr, ptr %enabled_at
  br label %values
values:
  %at = phi i64 [3, %begin_call], [%next, %usual]
  %last = icmp eq i64 %at, %count
  br i1 %last, label %whole, label %value
value:
  %value_at = getelementptr ptr, ptr %args, i64 %at
  %value_object = load ptr, ptr %value_at
  %value_type = call ptr @slot(ptr %value_object, i64 8)
  %is_int = icmp eq ptr %value_type, @PyLong_Type
  %is_none = icmp eq ptr %value_object, @_Py_NoneStruct
  %is_usual = or i1 %is_int, %is_none
  br i1 %is_usual, label %usual, label %ask_tuple
ask_tuple:
  %flags_at = getelementptr i8, ptr %value_type, i64 168           ; tp_flags
  %flags = load i64, ptr %flags_at
  %tuple_flag = and i64 %flags, 67108864                           ; Py_TPFLAGS_TUPLE_SUBCLASS: a Size too
  %is_tuple = icmp ne i64 %tuple_flag, 0
  br i1 %is_tuple, label %sizes, label %slow
sizes:
  %length_at = getelementptr i8, ptr %value_object, i64 16
  %length = load i64, ptr %length_at
  %first_size = getelementptr i8, ptr %value_object, i64 @TUPLE_ITEMS
  br label %each_size
each_size:
  %size_number = phi i64 [0, %sizes], [%next_size, %look_size]
  %all_sizes = icmp eq i64 %size_number, %length
  br i1 %all_sizes, label %usual, label %look_size
look_size:
  %next_size = add i64 %size_number, 1
  %size_at = getelementptr ptr, ptr %first_size, i64 %size_number
  %size = load ptr, ptr %size_at
  %size_type = call ptr @slot(ptr %size, i64 8)
  %size_is_int = icmp eq ptr %size_type, @PyLong_Type
  br i1 %size_is_int, label %each_size, label %slow
usual:
  %next = add i64 %at, 1
  br label %values
whole:
  %words_object = call ptr @item(ptr %self, i64 0)
  %words = getelementptr i8, ptr %words_object, i64 @BYTES_ITEMS
  %base_offset = call i64 @word(ptr %words, i64 0)
  %is_tensor = call i1 @is_tensor(ptr %x)
  br i1 %is_tensor, label %look, label %slow
look:
  %on = icmp eq ptr %enabled, @_Py_TrueStruct
  %off = xor i1 %on, true
  %ask_object = call ptr @item(ptr %self, i64 5)
  %needs = call ptr @slot(ptr %x, i64 @TENSOR_NEEDS_GRAD)
  %plain_creation = call ptr @item(ptr %self, i64 6)
  %old_meta = call ptr @slot(ptr %x, i64 @TENSOR_META)
  %bare = icmp eq ptr %old_meta, @_Py_NoneStruct
  br i1 %bare, label %ask, label %ask_base
ask_base:
  %base = call ptr @slot(ptr %old_meta, i64 %base_offset)
  %own_base = icmp eq ptr %base, @_Py_NoneStruct
  br i1 %own_base, label %ask, label %nested
nested:
  %own_history = icmp ne ptr %needs, %ask_object                   ; a view that was made a leaf
  br i1 %own_history, label %slow, label %nested_parent
nested_parent:
  %parent_chain_offset = call i64 @word(ptr %words, i64 1)
  %old_chain = call ptr @slot(ptr %old_meta, i64 %parent_chain_offset)
  %parent_creation_offset = call i64 @word(ptr %words, i64 2)
  %old_creation = call ptr @slot(ptr %old_meta, i64 %parent_creation_offset)
  br i1 %off, label %no_node, label %nested_on
nested_on:
  %base_needs = call ptr @slot(ptr %base, i64 @TENSOR_NEEDS_GRAD)
  %base_free = icmp eq ptr %base_needs, @_Py_FalseStruct
  br i1 %base_free, label %nested_cut, label %nested_fresh
nested_cut:                                                         ; a base cut off its history leaves its views theirs
  %cut_node_offset = call i64 @word(ptr %words, i64 4)
  %cut_node = call ptr @slot(ptr %old_meta, i64 %cut_node_offset)
  %never = icmp eq ptr %cut_node, @_Py_NoneStruct
  br i1 %never, label %no_node, label %slow
nested_fresh:
  %parent_version_offset = call i64 @word(ptr %words, i64 3)
  %noted = call ptr @slot(ptr %old_meta, i64 %parent_version_offset)
  %own_storage = call ptr @slot(ptr %x, i64 @TENSOR_STORAGE)
  %now = call ptr @slot(ptr %own_storage, i64 @STORAGE_VERSION)
  %unwritten = icmp eq ptr %noted, %now
  br i1 %unwritten, label %nested_node, label %slow
nested_node:
  %parent_node_offset = call i64 @word(ptr %words, i64 4)
  %old_node = call ptr @slot(ptr %old_meta, i64 %parent_node_offset)
  %no_history = icmp eq ptr %old_node, @_Py_NoneStruct
  br i1 %no_history, label %slow, label %edge
ask:
  %no_grad = icmp eq ptr %needs, @_Py_FalseStruct
  %unrecorded = or i1 %off, %no_grad
  br i1 %unrecorded, label %no_node, label %ask_leaf
no_node:
  %base_1 = phi ptr [%x, %ask], [%base, %nested_parent], [%base, %nested_cut]
  %chain_1 = phi ptr [@_Py_NoneStruct, %ask], [%old_chain, %nested_parent], [%old_chain, %nested_cut]
  %creation_1 = phi ptr [%plain_creation, %ask], [%old_creation, %nested_parent], [%old_creation, %nested_cut]
  call void @hold(ptr @_Py_NoneStruct)
  call void @hold(ptr %base_1)
  call void @hold(ptr %chain_1)
  call void @hold(ptr %creation_1)
  br label %meta
ask_leaf:
  %needed = icmp eq ptr %needs, @_Py_TrueStruct
  br i1 %needed, label %own_target, label %slow
own_target:
  %own_edge = call ptr @slot(ptr %x, i64 @TENSOR_EDGE)
  %is_leaf = icmp eq ptr %own_edge, @_Py_NoneStruct
  %itself = select i1 %is_leaf, ptr %x, ptr %own_edge             ; a leaf stands for itself
  br label %edge
edge:
  %target = phi ptr [%itself, %own_target], [%old_node, %nested_node]
  %base_2 = phi ptr [%x, %own_target], [%base, %nested_node]
  %chain_2 = phi ptr [@_Py_NoneStruct, %own_target], [%old_chain, %nested_node]
  %creation_2 = phi ptr [%plain_creation, %own_target], [%old_creation, %nested_node]
  call void @hold(ptr %target)                               ; NOTE [Held]
  call void @hold(ptr %base_2)
  call void @hold(ptr %chain_2)
  call void @hold(ptr %creation_2)
  %edges = call ptr @PyTuple_New(i64 1)
  %no_edges = icmp eq ptr %edges, null
  br i1 %no_edges, label %drop_target, label %have_edges
have_edges:
  call void @put(ptr %edges, i64 @TUPLE_ITEMS, ptr %target)
  %node_template = call ptr @item(ptr %self, i64 1)
  %node_copies = call ptr @item(ptr %self, i64 2)
  %new_node = call ptr @new_node(ptr %node_template, ptr %node_copies, ptr %plan, ptr %edges)
  %no_new_node = icmp eq ptr %new_node, null
  br i1 %no_new_node, label %drop_edges, label %have_node
have_node:
  call void @finish_node(ptr %new_node, ptr %edges)
  br label %meta
meta:
  %node = phi ptr [@_Py_NoneStruct, %no_node], [%new_node, %have_node]
  %new_base = phi ptr [%base_1, %no_node], [%base_2, %have_node]
  %parent = phi ptr [%chain_1, %no_node], [%chain_2, %have_node]
  %tracked = phi ptr [%creation_1, %no_node], [%creation_2, %have_node]
  %chain = call ptr @PyTuple_New(i64 3)
  %no_chain = icmp eq ptr %chain, null
  br i1 %no_chain, label %drop_held, label %have_chain
have_chain:
  call void @hold(ptr %plan)
  call void @hold(ptr @_Py_NoneStruct)
  %links = getelementptr i8, ptr %chain, i64 @TUPLE_ITEMS
  call void @put(ptr %links, i64 0, ptr %parent)
  call void @put(ptr %links, i64 8, ptr %plan)
  call void @put(ptr %links, i64 16, ptr @_Py_NoneStruct)
  %meta_template = call ptr @item(ptr %self, i64 3)
  %meta_type = call ptr @slot(ptr %meta_template, i64 8)
  %new_meta = call ptr @PyType_GenericAlloc(ptr %meta_type, i64 0)
  %no_meta = icmp eq ptr %new_meta, null
  br i1 %no_meta, label %drop_chain, label %fill_meta
fill_meta:
  %meta_copies = call ptr @item(ptr %self, i64 4)
  call void @copy_slots(ptr %meta_template, ptr %new_meta, ptr %meta_copies)
  call void @put(ptr %new_meta, i64 %base_offset, ptr %new_base)
  %chain_offset = call i64 @word(ptr %words, i64 1)
  call void @put(ptr %new_meta, i64 %chain_offset, ptr %chain)
  %node_offset = call i64 @word(ptr %words, i64 4)
  call void @put(ptr %new_meta, i64 %node_offset, ptr %node)
  %creation_offset = call i64 @word(ptr %words, i64 2)
  br i1 %on, label %as_parent, label %without
without:
  %untracked = call ptr @item(ptr %self, i64 7)
  call void @hold(ptr %untracked)
  call void @Py_DecRef(ptr %tracked)
  br label %as_parent
as_parent:
  %creation = phi ptr [%tracked, %fill_meta], [%untracked, %without]
  call void @put(ptr %new_meta, i64 %creation_offset, ptr %creation)
  %type = load ptr, ptr @tensor_type
  %new = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %no_tensor = icmp eq ptr %new, null
  br i1 %no_tensor, label %drop_meta, label %place
place:
  ; What x is made of is read at once, and after all that may run Python.
  %start_object = call ptr @slot(ptr %x, i64 @TENSOR_OFFSET)
  %start = call i64 @PyLong_AsSsize_t(ptr %start_object)
  %step_offset = call i64 @word(ptr %words, i64 5)
  %step_object = call ptr @slot(ptr %plan, i64 %step_offset)
  %step = call i64 @PyLong_AsSsize_t(ptr %step_object)
  %first = add i64 %start, %step
  %offset = call ptr @PyLong_FromSsize_t(i64 %first)
  %no_offset = icmp eq ptr %offset, null
  br i1 %no_offset, label %drop_tensor, label %look_again
look_again:
  %plan_layout_offset = call i64 @word(ptr %words, i64 6)
  %plan_layout = call ptr @slot(ptr %plan, i64 %plan_layout_offset)
  %own_layout = call ptr @slot(ptr %x, i64 @TENSOR_LAYOUT)
  %expected_layout = icmp eq ptr %own_layout, %plan_layout         ; NOTE [Trust]
  br i1 %expected_layout, label %fill_tensor, label %refuse
fill_tensor:
  %storage = call ptr @slot(ptr %x, i64 @TENSOR_STORAGE)
  call void @hold(ptr %storage)
  call void @put(ptr %new, i64 @TENSOR_STORAGE, ptr %storage)
  %version = call ptr @slot(ptr %storage, i64 @STORAGE_VERSION)
  call void @hold(ptr %version)
  %version_offset = call i64 @word(ptr %words, i64 3)
  call void @put(ptr %new_meta, i64 %version_offset, ptr %version)
  %outs = call ptr @slot(ptr %plan, i64 @PLAN_OUTS)
  %template = call ptr @item(ptr %outs, i64 0)
  call void @copy_slot(ptr %template, ptr %new, i64 @TENSOR_LAYOUT)
  call void @copy_slot(ptr %template, ptr %new, i64 @TENSOR_EDGE)
  call void @put(ptr %new, i64 @TENSOR_OFFSET, ptr %offset)
  call void @hold(ptr %ask_object)
  call void @put(ptr %new, i64 @TENSOR_NEEDS_GRAD, ptr %ask_object)
  call void @put(ptr %new, i64 @TENSOR_META, ptr %new_meta)
  ret ptr %new
refuse:
  call void @Py_DecRef(ptr %offset)
  %kind = load ptr, ptr @PyExc_RuntimeError
  call void @PyErr_SetString(ptr %kind, ptr @changed)
  br label %drop_tensor
drop_tensor:
  call void @Py_DecRef(ptr %new)
  br label %drop_meta
drop_meta:
  call void @Py_DecRef(ptr %new_meta)                              ; with base, chain, node and creation
  br label %fail
drop_chain:
  call void @Py_DecRef(ptr %chain)                                 ; with the parent
  call void @Py_DecRef(ptr %node)
  call void @Py_DecRef(ptr %new_base)
  call void @Py_DecRef(ptr %tracked)
  br label %fail
drop_held:
  call void @Py_DecRef(ptr %parent)
  call void @Py_DecRef(ptr %node)
  call void @Py_DecRef(ptr %new_base)
  call void @Py_DecRef(ptr %tracked)
  br label %fail
drop_target:
  call void @Py_DecRef(ptr %target)
  br label %drop_parts
drop_edges:
  call void @Py_DecRef(ptr %edges)                                 ; with the target
  br label %drop_parts
drop_parts:
  call void @Py_DecRef(ptr %base_2)
  call void @Py_DecRef(ptr %chain_2)
  call void @Py_DecRef(ptr %creation_2)
  br label %fail
slow:
  %general = call ptr @item(ptr %self, i64 8)
  %result = call ptr @PyObject_Vectorcall(ptr %general, ptr %args, i64 %count, ptr null)
  ret ptr %result
fail:
  ret ptr null
}

; record(plan, out, *operands) -> None: a node for `out`, a copy of the template with sequence number, plan, edges and saved values.
; self = (words, template, offsets to copy with their count, edge_of); words: number of edges, the operand of each, number of
; saved values, then for each its operand (-1: the result), the offsets of its slot and of its version's, whether it is a number.
define ptr @record(ptr %self, ptr %args, i64 %count) {
entry:
  %well_called = icmp sge i64 %count, 2
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %words_object = call ptr @item(ptr %self, i64 0)
  %words = getelementptr i8, ptr %words_object, i64 @BYTES_ITEMS
  %template = call ptr @item(ptr %self, i64 1)
  %copies = call ptr @item(ptr %self, i64 2)
  %edge_of = call ptr @item(ptr %self, i64 3)
  %plan = load ptr, ptr %args
  %out_at = getelementptr ptr, ptr %args, i64 1
  %out = load ptr, ptr %out_at
  %operands = getelementptr ptr, ptr %args, i64 2
  %n_edges = call i64 @word(ptr %words, i64 0)
  %edges = call ptr @PyTuple_New(i64 %n_edges)
  %no_edges = icmp eq ptr %edges, null
  br i1 %no_edges, label %fail, label %edge_test
edge_test:
  %i = phi i64 [0, %begin_call], [%i1, %edge_put]
  %edge_more = icmp slt i64 %i, %n_edges
  br i1 %edge_more, label %edge_get, label %node
edge_get:
  %i1 = add i64 %i, 1
  %position = call i64 @word(ptr %words, i64 %i1)
  %x_at = getelementptr ptr, ptr %operands, i64 %position
  %x = load ptr, ptr %x_at
  %own = call ptr @slot(ptr %x, i64 @TENSOR_EDGE)
  %rare = icmp eq ptr %own, @_Py_NoneStruct
  br i1 %rare, label %edge_leaf, label %edge_own
edge_leaf:
  ; A leaf stands for itself.
  %own_needs = call ptr @slot(ptr %x, i64 @TENSOR_NEEDS_GRAD)
  %is_leaf = icmp eq ptr %own_needs, @_Py_TrueStruct
  br i1 %is_leaf, label %edge_self, label %edge_view
edge_view:
  ; A view's node, unless its memory was written to since: `views.view_edge`.
  %meta = call ptr @slot(ptr %x, i64 @TENSOR_META)
  %no_view = icmp eq ptr %own_needs, @_Py_FalseStruct
  %no_meta = icmp eq ptr %meta, @_Py_NoneStruct
  %other = or i1 %no_view, %no_meta
  br i1 %other, label %edge_ask, label %edge_version
edge_version:
  %noted = call ptr @slot(ptr %meta, i64 @META_VERSION)
  %its_storage = call ptr @slot(ptr %x, i64 @TENSOR_STORAGE)
  %now = call ptr @slot(ptr %its_storage, i64 @STORAGE_VERSION)
  %its_node = call ptr @slot(ptr %meta, i64 @META_NODE)
  %unwritten = icmp eq ptr %noted, %now
  %has_node = icmp ne ptr %its_node, @_Py_NoneStruct
  %current = and i1 %unwritten, %has_node
  br i1 %current, label %edge_node, label %edge_ask
edge_node:
  call void @hold(ptr %its_node)
  br label %edge_put
edge_self:
  call void @hold(ptr %x)
  br label %edge_put
edge_own:
  call void @hold(ptr %own)
  br label %edge_put
edge_ask:
  %asked = call ptr @PyObject_CallOneArg(ptr %edge_of, ptr %x)
  %refused = icmp eq ptr %asked, null
  br i1 %refused, label %drop_edges, label %edge_put
edge_put:
  %edge = phi ptr [%own, %edge_own], [%asked, %edge_ask], [%x, %edge_self], [%its_node, %edge_node]
  %edges_base = getelementptr i8, ptr %edges, i64 @TUPLE_ITEMS
  %edges_at = getelementptr ptr, ptr %edges_base, i64 %i
  store ptr %edge, ptr %edges_at
  br label %edge_test
node:
  %new = call ptr @new_node(ptr %template, ptr %copies, ptr %plan, ptr %edges)
  %no_node = icmp eq ptr %new, null
  br i1 %no_node, label %drop_edges, label %saves
saves:
  %after = add i64 %n_edges, 1
  %n_saved = call i64 @word(ptr %words, i64 %after)
  %first = add i64 %after, 1
  %entries = getelementptr i64, ptr %words, i64 %first
  br label %save_test
save_test:
  %s = phi i64 [0, %saves], [%s1, %saved]
  %save_more = icmp slt i64 %s, %n_saved
  br i1 %save_more, label %save, label %finish
save:
  %s1 = add i64 %s, 1
  %entry_index = mul i64 %s, 4
  %entry_at = getelementptr i64, ptr %entries, i64 %entry_index
  %from = call i64 @word(ptr %entry_at, i64 0)
  %slot_offset = call i64 @word(ptr %entry_at, i64 1)
  %version_offset = call i64 @word(ptr %entry_at, i64 2)
  %is_number = call i64 @word(ptr %entry_at, i64 3)
  %is_out = icmp slt i64 %from, 0
  br i1 %is_out, label %save_out, label %save_operand
save_out:
  %copy_of_out = call ptr @alias(ptr null, ptr %out_at, i64 1)
  %no_alias = icmp eq ptr %copy_of_out, null
  br i1 %no_alias, label %drop_node, label %save_version
save_operand:
  %operand_at = getelementptr ptr, ptr %operands, i64 %from
  %operand = load ptr, ptr %operand_at
  call void @hold(ptr %operand)
  %numeric = icmp ne i64 %is_number, 0
  br i1 %numeric, label %save_number, label %save_version
save_number:
  ; In both slots: a pass that frees the node clears the first, and the number can still be shown.
  call void @put(ptr %new, i64 %slot_offset, ptr %operand)
  call void @hold(ptr %operand)
  call void @put(ptr %new, i64 %version_offset, ptr %operand)
  br label %saved
save_version:
  %value = phi ptr [%copy_of_out, %save_out], [%operand, %save_operand]
  call void @put(ptr %new, i64 %slot_offset, ptr %value)
  %storage = call ptr @slot(ptr %value, i64 @TENSOR_STORAGE)
  %version = call ptr @slot(ptr %storage, i64 @STORAGE_VERSION)
  call void @hold(ptr %version)
  call void @put(ptr %new, i64 %version_offset, ptr %version)
  br label %saved
saved:
  br label %save_test
finish:
  call void @finish_node(ptr %new, ptr %edges)
  %old_edge = call ptr @slot(ptr %out, i64 @TENSOR_EDGE)
  call void @put(ptr %out, i64 @TENSOR_EDGE, ptr %new)
  call void @let_go(ptr %old_edge)
  %old_needs = call ptr @slot(ptr %out, i64 @TENSOR_NEEDS_GRAD)
  call void @hold(ptr @_Py_TrueStruct)
  call void @put(ptr %out, i64 @TENSOR_NEEDS_GRAD, ptr @_Py_TrueStruct)
  call void @let_go(ptr %old_needs)
  call void @hold(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
drop_node:
  call void @Py_DecRef(ptr %new)
  br label %fail
drop_edges:
  call void @Py_DecRef(ptr %edges)
  br label %fail
fail:
  ret ptr null
}

; Whether %object is a Tensor.
define private i1 @is_tensor(ptr %object) alwaysinline {
entry:
  %type = call ptr @slot(ptr %object, i64 8)
  %tensor_type = load ptr, ptr @tensor_type
  %exact = icmp eq ptr %type, %tensor_type
  br i1 %exact, label %yes, label %derived
derived:
  %is = call i32 @PyType_IsSubtype(ptr %type, ptr %tensor_type)
  %no = icmp eq i32 %is, 0
  br i1 %no, label %refuse, label %yes
yes:
  ret i1 true
refuse:
  ret i1 false
}

; Whether gradients flow into a tensor: 1 or 0, as `graph.requires_grad` says; -1 where Python must be asked.
define private i64 @flows(ptr %x) {
entry:
  %needs = call ptr @slot(ptr %x, i64 @TENSOR_NEEDS_GRAD)
  %yes = icmp eq ptr %needs, @_Py_TrueStruct
  %no = icmp eq ptr %needs, @_Py_FalseStruct
  %known = or i1 %yes, %no
  br i1 %known, label %own, label %view
own:
  %answer = zext i1 %yes to i64
  ret i64 %answer
view:
  %meta = call ptr @slot(ptr %x, i64 @TENSOR_META)
  %no_meta = icmp eq ptr %meta, @_Py_NoneStruct
  br i1 %no_meta, label %unknown, label %look
look:
  %node = call ptr @slot(ptr %meta, i64 @META_NODE)
  %no_node = icmp eq ptr %node, @_Py_NoneStruct
  br i1 %no_node, label %ask_base, label %ask_dtype
ask_base:
  %base = call ptr @slot(ptr %meta, i64 @META_BASE)
  %no_base = icmp eq ptr %base, @_Py_NoneStruct
  br i1 %no_base, label %unknown, label %base_needs
base_needs:
  %its_needs = call ptr @slot(ptr %base, i64 @TENSOR_NEEDS_GRAD)
  %base_no = icmp eq ptr %its_needs, @_Py_FalseStruct
  br i1 %base_no, label %nothing, label %base_yes
base_yes:
  %base_true = icmp eq ptr %its_needs, @_Py_TrueStruct
  br i1 %base_true, label %ask_dtype, label %unknown
ask_dtype:
  %layout = call ptr @slot(ptr %x, i64 @TENSOR_LAYOUT)
  %dtype = call ptr @slot(ptr %layout, i64 @LAYOUT_DTYPE)
  %differentiable = call ptr @slot(ptr %dtype, i64 @DTYPE_DIFFERENTIABLE)
  %real = icmp eq ptr %differentiable, @_Py_TrueStruct
  %of_dtype = zext i1 %real to i64
  ret i64 %of_dtype
nothing:
  ret i64 0
unknown:
  ret i64 -1
}

; call(x) or call(x, y): one look-up by layouts (the type of a Python number), one launch; `record` where a gradient may be needed.
; self = (plans, list of special modes, slow, record, record where x is a number, modes of the thread, the bits that operands have
; in the mask of those that need a gradient as int64 words, "enabled"). Whatever is not in the table goes to `slow`.
define ptr @call(ptr %self, ptr %args, i64 %count) {
entry:
  %operands = alloca [3 x ptr]
  %record_args = alloca [4 x ptr]
  %well_called = icmp sge i64 %count, 1
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %plans = call ptr @item(ptr %self, i64 0)
  %special = call ptr @item(ptr %self, i64 1)
  %active = call ptr @slot(ptr %special, i64 16)              ; ob_size
  %usual = icmp eq ptr %active, null
  %x = load ptr, ptr %args
  %single = icmp eq i64 %count, 1
  br i1 %usual, label %first, label %slow
first:
  %x_tensor = call i1 @is_tensor(ptr %x)
  br i1 %x_tensor, label %layouts, label %number_first
number_first:
  %x_type = call ptr @slot(ptr %x, i64 8)
  %x_float = icmp eq ptr %x_type, @PyFloat_Type
  %x_int = icmp eq ptr %x_type, @PyLong_Type
  %x_number = or i1 %x_float, %x_int
  %two_operands = icmp eq i64 %count, 2
  %number_and_other = and i1 %x_number, %two_operands
  br i1 %number_and_other, label %tensor_second, label %slow
tensor_second:
  %z_at = getelementptr ptr, ptr %args, i64 1
  %z = load ptr, ptr %z_at
  %z_tensor = call i1 @is_tensor(ptr %z)
  br i1 %z_tensor, label %second_alone, label %slow
second_alone:
  %lz = call ptr @slot(ptr %z, i64 @TENSOR_LAYOUT)
  %blank_z = icmp eq ptr %lz, null                             ; object.__new__(Tensor)
  br i1 %blank_z, label %slow, label %with_key
layouts:
  %lx = call ptr @slot(ptr %x, i64 @TENSOR_LAYOUT)
  %blank_x = icmp eq ptr %lx, null
  br i1 %blank_x, label %slow, label %ask_single
ask_single:
  br i1 %single, label %by_layout, label %two
two:
  %pair = icmp eq i64 %count, 2
  br i1 %pair, label %second, label %slow
second:
  %y_at = getelementptr ptr, ptr %args, i64 1
  %y = load ptr, ptr %y_at
  %y_type = call ptr @slot(ptr %y, i64 8)
  %is_float = icmp eq ptr %y_type, @PyFloat_Type
  %is_int = icmp eq ptr %y_type, @PyLong_Type
  %is_number = or i1 %is_float, %is_int
  br i1 %is_number, label %with_key, label %second_tensor
second_tensor:
  %y_tensor = call i1 @is_tensor(ptr %y)
  br i1 %y_tensor, label %second_layout, label %slow
second_layout:
  %ly = call ptr @slot(ptr %y, i64 @TENSOR_LAYOUT)
  %same = icmp eq ptr %lx, %ly
  br i1 %same, label %by_layout, label %other_layout
other_layout:
  %blank_y = icmp eq ptr %ly, null
  br i1 %blank_y, label %slow, label %with_key
by_layout:
  %plan_1 = call ptr @PyDict_GetItemWithError(ptr %plans, ptr %lx)
  br label %found
with_key:
  %one = phi ptr [%lx, %second], [%lx, %other_layout], [%x_type, %second_alone]
  %other = phi ptr [%y_type, %second], [%ly, %other_layout], [%lz, %second_alone]
  %key = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %one, ptr %other)
  %no_key = icmp eq ptr %key, null
  br i1 %no_key, label %fail, label %look
look:
  %plan_2 = call ptr @PyDict_GetItemWithError(ptr %plans, ptr %key)
  call void @Py_DecRef(ptr %key)
  br label %found
found:
  %plan = phi ptr [%plan_1, %by_layout], [%plan_2, %look]
  %unknown = icmp eq ptr %plan, null
  br i1 %unknown, label %slow, label %launch
launch:
  ; Held: while a large kernel runs without the lock, another thread may clear the table.
  call void @hold(ptr %plan)
  store ptr %plan, ptr %operands
  %o1 = getelementptr ptr, ptr %operands, i64 1
  store ptr %x, ptr %o1
  br i1 %single, label %go, label %put_second
put_second:
  %o2 = getelementptr ptr, ptr %operands, i64 2
  %y_again_at = getelementptr ptr, ptr %args, i64 1
  %y_again = load ptr, ptr %y_again_at
  store ptr %y_again, ptr %o2
  br label %go
go:
  %all = add i64 %count, 1
  %out = call ptr @fresh(ptr null, ptr %operands, i64 %all)
  %failed = icmp eq ptr %out, null
  br i1 %failed, label %drop, label %ask
ask:
  br i1 %x_tensor, label %ask_x, label %ask_y
ask_x:
  %nx = call ptr @slot(ptr %x, i64 @TENSOR_NEEDS_GRAD)
  %x_needs = icmp ne ptr %nx, @_Py_FalseStruct
  br i1 %x_needs, label %record, label %ask_y
ask_y:
  br i1 %single, label %done, label %ask_y_kind
ask_y_kind:
  %y3_at = getelementptr ptr, ptr %args, i64 1
  %y3 = load ptr, ptr %y3_at
  %y3_tensor = call i1 @is_tensor(ptr %y3)
  br i1 %y3_tensor, label %ask_y_needs, label %done
ask_y_needs:
  %ny = call ptr @slot(ptr %y3, i64 @TENSOR_NEEDS_GRAD)
  %y_needs = icmp ne ptr %ny, @_Py_FalseStruct
  br i1 %y_needs, label %record, label %done
record:
  ; Which operands need a gradient, as far as that can be told here.
  br i1 %x_tensor, label %mask_x, label %mask_y
mask_x:
  %flows_x = call i64 @flows(ptr %x)
  %x_unknown = icmp slt i64 %flows_x, 0
  %bits_at = call ptr @item(ptr %self, i64 6)
  %bits_x = getelementptr i8, ptr %bits_at, i64 @BYTES_ITEMS
  %bit_x = call i64 @word(ptr %bits_x, i64 0)
  %mask_of_x = mul i64 %flows_x, %bit_x
  br i1 %x_unknown, label %record_slow, label %mask_y
mask_y:
  %mask_1 = phi i64 [0, %record], [%mask_of_x, %mask_x]
  br i1 %single, label %ask_mode, label %mask_y_kind
mask_y_kind:
  %y5_at = getelementptr ptr, ptr %args, i64 1
  %y5 = load ptr, ptr %y5_at
  %y5_tensor = call i1 @is_tensor(ptr %y5)
  br i1 %y5_tensor, label %mask_y_needs, label %ask_mode
mask_y_needs:
  %flows_y = call i64 @flows(ptr %y5)
  %y_unknown = icmp slt i64 %flows_y, 0
  %bits_y_at = call ptr @item(ptr %self, i64 6)
  %bits_y = getelementptr i8, ptr %bits_y_at, i64 @BYTES_ITEMS
  %bit_y = call i64 @word(ptr %bits_y, i64 1)
  %mask_of_y = mul i64 %flows_y, %bit_y
  %mask_2 = or i64 %mask_1, %mask_of_y
  br i1 %y_unknown, label %record_slow, label %ask_mode
ask_mode:
  %mask = phi i64 [%mask_1, %mask_y], [%mask_1, %mask_y_kind], [%mask_2, %mask_y_needs]
  %no_operand = icmp eq i64 %mask, 0
  br i1 %no_operand, label %done, label %read_mode
read_mode:
  %modes = call ptr @item(ptr %self, i64 5)
  %own_modes = call ptr @of_thread(ptr %modes)
  %no_modes = icmp eq ptr %own_modes, null
  br i1 %no_modes, label %drop_out, label %have_modes
have_modes:
  %mode_name = call ptr @item(ptr %self, i64 7)
  %enabled = call ptr @PyDict_GetItemWithError(ptr %own_modes, ptr %mode_name)
  %recording = icmp eq ptr %enabled, @_Py_TrueStruct
  br i1 %recording, label %record_fast, label %done
record_fast:
  %records = call ptr @slot(ptr %plan, i64 @ELEMENTWISE_RECORDS)
  %recorders = call ptr @slot(ptr %records, i64 24)              ; ob_item of the list
  %made_at = getelementptr ptr, ptr %recorders, i64 %mask
  %made = load ptr, ptr %made_at
  br label %record_begin
record_slow:
  %which = select i1 %x_tensor, i64 3, i64 4
  %asking = call ptr @item(ptr %self, i64 %which)
  br label %record_begin
record_begin:
  %recorder = phi ptr [%made, %record_fast], [%asking, %record_slow]
  call void @hold(ptr %recorder)
  store ptr %plan, ptr %record_args
  %r1 = getelementptr ptr, ptr %record_args, i64 1
  store ptr %out, ptr %r1
  %r2 = getelementptr ptr, ptr %record_args, i64 2
  store ptr %x, ptr %r2
  br i1 %single, label %record_go, label %record_second
record_second:
  %y4_at = getelementptr ptr, ptr %args, i64 1
  %y4 = load ptr, ptr %y4_at
  %r3 = getelementptr ptr, ptr %record_args, i64 3
  store ptr %y4, ptr %r3
  br label %record_go
record_go:
  %record_count = add i64 %count, 2
  %nothing = call ptr @PyObject_Vectorcall(ptr %recorder, ptr %record_args, i64 %record_count, ptr null)
  call void @let_go(ptr %recorder)
  %not_recorded = icmp eq ptr %nothing, null
  br i1 %not_recorded, label %drop_out, label %recorded
recorded:
  call void @let_go(ptr %nothing)
  br label %done
done:
  call void @let_go(ptr %plan)
  ret ptr %out
drop_out:
  call void @Py_DecRef(ptr %out)
  br label %drop
drop:
  call void @let_go(ptr %plan)
  br label %fail
slow:
  %general = call ptr @item(ptr %self, i64 2)
  %result = call ptr @PyObject_Vectorcall(ptr %general, ptr %args, i64 %count, ptr null)
  ret ptr %result
fail:
  ret ptr null
}

; call_many(*operands): what ``call`` does, for any number of operands.
; self = (plans, list of special modes, slow, record, modes of the thread, words, "enabled"). The words are the number of
; operands, then for each its bit in the mask of those that need a gradient, or -1 where `record` says that none can flow.
define ptr @call_many(ptr %self, ptr %args, i64 %count) {
entry:
  %operands = alloca [@MOST x ptr]
  %record_args = alloca [@MOST x ptr]
  %plans = call ptr @item(ptr %self, i64 0)
  %special = call ptr @item(ptr %self, i64 1)
  %active = call ptr @slot(ptr %special, i64 16)              ; ob_size
  %usual = icmp eq ptr %active, null
  %words_object = call ptr @item(ptr %self, i64 5)
  %words = getelementptr i8, ptr %words_object, i64 @BYTES_ITEMS
  %expected = call i64 @word(ptr %words, i64 0)
  %bits = getelementptr i64, ptr %words, i64 1
  %complete = icmp eq i64 %count, %expected
  %begin = and i1 %usual, %complete
  br i1 %begin, label %new_key, label %slow
new_key:
  %key = call ptr @PyTuple_New(i64 %count)
  %no_key = icmp eq ptr %key, null
  br i1 %no_key, label %fail, label %key_items
key_items:
  %items = getelementptr i8, ptr %key, i64 @TUPLE_ITEMS
  %operands_at = getelementptr ptr, ptr %operands, i64 1
  %recorded_at = getelementptr ptr, ptr %record_args, i64 2
  br label %key_test
key_test:
  %i = phi i64 [0, %key_items], [%next, %key_put]
  %needy = phi i1 [false, %key_items], [%needy_next, %key_put]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %key_one, label %look
key_one:
  %x_at = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %x_at
  %x_tensor = call i1 @is_tensor(ptr %x)
  br i1 %x_tensor, label %of_tensor, label %of_other
of_tensor:
  %layout = call ptr @slot(ptr %x, i64 @TENSOR_LAYOUT)
  %needs = call ptr @slot(ptr %x, i64 @TENSOR_NEEDS_GRAD)
  %perhaps = icmp ne ptr %needs, @_Py_FalseStruct
  %needy_x = or i1 %needy, %perhaps
  %blank = icmp eq ptr %layout, null                           ; object.__new__(Tensor)
  br i1 %blank, label %drop_key, label %key_put
of_other:
  %type = call ptr @slot(ptr %x, i64 8)
  %is_float = icmp eq ptr %type, @PyFloat_Type
  %is_int = icmp eq ptr %type, @PyLong_Type
  %is_bool = icmp eq ptr %type, @PyBool_Type
  %is_real = or i1 %is_float, %is_int
  %is_number = or i1 %is_real, %is_bool
  br i1 %is_number, label %key_put, label %drop_key
key_put:
  %part = phi ptr [%layout, %of_tensor], [%type, %of_other]
  %needy_next = phi i1 [%needy_x, %of_tensor], [%needy, %of_other]
  call void @hold(ptr %part)
  %item_at = getelementptr ptr, ptr %items, i64 %i
  store ptr %part, ptr %item_at
  %operand_at = getelementptr ptr, ptr %operands_at, i64 %i
  store ptr %x, ptr %operand_at
  %next = add i64 %i, 1
  br label %key_test
drop_key:
  call void @Py_DecRef(ptr %key)
  br label %slow
look:
  %plan = call ptr @PyDict_GetItemWithError(ptr %plans, ptr %key)
  call void @Py_DecRef(ptr %key)
  %unknown = icmp eq ptr %plan, null
  br i1 %unknown, label %slow, label %launch
launch:
  call void @hold(ptr %plan)                                   ; another thread may clear the table
  store ptr %plan, ptr %operands
  %all = add i64 %count, 1
  %out = call ptr @fresh(ptr null, ptr %operands, i64 %all)
  %failed = icmp eq ptr %out, null
  br i1 %failed, label %drop, label %ask
ask:
  br i1 %needy, label %mask_test, label %done
mask_test:
  %k = phi i64 [0, %ask], [%k_next, %mask_next]
  %mask = phi i64 [0, %ask], [%mask_after, %mask_next]
  %mask_more = icmp slt i64 %k, %count
  br i1 %mask_more, label %mask_one, label %ask_mode
mask_one:
  %y_at = getelementptr ptr, ptr %args, i64 %k
  %y = load ptr, ptr %y_at
  %y_recorded = getelementptr ptr, ptr %recorded_at, i64 %k
  store ptr %y, ptr %y_recorded
  %y_tensor = call i1 @is_tensor(ptr %y)
  br i1 %y_tensor, label %mask_flows, label %mask_next
mask_flows:
  %flows = call i64 @flows(ptr %y)
  %bit = call i64 @word(ptr %bits, i64 %k)
  %bit_of_y = mul i64 %flows, %bit                             ; -1: unknown, or refused
  %mask_or = or i64 %mask, %bit_of_y
  %uncertain = icmp slt i64 %flows, 0
  %mask_y = select i1 %uncertain, i64 -1, i64 %mask_or
  br label %mask_next
mask_next:
  %mask_after = phi i64 [%mask, %mask_one], [%mask_y, %mask_flows]
  %k_next = add i64 %k, 1
  br label %mask_test
ask_mode:
  %no_operand = icmp eq i64 %mask, 0
  br i1 %no_operand, label %done, label %read_mode
read_mode:
  %modes = call ptr @item(ptr %self, i64 4)
  %own_modes = call ptr @of_thread(ptr %modes)
  %no_modes = icmp eq ptr %own_modes, null
  br i1 %no_modes, label %drop_out, label %have_modes
have_modes:
  %mode_name = call ptr @item(ptr %self, i64 6)
  %enabled = call ptr @PyDict_GetItemWithError(ptr %own_modes, ptr %mode_name)
  %recording = icmp eq ptr %enabled, @_Py_TrueStruct
  br i1 %recording, label %choose, label %done
choose:
  %to_ask = icmp slt i64 %mask, 0
  br i1 %to_ask, label %record_slow, label %record_fast
record_fast:
  %records = call ptr @slot(ptr %plan, i64 @ELEMENTWISE_RECORDS)
  %recorders = call ptr @slot(ptr %records, i64 24)              ; ob_item of the list
  %made_at = getelementptr ptr, ptr %recorders, i64 %mask
  %made = load ptr, ptr %made_at
  br label %record
record_slow:
  %asking = call ptr @item(ptr %self, i64 3)
  br label %record
record:
  %recorder = phi ptr [%made, %record_fast], [%asking, %record_slow]
  call void @hold(ptr %recorder)
  store ptr %plan, ptr %record_args
  %out_at = getelementptr ptr, ptr %record_args, i64 1
  store ptr %out, ptr %out_at
  %record_count = add i64 %count, 2
  %nothing = call ptr @PyObject_Vectorcall(ptr %recorder, ptr %record_args, i64 %record_count, ptr null)
  call void @let_go(ptr %recorder)
  %not_recorded = icmp eq ptr %nothing, null
  br i1 %not_recorded, label %drop_out, label %recorded
recorded:
  call void @let_go(ptr %nothing)
  br label %done
done:
  call void @let_go(ptr %plan)
  ret ptr %out
drop_out:
  call void @Py_DecRef(ptr %out)
  br label %drop
drop:
  call void @let_go(ptr %plan)
  br label %fail
slow:
  %general = call ptr @item(ptr %self, i64 2)
  %result = call ptr @PyObject_Vectorcall(ptr %general, ptr %args, i64 %count, ptr null)
  ret ptr %result
fail:
  ret ptr null
}

; Whether writing to %x leaves what is still to be read of %y alone: they are one tensor, the same part of one array, or arrays
; of which each has its own memory.
define private i1 @apart(ptr %x, ptr %y) alwaysinline {
entry:
  %same = icmp eq ptr %x, %y
  br i1 %same, label %yes, label %arrays
arrays:
  %sx = call ptr @slot(ptr %x, i64 @TENSOR_STORAGE)
  %sy = call ptr @slot(ptr %y, i64 @TENSOR_STORAGE)
  %ax = call ptr @slot(ptr %sx, i64 @STORAGE_ARRAY)
  %ay = call ptr @slot(ptr %sy, i64 @STORAGE_ARRAY)
  %one_array = icmp eq ptr %ax, %ay
  br i1 %one_array, label %places, label %bases
places:
  %lx = call ptr @slot(ptr %x, i64 @TENSOR_LAYOUT)
  %ly = call ptr @slot(ptr %y, i64 @TENSOR_LAYOUT)
  %alike = icmp eq ptr %lx, %ly
  %ox = call ptr @slot(ptr %x, i64 @TENSOR_OFFSET)
  %oy = call ptr @slot(ptr %y, i64 @TENSOR_OFFSET)
  %start_x = call i64 @PyLong_AsSsize_t(ptr %ox)
  %start_y = call i64 @PyLong_AsSsize_t(ptr %oy)
  %at_one = icmp eq i64 %start_x, %start_y
  %one_part = and i1 %alike, %at_one
  ret i1 %one_part
bases:
  %bx = call ptr @slot(ptr %ax, i64 @ARRAY_BASE)
  %by = call ptr @slot(ptr %ay, i64 @ARRAY_BASE)
  %own_x = icmp eq ptr %bx, null
  %own_y = icmp eq ptr %by, null
  %own = and i1 %own_x, %own_y
  ret i1 %own
yes:
  ret i1 true
}

; write(x) or write(x, y) -> x, overwritten, where nothing is recorded; self = (plans, list of special modes, slow, modes of the
; thread, "enabled"). Whatever is not in the table, or would have to be recorded, goes to `slow`.
define ptr @write(ptr %self, ptr %args, i64 %count) {
entry:
  %operands = alloca [4 x ptr]
  %well_called = icmp sge i64 %count, 1
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %plans = call ptr @item(ptr %self, i64 0)
  %special = call ptr @item(ptr %self, i64 1)
  %active = call ptr @slot(ptr %special, i64 16)              ; ob_size
  %usual = icmp eq ptr %active, null
  %x = load ptr, ptr %args
  %y_at = getelementptr ptr, ptr %args, i64 1
  %few = icmp sle i64 %count, 2
  %begin = and i1 %usual, %few
  br i1 %begin, label %ask_x, label %slow
ask_x:
  %x_tensor = call i1 @is_tensor(ptr %x)
  br i1 %x_tensor, label %have_x, label %slow
have_x:
  %lx = call ptr @slot(ptr %x, i64 @TENSOR_LAYOUT)
  %blank_x = icmp eq ptr %lx, null                             ; object.__new__(Tensor)
  br i1 %blank_x, label %slow, label %whole_x
whole_x:
  %storage = call ptr @slot(ptr %x, i64 @TENSOR_STORAGE)
  %writable = call ptr @slot(ptr %storage, i64 @STORAGE_WRITABLE)
  %expanded = call ptr @slot(ptr %lx, i64 @LAYOUT_EXPANDED)
  %free = icmp eq ptr %writable, @_Py_TrueStruct
  %spread = icmp eq ptr %expanded, @_Py_FalseStruct
  %allowed = and i1 %free, %spread
  %flows_x = call i64 @flows(ptr %x)
  %x_plain = icmp eq i64 %flows_x, 0
  br i1 %allowed, label %ask_count, label %slow
ask_count:
  %single = icmp eq i64 %count, 1
  br i1 %single, label %key_one, label %ask_y
key_one:
  %key_1 = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %lx)
  br label %find
ask_y:
  %y = load ptr, ptr %y_at
  %y_type = call ptr @slot(ptr %y, i64 8)
  %y_float = icmp eq ptr %y_type, @PyFloat_Type
  %y_int = icmp eq ptr %y_type, @PyLong_Type
  %y_number = or i1 %y_float, %y_int
  br i1 %y_number, label %key_two, label %ask_y_tensor
ask_y_tensor:
  %y_tensor = call i1 @is_tensor(ptr %y)
  br i1 %y_tensor, label %have_y, label %slow
have_y:
  %ly = call ptr @slot(ptr %y, i64 @TENSOR_LAYOUT)
  %blank_y = icmp eq ptr %ly, null
  br i1 %blank_y, label %slow, label %ask_memory
ask_memory:
  %apart = call i1 @apart(ptr %x, ptr %y)
  %flows_y = call i64 @flows(ptr %y)
  %y_without = icmp eq i64 %flows_y, 0
  br i1 %apart, label %key_two, label %slow
key_two:
  %other = phi ptr [%y_type, %ask_y], [%ly, %ask_memory]
  %y_plain = phi i1 [true, %ask_y], [%y_without, %ask_memory]
  %key_2 = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %lx, ptr %other)
  br label %find
find:
  %key = phi ptr [%key_1, %key_one], [%key_2, %key_two]
  %others_plain = phi i1 [true, %key_one], [%y_plain, %key_two]
  %no_key = icmp eq ptr %key, null
  br i1 %no_key, label %fail, label %look
look:
  %plan = call ptr @PyDict_GetItemWithError(ptr %plans, ptr %key)
  call void @Py_DecRef(ptr %key)
  %unknown = icmp eq ptr %plan, null
  br i1 %unknown, label %slow, label %ask_record
ask_record:
  call void @hold(ptr %plan)                              ; another thread may clear the table
  %nothing_to_record = and i1 %x_plain, %others_plain
  br i1 %nothing_to_record, label %go, label %ask_mode
ask_mode:
  %modes = call ptr @item(ptr %self, i64 3)
  %own_modes = call ptr @of_thread(ptr %modes)
  %no_modes = icmp eq ptr %own_modes, null
  br i1 %no_modes, label %drop, label %read_mode
read_mode:
  %name = call ptr @item(ptr %self, i64 4)
  %enabled = call ptr @PyDict_GetItemWithError(ptr %own_modes, ptr %name)
  %off = icmp eq ptr %enabled, @_Py_FalseStruct
  br i1 %off, label %go, label %leave
leave:
  call void @let_go(ptr %plan)
  br label %slow
go:
  ; A kernel reads all operands, or, if it has one pointer for result and first operand, the others.
  %layouts = call ptr @slot(ptr %plan, i64 @PLAN_LAYOUTS)
  %read_object = call ptr @slot(ptr %layouts, i64 16)          ; ob_size
  %read = ptrtoint ptr %read_object to i64
  %skipped = sub i64 %count, %read
  store ptr %plan, ptr %operands
  %o1 = getelementptr ptr, ptr %operands, i64 1
  store ptr %x, ptr %o1
  br label %pass_test
pass_test:
  %i = phi i64 [%skipped, %go], [%next, %pass]
  %at = phi i64 [2, %go], [%at_next, %pass]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %pass, label %launch
pass:
  %from = getelementptr ptr, ptr %args, i64 %i
  %operand = load ptr, ptr %from
  %to = getelementptr ptr, ptr %operands, i64 %at
  store ptr %operand, ptr %to
  %next = add i64 %i, 1
  %at_next = add i64 %at, 1
  br label %pass_test
launch:
  %nothing = call ptr @into(ptr null, ptr %operands, i64 %at)
  call void @let_go(ptr %plan)
  %failed = icmp eq ptr %nothing, null
  br i1 %failed, label %fail, label %done
done:
  call void @let_go(ptr %nothing)
  call void @hold(ptr %x)
  ret ptr %x
slow:
  %general = call ptr @item(ptr %self, i64 2)
  %result = call ptr @PyObject_Vectorcall(ptr %general, ptr %args, i64 %count, ptr null)
  ret ptr %result
drop:
  call void @let_go(ptr %plan)
  br label %fail
fail:
  ret ptr null
}

; write_many(x, *others): what ``write`` does, for any number of operands. self = (plans, list of special modes, slow, modes of the
; thread, "enabled").
define ptr @write_many(ptr %self, ptr %args, i64 %count) {
entry:
  %operands = alloca [@MOST x ptr]
  %well_called = icmp sge i64 %count, 1
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %plans = call ptr @item(ptr %self, i64 0)
  %special = call ptr @item(ptr %self, i64 1)
  %active = call ptr @slot(ptr %special, i64 16)              ; ob_size
  %usual = icmp eq ptr %active, null
  %x = load ptr, ptr %args
  %few = icmp sle i64 %count, 40
  %begin = and i1 %usual, %few
  br i1 %begin, label %ask_x, label %slow
ask_x:
  %x_tensor = call i1 @is_tensor(ptr %x)
  br i1 %x_tensor, label %have_x, label %slow
have_x:
  %lx = call ptr @slot(ptr %x, i64 @TENSOR_LAYOUT)
  %blank_x = icmp eq ptr %lx, null                             ; object.__new__(Tensor)
  br i1 %blank_x, label %slow, label %whole_x
whole_x:
  %storage = call ptr @slot(ptr %x, i64 @TENSOR_STORAGE)
  %writable = call ptr @slot(ptr %storage, i64 @STORAGE_WRITABLE)
  %expanded = call ptr @slot(ptr %lx, i64 @LAYOUT_EXPANDED)
  %free = icmp eq ptr %writable, @_Py_TrueStruct
  %spread = icmp eq ptr %expanded, @_Py_FalseStruct
  %allowed = and i1 %free, %spread
  %flows_x = call i64 @flows(ptr %x)
  %x_plain = icmp eq i64 %flows_x, 0
  br i1 %allowed, label %new_key, label %slow
new_key:
  %key = call ptr @PyTuple_New(i64 %count)
  %no_key = icmp eq ptr %key, null
  br i1 %no_key, label %fail, label %key_items
key_items:
  %items = getelementptr i8, ptr %key, i64 @TUPLE_ITEMS
  call void @hold(ptr %lx)
  store ptr %lx, ptr %items
  br label %key_test
key_test:
  %i = phi i64 [1, %key_items], [%next, %key_put]
  %plain = phi i1 [%x_plain, %key_items], [%plain_next, %key_put]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %key_one, label %look
key_one:
  %y_at = getelementptr ptr, ptr %args, i64 %i
  %y = load ptr, ptr %y_at
  %y_tensor = call i1 @is_tensor(ptr %y)
  br i1 %y_tensor, label %of_tensor, label %of_other
of_tensor:
  %ly = call ptr @slot(ptr %y, i64 @TENSOR_LAYOUT)
  %blank_y = icmp eq ptr %ly, null
  br i1 %blank_y, label %drop_key, label %ask_memory
ask_memory:
  %apart = call i1 @apart(ptr %x, ptr %y)
  %flows_y = call i64 @flows(ptr %y)
  %y_without = icmp eq i64 %flows_y, 0
  %y_plain = and i1 %plain, %y_without
  br i1 %apart, label %key_put, label %drop_key
of_other:
  %type = call ptr @slot(ptr %y, i64 8)
  %is_float = icmp eq ptr %type, @PyFloat_Type
  %is_int = icmp eq ptr %type, @PyLong_Type
  %is_number = or i1 %is_float, %is_int
  br i1 %is_number, label %key_put, label %drop_key
key_put:
  %part = phi ptr [%ly, %ask_memory], [%type, %of_other]
  %plain_next = phi i1 [%y_plain, %ask_memory], [%plain, %of_other]
  call void @hold(ptr %part)
  %item_at = getelementptr ptr, ptr %items, i64 %i
  store ptr %part, ptr %item_at
  %next = add i64 %i, 1
  br label %key_test
drop_key:
  call void @Py_DecRef(ptr %key)
  br label %slow
look:
  %plan = call ptr @PyDict_GetItemWithError(ptr %plans, ptr %key)
  call void @Py_DecRef(ptr %key)
  %unknown = icmp eq ptr %plan, null
  br i1 %unknown, label %slow, label %ask_record
ask_record:
  call void @hold(ptr %plan)                              ; another thread may clear the table
  br i1 %plain, label %go, label %ask_mode
ask_mode:
  %modes = call ptr @item(ptr %self, i64 3)
  %own_modes = call ptr @of_thread(ptr %modes)
  %no_modes = icmp eq ptr %own_modes, null
  br i1 %no_modes, label %drop, label %read_mode
read_mode:
  %name = call ptr @item(ptr %self, i64 4)
  %enabled = call ptr @PyDict_GetItemWithError(ptr %own_modes, ptr %name)
  %off = icmp eq ptr %enabled, @_Py_FalseStruct
  br i1 %off, label %go, label %leave
leave:
  call void @let_go(ptr %plan)
  br label %slow
go:
  ; A kernel reads all operands, or, if it has one pointer for result and first operand, the others.
  %layouts = call ptr @slot(ptr %plan, i64 @PLAN_LAYOUTS)
  %read_object = call ptr @slot(ptr %layouts, i64 16)          ; ob_size
  %read = ptrtoint ptr %read_object to i64
  %skipped = sub i64 %count, %read
  store ptr %plan, ptr %operands
  %o1 = getelementptr ptr, ptr %operands, i64 1
  store ptr %x, ptr %o1
  br label %pass_test
pass_test:
  %k = phi i64 [%skipped, %go], [%k_next, %pass]
  %at = phi i64 [2, %go], [%at_next, %pass]
  %pass_more = icmp slt i64 %k, %count
  br i1 %pass_more, label %pass, label %launch
pass:
  %from = getelementptr ptr, ptr %args, i64 %k
  %operand = load ptr, ptr %from
  %to = getelementptr ptr, ptr %operands, i64 %at
  store ptr %operand, ptr %to
  %k_next = add i64 %k, 1
  %at_next = add i64 %at, 1
  br label %pass_test
launch:
  %nothing = call ptr @into(ptr null, ptr %operands, i64 %at)
  call void @let_go(ptr %plan)
  %failed = icmp eq ptr %nothing, null
  br i1 %failed, label %fail, label %done
done:
  call void @let_go(ptr %nothing)
  call void @hold(ptr %x)
  ret ptr %x
slow:
  %general = call ptr @item(ptr %self, i64 2)
  %result = call ptr @PyObject_Vectorcall(ptr %general, ptr %args, i64 %count, ptr null)
  ret ptr %result
drop:
  call void @let_go(ptr %plan)
  br label %fail
fail:
  ret ptr null
}

; backward(node, g, create_graph) of an elementwise rule. self = (words, slow); words: number of saved values, index of the subset,
; number of results, or 0 where they are what the kernel returns, number of those that the kernel computes; for each saved value its
; slot's and its version's offset (-1: a number); for each result which of the kernel's it is (-1: the cotangent itself).
; Whatever is unusual (recording, a version that is not the very object noted, broadcasting) goes to `slow`.
define ptr @backward(ptr %self, ptr %args, i64 %count) {
entry:
  %operands = alloca [@MOST x ptr]
  %well_called = icmp eq i64 %count, 3
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %words_object = call ptr @item(ptr %self, i64 0)
  %words = getelementptr i8, ptr %words_object, i64 @BYTES_ITEMS
  %node = load ptr, ptr %args
  %g_at = getelementptr ptr, ptr %args, i64 1
  %g = load ptr, ptr %g_at
  %create_at = getelementptr ptr, ptr %args, i64 2
  %create = load ptr, ptr %create_at
  %plain = icmp eq ptr %create, @_Py_FalseStruct
  br i1 %plain, label %look, label %slow
look:
  %forward = call ptr @slot(ptr %node, i64 @NODE_PLAN)
  %reduced = call ptr @slot(ptr %forward, i64 @ELEMENTWISE_REDUCED)
  %exact = icmp eq ptr %reduced, @_Py_FalseStruct
  br i1 %exact, label %cotangent, label %slow
cotangent:
  %g_tensor = call i1 @is_tensor(ptr %g)
  br i1 %g_tensor, label %saved_begin, label %slow
saved_begin:
  %o1 = getelementptr ptr, ptr %operands, i64 1
  store ptr %g, ptr %o1
  %n_saved = call i64 @word(ptr %words, i64 0)
  %subset = call i64 @word(ptr %words, i64 1)
  %n_results = call i64 @word(ptr %words, i64 2)
  %n_computed = call i64 @word(ptr %words, i64 3)
  %launches = icmp ne i64 %n_computed, 0
  br i1 %launches, label %test, label %arrange
test:
  %i = phi i64 [0, %saved_begin], [%next, %put]
  %more = icmp slt i64 %i, %n_saved
  br i1 %more, label %take, label %plans
take:
  %next = add i64 %i, 1
  %pair = mul i64 %i, 2
  %first = add i64 %pair, 4
  %s_offset = call i64 @word(ptr %words, i64 %first)
  %second = add i64 %first, 1
  %v_offset = call i64 @word(ptr %words, i64 %second)
  %value = call ptr @slot(ptr %node, i64 %s_offset)
  %is_number = icmp slt i64 %v_offset, 0
  br i1 %is_number, label %number, label %tensor
number:
  %gone = icmp eq ptr %value, @_Py_NoneStruct
  br i1 %gone, label %slow, label %put
tensor:
  %value_tensor = call i1 @is_tensor(ptr %value)
  br i1 %value_tensor, label %version, label %slow
version:
  %storage = call ptr @slot(ptr %value, i64 @TENSOR_STORAGE)
  %now = call ptr @slot(ptr %storage, i64 @STORAGE_VERSION)
  %then = call ptr @slot(ptr %node, i64 %v_offset)
  %same = icmp eq ptr %now, %then
  br i1 %same, label %put, label %slow
put:
  %index = add i64 %i, 2
  %at = getelementptr ptr, ptr %operands, i64 %index
  store ptr %value, ptr %at
  br label %test
plans:
  %backs = call ptr @slot(ptr %forward, i64 @ELEMENTWISE_BACKS)
  %items = call ptr @slot(ptr %backs, i64 24)               ; ob_item of the list
  %dict_at = getelementptr ptr, ptr %items, i64 %subset
  %dict = load ptr, ptr %dict_at
  %empty = icmp eq ptr %dict, @_Py_NoneStruct
  br i1 %empty, label %slow, label %find
find:
  %layout = call ptr @slot(ptr %g, i64 @TENSOR_LAYOUT)
  %plan = call ptr @PyDict_GetItemWithError(ptr %dict, ptr %layout)
  %unknown = icmp eq ptr %plan, null
  br i1 %unknown, label %slow, label %launch
launch:
  call void @hold(ptr %plan)
  store ptr %plan, ptr %operands
  %all = add i64 %n_saved, 2
  br label %hold_test
hold_test:
  ; NOTE [Held]: another pass may free the node meanwhile.
  %h = phi i64 [2, %launch], [%h1, %hold_one]
  %hold_more = icmp slt i64 %h, %all
  br i1 %hold_more, label %hold_one, label %run
hold_one:
  %hold_at = getelementptr ptr, ptr %operands, i64 %h
  %hold_value = load ptr, ptr %hold_at
  call void @hold(ptr %hold_value)
  %h1 = add i64 %h, 1
  br label %hold_test
run:
  %out = call ptr @fresh(ptr null, ptr %operands, i64 %all)
  br label %drop_test
drop_test:
  %d = phi i64 [2, %run], [%d1, %drop_one]
  %drop_more = icmp slt i64 %d, %all
  br i1 %drop_more, label %drop_one, label %ran
drop_one:
  %drop_at = getelementptr ptr, ptr %operands, i64 %d
  %drop_value = load ptr, ptr %drop_at
  call void @let_go(ptr %drop_value)
  %d1 = add i64 %d, 1
  br label %drop_test
ran:
  call void @let_go(ptr %plan)
  %as_computed = icmp eq i64 %n_results, 0
  %failed = icmp eq ptr %out, null
  %ready = or i1 %as_computed, %failed
  br i1 %ready, label %give, label %arrange
give:
  ret ptr %out
arrange:
  %computed = phi ptr [null, %saved_begin], [%out, %ran]
  %is_one = icmp eq i64 %n_results, 1
  br i1 %is_one, label %pass_on, label %gather_results
pass_on:
  call void @hold(ptr %g)                                ; the one result is the cotangent
  ret ptr %g
gather_results:
  %tuple = call ptr @PyTuple_New(i64 %n_results)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %drop, label %fill_begin
fill_begin:
  %saved_words = mul i64 %n_saved, 2
  %parts = add i64 %saved_words, 4
  %is_single = icmp eq i64 %n_computed, 1
  br label %fill_test
fill_test:
  %k = phi i64 [0, %fill_begin], [%k1, %fill_put]
  %fill_more = icmp slt i64 %k, %n_results
  br i1 %fill_more, label %fill, label %drop
fill:
  %k1 = add i64 %k, 1
  %part_at = add i64 %parts, %k
  %part = call i64 @word(ptr %words, i64 %part_at)
  %is_none = icmp eq i64 %part, -2
  %uncomputed = select i1 %is_none, ptr @_Py_NoneStruct, ptr %g
  %is_g = icmp slt i64 %part, 0
  br i1 %is_g, label %fill_put, label %fill_computed
fill_computed:
  br i1 %is_single, label %fill_put, label %fill_item
fill_item:
  %chosen = call ptr @item(ptr %computed, i64 %part)
  br label %fill_put
fill_put:
  %result_k = phi ptr [%uncomputed, %fill], [%computed, %fill_computed], [%chosen, %fill_item]
  call void @hold(ptr %result_k)
  %results_base = getelementptr i8, ptr %tuple, i64 @TUPLE_ITEMS
  %result_at = getelementptr ptr, ptr %results_base, i64 %k
  store ptr %result_k, ptr %result_at
  br label %fill_test
drop:
  call void @Py_DecRef(ptr %computed)                         ; which takes a null
  ret ptr %tuple
slow:
  %general = call ptr @item(ptr %self, i64 1)
  %result = call ptr @PyObject_Vectorcall(ptr %general, ptr %args, i64 %count, ptr null)
  ret ptr %result
}

; build(*values) -> copy of the template with `values` in the named slots.
; self = (offsets of the values, template, offsets to copy), both as int64 words, the second with its count in front.
define ptr @build(ptr %self, ptr %args, i64 %count) {
entry:
  %offsets_object = call ptr @item(ptr %self, i64 0)
  %offsets = getelementptr i8, ptr %offsets_object, i64 @BYTES_ITEMS
  %size_object = call ptr @slot(ptr %offsets_object, i64 16)         ; ob_size
  %size = ptrtoint ptr %size_object to i64
  %given = shl i64 %count, 3
  %well_called = icmp eq i64 %given, %size
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %template = call ptr @item(ptr %self, i64 1)
  %copies = call ptr @item(ptr %self, i64 2)
  %type = call ptr @slot(ptr %template, i64 8)
  %new = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %done, label %track
track:
  %untracked = call ptr @item(ptr %self, i64 3)
  %hide = icmp eq ptr %untracked, @_Py_TrueStruct
  br i1 %hide, label %untrack, label %copy_begin
untrack:
  call void @PyObject_GC_UnTrack(ptr %new)                         ; NOTE [Collector]
  br label %copy_begin
copy_begin:
  call void @copy_slots(ptr %template, ptr %new, ptr %copies)
  br label %test
test:
  %i = phi i64 [0, %copy_begin], [%next, %set]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %set, label %filled
set:
  %value_at = getelementptr ptr, ptr %args, i64 %i
  %value = load ptr, ptr %value_at
  call void @hold(ptr %value)
  %offset = call i64 @word(ptr %offsets, i64 %i)
  call void @put(ptr %new, i64 %offset, ptr %value)
  %next = add i64 %i, 1
  br label %test
filled:
  br i1 %hide, label %note, label %done
note:
  call void @note_place(ptr %new)
  br label %done
done:
  ret ptr %new
}
@ANOMALY
@STEPS
"""
