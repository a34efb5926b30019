"""What the scripts refuse: a command, and what its one sentence names. Nothing is written."""

import os
import shlex
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
    "long": "a\n\n" + "wort " * 10_001 + "\n",
    "gold": "0-0\n\n\n",
    "nolinks": "0-0\nx\n\n",
    "beyond": "0-0 1-1\n0-0\n\n",
    "far": "3-9\n\n\n",
    "digits": f"0-{'9' * 5000}\n\n\n",
    "naacl": f"1 1 {'9' * 5000}\n1 1 1\n",
    "last.jsonl": '{"text": "cats", "prefix": "\U0010ffff"}\n',
    "deep.jsonl": "[" * 100_000 + "\n",
    "nan.jsonl": '{"text": "cats", "prefix": NaN}\n',
    "surrogate.jsonl": '{"text": "cats", "avoid": ["\\ud800"]}\n',
    "text.wav": "no sound",
    "terms": "area\n",
    "ref.sgm": '<refset setid="newstest2014" srclang="any" trglang="de">\n<seg id="1">eins</seg>\n</refset>\n',
    "test.xml": '<?xml version="1.0"?>\n<seg id="1">eins</seg>\n</dataset>\n',
    "snowman": "cats\tHunde\nhouses\t☃\n",
    "terms.jsonl": '{"cats": "Hunde"}\n{}\n',
    "empty.log": '{"index": 0, "prediction": "", "delays": [], "reference": "a", "source_length": 3}\n',
    "bad.log": '{"index": 0, "prediction": "", "delays": [], "reference": "a", "source_length": 3}\nnonsense\n',
    "blank.log": '{"index": 0, "prediction": "a", "delays": [1], "reference": " ", "source_length": 1}\n',
}
# {run}: a run that is decoded by beam search; {hard}: one whose attention can be hard, decoded greedily.
# Of standard input there are two words, where a command says nothing else.
TRANSLATE = [
    ("< long", "standard input, line 3 has 10001 words, and at most"),
    ("< latin", r"standard input, line 2 is not UTF-8 \(byte 3 of the line\): convert the text"),
    ("{tmp}/absent", r"absent cannot be read \(No such file or directory\)"),
    ("--unknown-dictionary {tmp}/pipe", r"pipe cannot be read \(is no regular file\)"),
    ("--n-best 4", r"--n-best 4 asks for more hypotheses than the beam keeps \(3\): set --beam 4"),
    ("--each-line", "--each-line is about --format html.*: add that"),
    ("--format html --n-best 2", "--n-best is about lines without tags"),
    ("--format html --constraints tab", "leave out --format, or translate from Python, where"),
    ("--constraints json {tmp}/last.jsonl", r'line 1 asks for "\\U0010ffff", and the vocabulary of the model cannot'),
    ("--constraints tab {tmp}/last.jsonl", "last.jsonl has lines of JSON, of which --constraints json takes the text"),
    ("{tmp}/last.jsonl", "last.jsonl has lines of JSON, of which --constraints json takes the text: add that, or"),
    ("--engine onnx", "holds no graphs for --engine onnx: make them with mt export RUN"),
    ("--constraints json {tmp}/deep.jsonl", r"deep.jsonl, line 1 is no JSON \(it is nested too deeply\): write"),
    ("--constraints json {tmp}/nan.jsonl", r"line 1 is no JSON \(NaN is no number of JSON\): write"),
    ("--constraints json {tmp}/surrogate.jsonl", "surrogate.jsonl, line 1: the options cannot be read"),
    ("--plots {tmp}/en/plots", r"--plots .*en/plots cannot be written \(Not a directory\): give another folder"),
    ("--n-best 2 --search greedy", "--n-best is an option of --search sample or beam, and not of --search greedy"),
    ("--mode hard", "--mode hard needs an attention that can choose one position"),
    ("--search online", "--search online writes up to where the attention stops"),
    ("--wait-k 3", "--wait-k is an option of --search wait_k, and not of this run, which is decoded by beam search"),
    (f"--beam {'9' * 5000}", "--beam 999"),
    ("--length-penalty inf", "--length-penalty Infinity is not possible: input should be"),
    ("--min-length 9 --max-length 9", "--min-length 9 leaves no room for EOS within --max-length 9"),
    ("--buffer-size 0", "--buffer-size 0 is not a whole number from 1 to 1000000000"),
    ("--device gpu", "device=gpu is an invalid choice"),
    ("--alignments /", r"--alignments / cannot be written \(Is a directory\): give another"),
    ("--alignments {tmp}/en {tmp}/en", "en is the file to translate, and would overwrite it"),
    ("--search sample --n-best 2", r"--n-best 2 asks for more hypotheses than are drawn \(1\): set --samples 2"),
    ("--plot-words", "--plot-words is about --plots DIR: add that, or leave it out"),
    ("--unknown-dictionary {tmp}/one", "one, line 1 is no entry"),
    ("--leave-out", "--leave-out is about --min-confidence P: add that"),
    ("--placeholders qt", "--placeholders is about --format .*: add that"),
    ("--format html --placeholders qtt", r"a syntax of placeholders=qtt is an invalid choice: did you mean qt\? "),
    ("--min-confidence 2", "2 is no share: give a number from 0 to 1"),
    ("--k 3", "--k is gone: write --wait-k"),
]
STREAM = [
    ("--mode soft", "--mode is an option of --search greedy or sample or retranslate or beam or alignatt or agree"),
    ("--audio {tmp}/text.wav", "--audio is of runs that read sound, and this one reads text: leave it out, and send"),
]
EVALUATE = [
    ("--latency-unit char", "--latency-unit char is of searches that write while they read, and beam search does not"),
    ("--split dev {run} --calibrate", "--calibrate makes the table of confidences of one run in a folder here"),
    ("--out {tmp}/en", r"en cannot be written \(Not a directory\): give another folder"),
    ("--out /dev/full", r"/dev/full cannot be written \(Not a directory\): give another folder"),
    ("--calibrate", "--calibrate makes the table of confidences of one run .*: write RUN --split dev --calibrate"),
]
ALIGN = [
    ("--source {tmp}/en --target {tmp}/long", "long, line 3 has 10001 words"),
    ("--source {tmp}/en --target {tmp}/one", "en has 3 lines but .*one has 1: line n of each must belong to the same"),
    ("--source {tmp}/en --target {tmp}/de --gold {tmp}/nolinks", "nolinks, line 2: 'x' is not a link"),
    ("--source {tmp}/en --target {tmp}/de --gold {tmp}/beyond", "beyond, line 2: the link 0-0 joins a word that is"),
    ("--source {tmp}/en --target {tmp}/de --gold {tmp}/far", "far, line 1: the link 3-9.*--one-based.*--words blanks"),
    ("--source {tmp}/en --target {tmp}/de --gold {tmp}/gold --one-based", "gold, line 1: the link 0-0 names word 0"),
    ("{run} --source {tmp}/en --target {tmp}/de", "two runs .* go with --symmetrise, and you gave 2 runs:"),
    ("--symmetrise union --source {tmp}/en --target {tmp}/de", "two runs .* go with --symmetrise, and you gave 1 run:"),
    ("{run} --symmetrise union --source {tmp}/en --target {tmp}/de", "both models translate en to de, and symmetrisa"),
    ("--source {tmp}/en --target {tmp}/de --beam 3", "unknown option --beam: "),
    ("--source {tmp}/en --target {tmp}/de --plots {tmp}/en/x", r"--plots .*en/x cannot be written \(Not a directory\)"),
    ("--source {tmp}/en --target {tmp}/de --extract stops", "extract=stops is of an attention"),
    ("--source {tmp}/en --target {tmp}/de --extract 0", "extract=0 is no weight: give a number"),
    ("--source {tmp}/en --target {tmp}/de --extract most", "--extract most is not possible: give a number"),
    ("--source {tmp}/en --target {tmp}/de --plot-format svg", "--plot-format is about --plots DIR"),
]
DOUBLED = "doubled terms need translations without the glossary and their links: give --free and --links"
SCORE = [
    (
        "{tmp}/de {tmp}/ref.sgm",
        r"ref\.sgm, line 1 is markup of segments, as in WMT's \.sgm files, and a text has a segment",
    ),
    (
        "{tmp}/test.xml {tmp}/de",
        r"test\.xml, line 1 is markup of segments.*: write one by a command of docs/results\.md",
    ),
    ("{tmp}/one {tmp}/absent", r"absent cannot be read \(No such file or directory\): give an existing"),
    ("{tmp} {tmp}/one", "Is a directory"),
    ("{tmp}/empty {tmp}/one", "empty is empty: give a file with one sentence per line"),
    ("{tmp}/one {tmp}/pipe", "pipe is a named pipe: give a file, or /dev/stdin and the text on standard input"),
    ("{tmp}/two {tmp}/two {tmp}/one", "two has 2 lines but .*one has 1: line n of each must belong to the same"),
    ("--bleu-tokenizer zh --metrics chrf,ter {files}", "--bleu-tokenizer is an option of the metric bleu, and the"),
    ("{tmp}/two {tmp}/blank", "blank, line 2 is blank"),
    ("{tmp}/two {tmp}/blank {tmp}/blank", "error: line 2 is blank in all references"),
    ("--rouge-tokenizer intl {files}", "--rouge-tokenizer is an option of the metric rouge, and the metrics are bleu"),
    ("--multi max --metrics wer {files}", "--multi is an option of the metric rouge, and the metrics are wer: "),
    ("--no-stem --rouge-tokenizer zh --metrics rouge {files}", "--no-stem is about English stems, and with -"),
    ("--metrics bleu,chr {files}", r"--metrics=chr is an invalid choice: did you mean chrf\?"),
    ("--metrics= {files}", "--metrics= is an invalid choice: "),
    ("{tmp}/one", "--task translation compares with references: give HYPOTHESES, then files"),
    ("--target-language chines {files}", r"--target-language=chines is no language: did you mean chinese\?"),
    ("--unit char", "--unit is gone: write --latency-unit"),
    # Options of other tasks.
    ("--lead 3 {files}", "--lead is not for --task translation, but for --task summarization: leave it out"),
    ("--task terms --lowercase", "--lowercase is not for --task terms, but for --task translation or summarization or"),
    *(
        (f"--task {task} {option}", f"{option.split()[0]} is not for --task {task}, but for --task {owner}")
        for task, option, owner in (
            ("translation", "--latency-unit char", "simultaneous: "),
            ("translation", "--source x", "terms or likelihood or markup: "),
            ("likelihood", "--symmetrise union", "alignment: "),
            ("markup", "--length-penalty 0", "likelihood: "),
        )
    ),
    # Of single tasks.
    ("--task alignment {tmp}/gold", "--task alignment takes files of links and of gold links"),
    ("--task alignment {tmp}/gold {tmp}/gold {tmp}/gold", "with --symmetrise two of links"),
    ("--task terms {files}", "--task terms takes a glossary and three texts: write --glossary FILE"),
    ("--task terms --glossary {tmp}/snowman --source {tmp}/en --free {tmp}/en {tmp}/en {tmp}/de", DOUBLED),
    ("--task terms --glossary {tmp}/terms --source {tmp}/two {files}", "terms, line 1 has 0 TAB characters"),
    ("--task simultaneous {tmp}/bad.log", "takes a log, which holds the references: write --log .*bad.log, without"),
    ("--task simultaneous --log {tmp}/bad.log", "bad.log, line 2 is no line of an"),
    ("--task simultaneous --log {tmp}/empty.log", "empty.log has no hypothesis with a word, so there is no latency"),
    ("--task simultaneous --log {tmp}/blank.log", "blank.log, line 1 has a blank reference: remove that line"),
    *(
        (f"--task simultaneous --log {{tmp}}/bad.log {option}", "--latency-unit subword and --spm-model FILE go toge")
        for option in ("--latency-unit subword", "--spm-model {tmp}/two")
    ),
    ("--task likelihood {run} {files}", "takes a run, or several, and two files: write --run .* --source .* --target"),
    ("--task likelihood --run {tmp} --source {tmp}/two --target {tmp}/two", "is not a run folder"),
    *(
        (f"--task likelihood --run {{run}} --source {{tmp}}/two --target {{tmp}}/{rest}", facts)
        for rest, facts in (
            ("one", "two has 2 lines but .*one has 1"),
            ("blank", "blank, line 2 is blank, and a pair has two sides"),
            ("two --length-penalty -1", "--length-penalty -1.0 is not possible"),
        )
    ),
]
COMPARE = [("{tmp}", "holds no finished run"), ("{run} --baseline mocah", "no run is mocah, to be the baseline")]
EXPORT = [
    ("--precision int4", r"--precision int4 is an invalid choice: did you mean int8\? "),
    ("--push A/B", "--push is gone: write hf upload OWNER/NAME DIR"),
    ("--checkpoint first", "has no checkpoint first; it has: "),
    ("x", "x is one argument too many: leave it out"),
    ("--licence /absent", "/absent cannot be read as text"),
]
COMMANDS = [
    *((f"translate {{run}} {rest}", facts) for rest, facts in TRANSLATE),
    ("translate one {tmp}/two", "one is not a run folder: it holds no checkpoints/best"),
    ("translate {hard} --search online --precision int8", "--precision int8 is not for --search online, which comp"),
    *(
        (f"{script} {{run}}/checkpoints/best --checkpoint last", "--checkpoint last chooses among the checkpoints of")
        for script in ("translate", "evaluate", "stream")
    ),
    *((f"stream {{hard}} {rest}", facts) for rest, facts in STREAM),
    ("stream {run} --dtype bf16", "--dtype is gone: write --precision"),
    ("stream {run} --show", "--show is gone: write mt serve RUN, whose page shows when each word is read and"),
    ("translate {hard} {hard} --search online", "an ensemble reads the whole source before .* --search greedy"),
    *((f"{name} --glossary {{tmp}}/terms", "terms, line 1 has 0 TAB") for name in ("translate {run}", "stream {hard}")),
    *(
        (f"{name} --glossary {{tmp}}/snowman", 'snowman, line 2 asks for "☃"')
        for name in ("translate {run}", "stream {hard}")
    ),
    ("translate {run} --glossary {tmp}/terms.jsonl < en", "glossaries of single texts are one for each, here 3, as a"),
    ("stream {run} --search online", "--search online writes up to where the attention stops: it needs"),
    *((f"evaluate {{run}} --corpora {{corpora}} {rest}", facts) for rest, facts in EVALUATE),
    *((f"align {{run}} {rest}", facts) for rest, facts in ALIGN),
    *((f"score {rest}", facts) for rest, facts in SCORE),
    *((f"export {{run}} --out {{tmp}}/export {rest}", facts) for rest, facts in EXPORT),
    *((f"compare --out {{tmp}}/out --corpora {{corpora}} {rest}", facts) for rest, facts in COMPARE),
    *(
        (f"{script} {rest}", "; see --help$")
        for script in ("align", "average", "compare", "evaluate", "export", "score", "stream", "translate")
        for rest in ("", "--nothing")
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.mark.parametrize(("command", "facts"), COMMANDS, ids=[f"{command:.90}" for command, _ in COMMANDS])
def test_a_command(command, facts, call, folder, trained, trained_hard, corpora):
    line, _, given = command.partition(" < ")
    stdin = FILES[given] if given else "two\n"
    places = {"run": trained, "hard": trained_hard, "tmp": folder, "corpora": corpora}
    name, *arguments = shlex.split(line.format(**places, files=f"{folder}/two {folder}/two"))
    before = content(folder), content(trained), content(trained_hard)
    done = call(name, *arguments, stdin=stdin)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ") and len(done.err) < 700
    require_sentence(done.err.removesuffix("\n"), [facts])
    assert (content(folder), content(trained), content(trained_hard)) == before
