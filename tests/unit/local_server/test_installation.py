"""Which tritonserver is used, and the errors where none fits."""

import platform
import sys
from pathlib import Path

import pytest

from triton_pytorch.local_server.installation import find_installation
from triton_pytorch.model_config.errors import LaunchError
from triton_pytorch.tests.unit.local_server.conftest import make_server, make_wheel

THIS = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_installation_missing(bare_machine: Path) -> None:
    with pytest.raises(LaunchError, match=r"pip install --no-deps nvidia-pytriton==0\.7\.0") as caught:
        find_installation()
    assert sys.executable in str(caught.value)


def test_wheel_is_found_but_not_imported(bare_machine: Path) -> None:
    executable = make_wheel(bare_machine / "site-packages", stubs=("3.8", THIS))
    found = find_installation()
    assert found.executable == executable
    assert found.stub.parent.name == THIS
    assert found.core_version == (2, 51, 0)
    assert "pytriton" not in sys.modules


def test_wheel_libpython_first(bare_machine: Path) -> None:
    make_wheel(bare_machine / "site-packages", stubs=(THIS,))
    assert find_installation().library_directories == (bare_machine / "site-packages" / "nvidia_pytriton.libs",)


def test_wheel_unknown_core_version(bare_machine: Path) -> None:
    make_wheel(bare_machine / "site-packages", stubs=(THIS,), version="9.9.9")
    assert find_installation().core_version is None


def test_wheel_without_stub_for_this_python(bare_machine: Path) -> None:
    make_wheel(bare_machine / "site-packages", stubs=("3.8", "3.99", "3.100"))
    with pytest.raises(LaunchError, match=rf"no Python stub for Python {THIS} .* one of Python 3\.8, 3\.99, 3\.100"):
        find_installation()


def test_installation_order(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(bare_machine / "site-packages", stubs=(THIS,))
    in_opt = make_server(bare_machine / "opt" / "tritonserver")
    assert find_installation().executable == in_opt
    on_path = make_server(bare_machine / "mine")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_installation().executable == on_path


def test_installation_link_on_path(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = make_server(bare_machine / "mine")
    link = bare_machine / "links" / "tritonserver"
    link.parent.mkdir()
    link.symlink_to(executable)
    monkeypatch.setenv("PATH", str(link.parent))
    assert find_installation().executable == executable


@pytest.mark.parametrize(("text", "version"), [("2.67.0\n", (2, 67, 0)), ("2.68.0dev", (2, 68, 0)), ("", None)])
def test_container_core_version(bare_machine: Path, text: str, version: tuple[int, ...] | None) -> None:
    make_server(bare_machine / "opt" / "tritonserver")
    (bare_machine / "opt" / "tritonserver" / "TRITON_VERSION").write_text(text)
    assert find_installation().core_version == version


def test_stub_for_another_python(bare_machine: Path) -> None:
    make_server(bare_machine / "opt" / "tritonserver", libpython="libpython3.99.so.1.0")
    with pytest.raises(LaunchError, match=rf"built for Python 3\.99, and this is Python {THIS} .*with python3\.99"):
        find_installation()


def test_installation_without_python_backend(bare_machine: Path) -> None:
    executable = make_server(bare_machine / "opt" / "tritonserver")
    missing = executable.parents[1] / "backends" / "python" / "libtriton_python.so"
    missing.unlink()
    with pytest.raises(LaunchError, match="no Python backend") as caught:
        find_installation()
    assert str(missing) in str(caught.value)


def test_libpython_missing(bare_machine: Path) -> None:
    absent = f"libpython{THIS}.so.99"
    executable = make_server(bare_machine / "opt" / "tritonserver", libpython=absent)
    (executable.parents[1] / "lib" / absent).unlink()
    with pytest.raises(LaunchError, match=rf"needs {absent}.*apt-get install libpython{THIS}.*--enable-shared"):
        find_installation()


@pytest.mark.parametrize(
    ("c_library", "named"), [(("glibc", "2.31"), "glibc 2.31"), (("glibc", "2.4"), "glibc 2.4"), (("", ""), "another")]
)
def test_glibc_too_old(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch, c_library: tuple[str, str], named: str
) -> None:
    make_wheel(bare_machine / "site-packages", stubs=(THIS,))
    monkeypatch.setattr(platform, "libc_ver", lambda: c_library)
    with pytest.raises(LaunchError, match=rf"needs glibc 2\.35 or newer, and this machine has {named}"):
        find_installation()


def test_glibc_new_enough(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(bare_machine / "site-packages", stubs=(THIS,))
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.100"))
    find_installation()
