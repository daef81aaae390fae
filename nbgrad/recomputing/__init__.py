"""Checkpoints and their parts: frames that compute saved tensors again, what they keep, and schedules."""
