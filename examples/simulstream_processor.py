"""A run that reads sound, in simulstream's server and its `simulstream_inference`.

    simulstream_inference --speech-processor-config mt.yaml --wav-list-file wavs.txt --metrics-log-file metrics.jsonl

mt.yaml:

    type: examples.simulstream_processor.Processor
    run: RUN
    speech_chunk_size: 0.5                # seconds that come at a time
    search: {name: alignatt, f: 4}        # or nothing: as the run streams by default
    unit: word                            # char for languages that put no blanks between words
    device: cpu
    detokenizer_type: simuleval           # for its scorers: tokens are words
    latency_unit: word

simulstream imports this file, which nothing else does. A run has one pair of languages, so those that a client asks for
are passed over.
"""

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from simulstream.server.speech_processors import SAMPLE_RATE, SpeechProcessor
from simulstream.server.speech_processors.incremental_output import IncrementalOutput

import mt
from mt.data.fields.audio import ratio, resampled_on
from mt.data.tokenizer import Unit
from mt.errors import reported
from mt.search.config import SearchConfig, revised_search


class Processor(SpeechProcessor):  # type: ignore[misc]
    """Translates the sound of one client at a time. What it has written stays."""

    translator: ClassVar[mt.Translator]
    search: ClassVar[SearchConfig]

    @classmethod
    def load_model(cls, config: SimpleNamespace) -> None:
        """Loads the run that all clients share. Ends the process with a sentence where it cannot stream."""
        with reported():
            cls.translator = mt.load(config.run, device=getattr(config, "device", "auto"))
            if cls.translator.config.dataset.field.name != "audio":
                kind = cls.translator.config.dataset.field.name
                raise mt.UserError(f"run: {config.run} reads {kind}, and simulstream sends sound: name another run")
            changes = vars(getattr(config, "search", SimpleNamespace()))
            cls.search = revised_search(cls.translator.streaming_search(), changes)
            cls.translator.stream(cls.search)

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__(config)
        self._unit: Unit = getattr(config, "unit", "word")
        self._rates = ratio(SAMPLE_RATE, self.translator.config.dataset.field.rate)
        self.clear()

    def clear(self) -> None:
        """Begins another sound."""
        self._session = self.translator.stream(self.search, unit=self._unit)
        self._filter: Any = None

    def process_chunk(self, waveform: np.ndarray) -> IncrementalOutput:
        """Reads what has come, [N] within [-1, 1], and returns the words that are certain with it."""
        return self._output(self._session.read(self._resampled(waveform, complete=False)))

    def end_of_stream(self) -> IncrementalOutput:
        """Returns the rest of the translation. Nothing is taken back, which simulstream 1.0.0 would lose here."""
        rest = self._session.read(self._resampled(np.zeros(0, np.float32), complete=True))
        return self._output([*rest, *self._session.finish()])

    def tokens_to_string(self, tokens: list[str]) -> str:
        """Joins words. A blank follows each, since clients put outputs together as they come."""
        return "".join(tokens if self._unit == "char" else (f"{token} " for token in tokens))

    def set_source_language(self, language: str) -> None:
        """Does nothing: a run has one source language."""

    def set_target_language(self, language: str) -> None:
        """Does nothing: a run has one target language."""

    def _resampled(self, samples: np.ndarray, *, complete: bool) -> np.ndarray:
        """Returns samples at the run's rate. The filter holds some back until it has seen what follows."""
        if self._rates[0] == self._rates[1]:
            return samples
        piece, self._filter = resampled_on(samples, self._filter, complete, *self._rates)
        return piece.clip(-1, 1)

    def _output(self, words: list[str]) -> IncrementalOutput:
        return IncrementalOutput(words, self.tokens_to_string(words), [], "")
