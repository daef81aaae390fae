"""What the profiler is made of: records of calls, events, tables."""
