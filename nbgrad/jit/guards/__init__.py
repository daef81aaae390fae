"""What a program depends on beside its arguments: names and the objects that they name, and how a call finds them unchanged."""
