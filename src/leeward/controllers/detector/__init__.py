"""The detector: templates that a policy selects get a binding.

detector            one template at a time: its policy, its binding
detected_bindings   writes of bindings; `feature_holds` are features that they keep without a gate
detected_templates  requests of templates that need no second look
template_events     events of a template; `autoscaler_events` of its autoscaler
"""

from leeward.controllers.detector.detector import Detector, DetectorSettings

__all__ = ["Detector", "DetectorSettings"]
