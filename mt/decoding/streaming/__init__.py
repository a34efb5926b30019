"""Translation of sources that are still arriving: by which search a run streams, and how its sessions begin."""

from mt.data.tokenizer import Unit
from mt.decoding.lexical import encoder_of
from mt.decoding.modes import DecodableModel, attends, extends, require_compatible
from mt.decoding.request import Request
from mt.decoding.streaming.extend import ExtendedSession
from mt.decoding.streaming.redraft import RedraftedSession, simulated
from mt.decoding.streaming.session import Session, Streaming, finish, finish_each, read, read_each
from mt.decoding.translator import Translator
from mt.search.config import SearchConfig, revised_search

__all__ = ["Session", "finish", "finish_each", "open_session", "read", "read_each", "simulated", "streaming_search"]


def streaming_search(search: SearchConfig, model: DecodableModel) -> SearchConfig:
    """Returns a search by which a model translates while a source arrives: this one if it can, else one with the
    options that both have. A hard attention decides itself when to write, and a soft one is looked at; without
    attention, drafts have to agree."""
    if search.timed:
        return search
    single_model = model.as_online_model
    if single_model is not None and single_model.online:
        return revised_search(search, {"name": "online"})
    return revised_search(search, {"name": "alignatt" if attends(model) else "agree"})


def open_session(translator: Translator, search: SearchConfig, unit: Unit, request: Request | None = None) -> Session:
    """Begins a session. request: what is asked of its translation. Raises UserError where the search does not fit the
    model, and where it cannot do what is asked."""
    model = translator.model
    require_compatible(search, model)
    # A plain stream needs no encoder of requests, which reads the whole vocabulary.
    asked, terms = (None, None) if request is None else encoder_of(translator).streamed(request, unit, search)
    streaming = Streaming(translator, search, unit)
    if extends(search, model):
        return ExtendedSession(streaming, asked, terms)
    return RedraftedSession(streaming, request or Request("the stream"), terms)
