"""Forward mode: tangents of tensors (tangents.py), the rules by which calls compute them (rules.py), and the quick ways of calls
that are known: kernels of value and tangent (fast_path.py), programs of several launches (programs.py).

Tangents follow from the declarations; no derivative is written here.
"""
