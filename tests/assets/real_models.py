"""Two models of the kinds that people serve, small enough for tests and benchmarks: made here, nothing is fetched."""

import torch
from torch import nn
from torch.nn import functional

IMAGE = (3, 64, 64)
TOKENS = (64, 128)  # tokens of one text, each already embedded


class Residual(nn.Module):
    """Two convolutions beside a shortcut, at half the size."""

    def __init__(self, channels_in: int, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels_in, channels, 3, stride=2, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.shortcut = nn.Conv2d(channels_in, channels, 1, stride=2)
        self.norms = nn.ModuleList([nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        within = functional.relu(self.norms[0](self.first(x)))
        return functional.relu(self.norms[1](self.second(within)) + self.shortcut(x))


class SmallResNet(nn.Module):
    """Images [batch, 3, 64, 64] to the scores of ten classes [batch, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(Residual(3, 32), Residual(32, 64), Residual(64, 128))
        self.head = nn.Linear(128, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(images).mean((2, 3)))  # type: ignore[no-any-return]


class EncoderLayer(nn.Module):
    """Self-attention with four heads and a feed-forward part, each normalised before."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.projections = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.forward_part = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.projections(self.norms[0](x)).reshape(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = x + self.mix(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.forward_part(self.norms[1](x))  # type: ignore[no-any-return]


class SmallEncoder(nn.Module):
    """Embedded tokens [batch, 64, 128] to what the encoder makes of them, of the same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(EncoderLayer(128), EncoderLayer(128))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.layers(tokens)  # type: ignore[no-any-return]


def small_resnet() -> tuple[nn.Module, tuple[int, ...]]:
    """Make the ResNet, the same each time, and the shape of one row of its input."""
    torch.manual_seed(0)
    return SmallResNet().eval(), IMAGE


def small_encoder() -> tuple[nn.Module, tuple[int, ...]]:
    """Make the encoder, the same each time, and the shape of one row of its input."""
    torch.manual_seed(0)
    return SmallEncoder().eval(), TOKENS
