package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/hindsightrl/harness"
	"github.com/hindsightrl/harness/agent"
	"github.com/hindsightrl/harness/llm/refmodel/internal/prime"
)

// The shelves of the pretended shop.
var (
	makes  = []string{"cotton", "leather", "wireless", "organic", "waterproof", "portable", "gluten free", "long lasting"}
	goods  = []string{"shirt", "backpack", "headphones", "green tea", "running shoes", "table lamp", "face cream", "phone case"}
	hues   = []string{"black", "white", "blue", "red", "grey"}
	sizes  = []string{"small", "medium", "large"}
	abroad = []string{"back to search", "< prev", "description", "features", "reviews"}
)

// playShop words a session in a shop the way WebShop words its pages: search, open the first result,
// choose the options, buy. It shows the model the form of such sessions and nothing of a real shop.
func playShop(seed uint64) (ts []prime.Transcript) {
	r := rand.New(rand.NewPCG(seed, 13))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	name, hue, size := pick(makes)+" "+pick(goods), pick(hues), pick(sizes)
	price := 10 * (2 + r.IntN(9))
	task := fmt.Sprintf("i am looking for a %s in %s, size %s, and price lower than %d.00 dollars", name, hue, size, price)
	head := "WebShop [SEP] Instruction: [SEP] " + task + " [SEP] "
	id := fmt.Sprintf("b0%d%c%d", r.IntN(100), 'a'+rune(r.IntN(26)), 100+r.IntN(900))
	results := head + "Back to Search [SEP] Page 1 (Total results: 50) [SEP] Next > [SEP] " + strings.ToUpper(id) + " [SEP] " + name + ", " + hue + " [SEP] $19.99"
	product := head + "Back to Search [SEP] < Prev [SEP] color [SEP] " + strings.Join(hues, " [SEP] ") + " [SEP] size [SEP] " + strings.Join(sizes, " [SEP] ") +
		" [SEP] " + name + " [SEP] Price: $19.99 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now"
	options := clicks(append(append([]string{}, abroad...), append(append([]string{"buy now"}, hues...), sizes...)...))
	pages := []struct {
		text       string
		admissible []string
		action     string
	}{
		{head + "Search", []string{"search[<your query>]", "click[search]"}, "search[" + name + " " + hue + "]"},
		{results, clicks([]string{"back to search", "next >", id}), "click[" + id + "]"},
		{product, options, "click[" + hue + "]"},
		{product, options, "click[" + size + "]"},
		{product, options, "click[buy now]"},
	}
	format := agent.DefaultFormats().For("webshop")
	scene := agent.Scene{Task: task, Window: agent.DefaultHistory}
	for n, page := range pages {
		scene.Observation = harness.Observation{Text: page.text, Admissible: page.admissible}
		t, err := transcript(format, scene, page.action, n)
		if err != nil {
			panic(err) // the agent's own templates render
		}
		t.Response = agent.Respond("The order reads: "+task+".", page.action)
		ts = append(ts, t)
		scene.History = append(scene.History, agent.Past{Observation: format.Observe(task, scene.Observation), Action: page.action})
	}
	return ts
}

func clicks(what []string) (out []string) {
	for _, w := range what {
		out = append(out, "click["+w+"]")
	}
	return out
}
