"""The code blocks of README.md and docs/, for the tests that run them."""

import re
import shutil
import subprocess
import sys
from hashlib import sha256
from importlib.metadata import version
from os import getpid
from pathlib import Path
from tempfile import TemporaryDirectory

from triton_pytorch.tests.assets import packages

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
_PATIENCE_S = 600


def block(document: str, after: str = "", *, language: str = r"\w*") -> str:
    """Return the first fenced block after a text, of a language where one is given."""
    found = re.search(rf"```{language}\n(.*?)```", document[document.index(after) :], re.DOTALL)
    assert found, f"no {language} block after {after!r}"
    return found[1]


def run_python(code: str, directory: Path) -> str:
    """Run code in a directory; returns what it prints."""
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def exported(code: str, path: str) -> Path:
    """Return the package that code writes to a relative path; it is kept like the packages of the tests."""
    maker = f"{code}|{path}|{version('torch')}|{packages._cpu_flags()}"
    kept = packages.CACHE / f"document-{sha256(maker.encode()).hexdigest()[:16]}.pt2"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as directory:
            run_python(code, Path(directory))
            unfinished = kept.with_suffix(f".{getpid()}.pt2")
            shutil.copy(Path(directory, path), unfinished)  # the cache may lie on another file system
        unfinished.replace(kept)
    return kept
