"""Weights that lie beside the compiled library, memory-mapped so that all processes share their pages.

Written by `inductor_configs={"aot_inductor.package_constants_in_so": False,
"aot_inductor.package_constants_on_disk_format": "pickle_weights"}`: one `torch.save` file for each storage in
`data/weights/`, and in the model's directory `weights_config.json`, which maps the name of every weight to
[file, shape, strides, offset in elements].
"""

import json
from pathlib import Path

import torch

from triton_pytorch.model_config.errors import ArtifactError, first_line

_CONFIG = "weights_config.json"


def map_weights(model_directory: Path) -> dict[str, torch.Tensor] | None:
    """Return the model's weights by name, mapped copy-on-write; None where the package does not hold them apart.

    Copy-on-write, because models write to their buffers: read-only pages would crash, shared ones would change
    the file for everybody.

    Raises:
        ArtifactError: the weights are described but damaged or missing.
    """
    config = model_directory / _CONFIG
    if not config.is_file():
        return None
    storages: dict[str, torch.Tensor] = {}
    try:
        entries = json.loads(config.read_text(encoding="utf-8"))
        return {name: _view(entry, model_directory, storages) for name, entry in entries.items()}
    except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        raise ArtifactError(
            f"the weights beside the library cannot be read ({first_line(error)}): build the package again"
        ) from error


def _view(
    entry: tuple[str, list[int], list[int], int], model_directory: Path, storages: dict[str, torch.Tensor]
) -> torch.Tensor:
    file_name, shape, strides, offset = entry
    storage = storages.get(file_name)
    if storage is None:
        path = model_directory.parents[1] / "weights" / Path(file_name).name
        storage = torch.load(path, mmap=True, weights_only=True).detach()
        storages[file_name] = storage
    return storage.as_strided(shape, strides, offset)
