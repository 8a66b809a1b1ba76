"""Views: pure functions from what was seen of a fleet to the objects that a page is told.

fleet_views     all collections of one scope, rendered as JSON, remembering what has not changed
application_rows rows of applications by state, kept from version to version
binding_index   what views need of all bindings, kept by difference
cluster_tiles   a cluster as a tile of the map
fleet_summary   the head of the page: headline, what comes next, the brake
outage_rows     outages as stories
policy_rows     policies, and how many applications each has claimed
"""

from leeward.dashboard.views.fleet_views import FleetRenderer

__all__ = ["FleetRenderer"]
