"""What subclasses do not inherit: shortcuts, and claims about how a class computes.

A shortcut, such as all steps at once, is right for the class that it was written for. In a subclass that overrides
something of what it stands for, training would go on with the shortcut while decoding goes through what was overridden,
without a word. So a class has those that it defines itself, and else those of the base class, which are right for all.
Where a parent's is right for it, too, it says so: `forward = Parent.forward`.
"""

from typing import ClassVar


class OwnShortcuts:
    """Of base classes that name what is not inherited from the classes between them and a new one."""

    not_inherited: ClassVar[tuple[str, ...]] = ()
    """Attributes of the class that names them."""
    final: ClassVar[dict[str, str]] = {}
    """Methods of the class that names them which no subclass may override, and what to do instead."""

    def __init_subclass__(cls) -> None:
        """Raises TypeError where a class overrides what is final."""
        super().__init_subclass__()
        for base in cls.__mro__[1:]:
            for name, instead in vars(base).get("final", {}).items():
                if name in vars(cls):
                    raise TypeError(f"{cls.__name__} overrides {base.__name__}.{name}, {instead}")
            for name in vars(base).get("not_inherited", ()):
                if name not in vars(cls):
                    setattr(cls, name, vars(base)[name])
