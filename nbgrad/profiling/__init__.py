"""The profiler and its parts: records of calls, events, tables."""
