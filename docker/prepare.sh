#!/bin/sh
# Lays out the build context of an original environment's image, with all that the build needs from
# elsewhere, so that the build itself needs no network.
#
#     docker/prepare.sh alfworld                     then: docker build -t hindsight/alfworld docker/alfworld/build
#     docker/prepare.sh webshop CHECKOUT             then: docker build -t hindsight/webshop docker/webshop/build
#
# CHECKOUT is a checkout of WebShop with its data and its search index; docs/originals.md says how to get
# one. Packages come from where pip gets them (pip.conf, PIP_INDEX_URL and the like apply); those that
# exist as source alone are compiled here, which takes a C++ compiler, make and a few minutes, once:
# pip keeps the result. OUT=FOLDER lays out elsewhere. The image's Python must be of this machine's
# version: PYTHON=python3.11 chooses one, and --build-arg BASE=IMAGE the image to begin with.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
name=${1-}
case $name in alfworld | webshop) ;; *)
	sed -n '2,/^set/{/^#/s/^# \{0,1\}//p;}' "$0" >&2
	exit 2 ;;
esac
python=${PYTHON:-python3}
out=${OUT:-$here/$name/build}
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -rf "$out/bridge" "$out/wheels.new"
mkdir "$out/bridge"
cp "$here"/bridge/*.py "$here/$name/adapter.py" "$out/bridge/"
cp "$here/$name/Dockerfile" "$here/$name/requirements.txt" "$out/"
if [ "$name" = webshop ]; then
	checkout=${2:?"name the checkout of WebShop: docker/prepare.sh webshop CHECKOUT"}
	for need in web_agent_site/envs/web_agent_text_env.py data search_engine; do
		[ -e "$checkout/$need" ] || { echo "prepare: $checkout has no $need: it is no complete checkout of WebShop" >&2; exit 1; }
	done
	rm -rf "$out/checkout"
	mkdir "$out/checkout"
	(cd "$checkout" && tar -cf - --exclude=resources --exclude='resources_*' web_agent_site data search_engine) | tar -xf - -C "$out/checkout"
fi
if ! cmp -s "$out/requirements.txt" "$out/wheels/requirements.txt"; then
	"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$out/wheels.new" --requirement "$out/requirements.txt"
	cp "$out/requirements.txt" "$out/wheels.new/"
	rm -rf "$out/wheels"
	mv "$out/wheels.new" "$out/wheels"
fi
echo "$out"
