"""What a model takes and returns, said the same way for every format."""

from dataclasses import dataclass

from triton_pytorch.contract.leaves import Leaf


@dataclass(frozen=True, slots=True)
class Signature:
    """The leaves of a model in flat order.

    A leaf whose path holds `<key>` or `<index>` stands for leaves that only the config (inputs) or the answer (outputs)
    can name. `has_open_result`: an answer may have more leaves than are listed, or others, so that an index beyond
    those that are known may be right. `follows_config_order`: tensors whose names mean nothing to the model are taken
    in the order of the config, as NVIDIA's backend does with TorchScript. `unchecked_operators`: what the model calls
    without looking at its errors, so that a request that makes one fail spoils the call unseen.
    """

    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    has_open_result: bool = False
    follows_config_order: bool = False
    unchecked_operators: tuple[str, ...] = ()
