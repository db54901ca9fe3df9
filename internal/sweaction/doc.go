// Package sweaction is the language between an agent that repairs a repository and its environment: how a
// response becomes an action, and what an action says. The agent's side turns responses into actions
// (Bash, Tools); the environment's side reads them (ParseBash, ParseTools). Both are defined for every
// text.
//
// An action of the bash interface is the command itself; one of the tools interface is the function call
// as the response has it. A response that breaks its format becomes an action that says so, which the
// environment answers with an explanation.
package sweaction
