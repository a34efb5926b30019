"""The tree that a search tells, against one that a plain loop over single sentences makes."""

import pytest
import torch

from mt.decoding.explore import SHOWN, SearchTree
from tests.marks import combined
from tests.search.searches import beam, beam_levels

Paths = dict[tuple[int, ...], str]


def literal(toy, width: int, longest: int) -> tuple[Paths, int]:
    """The states of all beginnings of hypotheses that a beam looks at, without stopping early, and how many ended."""
    states: Paths = {(): "open"}
    opened: list[tuple[int, ...]] = [()]
    for looked_at, ends, following in beam_levels(toy, width, longest, lambda tokens, _: toy.replay(0, tokens)[0]):
        states |= dict.fromkeys(looked_at, "dropped") | dict.fromkeys((tokens for _, tokens in ends), "ended")
        states |= dict.fromkeys(following, "open")
        # What nothing continues was dropped.
        continued = {path[:-1] for path in looked_at if states[path] != "dropped"}
        states |= dict.fromkeys(set(opened) - continued, "dropped")
        opened = following
    return states, list(states.values()).count("ended")


def paths_of(tree: SearchTree) -> dict[tuple[int, ...], int]:
    paths: list[tuple[int, ...]] = []
    for node in tree.nodes:
        paths.append((*paths[node.parent], node.token) if node.parent >= 0 else ())
    return {path: number for number, path in enumerate(paths)}


@combined(seed=range(6), width=[1, 2, 4], ending=[-1.0, 0.5])
def test_a_tree_is_what_the_search_has_looked_at(make_toy, seed: int, width: int, ending: float):
    """With as many hypotheses wanted as there are slots a search does not stop early: every state is known."""
    toy = make_toy(1, 6, seed, sharpness=1.5, ending=ending)
    tree = SearchTree(0.6)
    longest = torch.tensor([6])
    ((best, *others),) = beam(
        toy, toy.memory(), 1, max_lengths=longest, beam_size=width, n_best=width, length_penalty=0.6, processors=[tree]
    )
    tree.close(best.tokens)
    states, ended_count = literal(toy, width, 6)
    paths = paths_of(tree)
    assert len(paths) == len(tree.nodes), "no beginning is there twice"
    for path, number in paths.items():
        node = tree.nodes[number]
        on_path = best.tokens[: len(path)] == path
        assert node.state == ("best" if on_path else states[path]), path
        if path:
            assert node.log_prob == pytest.approx(toy.replay(0, path)[0], abs=1e-4)
    # Of what got no slot the most probable are shown, and all that got one are.
    assert {path for path, state in states.items() if state in ("open", "ended")} <= set(paths)
    shown = min(SHOWN, width)
    assert sum(state == "dropped" for state in states.values()) >= len(paths) - ended_count - shown
    for one in (best, *others):
        assert tree.nodes[paths[one.tokens]].score == pytest.approx(one.score)


def test_an_observer_changes_nothing(make_toy):
    toy = make_toy(1, 7, 3, sharpness=1.5)
    options = {"max_lengths": torch.tensor([9]), "beam_size": 3, "length_penalty": 0.6}
    assert beam(toy, toy.memory(), 1, **options, processors=[SearchTree(0.6)]) == beam(toy, toy.memory(), 1, **options)
