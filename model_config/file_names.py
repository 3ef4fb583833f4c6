"""File names under the locale of Triton's Python stub, which sets none: Python takes file names for ASCII there."""

import os


def file_system_name(text: str) -> str:
    """Return a name as the file system functions take it: its UTF-8 bytes, whatever the locale says of them."""
    return os.fsdecode(text.encode())


def printable(text: str) -> str:
    """Return a text that may hold file names as one that can be sent: bytes that are not UTF-8 are written out."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
