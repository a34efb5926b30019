"""SimulStreaming's JSON lines: what is written stays, a word that goes on is not believed, a bad line is refused."""

import io
import json
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

import mt
from examples.simulstreaming_pipe import Interpreter, main, translated
from examples.streaming import opened, parser_of
from mt.errors import UserError
from tests.refusals.sentences import require_refusal

SEARCH = mt.AlignAttConfig(f=1)
TEXTS = (" two bi", "g", " cats see", " green hou", "ses")


@pytest.fixture
def interpreter(translator: mt.Translator) -> Interpreter:
    return Interpreter(lambda: translator.stream(SEARCH))


def row(text: str, time: float = 1.0, *, final: bool = False) -> str:
    return json.dumps({"text": text, "emission_time": time, "end": time - 0.5, "is_final": final, "start": 0})


def whole(answers: Iterable[dict]) -> str:
    return "".join(answer["text"] for answer in answers)


def test_words_that_go_on_are_drafted_over(interpreter: Interpreter, translator: mt.Translator) -> None:
    lines = [row(text, time) for time, text in enumerate(TEXTS, start=1)]
    answers = [*translated([*lines, "\n", row("", 7.0, final=True)], interpreter)]
    # The same session, told what is a word and what may still change.
    session = translator.stream(SEARCH)
    expected, drafts = [], []
    for words, tail in (("two", "bi"), ("", "big"), ("big cats", "see"), ("see green", "hou"), ("", "houses")):
        written = session.read(words)
        written += session.read("", tail)
        expected.append("".join(f" {word}" for word in written))
        drafts.append(" ".join(session.draft))
    rest = session.read("houses") + session.finish()
    assert [answer["text"] for answer in answers] == [*expected, "".join(f" {word}" for word in rest)]
    assert [answer["unconfirmed_text"] for answer in answers] == [*drafts, ""]
    assert len({*drafts}) > 1 and whole(answers) == f" {session.text}"
    assert [answer["is_final"] for answer in answers] == [False] * 5 + [True]
    assert [answer["end"] for answer in answers] == [0.5, 1.5, 2.5, 3.5, 4.5, 6.5]
    times = [answer["emission_time"] for answer in answers]
    assert times == sorted(times) and times[-1] >= 7 and {answer["status"] for answer in answers} == {"COMPLETE"}


def test_a_sentence_ends_at_its_full_stop_and_at_the_end_of_the_input(interpreter, translator):
    answers = [*translated([row(" two cats see houses. three"), row(" birds")], interpreter)]
    texts = []
    for sentence in ("two cats see houses.", "three birds"):
        session = translator.stream(SEARCH)
        session.read(sentence)
        session.finish()
        texts.append(session.text)
    assert len(answers) == 3 and [answer["is_final"] for answer in answers] == [False, False, True]
    assert answers[0]["text"].startswith(f" {texts[0]}") and whole(answers) == " " + " ".join(texts)
    assert [*translated([], interpreter)] == []


def test_characters_are_read_as_they_come(translator: mt.Translator) -> None:
    interpreter = Interpreter(lambda: translator.stream(SEARCH, unit="char"))
    answers = [*translated([row("two bi"), row("g cats", final=True)], interpreter)]
    session = translator.stream(SEARCH, unit="char")
    session.read("two big cats")
    session.finish()
    assert whole(answers) == session.text and " " in session.text


def test_its_lines_can_be_translated_again(interpreter: Interpreter) -> None:
    once = [json.dumps(answer) for answer in translated([row(" two big cats", final=True)], interpreter)]
    again = [*translated(once, interpreter)]
    assert [answer["is_final"] for answer in again] == [True] and again[0]["text"]
    # SimulStreaming's own translator also writes lines whose text comes again in the next one.
    part = json.dumps(json.loads(once[0]) | {"status": "INCOMPLETE", "is_final": False})
    assert whole(translated([part, *once, part], interpreter)) == again[0]["text"]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("two big", r"Invalid JSON: expected ident"),
        ("[1]", r"Input should be an object"),
        ('{"text": " a", "is_final": false}', r"emission_time: Field required"),
        ('{"text": 3, "emission_time": 1, "is_final": false}', r"text: Input should be a valid string"),
        ('{"text": " a", "emission_time": 1, "is_final": "no"}', r"is_final: Input should be a valid boolean"),
    ],
)
def test_other_lines_are_refused(line: str, fault: str, interpreter: Interpreter, tmp_path: Path) -> None:
    answers = translated([row(" two"), line], interpreter)
    assert next(answers)["is_final"] is False
    require_refusal(lambda: next(answers), rf"^standard input, line 2 is no line of SimulStreaming \({fault}.*\): send")


def test_what_is_no_utf8_is_refused_in_any_locale(monkeypatch, capfd):
    began = SimpleNamespace(begin=lambda: SimpleNamespace(source_read=0))
    monkeypatch.setattr("examples.simulstreaming_pipe.opened", lambda _: began)
    monkeypatch.setattr("sys.argv", ["pipe", "run"])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "\xff"}\n'), "utf-8"))
    with pytest.raises(SystemExit):
        main()
    assert capfd.readouterr().err.startswith("error: standard input, line 1 is no line of SimulStreaming (Invalid JSON")


def test_a_first_draft_is_made_before_anything_comes(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drafted = []
    decode = mt.Translator.decode
    monkeypatch.setattr(mt.Translator, "decode", lambda *given, **named: drafted.append(1) or decode(*given, **named))
    opened(parser_of(None).parse_args([str(trained), "--device", "cpu", "--search", "alignatt"]))
    assert drafted


def test_options_choose_the_policy(trained: Path, translator: mt.Translator) -> None:
    options = [str(trained), "--device", "cpu", "--search"]
    policy = opened(parser_of(None).parse_args([*options, "agree", "--n", "3", "--hold", "1"]))
    assert (policy.search.name, policy.search.n, policy.search.hold, policy.unit) == ("agree", 3, 1, "word")
    policy = opened(parser_of(None).parse_args([*options[:-1], "--unit", "char"]))
    assert policy.search == translator.streaming_search() and policy.begin().streaming.unit == "char"
    for given, sentence in (
        (["agree", "--n", "0"], r"^search\.n=0 is not possible: "),
        (["agree", "--f", "2"], r"^--f is an option of --search alignatt, and not of --search agree"),
        (["online"], r"^search=online writes up to where the attention stops"),
    ):
        with pytest.raises(UserError, match=sentence):
            opened(parser_of(None).parse_args([*options, *given]))
