"""Forward mode: tangents, the rules by which calls push them forward, and programs of calls found once."""
