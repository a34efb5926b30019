"""The aligner head: a small attention that, unlike the decoder's, knows the target word that it aligns.

    q_t = f(r_t, r_{t+1}, y_t);  k_j = g(h_j, x_j);  weights of step t = softmax over j of q_t . k_j / sqrt(d)

The readout r_t predicts y_t, and the step of r_{t+1} has read it (Chen et al. 2020, "Accurate word alignment induction
from neural machine translation", Shift-AET). The target word y_t itself joins them (Peter et al. 2017, "Generating
alignments using target foresight in attention-based neural machine translation"). The encoder's value is h_j, and the
word vector x_j. The networks f and g have one hidden layer each.

The aligner learns word links (`training.guided_alignment`) on a frozen model, and has no part in translations.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from mt.kernels.linear import Linear
from mt.models.encoders import Encoded
from mt.ops.sequences import masked_softmax


class Aligner(nn.Module):
    def __init__(self, size: int, query_size: int, key_size: int) -> None:
        """size: of the layers. query_size, key_size: of the inputs of f and g."""
        super().__init__()
        self.queries = nn.Sequential(Linear(query_size, size), nn.Tanh(), Linear(size, size))
        self.keys = nn.Sequential(Linear(key_size, size), nn.Tanh(), Linear(size, size))
        self.scale = size**-0.5

    def forward(
        self,
        readouts: Float[Tensor, "B T F"],
        targets: Float[Tensor, "B T E"],
        encoded: Encoded,
        sources: Float[Tensor, "B S D"],
    ) -> Float[Tensor, "B T S"]:
        """Returns the weights of the source positions for each target position, float32.

        readouts: of the steps that predict the targets. targets, sources: vectors of the words.
        """
        # The readout of the next step, which has read the word itself.
        later = pad(readouts[:, 1:], (0, 0, 0, 1))
        queries = self.queries(torch.cat((readouts, later, targets), -1).float())  # [B, T, A]
        keys = self.keys(torch.cat((encoded.values, sources), -1).float())  # [B, S, A]
        return masked_softmax(self.scale * queries @ keys.transpose(1, 2), encoded.mask[:, None])
