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


def map_weights(model_directory: Path, device: torch.device) -> dict[str, torch.Tensor]:
    """Return the model's weights by name: on the CPU mapped copy-on-write, on another device copied there.

    Copy-on-write, because models write to their buffers: read-only pages would crash, shared ones would change
    the file for all.

    Raises:
        ArtifactError: the weights are damaged or missing.
    """
    storages: dict[str, torch.Tensor] = {}
    try:
        entries = json.loads((model_directory / _CONFIG).read_text(encoding="utf-8"))
        return {name: _view(entry, model_directory, storages).to(device) for name, entry in entries.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
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
        with path.open("rb") as file:
            # By its descriptor: Triton's stub sets no locale, so that torch takes no path that is not ASCII.
            storage = torch.load(f"/proc/self/fd/{file.fileno()}", mmap=True, weights_only=True).detach()
        storages[file_name] = storage
    return storage.as_strided(shape, strides, offset)
