"""The search for NaN as LLVM's text."""
from __future__ import annotations

__all__ = ["NAN_TEXT"]

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

NAN_TEXT = "".join(NAN_LOOP.replace("REAL", real).replace("BITS", str(bits)).replace("BYTES", str(bits // 8))
                   for real, bits in (("float", 32), ("double", 64)))
