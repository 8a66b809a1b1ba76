"""Lists Namespaces with the client library and the kubeconfig that are named."""

import asyncio
import sys
import warnings

warnings.simplefilter("ignore")


def with_kubernetes(kubeconfig: str) -> None:
    from kubernetes import client, config

    config.load_kube_config(kubeconfig)
    client.CoreV1Api().list_namespace()


def with_kubernetes_asyncio(kubeconfig: str) -> None:
    from kubernetes_asyncio import client, config

    async def ask() -> None:
        await config.load_kube_config(kubeconfig)
        async with client.ApiClient() as api:
            await client.CoreV1Api(api).list_namespace()

    asyncio.run(ask())


def with_lightkube(kubeconfig: str) -> None:
    from lightkube import Client, KubeConfig
    from lightkube.resources.core_v1 import Namespace

    list(Client(KubeConfig.from_file(kubeconfig)).list(Namespace))


def with_kr8s(kubeconfig: str) -> None:
    import kr8s

    list(kr8s.api(kubeconfig=kubeconfig).get("namespaces"))


def with_pykube(kubeconfig: str) -> None:
    import pykube

    list(pykube.Namespace.objects(pykube.HTTPClient(pykube.KubeConfig.from_file(kubeconfig))))


try:
    globals()[f"with_{sys.argv[1]}"](sys.argv[2])
except Exception as error:
    first = (str(error).splitlines() or [""])[0]
    print(f"{type(error).__name__}: {first}")
