"""The binding controller: a binding's placement becomes one Work for each cluster.

binding            one binding at a time: its Works, their removal, its status
work_rendering     manifests of a Work; `rollouts` and `scale_downs` say which of them wait
work_writing       writes of Works; `foreign_deletions` of Works that somebody else deletes
unwanted_works     Works that the placement no longer asks for; `deleted_bindings` of bindings that are deleted
binding_reports    statuses added up; `first_conditions`, `binding_events` and `service_addresses` beside them
binding_templates  templates that bindings name
"""

from leeward.controllers.binding.binding import BindingController

__all__ = ["BindingController"]
