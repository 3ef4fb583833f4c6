"""Names of tensors, the trees they address, and the binding of declared tensors to leaves, without torch."""
