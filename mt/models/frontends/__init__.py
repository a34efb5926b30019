"""Front-ends: from what a field gives to vectors."""

from mt.models.frontends.base import Frontend
from mt.models.frontends.embedding import PAD, Embedding, EmbeddingConfig

__all__ = ["PAD", "Embedding", "EmbeddingConfig", "Frontend"]
