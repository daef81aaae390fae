"""One call of one operation: find its plan, launch the kernel, record the node.

calls.py says in which order, for all kinds of operations; the other modules are its parts. Nothing here knows an operation by name:
what is particular to one stands in its declaration (ops/) or its lowering (lowering/).
"""
