# scikit-learn has no types: without these, its decorators would take those of our methods away.
from collections.abc import Callable
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])

def available_if(check: Callable[[Any], bool]) -> Callable[[_Method], _Method]: ...
def with_callbacks(method: _Method) -> _Method: ...

CallbackSupportMixin: Any
