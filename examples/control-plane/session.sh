#!/bin/sh
# Alice orders a database for her team, as an admin who plays her.
set -eu
cd "$(dirname "$0")"

alice() { echo "\$ fairlead $*"; fairlead "$@" --as alice --namespace shop 2>&1; }

# What must not work.
refused() {
    if alice "$@"; then
        echo "this should have been refused" >&2
        exit 1
    fi
}

alice get plans
alice apply -f database.yaml
alice wait database/orders --for condition=Ready --timeout 30s
alice get databases

# Rules of the definition hold for everybody.
refused patch database orders --type merge -p '{"spec": {"engine": "mysql"}}'
refused patch database orders --type merge -p '{"spec": {"storage": 5}}'
alice patch database orders --type merge -p '{"spec": {"storage": 20, "replicas": 3}}'

# A plan is what the platform makes of it, and what it says of a database is not hers to write.
refused patch plan small --type merge -p '{"spec": {"maxStorage": 1000}}'
refused patch database orders --subresource status --type merge -p '{"status": {"endpoint": "elsewhere"}}'

# More than the plan has is told in the status.
alice patch database orders --type merge -p '{"spec": {"storage": 30}}'
alice wait database/orders --for condition=Ready=False --timeout 30s
alice get databases

alice delete database orders
