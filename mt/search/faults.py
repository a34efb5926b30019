"""The error of searches in torch and in ONNX Runtime."""

from mt.errors import UserError


def non_finite_scores_error() -> UserError:
    """Returns the error for scores of next tokens that are not finite."""
    return UserError(
        "the model's scores for the next token are not finite numbers (NaN or infinity): its training has diverged "
        "or its weights are damaged; decode with an earlier checkpoint, or train again with a lower learning rate"
    )
