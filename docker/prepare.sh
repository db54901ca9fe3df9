#!/bin/sh
# Lays out what the image of an original environment, or of the harness, is built from, so that the build
# itself needs no network.
#
#     docker/prepare.sh alfworld           then: docker build -t hindsight/alfworld docker/alfworld
#     docker/prepare.sh webshop CHECKOUT   then: docker build -t hindsight/webshop docker/webshop
#     docker/prepare.sh harness            then: docker build -t hindsight/harness docker/harness
#
# CHECKOUT is a checkout of WebShop with its data; docs/originals.md says how to get one. Packages come
# from where pip gets them (pip.conf, PIP_INDEX_URL and the like apply). Those that exist as source alone
# are compiled here, which takes a C++ compiler, cmake, make and a few minutes, once: pip keeps the result.
# The images' Python must be of this machine's version: PYTHON=python3.11 chooses one, and --build-arg
# BASE=IMAGE the image to begin with. OUT=FOLDER lays out elsewhere.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
name=${1-}
case $name in alfworld | webshop | harness) ;; *)
	sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0" >&2
	exit 2 ;;
esac
out=${OUT:-$here/$name/build}
mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ "$name" = harness ]; then
	(cd "$here/.." && go build -o "$out/harness" ./cmd/harness)
	echo "$out"
	exit
fi
rm -rf "$out/bridge" "$out/wheels.new"
mkdir "$out/bridge"
cp "$here"/bridge/*.py "$here/$name"/*.py "$out/bridge/"
if [ "$name" = webshop ]; then
	checkout=${2:?"name the checkout of WebShop: docker/prepare.sh webshop CHECKOUT"}
	for need in web_agent_site/envs/web_agent_text_env.py search_engine data; do
		[ -e "$checkout/$need" ] || { echo "prepare: $checkout has no $need: it is no complete checkout of WebShop" >&2; exit 1; }
	done
	rm -rf "$out/checkout"
	mkdir "$out/checkout"
	(cd "$checkout" && tar -cf - --exclude='search_engine/resources*' web_agent_site data search_engine) | tar -xf - -C "$out/checkout"
fi
wanted=$here/$name/requirements.txt
if ! cmp -s "$wanted" "$out/wheels/requirements.txt"; then
	"${PYTHON:-python3}" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$out/wheels.new" --requirement "$wanted"
	cp "$wanted" "$out/wheels.new/"
	rm -rf "$out/wheels"
	mv "$out/wheels.new" "$out/wheels"
fi
echo "$out"
