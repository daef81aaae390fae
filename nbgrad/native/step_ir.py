"""The machine code of a step of a backward pass, as LLVM IR text: a part of launch_ir.py's module.

A step is what a node does in its turn; which node's turn it is, engine.py decides. ``advance`` and ``send`` there, and
``look_around`` and ``lead_all`` in graph/task.py, say what is done here, and do it wherever something is unusual; but they add
nothing in place.

NOTE [Sums]: a cotangent is added into the memory of one that arrived before, or the other way round, if nobody else can tell: this
module alone holds the tensor, the tensor its storage, the storage its array, and the array its memory; it is no part of a graph,
may be written to, and has a layout for which there is a plan. Of 100,000 elements that takes 8 us, a fresh sum 14.
"""
from __future__ import annotations

__all__ = ["STEP_IR"]

STEP_IR = """
declare i32 @PyDict_DelItem(ptr, ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_Append(ptr, ptr)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i32 @PySet_Add(ptr, ptr)

@no_count = private constant [90 x i8]
    c"backward: a node has other edges than when the pass began. Hint: hooks must not set them.\\00"

; Change the count of %below, which is %held now; the new count, or -9223372036854775808 with a Python error set.
define private i64 @recount(ptr %counts, ptr %below, ptr %held, i64 %by) alwaysinline {
entry:
  %before = call i64 @PyLong_AsSsize_t(ptr %held)
  %after = add i64 %before, %by
  %object = call ptr @PyLong_FromSsize_t(i64 %after)
  %no_object = icmp eq ptr %object, null
  br i1 %no_object, label %fail, label %set_it
set_it:
  %not_set = call i32 @PyDict_SetItem(ptr %counts, ptr %below, ptr %object)
  call void @Py_DecRef(ptr %object)
  %set = icmp eq i32 %not_set, 0
  br i1 %set, label %done, label %fail
done:
  ret i64 %after
fail:
  ret i64 -9223372036854775808
}

; Whether nobody else can see what is written to %tensor, of which %own references are the caller's: NOTE [Sums].
define private i1 @alone(ptr %tensor, i32 %own) {
entry:
  %references = load i32, ptr %tensor
  %sole = icmp eq i32 %references, %own
  br i1 %sole, label %state, label %no
state:
  %needs = call ptr @slot(ptr %tensor, i64 @TENSOR_NEEDS_GRAD)
  %edge = call ptr @slot(ptr %tensor, i64 @TENSOR_EDGE)
  %meta = call ptr @slot(ptr %tensor, i64 @TENSOR_META)
  %unneeded = icmp eq ptr %needs, @_Py_FalseStruct
  %no_edge = icmp eq ptr %edge, @_Py_NoneStruct
  %no_meta = icmp eq ptr %meta, @_Py_NoneStruct
  %outside = and i1 %unneeded, %no_edge
  %bare = and i1 %outside, %no_meta
  br i1 %bare, label %memory, label %no
memory:
  %storage = call ptr @slot(ptr %tensor, i64 @TENSOR_STORAGE)
  %storage_references = load i32, ptr %storage
  %writable = call ptr @slot(ptr %storage, i64 @STORAGE_WRITABLE)
  %array = call ptr @slot(ptr %storage, i64 @STORAGE_ARRAY)
  %array_references = load i32, ptr %array
  %base = call ptr @slot(ptr %array, i64 @ARRAY_BASE)
  %own_storage = icmp eq i32 %storage_references, 1
  %unguarded = icmp eq ptr %writable, @_Py_TrueStruct
  %own_array = icmp eq i32 %array_references, 1
  %own_memory = icmp eq ptr %base, null
  %a = and i1 %own_storage, %unguarded
  %b = and i1 %own_array, %own_memory
  %both = and i1 %a, %b
  ret i1 %both
no:
  ret i1 false
}

; Whether an edge that is no leaf is the node itself that it leads to: of a Function, or one that was given a class of its own.
define private i1 @is_other_node(ptr %edge, ptr %node_type, ptr %accumulator_type) {
entry:
  %type = call ptr @slot(ptr %edge, i64 8)
  %accumulates = icmp eq ptr %type, %accumulator_type
  br i1 %accumulates, label %no, label %ask
ask:
  %is = call i32 @PyType_IsSubtype(ptr %type, ptr %node_type)
  %derived = icmp ne i32 %is, 0
  ret i1 %derived
no:
  ret i1 false
}

; Add %value to what %below will receive; false with a Python error set.
; %sole: the caller holds %value by one reference, and so does nobody else who could hand it on.
define private i1 @gather(ptr %self, ptr %work, ptr %below, ptr %value, i1 %sole) {
entry:
  %operands = alloca [3 x ptr]
  %buffers = call ptr @item(ptr %work, i64 2)
  %held = call ptr @PyDict_GetItemWithError(ptr %buffers, ptr %below)
  %absent = icmp eq ptr %held, null
  %undefined = icmp eq ptr %held, @_Py_NoneStruct
  %first = or i1 %absent, %undefined
  br i1 %first, label %put, label %sum
put:
  %not_put = call i32 @PyDict_SetItem(ptr %buffers, ptr %below, ptr %value)
  %was_put = icmp eq i32 %not_put, 0
  ret i1 %was_put
sum:
  call void @hold(ptr %held)
  %create = call ptr @item(ptr %work, i64 3)
  %unrecorded = icmp eq ptr %create, @_Py_FalseStruct
  %o0 = getelementptr ptr, ptr %operands, i64 0
  %o1 = getelementptr ptr, ptr %operands, i64 1
  %o2 = getelementptr ptr, ptr %operands, i64 2
  br i1 %unrecorded, label %types, label %general
types:
  %held_tensor = call i1 @is_tensor(ptr %held)
  %value_tensor = call i1 @is_tensor(ptr %value)
  %tensors = and i1 %held_tensor, %value_tensor
  br i1 %tensors, label %layouts, label %general
layouts:
  %layout = call ptr @slot(ptr %held, i64 @TENSOR_LAYOUT)
  %other_layout = call ptr @slot(ptr %value, i64 @TENSOR_LAYOUT)
  %alike = icmp eq ptr %layout, %other_layout
  br i1 %alike, label %look, label %general
look:
  %plans = call ptr @item(ptr %self, i64 6)
  %plan = call ptr @PyDict_GetItemWithError(ptr %plans, ptr %layout)
  %no_plan = icmp eq ptr %plan, null
  %refused = icmp eq ptr %plan, @_Py_NoneStruct
  br i1 %no_plan, label %general, label %ask_plan
ask_plan:
  br i1 %refused, label %general, label %ask_held
ask_held:
  %held_alone = call i1 @alone(ptr %held, i32 2)              ; the buffer's reference and the one above
  br i1 %held_alone, label %write, label %ask_value
ask_value:
  %value_alone = call i1 @alone(ptr %value, i32 1)
  %value_ours = and i1 %sole, %value_alone
  br i1 %value_ours, label %write, label %general
write:
  %target = phi ptr [%held, %ask_held], [%value, %ask_value]
  %source = phi ptr [%value, %ask_held], [%held, %ask_value]
  call void @hold(ptr %plan)
  store ptr %plan, ptr %o0
  store ptr %target, ptr %o1
  store ptr %source, ptr %o2
  %written = call ptr @into(ptr null, ptr %operands, i64 3)
  call void @Py_DecRef(ptr %plan)
  %not_written = icmp eq ptr %written, null
  br i1 %not_written, label %fail, label %keep_target
keep_target:
  call void @Py_DecRef(ptr %written)
  %in_place = icmp eq ptr %target, %held
  br i1 %in_place, label %done, label %replace
replace:
  %not_replaced = call i32 @PyDict_SetItem(ptr %buffers, ptr %below, ptr %value)
  %replaced = icmp eq i32 %not_replaced, 0
  br i1 %replaced, label %done, label %fail
general:
  %which = phi i64 [10, %sum], [10, %types], [10, %layouts], [11, %look], [10, %ask_plan], [10, %ask_value]
  %add = call ptr @item(ptr %self, i64 %which)
  store ptr %held, ptr %o0
  store ptr %value, ptr %o1
  %fresh = call ptr @PyObject_Vectorcall(ptr %add, ptr %operands, i64 2, ptr null)
  %no_sum = icmp eq ptr %fresh, null
  br i1 %no_sum, label %fail, label %store
store:
  %not_stored = call i32 @PyDict_SetItem(ptr %buffers, ptr %below, ptr %fresh)
  call void @Py_DecRef(ptr %fresh)
  %stored = icmp eq i32 %not_stored, 0
  br i1 %stored, label %done, label %fail
done:
  call void @let_go(ptr %held)
  ret i1 true
fail:
  call void @let_go(ptr %held)
  ret i1 false
}

; Let go of what a node saved, if its rule says so; false with a Python error set. What was saved dies last: that may run anything.
define private i1 @free_node(ptr %self, ptr %node) {
entry:
  %rule = call ptr @slot(ptr %node, i64 @NODE_RULE)
  %name = call ptr @item(ptr %self, i64 3)
  %answer = call ptr @PyObject_GetAttr(ptr %rule, ptr %name)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %no, label %ask
ask:
  %frees = icmp eq ptr %answer, @_Py_TrueStruct
  %keeps = icmp eq ptr %answer, @_Py_FalseStruct
  %told = or i1 %frees, %keeps
  br i1 %told, label %drop_answer, label %by_rule
by_rule:
  %done = call ptr @PyObject_CallOneArg(ptr %answer, ptr %node)
  call void @Py_DecRef(ptr %answer)
  %refused = icmp eq ptr %done, null
  br i1 %refused, label %no, label %drop_done
drop_done:
  call void @Py_DecRef(ptr %done)
  br label %yes
drop_answer:
  call void @Py_DecRef(ptr %answer)
  br i1 %frees, label %free, label %yes
free:
  %s0 = call ptr @slot(ptr %node, i64 @NODE_S0)
  %s1 = call ptr @slot(ptr %node, i64 @NODE_S1)
  %s2 = call ptr @slot(ptr %node, i64 @NODE_S2)
  %attrs = call ptr @slot(ptr %node, i64 @NODE_ATTRS)
  %backward = call ptr @slot(ptr %node, i64 @NODE_BACKWARD)
  %freed = call ptr @item(ptr %self, i64 5)
  call void @hold(ptr @_Py_NoneStruct)
  call void @hold(ptr @_Py_NoneStruct)
  call void @hold(ptr @_Py_NoneStruct)
  call void @hold(ptr @_Py_NoneStruct)
  call void @hold(ptr %freed)
  call void @put(ptr %node, i64 @NODE_S0, ptr @_Py_NoneStruct)
  call void @put(ptr %node, i64 @NODE_S1, ptr @_Py_NoneStruct)
  call void @put(ptr %node, i64 @NODE_S2, ptr @_Py_NoneStruct)
  call void @put(ptr %node, i64 @NODE_ATTRS, ptr @_Py_NoneStruct)
  call void @put(ptr %node, i64 @NODE_BACKWARD, ptr %freed)
  call void @Py_DecRef(ptr %s0)
  call void @Py_DecRef(ptr %s1)
  call void @Py_DecRef(ptr %s2)
  call void @Py_DecRef(ptr %attrs)
  call void @Py_DecRef(ptr %backward)
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; The end of a step: `send` of engine.py. A new reference, null with a Python error set.
define private ptr @deliver(ptr %self, ptr %work, ptr %node, ptr %grads, i1 %frees) {
entry:
  %arguments = alloca [4 x ptr]
  %first_at = alloca ptr
  %list_at = alloca ptr
  store ptr null, ptr %first_at
  store ptr null, ptr %list_at
  %node_type = call ptr @item(ptr %self, i64 0)
  %one = call ptr @item(ptr %self, i64 1)
  %counts = call ptr @item(ptr %work, i64 1)
  %leading = call ptr @item(ptr %work, i64 6)
  %all_lead = icmp eq ptr %leading, @_Py_NoneStruct
  %edges = call ptr @slot(ptr %node, i64 @NODE_EDGES)
  %n_object = call ptr @slot(ptr %edges, i64 16)              ; ob_size
  %n = ptrtoint ptr %n_object to i64
  %single = icmp eq i64 %n, 1
  br i1 %single, label %begin, label %several
several:
  %nothing = icmp eq ptr %grads, @_Py_NoneStruct
  br i1 %nothing, label %begin, label %ask_tuple
ask_tuple:
  %type = call ptr @slot(ptr %grads, i64 8)
  %is_tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is_tuple, label %ask_size, label %slow
ask_size:
  %size_object = call ptr @slot(ptr %grads, i64 16)
  %enough = icmp eq ptr %size_object, %n_object
  br i1 %enough, label %ask_sole, label %slow
ask_sole:
  %references = load i32, ptr %grads
  %sole_tuple = icmp eq i32 %references, 1
  br label %begin
slow:
  store ptr %work, ptr %arguments
  %a1 = getelementptr ptr, ptr %arguments, i64 1
  store ptr %node, ptr %a1
  %a2 = getelementptr ptr, ptr %arguments, i64 2
  store ptr %grads, ptr %a2
  %a3 = getelementptr ptr, ptr %arguments, i64 3
  %frees_object = select i1 %frees, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct
  store ptr %frees_object, ptr %a3
  %send = call ptr @item(ptr %self, i64 8)
  %answer = call ptr @PyObject_Vectorcall(ptr %send, ptr %arguments, i64 4, ptr null)
  ret ptr %answer
begin:
  %one_value = phi i1 [true, %entry], [false, %several], [false, %ask_sole]
  %defined = phi i1 [true, %entry], [false, %several], [true, %ask_sole]
  %sole = phi i1 [true, %entry], [false, %several], [%sole_tuple, %ask_sole]
  call void @hold(ptr %edges)
  br i1 %frees, label %free, label %test
free:
  %freed = call i1 @free_node(ptr %self, ptr %node)
  br i1 %freed, label %test, label %fail
test:
  %i = phi i64 [0, %begin], [0, %free], [%next, %again]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %take, label %finish
take:
  %next = add i64 %i, 1
  %edge = call ptr @item(ptr %edges, i64 %i)
  %no_edge = icmp eq ptr %edge, @_Py_NoneStruct
  br i1 %no_edge, label %again, label %which_value
which_value:
  br i1 %one_value, label %have_value, label %pick
pick:
  br i1 %defined, label %pick_item, label %have_value
pick_item:
  %picked = call ptr @item(ptr %grads, i64 %i)
  br label %have_value
have_value:
  %value = phi ptr [%grads, %which_value], [@_Py_NoneStruct, %pick], [%picked, %pick_item]
  %kind = call ptr @slot(ptr %edge, i64 8)
  %is_node = icmp eq ptr %kind, %node_type
  br i1 %is_node, label %ask_outputs, label %ask_leaf
ask_outputs:
  %outputs = call ptr @slot(ptr %edge, i64 @NODE_OUTPUTS)
  %one_output = icmp eq ptr %outputs, %one
  br i1 %one_output, label %ask_leads, label %rare
ask_leaf:
  %is_leaf = call i1 @is_tensor(ptr %edge)
  br i1 %is_leaf, label %ask_leads, label %ask_other
ask_other:
  %accumulator_type = call ptr @item(ptr %self, i64 15)
  %is_other = call i1 @is_other_node(ptr %edge, ptr %node_type, ptr %accumulator_type)
  br i1 %is_other, label %ask_outputs, label %rare
ask_leads:
  br i1 %all_lead, label %usual, label %find_out
find_out:
  %answer_found = call ptr @PyDict_GetItemWithError(ptr %leading, ptr %edge)
  %leads = icmp eq ptr %answer_found, @_Py_TrueStruct
  br i1 %leads, label %usual, label %again
usual:
  %no_value = icmp eq ptr %value, @_Py_NoneStruct
  br i1 %no_value, label %count, label %add
add:
  %added = call i1 @gather(ptr %self, ptr %work, ptr %edge, ptr %value, i1 %sole)
  br i1 %added, label %count, label %fail
rare:
  store ptr %work, ptr %arguments
  %r1 = getelementptr ptr, ptr %arguments, i64 1
  store ptr %edge, ptr %r1
  %r2 = getelementptr ptr, ptr %arguments, i64 2
  store ptr %value, ptr %r2
  %receive = call ptr @item(ptr %self, i64 9)
  %behind = call ptr @PyObject_Vectorcall(ptr %receive, ptr %arguments, i64 3, ptr null)
  %not_received = icmp eq ptr %behind, null
  br i1 %not_received, label %fail, label %received
received:
  call void @Py_DecRef(ptr %behind)                           ; the edge holds it
  %nowhere = icmp eq ptr %behind, @_Py_NoneStruct
  br i1 %nowhere, label %again, label %count
count:
  %below = phi ptr [%edge, %usual], [%edge, %add], [%behind, %received]
  %count_object = call ptr @PyDict_GetItemWithError(ptr %counts, ptr %below)
  %uncounted = icmp eq ptr %count_object, null
  br i1 %uncounted, label %refuse, label %subtract
refuse:
  %error = load ptr, ptr @PyExc_RuntimeError
  call void @PyErr_SetString(ptr %error, ptr @no_count)
  br label %fail
subtract:
  %left = call i64 @recount(ptr %counts, ptr %below, ptr %count_object, i64 -1)
  %counted = icmp ne i64 %left, -9223372036854775808
  br i1 %counted, label %ask_ready, label %fail
ask_ready:
  %is_ready = icmp eq i64 %left, 0
  br i1 %is_ready, label %ready, label %again
ready:
  %first = load ptr, ptr %first_at
  %is_first = icmp eq ptr %first, null
  br i1 %is_first, label %be_first, label %join
be_first:
  store ptr %below, ptr %first_at
  br label %again
join:
  %list_before = load ptr, ptr %list_at
  %has_list = icmp ne ptr %list_before, null
  br i1 %has_list, label %append, label %make_list
make_list:
  %new_list = call ptr @PyList_New(i64 0)
  store ptr %new_list, ptr %list_at
  %no_list = icmp eq ptr %new_list, null
  br i1 %no_list, label %fail, label %append_first
append_first:
  %not_begun = call i32 @PyList_Append(ptr %new_list, ptr %first)
  %begun = icmp eq i32 %not_begun, 0
  br i1 %begun, label %append, label %fail
append:
  %list = phi ptr [%list_before, %join], [%new_list, %append_first]
  %not_appended = call i32 @PyList_Append(ptr %list, ptr %below)
  %appended = icmp eq i32 %not_appended, 0
  br i1 %appended, label %again, label %fail
again:
  br label %test
finish:
  %all = load ptr, ptr %list_at
  %sole_ready = load ptr, ptr %first_at
  %is_list = icmp ne ptr %all, null
  br i1 %is_list, label %give_list, label %ask_any
ask_any:
  %none = icmp eq ptr %sole_ready, null
  br i1 %none, label %give_none, label %ask_kind
ask_kind:
  %ready_type = call ptr @slot(ptr %sole_ready, i64 8)
  %ready_node = icmp eq ptr %ready_type, %node_type
  br i1 %ready_node, label %give_node, label %ask_ready_leaf
ask_ready_leaf:
  %ready_leaf = call i1 @is_tensor(ptr %sole_ready)
  br i1 %ready_leaf, label %wrap, label %give_node
wrap:
  %pack = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %sole_ready)
  br label %give_list
give_none:
  %empty = call ptr @item(ptr %self, i64 4)
  call void @hold(ptr %empty)
  br label %give_list
give_node:
  call void @hold(ptr %sole_ready)
  br label %give_list
give_list:
  %result = phi ptr [%all, %finish], [%pack, %wrap], [%empty, %give_none], [%sole_ready, %give_node]
  call void @let_go(ptr %edges)
  ret ptr %result
fail:
  call void @let_go(ptr %edges)
  %dropped = load ptr, ptr %list_at
  call void @Py_DecRef(ptr %dropped)                          ; which takes a null
  ret ptr null
}

; send(work, node, grads, frees); self = (class of nodes, 1, "node", "frees", (), backward of freed nodes, plans, advance, send,
; receive, add, add and plan, check, complain, hooked, class of leaves' nodes): see launch.steps.
define ptr @send(ptr %self, ptr %args, i64 %count) {
entry:
  %well_called = icmp eq i64 %count, 4
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %work = load ptr, ptr %args
  %node_at = getelementptr ptr, ptr %args, i64 1
  %node = load ptr, ptr %node_at
  %grads_at = getelementptr ptr, ptr %args, i64 2
  %grads = load ptr, ptr %grads_at
  %frees_at = getelementptr ptr, ptr %args, i64 3
  %frees_object = load ptr, ptr %frees_at
  %frees = icmp eq ptr %frees_object, @_Py_TrueStruct
  %ready = call ptr @deliver(ptr %self, ptr %work, ptr %node, ptr %grads, i1 %frees)
  ret ptr %ready
}

; advance(work, node)
define ptr @advance(ptr %self, ptr %args, i64 %count) {
entry:
  %operands = alloca [3 x ptr]
  %well_called = icmp eq i64 %count, 2
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %work = load ptr, ptr %args
  %node_at = getelementptr ptr, ptr %args, i64 1
  %node = load ptr, ptr %node_at
  %buffers = call ptr @item(ptr %work, i64 2)
  %g = call ptr @PyDict_GetItemWithError(ptr %buffers, ptr %node)
  %absent = icmp eq ptr %g, null
  %undefined = icmp eq ptr %g, @_Py_NoneStruct
  %nothing = or i1 %absent, %undefined
  br i1 %nothing, label %slow, label %begin
begin:
  call void @hold(ptr %g)
  %not_taken = call i32 @PyDict_DelItem(ptr %buffers, ptr %node)
  %current = call ptr @item(ptr %work, i64 0)
  %name = call ptr @item(ptr %self, i64 2)
  %not_named = call i32 @PyDict_SetItem(ptr %current, ptr %name, ptr %node)
  %failures = or i32 %not_taken, %not_named
  %sound = icmp eq i32 %failures, 0
  br i1 %sound, label %run, label %drop
run:
  %whole = call ptr @slot(ptr %node, i64 @NODE_BACKWARD)
  %parts = call ptr @item(ptr %work, i64 5)
  %no_parts = icmp eq ptr %parts, @_Py_NoneStruct
  br i1 %no_parts, label %have_backward, label %ask_freed
ask_freed:
  %freed = call ptr @item(ptr %self, i64 5)
  %was_freed = icmp eq ptr %whole, %freed
  br i1 %was_freed, label %have_backward, label %ask_part
ask_part:
  %found = call ptr @PyDict_GetItemWithError(ptr %parts, ptr %node)
  %undivided = icmp eq ptr %found, null
  %part = select i1 %undivided, ptr %whole, ptr %found
  br label %have_backward
have_backward:
  %backward = phi ptr [%whole, %run], [%whole, %ask_freed], [%part, %ask_part]
  call void @hold(ptr %backward)
  store ptr %node, ptr %operands
  %o1 = getelementptr ptr, ptr %operands, i64 1
  store ptr %g, ptr %o1
  %o2 = getelementptr ptr, ptr %operands, i64 2
  %create = call ptr @item(ptr %work, i64 3)
  store ptr %create, ptr %o2
  %made = call ptr @PyObject_Vectorcall(ptr %backward, ptr %operands, i64 3, ptr null)
  call void @let_go(ptr %backward)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %drop, label %ask_meta
ask_meta:
  %meta = call ptr @slot(ptr %node, i64 @NODE_META)
  %unhooked = icmp eq ptr %meta, @_Py_NoneStruct
  br i1 %unhooked, label %ran, label %hooked
hooked:                                                       ; in its run the node was given a _meta_
  store ptr %made, ptr %o1
  store ptr %g, ptr %o2
  %hooks = call ptr @item(ptr %self, i64 14)
  %changed = call ptr @PyObject_Vectorcall(ptr %hooks, ptr %operands, i64 3, ptr null)
  call void @Py_DecRef(ptr %made)
  %refused = icmp eq ptr %changed, null
  br i1 %refused, label %drop, label %ran
ran:
  %grads = phi ptr [%made, %ask_meta], [%changed, %hooked]
  call void @let_go(ptr %g)
  br label %ask_check
ask_check:
  %check = call ptr @item(ptr %self, i64 12)
  %unchecked = icmp eq ptr %check, @_Py_NoneStruct
  br i1 %unchecked, label %deliver, label %run_check
run_check:
  store ptr %grads, ptr %o1
  %position = call ptr @PyObject_Vectorcall(ptr %check, ptr %o1, i64 1, ptr null)
  %clean = icmp eq ptr %position, @_Py_NoneStruct
  br i1 %clean, label %passed, label %complain
passed:
  call void @Py_DecRef(ptr %position)
  br label %deliver
complain:
  %broken = icmp eq ptr %position, null
  br i1 %broken, label %drop_grads, label %report
report:
  store ptr %position, ptr %o1
  %complaint = call ptr @item(ptr %self, i64 13)
  %nothing_said = call ptr @PyObject_Vectorcall(ptr %complaint, ptr %operands, i64 2, ptr null)
  call void @Py_DecRef(ptr %nothing_said)                     ; null: it raises
  call void @Py_DecRef(ptr %position)
  br label %drop_grads
drop_grads:
  call void @let_go(ptr %grads)
  br label %fail
deliver:
  %frees_object = call ptr @item(ptr %work, i64 4)
  %frees = icmp eq ptr %frees_object, @_Py_TrueStruct
  %ready = call ptr @deliver(ptr %self, ptr %work, ptr %node, ptr %grads, i1 %frees)
  call void @let_go(ptr %grads)
  ret ptr %ready
drop:
  call void @let_go(ptr %g)
  br label %fail
slow:
  %general = call ptr @item(ptr %self, i64 7)
  %answer = call ptr @PyObject_Vectorcall(ptr %general, ptr %args, i64 %count, ptr null)
  ret ptr %answer
fail:
  ret ptr null
}

; survey(counts, nodes, ends) -> None; self = (class of nodes, 1, target, class of leaves' nodes): `look_around` of graph/task.py.
define ptr @survey(ptr %self, ptr %args, i64 %count) {
entry:
  %argument = alloca ptr
  %well_called = icmp eq i64 %count, 3
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %counts = load ptr, ptr %args
  %nodes_at = getelementptr ptr, ptr %args, i64 1
  %nodes = load ptr, ptr %nodes_at
  %ends_at = getelementptr ptr, ptr %args, i64 2
  %ends = load ptr, ptr %ends_at
  %node_type = call ptr @item(ptr %self, i64 0)
  %one = call ptr @item(ptr %self, i64 1)
  br label %turn
turn:
  %k = phi i64 [0, %begin_call], [%next_turn, %looked]
  %length = call i64 @PyList_Size(ptr %nodes)                 ; grows meanwhile
  %left = icmp slt i64 %k, %length
  br i1 %left, label %look, label %done
look:
  %next_turn = add i64 %k, 1
  %node = call ptr @PyList_GetItem(ptr %nodes, i64 %k)        ; the list holds it
  %edges = call ptr @slot(ptr %node, i64 @NODE_EDGES)
  call void @hold(ptr %edges)
  %n_object = call ptr @slot(ptr %edges, i64 16)              ; ob_size
  %n = ptrtoint ptr %n_object to i64
  br label %test
test:
  %i = phi i64 [0, %look], [%next, %again]
  %alive = phi i1 [false, %look], [%alive_now, %again]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %take, label %finish
take:
  %next = add i64 %i, 1
  %edge = call ptr @item(ptr %edges, i64 %i)
  %no_edge = icmp eq ptr %edge, @_Py_NoneStruct
  br i1 %no_edge, label %again, label %kind
kind:
  %type = call ptr @slot(ptr %edge, i64 8)
  %is_node = icmp eq ptr %type, %node_type
  br i1 %is_node, label %count_it, label %ask_leaf
ask_leaf:
  %is_leaf = call i1 @is_tensor(ptr %edge)
  br i1 %is_leaf, label %count_it, label %ask_other
ask_other:
  %accumulator_type = call ptr @item(ptr %self, i64 3)
  %is_other = call i1 @is_other_node(ptr %edge, ptr %node_type, ptr %accumulator_type)
  br i1 %is_other, label %count_it, label %rare
rare:
  store ptr %edge, ptr %argument
  %target = call ptr @item(ptr %self, i64 2)
  %behind = call ptr @PyObject_Vectorcall(ptr %target, ptr %argument, i64 1, ptr null)
  %failed = icmp eq ptr %behind, null
  br i1 %failed, label %fail, label %have_behind
have_behind:
  call void @Py_DecRef(ptr %behind)                           ; the edge holds it
  %behind_leaf = call i1 @is_tensor(ptr %behind)
  br label %count_it
count_it:
  %below = phi ptr [%edge, %kind], [%edge, %ask_leaf], [%edge, %ask_other], [%behind, %have_behind]
  %leaf = phi i1 [false, %kind], [true, %ask_leaf], [false, %ask_other], [%behind_leaf, %have_behind]
  %seen = call ptr @PyDict_GetItemWithError(ptr %counts, ptr %below)
  %is_new = icmp eq ptr %seen, null
  br i1 %is_new, label %first, label %further
first:
  %not_set = call i32 @PyDict_SetItem(ptr %counts, ptr %below, ptr %one)
  %set = icmp eq i32 %not_set, 0
  br i1 %set, label %ask_append, label %fail
ask_append:
  br i1 %leaf, label %again, label %append
append:
  %not_appended = call i32 @PyList_Append(ptr %nodes, ptr %below)
  %appended = icmp eq i32 %not_appended, 0
  br i1 %appended, label %again, label %fail
further:
  %sum = call i64 @recount(ptr %counts, ptr %below, ptr %seen, i64 1)
  %counted = icmp ne i64 %sum, -9223372036854775808
  br i1 %counted, label %again, label %fail
again:
  %alive_now = phi i1 [%alive, %take], [true, %ask_append], [true, %append], [true, %further]
  br label %test
finish:
  call void @let_go(ptr %edges)
  br i1 %alive, label %looked, label %end
end:
  %not_ended = call i32 @PyList_Append(ptr %ends, ptr %node)
  %ended = icmp eq i32 %not_ended, 0
  br i1 %ended, label %looked, label %give_up
looked:
  br label %turn
done:
  call void @hold(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
fail:
  call void @let_go(ptr %edges)
  br label %give_up
give_up:
  ret ptr null
}

; lead(order, leading, needed, parted) -> bool; self = (class of nodes, target, lead_through, class of leaves' nodes): `lead_all` of
; graph/task.py.
define ptr @lead(ptr %self, ptr %args, i64 %count) {
entry:
  %arguments = alloca [4 x ptr]
  %well_called = icmp eq i64 %count, 4
  br i1 %well_called, label %begin_call, label %misused
misused:
  %misuse = call ptr @misuse()
  ret ptr null
begin_call:
  %order = load ptr, ptr %args
  %leading_at = getelementptr ptr, ptr %args, i64 1
  %leading = load ptr, ptr %leading_at
  %needed_at = getelementptr ptr, ptr %args, i64 2
  %needed = load ptr, ptr %needed_at
  %parted_at = getelementptr ptr, ptr %args, i64 3
  %parted = load ptr, ptr %parted_at
  %node_type = call ptr @item(ptr %self, i64 0)
  br label %turn
turn:
  %k = phi i64 [0, %begin_call], [%next_turn, %looked]
  %length = call i64 @PyList_Size(ptr %order)
  %left = icmp slt i64 %k, %length
  br i1 %left, label %look, label %done
look:
  %next_turn = add i64 %k, 1
  %node = call ptr @PyList_GetItem(ptr %order, i64 %k)        ; the list holds it
  %edges = call ptr @slot(ptr %node, i64 @NODE_EDGES)
  %n_object = call ptr @slot(ptr %edges, i64 16)              ; ob_size
  %n = ptrtoint ptr %n_object to i64
  %few = icmp slt i64 %n, 60
  br i1 %few, label %begin, label %general
general:                                                      ; more edges than a word has bits
  store ptr %node, ptr %arguments
  %a1 = getelementptr ptr, ptr %arguments, i64 1
  store ptr %leading, ptr %a1
  %a2 = getelementptr ptr, ptr %arguments, i64 2
  store ptr %needed, ptr %a2
  %a3 = getelementptr ptr, ptr %arguments, i64 3
  store ptr %parted, ptr %a3
  %through = call ptr @item(ptr %self, i64 2)
  %answer = call ptr @PyObject_Vectorcall(ptr %through, ptr %arguments, i64 4, ptr null)
  %well = icmp eq ptr %answer, @_Py_TrueStruct
  br i1 %well, label %drop_answer, label %give_answer
drop_answer:
  call void @Py_DecRef(ptr %answer)
  br label %looked
give_answer:                                                  ; False, or null: an error
  ret ptr %answer
begin:
  call void @hold(ptr %edges)
  br label %test
test:
  %i = phi i64 [0, %begin], [%next, %again]
  %chosen = phi i64 [0, %begin], [%chosen_now, %again]
  %elsewhere = phi i1 [false, %begin], [%elsewhere_now, %again]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %take, label %finish
take:
  %next = add i64 %i, 1
  %edge = call ptr @item(ptr %edges, i64 %i)
  %no_edge = icmp eq ptr %edge, @_Py_NoneStruct
  br i1 %no_edge, label %again, label %kind
kind:
  %type = call ptr @slot(ptr %edge, i64 8)
  %is_node = icmp eq ptr %type, %node_type
  br i1 %is_node, label %ask, label %ask_leaf
ask_leaf:
  %is_leaf = call i1 @is_tensor(ptr %edge)
  br i1 %is_leaf, label %ask, label %ask_other
ask_other:
  %accumulator_type = call ptr @item(ptr %self, i64 3)
  %is_other = call i1 @is_other_node(ptr %edge, ptr %node_type, ptr %accumulator_type)
  br i1 %is_other, label %ask, label %rare
rare:
  store ptr %edge, ptr %arguments
  %target = call ptr @item(ptr %self, i64 1)
  %behind = call ptr @PyObject_Vectorcall(ptr %target, ptr %arguments, i64 1, ptr null)
  %failed = icmp eq ptr %behind, null
  br i1 %failed, label %fail, label %have_behind
have_behind:
  call void @Py_DecRef(ptr %behind)                           ; the edge holds it
  %behind_leaf = call i1 @is_tensor(ptr %behind)
  br label %ask
ask:
  %below = phi ptr [%edge, %kind], [%edge, %ask_leaf], [%edge, %ask_other], [%behind, %have_behind]
  %leaf = phi i1 [false, %kind], [true, %ask_leaf], [false, %ask_other], [%behind_leaf, %have_behind]
  %known = call ptr @PyDict_GetItemWithError(ptr %leading, ptr %below)
  %unknown = icmp eq ptr %known, null
  br i1 %unknown, label %ask_order, label %ask_leads
ask_order:
  br i1 %leaf, label %again, label %out_of_order
ask_leads:
  %leads = icmp eq ptr %known, @_Py_TrueStruct
  %bit = shl i64 1, %i
  %with = or i64 %chosen, %bit
  %chosen_then = select i1 %leads, i64 %with, i64 %chosen
  %elsewhere_then = select i1 %leads, i1 %elsewhere, i1 true
  br label %again
again:
  %chosen_now = phi i64 [%chosen, %take], [%chosen, %ask_order], [%chosen_then, %ask_leads]
  %elsewhere_now = phi i1 [%elsewhere, %take], [true, %ask_order], [%elsewhere_then, %ask_leads]
  br label %test
finish:
  call void @let_go(ptr %edges)
  %any = icmp ne i64 %chosen, 0
  br i1 %any, label %is_needed, label %ask_wanted
ask_wanted:
  %wanted = call ptr @PyDict_GetItemWithError(ptr %leading, ptr %node)
  %unwanted = icmp eq ptr %wanted, null
  br i1 %unwanted, label %pass_by, label %looked
pass_by:
  %not_passed = call i32 @PyDict_SetItem(ptr %leading, ptr %node, ptr @_Py_FalseStruct)
  %passed = icmp eq i32 %not_passed, 0
  br i1 %passed, label %looked, label %give_up
is_needed:
  %not_led = call i32 @PyDict_SetItem(ptr %leading, ptr %node, ptr @_Py_TrueStruct)
  %not_added = call i32 @PySet_Add(ptr %needed, ptr %node)
  %failures = or i32 %not_led, %not_added
  %sound = icmp eq i32 %failures, 0
  br i1 %sound, label %ask_parted, label %give_up
ask_parted:
  br i1 %elsewhere, label %part, label %looked
part:
  %end = shl i64 1, %n
  %code = or i64 %chosen, %end
  %object = call ptr @PyLong_FromSsize_t(i64 %code)
  %no_object = icmp eq ptr %object, null
  br i1 %no_object, label %give_up, label %put_part
put_part:
  %not_put = call i32 @PyDict_SetItem(ptr %parted, ptr %node, ptr %object)
  call void @Py_DecRef(ptr %object)
  %was_put = icmp eq i32 %not_put, 0
  br i1 %was_put, label %looked, label %give_up
looked:
  br label %turn
done:
  call void @hold(ptr @_Py_TrueStruct)
  ret ptr @_Py_TrueStruct
out_of_order:
  call void @let_go(ptr %edges)
  call void @hold(ptr @_Py_FalseStruct)
  ret ptr @_Py_FalseStruct
fail:
  call void @let_go(ptr %edges)
  br label %give_up
give_up:
  ret ptr null
}
"""
