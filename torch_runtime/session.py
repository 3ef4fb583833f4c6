"""The context in which a model runs: grad mode, device, stream, and what is cleaned up afterwards."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch

Session = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class RunMode:
    """How the parameters of a config ask for models to be run."""

    inference_mode: bool = True
    cleans_cache: bool = False

    def session_on(self, device: torch.device) -> Session:
        """Return what is entered around every execution on a device."""
        return torch.inference_mode if self.inference_mode else torch.no_grad
