"""Client of sager-streams: sends events, and reads users' slim skills.

    from sager_client import EventProducer, SlimSkills

With asyncio, write `async with`, and await `rank_async`. `sager_client.schemas` has all models.
"""

from .connection import Connection as Connection
from .errors import BrokerUnreachable as BrokerUnreachable
from .errors import Closed as Closed
from .errors import Misconfigured as Misconfigured
from .errors import NoAnswer as NoAnswer
from .errors import NotDelivered as NotDelivered
from .errors import NotShown as NotShown
from .errors import SagerClientError as SagerClientError
from .errors import UnknownOption as UnknownOption
from .methods import question_of as question_of
from .producer import EventProducer as EventProducer
from .schemas import Candidate as Candidate
from .schemas import ClarifyingQuestion as ClarifyingQuestion
from .schemas import Correction as Correction
from .schemas import Directive as Directive
from .schemas import Feedback as Feedback
from .schemas import Fit as Fit
from .schemas import Ranking as Ranking
from .schemas import RankRequest as RankRequest
from .schemas import Selection as Selection
from .schemas import SlimSkill as SlimSkill
from .schemas import Utterance as Utterance
from .sender import Limits as Limits
from .sender import Undelivered as Undelivered
from .slim_skills import SlimSkills as SlimSkills
