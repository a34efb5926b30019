"""What a search refuses, in torch and without."""

from mt.errors import UserError


def not_finite() -> UserError:
    """For scores of next tokens that are no numbers."""
    return UserError(
        "the model's scores for the next token are not finite numbers (NaN or infinity): its training has diverged "
        "or its weights are damaged; decode with an earlier checkpoint, or train again with a lower learning rate"
    )
