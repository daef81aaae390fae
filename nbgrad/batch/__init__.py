"""``vmap`` and what operations mean on its batched tensors: the interpreter, and a rule for every kind of operation."""
