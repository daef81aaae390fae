"""The fast path, Python translated to machine code: calls, launches, nodes and steps on the interpreter's own objects."""
