"""Creates the object of a file with the client library that is named, and notes an error that it raises."""

import asyncio
import sys


def with_kubernetes() -> None:
    from kubernetes import client, config, utils

    config.load_kube_config("config")
    utils.create_from_yaml(client.ApiClient(), sys.argv[2])


def with_kubernetes_asyncio() -> None:
    from kubernetes_asyncio import client, config, utils

    async def create() -> None:
        await config.load_kube_config("config")
        async with client.ApiClient() as connection:
            await utils.create_from_yaml(connection, sys.argv[2])

    asyncio.run(create())


def with_lightkube() -> None:
    from lightkube import Client, KubeConfig, codecs

    with open(sys.argv[2]) as file:
        Client(KubeConfig.from_file("config")).create(*codecs.load_all_yaml(file))


def with_kr8s() -> None:
    import kr8s
    from kr8s.objects import objects_from_files

    objects_from_files(sys.argv[2], api=kr8s.api(kubeconfig="config"))[0].create()


def with_pykube() -> None:
    import pykube
    import yaml

    with open(sys.argv[2]) as file:
        body = yaml.safe_load(file)
    client = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
    pykube.object_factory(client, body["apiVersion"], body["kind"])(client, body).create()


try:
    globals()[f"with_{sys.argv[1]}"]()
except Exception as error:
    with open("seen", "a") as seen:
        seen.write(f"raises {type(error).__name__}\n")
