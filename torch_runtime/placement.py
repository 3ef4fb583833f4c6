"""Which device an instance runs on, from its kind and id and from what the machine has."""

import torch

from triton_pytorch.model_config.configuration import Instance, InstanceKind
from triton_pytorch.model_config.errors import PlacementError

CPU = torch.device("cpu")


def device_of_instance(instance: Instance) -> torch.device | None:
    """Return the device that the instance group asks for; None for KIND_MODEL, where the model decides.

    Raises:
        PlacementError: KIND_GPU on a machine without that GPU.
    """
    if instance.kind is InstanceKind.MODEL:
        return None
    if instance.kind is InstanceKind.CPU:
        return CPU
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if instance.device_id >= count:
        raise PlacementError(
            f"instance_group asks for KIND_GPU on GPU {instance.device_id}, but torch {torch.__version__} finds "
            f"{count} GPUs on this machine: use KIND_CPU, or a machine and a torch with CUDA"
        )
    return torch.device("cuda", instance.device_id)
