import logging

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from mt.metrics import bleu as door
from mt.metrics.base import Settings
from mt.metrics.bleu import TOKENIZERS, Bleu, Chrf, Ter
from tests.refusals.sentences import require_refusal

LOWER = Settings(lowercase=True)


def bleu(hypotheses, references, **options):
    return Bleu(Settings(**options)).score(hypotheses, references)["bleu"]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("metric", "theirs"),
    [
        *((Bleu(), BLEU()), (Chrf(), CHRF()), (Ter(), TER())),
        *((Bleu(LOWER), BLEU(lowercase=True)), (Chrf(LOWER), CHRF(lowercase=True))),
    ],
)
def test_as_sacrebleu_has_it(metric, theirs, seed, random_corpus):
    hypotheses, references = random_corpus(seed, most=1 + seed % 3)
    hypotheses = [text.upper() if seed % 2 else text for text in hypotheses]
    streams = [[group[n] if n < len(group) else None for group in references] for n in range(max(map(len, references)))]
    [result] = metric.score(hypotheses, references).values()
    assert result.score == theirs.corpus_score(hypotheses, streams).score
    assert result.signature == theirs.get_signature().format()


def test_tokenised_text_draws_no_advice_into_the_log(caplog):
    with caplog.at_level(logging.WARNING):
        bleu(["a b c d ."] * 200, [["a b c d ."]] * 200)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (None, "13a"), ("", "13a"), ("de", "13a"), ("1", "13a"), ("summary", "13a"), ("zha", "13a"), ("en-zh", "13a"),
        ("zh-Latn", "13a"), ("ja_Latn_JP", "13a"), ("tw", "13a"), ("kau", "13a"), ("test.zh.de.gz", "13a"),
        *((code, "zh") for code in ("zh", "ZH", "zh-cn", "zh_TW", "zho", "chi", "cmn", "zho_Hant", "2.zh-CN")),
        *((code, "zh") for code in ("cn", "CN", "zh-Hans", "zh-Hant-HK", "yue", "Chinese", "zh2", "test.cn", "zh_CN0")),
        *((f"test.{code}", "zh") for code in ("zh.gz", "zh.zst", "zh.txt", "zh.txt.gz", "ZH.txt", "zho_Hans.gz")),
        *((f"test.{code}", "zh") for code in ("zh.0", "zh.1.gz")),
        *((code, "ja-mecab") for code in ("ja", "JA", "ja-JP", "jpn", "jpn_Jpan", "dev.ja")),
        *((code, "ja-mecab") for code in ("jp", "JP", "Japanese", "jpn.gz", "dev.jp.zst", "ja1")),
        *((code, "ko-mecab") for code in ("ko", "kor", "ko_KR", "Kor_Hang", "2.ko")),
        *((code, "ko-mecab") for code in ("kr", "KR", "korean", "dev.kor.gz", "dev.kr.txt")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("installed", [True, False])
def test_the_tokenizer_follows_the_target_language(language, expected, installed, monkeypatch):
    monkeypatch.setattr(door, "find_spec", lambda module: object() if installed else None)
    monkeypatch.setattr(door, "_sacrebleu", lambda *_, **__: None)  # which may not be installed
    by_language = expected if installed or "mecab" not in expected else "char"
    assert Bleu(Settings(language)).tokenizer == by_language
    assert Bleu(Settings(language, "intl")).tokenizer == "intl"
    # sacreBLEU's own table.
    own = BLEU._TOKENIZER_MAP.get(expected[:2], BLEU.TOKENIZER_DEFAULT)
    assert expected == own


def test_a_missing_package_is_said_once_where_nothing_was_asked_for(monkeypatch):
    monkeypatch.setattr(door, "find_spec", lambda module: None)
    metric = Bleu(Settings(target_language="ja"))
    remedy = "run `pip install 'sacrebleu[ja]'` for scores that compare with published ones"
    assert metric.notice == f"BLEU counts characters (tok:char), since ja-mecab is not installed: {remedy}"
    assert "|tok:char|" in metric.score(["犬"], [["犬"]])["bleu"].signature
    assert Bleu(Settings("ja", "char")).notice is None and Bleu(Settings("zh-CN")).notice is None
    assert Bleu(Settings("zh-CN")).tokenizer == "zh"
    assert Bleu(Settings("de")).notice is None
    sentence = r"^BLEU's tokenizer ko-mecab is not installed: run `pip install 'sacrebleu\[ko\]'`, or choose char$"
    require_refusal(lambda: Bleu(Settings("ko", "ko-mecab")), sentence)


@pytest.mark.parametrize("failure", [OSError("no network"), SystemExit(1), AssertionError()])
def test_a_tokenizer_that_fails_is_a_sentence(failure, monkeypatch):
    def fail(**options):
        raise failure

    monkeypatch.setattr("sacrebleu.metrics.BLEU", fail)
    sentence = r"^BLEU's tokenizer flores200 cannot be used \((no network|1|AssertionError)\): "
    require_refusal(lambda: Bleu(Settings(bleu_tokenizer="flores200")), sentence)


def test_an_unknown_tokenizer_is_answered_with_the_nearest():
    assert set(TOKENIZERS) < set(BLEU.TOKENIZERS)
    facts = r"^bleu_tokenizer=chars is an invalid choice: did you mean char\?.* 13a, char"
    require_refusal(lambda: Bleu(Settings(bleu_tokenizer="chars")), facts)
