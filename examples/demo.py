"""`make demo`: a nested AOTInductor package on a real Triton server, compared with eager torch over HTTP and gRPC.

One server serves the same package twice: as `by_path` through this tree in its role as a backend, and as
`by_ordinal` through Triton's own Python backend, where the version directory links to this tree's model.py.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tritonclient.grpc
import tritonclient.http
from numpy.typing import NDArray
from torch.utils import _pytree as pytree
from tritonclient.utils import np_to_triton_dtype

from triton_pytorch.examples.nested.nested_model import (
    INPUT_ORDINALS,
    INPUT_PATHS,
    OUTPUT_ORDINALS,
    OUTPUT_PATHS,
    NestedModel,
    build_package,
    example_inputs,
)
from triton_pytorch.local_server.progress import progress
from triton_pytorch.local_server.server import Server
from triton_pytorch.model_config.errors import LaunchError

Array = NDArray[Any]

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "nested"

ROWS = 4


# Triton's name for a model, and the names that its config.pbtxt gives to inputs and outputs.
MODELS = {"by_path": (INPUT_PATHS, OUTPUT_PATHS), "by_ordinal": (INPUT_ORDINALS, OUTPUT_ORDINALS)}
ROW = "{:<17}  {:<12}  {:<5}  {:<6}  {:<13}  {}"


def main() -> int:
    """Run the demonstration; 0 where every output equals eager torch's, else 1."""
    with tempfile.TemporaryDirectory(prefix="triton_pytorch_demo_") as directory:
        repository = Path(directory)
        with progress("exporting and compiling the example model (up to a minute the first time)"):
            lay_out_repository(repository)
        with Server(repository) as server:
            with progress("starting tritonserver with the model under two names"):
                server.wait_until_ready()
            return compare(server)


def lay_out_repository(repository: Path) -> None:
    """Write the model repository: two models, one package."""
    package = repository / "by_path" / "1" / "model.pt2"
    for model in ("by_path", "by_ordinal"):
        version_directory = repository / model / "1"
        version_directory.mkdir(parents=True)
        config = (EXAMPLE / model / "config.pbtxt").read_text(encoding="utf-8")
        (repository / model / "config.pbtxt").write_text(config, encoding="utf-8")
    build_package(package)
    (repository / "by_ordinal" / "1" / "model.pt2").symlink_to(package)
    (repository / "by_ordinal" / "1" / "model.py").symlink_to(ROOT / "model.py")


def compare(server: Server) -> int:
    """Ask both models over both protocols, print one table and return the exit code."""
    args, kwargs = example_inputs(ROWS)
    inputs = [leaf.numpy() for leaf in pytree.tree_leaves((args, kwargs))]
    expected = [leaf.numpy() for leaf in pytree.tree_leaves(NestedModel()(*args, **kwargs))]
    over_http = [ask(tritonclient.http, server.http_url, model, inputs) for model in MODELS]
    over_grpc = [ask(tritonclient.grpc, server.grpc_url, model, inputs) for model in MODELS]

    print("\nMaximal difference from eager torch, by protocol (the larger of the two models):\n")
    print(ROW.format("name", "ordinal name", "dtype", "shape", "HTTP", "gRPC"))
    for i, (path, ordinal, right) in enumerate(zip(OUTPUT_PATHS, OUTPUT_ORDINALS, expected, strict=True)):
        http, grpc = (max(difference(answer[i], right) for answer in asked) for asked in (over_http, over_grpc))
        dtype = np_to_triton_dtype(over_http[0][i].dtype)
        print(ROW.format(path, ordinal, dtype, str([*over_http[0][i].shape]), http, grpc))
    is_right = all(
        np.array_equal(*pair) for answer in over_http + over_grpc for pair in zip(answer, expected, strict=True)
    )
    print("\nEvery output equals eager torch." if is_right else "\nSome outputs differ from eager torch.")
    return 0 if is_right else 1


def ask(client_library: Any, url: str, model: str, leaves: list[Array]) -> list[Array]:
    """Send the leaves to a model through tritonclient.http or .grpc, and return its outputs in flat order."""
    input_names, output_names = MODELS[model]
    inputs = [
        client_library.InferInput(name, leaf.shape, np_to_triton_dtype(leaf.dtype)).set_data_from_numpy(leaf)
        for name, leaf in zip(input_names, leaves, strict=True)
    ]
    with client_library.InferenceServerClient(url) as client:
        answer = client.infer(model, inputs)
    return [answer.as_numpy(name) for name in output_names]


def difference(got: Array, expected: Array) -> float:
    """Return the largest absolute difference; NaN where either has one."""
    return float(np.abs(got - expected).max())


if __name__ == "__main__":
    torch.manual_seed(0)
    try:
        sys.exit(main())
    except LaunchError as error:
        sys.exit(f"error: {error}")
