"""The models that Triton's core refuses while it reads a repository, told from its log, each with what to change.

Core 2.51 does not load such a model and serves the others. Its repository index lists the model without a state and
without a reason, or not at all, so that only the log says why:

    [libprotobuf ERROR .../text_format.cc:337] Error parsing text-format inference.ModelConfig: LINE:COLUMN: REASON.
    E1201 ... model_repository_manager.cc:1460] "Poll failed for model directory 'NAME': REASON"

What core refuses a moment later, before it starts the backend, is in the index with its reason, but without a remedy.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from triton_pytorch.local_server.backend_directory import PYTORCH_NAMES
from triton_pytorch.local_server.config_text import find_field, read_config_text
from triton_pytorch.model_config.suggestions import did_you_mean, listed

_SYNTAX = re.compile(r"Error parsing text-format inference\.ModelConfig: (\d+):\d+: (.*?)\.?$")
_REFUSED = re.compile(
    r"""(?:Poll failed for model directory|failed to load model|failed to poll model) '([^']+)': (.*?)\.?"?$"""
)
_INVALID = "Invalid argument: "
_NOT_PARSED = "failed to read text proto from "
_UNKNOWN_FIELD = re.compile(r'Message type "([\w.]+)" has no field named "(\w+)"')
_UNKNOWN_VALUE = re.compile(r'Unknown enumeration value of "(\w+)" for field "(\w+)"')
_NUMBER_IN_A_ROW = "dims: [ 1 ] and reshape: { shape: [ ] } where the model has one number in each row"
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
            if reason.startswith(_NOT_PARSED):  # core says the rest of it in the line before
                found[name] = _unparsed(Path(reason.removeprefix(_NOT_PARSED)), line, syntax)
            else:
                found[name] = _explained(reason, _config(name, repositories))
    return found


def with_remedy(name: str, reason: str, repositories: Sequence[Path]) -> str:
    """Return the reason that the repository index has for a model, with what to change where core itself gave it."""
    return _match(reason.removeprefix(_INVALID), _config(name, repositories)) or reason


def _config(name: str, repositories: Sequence[Path]) -> Path:
    """Return where the config of a model is, or would be."""
    directories = [repository / name for repository in repositories]
    present = (directory for directory in directories if directory.is_dir())
    return next(present, directories[0] if directories else Path(name)) / "config.pbtxt"


def _place(config: Path, line: int | None) -> str:
    return f"line {line} of {config}" if line is not None else str(config)


def _unparsed(config: Path, line: int, syntax: str) -> str:
    if read_config_text(config).startswith("\ufeff"):  # as some editors write it; core names the bytes of it one by one
        return f"{config}: it begins with a byte order mark: save it as UTF-8 without one"
    return f"{_place(config, line)}: {syntax}{_meant(syntax)}"


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


def _explained(reason: str, config: Path) -> str:
    return _match(reason, config) or f"{config}: {reason}"


def _match(reason: str, config: Path) -> str | None:
    for pattern, explain in _EXPLANATIONS:
        if found := pattern.search(reason):
            return explain(reason, config, *found.groups())
    return None


def _platform(reason: str, config: Path, platform: str) -> str:
    text = read_config_text(config)
    written, backend = find_field(text, "platform"), find_field(text, "backend")
    place = _place(config, written.line if written is not None else None)
    if written is None:
        remedy = 'write a config.pbtxt with backend: "pytorch_python"'
    elif platform in _PLATFORMS:
        change = "add" if backend is None else f"change line {backend.line} to"
        remedy = f'{change} backend: "pytorch_python", which takes platform: "{platform}" on any server'
    else:
        remedy = f"the platforms of this backend are {listed(_PLATFORMS)}{did_you_mean(platform, _PLATFORMS)}"
    return f"{place}: {reason}: {remedy}"


def _no_backend(_: str, config: Path) -> str:
    if not config.exists():
        return f'{config} does not exist: write it, with backend: "pytorch_python", and with inputs and outputs'
    return f'{config}: it names no backend: add backend: "pytorch_python"'


def _other_name(reason: str, config: Path) -> str:
    written = find_field(read_config_text(config), "name")
    return f"{_place(config, written.line if written is not None else None)}: {reason}: change or remove the name"


def _no_version(reason: str, config: Path) -> str:
    return f"{reason}: put the model's file into a directory with a number, such as {config.parent / '1'}"


def _unknown_backend(_: str, config: Path, backend: str) -> str:
    written = find_field(read_config_text(config), "backend")
    place = _place(config, written.line if written is not None else None)
    names = listed([f'"{name}"' for name in PYTORCH_NAMES])
    return f"{place}: Triton finds no backend '{backend}': this one has the names {names}"


def _no_dims(reason: str, config: Path) -> str:
    return f"{config}: {reason}: Triton has no empty dims, so declare its sizes, {_NUMBER_IN_A_ROW}"


def _other_size(reason: str, config: Path) -> str:
    return f"{config}: {reason}: both must hold as many elements, {_NUMBER_IN_A_ROW}"


# What core says, and what makes a sentence of it: given the reason, the path of the config, and the pattern's groups.
_EXPLANATIONS: tuple[tuple[re.Pattern[str], Callable[..., str]], ...] = (
    (re.compile(r"unexpected platform type '(.*?)'"), _platform),
    (re.compile(r"unexpected 'platform' and 'backend' pair, got:(.*?),"), _platform),
    (re.compile(r"Could not determine backend"), _no_backend),
    (re.compile(r"directory name must equal model name"), _other_name),
    (re.compile(r"at least one version must be available"), _no_version),
    (re.compile(r"unable to find backend library for backend '(.*?)'"), _unknown_backend),
    (re.compile(r"must specify 'dims'"), _no_dims),
    (re.compile(r"has different size for dims and reshape"), _other_size),
)
