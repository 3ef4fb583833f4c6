"""Packages damaged in hundreds of ways, opened, identified and described: only our errors, never a wrong description.

A description may always lack what it does not know, and an error of ours is always right. What it states of names, data
types, ranks and fixed sizes has to be true of the package that the damaged one was made of.
"""

import io
import random
import re
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.formats.identification import identify
from triton_pytorch.formats.table import ServedFormat
from triton_pytorch.model_config.errors import BackendError
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.pt2_loader.description import PackageDescription
from triton_pytorch.tests.assets.packages import package_path

BASES = ("relations", "scalar_inputs")
OTHER = "typed"
CASES = 80  # of each kind that is drawn at random, for each package

Entries = dict[str, bytes]
Damaged = Iterator[tuple[str, bytes]]  # what was done, and the archive


@cache
def stripped(package: str) -> Entries:
    """Return the entries of a package without its machine code, which nobody reads for a description."""
    with zipfile.ZipFile(package_path(package)) as archive:
        return {name: b"\x7fELF" if name.endswith(".so") else archive.read(name) for name in archive.namelist()}


def packed(entries: Sequence[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # zipfile warns of names that are there twice
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def whole(entries: Entries, _: random.Random) -> Damaged:
    yield "nothing", packed(list(entries.items()))


def flipped(entries: Entries, dice: random.Random) -> Damaged:
    """Yield the archive with some bits flipped, half of them in the listing at its end."""
    archive = packed(list(entries.items()))
    listing = archive.index(b"PK\x01\x02")
    for number in range(CASES):
        content = bytearray(archive)
        positions = [dice.randrange(listing if number % 2 else 0, len(archive)) for _ in range(1 + number % 4)]
        for position in positions:
            content[position] ^= 1 << dice.randrange(8)
        yield f"at {positions}", bytes(content)


def truncated(entries: Entries, _: random.Random) -> Damaged:
    archive = packed(list(entries.items()))
    for size in (*range(0, len(archive), 1024), len(archive) - 1):
        yield f"at {size}", archive[:size]


def damaged_entries(entries: Entries, dice: random.Random) -> Damaged:
    items = list(entries.items())
    for position, (name, content) in enumerate(items):
        others = items[:position] + items[position + 1 :]
        yield f"without {name}", packed(others)
        yield f"{name} twice", packed([*items, (name, content)])
        yield f"{name} twice, once empty", packed([(name, b""), *items])
        for renamed in (name + ".old", Path(name).name, name.upper(), "elsewhere/" + name, name.replace("/", "\\")):
            yield f"{name} as {renamed}", packed([*others, (renamed, content)])
        yield f"{name} empty", packed([*others, (name, b"")])
        yield f"{name} cut in half", packed([*others, (name, content[: len(content) // 2])])
        yield f"{name} of noise", packed([*others, (name, dice.randbytes(500))])
    for number in range(5):
        yield f"shuffled {number}", packed(dice.sample(items, len(items)))


def leaving_entries(entries: Entries, _: random.Random) -> Damaged:
    """Yield the archive with an entry that would be unpacked outside of its directory."""
    for name in ("../f", "/f", "data/../../f", "data/..", "./f", "data//f", ".."):
        yield name, packed([*entries.items(), (name, b"")])


def other_metadata(entries: Entries, _: random.Random) -> Damaged:
    texts = ["", "[]", "{}", "null", "1e999", '"cpu"', "NaN", "\0", "{"]
    for key in ("AOTI_DEVICE_KEY", "AOTI_CPU_ISA"):
        texts += [f'{{"{key}": {value}}}' for value in ("null", "5", '["AVX2"]', "{}", '"cuda"', '"tpu\\n"')]
    for text in texts:
        yield text, with_text(entries, "_metadata.json", text)


def with_text(entries: Entries, ending: str, text: str) -> bytes:
    return packed([(name, text.encode() if name.endswith(ending) else old) for name, old in entries.items()])


def with_wrapper(entries: Entries, text: str) -> bytes:
    return with_text(entries, ".wrapper.cpp", text)


def wrapper_of(entries: Entries) -> str:
    return next(content for name, content in entries.items() if name.endswith(".wrapper.cpp")).decode()


def damaged_lines(entries: Entries, dice: random.Random) -> Damaged:
    """Yield wrapper sources that lack lines, or have them twice or elsewhere, as another torch may write them."""
    text = wrapper_of(entries)
    lines = text.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if "AOTInductorModelBase(" in line)
    for _ in range(CASES):
        number, other = (dice.randrange(first, len(lines)) for _ in range(2))
        changed = list(lines)
        match dice.choice(("without", "twice", "swapped with the next", "block gone", "moved")):
            case "without" as how:
                del changed[number]
            case "twice" as how:
                changed.insert(number, lines[number])
            case "swapped with the next" as how:
                changed[number : number + 2] = reversed(changed[number : number + 2])
            case "block gone" as how:
                del changed[number : number + dice.randrange(2, 12)]
            case how:
                changed.insert(other, changed.pop(number))
        yield f"line {number} {how}: {lines[number].strip()}", with_wrapper(entries, "".join(changed))
    for size in range(0, len(text), 1024):
        yield f"ends at {size}", with_wrapper(entries, text[:size])


def damaged_specs(entries: Entries, dice: random.Random) -> Damaged:
    """Yield wrapper sources with a part of a call spec gone, there twice, or another one."""
    lines = wrapper_of(entries).splitlines(keepends=True)
    numbers = [number for number, line in enumerate(lines) if "_spec_ = " in line]
    for _ in range(CASES):
        number = dice.choice(numbers)
        before, spec, after = re.split(r'(?<=R"\()(.*)(?=\)")', lines[number])
        parts = re.findall(r"\w+|\W+", spec)
        position = dice.randrange(len(parts))
        parts[position] = dice.choice(("", parts[position] * 2, dice.choice(parts), "null", "7", "[", "x"))
        changed = "".join([before, *parts, after])
        yield changed, with_wrapper(entries, "".join([*lines[:number], changed, *lines[number + 1 :]]))


def other_wrappers(entries: Entries, _: random.Random) -> Damaged:
    """Yield the archive with parts of another model, under that one's names."""
    others = stripped(OTHER)
    for ending in (".wrapper.cpp", ".kernel.cpp", ".wrapper_metadata.json"):
        kept = [(name, content) for name, content in entries.items() if not name.endswith(ending)]
        folder = next(name for name in entries if name.endswith(".so")).rpartition("/")[0]
        added = [(f"{folder}/{Path(n).name}", content) for n, content in others.items() if n.endswith(ending)]
        yield f"{ending} of another", packed([*kept, *added])


def describe(path: Path) -> PackageDescription:
    """Describe a file on the way that `inspect` and a load go."""
    with open_model_file(path) as file:
        found = identify(file)
        if not isinstance(found, ServedFormat):
            raise found.error(f"'{path}' is {found.summary}")
        description = found.describe(file, Parameters(), None)
        description.sections()
    assert isinstance(description, PackageDescription)
    return description


def verdict(path: Path, undamaged: PackageDescription) -> str:
    """Return `described`, `poorer`, `refused`, or what is wrong."""
    try:
        got = describe(path)
    except BackendError as error:
        return "refused" if str(error) and "\n" not in str(error) else f"an error without one sentence: {error!r}"
    except Exception:
        return f"not our error: {traceback.format_exc()}"
    if wrong := [*wrong_names(got, undamaged)]:
        return f"renamed: {wrong}"
    if wrong := [*wrong_statements(got, undamaged)]:
        return f"wrong: {wrong}"
    return "described" if (got.inputs, got.outputs) == (undamaged.inputs, undamaged.outputs) else "poorer"


def wrong_names(got: PackageDescription, undamaged: PackageDescription) -> Iterator[str]:
    for leaves, expected in ((got.inputs, undamaged.inputs), (got.outputs, undamaged.outputs)):
        names = [str(leaf) for leaf in leaves or ()]
        if leaves is not None and names != [str(leaf) for leaf in expected or ()]:
            yield f"names {names}"


def wrong_statements(got: PackageDescription, undamaged: PackageDescription) -> Iterator[str]:
    """Yield what is said of a leaf that is not so, where the names are right."""
    for leaf, expected in zip(got.inputs or (), undamaged.inputs or (), strict=False):
        if leaf.dtype not in (None, expected.dtype):
            yield f"{leaf} has dtype {leaf.dtype}"
        sizes, expected_sizes = ([d.size.constant for d in each.shape or ()] for each in (leaf, expected))
        if leaf.shape is not None and sizes != expected_sizes:
            yield f"{leaf} has sizes {sizes}"


# What may come of each kind of damage, and has to come of some of it.
KINDS: dict[str, tuple[Callable[[Entries, random.Random], Damaged], set[str]]] = {
    "none": (whole, {"described"}),
    "flipped bits": (flipped, {"described", "poorer", "refused"}),
    "truncated": (truncated, {"refused"}),
    "entries": (damaged_entries, {"described", "poorer", "refused"}),
    "leaving entries": (leaving_entries, {"refused"}),
    "metadata": (other_metadata, {"described"}),
    "wrapper lines": (damaged_lines, {"described", "poorer"}),
    "call spec": (damaged_specs, {"described", "renamed", "refused"}),
    "another wrapper": (other_wrappers, {"described", "poorer"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_damage(kind: str, tmp_path: Path) -> None:
    make, allowed = KINDS[kind]
    path = tmp_path / "model.pt2"
    verdicts = {}
    for base in BASES:
        undamaged = describe(package_path(base))
        for what, content in make(stripped(base), random.Random(base)):
            path.write_bytes(content)
            verdicts[f"{base}: {what}"] = verdict(path, undamaged)
    assert {what: found for what, found in verdicts.items() if found.partition(":")[0] not in allowed} == {}
    assert {found.partition(":")[0] for found in verdicts.values()} == allowed


@pytest.mark.parametrize(
    ("package", "old", "new", "statement"),
    [
        ("relations", "_dtype_float32()", "_dtype_float64()", "wrong: .*KWARGS.longer. has dtype float64"),
        ("aliases", "(3 != arg1_1_", "(7 != arg1_1_", r"wrong: .*ARGS.1. has sizes \[None, None, 7\]"),
        ("relations", r"\"longer\"", r"\"longest\"", r"renamed: .*'ARGS.0.', 'ARGS.1.', 'KWARGS.longest.'"),
    ],
)
def test_damage_wrong_statement_noticed(tmp_path: Path, package: str, old: str, new: str, statement: str) -> None:
    entries = stripped(package)
    path = tmp_path / "model.pt2"
    path.write_bytes(with_wrapper(entries, wrapper_of(entries).replace(old, new)))
    assert re.match(statement, verdict(path, describe(package_path(package))))
