"""Gradients of graphs as graphs: ``joint.py`` has both passes in one, ``cut.py`` says what is saved between them."""
