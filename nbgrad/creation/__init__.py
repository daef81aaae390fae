"""How tensors are made of numbers, arrays and other libraries' memory, and converted from dtype to dtype."""
