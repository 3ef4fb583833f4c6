"""Two models of HuggingFace's transformers, tiny and with random weights."""

from typing import Any

import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel
from transformers.integrations.executorch import register_dynamic_cache_export_support

WORDS = 50


def bert() -> Any:
    """Make an encoder, whose result is a BaseModelOutputWithPoolingAndCrossAttentions."""
    size: dict[str, Any] = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    return BertModel(BertConfig(vocab_size=WORDS, max_position_embeddings=32, **size))


def gpt2() -> Any:
    """Make a decoder, whose result is a CausalLMOutputWithCrossAttentions of scores and the cache of its keys."""
    register_dynamic_cache_export_support()  # else torch.export does not take the cache
    size: dict[str, Any] = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32}
    return GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, bos_token_id=0, eos_token_id=0, **size))


def tokens(rows: int, length: int) -> dict[str, torch.Tensor]:
    """Return texts of random words, of which the last row is shorter by two."""
    mask = torch.ones(rows, length, dtype=torch.int64)
    mask[-1, length - 2 :] = 0
    return {"input_ids": torch.randint(0, WORDS, (rows, length)), "attention_mask": mask}
