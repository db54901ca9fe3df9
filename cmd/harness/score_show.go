package main
import ("github.com/spf13/cobra")
func newScoreShow(g *globals) *cobra.Command { return &cobra.Command{Use: "show"} }
func newScoreCompare(g *globals) *cobra.Command { return &cobra.Command{Use: "compare"} }
func newScoreList(g *globals) *cobra.Command { return &cobra.Command{Use: "list"} }
