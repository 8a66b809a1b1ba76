// Lists Namespaces with @kubernetes/client-node and the kubeconfig that is named.
import { createRequire } from "node:module";

const k8s = createRequire(process.cwd() + "/")("@kubernetes/client-node");
const config = new k8s.KubeConfig();
try {
  config.loadFromFile(process.argv[2]);
  await config.makeApiClient(k8s.CoreV1Api).listNamespace();
} catch (error) {
  console.log(`${error.constructor.name}: ${error.message.split("\n")[0]}`);
}
