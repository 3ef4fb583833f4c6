"""The models that Triton's core refuses while it reads a repository, told from its log, each with what to change.

Core 2.51 does not load such a model and serves the others. Its repository index lists the model without a state and
without a reason, or not at all, so that only the log says why:

    [libprotobuf ERROR .../text_format.cc:337] Error parsing text-format inference.ModelConfig: LINE:COLUMN: REASON.
    E1201 ... model_repository_manager.cc:1460] "Poll failed for model directory 'NAME': REASON"
"""

import re
from collections.abc import Sequence
from pathlib import Path

from triton_pytorch.local_server.config_text import Field, find_field, read_config_text
from triton_pytorch.model_config.suggestions import did_you_mean, listed

_SYNTAX = re.compile(r"Error parsing text-format inference\.ModelConfig: (\d+):\d+: (.*?)\.?$")
_REFUSED = re.compile(
    r"""(?:Poll failed for model directory|failed to load model|failed to poll model) '([^']+)': (.*?)\.?"?$"""
)
_PLATFORM = re.compile(r"unexpected (?:platform type '|'platform' and 'backend' pair, got:)(.*?)[',]")
_NOT_PARSED = "failed to read text proto from "
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
                found[name] = f"line {line} of {reason.removeprefix(_NOT_PARSED)}: {syntax}{_meant_field(syntax)}"
            else:
                found[name] = _explained(reason, _config(name, repositories))
    return found


def _config(name: str, repositories: Sequence[Path]) -> Path:
    """Return where the config of a model is, or would be."""
    directories = [repository / name for repository in repositories]
    present = (directory for directory in directories if directory.is_dir())
    return next(present, directories[0] if directories else Path(name)) / "config.pbtxt"


def _where(config: Path, field: Field | None) -> str:
    return f"line {field.line} of {config}" if field is not None else str(config)


def _meant_field(syntax: str) -> str:
    unknown = re.match(r'Message type "([\w.]+)" has no field named "(\w+)"', syntax)
    if unknown is None:
        return ""
    message, name = unknown.groups()
    try:
        from tritonclient.grpc import model_config_pb2

        fields = model_config_pb2.DESCRIPTOR.pool.FindMessageTypeByName(message).fields_by_name
    except (ImportError, KeyError):  # not installed, or older than the server
        return ""
    return did_you_mean(name, fields)


def _explained(reason: str, config: Path) -> str:
    text = read_config_text(config)
    if platform := _PLATFORM.search(reason):
        written = find_field(text, "platform")
        remedy = _platform_remedy(platform[1], find_field(text, "backend"))
        if written is None:
            remedy = 'write a config.pbtxt with backend: "pytorch_python"'
        return f"{_where(config, written)}: {reason}: {remedy}"
    if "directory name must equal model name" in reason:
        return f"{_where(config, find_field(text, 'name'))}: {reason}: change or remove the name"
    if "Could not determine backend" in reason:
        return f'{config}: it names no backend: add backend: "pytorch_python"'
    if "at least one version must be available" in reason:
        return f"{reason}: put the model's file into a directory with a number, such as {config.parent / '1'}"
    return f"{config}: {reason}"


def _platform_remedy(platform: str, backend: Field | None) -> str:
    if platform not in _PLATFORMS:
        return f"the platforms of this backend are {listed(_PLATFORMS)}{did_you_mean(platform, _PLATFORMS)}"
    change = "add" if backend is None else f"change line {backend.line} to"
    return f'{change} backend: "pytorch_python", which takes platform: "{platform}" on any server'
