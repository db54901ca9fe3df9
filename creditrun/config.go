package creditrun

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/hindsightrl/harness/credit"
)

// algorithm names the arithmetic of this package and of credit. It goes up when a change could change
// a stored number, so that old passes are not taken for new ones.
const algorithm = "credit-1"

// Config names every stage between the rewards of a run and the advantages of its tokens.
type Config struct {
	Reward    RewardConfig           `json:"reward,omitzero"` // where the rewards come from; the zero value is the environment
	Estimator credit.EstimatorConfig `json:"estimator"`
	Response  credit.ResponseStage   `json:"response"`         // none, aem or ear
	AEM       credit.AEMConfig       `json:"aem"`              // read where Response is aem
	EAR       credit.EARConfig       `json:"ear"`              // read where Response is ear
	Token     credit.TokenStage      `json:"token"`            // none, serl or rlsd; the last two need scores
	SERL      credit.SERLConfig      `json:"serl"`             // read where Token is serl or rlsd
	Update    int                    `json:"update"`           // the trainer's update number k, for λ_k
	Shared    SharedTokens           `json:"shared,omitempty"` // leaf or once: how tokens count that leaves of a tree share; "" = leaf
	Filter    FilterConfig           `json:"filter_groups,omitzero"`
}

// DefaultConfig returns an estimator with the reference trainers' values and the default parameters of
// every other stage. With scores, SERL's weights run; without, no token stage does. No response stage
// runs.
func DefaultConfig(name credit.Estimator, scored bool) Config {
	c := Config{
		Reward:    DefaultReward(),
		Estimator: credit.DefaultEstimator(name), Response: credit.ResponseNone, Token: credit.TokenNone,
		AEM: credit.DefaultAEM(), EAR: credit.DefaultEAR(), SERL: credit.DefaultSERL(), Shared: SharedLeaf,
		Filter: DefaultFilter(),
	}
	if scored {
		c.Token = credit.TokenSERL
	}
	return c
}

// Validate reports the first setting outside its range (credit.ErrConfig).
func (c Config) Validate() error {
	if err := c.Reward.Validate(); err != nil {
		return err
	}
	if err := c.Estimator.Validate(); err != nil {
		return err
	}
	if err := c.Shared.validate(); err != nil {
		return err
	}
	if err := c.Filter.Validate(); err != nil {
		return err
	}
	return c.fusion().Validate()
}

// fusion is the part of c that credit.Fuse reads. Adv-Clip is the estimator's: it clips rows without
// tokens as well.
func (c Config) fusion() credit.FusionConfig {
	return credit.FusionConfig{Response: c.Response, Token: c.Token, AEM: c.AEM, EAR: c.EAR, SERL: c.SERL, Update: c.Update}
}

// Canonical returns c without the settings of stages that do not run: two configurations that do the
// same are then equal.
func (c Config) Canonical() Config {
	c.Reward = c.Reward.canonical()
	if c.Shared == SharedLeaf {
		c.Shared = ""
	}
	if !c.Filter.Enable {
		c.Filter = FilterConfig{}
	}
	if c.Response != credit.ResponseAEM {
		c.AEM = credit.AEMConfig{}
	}
	if !c.AEM.Shuffle {
		c.AEM.Seed = 0
	}
	if c.Response != credit.ResponseEAR {
		c.EAR = credit.EARConfig{}
	}
	if c.Token == credit.TokenNone {
		c.SERL, c.Update = credit.SERLConfig{}, 0
	}
	return c
}

// Key is the content hash that a pass is stored under: of the arithmetic, of the configuration, of what
// identifies the run's closed episodes, and of the scoring pass ("" = none).
func (c Config) Key(inputs, scores string) (string, error) {
	raw, err := json.Marshal(struct {
		Algorithm string `json:"algorithm"`
		Config    Config `json:"config"`
		Inputs    string `json:"inputs"`
		Scores    string `json:"scores"`
	}{algorithm, c.Canonical(), inputs, scores})
	if err != nil {
		return "", fmt.Errorf("make the key of a credit pass: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}
