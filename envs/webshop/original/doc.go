// Package original plays a shop's tasks in the original WebShop behind a bridge: in a container that the
// suite starts, or at an address. The tasks are those of a native suite, which must hold the same data;
// pages, actions, scores and ends are the original's answers.
package original
