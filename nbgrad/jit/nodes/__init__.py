"""Nodes that are no operation of the table: reads of values, random numbers, functions of Python, warnings, updates."""
