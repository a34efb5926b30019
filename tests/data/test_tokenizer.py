import itertools
import random
import re
import unicodedata
from pathlib import Path

import pytest

from mt.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, TokenizerConfig, Tokenizers, load_tokenizer, train, units
from tests.data.conftest import Foreign
from tests.refusals.sentences import refusal_of, require_refusal

ENGLISH = ["The small house is old, isn't it?", "Two T-shirts (blue) cost 12.50 euros!", "We see the old houses."]
GERMAN = ["Das kleine Haus ist alt, oder?", "Zwei T-Shirts „blau“ kosten 12,50 Euro!", "Wir sehen größere Häuser …"]
JAPANESE = ["私は英語を勉強します。", "彼は「ペン」を持っています！", "これは１２３円です。"]
TEXTS = [*ENGLISH, *GERMAN, *JAPANESE]
SIZES = {"bpe": 130, "unigram": 1000, "char": 1000, "word": 1000, "blanks": 1000}
KINDS = sorted(SIZES)


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    return {kind: train(TokenizerConfig(model_type=kind, vocab_size=SIZES[kind]), TEXTS) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_text_survives_the_round_trip(kind: str, tokenizers: dict[str, Tokenizer]) -> None:
    tokenizer = tokenizers[kind]
    for text, ids in zip(TEXTS, tokenizer.encode(TEXTS), strict=True):
        assert ids[-1] == EOS
        assert UNK not in ids
        assert tokenizer.decode(ids) == text
        assert len(tokenizer.split(text)) == len(ids) == tokenizer.count_pieces(text) + 1
        assert tokenizer.pieces(ids) == tokenizer.split(text)
        assert "".join(tokenizer.split(text)[:-1]).replace("▁", " ").strip() == text


@pytest.mark.parametrize("kind", KINDS)
def test_special_ids(kind: str, tokenizers: dict[str, Tokenizer]) -> None:
    tokenizer = tokenizers[kind]
    assert tokenizer.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    [ids] = tokenizer.encode([ENGLISH[0]])
    assert tokenizer.decode([BOS, *ids, PAD, PAD]) == ENGLISH[0]
    assert tokenizer.encode([""]) == [[EOS]]
    assert tokenizer.decode([EOS]) == ""


def test_unknown_text_is_marked(tokenizers: dict[str, Tokenizer]) -> None:
    words = tokenizers["word"]
    [ids] = words.encode(["The castle, is old"])
    assert ids.count(UNK) == 1
    assert words.decode(ids) == "The ⁇, is old"
    assert words.split("The castle, is old") == ["▁The", "▁castle", ",", "▁is", "▁old", "</s>"]
    [ids] = tokenizers["char"].encode(["oЖd"])
    assert tokenizers["char"].split("oЖd") == ["▁", "o", "Ж", "d", "</s>"]
    assert UNK in ids


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_deterministic(kind: str) -> None:
    config = TokenizerConfig(model_type=kind, vocab_size=SIZES[kind], lowercase=True)
    assert train(config, TEXTS).model == train(config, TEXTS).model


@pytest.mark.parametrize("joint", [True, False])
def test_tokenizers_are_saved_and_loaded(joint: bool, tmp_path: Path) -> None:
    pairs = list(zip(ENGLISH, GERMAN, strict=True))
    made = Tokenizers.train(TokenizerConfig(vocab_size=80, joint=joint), pairs)
    made.save(tmp_path)
    names = {"tokenizer.model"} if joint else {"tokenizer.source.model", "tokenizer.target.model"}
    assert {path.name for path in tmp_path.iterdir()} == names
    loaded = Tokenizers.load(tmp_path)
    assert loaded.joint == joint
    assert [tokenizer.encode(TEXTS) for tokenizer in loaded] == [tokenizer.encode(TEXTS) for tokenizer in made]
    assert joint or len({UNK} & set(loaded.source.encode(["größere Häuser"])[0])) == 1


def test_a_size_that_does_not_suit_the_text_is_refused() -> None:
    sentence = refusal_of(lambda: train(TokenizerConfig(model_type="bpe", vocab_size=20), TEXTS))
    facts = r"dataset\.tokenizer\.vocab_size=20 is less than the characters .*: choose at least (\d+), or lower"
    advised = int(re.match(facts, sentence)[1])
    assert len(train(TokenizerConfig(model_type="bpe", vocab_size=advised), TEXTS)) == advised


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [TEXTS, ["a"], ["ab ab", "ba"], ["1 2 3"] * 9], ids=len)
def test_a_size_is_the_most(kind: str, texts: list[str]) -> None:
    """A small text has fewer pieces, all of which are taken: one more gives the same ones."""
    most, more = (train(TokenizerConfig(model_type=kind, vocab_size=size), texts) for size in (8000, 8001))
    assert 4 < len(most) < 500 and [*map(most.split, texts)] == [*map(more.split, texts)]
    assert [*map(most.decode, most.encode(texts))] == [" ".join(text.split()) for text in texts]
    if kind == "bpe":
        assert len(train(TokenizerConfig(vocab_size=len(most)), texts)) == len(most)


def test_no_text_is_refused() -> None:
    require_refusal(lambda: train(TokenizerConfig(), []), "SentencePiece learnt no vocabulary")


def test_a_broken_file_is_named(tmp_path: Path, tokenizers: dict[str, Tokenizer]) -> None:
    for content in (b"", b"garbage", b"<!DOCTYPE html>", tokenizers["bpe"].model[:-7]):
        (tmp_path / "tokenizer.model").write_bytes(content)
        require_refusal(lambda: Tokenizers.load(tmp_path), r"tokenizer\.model is not a SentencePiece model")


def test_a_model_of_somebody_else_is_none_of_a_run(foreign: Foreign, tmp_path: Path) -> None:
    _, theirs = foreign(TEXTS * 9, vocab_size=100)
    (tmp_path / "own.model").write_bytes(theirs.serialized_model_proto())
    sentence = (
        "own.model is a SentencePiece model with the ids pad -1, unk 0, bos 1, eos 2, and not pad 0, unk 1, bos 2, eos "
        "3: restore the file, make what it belongs to again, or give the tokenizer.model of a run"
    )
    assert refusal_of(lambda: load_tokenizer(tmp_path / "own.model")).endswith(sentence)


def test_the_sides_may_differ() -> None:
    sides = {"source": {"model_type": "char", "lowercase": True}, "target": {"vocab_size": 80}}
    config = TokenizerConfig.model_validate({"vocab_size": 60, "joint": False, **sides})
    made = Tokenizers.train(config, list(zip(ENGLISH, GERMAN, strict=True)))
    assert (made.source.of_characters, made.target.of_characters, len(made.target)) == (True, False, 80)
    assert made.source.decode(made.source.encode([ENGLISH[1]])[0]) == ENGLISH[1].lower()
    assert made.target.decode(made.target.encode([GERMAN[1]])[0]) == GERMAN[1]


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"source": {"model_type": "char"}}, "source and .target make the sides differ.*joint=false"),
        ({"model_file": "x.model", "lowercase": True}, "the source's tokenizer has a model_file.*lowercase=false"),
        ({"model_file": "x.model", "placeholders": 4}, "has a model_file, whose pieces are what they are: leave out"),
        ({"user_symbols": ("a b",)}, "user_symbols has 'a b', and a symbol is composed"),
        ({"user_symbols": ("<x>",), "model_type": "word"}, "has '<x>', which a vocabulary of words cuts into 3"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict, facts: str) -> None:
    require_refusal(lambda: TokenizerConfig.model_validate(options), facts)


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_a_model_of_somebody_else_is_taken(byte_fallback: bool, foreign: Foreign) -> None:
    ours, theirs = foreign(TEXTS * 9, vocab_size=400, byte_fallback=byte_fallback)
    for text in [*ENGLISH, *GERMAN, "Ж, ЖЖ house"]:
        [ids] = ours.encode([text])
        assert ids[-1] == EOS
        assert ours.split(text)[:-1] == theirs.encode(text, out_type=str)
        assert ours.decode(ids) == " ".join(theirs.decode(theirs.encode(text)).split())
        if byte_fallback and text in ENGLISH:
            assert ours.decoded_unit_ids(ids) == ours.unit_ids(text)
    assert units("Ж, ЖЖ house", "word")[ours.unit_ids("Ж, ЖЖ house")[-2]] == "house"


@pytest.mark.parametrize("rule", ["nmt_nfkc", "identity"])
def test_words_of_somebody_else_have_their_marks_on_them(rule: str, foreign: Foreign) -> None:
    ours, theirs = foreign(TEXTS * 9, vocab_size=400, model_type="word", normalization_rule_name=rule)
    for text in [*ENGLISH, *GERMAN]:
        [ids] = ours.encode([text])
        assert UNK not in ids
        assert ours.split(text)[:-1] == theirs.encode(text, out_type=str)
        assert ours.decode(ids) == theirs.decode(theirs.encode(text))
    assert ours.split("The castle, is old,")[:-1] == ["▁The", "▁castle,", "▁is", "▁old,"]


def test_words_that_were_learnt_here_are_taken_as_they_are(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    for kind in ("word", "blanks"):
        (tmp_path / "own.model").write_bytes(tokenizers[kind].model)
        taken = train(TokenizerConfig(model_file=str(tmp_path / "own.model")), [])
        assert taken.split(ENGLISH[0]) == tokenizers[kind].split(ENGLISH[0])


def test_an_unknown_piece_of_somebody_else_is_written_as_ours(foreign: Foreign) -> None:
    ours, _ = foreign(TEXTS * 9, vocab_size=100, unk_surface="<UNK>", character_coverage=0.98)
    assert ours.decode(ours.encode(["Жhouse is"])[0]) == "⁇ house is"


def test_a_piece_of_several_blanks_marks_no_end_of_a_word(foreign: Foreign) -> None:
    ours, _ = foreign(TEXTS * 9, vocab_size=400, model_type="bpe", user_defined_symbols=["▁▁", "\n"])
    [ids] = ours.encode(["The small house is old"])
    begins = [ours.begins_word(token, before) for before, token in itertools.pairwise([None, *ids[:-1]])]
    assert begins == [piece.startswith("▁") for piece in ours.pieces(ids[:-1])]
    assert begins.count(True) == 5


def test_a_blank_that_ends_a_word_belongs_to_it(foreign: Foreign) -> None:
    ours, _ = foreign(TEXTS * 9, vocab_size=160, treat_whitespace_as_suffix=True, split_digits=True)
    text = "we cost 12 50 Euro"
    [ids] = ours.encode([text])
    assert "▁" in ours.pieces(ids)
    assert ours.decoded_unit_ids(ids) == ours.unit_ids(text)


@pytest.mark.parametrize("content", [None, b"garbage", b""])
def test_a_file_that_is_no_model_is_refused(content: bytes | None, tmp_path: Path) -> None:
    config = TokenizerConfig(model_file=str(tmp_path / "own.model"))
    if content is not None:
        (tmp_path / "own.model").write_bytes(content)
    sentence = r"own\.model (is not a SentencePiece model|cannot be read).*model_file"
    require_refusal(lambda: train(config, []), sentence)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_model_is_refused_or_works(kind: str, tokenizers: dict[str, Tokenizer]) -> None:
    draw = random.Random(1)
    for _ in range(150):
        damaged = bytearray(tokenizers[kind].model)
        for _ in range(draw.choice([1, 3, 20])):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        try:
            tokenizer = Tokenizer(bytes(damaged))
        except ValueError:
            continue
        for text in TEXTS:
            [ids] = tokenizer.encode([text])
            assert all(0 <= i < len(tokenizer) for i in ids)
            tokenizer.decode(ids)
            tokenizer.pieces(range(len(tokenizer)))


@pytest.mark.parametrize(
    ("form", "text", "pieces"),
    [
        ("nfc", "한국", ["▁", "한", "국"]),
        ("nfd", "한국", ["▁", "ᄒ", "ᅡ", "ᆫ", "ᄀ", "ᅮ", "ᆨ"]),
        ("nfd", "ệ é", ["▁", "e", "\u0323", "\u0302", "▁", "e", "\u0301"]),
        ("nfd", "ﬁ", ["▁", "ﬁ"]),
        ("nfkc", "ﬁＡ한", ["▁", "f", "i", "A", "한"]),
    ],
)
def test_the_unicode_form_of_what_is_cut(form: str, text: str, pieces: list[str]) -> None:
    tokenizer = train(TokenizerConfig(model_type="char", vocab_size=1000, normalization=form), ["한국 ệ é ﬁＡ"])
    for typed in (text, unicodedata.normalize("NFD", text)):
        assert tokenizer.split(typed) == [*pieces, "</s>"]
        assert UNK not in tokenizer.encode([typed])[0]
    # Links are of the text's own letters, whatever became of them.
    assert tokenizer.unit_ids("한국", "char")[1:3] == [0, 0 if form == "nfd" else 1]


def test_a_syllable_of_known_jamo_is_known() -> None:
    texts = ["가나", "다라"]
    known = {form: train(TokenizerConfig(model_type="char", normalization=form), texts) for form in ("nfc", "nfd")}
    assert UNK in known["nfc"].encode(["나다가라랄"])[0]
    assert UNK not in known["nfd"].encode(["나다가라"])[0]
    assert known["nfd"].encode(["낟"])[0].count(UNK) == 1  # the final ᆮ is new


def test_lower_case_and_a_form_go_together() -> None:
    tokenizer = train(TokenizerConfig(model_type="char", lowercase=True, normalization="nfd"), ["Élan"])
    assert tokenizer.split("ÉLAN")[:4] == ["▁", "e", "\u0301", "l"]
    assert tokenizer.lowercases


def test_phones_are_whole_between_blanks() -> None:
    """Whatever characters they have: SAMPA's marks, tie bars, stress and tones."""
    phones = '"a I@ t͡ʃ 4_h {: ˈaɪ ˧˥ ▁ ￭x a,b'
    whole, cut = (train(TokenizerConfig(model_type=kind, vocab_size=200), [phones]) for kind in ("blanks", "word"))
    assert [piece.removeprefix("▁") for piece in whole.split(phones)] == [*phones.split(), "</s>"]
    assert whole.decode(whole.encode([phones])[0]) == cut.decode(cut.encode([phones])[0]) == phones
    assert len(cut.split(phones)) > len(whole.split(phones)) == 11
    assert whole.encode(["a,b x,y"])[0].count(UNK) == 1
    loaded = Tokenizer(whole.model)
    assert loaded.encode([phones]) == whole.encode([phones])
