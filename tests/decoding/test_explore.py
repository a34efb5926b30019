"""What one tries out on a translation: a prefix of tokens, attention that is forced, and the tree of a search, against
one that a plain loop over single sentences makes."""

from itertools import product

import numpy as np
import pytest
import torch

from mt import Translator
from mt.decoding.explore import SHOWN, SearchTree, explore
from mt.decoding.request import LexicalConstraints, Request
from mt.decoding.torch_network import torch_translator
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, SampleConfig
from tests.marks import combined
from tests.refusals.sentences import require_refusal
from tests.search.searches import beam, beam_levels
from tests.search.toys import make_toy

TEXT = "two big cats find birds"
BEAM = BeamConfig(beam_size=4, n_best=3)


@pytest.mark.parametrize("search", [GreedyConfig(), BEAM, BeamConfig(utility="chrf"), SampleConfig(seed=3)])
def test_without_anything_it_is_a_translation(translator: Translator, search):
    explored = explore(translator, TEXT, search)
    assert explored.translations == translator.n_best(TEXT, search=search)
    assert (explored.tree is None) == isinstance(search, SampleConfig)
    assert explore(translator, " ", search).translations == translator.n_best(" ", search=search)


def test_a_runner_up_is_taken_and_the_rest_is_decoded_again(translator: Translator):
    best = explore(translator, TEXT, BEAM)
    assert best.tree is not None
    ids = best.translations[0].ids
    second = sorted(node.log_prob for node in best.tree.nodes if node.parent == 0)[-2]
    (other,) = [node.token for node in best.tree.nodes if node.parent == 0 and node.log_prob == second]
    for prefix in ([other], [ids[0], ids[1], other]):
        again = explore(translator, TEXT, BEAM, request=Request("text 1", tokens=tuple(prefix))).translations
        assert all(list(one.ids[: len(prefix)]) == prefix for one in again)
    same = explore(translator, TEXT, BEAM, request=Request("text 1", tokens=ids[:-1])).translations[0]
    assert (same.ids, same.score) == (ids, pytest.approx(best.translations[0].score))


def test_what_else_is_asked_holds_beside_a_prefix(translator: Translator):
    ids = translator.translate(TEXT).ids
    asked = LexicalConstraints(avoid=("Katzen",), constraints=("Hunde",))
    (best, *_) = explore(translator, TEXT, BEAM, request=Request("text 1", asked, tokens=ids[:1])).translations
    assert "Hunde" in best.text
    assert "Katzen" not in best.text
    assert best.ids[0] == ids[0]


def test_forced_attention_is_that_of_the_equations(translator: Translator):
    """Greedy search again by hand, with the context of one step replaced by an encoder's value."""
    model = translator.network.in_torch().model
    assert isinstance(model, Seq2Seq)
    row = torch.tensor([translator.encoded([TEXT])[0]])
    for step, place in product((0, 2), (0, 4)):
        (forced,), _, replay = explore(translator, TEXT, GreedyConfig(), places={step: [place]}, top=3)
        with torch.no_grad():
            memory = model.encode(row, torch.ones_like(row, dtype=torch.bool))
            state = model.init_state(memory)
            token, tokens, probabilities = 2, [], []
            for number in range(len(forced.ids)):
                query = model.decoder.make_query(torch.tensor([token]), state)
                attended = model.decoder.attend(query, memory)
                if number == step:
                    attended = attended._replace(context=memory.values[:, place])
                prediction = model.decoder.read_out(query, attended, memory)
                log_probs = prediction.log_probs()[0]
                log_probs[[0, 2]] = -torch.inf
                state, token = prediction.state, int(log_probs.argmax())
                tokens.append(token)
                probabilities.append(float(log_probs[token].exp()))
        assert list(forced.ids) == tokens
        assert np.exp(replay.log_probs) == pytest.approx(probabilities, abs=1e-5)
        assert [best[0][0] for best in replay.best] == tokens
        assert np.flatnonzero(forced.alignment[step]).tolist() == [place]


def test_positions_share_a_step_and_a_hard_attention_goes_on_from_there(translator: Translator, hard: Translator):
    shared = explore(translator, TEXT, BEAM, places={1: [0, 3, 0]}).translations[0]
    assert shared.alignment[1].tolist() == [0.5, 0, 0, 0.5, 0, 0]
    for search in (GreedyConfig(), OnlineConfig()):
        forced = explore(hard, TEXT, search, places={0: [3]}).translations[0]
        assert forced.stops is not None
        assert forced.stops[0] == 3
        assert min(forced.stops[1:]) >= 3, "a monotonic attention does not go back"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"places": {0: [6]}}, "the source has 6 positions, from 0, and none of number 6"),
        ({"places": {0: [-1]}}, "none of number -1"),
        ({"request": Request("text 1", tokens=(100_000,))}, "the prefix has the token 100000"),
        ({"request": Request("text 1", tokens=(5,) * 1000)}, "asks for 1000 tokens or more, and at most"),
    ],
)
def test_what_is_impossible_is_refused(translator: Translator, options, sentence):
    require_refusal(lambda: explore(translator, TEXT, BEAM, **options), sentence)


def test_an_ensemble_is_not_forced(translator: Translator):
    model = translator.network.in_torch().model
    assert isinstance(model, Seq2Seq)
    both = torch_translator(Ensemble([model, model]).eval(), translator.tokenizers, translator.config)
    require_refusal(lambda: explore(both, TEXT, BEAM, places={0: [0]}), "or is an ensemble: name another run")


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
def test_a_tree_is_what_the_search_has_looked_at(seed: int, width: int, ending: float):
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
