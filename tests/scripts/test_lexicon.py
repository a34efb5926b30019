"""`mt lexicon`: of a small model that reads letters, a dictionary and a map of phones."""

import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mt import Translator, load
from mt.__main__ import call as call_verb
from mt.data.tokenizer import UNK
from mt.decoding.lexicon import _AT_ONCE, Pronunciation, entry_lines, pronounce, read_dictionary, read_map, read_words
from mt.errors import UserError
from tests.refusals.sentences import require_refusal
from tests.scripts.conftest import Outcome

Call = Callable[..., Outcome]
Write = Callable[[str, str], Path]
Written = Callable[..., Outcome]
# Each letter has a phone of its own; x has two, and c is silent.
PHONES = {"a": "aː", "b": "b", "c": "", "d": "t͡ʃ", "e": "I@", "x": "k s"}
OPTIONS = [
    "embedding.embedding_dim=16", "encoder.hidden_size=32", "decoder.hidden_size=32", "decoder.readout_size=16",
    "embedding.dropout=0", "decoder.dropout=0", "optimizer.lr=0.02", "optimizer.warmup=5", "training.plots=0",
    "training.batch_tokens=100", "training.epochs=8", "training.validate_limit=5", "device=cpu", "seed=1",
]  # fmt: skip


def spelt(word: str) -> str:
    return " ".join(phone for letter in word if (phone := PHONES.get(letter, "")))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("letters")
    draw = random.Random(1)
    words = {"".join(draw.choices("abcdex ", k=draw.randint(3, 7))).strip() for _ in range(400)}
    lines = sorted(f"{' '.join(word.split())}\t{spelt(word)}\n" for word in words if spelt(word))
    (folder / "all.tsv").write_text("".join(lines), encoding="utf-8")
    sizes = ["dataset.splits.train=all", "dataset.dev_size=20", "dataset.test_size=20", "dataset.workers=1"]
    where = [f"dataset.folder='{folder}'", f"folder='{folder}/run'", f"corpora='{folder}/corpora'"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("mt.__main__.set_up", lambda: None)
        call_verb("train", ["dataset=letters", *sizes, *where, *OPTIONS])
    return folder / "run"


@pytest.fixture(scope="module")
def translator(run: Path) -> Iterator[Translator]:
    yield load(run, device="cpu")


@pytest.fixture
def written(run: Path, call: Call, write: Write) -> Written:
    """written(words, *flags): what the command does for a file of words."""
    return lambda words, *flags: call("lexicon", run, "--words", write("words", words), *flags)


WORDS = "bad\nadd\n\nbed\nbad\n"


def test_a_lexicon_has_the_phones_of_each_word_once(written: Written) -> None:
    done = written(WORDS, "--device", "cpu")
    assert done.out == f"bad {spelt('bad')}\nadd {spelt('add')}\nbed {spelt('bed')}\n"
    assert (done.err, done.status) == ("", 0)


def test_standard_input_and_a_file(run: Path, call: Call, tmp_path: Path) -> None:
    lexicon = tmp_path / "new" / "lexicon.txt"
    done = call("lexicon", run, "--words", "-", "--out", lexicon, stdin="bax\n")
    assert (done.out, lexicon.read_text()) == ("", f"bax {spelt('bax')}\n")
    assert [*lexicon.parent.iterdir()] == [lexicon]


def test_probabilities_are_those_of_the_hypotheses(translator: Translator) -> None:
    for word, found in zip(["bad", "xcaed"], pronounce(translator, ["bad", "xcaed"], 4), strict=True):
        weights = [math.exp(sum(one.log_probs)) for one in translator.n_best(word, 4)]
        assert [each.probability for each in found] == pytest.approx([w / sum(weights) for w in weights])
        assert sum(each.probability for each in found) == pytest.approx(1)
        phones = [each.phones for each in found]
        [kept] = pronounce(translator, [word], 4, threshold=0.99 * found[1].probability)
        assert [each.phones for each in kept] == phones[:2]
        [first] = pronounce(translator, [word], 4, threshold=1.0)
        assert [each.phones for each in first] == phones[:1]


def test_what_is_left_of_hypotheses() -> None:
    """None with an unknown phone, or without a phone; a probability that is the threshold stays."""
    texts = [("a b", 5, 0.5), (" ⁇  b", UNK, 0.25), ("", 5, 0.25), ("a c", 5, 0.125), ("a d", 5, 0.0625)]
    found = [SimpleNamespace(text=text, ids=(4, phone), log_probs=(math.log(p), 0.0)) for text, phone, p in texts]
    fake: Any = SimpleNamespace(n_best=lambda words, n: [found[:n] for _ in words])
    words = ["bad"] * (_AT_ONCE + 1)
    pronunciations = [*pronounce(fake, words, 4, threshold=0.2)]
    assert len(pronunciations) == len(words)
    assert all([each.phones for each in one] == [("a", "b"), ("a", "c")] for one in pronunciations)
    assert [each.probability for each in pronunciations[-1]] == pytest.approx([0.8, 0.2])
    smallest = pronunciations[0][1].probability
    [kept] = pronounce(fake, ["bad"], 4, threshold=smallest)
    assert len(kept) == 2
    # Those that a map makes alike have the sum of their probabilities.
    [alike] = pronounce(fake, ["bad"], 5, phone_map={"a": ("a",), "b": ("b",), "c": ("e",), "d": ("b",)})
    assert [" ".join(each.phones) for each in alike] == ["a b", "a e"]
    assert [each.probability for each in alike] == pytest.approx([9 / 11, 2 / 11])


def test_files_are_read_and_written_word_by_word(write: Write) -> None:
    assert read_words(write("words", "b\na  b\n\nb\n")) == {"b": 1, "a b": 2}
    known = read_dictionary(write("known", "\ufeffe\u0301\te\r\n\u00e9 ɛ\r\n;;; no word\n;e e\n"))
    phones = {word: [each.phones for each in found] for word, found in known.items()}
    assert phones == {"\u00e9": [("e",), ("ɛ",)], ";e": [("e",)]}
    improbable = [Pronunciation(("b", "c"), 1e-9)]
    assert entry_lines("a", improbable, probabilities=True) == ["a 0.0001 b c"]


def test_words_with_blanks(written: Written, write: Write) -> None:
    words = "ab ba\n"
    assert written(words).out == f"ab ba :: {spelt('abba')}\n"
    probable = written(words, "--probabilities").out
    assert probable == f"ab ba :: 1.0000 {spelt('abba')}\n"
    # Which a dictionary may hold.
    known = write("known", probable)
    assert written(words, "--probabilities", "--dictionary", known).out == probable


def test_a_dictionary_comes_first(written: Written, write: Write) -> None:
    known = write("known", "bad\tq q\nbad\tq\nae e\na b :: r s\nunasked z\n")
    done = written("bad\nae\na b\nadd\n", "--dictionary", known)
    assert done.out == f"bad q q\nbad q\nae e\na b :: r s\nadd {spelt('add')}\n"
    # A lexicon is a dictionary, too, with its probabilities.
    words = "bad\nae\nadd\n"
    lexicon = written(words, "--dictionary", known, "--n", 2, "--probabilities").out
    assert lexicon.startswith("bad 0.5000 q q\nbad 0.5000 q\nae 1.0000 e\nadd 0.")
    again = written(words, "--dictionary", write("made", lexicon), "--probabilities").out
    assert again == lexicon


def voice(*more: str, without: str = "") -> str:
    """A map of phones, without one."""
    phones = [phone for phones in PHONES.values() for phone in phones.split()]
    lines = [f"{phone}\t{new}" for phone, new in zip(phones, ["A", "B", "T S", "ɪ ə", "K", "S"], strict=True)]
    return "".join(f"{line}\n" for line in (*lines, *more) if line[0] != without)


def test_a_map_to_the_phones_of_a_voice(written: Written, write: Write) -> None:
    words = "bad\nbex\n"
    done = written(words, "--map", write("map", voice("unused u")))
    assert done.out == "bad B A T S\nbex B ɪ ə K S\n"
    known = write("known", "bad\tV A\n")
    done = written(words, "--map", write("map", voice()), "--dictionary", known)
    assert done.out == "bad V A\nbex B ɪ ə K S\n"
    assert "note: 1 word has phones in the dictionary that are not the voice's (V), first bad\n" in done.err


def test_a_map_leaves_phones_out(written: Written, write: Write) -> None:
    done = written("bax\naa\n", "--n", 2, "--map", write("map", voice(without="a") + "aː\n"))
    assert done.out.splitlines()[0] == "bax B K S"
    assert all(line.split()[1:] for line in done.out.splitlines())


def test_dictionaries_of_others(written: Written, write: Write) -> None:
    """CMUdict's variants and comments, MFA's four numbers, and Kaldi's marks of homophones."""
    cmudict = ";;; CMUdict\n;;;\nbad  B AE1 D\nbad(2)  B AA1 D # a note\n"
    known = write("known", cmudict + "ae\t0.25\t1.3\t1.0\t0.9\tɛ\nae 0.75\te #1\n")
    done = written("bad\nae\n", "--dictionary", known, "--probabilities")
    assert done.out == "bad 0.5000 B AE1 D\nbad 0.5000 B AA1 D\nae 0.7500 e\nae 0.2500 ɛ\n"
    found = f"note: {known} has 2 of 2 words, and the model wrote the others\n"
    strange = "note: 2 words have phones in the dictionary that are not the model's (AA1 AE1 B D e ɛ), first bad\n"
    assert done.err == found + strange
    # Kaldi's scripts set a blank before the probability, and a tab behind it.
    known = write("known", "bad 1.0\tb aː\nae 0.25\taː\nae\t7.5e-1\tI@\n")
    done = written("bad\nae\n", "--dictionary", known, "--probabilities")
    assert done.out == "bad 1.0000 b aː\nae 0.7500 I@\nae 0.2500 aː\n"
    assert done.err == found
    # Kaldi's dict_dir_add_pronprobs.sh writes 1 for the most probable one; elsewhere it is a phone of X-SAMPA.
    known = write("known", "bad 1 b aː\nae 0.25 aː\nae 1 I@\nadd 2.5e-05 aː 1 d\n")
    done = written("bad\nae\nadd\n", "--dictionary", known, "--probabilities")
    assert done.out == "bad 1.0000 b aː\nae 0.8000 I@\nae 0.2000 aː\nadd 1.0000 aː 1 d\n"
    # With tabs, too, where a word may have blanks.
    known = write("known", "bad\t1\tb aː\nae ae\t0.25\taː\nae ae\t1\tI@\nadd\t2.5e-05\taː\n")
    done = written("bad\nae ae\n", "--dictionary", known, "--probabilities")
    assert done.out == "bad 1.0000 b aː\nae ae :: 0.8000 I@\nae ae :: 0.2000 aː\n"
    known = write("known", "bad 1 b aː\nae I@ 1\n")
    assert written("bad\nae\n", "--dictionary", known).out == "bad 1 b aː\nae I@ 1\n"
    # A phone of sherpa-onnx, and Kaldi's mark after a blank.
    known = write("known", "bad b aː #0\nae I@ #12\n")
    done = written("bad\nae\n", "--dictionary", known)
    assert done.out == "bad b aː #0\nae I@\n"
    # A number that is no probability belongs to the word.
    known = write("known", "bad 1.5\tb aː\n")
    assert written("bad 1.5\n", "--dictionary", known).out == "bad 1.5 :: b aː\n"
    # A comma before a phone marks stress in ASCII, and stands for itself among punctuation.
    known = write("known", "bad\t,b a / d\nadd , ,\n")
    assert written("bad\nadd\n", "--dictionary", known).out == "bad ,b a / d\nadd , ,\n"
    # Where a tab ends the word, a # is a phone, as WikiPron writes a blank; words are looked up composed.
    known = write("known", "bad\tb # d\n\u00e9\tq\n")
    assert written("bad\ne\u0301\n", "--dictionary", known).out == "bad b # d\ne\u0301 q\n"


def test_words_without_a_pronunciation_are_noted(written: Written, write: Write) -> None:
    silent = "".join(f"{phone}\n" for phones in PHONES.values() for phone in phones.split())
    done = written("bad\nad\n", "--map", write("map", silent))
    assert (done.out, done.err) == ("", "note: 2 words have no pronunciation, and no line (ad bad), first bad\n")


@pytest.mark.parametrize(
    ("flag", "text", "sentence"),
    [
        ("words", "\n \n", "words has no word: write one word a line"),
        ("words", "bad\nadd\tx\n", r"words, line 2 has a tab (add\tx): write one word a line"),
        ("--dictionary", "bad b\n\nadd\n", "--dictionary, line 3 is no entry of a lexicon (add): write a word, "),
        # ipa-dict, and CharsiuG2P.
        ("--dictionary", "bad\t/bæd/\n", "--dictionary, line 1 is no entry of a lexicon (bad\\t/bæd/): write"),
        ("--dictionary", "b b\nbad\tbæd,bad\n", r"--dictionary, line 2 is no entry of a lexicon (bad\tbæd,bad)"),
        ("--dictionary", "bad\t/b æ d/, /b a d/\n", "commas or quotation marks around them"),
        ("--dictionary", 'bad\t"b, æ d"\n', '--dictionary, line 1 is no entry of a lexicon (bad\\t"b'),
        ("--dictionary", 'bad\t"b ""æ d"\n', '--dictionary, line 1 is no entry of a lexicon (bad\\t"b'),
        # Phonetisaurus writes costs, of which the least is the best.
        ("--dictionary", "bad\t12.34\tb\n", r"--dictionary, line 1 is no entry of a lexicon (bad\t12.34"),
        ("--dictionary", "bad 0.5\n", "--dictionary, line 1 is no entry of a lexicon (bad 0.5): write"),
        ("--map", "b B\nb P\n", "--map, line 2 maps b again: give each phone one line"),
        ("--map", voice(without="s"), "--map has no line for s, which the model writes: add"),
        # A line of the map and, after it, a dictionary.
        ("s\n", "bad s\n", "--dictionary, line 1 has s, a phone of the model, which --map changes to nothing: write"),
        ("s S\n", "bad B\nadd s B\n", "--dictionary, line 2 has s, a phone of the model, which --map changes to S: "),
        ("--map absent", "", "absent cannot be read (No such file or directory)"),
        ("--n 0", "", "--n 0 is not a whole number from 1 to 1000"),
        ("--threshold 2", "", "--threshold 2 is no share: give a number from 0 to 1"),
        ("--threshold much", "", "--threshold much is not possible: give a number"),
        ("--out words/lexicon", "", "words/lexicon cannot be written (Not a directory)"),
        ("--out /dev/full", "", "--out /dev/full cannot be written (is no regular file): give another file"),
    ],
)
def test_what_is_refused(flag, text, sentence, run, call, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    both = {"--map": voice(without="s") + flag, "--dictionary": text} if flag.endswith("\n") else {flag: text}
    files = {"words": "bad\n", "lexicon": "as before\n"} | (both if text else {})
    paths = {name: write(name, content) for name, content in files.items()}
    flags = [word for name in files if name.startswith("--") for word in (name, paths[name])]
    out = [] if "--out" in flag else ["--out", "lexicon"]
    done = call("lexicon", run, "--words", "words", *flags, *([] if text else flag.split()), *out)
    assert sentence in done.err and done.err.startswith("error: ") and done.err.count("\n") == 1
    assert done.status == 2 and paths["lexicon"].read_text() == "as before\n"
    assert {*tmp_path.iterdir()} == {*paths.values()}


def test_a_word_that_is_too_long_is_named_by_its_line(written, tmp_path, monkeypatch):
    def refuse_long(self: Translator, texts: list[str], name: str = "", first: int = 1) -> None:
        if texts == ["add"]:
            raise UserError(f"{name} {first} is too long")

    monkeypatch.setattr(Translator, "refuse_long", refuse_long)
    done = written("bad\n\nadd\nadd\n")
    assert done.err == f"error: {tmp_path}/words, line 3 is too long\n"


def test_unknown_letters_are_noted(written: Written) -> None:
    done = written("bad\nbяd\nёё\n")
    assert done.status == 0 and done.out.startswith(f"bad {spelt('bad')}\nbяd ")
    assert "note: 2 words have letters that the model has never seen (я ё), first bяd\n" in done.err


def test_an_accent_that_nobody_has_seen_is_left_out(written: Written) -> None:
    done = written("b\u00e0d\nBA\u0304D\n")
    assert (done.out, done.err) == (f"b\u00e0d {spelt('bad')}\nBA\u0304D {spelt('bad')}\n", "")


def test_letters_that_nobody_has_seen_are_read_as_small_ones_and_marks_left_out(written: Written, write: Write) -> None:
    known = write("known", "add\tb\nBED\tI@\n")
    done = written("Bad\nAdd\nBed\nBED\nb-ad\nB’ed\n-\n\u200db\u00adad\n", "--dictionary", known)
    bad, bed = spelt("bad"), spelt("bed")
    assert done.out == f"Bad {bad}\nAdd b\nBed {bed}\nBED I@\nb-ad {bad}\nB’ed {bed}\n\u200db\u00adad {bad}\n"
    assert "note: 1 word has letters that the model has never seen (-), first -\n" in done.err


def test_links_join_letters_and_phones(run: Path, call: Call, write: Write, translator: Translator) -> None:
    aligned = translator.align("bad e", "b aː t͡ʃ I@")
    # ▁ b a d ▁ e </s>: the mark of a beginning belongs to its letter.
    assert aligned.units.source == (0, 0, 1, 2, 3, 3, None) and aligned.units.target == (0, 1, 2, 3, None)
    done = call("align", run, "--source", write("words", "bad e\n"), "--target", write("phones", "b aː t͡ʃ I@\n"))
    assert {link.split("-")[1] for link in done.out.split()} == {*"0123"}
    assert translator.translate("bad").units.target == (0, 1, 2, None)


def test_a_model_of_translation_writes_no_lexicon(trained: Path, call: Call, write: Write) -> None:
    done = call("lexicon", trained, "--words", write("words", "cats\n"))
    sentence = "error: mt lexicon needs a run that reads letters, as of dataset=letters, and this one does not\n"
    assert (done.out, done.err, done.status) == ("", sentence, 2)


def test_a_map_may_be_in_characters_that_are_not_composed(write: Write, translator: Translator) -> None:
    """The phones of the model are composed."""
    phones = read_map(write("map", voice("\u00e7\tS", "o\u0303\to n")), translator)
    assert phones["\u00f5"] == ("o", "n") and phones["\u00e7"] == ("S",)


def test_a_map_is_of_whole_phones(write: Write) -> None:
    pieces: Any = SimpleNamespace(tokenizers=SimpleNamespace(target=SimpleNamespace(of_words=False)))
    sentence = "^--map is of whole phones, and this run writes pieces of words: train with"
    require_refusal(lambda: read_map(write("map", "a b\n"), pieces), sentence)
