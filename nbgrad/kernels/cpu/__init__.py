"""The CPU target: build, store, launch, iterate, pool, BLAS."""

LARGE = 1 << 16  # elements from which an array is worth asking for a block: NOTE [Blocks] in methods/memory.py
