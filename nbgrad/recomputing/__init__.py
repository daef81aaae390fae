"""What checkpoints are made of: frames that compute saved tensors again, what they keep, and schedules."""
