"""One call of one operation: find the plan, launch, record. Elementwise, general, movements; in place; into ``out=``."""
