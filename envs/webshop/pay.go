package webshop

// Pay is the reward, in the suite's variant, of a purchase that scored so much, and whether it is won:
// for backends that are told the score.
func (s *Suite) Pay(score float64) (reward float64, won bool) { return s.pay(score), score == 1 }

// Config is the suite's configuration, with its defaults filled in.
func (s *Suite) Config() Config { return s.cfg }
