"""The shell's entry: `python THIS_DIRECTORY COMMAND ...`, from anywhere and with nothing installed but the needs."""

import sys

if sys.version_info < (3, 10):  # noqa: UP036 - this is for those who have an older one
    sys.stderr.write("error: this backend needs Python 3.10 to 3.13, and this is " + sys.version.split()[0] + "\n")
    sys.exit(2)

from pathlib import Path
from types import ModuleType

if __name__ == "__main__":
    tree = Path(__file__).resolve().parent
    sys.dont_write_bytecode = True
    # The rooms are found through the package below only: by their bare names they would hide modules of others.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != tree]
    rooms = ModuleType("triton_pytorch")
    rooms.__path__ = [str(tree)]
    sys.modules["triton_pytorch"] = rooms

    from triton_pytorch.cli.commands import run

    sys.exit(run(sys.argv[1:]))
