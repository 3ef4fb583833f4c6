"""`inspect`: say what a file is, and what the model in a package takes and returns."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from triton_pytorch.cli.inspect_json import as_json
from triton_pytorch.cli.inspect_text import as_text
from triton_pytorch.formats.describe import describe_file
from triton_pytorch.model_config.errors import BackendError


def run(arguments: Sequence[str]) -> int:
    """Print the description of a file and return 0.

    Raises BackendError where `arguments` are wrong, or where there is nothing that can be described.
    """
    options = _parser().parse_args(arguments)
    described = describe_file(options.file, options.model)
    print(json.dumps(as_json(described), indent=2) if options.json else as_text(described))
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BackendError(f"{message} ('inspect --help' shows what it takes)")


def _parser() -> _Parser:
    parser = _Parser(
        prog="python DIRECTORY_OF_THIS_BACKEND inspect",
        description="Say what a file is; of a package or TorchScript archive: what its model takes and returns.",
        epilog="Exit code 0: the file was described, also if it cannot be served. 2: it is missing or damaged.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the file, or the directory of a version or a model")
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="which model of a package that holds several, as the parameter AOTI_MODEL_NAME chooses it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/packages.md)")
    return parser
