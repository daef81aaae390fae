"""Eager graphs that ``live.py`` runs as programs: by what they are told apart, and the nodes that stay calls of Python."""
