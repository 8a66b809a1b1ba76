# Packages of Debian 12, with all that they depend on, in a temporary folder: nothing is installed on the machine.

# debian FOLDER PACKAGE=VERSION...: unpacks them into the folder.
debian() {
  local folder=$1
  shift
  mkdir -p "$folder" "$folder.debs/partial"
  apt-get -qq -y -o APT::Sandbox::User=root -o Dir::State::status=/dev/null -o Dir::Cache::archives="$folder.debs" \
    --no-install-recommends --download-only install "$@" > /dev/null
  for package in "$folder.debs"/*.deb; do dpkg-deb -x "$package" "$folder"; done
}

# of FOLDER PROGRAM ARGUMENT...: runs a program of the folder with the libraries that are there.
of() {
  local folder=$1 program=$2 libraries
  shift 2
  libraries=$folder/usr/lib/x86_64-linux-gnu:$folder/lib/x86_64-linux-gnu
  "$folder/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$folder/usr/$program" "$@"
}

# start FOLDER PROGRAM ARGUMENT...: the same in the place of the shell that runs it, so that `$!` is the program behind `&`.
start() {
  local folder=$1 program=$2 libraries
  shift 2
  libraries=$folder/usr/lib/x86_64-linux-gnu:$folder/lib/x86_64-linux-gnu
  exec "$folder/lib64/ld-linux-x86-64.so.2" --library-path "$libraries" "$folder/usr/$program" "$@"
}
