package decide

import "github.com/spillway-gateway/spillway/dataplane/llm"

// RefusalStatus is the status with which a caller in dialect from gets a target's refusal
// that is passed on. One inside a 2xx gets the status that it stands for, since clients take
// a 2xx for an answer; but for an answer that says itself that it failed, and for what is
// between a person's tool and its vendor.
func (t *Target) RefusalStatus(from llm.Dialect, status int, body []byte) int {
	to, _ := t.Dialect(from)
	if status < 200 || status > 299 || t.Passthrough() || to == from && from.FailedAnswer(body) {
		return status
	}
	return llm.RefusalStatus(body)
}
