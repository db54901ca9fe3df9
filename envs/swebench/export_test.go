package swebench

// Settle waits until what is being prepared is there.
func (s *Suite) Settle() {
	s.ready.mu.Lock()
	waiting := s.ready.waiting
	s.ready.mu.Unlock()
	for _, w := range waiting {
		<-w.done
	}
}
