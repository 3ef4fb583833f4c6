"""The models that Triton's core refuses while it reads a repository, told from its log, each with what to change.

Core 2.51 does not load such a model and serves the others. Its repository index lists the model without a state and
without a reason, or not at all, so that only the log says why:

    [libprotobuf ERROR .../text_format.cc:337] Error parsing text-format inference.ModelConfig: LINE:COLUMN: REASON.
    E1201 ... model_repository_manager.cc:1460] "Poll failed for model directory 'NAME': REASON"
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from triton_pytorch.local_server.config_text import find_field, read_config_text
from triton_pytorch.model_config.suggestions import did_you_mean, listed

_SYNTAX = re.compile(r"Error parsing text-format inference\.ModelConfig: (\d+):\d+: (.*?)\.?$")
_REFUSED = re.compile(
    r"""(?:Poll failed for model directory|failed to load model|failed to poll model) '([^']+)': (.*?)\.?"?$"""
)
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
                found[name] = _unparsed(Path(reason.removeprefix(_NOT_PARSED)), line, syntax)
            else:
                found[name] = _explained(reason, _config(name, repositories))
    return found


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
    return f"{_place(config, line)}: {syntax}{_meant_field(syntax)}"


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
    for pattern, explain in _EXPLANATIONS:
        if found := pattern.search(reason):
            return explain(reason, config, *found.groups())
    return f"{config}: {reason}"


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
        return f'{config} does not exist: write it, with backend: "pytorch_python"'
    return f'{config}: it names no backend: add backend: "pytorch_python"'


def _other_name(reason: str, config: Path) -> str:
    written = find_field(read_config_text(config), "name")
    return f"{_place(config, written.line if written is not None else None)}: {reason}: change or remove the name"


def _no_version(reason: str, config: Path) -> str:
    return f"{reason}: put the model's file into a directory with a number, such as {config.parent / '1'}"


# What core says, and what makes a sentence of it: given the reason, the path of the config, and the pattern's groups.
_EXPLANATIONS: tuple[tuple[re.Pattern[str], Callable[..., str]], ...] = (
    (re.compile(r"unexpected platform type '(.*?)'"), _platform),
    (re.compile(r"unexpected 'platform' and 'backend' pair, got:(.*?),"), _platform),
    (re.compile(r"Could not determine backend"), _no_backend),
    (re.compile(r"directory name must equal model name"), _other_name),
    (re.compile(r"at least one version must be available"), _no_version),
)
