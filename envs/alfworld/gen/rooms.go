package gen

// span is an inclusive range of counts.
type span struct {
	kind     string
	min, max int
}

// companion says that a piece of furniture may be within reach of the same place as another: it then
// takes the other's location. percent is how often, most how many pieces share the place in all.
type companion struct {
	kind, host string
	percent    int
	most       int
}

// blueprint describes a kind of room: how much of which furniture stands in it, and of which things
// there are how many.
type blueprint struct {
	base      int // of its floor plan numbers
	furniture []span
	things    []span
}

// blueprints hold at least one way to set each task that suits the room: a lamp and a place for it
// in living rooms and bedrooms, a sink in bathrooms, all appliances in kitchens.
var blueprints = map[Room]blueprint{
	Kitchen: {
		base: 0,
		furniture: []span{
			{"Cabinet", 4, 14},
			{"CoffeeMachine", 1, 1},
			{"CounterTop", 1, 3},
			{"DiningTable", 0, 1},
			{"Drawer", 2, 9},
			{"Fridge", 1, 1},
			{"GarbageCan", 1, 1},
			{"Microwave", 1, 1},
			{"Shelf", 0, 3},
			{"SideTable", 0, 1},
			{"SinkBasin", 1, 1},
			{"StoveBurner", 2, 4},
			{"Toaster", 0, 1},
		},
		things: []span{
			{"Apple", 1, 3},
			{"Bowl", 1, 2},
			{"Bread", 1, 2},
			{"ButterKnife", 1, 2},
			{"Cup", 1, 3},
			{"DishSponge", 1, 2},
			{"Egg", 1, 3},
			{"Fork", 1, 3},
			{"Glassbottle", 0, 2},
			{"Kettle", 0, 2},
			{"Knife", 1, 2},
			{"Ladle", 0, 2},
			{"Lettuce", 1, 2},
			{"Mug", 1, 3},
			{"Pan", 1, 2},
			{"PepperShaker", 1, 3},
			{"Plate", 1, 3},
			{"Pot", 1, 2},
			{"Potato", 1, 3},
			{"SaltShaker", 1, 3},
			{"SoapBottle", 1, 2},
			{"Spatula", 1, 2},
			{"Spoon", 1, 3},
			{"Tomato", 1, 3},
			{"Vase", 0, 2},
			{"Statue", 0, 1},
			{"Book", 0, 1},
			{"CreditCard", 0, 1},
			{"CellPhone", 0, 1},
			{"WineBottle", 0, 2},
		},
	},
	LivingRoom: {
		base: 200,
		furniture: []span{
			{"ArmChair", 0, 2},
			{"Cabinet", 0, 4},
			{"Cart", 0, 1},
			{"CoffeeTable", 1, 1},
			{"DiningTable", 0, 1},
			{"Drawer", 0, 6},
			{"Dresser", 0, 1},
			{"GarbageCan", 1, 1},
			{"Ottoman", 0, 1},
			{"Safe", 0, 1},
			{"Shelf", 0, 6},
			{"SideTable", 1, 3},
			{"Sofa", 1, 2},
			{"TVStand", 0, 1},
		},
		things: []span{
			{"Book", 1, 3},
			{"Bowl", 0, 2},
			{"Box", 1, 2},
			{"Candle", 0, 2},
			{"CellPhone", 0, 2},
			{"CreditCard", 1, 3},
			{"DeskLamp", 0, 1},
			{"FloorLamp", 1, 1},
			{"KeyChain", 1, 3},
			{"Laptop", 1, 2},
			{"Newspaper", 1, 3},
			{"Pen", 0, 2},
			{"Pillow", 1, 3},
			{"Plate", 0, 2},
			{"RemoteControl", 1, 3},
			{"Statue", 1, 3},
			{"TissueBox", 0, 2},
			{"Vase", 1, 3},
			{"Watch", 1, 2},
			{"WateringCan", 0, 2},
		},
	},
	Bedroom: {
		base: 300,
		furniture: []span{
			{"ArmChair", 0, 1},
			{"Bed", 1, 2},
			{"Cabinet", 0, 2},
			{"Desk", 1, 2},
			{"Drawer", 2, 9},
			{"Dresser", 0, 1},
			{"GarbageCan", 1, 1},
			{"LaundryHamper", 0, 1},
			{"Safe", 0, 1},
			{"Shelf", 0, 5},
			{"SideTable", 0, 2},
		},
		things: []span{
			{"AlarmClock", 1, 3},
			{"BaseballBat", 0, 1},
			{"BasketBall", 0, 1},
			{"Book", 1, 3},
			{"Bowl", 0, 2},
			{"Box", 0, 2},
			{"CD", 1, 3},
			{"CellPhone", 1, 3},
			{"Cloth", 0, 1},
			{"CreditCard", 1, 3},
			{"DeskLamp", 1, 2},
			{"KeyChain", 1, 3},
			{"Laptop", 1, 2},
			{"Mug", 1, 2},
			{"Pen", 1, 3},
			{"Pencil", 1, 3},
			{"Pillow", 1, 3},
			{"Statue", 0, 2},
			{"TeddyBear", 0, 1},
			{"TennisRacket", 0, 1},
			{"TissueBox", 0, 1},
			{"Vase", 0, 1},
			{"Watch", 0, 2},
		},
	},
	Bathroom: {
		base: 400,
		furniture: []span{
			{"BathtubBasin", 0, 1},
			{"Cabinet", 1, 5},
			{"Cart", 0, 1},
			{"CounterTop", 0, 1},
			{"Drawer", 0, 5},
			{"GarbageCan", 1, 1},
			{"HandTowelHolder", 1, 2},
			{"LaundryHamper", 0, 1},
			{"Shelf", 0, 3},
			{"SideTable", 0, 1},
			{"SinkBasin", 1, 2},
			{"Toilet", 1, 1},
			{"ToiletPaperHanger", 1, 1},
			{"TowelHolder", 1, 2},
		},
		things: []span{
			{"Candle", 1, 3},
			{"Cloth", 1, 3},
			{"DishSponge", 0, 1},
			{"HandTowel", 1, 2},
			{"Newspaper", 0, 1},
			{"SoapBar", 1, 3},
			{"SoapBottle", 1, 3},
			{"SprayBottle", 1, 3},
			{"TissueBox", 0, 1},
			{"ToiletPaper", 1, 3},
			{"Towel", 1, 2},
		},
	},
}

// companions are tried in this order for each piece of furniture; the first that comes true decides.
var companions = []companion{
	{"CoffeeMachine", "CounterTop", 60, 3},
	{"Toaster", "CounterTop", 60, 3},
	{"StoveBurner", "StoveBurner", 75, 2},
	{"Cabinet", "Cabinet", 20, 2},
	{"Drawer", "Dresser", 30, 4},
	{"Drawer", "Desk", 20, 4},
	{"Drawer", "SideTable", 20, 3},
	{"Drawer", "Drawer", 25, 3},
	{"Shelf", "Shelf", 15, 3},
	{"Shelf", "TVStand", 25, 3},
	{"GarbageCan", "ToiletPaperHanger", 15, 2},
	{"TowelHolder", "HandTowelHolder", 15, 2},
}
