"""The second task of an encoder: to write by itself, without a decoder."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mt.models.batch import Batch
from mt.models.encoders import Encoded
from mt.ops.losses import ctc_losses


class CTC(nn.Linear):
    """Connectionist temporal classification (Graves et al. 2006) of the targets or, where there is a vocabulary of
    transcripts, of what is said. The last class is the blank."""

    def __init__(self, value_size: int, target_vocab_size: int, transcript_vocab_size: int | None) -> None:
        super().__init__(value_size, (transcript_vocab_size or target_vocab_size) + 1)
        self._transcribes = transcript_vocab_size is not None

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        """Returns the loss of a batch in nats, summed, without EOS, which no part of a source stands for.

        0 for an example whose transcript is missing, and for a batch without transcripts where they are what is learnt.
        """
        labels = batch.target_out
        mask = batch.target_mask
        if self._transcribes:
            if batch.transcript is None or batch.transcript_mask is None:
                return encoded.values.new_zeros((), dtype=torch.float32)
            labels = batch.transcript
            mask = batch.transcript_mask
        pieces = mask[:, 1:]
        logits = self(encoded.values.to(self.weight.dtype))
        losses = ctc_losses(logits, encoded.mask, labels[:, :-1], pieces)
        return (losses.masked_fill(~pieces.any(1), 0) if self._transcribes else losses).sum()
