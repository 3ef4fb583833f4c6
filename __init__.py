"""The PyTorch backend of Triton Inference Server in Python: this directory is the package `triton_pytorch`.

The name of the directory does not matter. Triton's entry (model.py), the shell's (__main__.py) and the set-up tool
register the package from their real path. Tests, mypy, pyright and editors find it through .venv/source/triton_pytorch,
a link that `make setup` makes and pyproject.toml names. The parts are described in docs/architecture.md.
"""
