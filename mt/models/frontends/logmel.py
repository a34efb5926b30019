"""Sound as log-mel energies, computed in training and decoding, and subsampling by convolutions over time and frequency
(two of 3 x 3 with stride 2: Watanabe et al. 2018, ESPnet, as `conv2d`).

First stand the options, then the front-end for whole sounds and for arriving ones, then the state of the latter."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Int16
from pydantic import BaseModel, Field, model_validator
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from mt.common.options import MAX_SIZE, Options
from mt.errors import UserError
from mt.models.frontends.base import Frontend, FrontendState, Mask
from mt.ops.sound import (
    FULL_SCALE,
    LogMelState,
    Moments,
    log_mel,
    log_mel_extend,
    normalize,
    normalize_running,
    perturb_speed,
    spec_augment,
)

FRAMES = 100
"""Positions of sound in a second."""
LAG = 2
"""Positions that a frame needs, its own included: it reaches 17.5 ms from the beginning of its 10 ms."""
PRIOR = 200
"""The weight, in frames, of the training set's moments at the start of a sound, under `normalization: running`."""


class LogMelConfig(Options):
    name: Literal["logmel"] = "logmel"
    bands: Annotated[int, "units"] = Field(80, ge=4, le=512)
    """Mel bands, from 20 Hz to half the rate."""
    normalization: Literal["train", "utterance", "running"] = "train"
    """Mean 0 and variance 1 of each band. train: over the training set; utterance: over each sound; running: over each
    sound so far."""
    convolutions: Annotated[int, "layers"] = Field(2, ge=0, le=6)
    """Each halves the positions and the bands; 0 leaves the energies."""
    channels: Annotated[int, "units"] = Field(32, gt=0, le=MAX_SIZE)
    """The channels of each convolution."""
    causal: bool = False
    """Whether a vector depends on no later frame than its own, the last 17.5 ms of which are after it. Online decoding
    needs that."""
    dropout: Annotated[float, "share"] = Field(0.1, ge=0, lt=1)
    """Dropout on the vectors."""
    speeds: tuple[Annotated[float, Field(ge=0.1, le=10)], ...] = ()
    """Speeds that sounds are played at in training, such as [0.9, 1.0, 1.1] (Ko et al. 2015); [] leaves them."""
    frequency_masks: Annotated[int, "masks"] = Field(2, ge=0, le=100)
    """Stretches of bands that are hidden in training (SpecAugment: Park et al. 2019; these defaults: policy SM)."""
    frequency_width: Annotated[int, "bands"] = Field(15, ge=0, le=512)
    """Most bands of such a stretch."""
    time_masks: Annotated[int, "masks"] = Field(2, ge=0, le=100)
    """Stretches of frames (of 10 ms) that are hidden in training."""
    time_width: Annotated[int, "10 ms"] = Field(70, ge=0, le=10_000)
    """Most frames of such a stretch."""
    time_share: Annotated[float, "share"] = Field(0.2, ge=0, le=1)
    """Largest share of a sound that such a stretch hides."""

    @model_validator(mode="after")
    def _can_be_causal(self) -> "LogMelConfig":
        if self.causal and self.normalization == "utterance":
            raise UserError(
                "frontend.normalization=utterance needs the whole sound, and frontend.causal=true hears it as it "
                "arrives: set frontend.normalization=train or running"
            )
        return self


class SoundState(NamedTuple):
    """The state of one sound that is still arriving."""

    mel: LogMelState
    moments: Moments
    features: Tensor
    """[N, D]: the features that the next vectors need."""


class LogMel(Frontend):
    """A position of the source is 10 ms of samples, and gives one frame; a vector stands for 2 ** convolutions of them.

    The moments of the training set are buffers, which `fit` sets.
    """

    Config: ClassVar[type[BaseModel]] = LogMelConfig
    field = "audio"
    mean: Tensor
    std: Tensor

    def __init__(self, config: LogMelConfig) -> None:
        super().__init__()
        self.config = config
        self.incremental = config.causal
        self.incremental_with = None if config.causal else "frontend.causal=true"
        self.stride = 2**config.convolutions
        sizes = [1, *[config.channels] * config.convolutions]
        # Padded in bands; frames are padded before each, on the left alone where it is causal.
        self.convolutions = nn.ModuleList(
            nn.Conv2d(size, config.channels, 3, stride=2, padding=(0, 1)) for size in sizes[:-1]
        )
        # Each convolution halves the bands, rounded up.
        self.output_size = sizes[-1] * -(-config.bands // self.stride)
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("mean", torch.zeros(config.bands))
        self.register_buffer("std", torch.ones(config.bands))

    def forward(
        self, source: Int16[Tensor, "B F H"], mask: Bool[Tensor, "B F"]
    ) -> tuple[Float[Tensor, "B P D"], Bool[Tensor, "B P"]]:
        """Returns one vector for 2 ** convolutions positions. source: 10 ms of samples each."""
        # Frames [B, F, bands], changed at random in training alone, then fewer positions by convolutions.
        features, real = self._features(source, mask, perturbed=self.training and bool(self.config.speeds))
        features = self._normalized(features, real)
        if self.training:
            features = spec_augment(
                features,
                real.sum(1),
                # The CPU's generator on any device, seeded for each batch: the masks are the same everywhere.
                torch.default_generator,
                frequency_masks=self.config.frequency_masks,
                frequency_width=self.config.frequency_width,
                time_masks=self.config.time_masks,
                time_width=self.config.time_width,
                time_share=self.config.time_share,
            )
        return self._subsampled(features, real)

    def extend(
        self,
        source: Int16[Tensor, "B S H"],
        mask: Mask,
        complete: Bool[Tensor, " B"],
        state: FrontendState | None = None,
    ) -> tuple[Float[Tensor, "B P D"], Bool[Tensor, "B P"], FrontendState]:
        """Returns the next vectors. A frame needs the 12.5 ms after its centre: one comes with the next 10 ms."""
        if not self.incremental:
            return super().extend(source, mask, complete, state)
        # Each sound goes on by itself, from its own state.
        states = [None] * len(source) if state is None else _unpacked(state)
        sounds = zip(source, mask, complete.tolist(), states, strict=True)
        vectors, after = zip(
            *(self._extend_one(sound[real], ends, old) for sound, real, ends, old in sounds), strict=True
        )
        # Their new vectors as one batch, [B, P, D], with one column at least.
        counts = torch.tensor([len(each) for each in vectors], device=source.device)
        padded = pad_sequence([*vectors], batch_first=True)
        if not padded.shape[1]:
            padded = nn.functional.pad(padded, (0, 0, 0, 1))
        return padded, torch.arange(padded.shape[1], device=source.device) < counts[:, None], _packed(after)

    def fit(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        if self.config.normalization == "utterance":
            return
        moments = Moments.of_all(self._features(source.to(self.mean.device), mask) for source, mask in batches)
        if moments is not None:
            self.mean.copy_(moments.mean[0])
            self.std.copy_(moments.std[0])

    def output_lengths(self, lengths: Tensor) -> Tensor:
        return -(-lengths // self.stride)

    def needed(self, vectors: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
        """Returns the positions that this many vectors need: `LAG` from the first frame of the last vector on."""
        return self.stride * (vectors - 1) + LAG

    def _features(self, source: Tensor, mask: Tensor, *, perturbed: bool = False) -> tuple[Tensor, Tensor]:
        """Returns log-mel energies and their mask."""
        sounds = (source.float() / FULL_SCALE).flatten(1)  # [B, samples]
        hop = source.shape[2]  # samples of 10 ms
        lengths = mask.sum(1).to(sounds.device) * hop
        if perturbed:
            sounds, lengths = self._perturbed(sounds, lengths)
        features, counts = log_mel(sounds, lengths, FRAMES * hop, self.config.bands)
        return features, torch.arange(features.shape[1], device=sounds.device) < counts[:, None]

    def _perturbed(self, sounds: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        # Another speed is another length, so that the batch is padded anew.
        changed = [
            perturb_speed(sound[:length], torch.default_generator, self.config.speeds)
            for sound, length in zip(sounds, lengths.tolist(), strict=True)
        ]
        return pad_sequence(changed, batch_first=True), torch.tensor([len(each) for each in changed]).to(lengths)

    def _normalized(self, features: Tensor, real: Tensor) -> Tensor:
        if self.config.normalization == "utterance":
            return normalize(features, real)
        if self.config.normalization == "train":
            return normalize(features, real, Moments.worth(1, self.mean, self.std))
        return normalize_running(features, real, Moments.worth(PRIOR, self.mean, self.std))[0]

    def _subsampled(self, features: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        planes = features[:, None]  # [B, channels, frames, bands]
        lengths = real.sum(1)
        # The network takes silence for the left of the first frame and the right of the last.
        left = 2 if self.config.causal else 1
        for convolution in self.convolutions:
            planes = convolution(nn.functional.pad(planes, (0, 0, left, 2 - left))).relu()
            # The last of an odd number of positions stands for itself and silence.
            lengths = -(-lengths // 2)
            planes = planes[:, :, : -(-real.shape[1] // 2)]
            real = torch.arange(planes.shape[2], device=real.device) < lengths[:, None]  # [B, frames]
            planes = planes.masked_fill(~real[:, None, :, None], 0.0)
        return self.dropout(planes.transpose(1, 2).flatten(2)), real

    def _extend_one(self, source: Tensor, complete: bool, state: SoundState | None) -> tuple[Tensor, SoundState]:
        """Returns the next vectors of one sound."""
        if state is None:
            prior = Moments.worth(PRIOR, self.mean, self.std)
            nothing = self.mean.new_zeros(0, self.config.bands)
            state = SoundState(LogMelState(nothing[:, 0], 0), prior, nothing)
        # The next frames of normalised features.
        samples = source.flatten().float() / FULL_SCALE
        rate = FRAMES * source.shape[1]
        features, mel = log_mel_extend(samples, state.mel, complete=complete, rate=rate, bands=self.config.bands)
        real = torch.ones(1, len(features), dtype=torch.bool, device=source.device)
        moments = state.moments
        if self.config.normalization == "running":
            features, moments = normalize_running(features[None], real, moments)
        else:
            features = self._normalized(features[None], real)
        frames = torch.cat((state.features, features[0]))  # [frames, bands]
        # The convolutions begin two vectors before the next one, whose left neighbours are dropped and would differ.
        known = -(-state.mel.frame // self.stride)
        count = -(-mel.frame // self.stride)
        start = self.stride * max(known - 2, 0)
        vectors = frames.new_zeros(0, self.output_size)
        if count > known:
            everything = torch.ones(1, len(frames), dtype=torch.bool, device=source.device)
            vectors = self._subsampled(frames[None], everything)[0][0, known - start // self.stride :]
        # The next call begins two vectors before its first, too.
        first_needed = self.stride * max(count - 2, 0) - start
        return vectors, SoundState(mel, moments, frames[first_needed:])


def _packed(sounds: Iterable[SoundState]) -> FrontendState:
    """Returns the states of several sounds as batch-first tensors."""
    states = [*sounds]
    # The lengths, by which `_unpacked` cuts the padding off again.
    numbers = [(state.mel.frame, len(state.mel.samples), len(state.features)) for state in states]
    return (
        torch.tensor(numbers, device=states[0].features.device),
        pad_sequence([state.mel.samples for state in states], batch_first=True),
        pad_sequence([state.features for state in states], batch_first=True),
        *(torch.cat(sums) for sums in zip(*(state.moments for state in states), strict=True)),
    )


def _unpacked(state: FrontendState) -> list[SoundState]:
    numbers, samples, features, count, total, squares = state
    sounds = []
    for i, (frame, sounding, frames) in enumerate(numbers.tolist()):
        moments = Moments(count[i : i + 1], total[i : i + 1], squares[i : i + 1])
        mel = LogMelState(samples[i, :sounding], frame)
        sounds.append(SoundState(mel, moments, features[i, :frames]))
    return sounds
