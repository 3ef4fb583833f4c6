"""The table of commands, and how the shell runs one."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import TextIOWrapper

from triton_pytorch.cli import inspect_file, serve
from triton_pytorch.model_config.errors import BackendError
from triton_pytorch.model_config.suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class Command:
    """One command: a summary for the usage text, and the function that takes its arguments and returns its exit code.

    Exit codes: 0 done, 1 failed while running, 2 not started, because of its arguments or of this machine.
    """

    summary: str
    run: Callable[[Sequence[str]], int]


COMMANDS = {
    "inspect": Command("say what a model file is, and what its model takes and returns", inspect_file.run),
    "serve": Command("run a tritonserver in the foreground, with this backend in it", serve.run),
}


def run(arguments: Sequence[str]) -> int:
    """Run the command that `arguments` begin with and return its exit code; errors are one line on stderr."""
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal may lack characters that names have; stderr copes by itself
        sys.stdout.reconfigure(errors="backslashreplace")
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help"):
        print(_usage())
        return 0
    command = COMMANDS.get(name)
    if command is None:
        return _refuse(f"unknown command '{name}'{did_you_mean(name, COMMANDS)} (--help lists the commands)")
    try:
        return command.run(rest)
    except (BackendError, OSError) as error:
        return _refuse(str(error))


def _refuse(reason: str) -> int:
    print(f"error: {reason}", file=sys.stderr)
    return 2


def _usage() -> str:
    lines = ["usage: python DIRECTORY_OF_THIS_BACKEND COMMAND [OPTION ...]", ""]
    lines += [f"  {name:<8} {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join([*lines, "", "'COMMAND --help' shows its options."])
