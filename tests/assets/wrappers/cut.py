"""Cuts the sources of a package down to what is read of them: `python cut.py PACKAGE.pt2 ...` writes them here.

What is left out of a wrapper: everything before the model's constructor, the sentences of its runtime checks, and
the commands that it was compiled with. Kernels lose their commands only. All kept lines are torch's own.
"""

import re
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
_SENTENCE = re.compile(r"^ *(?:std::stringstream ss;|ss <<|<<|throw ).*\n", re.MULTILINE)
_COMMANDS = re.compile(r"^// (?:Compile cmd\n//|Link cmd\n//|Triton kernels are embedded ).*\n", re.MULTILINE)


def cut_wrapper(source: str) -> str:
    """Return a wrapper source from its constructor on, without sentences and commands."""
    start = source.index("AOTInductorModel::AOTInductorModel(")
    return _COMMANDS.sub("", _SENTENCE.sub("", source[start:])).rstrip() + "\n"


def cut_kernel(source: str) -> str:
    """Return a kernel source without commands."""
    return _COMMANDS.sub("", source).rstrip() + "\n"


def sources(package: Path) -> tuple[str, list[str]]:
    """Return the wrapper and the kernels of a package with one model."""
    with zipfile.ZipFile(package) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".cpp")}
    (wrapper,) = (text for name, text in texts.items() if name.endswith(".wrapper.cpp"))
    return wrapper, [text for name, text in texts.items() if name.endswith(".kernel.cpp")]


def main(packages: list[str]) -> None:
    """Write the cut sources of each package, under its name."""
    for package in map(Path, packages):
        wrapper, kernels = sources(package)
        (HERE / f"{package.stem}.wrapper.cpp").write_text(cut_wrapper(wrapper), encoding="utf-8")
        for kernel in filter(lambda kernel: 'extern "C"' in kernel, kernels):
            (HERE / f"{package.stem}.kernel.cpp").write_text(cut_kernel(kernel), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
