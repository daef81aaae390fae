"""The fast path in machine code: calls, launches, nodes and steps on the interpreter's own objects, and its Python twin."""
