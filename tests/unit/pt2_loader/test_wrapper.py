"""What stands in the wrapper source, and that what does not stand there is unknown."""

import pytest

from triton_pytorch.pt2_loader.wrapper import RunnerCounts, read_counts

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
def test_counts(are_in_library: bool) -> None:
    source = CONSTRUCTOR.format(weights=str(are_in_library).lower())
    assert read_counts(source) == RunnerCounts(6, 8, 2, are_in_library)


@pytest.mark.parametrize("source", ["", "int main() {}", CONSTRUCTOR.format(weights="maybe"), "AOTInductorModelBase("])
def test_another_shape_of_source_says_nothing(source: str) -> None:
    assert read_counts(source) is None
