"""The fast path in machine code: calls, launches, nodes and the steps of backward passes, on the interpreter's own objects.

All of it is Python with annotations, which translator/ turns into machine code; where it cannot, the same functions run in the
interpreter. language.py says what may be written, calls.py and launches.py are where to begin to read. Nothing here imports the
classes that it works on: higher layers enter them in handle.py.
"""
