"""The app for Faust's own commands: `faust -A streams.worker.app worker`."""

from streams.settings import Settings
from streams.worker.create import create

app = create(Settings()).app
