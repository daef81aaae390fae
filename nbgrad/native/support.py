"""The LLVM text that all native code uses: reference counts, errors, conversions. All other text is in primitives."""

from __future__ import annotations

import sys

__all__ = ["DOOR", "FAULTS", "SUPPORT", "reference_counts"]

INLINED = {(3, 11), (3, 12), (3, 13), (3, 14)}


def reference_counts(version: tuple[int, int] = sys.version_info[:2]) -> str:
    """``@incref`` and ``@decref``: inlined where this Python's are known, else calls.

    A count has 64 bits in 3.11. Later ones have 32, and those of objects that never die are negative.
    """
    if version not in INLINED:
        up, down = "  call void @Py_IncRef(ptr %x)\n  ret void", "  call void @Py_DecRef(ptr %x)\n  br label %done"
        free = ""
    else:
        mortal = (
            ""
            if version == (3, 11)
            else """
  %mortal = icmp sge i32 %n, 0
  br i1 %mortal, label %change, label %done, !prof !1
change:"""
        )
        bits = "i64" if version == (3, 11) else "i32"
        up = f"""  %n = load {bits}, ptr %x{mortal}
  %m = add {bits} %n, 1
  store {bits} %m, ptr %x
  br label %done
done:
  ret void"""
        down = f"""  %n = load {bits}, ptr %x{mortal}
  %m = sub {bits} %n, 1
  store {bits} %m, ptr %x
  %dead = icmp eq {bits} %m, 0
  br i1 %dead, label %free, label %done, !prof !0"""
        free = "free:\n  call void @_Py_Dealloc(ptr %x)\n  br label %done\n"
    return f"""
define private void @incref(ptr %x) alwaysinline {{
{up}
}}
define private void @decref(ptr %x) alwaysinline {{
{down}
{free}done:
  ret void
}}
"""


SUPPORT = """
declare ptr @PyErr_Format(ptr, ptr, ...)
declare void @_Py_Dealloc(ptr)
@_Py_NoneStruct = external global i8
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8
@zero_word = private constant i64 0
@count_text = private constant [65 x i8] c"launch: %s got a number of arguments that it does not take: %zd.\\00"
!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{!"branch_weights", i32 4, i32 1}

define private void @xdecref(ptr %x) alwaysinline {
  %none = icmp eq ptr %x, null
  br i1 %none, label %done, label %drop
drop:
  call void @decref(ptr %x)
  br label %done
done:
  ret void
}
define private void @drop(ptr %x) noinline cold {
  call void @xdecref(ptr %x)
  ret void
}

define private void @raise(ptr %error, ptr %text) noinline cold {
  %kind = load ptr, ptr %error
  call void @PyErr_SetString(ptr %kind, ptr %text)
  ret void
}
define private void @wrong_count(ptr %name, i64 %count) noinline cold {
  %kind = load ptr, ptr @error.TypeError
  %nothing = call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr @count_text, ptr %name, i64 %count)
  ret void
}

; What a dict holds, None if it holds nothing; null with an error set.
define private ptr @found(ptr %dict, ptr %key) alwaysinline {
  %found = call ptr @PyDict_GetItemWithError(ptr %dict, ptr %key)
  %absent = icmp eq ptr %found, null
  br i1 %absent, label %ask, label %done
ask:
  %error = call ptr @PyErr_Occurred()
  %none = icmp eq ptr %error, null
  %instead = select i1 %none, ptr @_Py_NoneStruct, ptr null
  ret ptr %instead
done:
  ret ptr %found
}

define private i1 @is_instance(ptr %x, ptr %class) alwaysinline {
  %at = getelementptr i8, ptr %x, i64 8
  %type = load ptr, ptr %at
  %exact = icmp eq ptr %type, %class
  br i1 %exact, label %yes, label %derived
derived:
  %is = call i32 @PyType_IsSubtype(ptr %type, ptr %class)
  %found = icmp ne i32 %is, 0
  ret i1 %found
yes:
  ret i1 true
}

define private { i64, i1 } @int_of(ptr %x) alwaysinline {
  %v = call i64 @PyLong_AsSsize_t(ptr %x)
  %good = insertvalue { i64, i1 } { i64 undef, i1 false }, i64 %v, 0
  %suspect = icmp eq i64 %v, -1
  br i1 %suspect, label %ask, label %done, !prof !0
ask:
  %error = call ptr @PyErr_Occurred()
  %set = icmp ne ptr %error, null
  %bad = insertvalue { i64, i1 } %good, i1 %set, 1
  ret { i64, i1 } %bad
done:
  ret { i64, i1 } %good
}
define private { double, i1 } @float_of(ptr %x) alwaysinline {
  %v = call double @PyFloat_AsDouble(ptr %x)
  %good = insertvalue { double, i1 } { double undef, i1 false }, double %v, 0
  %suspect = fcmp oeq double %v, -1.0
  br i1 %suspect, label %ask, label %done, !prof !0
ask:
  %error = call ptr @PyErr_Occurred()
  %set = icmp ne ptr %error, null
  %bad = insertvalue { double, i1 } %good, i1 %set, 1
  ret { double, i1 } %bad
done:
  ret { double, i1 } %good
}

define private ptr @none_result(i1 %failed) alwaysinline {
  br i1 %failed, label %fail, label %done, !prof !0
fail:
  ret ptr null
done:
  call void @incref(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}
define private ptr @bool_result({ i1, i1 } %pair) alwaysinline {
  %v = extractvalue { i1, i1 } %pair, 0
  %failed = extractvalue { i1, i1 } %pair, 1
  br i1 %failed, label %fail, label %done, !prof !0
fail:
  ret ptr null
done:
  %o = select i1 %v, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct
  call void @incref(ptr %o)
  ret ptr %o
}
define private ptr @int_result({ i64, i1 } %pair) alwaysinline {
  %v = extractvalue { i64, i1 } %pair, 0
  %failed = extractvalue { i64, i1 } %pair, 1
  br i1 %failed, label %fail, label %done, !prof !0
fail:
  ret ptr null
done:
  %o = call ptr @PyLong_FromSsize_t(i64 %v)
  ret ptr %o
}

define private void @copy_row(ptr %to, ptr %from, i64 %count) alwaysinline {
entry:
  br label %test
test:
  %k = phi i64 [0, %entry], [%next, %copy]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %copy, label %done
copy:
  %from_at = getelementptr ptr, ptr %from, i64 %k
  %value = load ptr, ptr %from_at
  %to_at = getelementptr ptr, ptr %to, i64 %k
  store ptr %value, ptr %to_at
  %next = add i64 %k, 1
  br label %test
done:
  ret void
}
"""

# Of a build in which a statement fails when the countdown comes to 0, for tests of what is let go of then.
FAULTS = """
@fault_countdown = global i64 0
@fault_text = private constant [6 x i8] c"fault\\00"
define private i1 @fault() noinline {
  %n = load i64, ptr @fault_countdown
  %m = sub i64 %n, 1
  store i64 %m, ptr @fault_countdown
  %now = icmp eq i64 %m, 0
  br i1 %now, label %fail, label %go
fail:
  call void @raise(ptr @error.MemoryError, ptr @fault_text)
  ret i1 true
go:
  ret i1 false
}
"""

# What an object of ``doors`` does when it is called. The function in its slot, which is the first of all, is held meanwhile.
DOOR = """
@quick_text = private constant [8 x i8] c"_quick_\\00"
@dispatch_text = private constant [11 x i8] c"_dispatch_\\00"
@both_text = private constant [3 x i8] c"OO\\00"
declare ptr @PyObject_CallMethod(ptr, ptr, ptr, ...)
define ptr @call_door(ptr %self, ptr %args, ptr %named) {
  %at = getelementptr i8, ptr %self, i64 @DOOR_SLOT
  %quick = load ptr, ptr %at
  %unset = icmp eq ptr %quick, null
  br i1 %unset, label %refuse, label %ask, !prof !0
ask:
  %plain = icmp eq ptr %named, null
  br i1 %plain, label %call, label %count, !prof !2
count:
  %size = call i64 @PyDict_Size(ptr %named)
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %call, label %slow
call:
  call void @incref(ptr %quick)
  %made = call ptr @PyObject_Call(ptr %quick, ptr %args, ptr null)
  call void @decref(ptr %quick)
  ret ptr %made
slow:
  %found = call ptr (ptr, ptr, ptr, ...) @PyObject_CallMethod(ptr %self, ptr @dispatch_text, ptr @both_text, ptr %args, ptr %named)
  ret ptr %found
refuse:  ; an AttributeError
  %nothing = call ptr (ptr, ptr, ptr, ...) @PyObject_CallMethod(ptr %self, ptr @quick_text, ptr null)
  ret ptr %nothing
}
!2 = !{!"branch_weights", i32 4000, i32 1}
"""
