package gen

import (
	"slices"
	"strings"
)

// furnitureKind is a kind of receptacle.
type furnitureKind struct {
	name     string // as in its type, "Cabinet" in CabinetType
	openable bool   // has a door, closed at the start
	within   bool   // things lie in it, else on it; for the task sentence
	height   int    // of the place where things lie, cm
	room     int    // most things at the start; also how readily one is put there
	accepts  string // groups and kinds that may lie there; "-Kind" takes one out of a group
}

// furnitureKinds are all kinds of receptacle. A basin is an id such as Sink_bar_…_bar_SinkBasin, which
// the engines name "sinkbasin".
var furnitureKinds = []furnitureKind{
	{"ArmChair", false, false, 50, 3, "reading pocket soft Laptop Box linen BasketBall -CD -Cloth -HandTowel"},
	{"BathtubBasin", false, true, 20, 3, "washing Cloth HandTowel -SprayBottle"},
	{"Bed", false, false, 60, 5, "reading pocket soft large sport -RemoteControl"},
	{"Cabinet", true, true, 40, 3, "dish drink cookware spice bottle washing paper decor Cloth HandTowel Book Box Newspaper -AlarmClock"},
	{"Cart", false, false, 70, 4, "washing paper linen decor dish drink -AlarmClock"},
	{"CoffeeMachine", false, true, 100, 1, "drink"},
	{"CoffeeTable", false, false, 45, 5, "reading writing pocket large decor dish drink TissueBox -AlarmClock"},
	{"CounterTop", false, false, 95, 9, "food cutlery dish drink cookware spice bottle washing paper reading pocket decor Cloth HandTowel -RemoteControl -CD"},
	{"Desk", false, false, 75, 7, "reading writing pocket large decor drink dish TissueBox BasketBall lamp -WateringCan -Plate"},
	{"DiningTable", false, false, 80, 8, "food cutlery dish drink cookware spice bottle paper reading writing pocket large decor -ToiletPaper -AlarmClock"},
	{"Drawer", true, true, 50, 2, "cutlery writing pocket reading spice SoapBar SoapBottle SprayBottle DishSponge Cloth HandTowel TissueBox ToiletPaper Candle"},
	{"Dresser", false, false, 90, 5, "reading writing pocket large decor paper Mug Cup Bowl soft lamp -ToiletPaper"},
	{"Fridge", true, true, 110, 5, "food dish drink cookware bottle -Kettle -Glassbottle"},
	{"GarbageCan", false, true, 30, 2, "food writing paper Newspaper CD CreditCard SoapBar SoapBottle DishSponge bottle Cloth"},
	{"HandTowelHolder", false, false, 140, 1, "HandTowel"},
	{"LaundryHamper", false, true, 40, 2, "linen"},
	{"Microwave", true, true, 120, 1, "food dish drink -Lettuce"},
	{"Ottoman", false, false, 40, 2, "reading soft large pocket -CD"},
	{"Safe", true, true, 60, 2, "pocket Statue Vase Box Book -RemoteControl"},
	{"Shelf", false, false, 120, 4, "decor reading dish drink bottle washing paper Box spice pocket HandTowel -RemoteControl -CellPhone"},
	{"SideTable", false, false, 60, 5, "reading writing pocket large decor drink dish spice paper lamp standing"},
	{"SinkBasin", false, true, 80, 3, "food cutlery dish drink cookware washing Cloth -Bread -SprayBottle"},
	{"Sofa", false, false, 45, 4, "reading pocket soft large BasketBall -CD"},
	{"StoveBurner", false, false, 95, 1, "cookware"},
	{"Toaster", false, true, 100, 0, ""},
	{"Toilet", false, false, 45, 2, "washing paper Candle HandTowel Cloth Newspaper -DishSponge"},
	{"ToiletPaperHanger", false, false, 80, 1, "ToiletPaper"},
	{"TowelHolder", false, false, 140, 1, "Towel"},
	{"TVStand", false, false, 55, 4, "reading pocket decor Box TissueBox standing"},
}

// furniture looks a kind up by name.
func furniture(name string) (furnitureKind, bool) {
	i := slices.IndexFunc(furnitureKinds, func(k furnitureKind) bool { return k.name == name })
	if i < 0 {
		return furnitureKind{}, false
	}
	return furnitureKinds[i], true
}

// accepted are the kinds of things that each kind of furniture takes, both by name.
var accepted = func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, f := range furnitureKinds {
		words, kinds := strings.Fields(f.accepts), map[string]bool{}
		for _, k := range thingKinds {
			in := slices.Contains(words, k.name) || slices.Contains(words, k.group)
			kinds[k.name] = in && !slices.Contains(words, "-"+k.name)
		}
		out[f.name] = kinds
	}
	return out
}()

// holds says whether things of the kind may be put there (canContain).
func (f furnitureKind) holds(k thingKind) bool { return accepted[f.name][k.name] }
