package embedded

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/envs/qa"
	"github.com/hindsightrl/harness/internal/answer"
)

func open(t *testing.T) *qa.Suite {
	t.Helper()
	s, err := Suite(t.Context(), qa.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// proof finds a question's answer from its text alone, by trying and counting rather than by the
// formula that made it.
type proof struct {
	text  string // regular expression over the whole question; "#" stands for a whole number
	prove func(n []int, q *qa.Question) string
}

// search is the only x in [lo, hi] with the property.
func search(lo, hi int, holds func(x int) bool) string {
	found := []string{}
	for x := lo; x <= hi; x++ {
		if holds(x) {
			found = append(found, strconv.Itoa(x))
		}
	}
	if len(found) != 1 {
		return fmt.Sprintf("not one solution: %v", found)
	}
	return found[0]
}

func count(lo, hi int, holds func(x int) bool) int {
	n := 0
	for x := lo; x <= hi; x++ {
		if holds(x) {
			n++
		}
	}
	return n
}

func prime(n int) bool { return n > 1 && count(1, n, func(d int) bool { return n%d == 0 }) == 2 }

func sign(s string, n int) int {
	if s == "-" {
		return -n
	}
	return n
}

// arrangements counts the distinct orders of a word's letters by making them.
func arrangements(word string) int {
	seen := map[string]bool{}
	var grow func(done, left string)
	grow = func(done, left string) {
		if left == "" {
			seen[done] = true
			return
		}
		tried := map[byte]bool{}
		for i := range len(left) {
			if !tried[left[i]] {
				tried[left[i]] = true
				grow(done+left[i:i+1], left[:i]+left[i+1:])
			}
		}
	}
	grow("", word)
	return len(seen)
}

// teams counts the subsets of k of n people.
func teams(n, k int) int {
	total := 0
	for set := range 1 << n {
		size := 0
		for i := range n {
			size += set >> i & 1
		}
		if size == k {
			total++
		}
	}
	return total
}

var proofs = []proof{
	{`(?:\w+) has # \w+, finds # more and then gives # away\. How many \w+ are left\?`, func(n []int, _ *qa.Question) string {
		return search(0, 400, func(x int) bool { return x+n[2] == n[0]+n[1] })
	}},
	{`Compute \$# \\times # - #\$\.`, func(n []int, _ *qa.Question) string {
		sum := 0
		for range n[1] {
			sum += n[0]
		}
		return search(-100, 1000, func(x int) bool { return x+n[2] == sum })
	}},
	{`What is the remainder when # is divided by #\?`, func(n []int, _ *qa.Question) string {
		for n[0] >= n[1] {
			n[0] -= n[1]
		}
		return strconv.Itoa(n[0])
	}},
	{`What is the greatest common divisor of # and #\?`, func(n []int, _ *qa.Question) string {
		for d := n[0]; ; d-- {
			if n[0]%d == 0 && n[1]%d == 0 {
				return strconv.Itoa(d)
			}
		}
	}},
	{`Write \$\\frac\{#\}\{#\} \+ \\frac\{#\}\{#\}\$ as one fraction in lowest terms\.`, func(n []int, _ *qa.Question) string {
		sum := new(big.Rat).Add(big.NewRat(int64(n[0]), int64(n[1])), big.NewRat(int64(n[2]), int64(n[3])))
		return sum.RatString()
	}},
	{`How much is #% of #\?`, func(n []int, _ *qa.Question) string {
		return search(0, 2000, func(x int) bool { return 100*x == n[0]*n[1] })
	}},
	{`A price rises from # to # coins\. By what percentage has it risen\?`, func(n []int, _ *qa.Question) string {
		return search(0, 100, func(x int) bool { return n[0]*(100+x) == 100*n[1] }) + "%"
	}},
	{`Solve \$#x \+ # = #\$ for \$x\$\.`, func(n []int, _ *qa.Question) string {
		return search(-200, 200, func(x int) bool { return n[0]*x+n[1] == n[2] })
	}},
	{`Find all real numbers \$x\$ with \$x\^2 ([+-]) #x ([+-]) # = 0\$\.`, func(n []int, q *qa.Question) string {
		s := regexp.MustCompile(` ([+-]) \d`).FindAllStringSubmatch(q.Text, -1)
		b, c := sign(s[0][1], n[0]), sign(s[1][1], n[1])
		var roots []string // a quadratic has no more than two
		for x := -100; x <= 100; x++ {
			if x*x+b*x+c == 0 {
				roots = append(roots, strconv.Itoa(x))
			}
		}
		if len(roots) != 2 {
			return "not two roots"
		}
		return strings.Join(roots, " and ")
	}},
	{`Two numbers \$x\$ and \$y\$ satisfy \$x \+ y = #\$ and \$x - y = #\$\. Give the pair \$\(x, y\)\$\.`, func(n []int, _ *qa.Question) string {
		x := search(-99, 99, func(x int) bool { return count(-99, 99, func(y int) bool { return x+y == n[0] && x-y == n[1] }) == 1 })
		y := search(-99, 99, func(y int) bool { return count(-99, 99, func(x int) bool { return x+y == n[0] && x-y == n[1] }) == 1 })
		return "(" + x + "," + y + ")"
	}},
	{`A rectangle is # cm long and # cm wide\. What is its area\?`, func(n []int, _ *qa.Question) string {
		cells := 0
		for range n[0] {
			for range n[1] {
				cells++
			}
		}
		return strconv.Itoa(cells) + " square cm"
	}},
	{`The legs of a right triangle measure # m and # m\. How long is its hypotenuse\?`, func(n []int, _ *qa.Question) string {
		return search(1, 1000, func(x int) bool { return x*x == n[0]*n[0]+n[1]*n[1] }) + " meters"
	}},
	{`Two angles of a triangle measure # and # degrees\. How large is the third angle\?`, func(n []int, _ *qa.Question) string {
		return search(1, 179, func(x int) bool { return n[0]+n[1]+x == 180 }) + " degrees"
	}},
	{`Simplify \$\\sqrt\{#\}\$\.`, func(n []int, q *qa.Question) string {
		m := regexp.MustCompile(`^(\d+)\\sqrt\{(\d+)\}$`).FindStringSubmatch(q.Answer)
		if m == nil {
			return "no simplified root"
		}
		rest, _ := strconv.Atoi(m[2])
		for d := 2; d*d <= rest; d++ {
			if rest%(d*d) == 0 {
				return "not simplified"
			}
		}
		return strconv.FormatFloat(math.Sqrt(float64(n[0])), 'f', 9, 64)
	}},
	{`How many prime numbers are there from # to #, both included\?`, func(n []int, _ *qa.Question) string { return strconv.Itoa(count(n[0], n[1], prime)) }},
	{`What is the largest prime factor of #\?`, func(n []int, _ *qa.Question) string {
		for d := n[0]; ; d-- {
			if n[0]%d == 0 && prime(d) {
				return strconv.Itoa(d)
			}
		}
	}},
	{`An arithmetic sequence starts with #, #, #\. What is its term number #\?`, func(n []int, _ *qa.Question) string {
		if n[2]-n[1] != n[1]-n[0] {
			return "not arithmetic"
		}
		x := n[0]
		for range n[3] - 1 {
			x += n[1] - n[0]
		}
		return strconv.Itoa(x)
	}},
	{`In how many ways can a team of # be chosen from # people\?`, func(n []int, _ *qa.Question) string { return strconv.Itoa(teams(n[1], n[0])) }},
	{`How many different arrangements do the letters of the word [A-Z]+ have\?`, func(_ []int, q *qa.Question) string {
		return strconv.Itoa(arrangements(regexp.MustCompile(`[A-Z]{2,}`).FindString(q.Text)))
	}},
	{`Two fair dice are thrown\. What is the probability that their sum is #\?`, func(n []int, _ *qa.Question) string {
		ways := count(1, 6, func(a int) bool { return 1 <= n[0]-a && n[0]-a <= 6 })
		return fmt.Sprintf("%d/36", ways)
	}},
	{`For which real \$x\$ is \$# < #x ([+-]) # \\le #\$\? Give an interval\.`, func(n []int, q *qa.Question) string {
		b := sign(regexp.MustCompile(`x ([+-]) `).FindStringSubmatch(q.Text)[1], n[2])
		lo := search(-99, 99, func(x int) bool { return n[1]*x+b == n[0] })
		hi := search(-99, 99, func(x int) bool { return n[1]*x+b == n[3] })
		return "(" + lo + ", " + hi + "]" // n[1] is positive: the order stays
	}},
	{`Give the set of all positive divisors of #\.`, func(n []int, _ *qa.Question) string {
		var all []string
		for d := n[0]; d >= 1; d-- {
			if n[0]%d == 0 {
				all = append(all, strconv.Itoa(d))
			}
		}
		return `\{` + strings.Join(all, ",") + `\}`
	}},
	{`A train travels at # km/h for [\d.]+ hours\. How far does it get\?`, func(n []int, q *qa.Question) string {
		hours, _ := new(big.Rat).SetString(regexp.MustCompile(`for ([\d.]+) hours`).FindStringSubmatch(q.Text)[1])
		return new(big.Rat).Mul(hours, big.NewRat(int64(n[0]), 1)).FloatString(3) + " km"
	}},
	{`Today is \w+\. Which day of the week will it be in # days\?`, func(n []int, q *qa.Question) string {
		day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		for day.Weekday().String() != regexp.MustCompile(`Today is (\w+)`).FindStringSubmatch(q.Text)[1] {
			day = day.AddDate(0, 0, 1)
		}
		return day.AddDate(0, 0, n[0]).Weekday().String()
	}},
	{`Which of these numbers is the largest\?`, func(_ []int, q *qa.Question) string {
		best, at := new(big.Rat), -1
		for i, o := range q.Options {
			r, ok := new(big.Rat).SetString(regexp.MustCompile(`\\frac\{(\d+)\}\{(\d+)\}`).ReplaceAllString(o, "$1/$2"))
			if !ok {
				return "no fraction: " + o
			}
			if at < 0 || r.Cmp(best) > 0 {
				best, at = r, i
			}
		}
		return q.Options[at]
	}},
}

// TestAnswers proves all 200 answers, and that the environment takes the proof's answer for right.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := open(t)
	tasks, err := s.Tasks(t.Context(), "")
	if err != nil || len(tasks) != 200 {
		t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	patterns := make([]*regexp.Regexp, len(proofs))
	for i, p := range proofs {
		patterns[i] = regexp.MustCompile("^" + strings.ReplaceAll(p.text, "#", `(-?\d+)`) + "$")
	}
	used := make([]int, len(proofs))
	for _, task := range tasks {
		q, err := s.Question(task)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(patterns, func(re *regexp.Regexp) bool { return re.MatchString(q.Text) })
		if at < 0 {
			t.Errorf("%s: no proof for %q", q.ID, q.Text)
			continue
		}
		used[at]++
		var n []int
		for _, g := range patterns[at].FindStringSubmatch(q.Text)[1:] {
			if v, err := strconv.Atoi(g); err == nil {
				n = append(n, v)
			}
		}
		if got := proofs[at].prove(n, q); !q.Right(got, answer.DefaultRules()) {
			t.Errorf("%s: %q: the answer is %q, the proof says %q", q.ID, q.Text, q.Answer, got)
		}
	}
	for i, n := range used {
		if n != 8 {
			t.Errorf("%d questions of the form %q, want 8", n, proofs[i].text)
		}
	}
}

// TestWrongAnswers: the neighbours of an answer are not right.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	s := open(t)
	tasks, err := s.Tasks(t.Context(), "questions")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		q, err := s.Question(task)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := strconv.Atoi(q.Answer); err == nil && q.Right(strconv.Itoa(v+1), answer.DefaultRules()) {
			t.Errorf("%s: %d is right and %d too", q.ID, v, v+1)
		}
		if q.Right("", answer.DefaultRules()) || q.Right("no idea", answer.DefaultRules()) {
			t.Errorf("%s: nothing is right", q.ID)
		}
	}
}

// TestExpert: the environment's own advice is right.
func TestExpert(t *testing.T) {
	t.Parallel()
	s := open(t)
	tasks, err := s.Tasks(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		env, err := s.NewEnv(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := env.Reset(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		a, err := env.(harness.Advisor).Advise(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if tr, err := env.Step(t.Context(), a); err != nil || !tr.Won || tr.Reward != 1 {
			t.Errorf("%s: the advice %q gives %+v, %v", task.ID, a, tr, err)
		}
	}
}
