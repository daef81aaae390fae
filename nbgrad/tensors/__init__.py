"""Memory, its layout, and the tensor that has both."""
