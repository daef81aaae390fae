"""Making tensors: from numbers, arrays and the memory of other libraries; and converting their dtype."""
