// Package answer finds the final answer in a response and says whether two answers are the same: the
// forms in which people and models write numbers, choices, sets, tuples and intervals, in plain text and
// in LaTeX. It is pure: text in, values out. Which answer is right, and what that is worth, belongs to
// its callers.
package answer
