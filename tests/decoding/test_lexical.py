"""Phrases, phrases to avoid and prefixes as people write them: forced in raw text, refused with their line."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mt.config import Config
from mt.data.glossary import Entry
from mt.data.tokenizer import EOS, TokenizerConfig, Tokenizers
from mt.decoding.lexical import ConstraintEncoder, spelling_of
from mt.decoding.lines import LineFiles, translate_lines
from mt.decoding.request import LexicalConstraints, Request
from mt.decoding.torch_network import torch_translator
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.search.config import BeamConfig, GreedyConfig, SampleConfig, SearchConfig
from tests.decoding.decoded import random_model
from tests.marks import combined
from tests.refusals.sentences import require_refusal

BEAM = BeamConfig(beam_size=4, max_ratio=3.0, max_extra=10)
TYPES = {"bpe": 60, "unigram": 60, "char": 60, "word": 100}


@pytest.fixture(scope="module")
def sides(texts: Path) -> list[tuple[str, str]]:
    return [*zip(*((texts / f"train.{side}").read_text().splitlines() for side in ("en", "de")), strict=True)]


@pytest.fixture(scope="module")
def tokenizers(sides: list[tuple[str, str]]) -> dict[str, Tokenizers]:
    configs = {kind: TokenizerConfig(model_type=kind, vocab_size=size) for kind, size in TYPES.items()}
    return {kind: Tokenizers.train(config, sides) for kind, config in configs.items()}


@pytest.fixture(scope="module")
def made(configure: Callable[..., Config], tokenizers: dict[str, Tokenizers]) -> Callable[..., Translator]:
    """made(kind): a translator of a random model that writes these pieces."""

    def make(kind: str) -> Translator:
        sizes = {"hidden_size": 16, "readout_size": 16}
        changes = {"encoder": {"name": "bilstm", "hidden_size": 16}, "decoder": {"name": "luong"} | sizes}
        changes["dataset"] = {"tokenizer": {"model_type": kind, "vocab_size": TYPES[kind]}}
        config = configure({**changes, "embedding": {"embedding_dim": 16}})
        model = random_model(config, tokenizers[kind], seed=0)
        model.decoder.output.bias.data[EOS] += 2
        return torch_translator(model, tokenizers[kind], config)

    return make


def holds(text: str, phrase: str) -> bool:
    """Whether a phrase stands in a text as whole words; 鳥 is one, whatever stands beside it."""
    begin, end = ("" if phrase[i] == "鳥" else edge for i, edge in ((0, r"(?<![^\W鳥])"), (-1, r"(?![^\W鳥])")))
    return re.search(begin + re.escape(phrase) + end, text) is not None


@combined(
    kind=[*TYPES], search=[BEAM, GreedyConfig(max_ratio=3.0, max_extra=10), BEAM.model_copy(update={"n_best": 3})]
)
def test_random_phrases_of_the_language_are_met(made, sides, kind: str, search: SearchConfig) -> None:
    draw = random.Random(kind)
    translator = made(kind)
    sources = [source for source, _ in sides[:40]]
    constraints = []
    for _ in sources:
        words = draw.choice(sides)[1].split()
        begins = [draw.randrange(len(words)) for _ in range(draw.randint(0, 3))]
        constraints.append([" ".join(words[begin : begin + draw.randint(1, 2)]) for begin in begins])
    for of_text, phrases in zip(
        translator.n_best(sources, None, search, constraints=constraints), constraints, strict=True
    ):
        assert len(of_text) == getattr(search, "n_best", 1)
        for translation in of_text:
            missing = [phrase for phrase in phrases if not holds(translation.text, phrase)]
            assert missing == [], translation.text
            assert all(translation.text.count(phrase) >= phrases.count(phrase) for phrase in phrases)


@combined(kind=[*TYPES], search=[BEAM, GreedyConfig(), SampleConfig(samples=3)])
def test_avoided_phrases_and_prefixes(made, sides, kind: str, search: SearchConfig) -> None:
    translator = made(kind)
    sources = [source for source, _ in sides[:12]]
    free = [translation.text for translation in translator.translate(sources, search)]
    avoid = [[*text.split()[1:3], *([text] if text else [])] for text in free]
    prefix = [["die gr", None, "zwei "][i % 3] for i in range(len(free))]
    changed = translator.translate(sources, search, avoid=avoid, prefix=prefix)
    for before, after, phrases, beginning in zip(free, changed, avoid, prefix, strict=True):
        assert not any(holds(after.text, phrase) for phrase in phrases)
        assert f"{after.text} ".startswith(beginning or "")
        assert not phrases or after.text != before


def test_a_prefix_inside_a_word_is_written_in_other_pieces(made, tokenizers) -> None:
    """`grün` of `grünen` is cut otherwise than the word that it becomes."""
    translator = made("bpe")
    target = tokenizers["bpe"].target
    word = next(piece[1:] for piece in target.pieces(range(len(target))) if len(piece) > 4 and piece.startswith("▁"))
    results = [translator.n_best("two cats", 8, BEAM, prefix=word[:n]) for n in range(1, len(word))]
    assert f"▁{word}" in {one.tokens[0] for result in results for one in result}


def test_what_tokens_write_is_what_decoding_gives(tokenizers, sides) -> None:
    for pair in tokenizers.values():
        spelling = spelling_of(pair.target)
        for _, text in sides[:20]:
            ids = pair.target.encode([text])[0]
            assert " ".join("".join(spelling.surfaces[token] for token in ids).split()) == pair.target.decode(ids)


def test_scripts_without_blanks() -> None:
    """A phrase may stand within what stands between blanks, and is avoided there."""
    draw = random.Random(1)
    lines = ["".join(draw.choices("私東京都大学行食見何時", k=8)) for _ in range(300)]
    target = Tokenizers.train(TokenizerConfig(vocab_size=60), [*zip(lines, lines, strict=True)]).target
    request = Request("line 1", LexicalConstraints(constraints=("東京",), avoid=("大学",)))
    asked = ConstraintEncoder(target).encoded(request)
    (forms,) = asked.phrases.forms
    assert {target.decode(form.tokens) for form in forms} == {"東京"}
    assert {target.pieces(form.tokens)[0].startswith("▁") for form in forms} == {True, False}
    assert not asked.avoided.allows(target.encode(["東京大学"])[0])
    assert asked.avoided.allows(target.encode(["東京大食"])[0])


SHORT = {"search": BeamConfig(max_length=2)}
ONCE = {"search": BeamConfig(no_repeat_ngram_size=1)}
DRAWN = {"search": SampleConfig()}
REFUSED = {
    "a character that is unknown": ({"constraints": ["Haus ☃"]}, r'asks for "Haus ☃", and .* cannot write ☃: write it'),
    "of a prefix": ({"prefix": "die ☃ "}, r"^text 1 asks for .*, and the vocabulary of the model cannot write ☃"),
    "inside the last word of a prefix": ({"prefix": "die Kat☃"}, r"^text 1 asks for \"die Kat☃\", .* cannot write ☃"),
    "wanted and forbidden": ({"constraints": ["die Katzen"], "avoid": ["Katzen"]}, 'asks for "die Katzen" and to avo'),
    "a forbidden prefix": ({"prefix": "zwei Katzen ", "avoid": ["Katzen"]}, "at once: leave out the one or the other$"),
    "too long": (
        {"constraints": ["zwei grüne Häuser"]} | SHORT,
        r"^text 1 asks for \d+ tokens or more, and at most 2 are",
    ),
    "of samples": ({"constraints": ["Katzen"]} | DRAWN, "phrases, for which search=sample has no room: choose search="),
    "a forbidden last word": ({"prefix": "die Katzen", "avoid": ["die"]} | DRAWN, 'asks for "die Katzen" and to avoid'),
    "a repetition": (
        {"constraints": ["Katzen", "Katzen"]} | ONCE,
        "asks for tokens in a row twice, which .*=1 forbids",
    ),
    "a blank phrase": ({"constraints": [" "]}, r"^text 1 has a blank phrase in constraints: write some words"),
    "a number": ({"constraints": [3]}, r"^text 1: constraints"),
    "forms that are none": ({"constraints": [{"any_of": []}]}, r"^text 1: constraints"),
    "a word in place of a list": ({"avoid": "Katzen"}, r"^text 1: avoid"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_impossible_is_refused(made, case: str) -> None:
    asked, sentence = REFUSED[case]
    require_refusal(lambda: made("bpe").translate("two cats", **({"search": BEAM} | asked)), sentence)


def test_of_several_texts_the_one_is_named(made) -> None:
    translator = made("bpe")
    require_refusal(lambda: translator.translate(["two", "cats"], BEAM, constraints=[None, ["☃"]]), r"^text 2 asks for")
    with pytest.raises(UserError, match=r"^text 2 is blank, so that its translation is empty, and asks for words"):
        translator.translate(["two", " "], BEAM, constraints=[None, ["die"]])
    for wrong in (["die"], "die", {"text": "die"}):
        with pytest.raises(UserError, match=r"^prefix is asked of 2 texts: give a list with an entry for each"):
            translator.translate(["two", "cats"], BEAM, prefix=wrong)


def test_a_blank_text_is_empty_whatever_its_translation_begins_with(made) -> None:
    """A stream, too, begins nothing where nothing comes."""
    translator = made("bpe")
    two, blank = translator.translate(["two", " \u200b"], BEAM, prefix=["die", "die"])
    assert two.text.startswith("die") and (blank.text, blank.tokens) == ("", ())
    session = translator.stream(prefix="die")
    assert [session.read(" "), session.finish(), session.text] == [[], [], ""]


LINES = [
    {"text": "two cats", "constraints": ["Häuser", {"any_of": ["grün", "grüne"]}]},
    {"text": ""},
    {"text": "the big cats see", "avoid": ["Katzen", "die"], "prefix": "zwei "},
    {"text": "two green houses"},
]


def test_lines_of_json(made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    translator = made("bpe")
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in LINES) + "\n")
    translate_lines(translator, path, BEAM, LineFiles(), None, lines_at_once=3, form="json")
    first, empty, third, free, *last = capsys.readouterr().out.split("\n")
    assert holds(first, "Häuser") and (holds(first, "grün") or holds(first, "grüne"))
    assert (empty, last) == ("", ["", ""])
    assert third.startswith("zwei ") and not holds(third, "Katzen") and not holds(third, "die")
    assert free == translator.translate("two green houses", BEAM).text


def test_lines_of_tabs(made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lines.tsv"
    path.write_text("two cats\tHäuser\tgrüne Katzen\n\nthe cats\n")
    translate_lines(made("bpe"), path, BEAM, LineFiles(), None, lines_at_once=2, form="tab")
    first, blank, _, _ = capsys.readouterr().out.split("\n")
    assert holds(first, "Häuser") and holds(first, "grüne Katzen") and blank == ""


@pytest.mark.parametrize(
    ("line", "form", "sentence"),
    [
        ("two cats", "json", r"line 5 is no JSON \(.*\): write \{\"text\""),
        ('["two"]', "json", r"line 5 is no object of JSON: write"),
        ('{"constraints": ["a"]}', "json", r"line 5: text is missing: give it a value"),
        ('{"text": "two", "constrains": ["a"]}', "json", r"line 5: unknown option constrains"),
        ('{"text": "two", "prefix": 3}', "json", r"line 5: prefix=3 is not possible"),
        ("two cats\tHäuser\t", "tab", r"line 5 has a blank phrase in constraints"),
    ],
)
def test_lines_that_are_refused(made, line: str, form, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("\n" * 4 + line + "\n")
    with pytest.raises(UserError, match=sentence):
        translate_lines(made("bpe"), path, BEAM, LineFiles(), None, lines_at_once=3, form=form)


def test_a_target_has_a_capital_at_the_beginning_of_a_text() -> None:
    pairs = [("dogs", "hunde"), ("cats", "Hunde")] * 9
    encoder = ConstraintEncoder(Tokenizers.train(TokenizerConfig(model_type="char", vocab_size=60), pairs).target)
    (target,) = encoder.source_term(Entry(("hunde",), "line 1", "dogs")).targets
    surfaces = encoder.spelling.surfaces
    texts = ["".join(surfaces[token] for token in tokens) for tokens in (target.capital, target.tokens)]
    assert texts == [" Hunde", " hunde"]
