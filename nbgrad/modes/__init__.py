"""Special modes: who is asked about a call while something else than computing and recording is going on.

Forward mode, ``vmap``, inference mode, subclasses of Tensor and profiles change what a call does. Each is an *interpreter*, which
is asked about calls in a fixed order (interpreters.py). Here are that order, and the tensors that such modes mark: batched.py,
inference.py, lazy_bits.py (conjugated or negated without a copy), overrides.py (subclasses), traced.py (captures). What the modes
make of a call is above, in batch/, forward/, dispatch/inference.py and jit/; nothing here plans or launches one.
"""
