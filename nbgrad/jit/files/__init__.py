"""Files of compiled functions: bytes and their digests, spellings, variants, and the machine code that goes with them."""
