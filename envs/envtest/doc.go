// Package envtest holds what every environment is tested with: a conformance suite over the contract
// of harness.Env and its optional abilities, and a small fake environment for tests of the code that
// drives environments. It owns no environment that anybody would train on.
package envtest
