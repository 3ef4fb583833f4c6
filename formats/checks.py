"""What config.pbtxt says, validated against the format of the file that was found."""

from pathlib import Path

from triton_pytorch.formats.table import Format, ServedFormat
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.errors import ConfigError
from triton_pytorch.model_config.parameters import Parameters, foreign_parameters
from triton_pytorch.model_config.suggestions import listed


def check_served(config: ModelConfig, file: Path, found: Format) -> ServedFormat:
    """Return the format of a file that is to be served.

    Raises:
        ArtifactError, UnsupportedError: the format is not served.
        ConfigError: the platform is that of another format.
    """
    if not isinstance(found, ServedFormat):
        raise found.error(f"'{file}' is {found.summary}")
    if config.written_platform not in ("", *found.platforms):
        expected = found.platforms[0]
        raise ConfigError(
            f"platform is '{config.platform}', but '{file}' is {found.noun}: expected platform: \"{expected}\""
        )
    return found


def foreign_parameter_warnings(parameters: Parameters, served: ServedFormat) -> list[str]:
    """Return one warning if a config sets parameters that are for other formats."""
    foreign = foreign_parameters(parameters, served.parameters)
    verb = "have" if len(foreign) > 1 else "has"
    return [f"{listed(foreign)} {verb} no effect on {served.noun}"] if foreign else []
