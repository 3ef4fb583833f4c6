"""The models that Triton's core refuses while it reads a repository, told from its log, each with what to change.

Core 2.51 does not load such a model and serves the others. Its repository index lists the model without a state and
without a reason, or not at all, so that only the log says why:

    [libprotobuf ERROR .../text_format.cc:337] Error parsing text-format inference.ModelConfig: LINE:COLUMN: REASON.
    E1201 ... model_repository_manager.cc:1460] "Poll failed for model directory 'NAME': REASON"

What core refuses a moment later, before it starts the backend, is in the index with its reason, but without a remedy.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from triton_pytorch.local_server.backend_directory import PYTORCH_NAMES
from triton_pytorch.local_server.config_text import Field, find_field, read_config_text
from triton_pytorch.model_config.suggestions import did_you_mean, listed
from triton_pytorch.model_config.tensors import ONE_IN_EACH_ROW

_SYNTAX = re.compile(r"Error parsing text-format inference\.ModelConfig: (\d+):\d+: (.*?)\.?$")
_REFUSED = re.compile(
    r"""(?:Poll failed for model directory|failed to load model|failed to poll model) '([^']+)': (.*?)\.?"?$"""
)
_INVALID = "Invalid argument: "
_NOT_PARSED = "failed to read text proto from "
_UNKNOWN_FIELD = re.compile(r'Message type "([\w.]+)" has no field named "(\w+)"')
_UNKNOWN_VALUE = re.compile(r'Unknown enumeration value of "(\w+)" for field "(\w+)"')
_PLATFORM = re.compile(r"unexpected (?:platform type '|'platform' and 'backend' pair, got:)(.*?)[',]")
_BACKEND = re.compile(r"unable to find backend library for backend '(.*?)'")
_NUMBER_IN_A_ROW = f"{ONE_IN_EACH_ROW} where the model has one number in each row"
_PLATFORMS = ("torch_aoti", "pytorch_libtorch", "libtorch")


def core_refusals(log: str, repositories: Sequence[Path]) -> dict[str, str]:
    """Return the models that core refused, each with one sentence: the config and its line, the reason, the remedy."""
    found: dict[str, str] = {}
    line, syntax = 0, ""
    for text in log.splitlines():
        if parse_error := _SYNTAX.search(text):
            line, syntax = int(parse_error[1]), parse_error[2]
        elif refused := _REFUSED.search(text):
            name, reason = refused.groups()
            config = _config(name, repositories)
            if reason.startswith(_NOT_PARSED):  # core says the rest of it in the line before
                found[name] = _unparsed(Path(reason.removeprefix(_NOT_PARSED)), line, syntax)
            else:
                found[name] = _explained(reason, config) or f"{config}: {reason}"
    return found


def with_remedy(name: str, reason: str, repositories: Sequence[Path]) -> str:
    """Return the reason that the repository index has for a model, with what to change where core itself gave it."""
    return _explained(reason.removeprefix(_INVALID), _config(name, repositories)) or reason


def _config(name: str, repositories: Sequence[Path]) -> Path:
    """Return where the config of a model is, or would be."""
    directories = [repository / name for repository in repositories]
    present = (directory for directory in directories if directory.is_dir())
    return next(present, directories[0] if directories else Path(name)) / "config.pbtxt"


def _unparsed(config: Path, line: int, syntax: str) -> str:
    if read_config_text(config).startswith("\ufeff"):  # as some editors write it; core names the bytes of it one by one
        return f"{config}: it begins with a byte order mark: save it as UTF-8 without one"
    return f"line {line} of {config}: {syntax}{_meant(syntax)}"


def _meant(syntax: str) -> str:
    """Return the field or the value that was meant where the config has one that there is not."""
    try:
        from tritonclient.grpc import model_config_pb2
    except ImportError:
        return ""
    if value := _UNKNOWN_VALUE.match(syntax):
        return did_you_mean(value[1], model_config_pb2.DataType.keys()) if value[2] == "data_type" else ""
    if field := _UNKNOWN_FIELD.match(syntax):
        message, name = field.groups()
        try:
            return did_you_mean(name, model_config_pb2.DESCRIPTOR.pool.FindMessageTypeByName(message).fields_by_name)
        except KeyError:  # older than the server
            return ""
    return ""


def _explained(reason: str, config: Path) -> str | None:
    """Return a sentence with the remedy for what core says of a config; None for what is not known here."""
    text = read_config_text(config)
    where, told = str(config), None
    if platform := _PLATFORM.search(reason):
        written = find_field(text, "platform")
        where, told = _where(config, written), f"{reason}: {_platform_remedy(platform[1], written, text)}"
    elif backend := _BACKEND.search(reason):
        names = listed([f'"{name}"' for name in PYTORCH_NAMES])
        where = _where(config, find_field(text, "backend"))
        told = f"Triton finds no backend '{backend[1]}': this one has the names {names}"
    elif "directory name must equal model name" in reason:
        where, told = _where(config, find_field(text, "name")), f"{reason}: change or remove the name"
    elif "Could not determine backend" in reason:
        told = 'it names no backend: add backend: "pytorch_python"'
        if not config.exists():
            return f'{config} does not exist: write it, with backend: "pytorch_python", and with inputs and outputs'
    elif "must specify 'dims'" in reason:
        told = f"{reason}: Triton has no empty dims, so declare its sizes, {_NUMBER_IN_A_ROW}"
    elif "has different size for dims and reshape" in reason:
        told = f"{reason}: both must hold as many elements, {_NUMBER_IN_A_ROW}"
    elif "at least one version must be available" in reason:
        return f"{reason}: put the model's file into a directory with a number, such as {config.parent / '1'}"
    return None if told is None else f"{where}: {told}"


def _where(config: Path, field: Field | None) -> str:
    return f"line {field.line} of {config}" if field is not None else str(config)


def _platform_remedy(platform: str, written: Field | None, text: str) -> str:
    if written is None:
        return 'write a config.pbtxt with backend: "pytorch_python"'
    if platform not in _PLATFORMS:
        return f"the platforms of this backend are {listed(_PLATFORMS)}{did_you_mean(platform, _PLATFORMS)}"
    backend = find_field(text, "backend")
    change = "add" if backend is None else f"change line {backend.line} to"
    return f'{change} backend: "pytorch_python", which takes platform: "{platform}" on any server'
