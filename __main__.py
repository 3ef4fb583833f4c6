"""The shell's entry: `python THIS_DIRECTORY COMMAND ...`, from any directory; only the dependencies are installed."""

import sys

if sys.version_info < (3, 10):  # noqa: UP036 - older interpreters get this far, and no further
    sys.stderr.write("error: this backend needs Python 3.10 to 3.13, and this is " + sys.version.split()[0] + "\n")
    sys.exit(2)

from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

_TREE = Path(__file__).resolve().parent


class _Tree:
    """Finds the package `triton_pytorch` in this directory, before anything of that name elsewhere."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        return spec_from_file_location(name, _TREE / "__init__.py") if name == "triton_pytorch" else None


if __name__ == "__main__":
    sys.meta_path.insert(0, _Tree)
    # Modules of the package are not importable by their bare names: they would hide a user's modules of the same name.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _TREE]
    sys.dont_write_bytecode = True

    from triton_pytorch.cli.commands import run

    sys.exit(run(sys.argv[1:]))
