"""Three agents that rank by themselves, with and without a slim skill (paper 3.3, Figures 3 to 5).

host = HOSTS["static-profile"](ranker)     # or without a ranker: no model
order = await host.rank(HostRequest("ann", candidates, "a quiet one", history, slim_skill))
host.observe(request, order[0])
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from evaluation.hosts.dynamic_profile import DynamicProfileHost
from evaluation.hosts.host import Host, HostRequest, Ranks
from evaluation.hosts.static_profile import StaticProfileHost
from evaluation.hosts.vanilla import VanillaHost

HOSTS: Mapping[str, Callable[[Ranks | None], Host]] = MappingProxyType(
    {host.name: host for host in (VanillaHost, StaticProfileHost, DynamicProfileHost)}
)
"""The hosts by name; each is created with a ranker or None."""

__all__ = ["HOSTS", "DynamicProfileHost", "Host", "HostRequest", "Ranks", "StaticProfileHost", "VanillaHost"]
