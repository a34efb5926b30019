"""Fast paths, and claims about how a class computes, which a class opts into.

A fast path, such as all target steps at once, is right for the class that it was written for. A subclass may override
one of the methods that it replaces. Then training would silently go on by the fast path, while decoding calls the
override. So a class has the fast paths that it defines itself, and its parents' that it lists in `opts_into`. All
others are as in the base class, which is right for every subclass.
"""

from typing import ClassVar


class OptIn:
    """A base class of classes whose subclasses opt into some of what they would inherit."""

    opt_in: ClassVar[tuple[str, ...]] = ()
    """The attributes, of the base class that lists them, that a subclass has to define or to list in `opts_into`."""
    opts_into: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold in this class as in its parent; of this class alone."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        defined = {*vars(cls), *vars(cls).get("opts_into", ())}
        for base in cls.__mro__[1:]:
            for name in vars(base).get("opt_in", ()):
                if name not in defined:
                    setattr(cls, name, vars(base)[name])
