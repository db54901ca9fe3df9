package gen

// Words of titles and descriptions.
var (
	brands = []string{
		"Halden", "Mirova", "Tarnby", "Osvik", "Quillon", "Brack & Fern", "Lunde", "Pelagor", "Wrenfield", "Castor Vale",
		"Norrick", "Ambrel", "Sundhop", "Ferrow", "Kestrin", "Maplegate", "Dovetail Row", "Ilmar", "Rookwood", "Zephin",
	}
	moods = []string{
		"Everyday", "Compact", "Classic", "Sturdy", "Slim", "Nordic", "Rustic", "Modern", "Foldable", "Premium", "Simple", "Handy", "Weekend", "Studio",
	}
	uses = []string{
		"for Home", "for Travel", "for Small Spaces", "for Beginners", "for the Whole Family", "for Gifts", "for Daily Use", "for Long Days",
	}
	openings = []string{
		"Made for people who use things until they wear out.",
		"A small workshop designed this piece and still repairs it.",
		"We tested it for a year in our own homes before selling it.",
		"It does one thing and does it well.",
		"Simple to use, simple to care for, and simple to pass on.",
		"The third version, with everything that customers asked us to change.",
	}
	closings = []string{
		"Returns are free for sixty days.",
		"Packed without plastic.",
		"Comes with a short guide in four languages.",
		"Spare parts are available for ten years.",
		"The label tells where each part was made.",
	}
	praises = []string{
		"%s, as you would expect: no tricks and no extra parts. ",
		"You get %s without paying for things you do not need. ",
		"Built to be %s from the first day to the last. ",
		"Customers name %s first when we ask what they like. ",
		"%s — checked by hand before it leaves us. ",
	}
	// wishes are instructions of synthetic goals: attributes, and what to look for.
	wishes = []string{
		"Look for %s %s", "Get me %s %s", "I would like %s %s", "Please buy %s %s",
	}
	// requests are instructions as people put them: product, attributes, choices.
	requests = []string{
		"could you get me a %s that is %s%s?",
		"my old %s broke, i need a new one. it has to be %s%s.",
		"i'm shopping for a %s for my sister, and %s matters to her%s.",
		"looking for a %s, %s please%s.",
	}
)
