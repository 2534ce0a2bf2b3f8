"""What clients do over time: how many requests, how long they take, with which errors; and how many connections."""

from ...connections.concern import Concern
from . import client_activity

CONCERN = Concern(name="activity", transforms={"client_activity": client_activity.transform})
