package gen

// kind is a sort of product: what it is called, what can be said of it, and how it comes.
type kind struct {
	noun       string   // singular, the last words of a title
	query      string   // what it is searched by: the plural
	path       string   // where it stands in its category
	made       []string // what it is made of or comes as, before the noun
	attributes []string // two-word virtues, of which each product has some
	options    []option
	low, high  int // price in cents
}

// option is a choice with its values.
type option struct {
	name   string
	values []string
}

// category is a part of the shop.
type category struct {
	name  string
	title string // the first part of category paths
	kinds []kind
}

// Values that many kinds share.
var (
	shades   = option{"color", []string{"black", "white", "navy", "forest green", "burgundy", "mustard", "slate grey", "sky blue", "coral", "sand"}}
	sizes    = option{"size", []string{"x-small", "small", "medium", "large", "x-large", "xx-large"}}
	shoes    = option{"size", []string{"6", "7", "8", "9", "10", "11", "12"}}
	lengths  = option{"length", []string{"1 m", "2 m", "3 m", "5 m"}}
	packs    = option{"pack", []string{"single", "pack of 2", "pack of 4", "pack of 12"}}
	finishes = option{"finish", []string{"oak", "walnut", "pale birch", "matte black"}}
	scents   = option{"scent", []string{"cedar", "lavender", "lemon peel", "eucalyptus", "unscented"}}
	flavors  = option{"flavor", []string{"original", "smoked paprika", "honey", "sea salt", "ginger"}}
	volumes  = option{"volume", []string{"50 ml", "100 ml", "250 ml", "500 ml"}}
)

var categories = []category{
	{"kitchen", "Kitchen & Table", []kind{
		{"frying pan", "frying pans", "Cookware › Pans", []string{"cast iron", "carbon steel", "aluminium"}, []string{"non stick", "oven safe", "even heating", "induction ready", "easy pour"}, []option{{"diameter", []string{"20 cm", "24 cm", "28 cm"}}, packs}, 1800, 6900},
		{"water kettle", "water kettles", "Appliances › Kettles", []string{"glass", "brushed steel", "enamel"}, []string{"quick boil", "cool handle", "quiet operation", "auto shutoff", "limescale filter"}, []option{shades}, 2400, 8900},
		{"cutting board", "cutting boards", "Tools › Boards", []string{"bamboo", "beech wood", "acacia"}, []string{"knife friendly", "juice groove", "food safe", "easy rinse", "non slip"}, []option{{"size", []string{"small", "medium", "large"}}}, 1100, 4800},
		{"coffee mug", "coffee mugs", "Tableware › Mugs", []string{"stoneware", "porcelain", "double wall glass"}, []string{"dishwasher safe", "microwave safe", "heat keeping", "hand glazed", "wide handle"}, []option{shades, packs}, 600, 2900},
		{"storage jar", "storage jars", "Storage › Jars", []string{"glass", "ceramic", "tin"}, []string{"air tight", "food safe", "wide mouth", "stack able", "light proof"}, []option{volumes, packs}, 700, 3300},
		{"bread knife", "bread knives", "Tools › Knives", []string{"stainless steel", "damascus steel", "olive wood"}, []string{"serrated edge", "full tang", "rust free", "balanced grip", "long lasting"}, []option{{"blade", []string{"20 cm", "23 cm", "26 cm"}}}, 1900, 9900},
	}},
	{"clothing", "Clothing", []kind{
		{"rain jacket", "rain jackets", "Outerwear › Jackets", []string{"nylon", "waxed cotton", "recycled polyester"}, []string{"water proof", "wind proof", "sealed seams", "inner pockets", "packs small"}, []option{shades, sizes}, 4900, 17900},
		{"wool sweater", "wool sweaters", "Tops › Sweaters", []string{"merino", "lambswool", "cable knit"}, []string{"hand wash", "itch free", "long sleeve", "relaxed fit", "warm layer"}, []option{shades, sizes}, 3900, 12900},
		{"linen shirt", "linen shirts", "Tops › Shirts", []string{"washed", "striped", "chambray"}, []string{"machine wash", "button closure", "regular fit", "breathable weave", "chest pocket"}, []option{shades, sizes}, 2900, 8900},
		{"work trousers", "work trousers", "Bottoms › Trousers", []string{"canvas", "ripstop", "corduroy"}, []string{"knee patches", "stretch fabric", "tool loops", "machine wash", "triple stitched"}, []option{shades, {"size", []string{"30w x 32l", "32w x 32l", "34w x 32l", "36w x 34l"}}}, 3900, 9900},
		{"cotton socks", "cotton socks", "Underwear › Socks", []string{"ribbed", "terry", "organic"}, []string{"arch support", "soft cuff", "moisture wicking", "machine wash", "flat toe"}, []option{shades, {"size", []string{"small", "medium", "large"}}, packs}, 500, 2400},
		{"knit beanie", "knit beanies", "Accessories › Hats", []string{"alpaca", "acrylic", "merino"}, []string{"double layer", "one size", "hand wash", "fleece lined", "snug fit"}, []option{shades}, 1200, 4200},
	}},
	{"shoes", "Shoes", []kind{
		{"hiking boots", "hiking boots", "Outdoor › Boots", []string{"leather", "suede", "vegan leather"}, []string{"water proof", "ankle support", "rubber sole", "cushioned insole", "toe guard"}, []option{shades, shoes}, 6900, 21900},
		{"running shoes", "running shoes", "Sport › Running", []string{"mesh", "knit", "trail"}, []string{"light weight", "breathable upper", "rubber sole", "wide toe", "heel cushion"}, []option{shades, shoes}, 4900, 15900},
		{"canvas sneakers", "canvas sneakers", "Casual › Sneakers", []string{"low top", "high top", "slip on"}, []string{"machine wash", "rubber sole", "lace closure", "memory insole", "everyday wear"}, []option{shades, shoes}, 2900, 8900},
		{"felt slippers", "felt slippers", "Home › Slippers", []string{"wool", "boiled wool", "cork"}, []string{"non slip", "arch support", "indoor use", "open back", "soft lining"}, []option{shades, shoes}, 1900, 6900},
		{"garden clogs", "garden clogs", "Outdoor › Clogs", []string{"foam", "rubber", "birch"}, []string{"water proof", "easy rinse", "light weight", "closed toe", "non slip"}, []option{shades, shoes}, 1500, 4900},
		{"dress loafers", "dress loafers", "Formal › Loafers", []string{"calfskin", "patent", "suede"}, []string{"leather lining", "low heel", "slip resistant", "hand stitched", "cushioned insole"}, []option{shades, shoes}, 5900, 18900},
	}},
	{"garden", "Garden & Balcony", []kind{
		{"plant pot", "plant pots", "Pots › Planters", []string{"terracotta", "concrete", "glazed"}, []string{"frost proof", "drain hole", "saucer included", "uv resistant", "hand made"}, []option{shades, {"size", []string{"10 cm", "15 cm", "20 cm", "30 cm"}}}, 500, 4900},
		{"garden hose", "garden hoses", "Watering › Hoses", []string{"rubber", "braided", "expandable"}, []string{"kink free", "brass fittings", "drinking safe", "frost proof", "easy coil"}, []option{{"length", []string{"10 m", "15 m", "25 m"}}}, 1900, 7900},
		{"pruning shears", "pruning shears", "Tools › Shears", []string{"bypass", "anvil", "forged"}, []string{"carbon steel", "safety lock", "sap groove", "soft grip", "left handed"}, []option{{"handle", []string{"red", "green", "orange"}}}, 1200, 5900},
		{"folding chair", "folding chairs", "Furniture › Chairs", []string{"teak", "aluminium", "acacia"}, []string{"weather proof", "folds flat", "steel frame", "high back", "easy carry"}, []option{shades, packs}, 2900, 11900},
		{"seed set", "seed sets", "Plants › Seeds", []string{"herb", "wildflower", "salad"}, []string{"open pollinated", "easy grow", "bee friendly", "resealable bags", "untreated seeds"}, []option{packs}, 400, 1900},
		{"solar lantern", "solar lanterns", "Light › Lanterns", []string{"brass", "bamboo", "glass"}, []string{"water proof", "warm light", "auto shutoff", "long lasting", "no wiring"}, []option{{"color", []string{"copper", "black", "white"}}, packs}, 900, 4900},
	}},
	{"electronics", "Electronics", []kind{
		{"usb cable", "usb cables", "Cables › USB", []string{"braided", "flat", "coiled"}, []string{"fast charging", "tangle free", "data sync", "aluminium shell", "bend tested"}, []option{{"color", []string{"black", "white", "red"}}, lengths}, 500, 2900},
		{"desk speaker", "desk speakers", "Audio › Speakers", []string{"walnut", "compact", "passive"}, []string{"stereo sound", "bluetooth ready", "volume knob", "plug play", "low hum"}, []option{finishes}, 2900, 19900},
		{"travel adapter", "travel adapters", "Power › Adapters", []string{"folding", "grounded", "slim"}, []string{"fast charging", "surge guard", "light weight", "two ports", "child safe"}, []option{{"plug", []string{"eu", "uk", "us", "au"}}}, 1200, 4900},
		{"head lamp", "head lamps", "Light › Lamps", []string{"rechargeable", "aluminium", "running"}, []string{"water proof", "long lasting", "red light", "light weight", "soft strap"}, []option{{"color", []string{"orange", "grey", "blue"}}}, 1500, 6900},
		{"mechanical keyboard", "mechanical keyboards", "Computer › Keyboards", []string{"compact", "full size", "wireless"}, []string{"hot swap", "back light", "quiet keys", "usb port", "metal plate"}, []option{{"switch", []string{"linear", "tactile", "clicky"}}, {"layout", []string{"us", "uk", "de"}}}, 5900, 19900},
		{"screen stand", "screen stands", "Computer › Stands", []string{"bamboo", "steel", "acrylic"}, []string{"height adjustable", "cable slot", "heavy duty", "non slip", "easy assemble"}, []option{finishes}, 1900, 8900},
	}},
	{"grocery", "Food & Drink", []kind{
		{"roasted almonds", "roasted almonds", "Snacks › Nuts", []string{"whole", "sliced", "dry"}, []string{"gluten free", "no sugar", "low sodium", "protein rich", "resealable bag"}, []option{flavors, packs}, 500, 2900},
		{"green tea", "green teas", "Drinks › Tea", []string{"loose leaf", "jasmine", "steamed"}, []string{"caffeine low", "hand picked", "no additives", "plastic free", "single origin"}, []option{{"size", []string{"50 g", "100 g", "250 g"}}}, 600, 3900},
		{"oat crackers", "oat crackers", "Snacks › Crackers", []string{"thin", "seeded", "rough"}, []string{"dairy free", "high fiber", "whole grain", "palm free", "low sugar"}, []option{flavors, packs}, 300, 1600},
		{"tomato sauce", "tomato sauces", "Pantry › Sauces", []string{"slow cooked", "roasted", "smooth"}, []string{"no additives", "gluten free", "low sodium", "sun ripened", "glass jar"}, []option{{"flavor", []string{"basil", "garlic", "chili", "plain"}}, packs}, 300, 1900},
		{"dark chocolate", "dark chocolates", "Sweets › Chocolate", []string{"single estate", "stone ground", "crisp"}, []string{"dairy free", "fair trade", "low sugar", "soy free", "bean traced"}, []option{{"cocoa", []string{"60 percent", "75 percent", "90 percent"}}, packs}, 300, 2400},
		{"oat granola", "oat granolas", "Breakfast › Cereal", []string{"toasted", "raw", "clustered"}, []string{"nut free", "high fiber", "no sugar", "whole grain", "resealable bag"}, []option{flavors, {"size", []string{"300 g", "500 g", "1 kg"}}}, 400, 2200},
	}},
	{"bath", "Bath & Care", []kind{
		{"hand soap", "hand soaps", "Care › Soap", []string{"olive oil", "goat milk", "charcoal"}, []string{"cruelty free", "fragrance free", "palm free", "sensitive skin", "plastic free"}, []option{scents, packs}, 400, 2400},
		{"bath towel", "bath towels", "Textiles › Towels", []string{"cotton", "waffle", "linen"}, []string{"quick dry", "machine wash", "highly absorbent", "hang loop", "lint free"}, []option{shades, {"size", []string{"50 x 100 cm", "70 x 140 cm", "100 x 150 cm"}}}, 900, 5900},
		{"shampoo bar", "shampoo bars", "Care › Hair", []string{"nettle", "argan", "oat"}, []string{"sulfate free", "cruelty free", "dry hair", "plastic free", "travel size"}, []option{scents, packs}, 500, 2200},
		{"shower curtain", "shower curtains", "Textiles › Curtains", []string{"polyester", "hemp", "woven"}, []string{"water proof", "machine wash", "mold resistant", "weighted hem", "rust free"}, []option{shades, {"size", []string{"120 x 200 cm", "180 x 200 cm"}}}, 1400, 6900},
		{"face cream", "face creams", "Care › Face", []string{"almond", "rose hip", "aloe"}, []string{"sensitive skin", "fragrance free", "long lasting", "cruelty free", "fast absorbing"}, []option{volumes}, 900, 5900},
		{"wooden comb", "wooden combs", "Care › Hair Tools", []string{"sandalwood", "pear tree", "beech"}, []string{"anti static", "hand made", "wide tooth", "snag free", "pocket size"}, []option{{"teeth", []string{"fine", "wide", "mixed"}}}, 500, 2900},
	}},
	{"home", "Home & Living", []kind{
		{"table lamp", "table lamps", "Light › Lamps", []string{"ceramic", "brass", "rattan"}, []string{"dimmable light", "fabric shade", "foot switch", "warm light", "easy assemble"}, []option{shades}, 2400, 14900},
		{"throw blanket", "throw blankets", "Textiles › Blankets", []string{"wool", "cotton", "fleece"}, []string{"machine wash", "fringe trim", "super soft", "all season", "living room"}, []option{shades, {"size", []string{"130 x 170 cm", "150 x 200 cm"}}}, 1900, 9900},
		{"book shelf", "book shelves", "Furniture › Shelves", []string{"pine", "steel", "plywood"}, []string{"wall mounted", "easy assemble", "heavy duty", "living room", "solid wood"}, []option{finishes, {"shelves", []string{"three", "four", "five"}}}, 4900, 24900},
		{"wall clock", "wall clocks", "Decor › Clocks", []string{"plywood", "metal", "cork"}, []string{"silent movement", "battery included", "easy read", "living room", "sun burst"}, []option{{"color", []string{"black", "white", "oak", "walnut"}}}, 1500, 7900},
		{"door mat", "door mats", "Textiles › Mats", []string{"coir", "rubber", "jute"}, []string{"non slip", "easy rinse", "heavy duty", "indoor use", "dirt trapping"}, []option{shades, {"size", []string{"40 x 60 cm", "50 x 80 cm"}}}, 1200, 4900},
		{"storage basket", "storage baskets", "Storage › Baskets", []string{"seagrass", "felt", "wire"}, []string{"folds flat", "strong handles", "hand woven", "living room", "removable liner"}, []option{{"size", []string{"small", "medium", "large"}}, packs}, 1300, 6900},
	}},
	{"sport", "Sport & Outdoors", []kind{
		{"yoga mat", "yoga mats", "Fitness › Mats", []string{"natural rubber", "cork", "foam"}, []string{"non slip", "extra thick", "odor free", "carry strap", "easy rinse"}, []option{shades, {"thickness", []string{"4 mm", "6 mm", "8 mm"}}}, 1900, 8900},
		{"water bottle", "water bottles", "Outdoor › Bottles", []string{"steel", "glass", "titanium"}, []string{"leak proof", "bpa free", "heat keeping", "wide mouth", "easy clean"}, []option{shades, volumes}, 1200, 4900},
		{"climbing rope", "climbing ropes", "Climbing › Ropes", []string{"dynamic", "static", "half"}, []string{"dry treated", "middle mark", "light weight", "abrasion resistant", "soft handling"}, []option{{"length", []string{"40 m", "60 m", "80 m"}}, {"color", []string{"red", "blue", "yellow"}}}, 7900, 25900},
		{"bike light", "bike lights", "Cycling › Lights", []string{"front", "rear", "helmet"}, []string{"usb charging", "water proof", "quick release", "long lasting", "side visible"}, []option{{"color", []string{"black", "silver"}}, packs}, 1100, 5900},
		{"jump rope", "jump ropes", "Fitness › Ropes", []string{"beaded", "speed", "weighted"}, []string{"adjustable length", "ball bearing", "foam grip", "tangle free", "light weight"}, []option{{"color", []string{"black", "pink", "green"}}}, 600, 2900},
		{"camping stove", "camping stoves", "Outdoor › Cooking", []string{"gas", "alcohol", "wood"}, []string{"wind proof", "packs small", "quick boil", "stable legs", "light weight"}, []option{{"burners", []string{"one", "two"}}}, 2400, 12900},
	}},
	{"office", "Office & Paper", []kind{
		{"fountain pen", "fountain pens", "Writing › Pens", []string{"resin", "brass", "aluminium"}, []string{"smooth writing", "refillable ink", "screw cap", "fine line", "gift box"}, []option{{"nib", []string{"extra fine", "fine", "medium", "broad"}}, shades}, 1500, 14900},
		{"dotted notebook", "dotted notebooks", "Paper › Notebooks", []string{"hard cover", "soft cover", "spiral"}, []string{"lays flat", "acid free", "ink proof", "page numbers", "elastic band"}, []option{shades, {"size", []string{"a4", "a5", "a6"}}}, 700, 3400},
		{"desk organizer", "desk organizers", "Storage › Organizers", []string{"oak", "mesh", "cardboard"}, []string{"easy assemble", "pen slots", "non slip", "stack able", "solid wood"}, []option{finishes}, 1200, 5900},
		{"paper scissors", "paper scissors", "Tools › Scissors", []string{"steel", "titanium", "folding"}, []string{"left handed", "soft grip", "rust free", "blunt tip", "long blade"}, []option{{"size", []string{"13 cm", "17 cm", "21 cm"}}}, 500, 2900},
		{"wall calendar", "wall calendars", "Paper › Calendars", []string{"letterpress", "botanical", "monthly"}, []string{"recycled paper", "large boxes", "spiral bound", "moon phases", "easy read"}, []option{{"language", []string{"english", "german", "french"}}}, 900, 3400},
		{"office chair", "office chairs", "Furniture › Chairs", []string{"mesh", "leather", "oak"}, []string{"lumbar support", "height adjustable", "quiet wheels", "easy assemble", "heavy duty"}, []option{shades}, 8900, 39900},
	}},
}
