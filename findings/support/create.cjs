const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const [body] = k8s.loadAllYaml(require("node:fs").readFileSync(process.argv[2], "utf8"));
k8s.KubernetesObjectApi.makeApiClient(config).create(body);
