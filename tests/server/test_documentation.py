"""The code blocks of README.md and docs/ do what they say."""

import re
import subprocess
import sys
from inspect import getsource
from pathlib import Path

import pytest
import torch

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.packages import weights_beside_the_library
from triton_pytorch.tests.server.conftest import ROOT, StartServer, connect, load_errors

README = (ROOT / "README.md").read_text(encoding="utf-8")
PATIENCE_S = 300


def block(language: str, *, document: str = README, after: str = "") -> str:
    """Return the first fenced block of a language that stands behind a text."""
    found = re.search(rf"```{language}\n(.*?)```", document[document.index(after) :], re.DOTALL)
    assert found, f"no {language} block after {after!r}"
    return found[1]


def run_python(code: str, directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A server on the README's model, beside one whose config has a slip."""
    directory = tmp_path_factory.mktemp("readme")
    run_python(block("python", after="The model is any"), directory)
    (directory / "models" / "slip" / "1").mkdir(parents=True)
    (directory / "models/slip/1/model.pt2").symlink_to(directory / "models/nested/1/model.pt2")
    config = block("", after="Its config.pbtxt")
    (directory / "models/nested/config.pbtxt").write_text(config, encoding="utf-8")
    (directory / "models/slip/config.pbtxt").write_text(config.replace("[bias]", "[bais]"), encoding="utf-8")
    return start_server(directory / "models")


def test_the_first_screen_prints_what_it_says(server: Server, tmp_path: Path) -> None:
    code = block("python", after="a client asks")
    assert "localhost:8000" in code
    assert run_python(code.replace("localhost:8000", server.http_url), tmp_path) == block("text")


def test_the_example_error_is_the_real_one(server: Server) -> None:
    example = re.search(r"    NamingError: (.*?)\n\n", README, re.DOTALL)
    assert example
    assert load_errors(server)["slip"].splitlines()[0] == "Internal: NamingError: " + " ".join(example[1].split())


def test_the_ragged_example_answers_as_its_eager_model(start_server: StartServer, tmp_path: Path) -> None:
    document = (ROOT / "docs" / "batching.md").read_text(encoding="utf-8")
    code = block("python", document=document, after="## Ragged batching")
    config = 'backend: "pytorch_python"\n' + block("protobuf", document=document)
    version_directory = tmp_path / "models" / "ragged" / "1"
    version_directory.mkdir(parents=True)
    (version_directory.parent / "config.pbtxt").write_text(config, encoding="utf-8")
    run_python(code, version_directory)

    client = connect(start_server(tmp_path / "models"), "grpc")
    x = torch.tensor([[1.0, 2.0, 4.0]])
    answer = client.infer("ragged", {"ARGS[0]": x})
    assert answer["RESULT[0]"].tolist() == [[7.0]]
    assert answer["RESULT[1]"].tolist() == [[2.0, 4.0, 8.0]]


def test_weights_beside_the_library_are_asked_for_as_in_the_tests() -> None:
    document = (ROOT / "docs" / "packages.md").read_text(encoding="utf-8")
    lines = [line.strip(" ,") for line in block("python", document=document).splitlines() if '"aot_inductor' in line]
    assert len(lines) == 2
    assert all(line in getsource(weights_beside_the_library) for line in lines)


DOCUMENTS = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_make_targets_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert [link for link in links if "://" not in link and not (ROOT / document).parent.joinpath(link).exists()] == []
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"(?:`|^    )make ([a-z]+)", text, re.MULTILINE)) <= set(targets)


def test_each_row_of_the_comparison_names_a_test_that_exists() -> None:
    rows = [line for line in README[README.index("| | C++ backend |") :].splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert named, row
        for file, test in named:
            assert f"def {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), test
