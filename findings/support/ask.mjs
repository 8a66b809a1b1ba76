// Asks for the ConfigMap `client-node` with @kubernetes/client-node, and the kubeconfig and verb that are named.
import { createRequire } from "node:module";

const k8s = createRequire(process.cwd() + "/")("@kubernetes/client-node");
const [kubeconfig, verb, seconds] = process.argv.slice(2);
const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const api = config.makeApiClient(k8s.CoreV1Api);
const of = { name: "client-node", namespace: "default" };
const body = { apiVersion: "v1", kind: "ConfigMap", metadata: of };
const tell = (said) => console.log(`  ${said}`);
const verbs = {
  get: () => api.readNamespacedConfigMap(of),
  create: () => api.createNamespacedConfigMap({ namespace: "default", body }),
  replace: () => api.replaceNamespacedConfigMap({ ...of, body }),
  patch: () => api.patchNamespacedConfigMap({ ...of, body: [{ op: "add", path: "/data", value: { a: "b" } }] }),
  delete: () => api.deleteNamespacedConfigMap(of),
  watch: () =>
    new Promise((resolve, reject) =>
      new k8s.Watch(config).watch(
        "/api/v1/namespaces/default/configmaps",
        {},
        (kind, item) => tell(`${kind} of version ${item.metadata.resourceVersion}`),
        (error) => (error ? reject(error) : resolve()),
      ),
    ),
};
if (seconds) setTimeout(() => (tell("it goes on"), process.exit(0)), 1000 * Number(seconds));
try {
  await verbs[verb]();
  tell("it ends without an error");
} catch (error) {
  tell(`${error.constructor.name}: ${error.message.split("\n")[0]}`);
}
process.exit(0);
