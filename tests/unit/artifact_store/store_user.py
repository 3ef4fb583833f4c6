"""A process that uses the store in argv[1] on orders from its standard input, and answers each with one line."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from zipfile import ZipInfo

package = sys.modules["triton_pytorch"] = ModuleType("triton_pytorch")
package.__path__ = [str(Path(__file__).resolve().parents[3])]

from triton_pytorch.artifact_store.archive import Archive  # noqa: E402  after it can be found
from triton_pytorch.artifact_store.store import Entry, Store  # noqa: E402
from triton_pytorch.tests.assets.archives import open_archive  # noqa: E402

whole_chunks = Archive.chunks


def stalling_chunks(archive: Archive, file: ZipInfo) -> Iterator[bytes]:
    """Give half of the first file's first chunk, and wait for a line."""
    Archive.chunks = whole_chunks  # type: ignore[method-assign]
    for chunk in whole_chunks(archive, file):
        yield chunk[: len(chunk) // 2]
        print("stalled", flush=True)
        input()
        yield chunk[len(chunk) // 2 :]


def unpack(store: Store, path: str) -> Entry:
    with open_archive(Path(path)) as archive:
        return store.unpack(archive)


def main() -> None:
    store = Store(Path(sys.argv[1]))
    for line in sys.stdin:
        order, *arguments = line.split()
        if order == "stall":
            Archive.chunks = stalling_chunks  # type: ignore[method-assign,assignment]
        elif order == "unpack":
            entry = unpack(store, arguments[0])
            print(entry.path, *sorted(path.stat().st_ino for path in entry.path.rglob("*")), flush=True)
        elif order == "release":
            entry.release()
            print("released", flush=True)
        elif order == "sweep":
            store.sweep()
            print("swept", flush=True)
        elif order == "repeat":
            seen = set()
            for _ in range(int(arguments[1])):
                entry = unpack(store, arguments[0])
                store.sweep()
                seen.add(tuple(path.read_bytes() for path in sorted(entry.path.rglob("*")) if path.is_file()))
                entry.release()
            print(len(seen), *(len(data) for data in seen.pop()), flush=True)


main()
