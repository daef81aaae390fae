"""A compiled function: its variants, how each is captured and runs, its backward pass, and what people are told of it."""
