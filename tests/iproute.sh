#!/bin/sh
# Leaves `ip` on the machine where its package manager can: the tests that cut a network make
# namespaces with it, or are skipped (and fail when CI is set).
command -v ip >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq iproute2
fi
exit 0
