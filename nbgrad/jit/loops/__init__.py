"""Loops and branches: bodies, what is derived of them, which carries are kept, and how trips run natively."""
