"""Translation of sources that are still arriving."""

from mt.streaming.progress import Setting
from mt.streaming.session import Event, Session, finish, read

__all__ = ["Event", "Session", "Setting", "finish", "read"]
