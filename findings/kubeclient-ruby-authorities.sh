#!/usr/bin/env bash
# Question: while the authority of a cluster changes, its kubeconfig has the old and the new certificate, one after the other;
#   does the client for Ruby trust both?
# Versions: ruby-kubeclient 4.9.3 with ruby3.1 3.1.2 (Debian 12), kubernetes 37.0.2, lightkube 1.0.1 (PyPI).
# One would guess: yes, as the clients for Python: a server is taken if either has signed for it.
# What is: of `certificate-authority-data` kubeclient takes the first certificate alone, and refuses the server in one half of
#   the change. From the file of `certificate-authority` it takes both. Of a `tokenFile`, `tls-server-name`, `proxy-url` and
#   `as` nothing is in the context that it makes, and no error tells it.
source "$(dirname "$0")/support/clients.sh"
source "$support/debian.sh"
debian "$work/root" ruby-kubeclient=4.9.3-2 ruby3.1=3.1.7+really3.1.2-0+deb12u1
install kubernetes lightkube
openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -days 2 -subj /CN=other 2> log
library=$work/root/usr/lib
export RUBYLIB=$library/ruby/3.1.0:$library/x86_64-linux-gnu/ruby/3.1.0
RUBYLIB=$RUBYLIB:$work/root/usr/share/rubygems-integration/all/gems/kubeclient-4.9.3/lib
cat > ask.rb <<'ASK'
require "date"
require "openssl"
require "socket"
require "kubeclient/config"

context = Kubeclient::Config.read("config").context
if ARGV[0] == "fields"
  puts "  kubeclient: options #{(context.ssl_options.keys + context.auth_options.keys).sort.join(", ")}"
  exit
end
tls = OpenSSL::SSL::SSLContext.new
tls.set_params(verify_mode: context.ssl_options[:verify_ssl], cert_store: context.ssl_options[:cert_store])
begin
  OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", ARGV[0].to_i), tls).connect
  puts "  kubeclient: trusts the server"
rescue OpenSSL::SSL::SSLError => error
  puts "  kubeclient: #{error.class}"
end
ASK
ruby() { of "$work/root" bin/ruby3.1 --disable-gems "$@" 2> log; }
{
  for order in "ca.pem other.pem" "other.pem ca.pem"; do
    cat $order > both.pem
    for authority in "certificate-authority: $PWD/both.pem" "certificate-authority-data: $(base64 -w0 both.pem)"; do
      echo "${authority%%:*}, the server's is ${order/ca.pem other.pem/first}" | sed 's/other.pem ca.pem/second/'
      kubeconfig "token: secret" "$authority"
      answers | sed 's/^/  /; s/Bearer secret/trusts the server/'
      ruby ask.rb "$(cat port)"
    done
  done
  echo "a user and a cluster with other fields"
  kubeconfig "tokenFile: $PWD/token, as: deployer" "certificate-authority: $PWD/ca.pem, tls-server-name: api, proxy-url: http://p"
  ruby ask.rb fields
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
certificate-authority, the server's is first
  kubernetes: trusts the server
  lightkube: trusts the server
  kubeclient: trusts the server
certificate-authority-data, the server's is first
  kubernetes: trusts the server
  lightkube: trusts the server
  kubeclient: trusts the server
certificate-authority, the server's is second
  kubernetes: trusts the server
  lightkube: trusts the server
  kubeclient: trusts the server
certificate-authority-data, the server's is second
  kubernetes: trusts the server
  lightkube: trusts the server
  kubeclient: OpenSSL::SSL::SSLError
a user and a cluster with other fields
  kubeclient: options cert_store, verify_ssl
EXPECTED
