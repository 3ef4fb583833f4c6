"""`inspect`: say what a file is, and what the model in it takes and returns."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.cli.inspect_output import as_json, as_text
from triton_pytorch.formats.files import find_for_inspection
from triton_pytorch.formats.identification import identify
from triton_pytorch.formats.table import ServedFormat
from triton_pytorch.model_config.errors import ArtifactError, BackendError
from triton_pytorch.model_config.parameters import Parameters


def run(arguments: Sequence[str]) -> int:
    """Print the description of a file and return 0.

    Raises BackendError where `arguments` are wrong, or where there is nothing that can be described.
    """
    options = _parser().parse_args(arguments)
    path = find_for_inspection(options.file)
    with open_model_file(path) as file:
        found = identify(file)
        if found.is_damaged:
            raise ArtifactError(f"'{path}' is {found.summary}")
        parameters = Parameters(aoti_model_name=options.model)
        sections = found.describe(file, parameters, "cpu").sections() if isinstance(found, ServedFormat) else ()
    print(json.dumps(as_json(path, found, sections), indent=2) if options.json else as_text(path, found, sections))
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
