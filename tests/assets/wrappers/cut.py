"""Cuts the source of a package down to what is read of it: `python cut.py PACKAGE.pt2 ...` writes it here.

What is left out: everything before the model's constructor, the sentences of its runtime checks, and the commands that
it was compiled with. All kept lines are torch's own.
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


def main(packages: list[str]) -> None:
    """Write the cut source of each package with one model, under its name."""
    for package in map(Path, packages):
        with zipfile.ZipFile(package) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".wrapper.cpp"))
            wrapper = archive.read(name).decode()
        (HERE / f"{package.stem}.wrapper.cpp").write_text(cut_wrapper(wrapper), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
