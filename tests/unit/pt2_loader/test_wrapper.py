"""What stands in the wrapper source, and that what does not stand there is unknown."""

from pathlib import Path

import pytest

from triton_pytorch.pt2_loader.wrapper import RunnerCounts, read_device_type, read_runner_counts

# As torch 2.13.0 writes it.
CONSTRUCTOR = """
AOTInductorModel::AOTInductorModel(std::shared_ptr<ConstantMap> constants_map,
                                   std::optional<std::string> cubin_dir)
    : AOTInductorModelBase(6,
                           8,
                           2,
                           device_str,
                           std::move(cubin_dir),
                           {weights}) {{
    inputs_info_[0].name = "arg0_1";
"""


@pytest.mark.parametrize("are_in_library", [True, False])
def test_counts(tmp_path: Path, are_in_library: bool) -> None:
    source = CONSTRUCTOR.format(weights=str(are_in_library).lower())
    (tmp_path / "x.wrapper.cpp").write_text(source, encoding="utf-8")
    assert read_runner_counts(tmp_path) == RunnerCounts(6, 8, 2, are_in_library)


@pytest.mark.parametrize("source", ["", "int main() {}", CONSTRUCTOR.format(weights="maybe"), "AOTInductorModelBase("])
def test_another_shape_of_source_says_nothing(tmp_path: Path, source: str) -> None:
    (tmp_path / "x.wrapper.cpp").write_text(source, encoding="utf-8")
    assert read_runner_counts(tmp_path) is None


def test_no_source_says_nothing(tmp_path: Path) -> None:
    assert read_runner_counts(tmp_path) is None


@pytest.mark.parametrize(
    ("metadata", "device"),
    [
        ('{"AOTI_DEVICE_KEY": "cuda"}', "cuda"),
        ('{"AOTI_CPU_ISA": ""}', None),
        ("[]", None),
        ("{", None),
        ("", None),
    ],
)
def test_device(tmp_path: Path, metadata: str, device: str | None) -> None:
    (tmp_path / "x.wrapper_metadata.json").write_text(metadata, encoding="utf-8")
    assert read_device_type(tmp_path) == device
