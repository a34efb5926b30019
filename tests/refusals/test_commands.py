"""What the scripts refuse: a command, and what its one sentence names. Nothing is written."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.refusals.sentences import content, require_sentence

FILES: dict[str, str | bytes] = {
    "en": "two cats see houses\n\nthe green birds find streets\n",
    "de": "zwei Katzen sehen Häuser\n\ndie grünen 鳥 finden Straßen\n",
    "two": "a\nb\n",
    "one": "a\n",
    "empty": "",
    "blank": "a\n \n",
    "latin": b"\xef\xbb\xbfgut\nGr\xfc\xdfe\n\n",
    "long": "a\n\n" + "wort " * 100_000 + "\n",
    "gold": "0-0\n\n\n",
    "nolinks": "0-0\nx\n\n",
    "beyond": "0-0 1-1\n0-0\n\n",
    "far": "3-9\n\n\n",
    "empty.wav": "",
    "text.wav": "no sound",
}
# {run}: a run that is decoded by beam search; {hard}: one whose attention can be hard, decoded greedily.
# Of standard input there are two words, where a command says nothing else.
TRANSLATE = [
    ("< long", "standard input, line 3 has 100000 words, and at most"),
    ("< latin", r"standard input, line 2 is not UTF-8 \(byte 3 of the line\): convert the text"),
    ("{tmp}/absent", r"absent cannot be read \(No such file or directory\)"),
    ("--unknown-dictionary {tmp}/pipe", r"pipe cannot be read \(is a named pipe, and no regular file\)"),
    ("{tmp}/latin", "latin, line 2 is not UTF-8"),
    ("{tmp}/long", "long, line 3 has 100000 words"),
    ("--n-best 4", r"--n-best 4 asks for more hypotheses than the beam keeps \(3\): set --beam 4 or more"),
    ("--n-best 9 --beam 8", r"--n-best 9 asks for more hypotheses than the beam keeps \(8\): set --beam 9"),
    ("--format html --n-best 2", "--n-best is about lines without tags"),
    ("--each-line", "--each-line is about --format: add that"),
    ("--format html --constraints tab", "leave out --format, or translate from Python, where"),
    ("--n-best 0", "--n-best 0 is not possible: input should be greater than or equal to 1"),
    ("--n-best 2 --search greedy", "--n-best is an option of --search sample or beam, and not of --search greedy"),
    ("--beam 2 --search online", "--beam is an option of --search retranslate or beam, and not of --search online"),
    ("--mode hard", "--mode hard needs an attention that can choose one position"),
    ("--search online", "--search online writes while it reads"),
    ("--search wait_k", "--search wait_k shows the model only the source tokens read so far: it needs"),
    ("--search wait_k --wait-k 0", "--wait-k 0 is not possible: input should be greater than or equal to 1"),
    ("--wait-k 3", "--wait-k is an option of --search wait_k, and not of this run, which is decoded by beam search"),
    ("--beam 0", "--beam 0 is not possible: input should be greater than or equal to 1"),
    ("--beam 10000000000000000000", "--beam 10000000000000000000 is not possible: input should be less than or"),
    (f"--beam {'9' * 5000}", "--beam 999"),
    (
        "--summary-penalty 5 --search online",
        "--summary-penalty is an option of --search retranslate or beam, and",
    ),
    ("--length-penalty inf", "--length-penalty Infinity is not possible: input should be"),
    ("--length-penalty nan", "--length-penalty NaN is not possible: input should be"),
    ("--min-length 9 --max-length 9", "--min-length 9 leaves no room for EOS within --max-length 9"),
    ("--no-repeat-ngram-size -1", "--no-repeat-ngram-size -1 is not possible: input should be"),
    ("--buffer-size 0", "--buffer-size 0 is not a whole number from 1 to 1000000000"),
    ("--buffer-size -3", "--buffer-size -3 is not a whole number from 1 to"),
    ("--buffer-size 10000000000000000000", "--buffer-size 10000000000000000000 is not a whole number"),
    ("--search bean", r"--search bean is an invalid choice: did you mean beam\? "),
    ("--device gpu", "--device gpu is an invalid choice"),
    ("--checkpoint beast", "has no checkpoint beast; it has: "),
    ("--alignments /", r"--alignments / cannot be written \(Is a directory\): give another"),
    ("--alignments {tmp}/en {tmp}/en", "en is the file to translate, and would overwrite it"),
    ("--search greedy --utility chrf", "--utility is an option of --search sample or beam, and not of"),
    ("--samples 3", "--samples is an option of --search sample, and not of this run, which is decoded by beam"),
    ("--search sample --n-best 2", r"--n-best 2 asks for more hypotheses than are drawn \(1\): set --samples 2"),
    ("--search sample --temperature 0", "--temperature 0.0 is not possible: input should be greater than 0"),
    ("--utility ter", "--utility ter is an invalid choice"),
    ("--plot-words", "--plot-words are about --plots DIR: add that, or leave them out"),
]
STREAM = [
    ("--search beam", "--search beam reads the whole source before it writes: choose --search online or"),
    ("--search greedy", "--search greedy reads the whole source before it writes: choose --search online or"),
    ("--search wait_k", "--search wait_k shows the model only the source tokens read so far: it needs "),
    (
        "--beam 3",
        "--beam is an option of --search retranslate or beam, and not of this run, which is decoded by online",
    ),
    ("--mode soft", "--mode is an option of --search greedy or sample or retranslate or beam, and not of this run"),
    ("--wait-k 3", "--wait-k is an option of --search wait_k, and not of this run"),
    ("--device gpu", "--device gpu is an invalid choice"),
    ("--audio {tmp}/text.wav", "--audio is of runs that read sound, and this one reads text: leave it out, and send"),
]
EVALUATE = [
    ("--search online", "--search online writes while it reads"),
    ("--mode hard", "--mode hard needs an attention that can choose"),
    ("--length-penalty -1", "--length-penalty -1.0 is not possible"),
    ("--min-length 5 --max-length 5", "--min-length 5 leaves no room for EOS"),
    ("--checkpoint beast", "has no checkpoint beast; it has: "),
    ("--latency-unit char", "--latency-unit char is of searches that write while they read, and beam search does not"),
]
ALIGN = [
    ("--source {tmp}/en --target {tmp}/latin", "latin, line 2 is not UTF-8"),
    ("--source {tmp}/en --target {tmp}/empty", "empty is empty"),
    ("--source {tmp}/en --target {tmp}/long", "long, line 3 has 100000 words"),
    ("--source {tmp}/long --target {tmp}/de", "long, line 3 has 100000 words"),
    ("--source {tmp}/en --target {tmp}/absent", r"absent cannot be read \(No such file.*\): give an existing"),
    ("--source {tmp}/en --target {tmp}/one", "en has 3 lines but .*one has 1: line n of each must belong to the same"),
    ("--source {tmp}/en --target {tmp}/de --gold {tmp}/one", "en has 3 lines but .*one has 1"),
    ("--source {tmp}/en --target {tmp}/de --gold {tmp}/nolinks", "nolinks, line 2: 'x' is not a link"),
    ("--source {tmp}/en --target {tmp}/de --gold {tmp}/beyond", "beyond, line 2: the link 0-0 joins a word that is"),
    ("--source {tmp}/en --target {tmp}/de --gold {tmp}/far", "far, line 1: the link 3-9.*--one-based.*--words blanks"),
    ("--source {tmp}/en --target {tmp}/de --gold {tmp}/gold --one-based", "gold, line 1: the link 0-0 names word 0"),
    ("--source {tmp}/en --target {tmp}/de --mode hard", "--mode hard needs an attention that can choose one position"),
]
SCORE = [
    ("{tmp}/latin {tmp}/latin", r"latin, line 2 is not UTF-8 \(byte 3 of the line\): convert the text to UTF-8"),
    ("{tmp}/one {tmp}/absent", r"absent cannot be read \(No such file or directory\): give an existing"),
    ("{tmp} {tmp}/one", "Is a directory"),
    ("{tmp}/empty {tmp}/one", "empty is empty: give a file with one sentence per line"),
    ("{tmp}/one {tmp}/pipe", "pipe is a named pipe: give a file, or /dev/stdin and the text on standard input"),
    ("{tmp}/two {tmp}/two {tmp}/one", "two has 2 lines but .*one has 1: line n of each must belong to the same"),
    ("--bleu-tokenizer zh --metrics chrf,ter {files}", "--bleu-tokenizer is an option of the metric bleu, and the"),
    ("{tmp}/two {tmp}/blank", "blank, line 2 is blank"),
    ("{tmp}/two {tmp}/blank {tmp}/blank", "error: line 2 is blank in all references"),
    ("--target-language zh --task summarization {files}", "--target-language is an option of the metric bleu, "),
    ("--rouge-tokenizer intl {files}", "--rouge-tokenizer is an option of the metric rouge, and the metrics are bleu"),
    ("--rouge-protocol duc --metrics rougeL_coco {files}", "--rouge-protocol is an option of the metric rouge, "),
    ("--no-stem {files}", "--no-stem is an option of the metric rouge, and the metrics are bleu,chrf: leave it out"),
    ("--drop-unk --metrics wer {files}", "--drop-unk is an option of the metric rouge, and the metrics are wer: l"),
    ("--multi max --metrics wer {files}", "--multi is an option of the metric rouge, and the metrics are wer: "),
    ("--no-stem --rouge-tokenizer zh --metrics rouge {files}", "--no-stem is about English stems, and with -"),
    ("--metrics bleu,chr {files}", r"--metrics=chr is an invalid choice: did you mean chrf\?"),
    ("--metrics= {files}", "--metrics= is an invalid choice: "),
    ("--task translation --lead 3 {files}", "--lead N is a baseline of --task summarization: give it there, with N"),
    ("--task summarization --lead 0 {files}", "--lead N is a baseline of --task summarization: give it there, with N"),
]
COMPARE = [
    ("{tmp}", "holds no finished run"),
    ("{run} --baseline mocah", "no run is mocah, to be the baseline"),
]
COMMANDS = [
    *((f"translate {{run}} {rest}", facts) for rest, facts in TRANSLATE),
    ("translate one {tmp}/two", "one is not a run folder: it holds no checkpoints/best"),
    (
        "translate {hard} --beam 4",
        "--beam is an option of --search retranslate or beam, and not of this run, .* by greedy search",
    ),
    ("translate {hard} --search online --precision int8", "--precision int8 is not for --search online, which comp"),
    *(
        (
            f"{script} {{run}}/checkpoints/best --checkpoint last",
            "--checkpoint last chooses among the checkpoints of",
        )
        for script in ("translate", "evaluate", "stream")
    ),
    *((f"stream {{hard}} {rest}", facts) for rest, facts in STREAM),
    ("stream {run}", "cannot stream with this model, which reads the whole source first: train one with"),
    *((f"evaluate {{run}} --corpora {{corpora}} {rest}", facts) for rest, facts in EVALUATE),
    *((f"align {{run}} {rest}", facts) for rest, facts in ALIGN),
    *((f"score {rest}", facts) for rest, facts in SCORE),
    *((f"compare --out {{tmp}}/out --corpora {{corpora}} {rest}", facts) for rest, facts in COMPARE),
    *(
        (f"{script} {rest}", "; see --help$")
        for script in ("align", "average", "compare", "evaluate", "export", "score", "stream", "translate")
        for rest in ("", "''", "--nothing", "--out", "x --x= y")
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.mark.parametrize(("command", "facts"), COMMANDS, ids=[f"{command:.90}" for command, _ in COMMANDS])
def test_a_command(
    command: str,
    facts: str,
    call: Callable,
    folder: Path,
    trained: Path,
    trained_hard: Path,
    corpora: Path,
) -> None:
    line, _, given = command.partition(" < ")
    stdin = FILES[given] if given else "two\n"
    places = {"run": trained, "hard": trained_hard, "tmp": folder, "corpora": corpora}
    name, *arguments = shlex.split(line.format(**places, files=f"{folder}/two {folder}/two"))
    before = content(folder), content(trained), content(trained_hard)
    done = call(name, *arguments, stdin=stdin)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ") and len(done.err) < 600 and "search." not in done.err
    require_sentence(done.err.removesuffix("\n"), [facts])
    assert (content(folder), content(trained), content(trained_hard)) == before
