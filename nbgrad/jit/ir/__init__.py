"""What a program is: ``ir.py`` as a graph of nodes, ``steps.py`` as what runs; and what checks, compares and replays graphs."""
