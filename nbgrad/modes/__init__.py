"""Who is asked about a call in a special mode: the interpreters' order, inference, lazy bits, types that override functions."""
