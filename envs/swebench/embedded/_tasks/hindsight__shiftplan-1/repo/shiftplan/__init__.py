"""Plans who is on duty when, and says where nobody is."""

from shiftplan.clock import format_time, parse_time
from shiftplan.interval import Interval, gaps, merge
from shiftplan.roster import Roster

__all__ = ["Interval", "Roster", "format_time", "gaps", "merge", "parse_time"]
