"""How a model reads its source: whole, while it arrives, or behind a prefix mask."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from mt.kernels.padding import append
from mt.models.decoders import Decoder, DecoderMemory
from mt.models.encoders import Encoded, Encoder, EncoderState
from mt.models.frontends import Frontend, FrontendState
from mt.trees import select_rows


class SourceState(NamedTuple):
    """What the next positions of sources that are still arriving are encoded from; batch-first tensors."""

    frontend: FrontendState
    encoder: EncoderState
    vectors: Tensor
    """[B] int64: how many the front-end has given."""
    unencoded: tuple[Tensor, Tensor] | None
    """Tokens that were read and have no value yet, and their mask, where the decoder copies tokens; else None."""


class SourceReader(nn.Module):
    """A front-end, an encoder, and a decoder whose memory is made of what they give."""

    frontend: Frontend
    encoder: Encoder
    decoder: Decoder

    def encode(self, source: Tensor, mask: Bool[Tensor, "B S"]) -> DecoderMemory:
        """source: [B, S, ...], what the front-end takes; mask: true on real positions, padding on the right."""
        return self.decoder.init_memory(self.encoded(source, mask))

    def encoded(self, source: Tensor, mask: Bool[Tensor, "B S"], rows: Int[Tensor, " N"] | None = None) -> Encoded:
        """Returns what the encoder gives, with the tokens where the decoder copies some; see `encode`. rows: of which
        sources, each as often as it is named; None: of all, once."""
        encoded = self.encoder(*self.frontend(source, mask))
        encoded = encoded if self.decoder.copying is None else encoded._replace(tokens=source)
        return encoded if rows is None else select_rows(encoded, rows)

    def encoded_lengths(self, lengths: Int[Tensor, " N"]) -> Int[Tensor, " N"]:
        """Returns how many positions sources of these lengths, counted as their field does, have for the attention: of
        text its tokens, EOS included."""
        return self.encoder.output_lengths(self.frontend.output_lengths(lengths))

    def extend(
        self,
        source: Tensor,
        mask: Bool[Tensor, "B S"],
        complete: Bool[Tensor, " B"],
        before: tuple[DecoderMemory, SourceState] | None = None,
    ) -> tuple[DecoderMemory, SourceState]:
        """Encodes the next positions of sources that are still arriving, where front-end and encoder are incremental.

        source, mask: as in `encode`, of the new positions (see `Encoder.extend`); complete: which sources end with
        them; before: what the call before returned, None for the first positions.
        """
        memory, state = (None, None) if before is None else before
        frontend_state, encoder_state, count, unencoded = (None, None, 0, None) if state is None else state
        vectors, vector_mask, frontend_state = self.frontend.extend(source, mask, complete, frontend_state)
        encoded, encoder_state = self.encoder.extend(vectors, vector_mask, encoder_state, complete)
        if self.decoder.copying is not None:
            tokens, unencoded = _tokens_of(encoded, unencoded, source, mask)
            encoded = encoded._replace(tokens=tokens)
        after = SourceState(frontend_state, encoder_state, vector_mask.sum(1) + count, unencoded)
        return self.decoder.extend(memory, encoded, complete), after

    def wait(self, memory: DecoderMemory, k: int, lengths: Int[Tensor, " B"]) -> DecoderMemory:
        """Returns the memory with a prefix mask (Ma et al. 2019, section 3.1): step t, counted from 1, attends to those
        positions alone whose values are known when k + t - 1 source tokens have been read. Where `supports_wait_k`.
        lengths: see `read_for`."""
        visible_from = self.read_for(memory, lengths) - k
        return memory._replace(attention=memory.attention._replace(visible_from=visible_from))

    def read_for(self, memory: DecoderMemory, lengths: Int[Tensor, " B"]) -> Int[Tensor, "B S"]:
        """Returns how many vectors of the front-end, of text tokens, must have come before the value of each position
        is known (see `Encoder.read_for`); one more than there are, where the source must have ended and its last vector
        does not say so. lengths: the vectors of each source. Of a memory from which nothing was dropped."""
        mask = memory.attention.mask
        complete = memory.attention.complete
        lengths = lengths + self.frontend.end
        if complete is not None:
            lengths = lengths.masked_fill(~complete, torch.iinfo(torch.int64).max)
        positions = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)
        return self.encoder.read_for(positions, lengths[:, None])


def _tokens_of(
    encoded: Encoded,
    before: tuple[Tensor, Tensor] | None,
    source: Int[Tensor, "B N"],
    mask: Bool[Tensor, "B N"],
) -> tuple[Int[Tensor, "B S"], tuple[Tensor, Tensor]]:
    """Returns the tokens of the positions that were encoded, and those that were read and not encoded, with their mask.

    before: what was read and not encoded before. source, mask: what was read since.
    """
    (tokens,), known = ((source,), mask) if before is None else append(before[:1], before[1], (source,), mask)
    counts = encoded.mask.sum(1)
    left = known.sum(1) - counts
    rest = torch.arange(int(left.max()), device=left.device)
    columns = (counts[:, None] + rest).clamp(max=tokens.shape[1] - 1)
    width = encoded.mask.shape[1]
    return pad(tokens, (0, width - tokens.shape[1])), (tokens.gather(1, columns), rest < left[:, None])
