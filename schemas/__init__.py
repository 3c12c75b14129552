"""Models of events and states, and the topics; imports no other package."""
# ruff: noqa: F403

from .base import *
from .cards import *
from .codec import *
from .commands import *
from .diffs import *
from .events import *
from .items import *
from .skills import *
from .state import *
from .statements import *
from .topics import *
from .weights import *
