"""Which tritonserver is taken, and what is said where none fits."""

import platform
import sys
from pathlib import Path

import pytest

from triton_pytorch.local_server.installation import find_installation
from triton_pytorch.model_config.errors import LaunchError
from triton_pytorch.tests.unit.local_server.conftest import make_server, make_wheel

THIS = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_no_server_at_all_names_the_command_that_gets_one(bare_machine: Path) -> None:
    with pytest.raises(LaunchError, match=r"pip install --no-deps nvidia-pytriton==0\.7\.0") as caught:
        find_installation()
    assert sys.executable in str(caught.value)


def test_the_wheel_is_found_without_importing_it(bare_machine: Path) -> None:
    executable = make_wheel(bare_machine / "site-packages", stubs=("3.8", THIS))
    found = find_installation()
    assert found.executable == executable
    assert found.stub.parent.name == THIS
    assert found.core_version == (2, 51, 0)
    assert "pytriton" not in sys.modules


def test_the_libpython_of_the_wheel_is_preferred_to_that_of_the_interpreter(bare_machine: Path) -> None:
    make_wheel(bare_machine / "site-packages", stubs=(THIS,))
    assert find_installation().library_directories == (bare_machine / "site-packages" / "nvidia_pytriton.libs",)


def test_another_version_of_the_wheel_has_an_unknown_core(bare_machine: Path) -> None:
    make_wheel(bare_machine / "site-packages", stubs=(THIS,), version="9.9.9")
    assert find_installation().core_version is None


def test_a_python_without_stub_is_told_which_ones_have_one(bare_machine: Path) -> None:
    make_wheel(bare_machine / "site-packages", stubs=("3.8", "3.99", "3.100"))
    with pytest.raises(LaunchError, match=rf"no Python stub for Python {THIS} .* one of Python 3\.8, 3\.99, 3\.100"):
        find_installation()


def test_a_server_on_path_comes_before_the_one_in_opt_and_the_wheel(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(bare_machine / "site-packages", stubs=(THIS,))
    in_opt = make_server(bare_machine / "opt" / "tritonserver")
    assert find_installation().executable == in_opt
    on_path = make_server(bare_machine / "mine")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_installation().executable == on_path


def test_a_link_on_path_leads_to_the_server_that_it_stands_for(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = make_server(bare_machine / "mine")
    link = bare_machine / "links" / "tritonserver"
    link.parent.mkdir()
    link.symlink_to(executable)
    monkeypatch.setenv("PATH", str(link.parent))
    assert find_installation().executable == executable


@pytest.mark.parametrize(("text", "version"), [("2.67.0\n", (2, 67, 0)), ("2.68.0dev", (2, 68, 0)), ("", None)])
def test_a_container_says_its_version_in_a_file(bare_machine: Path, text: str, version: tuple[int, ...] | None) -> None:
    make_server(bare_machine / "opt" / "tritonserver")
    (bare_machine / "opt" / "tritonserver" / "TRITON_VERSION").write_text(text)
    assert find_installation().core_version == version


def test_a_stub_for_another_python_is_refused_with_the_python_to_use(bare_machine: Path) -> None:
    make_server(bare_machine / "opt" / "tritonserver", libpython="libpython3.99.so.1.0")
    with pytest.raises(LaunchError, match=rf"built for Python 3\.99, and this is Python {THIS} .*with python3\.99"):
        find_installation()


def test_a_server_without_python_backend_is_refused(bare_machine: Path) -> None:
    executable = make_server(bare_machine / "opt" / "tritonserver")
    missing = executable.parents[1] / "backends" / "python" / "libtriton_python.so"
    missing.unlink()
    with pytest.raises(LaunchError, match="no Python backend") as caught:
        find_installation()
    assert str(missing) in str(caught.value)


def test_a_missing_libpython_is_named_with_the_remedies(bare_machine: Path) -> None:
    absent = f"libpython{THIS}.so.99"
    executable = make_server(bare_machine / "opt" / "tritonserver", libpython=absent)
    (executable.parents[1] / "lib" / absent).unlink()
    with pytest.raises(LaunchError, match=rf"needs {absent}.*apt-get install libpython{THIS}.*--enable-shared"):
        find_installation()


@pytest.mark.parametrize(
    ("c_library", "named"), [(("glibc", "2.31"), "glibc 2.31"), (("glibc", "2.4"), "glibc 2.4"), (("", ""), "another")]
)
def test_a_c_library_too_old_for_the_wheel_is_named(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch, c_library: tuple[str, str], named: str
) -> None:
    make_wheel(bare_machine / "site-packages", stubs=(THIS,))
    monkeypatch.setattr(platform, "libc_ver", lambda: c_library)
    with pytest.raises(LaunchError, match=rf"needs glibc 2\.35 or newer, and this machine has {named}"):
        find_installation()


def test_a_c_library_that_is_new_enough_is_accepted(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(bare_machine / "site-packages", stubs=(THIS,))
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.100"))
    find_installation()
