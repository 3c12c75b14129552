"""What the custom resources of the Helm chart must look like, as far as the chart uses them.

Kubernetes' own schemas know none of them. These are ours, by the documentation of the Prometheus operator and of KEDA:
they refuse a field that is misspelt or of the wrong type, and know nothing of fields that the chart does not write.
"""

from typing import Any

TEXT = {"type": "string", "minLength": 1}
LABELS = {"type": "object", "additionalProperties": TEXT}
SECONDS = {"type": "string", "pattern": r"^[0-9]+(ms|s|m|h)$"}


def an_object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """An object with these fields and no others."""
    properties = {**required, **optional}
    return {"type": "object", "additionalProperties": False, "required": [*required], "properties": properties}


def a_list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": of}


POD_MONITOR = an_object(
    {
        "selector": an_object({"matchLabels": LABELS}),
        "podMetricsEndpoints": a_list(
            an_object(
                {"port": TEXT, "interval": SECONDS},
                relabelings=a_list(
                    an_object({"action": {"enum": ["replace"]}, "targetLabel": TEXT, "replacement": TEXT})
                ),
                authorization=an_object(
                    {"type": {"enum": ["Bearer"]}, "credentials": an_object({"name": TEXT, "key": TEXT})}
                ),
            )
        ),
    }
)
RULE = an_object(
    {"alert": TEXT, "expr": TEXT, "for": SECONDS, "labels": LABELS, "annotations": LABELS}, keep_firing_for=SECONDS
)
PROMETHEUS_RULE = an_object({"groups": a_list(an_object({"name": TEXT, "rules": a_list(RULE)}, interval=SECONDS))})
POLICIES = a_list(
    an_object(
        {
            "type": {"enum": ["Pods", "Percent"]},
            "value": {"type": "integer", "minimum": 1},
            "periodSeconds": {"type": "integer", "minimum": 1, "maximum": 1800},
        }
    )
)
WINDOW = {"type": "integer", "minimum": 0, "maximum": 3600}
SCALED_OBJECT = an_object(
    {
        "scaleTargetRef": an_object({"name": TEXT}, apiVersion=TEXT, kind=TEXT),
        "minReplicaCount": {"type": "integer", "minimum": 0},
        "maxReplicaCount": {"type": "integer", "minimum": 1},
        "triggers": a_list(
            an_object(
                # All values of a trigger's metadata are strings, numbers too.
                {"type": {"enum": ["kafka"]}, "metadata": LABELS},
                authenticationRef=an_object({"name": TEXT}),
            )
        ),
    },
    advanced=an_object(
        {
            "horizontalPodAutoscalerConfig": an_object(
                {
                    "behavior": an_object(
                        {
                            "scaleDown": an_object({"policies": POLICIES}, stabilizationWindowSeconds=WINDOW),
                            "scaleUp": an_object({"policies": POLICIES}, stabilizationWindowSeconds=WINDOW),
                        }
                    )
                }
            )
        }
    ),
)
OF_KAFKA = ["sasl", "username", "password", "tls", "ca", "cert", "key", "keyPassword"]
TRIGGER_AUTHENTICATION = an_object(
    {"secretTargetRef": a_list(an_object({"parameter": {"enum": OF_KAFKA}, "name": TEXT, "key": TEXT}))}
)
SPECS = {
    ("monitoring.coreos.com/v1", "PodMonitor"): POD_MONITOR,
    ("monitoring.coreos.com/v1", "PrometheusRule"): PROMETHEUS_RULE,
    ("keda.sh/v1alpha1", "ScaledObject"): SCALED_OBJECT,
    ("keda.sh/v1alpha1", "TriggerAuthentication"): TRIGGER_AUTHENTICATION,
}
