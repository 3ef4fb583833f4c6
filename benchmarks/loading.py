"""What loading a model costs beyond `import torch`, measured inside the processes that a real server starts for it.

The model is served through a version directory's model.py that reports what it sees and leaves the rest to ours.
"""

import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import tritonclient.http

from triton_pytorch.local_server.progress import progress
from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import as_pbtxt, model_config, tensor_config
from triton_pytorch.tests.assets.packages import package_path

ROOT = Path(__file__).resolve().parents[1]
TARGET_S = 0.5
ROUNDS = 5
_UNLOAD_LIMIT_S = 60.0

_REPORTING_MODEL = """
import json, runpy, sys, time

OURS = runpy.run_path({model!r})["TritonPythonModel"]

def report(**facts):
    with open({report!r}, "a", encoding="utf-8") as file:
        print(json.dumps(facts), file=file)

class TritonPythonModel(OURS):
    @staticmethod
    def auto_complete_config(config):
        report(is_torch_in_auto_complete="torch" in sys.modules)
        return config

    def initialize(self, args):
        start = time.perf_counter()
        import torch
        torch_s = time.perf_counter() - start
        super().initialize(args)
        report(torch_s=torch_s, load_s=time.perf_counter() - start - torch_s)
"""


def run() -> None:
    """Load a 65 MB package several times, each time unpacked anew, and print the medians."""
    package = package_path("linear_65_mb")
    with tempfile.TemporaryDirectory(prefix="triton_pytorch_bench_") as directory:
        report = Path(directory, "report")
        repository = _lay_out(Path(directory), package, report)
        with progress(f"loading a {package.stat().st_size >> 20} MiB package {ROUNDS} times"):
            _load_repeatedly(repository, Path(directory, "store"))
        facts = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    _print(facts)


def _lay_out(directory: Path, package: Path, report: Path) -> Path:
    version_directory = directory / "models" / "linear" / "1"
    version_directory.mkdir(parents=True)
    entries = [tensor_config("INPUT__0", dims=(4096,))], [tensor_config("OUTPUT__0", dims=(4096,))]
    config = as_pbtxt(model_config(*entries, backend="python", max_batch_size=64))
    (version_directory.parent / "config.pbtxt").write_text(config, encoding="utf-8")
    model = _REPORTING_MODEL.format(model=str(ROOT / "model.py"), report=str(report))
    (version_directory / "model.py").write_text(model, encoding="utf-8")
    (version_directory / "model.pt2").symlink_to(package)
    return directory / "models"


def _load_repeatedly(repository: Path, store: Path) -> None:
    options = ["--model-control-mode=explicit"]
    with Server(repository, options=options, environment={"TRITON_PYTORCH_STORE": str(store)}) as server:
        server.wait_until_ready()
        with tritonclient.http.InferenceServerClient(server.http_url, network_timeout=60.0) as client:
            for _ in range(ROUNDS):
                client.load_model("linear")
                _unload(client, store)


def _unload(client: Any, store: Path) -> None:
    """Unload the model and wait until its files are gone, so that the next load finds nothing of it."""
    client.unload_model("linear")
    deadline = time.monotonic() + _UNLOAD_LIMIT_S
    while any(store.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)


def _print(facts: list[dict[str, Any]]) -> None:
    loads = [fact for fact in facts if "load_s" in fact]
    torch_s, load_s = (median(load[key] for load in loads) for key in ("torch_s", "load_s"))
    with_torch = sum(fact.get("is_torch_in_auto_complete", False) for fact in facts)
    auto_completions = sum("is_torch_in_auto_complete" in fact for fact in facts)
    print(f"import torch                                     {torch_s:6.2f} s, median of {ROUNDS}")
    print(f"load of the package beyond it                    {load_s:6.2f} s, median of {ROUNDS}; target {TARGET_S} s")
    print(f"auto-complete processes that had imported torch  {with_torch:6} of {auto_completions}; target 0")
