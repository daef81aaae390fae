"""What a tensor is: memory (storage.py), what lies in it (layout.py), and both together with the state of autograd (tensor.py).

Nothing here computes: operations are hung on Tensor by methods/.
"""
