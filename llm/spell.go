package llm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Speller finds which bytes of a response each of its tokens printed, for servers that only turn ids
// into text. It asks the server once for every token id that it meets and remembers the answer, so a
// long run asks nothing any more.
type Speller struct {
	tok Tokenizer

	mu    sync.Mutex
	known map[int32]string
}

// NewSpeller returns a Speller that asks tok.
func NewSpeller(tok Tokenizer) *Speller { return &Speller{tok: tok, known: map[int32]string{}} }

// Piece is the text of one token inside a response. A token that ends in the middle of a character has
// U+FFFD there. The server is asked for the token twice in a row, because SentencePiece drops the space
// before a first token: "the the" and " the the" tell " the" from "the".
func (s *Speller) Piece(ctx context.Context, id int32) (string, error) {
	s.mu.Lock()
	piece, ok := s.known[id]
	s.mu.Unlock()
	if ok {
		return piece, nil
	}
	twice, err := s.tok.Detokenize(ctx, []int32{id, id})
	if err != nil {
		return "", fmt.Errorf("spell token %d: %w", id, err)
	}
	piece = twice[len(twice)/2:]
	if first := twice[:len(twice)/2]; first != piece && " "+first != piece {
		return "", fmt.Errorf("spell token %d: the server decodes it twice as %q", id, twice)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[id] = piece
	return piece, nil
}

// Split returns the bytes of text that each token printed, empty for a token that printed none (an
// end-of-sequence token, tokens of a stop string that was cut off). Joined they are text exactly;
// where no such split is found that is an error, for a mask shifted by one token is worse than none.
//
// Where a character is spread over tokens, single tokens do not decode: the run of them is decoded
// together and each gets at least one byte of the character, so that whoever marks the character's
// bytes marks all of its tokens.
func (s *Speller) Split(ctx context.Context, text string, ids []int32) ([][]byte, error) {
	out := make([][]byte, len(ids))
	rest := text
	take := func(i, n int) { out[i], rest = []byte(rest[:n]), rest[n:] }
	for i := 0; i < len(ids); i++ {
		piece, err := s.Piece(ctx, ids[i])
		if err != nil {
			return nil, err
		}
		switch {
		case piece != "" && strings.HasPrefix(rest, piece):
			take(i, len(piece))
		case i == 0 && len(piece) > 1 && piece[0] == ' ' && strings.HasPrefix(rest, piece[1:]):
			take(i, len(piece)-1) // the response's own first token
		case strings.ContainsRune(piece, utf8.RuneError) && rest != "":
			last, whole, err := s.run(ctx, rest, ids[i:])
			if err != nil {
				return nil, err
			}
			if last < 0 {
				return nil, fmt.Errorf("split response: token %d of %d is %q, and no run of tokens from there spells %q", i, len(ids), piece, clip([]byte(rest), 20))
			}
			lengths, err := s.share(ctx, len(whole), ids[i:i+last+1])
			if err != nil {
				return nil, err
			}
			for j, n := range lengths {
				take(i+j, n)
			}
			i += last
		default:
			out[i] = []byte{}
		}
	}
	if rest != "" {
		return nil, fmt.Errorf("split response: %d tokens do not spell its last %d bytes %q", len(ids), len(rest), clip([]byte(rest), 20))
	}
	return out, nil
}

// maxRun bounds how many tokens may share a character or a chain of characters.
const maxRun = 16

// run finds the shortest run of tokens that decodes to whole characters standing at the beginning of
// rest; last is the index of its last token, −1 where there is none.
func (s *Speller) run(ctx context.Context, rest string, ids []int32) (last int, whole string, err error) {
	for n := 2; n <= min(len(ids), maxRun); n++ {
		text, err := s.tok.Detokenize(ctx, ids[:n])
		if err != nil {
			return 0, "", fmt.Errorf("spell %d tokens: %w", n, err)
		}
		if strings.HasPrefix(rest, text) {
			return n - 1, text, nil
		}
	}
	return -1, "", nil
}

// share deals the bytes of a run out: each token but the last gets the bytes that it shows and
// one for each broken character, the last gets what is left.
func (s *Speller) share(ctx context.Context, total int, ids []int32) ([]int, error) {
	lengths := make([]int, len(ids))
	left := total
	for i, id := range ids[:len(ids)-1] {
		piece, err := s.Piece(ctx, id)
		if err != nil {
			return nil, err
		}
		broken := strings.Count(piece, string(utf8.RuneError))
		lengths[i] = len(piece) - broken*(utf8.RuneLen(utf8.RuneError)-1)
		left -= lengths[i]
	}
	if lengths[len(ids)-1] = left; left < 0 {
		return nil, fmt.Errorf("split response: %d tokens of a run of %d bytes show more than that", len(ids), total)
	}
	return lengths, nil
}
