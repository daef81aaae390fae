"""From a graph to one native call: ``schedule.py`` which kernels, ``memory.py`` where values lie, ``sequence.py`` its words."""
