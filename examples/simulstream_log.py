"""A run that reads text, for simulstream's own scorers: the log that its server would write of a text, word by word.

    python -m examples.simulstream_log RUN test.en test.de DIR --search alignatt --f 2
    simulstream_stats --eval-config DIR/eval.yaml --log-file DIR/metrics.jsonl
    simulstream_score_latency --eval-config DIR/eval.yaml --log-file DIR/metrics.jsonl \
        --audio-definition DIR/audio.yaml --reference DIR/references.txt --scorer stream_laal

simulstream counts seconds of sound, so each source word is a second long. Each line of the source is a file of its own,
`00000.wav`, and one segment: nothing has to be cut again. Its scores are then in words.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from pathlib import Path

import mt
from examples.streaming import opened, parser_of
from mt.cli.arguments import reported_in_flags
from mt.storage import require_new, write_text
from mt.text_io import file_lines


def shown(translation: mt.Translation) -> list[tuple[int, list[str]]]:
    """Returns the words that a reader sees, with the number of source words with which they are shown."""
    timing = translation.timing
    if timing is None:
        return []
    # Drafts are noted after each source word; else each word has its delay.
    if timing.updates is not None:
        return [(read, text.split()) for read, text in zip(timing.updated, timing.updates, strict=True)]
    words = translation.text.split()
    delays = timing.word_delays
    return [(read, words[: sum(delay <= read for delay in delays)]) for read, _ in groupby(delays)]


def log_lines(number: int, translation: mt.Translation, source_words: int) -> Iterator[str]:
    """Yields the lines of the log for a sentence. What changes is taken back from its first word on. An empty line
    stands at the end, so that a sentence without a translation is there, too."""
    yield json.dumps({"id": number, "metadata": {"wav_name": f"{number:05}.wav"}})
    seen: list[str] = []
    for read, words in [*shown(translation), (source_words, translation.text.split())]:
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(seen, words, strict=False)))
        line = {"id": number, "total_audio_processed": read, "computation_time": 0.0}
        yield json.dumps(line | {"generated_tokens": words[same:], "deleted_tokens": seen[same:]}, ensure_ascii=False)
        seen = words


def write(
    folder: Path, sources: Sequence[str], references: Sequence[str], translations: Sequence[mt.Translation]
) -> None:
    """Writes the log, and what the scorers need beside it."""
    lengths = [len(source.split()) for source in sources]
    lines = [json.dumps({"model_loading_time": 0.0})]
    for number, (translation, length) in enumerate(zip(translations, lengths, strict=True)):
        lines += log_lines(number, translation, length)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "metrics.jsonl", lines)
    segments = enumerate(lengths)
    write_text(
        folder / "audio.yaml", [f"- {{wav: {n:05}.wav, offset: 0, duration: {length}}}" for n, length in segments]
    )
    write_text(folder / "references.txt", [" ".join(reference.split()) for reference in references])
    write_text(folder / "eval.yaml", ["detokenizer_type: simuleval", "latency_unit: word"])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("source", type=Path, help="a sentence a line")
    parser.add_argument("reference", type=Path)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a new folder")
    options = parser.parse_args()
    with reported_in_flags():
        require_new(options.folder)
        sources, references = ([*file_lines(path)] for path in (options.source, options.reference))
        if len(sources) != len(references):
            raise mt.UserError(
                f"{options.source} has {len(sources)} lines and {options.reference} {len(references)}: give each line "
                "its reference"
            )
        policy = opened(options)
        write(options.folder, sources, references, policy.translator.translate(sources, policy.search))


if __name__ == "__main__":
    main()
