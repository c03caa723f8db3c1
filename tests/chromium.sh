#!/bin/sh
# Leaves a Chromium on the machine where its package manager can: the browser tests
# find it by name, or are skipped (and fail when CI is set).
[ -n "$NBTRAIN_CHROMIUM" ] && exit 0
for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
[ -d /Applications/Chromium.app ] && exit 0
if [ "$(id -u)" = 0 ]; then as_root=; elif sudo -n true 2>/dev/null; then as_root='sudo -n'; else as_root=no; fi
if [ "$(uname)" = Darwin ] && command -v brew >/dev/null 2>&1; then
    brew install --cask chromium
elif [ "$as_root" = no ]; then
    echo "Chromium is missing and this user cannot install it: install it to run the browser tests."
elif command -v apt-get >/dev/null 2>&1; then
    install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq"
    $as_root apt-get update -qq
    $install chromium || $install chromium-browser # Ubuntu's name
elif command -v dnf >/dev/null 2>&1; then
    $as_root dnf install -y -q chromium
elif command -v pacman >/dev/null 2>&1; then
    $as_root pacman -Sy --noconfirm chromium
else
    echo "Chromium is missing and no package manager was found to install it."
fi
exit 0 # what is missing is told, or failed on, by the tests
