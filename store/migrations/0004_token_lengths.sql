-- Bytes of the response that each token printed: where an action's tokens are, without a tokenizer.
ALTER TABLE tokens ADD COLUMN lengths BLOB; -- int32 column; NULL: not known
