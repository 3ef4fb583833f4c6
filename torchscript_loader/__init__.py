"""TorchScript archives: opened, their methods described, and called with flat leaves."""
