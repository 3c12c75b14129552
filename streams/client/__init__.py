"""What an app uses: an event producer and a cache of slim skills. Ten lines of code each way."""

from streams.client.events import EventProducer
from streams.client.slim_skills import SlimSkills

__all__ = ["EventProducer", "SlimSkills"]
