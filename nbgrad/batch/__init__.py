"""What operations mean on a batch that is hidden: tensors, levels, rules of kinds."""
