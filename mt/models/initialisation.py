"""How the matrices of a model start."""

import torch
from torch import nn


def init_matrices(model: nn.Module, limit: float) -> None:
    """Lets the matrices of torch's linear and recurrent layers start uniform in [-limit, limit]. Every other parameter
    keeps what its own module gave it: so do word vectors, even where they are the output matrix."""
    tables = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.RNNBase)):
            for parameter in module.parameters():
                if parameter.dim() == 2 and parameter not in tables:
                    nn.init.uniform_(parameter, -limit, limit)


@torch.no_grad()
def open_forget_gates(model: nn.Module, forget_bias: float) -> None:
    """Adds to the biases of the forget gates of torch's LSTMs (Gers et al. 2000; Jozefowicz et al. 2015)."""
    for module in model.modules():
        if isinstance(module, nn.LSTM):
            for name, parameter in module.named_parameters():
                if name.startswith("bias_ih"):
                    parameter.chunk(4)[1].add_(forget_bias)
