"""The closed table of front-ends, from a field's sources to vectors. A new one is a file here and a line below."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field

from mt.models.frontends.base import Frontend, State as FrontendState
from mt.models.frontends.embedding import PAD, Embedding, EmbeddingConfig, WordVectors, WordVectorsConfig
from mt.models.frontends.features import FeatureGrid
from mt.models.frontends.image import ImageGrid
from mt.models.frontends.logmel import LogMel

FRONTENDS: dict[str, type[Frontend]] = {
    "embedding": WordVectors,
    "logmel": LogMel,
    "image": ImageGrid,
    "features": FeatureGrid,
}

if TYPE_CHECKING:
    # A union that is made from the table is beyond a type checker; pydantic checks it.
    FrontendConfig = Any
else:
    _configs = tuple(frontend.Config for frontend in FRONTENDS.values())
    FrontendConfig = Annotated[Union[_configs], Field(discriminator="name")]  # noqa: UP007 - a tuple has no `|`


def build_frontend(config: FrontendConfig, embedding: Callable[[], Embedding]) -> Frontend:
    """Returns the front-end with these options; embedding: makes the table of words, where sources have them."""
    kind: Any = FRONTENDS[config.name]
    return kind(embedding()) if kind is WordVectors else kind(config)


__all__ = [
    "FRONTENDS",
    "PAD",
    "Embedding",
    "EmbeddingConfig",
    "Frontend",
    "FrontendConfig",
    "FrontendState",
    "WordVectorsConfig",
    "build_frontend",
]
