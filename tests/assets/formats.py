"""The records of the table of formats by their keys."""

from triton_pytorch.formats.table import FORMATS, Format, ServedFormat

BY_KEY: dict[str, Format] = {each.key: each for each in FORMATS}
SERVED: dict[str, ServedFormat] = {each.key: each for each in FORMATS if isinstance(each, ServedFormat)}
PACKAGE, TORCHSCRIPT = SERVED["package"], SERVED["torchscript"]
