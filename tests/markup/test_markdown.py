import pytest

from mt import markup
from mt.markup.segments import Segment
from tests.markup.linked import given, identity, reverse, translated

DOCUMENT = """---
title: x
---
# A *big* title #

Some text with **bold _and_ more**, `code *x*`, a [link](http://a.b "t") and ![alt](i.png).
A second line\\
after a break, with {name} \\* 2 and &copy; <b>html</b> <http://auto.link>.

> Quoted text
> in two lines

- [ ] item one
- item ***two***
  1. deep ~~gone~~

| a | b |
|---|---|
| one | **two** |

```python
x = "not *this*"
```

<div>
Left *as* it is
</div>

[ref]: http://x.y
"""


def sentences(text: str) -> list[str]:
    return [part.text for part in markup.read(text, "markdown") if isinstance(part, Segment)]


def test_blocks_are_sentences_and_code_is_left() -> None:
    assert sentences(DOCUMENT) == [
        "A big title",
        "Some text with bold and more, , a link and . A second line after a break, with * 2 and © html .",
        "Quoted text in two lines",
        "[ ] item one",
        "item two",
        "deep gone",
        "a",
        "b",
        "one",
        "two",
    ]


def test_a_translation_into_itself_is_the_document() -> None:
    assert translated(DOCUMENT, identity, "markdown") == DOCUMENT


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("A **red** [car](u)", "Ein Auto rot", "0-0 1-2 2-1", "Ein [Auto](u) **rot**"),
        ("> one *two*", "zwei eins", "0-1 1-0", "> *zwei* eins"),
        ("Use `ls -l` now", "Nutze jetzt", "0-0 1-1", "Nutze `ls -l` jetzt"),
        ("# So\n", "*_<b>", "0-0", "# \\*\\_\\<b>\n"),
        ("x\n", "- 1. x", "0-2", "\\- 1. x\n"),
        ("x\n", "1. x", "0-1", "1\\. x\n"),
    ],
)
def test_marks_go_where_links_say(source: str, target: str, links: str, expected: str) -> None:
    assert translated(source, given(target, links), "markdown") == expected


@pytest.mark.parametrize(
    "source",
    [
        "*" * 2000,
        "[" * 500,
        "[a](b" * 300,
        "> " * 300 + "x",
        "`" * 1001,
        "**a *b** c*",
        "* a\n\t* b\n\n\ttext",
        "a|b\n-|-\nx\\|y|z",
    ],
)
def test_hostile_text_loses_nothing(source: str) -> None:
    for translate in (identity, reverse):
        result = translated(source, translate, "markdown")
        assert sorted("".join(result.replace("\\", "").split())) == sorted("".join(source.replace("\\", "").split()))
