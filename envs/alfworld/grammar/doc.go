// Package grammar reads .twl2 documents: the texts of a game. It parses the outer document (actions
// with their templates and feedback, and rules as JSON), the text-generation language of right-hand
// sides, the expressions inside braces, and the queries that conditions are made of.
//
// It reproduces the lexical habits of the parser that the original environment uses, including those
// that look like accidents: white space at the start of a line is swallowed before a symbol, and a
// tail that cannot be parsed is dropped in silence. It knows nothing of states: expanding a text
// against a state is the engine's work.
package grammar
