package gen

import "slices"

// property is a set of what can be done to a thing.
type property uint8

const (
	washable  property = 1 << iota // cleanable
	warmable                       // heatable
	chillable                      // coolable
	cuttable                       // sliceable
	vessel                         // isReceptacleObject: examining it tells what is inside
	lamp                           // toggleable, and fixed in its place; all else can be picked up
)

// thingKind is a kind of object: its name as in commands (before lower-casing), the group that the
// furniture's tables speak of, and its properties.
type thingKind struct {
	name  string
	group string
	props property
}

// has reports whether the kind has all of the properties.
func (k thingKind) has(p property) bool { return k.props&p == p }

// thingKinds are all kinds of object. The properties follow what ALFWorld's games say of the same
// names: a policy trained there expects that a mug can be heated and a bowl cannot.
var thingKinds = []thingKind{
	{"Apple", "food", washable | warmable | chillable | cuttable},
	{"Bread", "food", warmable | chillable | cuttable},
	{"Egg", "food", washable | warmable | chillable | cuttable},
	{"Lettuce", "food", washable | chillable | cuttable},
	{"Potato", "food", washable | warmable | chillable | cuttable},
	{"Tomato", "food", washable | warmable | chillable | cuttable},

	{"ButterKnife", "cutlery", washable},
	{"Fork", "cutlery", washable},
	{"Knife", "cutlery", washable},
	{"Ladle", "cutlery", washable},
	{"Spatula", "cutlery", washable},
	{"Spoon", "cutlery", washable},

	{"Bowl", "dish", washable | chillable | vessel},
	{"Plate", "dish", washable | warmable | chillable | vessel},
	{"Cup", "drink", washable | warmable | chillable | vessel},
	{"Mug", "drink", washable | warmable | chillable | vessel},
	{"Kettle", "cookware", washable},
	{"Pan", "cookware", washable | chillable | vessel},
	{"Pot", "cookware", washable | chillable | vessel},
	{"PepperShaker", "spice", 0},
	{"SaltShaker", "spice", 0},
	{"Glassbottle", "bottle", 0},
	{"WineBottle", "bottle", chillable},

	{"DishSponge", "washing", washable},
	{"SoapBar", "washing", washable},
	{"SoapBottle", "washing", 0},
	{"SprayBottle", "washing", 0},
	{"Cloth", "linen", washable},
	{"HandTowel", "linen", 0},
	{"Towel", "linen", 0},
	{"TissueBox", "paper", 0},
	{"ToiletPaper", "paper", 0},

	{"Book", "reading", 0},
	{"Newspaper", "reading", 0},
	{"Pen", "writing", 0},
	{"Pencil", "writing", 0},
	{"CD", "pocket", 0},
	{"CellPhone", "pocket", 0},
	{"CreditCard", "pocket", 0},
	{"KeyChain", "pocket", 0},
	{"Watch", "pocket", 0},
	{"RemoteControl", "pocket", 0},
	{"Laptop", "large", 0},
	{"Box", "large", vessel},
	{"Pillow", "soft", 0},
	{"TeddyBear", "soft", 0},
	{"AlarmClock", "decor", 0},
	{"Candle", "decor", 0},
	{"Statue", "decor", 0},
	{"Vase", "decor", 0},
	{"WateringCan", "decor", 0},
	{"BaseballBat", "sport", 0},
	{"BasketBall", "sport", 0},
	{"TennisRacket", "sport", 0},

	{"DeskLamp", "lamp", lamp},
	{"FloorLamp", "standing", lamp},
}

// thing looks a kind up by name.
func thing(name string) (thingKind, bool) {
	i := slices.IndexFunc(thingKinds, func(k thingKind) bool { return k.name == name })
	if i < 0 {
		return thingKind{}, false
	}
	return thingKinds[i], true
}
