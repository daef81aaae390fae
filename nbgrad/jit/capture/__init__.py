"""How a run of a function becomes a graph: ``tracing.py`` begins captures, ``capture.py`` is the interpreter of calls."""
