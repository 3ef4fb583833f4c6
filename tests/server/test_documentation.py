"""The code blocks of README.md and docs/ do what they say."""

import re
from inspect import getsource
from pathlib import Path
from typing import Any

import pytest
import torch

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.documents import README, block, exported, run_python
from triton_pytorch.tests.assets.packages import weights_beside_the_library
from triton_pytorch.tests.assets.scripts import scripted
from triton_pytorch.tests.integration.script_models import described, opened
from triton_pytorch.tests.server.conftest import ROOT, StartServer, connect, load_errors

PACKAGES = (ROOT / "docs" / "packages.md").read_text(encoding="utf-8")
BATCHING = (ROOT / "docs" / "batching.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A server on the README's model, the same with a misspelt config, and the model of docs/batching.md."""
    repository = tmp_path_factory.mktemp("models")
    nested = exported(block(README, "The model is any", language="python"), "models/nested/1/model.pt2")
    ragged = exported(block(BATCHING, "## Ragged batching", language="python"), "model.pt2")
    config = block(README, "Its config.pbtxt")
    for name, package, text in (
        ("nested", nested, config),
        ("misspelt", nested, config.replace("[bias]", "[bais]")),
        ("ragged", ragged, 'backend: "pytorch_python"\n' + block(BATCHING, language="protobuf")),
    ):
        (repository / name / "1").mkdir(parents=True)
        (repository / name / "1" / "model.pt2").symlink_to(package)
        (repository / name / "config.pbtxt").write_text(text, encoding="utf-8")
    return start_server(repository)


def test_readme_client_prints_what_is_shown(server: Server, tmp_path: Path) -> None:
    code = block(README, "a client asks", language="python")
    assert "localhost:8000" in code
    printed = run_python(code.replace("localhost:8000", server.http_url), tmp_path)
    assert printed == block(README, "a client asks", language="text")


def test_readme_error_is_the_real_one(server: Server) -> None:
    example = re.search(r"    NamingError: (.*?)\n\n", README, re.DOTALL)
    assert example
    assert load_errors(server)["misspelt"].splitlines()[0] == "Internal: NamingError: " + " ".join(example[1].split())


def test_ragged_example_answers_like_eager(server: Server) -> None:
    answer = connect(server, "grpc").infer("ragged", {"ARGS[0]": torch.tensor([[1.0, 2.0, 4.0]])})
    assert answer["RESULT[0]"].tolist() == [[7.0]]
    assert answer["RESULT[1]"].tolist() == [[2.0, 4.0, 8.0]]


def test_entry_that_brings_operators(tmp_path: Path) -> None:
    for module in ("my_operators", "triton_python_backend_utils"):
        (tmp_path / f"{module}.py").write_text(f"print('{module}')\n", encoding="utf-8")
    code = block(PACKAGES, "### Operators that are not torch's own", language="python")
    assert "/path/to/this/tree" in code
    code = code.replace("/path/to/this/tree", str(ROOT)) + "\nprint(TritonPythonModel.__name__)"
    assert run_python(code, tmp_path).split() == ["my_operators", "triton_python_backend_utils", "TritonPythonModel"]


def test_options_for_weights() -> None:
    code = block(PACKAGES, "## Weights", language="python")
    lines = [line.strip(" ,") for line in code.splitlines() if '"aot_inductor' in line]
    assert len(lines) == 2
    assert all(line in getsource(weights_beside_the_library) for line in lines)


class Published(torch.nn.Module):
    """What docs/torchscript.md serves from within another module."""

    def forward(self, parts: list[torch.Tensor], size: list[int]) -> torch.Tensor:
        return torch.cat(parts).reshape(size)


def test_published_archive_in_another_module(tmp_path: Path) -> None:
    document = (ROOT / "docs" / "torchscript.md").read_text(encoding="utf-8")
    scripted(Published(), tmp_path / "published.jit")
    code = block(document, "## A published archive with another signature", language="python")
    (tmp_path / "wrap.py").write_text(code, encoding="utf-8")
    run_python("import wrap", tmp_path)
    left, right = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    script = opened(tmp_path / "model.pt", ["right", "left"], [tensor_config("RESULT", dims=(2, -1))])
    assert script.answer({"left": left, "right": right})["RESULT"].tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_fields_of_torchscript_documented(tmp_path: Path) -> None:
    document = (ROOT / "docs" / "torchscript.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", document[document.index("`--json` prints one object") :]))
    summary, *_ = described(scripted(Published(), tmp_path / "m.pt")).sections()
    fields: dict[str, Any] = {item.key: item.value for item in summary if item.key}
    (method,) = fields["methods"]
    shown = [*fields, *fields["parameters"], *method, *method["arguments"][0]]
    assert [name for name in shown if name not in documented] == []


DOCUMENTS = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_make_targets_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert [link for link in links if "://" not in link and not (ROOT / document).parent.joinpath(link).exists()] == []
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"(?:`|^    )make ([a-z]+)", text, re.MULTILINE)) <= set(targets)


def test_comparison_names_tests_that_exist() -> None:
    rows = [line for line in README[README.index("| | C++ backend |") :].splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, row
        for file, test in named:
            assert f"def {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), test


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_of_tests_exist(document: str) -> None:
    named = re.findall(r"\btests/[\w/]+\.py", (ROOT / document).read_text(encoding="utf-8"))
    assert [file for file in named if not (ROOT / file).exists()] == []
