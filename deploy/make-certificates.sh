#!/bin/sh
# Makes the certificates of two servers behind a load balancer, and of three etcd members:
#
#     deploy/make-certificates.sh DIRECTORY NAME...
#
# NAMEs are those by which clients reach the balancer: DNS names or IP addresses; the first is
# written into DIRECTORY/admin.kubeconfig. Files that exist are kept: to renew a certificate, remove
# it and its key and run this again; servers take the new one up by themselves.
set -eu
umask 077

if [ $# -lt 2 ]; then
    echo "usage: $0 DIRECTORY NAME..." >&2
    exit 2
fi
directory=$1
shift
first=$1
mkdir -p "$directory"
cd "$directory"

# alternatives NAME...: prints them as a subjectAltName
alternatives() {
    list=
    for name in "$@"; do
        case $name in
            *:*) list="$list,IP:$name" ;;
            *[!0-9.]*) list="$list,DNS:$name" ;;
            *) list="$list,IP:$name" ;;
        esac
    done
    echo "subjectAltName=${list#,}"
}

# authority FILE NAME: a CA
authority() {
    [ -e "$1.crt" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc \
        -keyout "$1.key" -out "$1.crt" -days 3650 -subj "/CN=$2" \
        -addext "basicConstraints=critical,CA:TRUE" \
        -addext "keyUsage=critical,keyCertSign,cRLSign" 2>/dev/null
}

# certificate FILE CA SUBJECT USAGES EXTENSION...: a certificate that the CA signs
certificate() {
    file=$1 ca=$2 subject=$3 usages=$4
    shift 4
    [ ! -e "$file.crt" ] || return 0
    {
        echo "extendedKeyUsage=$usages"
        echo "keyUsage=critical,digitalSignature"
        for extension in "$@"; do echo "$extension"; done
    } >"$file.ext"
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc \
        -keyout "$file.key" -out "$file.csr" -subj "$subject" 2>/dev/null
    openssl x509 -req -in "$file.csr" -CA "$ca.crt" -CAkey "$ca.key" -CAcreateserial \
        -out "$file.crt" -days 365 -extfile "$file.ext" 2>/dev/null
    rm "$file.csr" "$file.ext"
}

authority ca fairlead
[ -e service-account.key ] || openssl genrsa -out service-account.key 2048 2>/dev/null
certificate server ca /CN=fairlead serverAuth "$(alternatives "$@" localhost 127.0.0.1 \
    kubernetes kubernetes.default kubernetes.default.svc)"
certificate admin ca /O=system:masters/CN=admin clientAuth

authority etcd-ca fairlead-etcd
certificate etcd etcd-ca /CN=etcd serverAuth,clientAuth "$(alternatives \
    etcd1 etcd2 etcd3 etcd-0.etcd etcd-1.etcd etcd-2.etcd etcd localhost 127.0.0.1)"
certificate etcd-client etcd-ca /CN=fairlead clientAuth

in_base64() { base64 <"$1" | tr -d '\n'; }
cat >admin.kubeconfig <<END
apiVersion: v1
kind: Config
current-context: fairlead
contexts:
- {name: fairlead, context: {cluster: fairlead, user: admin}}
clusters:
- name: fairlead
  cluster: {server: "https://$first:6443", certificate-authority-data: $(in_base64 ca.crt)}
users:
- name: admin
  user: {client-certificate-data: $(in_base64 admin.crt), client-key-data: $(in_base64 admin.key)}
END
