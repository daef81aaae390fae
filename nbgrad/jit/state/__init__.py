"""State that a program finds and leaves behind: memory, gradients, hooks, names; what puts it back, and who waits meanwhile."""
