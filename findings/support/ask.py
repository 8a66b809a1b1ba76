"""Asks for a ConfigMap of the client's name with the client library, kubeconfig and verb that are named.

Verbs are get, create, replace, patch, delete and watch; a watch tells its events, and is left after SECONDS.
"""

import asyncio
import sys
import threading
import warnings
from os import _exit

warnings.simplefilter("ignore")
client_name, kubeconfig, verb, *seconds = sys.argv[1:]
BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": client_name, "namespace": "default"}}
CHANGE = {"data": {"a": "b"}}


def tell(kind: str, version: str) -> None:
    print(f"  {kind} of version {version}", flush=True)


def go_on() -> None:
    print("  it goes on", flush=True)
    _exit(0)


def with_kubernetes() -> None:
    from kubernetes import client, config, watch

    config.load_kube_config(kubeconfig)
    api = client.CoreV1Api()
    match verb:
        case "get":
            api.read_namespaced_config_map(client_name, "default")
        case "create":
            api.create_namespaced_config_map("default", BODY)
        case "replace":
            api.replace_namespaced_config_map(client_name, "default", BODY)
        case "patch":
            api.patch_namespaced_config_map(client_name, "default", CHANGE)
        case "delete":
            api.delete_namespaced_config_map(client_name, "default")
        case _:
            for event in watch.Watch().stream(api.list_namespaced_config_map, "default"):
                tell(event["type"], event["raw_object"]["metadata"].get("resourceVersion"))


def with_kubernetes_asyncio() -> None:
    from kubernetes_asyncio import client, config, watch

    async def ask() -> None:
        await config.load_kube_config(kubeconfig)
        async with client.ApiClient() as connection:
            api = client.CoreV1Api(connection)
            match verb:
                case "get":
                    await api.read_namespaced_config_map(client_name, "default")
                case "create":
                    await api.create_namespaced_config_map("default", BODY)
                case "replace":
                    await api.replace_namespaced_config_map(client_name, "default", BODY)
                case "patch":
                    await api.patch_namespaced_config_map(client_name, "default", CHANGE)
                case "delete":
                    await api.delete_namespaced_config_map(client_name, "default")
                case _:
                    async for event in watch.Watch().stream(api.list_namespaced_config_map, "default"):
                        tell(event["type"], event["raw_object"]["metadata"].get("resourceVersion"))

    asyncio.run(ask())


def with_lightkube() -> None:
    from lightkube import Client, KubeConfig
    from lightkube.resources.core_v1 import ConfigMap

    api, body = Client(KubeConfig.from_file(kubeconfig)), ConfigMap.from_dict(BODY)
    match verb:
        case "get":
            api.get(ConfigMap, client_name, namespace="default")
        case "create":
            api.create(body)
        case "replace":
            api.replace(body)
        case "patch":
            api.patch(ConfigMap, client_name, CHANGE, namespace="default")
        case "delete":
            api.delete(ConfigMap, client_name, namespace="default")
        case _:
            for kind, item in api.watch(ConfigMap, namespace="default"):
                tell(kind, item.metadata.resourceVersion)


def with_kr8s() -> None:
    import kr8s
    from kr8s.objects import ConfigMap

    api = kr8s.api(kubeconfig=kubeconfig)
    match verb:
        case "get":
            ConfigMap.get(client_name, namespace="default", api=api)
        case "create":
            ConfigMap(BODY, api=api).create()
        case "patch":
            ConfigMap(BODY, api=api).patch(CHANGE)
        case "delete":
            ConfigMap(BODY, api=api).delete()
        case _:
            for kind, item in api.watch("configmaps", namespace="default"):
                tell(kind, item.metadata.resourceVersion)


def with_pykube() -> None:
    import pykube

    api = pykube.HTTPClient(pykube.KubeConfig.from_file(kubeconfig))
    match verb:
        case "get":
            pykube.ConfigMap.objects(api, namespace="default").get_by_name(client_name)
        case "create":
            pykube.ConfigMap(api, BODY).create()
        case "patch":
            pykube.ConfigMap(api, BODY).patch(CHANGE)
        case "delete":
            pykube.ConfigMap(api, BODY).delete()
        case _:
            for event in pykube.ConfigMap.objects(api, namespace="default").watch():
                tell(event.type, event.object.obj["metadata"].get("resourceVersion"))


if seconds:
    threading.Timer(float(seconds[0]), go_on).start()
try:
    globals()[f"with_{client_name}"]()
except Exception as error:
    print(f"  {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
else:
    print("  it ends without an error", flush=True)
_exit(0)
