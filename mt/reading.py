"""What a loaded model reads and how what it found is told: what translating, aligning and streaming have in common."""

from collections.abc import Iterable, Sequence

import torch

from mt.config import Config
from mt.data.fields import Raw, ReadSource, Row, build_field
from mt.data.tokenizer import Tokenizers, Unit
from mt.data.words import count_words
from mt.delays import delays
from mt.distributed import ALONE, World
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.search.hypothesis import Hypothesis
from mt.translation import Translation


class Reading:
    """A trained model with its tokenizers, and the field of its sources."""

    def __init__(self, model: Seq2Seq, tokenizers: Tokenizers, config: Config, world: World = ALONE) -> None:
        """world: of several processes that decode together, each a share of what all of them are given alike."""
        self.model = model.eval()
        self.tokenizers = tokenizers
        self.config = config
        self.world = world
        self.field = build_field(config.dataset.field)
        """What the sources are."""
        self.device = next(model.parameters()).device
        self.unit: Unit = "char" if all(side.of_characters for side in tokenizers) else "word"
        """What the links of translations join: characters where both sides are cut into characters, else words."""

    def __repr__(self) -> str:
        config = self.config
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return (
            f"Translator(dataset={config.dataset.name}, encoder={config.encoder.name}, "
            f"attention={config.attention.name}, decoder={config.decoder.name}: {parameters:,} parameters on "
            f"{self.device})"
        )

    def _read(self, row: Row, given: Raw | None) -> ReadSource:
        """given: what the row was made of, where that is known."""
        places = int(self.model.places(torch.tensor([self.field.length(row)])))
        return self.field.read(row, places, self.tokenizers.source, self.unit, given)

    def _translation(
        self,
        text: str,
        source: ReadSource,
        hypothesis: Hypothesis,
        target_units: Sequence[int | None],
    ) -> Translation:
        return Translation(
            text=text,
            score=hypothesis.score,
            tokens=tuple(self.tokenizers.target.pieces(hypothesis.tokens)),
            source_tokens=tuple(source.labels),
            windows=hypothesis.windows,
            source_units=tuple(source.units),
            target_units=tuple(target_units),
            stops=None if hypothesis.stops is None else hypothesis.stops.numpy(),
            chunk_size=self.model.chunk_size,
            energies=hypothesis.energies,
            backdrop=source.backdrop,
            ids=tuple(hypothesis.tokens),
            **delays(self.tokenizers.target, source, hypothesis, self.model.frontend.needed),
        )

    def _encoded(self, sources: Sequence[Raw]) -> Sequence[Row]:
        if self.field.written:
            self.refuse_long([str(source) for source in sources])
        return self.field.encode(sources, self.tokenizers.source)

    def refuse_long(self, texts: Iterable[str], place: str = "text", first: int = 1) -> None:
        """Raises UserError where a text is too long. place, first: what to call the texts, and the first's number."""
        limit = self.config.dataset.cleaning.max_evaluation_length
        for number, text in enumerate(texts, start=first):
            # A text of few characters cannot have many words; most need no counting.
            if len(text) > limit and (words := count_words(text)) > limit:
                raise UserError(
                    f"{place} {number} has {words} words, and at most {limit} are read at once: split it into "
                    "sentences, one a line"
                )

    def _refuse_many_places(self, rows: Sequence[Row], indices: Sequence[int]) -> None:
        """Raises UserError where the model is not defined for so long a source. indices: from 0, for the sentence."""
        limit = self.model.max_source_length
        if limit is None or not rows:
            return
        lengths = self.model.places(torch.tensor([self.field.length(row) for row in rows])).tolist()
        for length, index in zip(lengths, indices, strict=True):
            if length > limit and self.field.written:
                raise UserError(
                    f"text {index + 1} has {length} tokens, and this model reads at most {limit}: split it into "
                    "sentences, one a line"
                )
            if length > limit:
                raise UserError(
                    f"source {index + 1} has {length} positions, and this model reads at most {limit}: cut it"
                )
