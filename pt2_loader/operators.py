"""The operators that a package calls by name through torch's dispatcher, read without torch.

What inductor neither compiles nor calls through torch's C functions stands as a node in the `*.wrapper.json` beside the
library: {"nodes": [{"node": {"target": "myops::twice.out", ...}, ...}, ...]}. torch looks all of them up when it opens
the library.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

# The namespaces that `import torch` registers operators of.
_OF_TORCH = (
    *("_c10d_functional", "_quantized", "aten", "c10d", "inductor", "mkl", "mkldnn", "mkldnn_prepacked", "onednn"),
    *("prims", "quantized", "rngprims", "sparse", "symm_mem"),
)


def read_operators(nodes: str) -> tuple[str, ...]:
    """Return the operators in the JSON of a package, `namespace::name` or `namespace::name.overload`, each once."""
    try:
        return tuple(dict.fromkeys(_targets(json.loads(nodes))))
    except (ValueError, RecursionError):
        return ()


def _targets(document: Any) -> Iterator[str]:
    match document:
        case {"nodes": [*nodes]}:
            for node in nodes:
                match node:
                    case {"node": {"target": str(target)}} if "::" in target:
                        yield target


def custom_operators(operators: Iterable[str]) -> tuple[str, ...]:
    """Return the operators that torch does not bring itself."""
    return tuple(operator for operator in operators if namespace_of(operator) not in _OF_TORCH)


def namespace_of(operator: str) -> str:
    """Return what the library that registers an operator calls its operators by."""
    return operator.partition("::")[0]
