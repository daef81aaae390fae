"""Storage, layout, and the tensor, which is a layout over a storage."""
