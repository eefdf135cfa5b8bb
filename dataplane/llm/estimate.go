package llm

// Estimate is how many tokens a request's body is, on the high side: no model that can
// be called today counts ordinary text higher. It reads the bytes once and knows no
// dialect. Text costs by its kind of characters; data in base64, which would count as
// text, by the picture or the pages that it is.
func Estimate(body []byte) int64 { return estimate(body, false) }

// estimate is Estimate; valid says that the body is known to be JSON.
func estimate(body []byte, valid bool) int64 {
	e := estimator{scanner: scanner{b: body}, valid: valid}
	e.space()
	if e.value("", 0) != nil {
		return e.total() + int64(len(body)-e.i)/2
	}
	return e.total()
}

// What a thousand bytes of a kind cost, in tokens. Claude's tokenizers make more of the
// same text than OpenAI's do, of code and of languages beside English most of all.
const (
	letterCost = 360
	signCost   = 560  // punctuation
	digitCost  = 1000 // and letters right after a digit: hexadecimal is no word
	wideCost   = 700  // bytes outside ASCII: a CJK character is three
	imageCost  = 1600
	minData    = 256 // base64 of fewer bytes counts as text
)

type estimator struct {
	scanner
	valid bool
	bytes int64 // what the bytes of text cost, in thousandths
	whole int64
}

func (e *estimator) total() int64 { return e.bytes/1000 + e.whole + 16 }

// byteCost is what each byte of text costs, after one that is no digit and after a digit.
var byteCost = func() (cost [2][256]uint16) {
	for c := range cost[0] {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		switch {
		case c >= 0x80:
			cost[0][c] = wideCost
		case letter || c == ' ':
			cost[0][c] = letterCost
		case isDigit(byte(c)) == 1:
			cost[0][c] = digitCost
		default:
			cost[0][c] = signCost
		}
		if cost[1][c] = cost[0][c]; letter {
			cost[1][c] = digitCost
		}
	}
	return cost
}()

// isDigit is 1 for a digit, else 0.
func isDigit(c byte) int {
	if c-'0' <= 9 {
		return 1
	}
	return 0
}

// value counts one value; key is the name it has.
func (e *estimator) value(key string, depth int) error {
	switch e.peek() {
	case '{':
		if depth++; depth > MaxDepth {
			return e.fail("nests too deeply")
		}
		e.whole++ // a message or a block costs beside its text
		return e.object(depth, func(key string) error {
			e.text([]byte(key))
			return e.value(key, depth)
		})
	case '[':
		if depth++; depth > MaxDepth {
			return e.fail("nests too deeply")
		}
		return e.elements(func() error { return e.value(key, depth) })
	}
	start := e.i
	if e.valid {
		e.skip()
	} else if err := e.scanner.value(depth); err != nil {
		return err
	}
	text := e.b[start:e.i]
	if len(text) > minData && isData(key, text) {
		// A document of that many pages, or a picture; the larger of the two.
		e.whole += max(imageCost, int64(len(text))/20)
		if key == "signature" || key == "encrypted_content" {
			e.whole += int64(len(text))/3 - max(imageCost, int64(len(text))/20)
		}
		return nil
	}
	e.text(text)
	return nil
}

// isData reports whether a string is data and not for reading.
func isData(key string, text []byte) bool {
	switch key {
	case "data", "file_data", "url", "image_url", "signature", "encrypted_content":
	default:
		return false
	}
	for _, c := range text[1:minData] {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

func (e *estimator) text(b []byte) {
	var sum int64 // a local: the loop runs over every byte of a request
	after := 0
	for _, c := range b {
		sum += int64(byteCost[after][c])
		after = isDigit(c)
	}
	e.bytes += sum
}
