// Package gen makes games in the format of ALFWorld: a room with furniture and things, one of the six
// household tasks, and a shortest known way to solve it. The games run in the native engine and in the
// original one alike.
//
// Everything in a game (scenes, domain, grammar, task sentences) is this project's own; what it shares
// with ALFWorld is the vocabulary of the format: types, predicates, actions, commands, goal shapes.
//
// A room is named by its kind and number, like a floor plan: the same number is the same furniture in
// every game and under every seed. Splits draw from two disjoint ranges of numbers, so that the rooms
// of "valid_unseen" never occur in "train" or "valid_seen". What lies where, and the task, come from
// the seed, the split and the game's index alone.
package gen
