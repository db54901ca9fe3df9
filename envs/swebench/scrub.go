package swebench

import (
	"errors"
	"fmt"
	"strings"
)

// scrubMark opens each line that the scripts print for ScrubReport to read.
const scrubMark = "hindsight-scrub "

// scrubTemplate removes what a repository knows beyond its HEAD. HEAD is the base commit, or the commit
// that an image's build put on top of it, and stays as it is; so does the working tree. Tags of its
// ancestors stay too, for packages take their version from them. Order matters: references first, then
// what else keeps objects alive, then the objects.
const scrubTemplate = `set -u
cd %[1]s || exit 3
export GIT_CONFIG_NOSYSTEM=1 GIT_OPTIONAL_LOCKS=0 LC_ALL=C
g() { git -c safe.directory='*' -c gc.auto=0 -c core.hooksPath=/dev/null "$@"; }
dir=$(g rev-parse --absolute-git-dir) || exit 3
common=$(cd "$dir" && cd "$(g rev-parse --git-common-dir)" && pwd) || exit 3
head=$(g rev-parse --verify 'HEAD^{commit}') || exit 3
branch=$(g symbolic-ref -q HEAD || true)
# The base commit must be HEAD or one of its ancestors; anything else is another repository.
if [ -n %[2]s ] && ! g merge-base --is-ancestor %[2]s "$head"; then echo '%[3]swrong-base'; exit 4; fi
for r in $(g remote); do g remote remove "$r"; done
g for-each-ref --format='%%(refname)' | while IFS= read -r ref; do
  [ "$ref" = "$branch" ] && continue
  case $ref in refs/tags/*) c=$(g rev-parse -q --verify "$ref^{commit}") && g merge-base --is-ancestor "$c" "$head" && continue ;; esac
  g update-ref --no-deref -d "$ref" || exit 5
done || exit 5
for f in FETCH_HEAD ORIG_HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD AUTO_MERGE BISECT_LOG logs rebase-apply rebase-merge sequencer worktrees; do rm -rf "$dir/$f" "$common/$f"; done
rm -f "$common"/objects/pack/*.keep "$common"/objects/info/alternates "$common"/objects/info/commit-graph
rm -rf "$common"/objects/info/commit-graphs "$common"/objects/pack/multi-pack-index*
g reflog expire --expire=now --expire-unreachable=now --all || exit 5
g repack -a -d -q || exit 5
g prune --expire=now || exit 5
`

// checkTemplate lists what is still there: references and objects that HEAD does not reach.
const checkTemplate = `set -u
cd %[1]s || exit 3
export GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
g() { git -c safe.directory='*' -c gc.auto=0 "$@"; }
g rev-parse --verify -q 'HEAD^{commit}' >/dev/null || exit 3
for r in $(g remote); do echo "%[3]sremote $r"; done
g for-each-ref --format='%%(refname)' | while IFS= read -r ref; do
  c=$(g rev-parse -q --verify "$ref^{commit}") && g merge-base --is-ancestor "$c" HEAD || echo "%[3]sref $ref"
done
dir=$(g rev-parse --absolute-git-dir)
[ -s "$dir/logs/HEAD" ] && echo "%[3]sreflog HEAD"
known=$(mktemp) || exit 3
g rev-list HEAD | sort > "$known"
g cat-file --batch-all-objects --batch-check='%%(objecttype) %%(objectname)' | sed -n 's/^commit //p' | sort |
  comm -23 - "$known" | head -n %[4]d | sed 's/^/%[3]scommit /'
rm -f "$known"
echo '%[3]sdone'
`

// maxLeaks bounds the commits that a check lists.
const maxLeaks = 20

// ScrubScript is the shell script that removes future history from the repository at dir: remotes,
// branches, tags that are no ancestors', notes, stashes, reflogs, leftovers of merges, and every object
// that HEAD does not reach, packed ones too. base is the instance's base commit, "" to not check it. It
// exits 0 when all is done, 3 where there is no repository, 4 where base is no ancestor, 5 where git
// failed.
func ScrubScript(dir, base string) string {
	return fmt.Sprintf(scrubTemplate, shellQuote(dir), shellQuote(base), scrubMark)
}

// ScrubCheckScript is the shell script that looks for what a scrub should have removed; ScrubReport
// reads its output.
func ScrubCheckScript(dir string) string {
	return fmt.Sprintf(checkTemplate, shellQuote(dir), "", scrubMark, maxLeaks)
}

// hideTemplate looks before it scrubs: to rewrite the objects of a large repository takes a minute, and
// images of newer releases come without their future.
const hideTemplate = `known=$( ( %[1]s ) ) || exit 3
if [ -n %[4]s ] && ! git -c safe.directory='*' -C %[3]s merge-base --is-ancestor %[4]s HEAD; then echo '%[5]swrong-base'; exit 4; fi
if [ "$known" = '%[5]sdone' ]; then echo "$known"; exit 0; fi
( %[2]s ) || exit $?
( %[1]s ) || exit 3
`

// HideFutureScript is ScrubScript and then ScrubCheckScript, or the check alone where it finds nothing to
// scrub. ScrubReport reads its output; its exit codes are ScrubScript's.
func HideFutureScript(dir, base string) string {
	return fmt.Sprintf(hideTemplate, ScrubCheckScript(dir), ScrubScript(dir, base), shellQuote(dir), shellQuote(base), scrubMark)
}

// ErrScrubIncomplete is returned for the output of a check that did not run to its end.
var ErrScrubIncomplete = errors.New("the check of the repository's history did not finish")

// ScrubReport reads a check's output: what of the future is still visible, at most a few of each kind.
func ScrubReport(output string) (leaks []string, err error) {
	done := false
	for _, line := range strings.Split(output, "\n") {
		text, ok := strings.CutPrefix(strings.TrimRight(line, "\r"), scrubMark)
		switch {
		case !ok:
		case text == "done":
			done = true
		default:
			leaks = append(leaks, text)
		}
	}
	if !done {
		return leaks, ErrScrubIncomplete
	}
	return leaks, nil
}
